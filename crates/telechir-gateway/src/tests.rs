//! What a program may and may not do, message by message.

mod attacks;
mod reading;

use serde_json::{Value, json};
use telechir_protocol::{Action, Button, Point, Target};

use crate::{CdpGateway, JudgedScope, MessageStep, ProgramCommand};

fn page(target: &str, context: &str, url: &str) -> Value {
    json!({ "targetId": target, "type": "page", "browserContextId": context, "url": url })
}

/// A connection that is attached to the page T1 by the session S1, with five nodes.
fn attached() -> CdpGateway {
    let mut gateway = CdpGateway::new("C1", "telechir");
    let info = page("T1", "C1", "https://example.com/");
    let params = json!({ "sessionId": "S1", "targetInfo": info });
    let step = gateway.event(None, "Target.attachedToTarget", params);
    assert!(step.message.is_some() && step.detach.is_none());
    let command = passed(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
    let nodes: Vec<Value> = (1..6).map(|id| json!({ "nodeId": id })).collect();
    gateway.reply(&command, Ok(json!({ "root": { "children": nodes } })));
    gateway
}

fn send(
    gateway: &mut CdpGateway,
    session: Option<&str>,
    method: &str,
    params: Value,
) -> MessageStep {
    let mut message = json!({ "id": 7, "method": method, "params": params });
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    gateway.receive(&message.to_string())
}

#[track_caller]
fn refused(step: MessageStep) -> String {
    let MessageStep::Reply(text) = step else {
        panic!("not refused: {step:?}");
    };
    let message: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(message["id"], 7, "{text}");
    message["error"]["message"].as_str().unwrap().to_owned()
}

#[track_caller]
fn judged(step: MessageStep) -> (Action, Value) {
    let MessageStep::Judge(judged) = step else {
        panic!("not judged: {step:?}");
    };
    assert!(!matches!(judged.scope, JudgedScope::Script(_)));
    (judged.action, judged.command.params)
}

#[track_caller]
fn passed(step: MessageStep) -> ProgramCommand {
    let MessageStep::Send(command) = step else {
        panic!("not passed on: {step:?}");
    };
    command
}

#[test]
fn methods_that_are_not_listed_are_refused() {
    let mut gateway = attached();
    for method in [
        "Browser.close",
        "Browser.crash",
        "Browser.getBrowserCommandLine",
        "Browser.setWindowBounds",
        "Debugger.enable",
        "DOM.getFileInfo",
        "Extensions.loadUnpacked",
        "Fetch.enable",
        "Fetch.fulfillRequest",
        "HeapProfiler.enable",
        "IO.resolveBlob",
        "Input.setInterceptDrags",
        "Network.loadNetworkResource",
        "Page.addCompilationCache",
        "Page.setBypassCSP",
        "Security.setIgnoreCertificateErrors",
        "Storage.setInterestGroupTracking",
        "SystemInfo.getInfo",
        "Target.attachToBrowserTarget",
        "Target.createBrowserContext",
        "Target.disposeBrowserContext",
        "Target.exposeDevToolsProtocol",
        "Target.sendMessageToTarget",
        "Target.setRemoteLocations",
        "Tracing.start",
        "browser.getVersion",
        "Browser.getVersion ",
        "",
    ] {
        for session in [None, Some("S1")] {
            let problem = refused(send(&mut gateway, session, method, json!({})));
            assert!(problem.contains("is refused"), "{method}: {problem}");
        }
    }
}

#[test]
fn only_pages_of_the_web_are_opened() {
    let mut gateway = attached();
    for url in [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        " file:///etc/passwd",
        "fi\tle:///etc/passwd",
        "\u{1}file:///etc/passwd",
        "view-source:file:///etc/passwd",
        "chrome://settings",
        "devtools://devtools/bundled/inspector.html",
        "javascript:alert(1)",
        "filesystem:http://a/temporary/b",
        "blob:null/1",
        "about:settings",
        "ftp://example.com/",
        "example.com",
        "ht\ntps://example.com",
    ] {
        for method in ["Page.navigate", "Target.createTarget"] {
            let session = (method == "Page.navigate").then_some("S1");
            let problem = refused(send(&mut gateway, session, method, json!({ "url": url })));
            assert!(problem.contains("can be opened"), "{url}: {problem}");
        }
    }
    let mut open = |url: &str| {
        send(
            &mut gateway,
            Some("S1"),
            "Page.navigate",
            json!({ "url": url }),
        )
    };
    for url in [
        "https://example.com/a",
        "http://127.0.0.1:1/",
        "data:text/html,x",
        "about:blank",
    ] {
        let url = url.to_owned();
        assert_eq!(judged(open(&url)).0, Action::Navigate { url, tab: None });
    }
    let (action, params) = judged(send(&mut gateway, None, "Target.createTarget", json!({})));
    let url = Some("about:blank".to_owned());
    assert_eq!(action, Action::NewTab { url });
    assert_eq!(params, json!({ "url": "about:blank" }));
}

#[test]
fn parameters_around_the_policy_do_not_reach_the_browser() {
    let mut gateway = attached();
    let hidden = json!({
        "url": "https://example.com/", "hidden": true, "forTab": true, "browserContextId": "C1",
        "enableBeginFrameControl": true, "newWindow": true,
    });
    let (_, params) = judged(send(&mut gateway, None, "Target.createTarget", hidden));
    assert_eq!(
        params,
        json!({ "url": "https://example.com/", "newWindow": true })
    );
    let world = json!({ "frameId": "F", "grantAccess": true, "worldName": "w" });
    let command = passed(send(
        &mut gateway,
        Some("S1"),
        "Page.createIsolatedWorld",
        world,
    ));
    assert_eq!(command.params, json!({ "frameId": "F", "worldName": "w" }));
    let reload = json!({ "scriptToEvaluateOnLoad": "steal()" });
    refused(send(&mut gateway, Some("S1"), "Page.reload", reload));
    let paste = json!({ "type": "keyDown", "key": "a", "commands": ["paste"] });
    refused(send(
        &mut gateway,
        Some("S1"),
        "Input.dispatchKeyEvent",
        paste,
    ));
    let files = json!({ "type": "drop", "x": 1, "y": 2, "data": { "files": ["/etc/passwd"] } });
    refused(send(
        &mut gateway,
        Some("S1"),
        "Input.dispatchDragEvent",
        files,
    ));
    for params in [
        json!({ "autoAttach": true }),
        json!({ "autoAttach": true, "flatten": false }),
    ] {
        refused(send(&mut gateway, None, "Target.setAutoAttach", params));
    }
    let unflat = json!({ "targetId": "T1", "flatten": false });
    refused(send(&mut gateway, None, "Target.attachToTarget", unflat));
}

#[test]
fn sessions_targets_and_contexts_of_others_do_not_exist() {
    let mut gateway = attached();
    let missing = refused(send(&mut gateway, Some("S2"), "Page.enable", json!({})));
    assert_eq!(missing, "Session with given id not found.");
    let close = json!({ "targetId": "T2" });
    refused(send(
        &mut gateway,
        None,
        "Target.closeTarget",
        close.clone(),
    ));
    let attach = json!({ "targetId": "T2", "flatten": true });
    refused(send(&mut gateway, None, "Target.attachToTarget", attach));
    let target = json!({ "targetId": 5 });
    refused(send(&mut gateway, None, "Target.getTargetInfo", target));
    let session = json!({ "sessionId": "S2" });
    refused(send(&mut gateway, None, "Target.detachFromTarget", session));
    for method in [
        "Target.createTarget",
        "Storage.getCookies",
        "Browser.grantPermissions",
    ] {
        let context = json!({ "url": "about:blank", "browserContextId": "C2" });
        let problem = refused(send(&mut gateway, None, method, context));
        assert!(problem.contains("context"), "{method}: {problem}");
    }
    // Their events are not shown, and what is attached is let go.
    let all = json!({ "discover": true, "filter": [{}] });
    let step = send(&mut gateway, None, "Target.setDiscoverTargets", all);
    assert!(matches!(step, MessageStep::Replies(_)), "{step:?}");
    let theirs = page("T2", "C2", "https://example.com/");
    for (info, detached) in [
        (theirs.clone(), true),
        (page("T3", "C1", "file:///etc/passwd"), true),
        (page("T3", "C1", "CHROME://settings"), true),
        (
            json!({ "targetId": "T4", "type": "webview", "browserContextId": "C1", "url": "" }),
            true,
        ),
        (
            json!({ "targetId": "T5", "type": "tab", "browserContextId": "C1", "url": "" }),
            false,
        ),
        (page("T6", "C1", "about:blank"), false),
    ] {
        let params = json!({ "sessionId": "S9", "targetInfo": info });
        let step = gateway.event(None, "Target.attachedToTarget", params);
        assert_eq!(step.detach.is_some(), detached, "{info}");
        assert_eq!(step.message.is_none(), detached, "{info}");
    }
    let created = json!({ "targetInfo": theirs });
    assert_eq!(
        gateway.event(None, "Target.targetCreated", created).message,
        None
    );
    let gone = json!({ "targetId": "T2" });
    assert_eq!(
        gateway.event(None, "Target.targetDestroyed", gone).message,
        None
    );
    let load = gateway.event(Some("S2"), "Page.loadEventFired", json!({}));
    assert_eq!(load.message, None);
    refused(send(&mut gateway, None, "Target.closeTarget", close));
}

#[test]
fn lists_of_targets_have_only_those_of_the_session() {
    let mut gateway = attached();
    let command = passed(send(&mut gateway, None, "Target.getTargets", json!({})));
    let found = json!({ "targetInfos": [
        page("T1", "C1", "https://example.com/"),
        page("T2", "C2", "https://bank.example/"),
        page("T3", "C1", "chrome://settings"),
        page("T4", "C1", "https://example.org/"),
    ]});
    let reply = gateway.reply(&command, Ok(found));
    assert!(
        !reply.contains("bank") && !reply.contains("settings"),
        "{reply}"
    );
    assert!(reply.contains("T1") && reply.contains("T4"), "{reply}");
    passed(send(
        &mut gateway,
        None,
        "Target.attachToTarget",
        json!({ "targetId": "T4", "flatten": true }),
    ));
    let command = passed(send(&mut gateway, None, "Target.getTargetInfo", json!({})));
    let own = json!({ "targetInfo": { "type": "browser", "targetId": "B" } });
    assert!(gateway.reply(&command, Ok(own)).contains("\"result\""));
    let theirs = json!({ "targetInfo": page("T2", "C2", "https://bank.example/") });
    let reply = gateway.reply(&command, Ok(theirs));
    assert!(
        reply.contains("\"error\"") && !reply.contains("bank"),
        "{reply}"
    );
}

#[test]
fn a_page_that_became_one_of_the_browser_is_not_driven() {
    let mut gateway = attached();
    passed(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
    for (method, params) in [
        (
            "Page.frameNavigated",
            json!({ "frame": { "id": "T1", "url": "chrome://settings/" } }),
        ),
        (
            "Page.frameNavigated",
            json!({ "frame": { "id": "T1", "url": "file:///etc/passwd" } }),
        ),
    ] {
        gateway.event(Some("S1"), method, params);
        refused(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
        refused(send(
            &mut gateway,
            Some("S1"),
            "Page.captureScreenshot",
            json!({}),
        ));
    }
    // A frame of a page is not the page.
    let back = json!({ "frame": { "id": "T1", "url": "https://example.com/" } });
    gateway.event(Some("S1"), "Page.frameNavigated", back);
    let frame = json!({ "frame": { "id": "F", "parentId": "T1", "url": "chrome://x/" } });
    gateway.event(Some("S1"), "Page.frameNavigated", frame);
    passed(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
}

#[test]
fn input_is_judged_as_the_actions_that_policies_know() {
    let mut gateway = attached();
    let mut judge =
        |method: &str, params: Value| judged(send(&mut gateway, Some("S1"), method, params)).0;
    let mut mouse = |kind: &str| {
        let params = json!({ "type": kind, "x": 10.6, "y": -3, "button": "right", "deltaY": 120 });
        judge("Input.dispatchMouseEvent", params)
    };
    let at = Target::Point(Point::new(11, 0));
    let button = Button::Right;
    assert_eq!(
        mouse("mousePressed"),
        Action::MouseDown {
            at: Some(at.clone()),
            button
        }
    );
    assert_eq!(
        mouse("mouseReleased"),
        Action::MouseUp {
            at: Some(at.clone()),
            button
        }
    );
    assert_eq!(mouse("mouseMoved"), Action::Move { at });
    assert!(matches!(
        mouse("mouseWheel"),
        Action::Scroll { dy: 120.0, .. }
    ));
    let mut key = |params: Value| judge("Input.dispatchKeyEvent", params).to_json();
    let typed = key(json!({ "type": "keyDown", "key": "a", "text": "a" }));
    assert_eq!(typed["text"], "a");
    for (kind, name, modifiers, chord) in [
        ("rawKeyDown", "w", 2, "ctrl+w"),
        ("keyDown", "Enter", 0, "Enter"),
        ("keyUp", "Enter", 0, "Enter"),
        ("rawKeyDown", "Control", 2, "ctrl"),
        ("rawKeyDown", "Meta", 4, "super"),
        ("keyDown", "F4", 1, "alt+F4"),
        ("rawKeyDown", "ArrowLeft", 8, "shift+ArrowLeft"),
    ] {
        let params = json!({ "type": kind, "key": name, "modifiers": modifiers });
        assert_eq!(key(params)["key"], chord, "{kind} {name} {modifiers}");
    }
    // A letter with a modifier is no text, whatever text it comes with.
    let params = json!({ "type": "keyDown", "key": "t", "text": "t", "modifiers": 2 });
    assert_eq!(key(params)["key"], "ctrl+t");
    let params = json!({ "type": "char", "text": "\r" });
    assert_eq!(key(params)["key"], "Enter");
    let unknown = json!({ "type": "keyDown", "key": "NoSuchKey" });
    refused(send(
        &mut attached(),
        Some("S1"),
        "Input.dispatchKeyEvent",
        unknown,
    ));
    let text = judge("Input.insertText", json!({ "text": "a word" }));
    assert!(matches!(text, Action::Type { text, .. } if text == "a word"));
}

#[test]
fn scripts_are_judged_together_and_recorded_alone() {
    let mut gateway = attached();
    let mut run = |method: &str, params: Value| send(&mut gateway, Some("S1"), method, params);
    let MessageStep::Judge(judged) = run(
        "Runtime.evaluate",
        json!({ "expression": "document.title" }),
    ) else {
        panic!("a script is not judged");
    };
    assert_eq!(
        judged.scope,
        JudgedScope::Script("document.title".to_owned())
    );
    let call = json!({ "functionDeclaration": "() => 1", "objectId": "1" });
    let MessageStep::Judge(other) = run("Runtime.callFunctionOn", call) else {
        panic!("a function is not judged");
    };
    assert_eq!(judged.action, other.action, "one question for all");
    let line = json!({ "expression": "copy(1)", "includeCommandLineAPI": true });
    let MessageStep::Judge(judged) = run("Runtime.evaluate", line) else {
        panic!("a script is not judged");
    };
    assert_eq!(judged.command.params, json!({ "expression": "copy(1)" }));
    // Without any script there is nothing to judge.
    let empty = json!({ "source": "", "worldName": "w" });
    passed(run("Page.addScriptToEvaluateOnNewDocument", empty));
    for (method, params) in [
        (
            "Page.setDocumentContent",
            json!({ "frameId": "F", "html": "<p>" }),
        ),
        ("Runtime.runScript", json!({ "scriptId": "4" })),
        ("Runtime.getProperties", json!({ "objectId": "1.1.1" })),
        (
            "DOM.setOuterHTML",
            json!({ "nodeId": 3, "outerHTML": "<p>" }),
        ),
        ("DOM.removeNode", json!({ "nodeId": 3 })),
    ] {
        let step = run(method, params);
        assert!(matches!(step, MessageStep::Judge(_)), "{method}: {step:?}");
    }
}

#[test]
fn cookies_files_and_permissions_are_judged() {
    let mut gateway = attached();
    let mut judge =
        |method: &str, params: Value| judged(send(&mut gateway, Some("S1"), method, params)).0;
    let upload = judge(
        "DOM.setFileInputFiles",
        json!({ "files": ["/a", "b"], "nodeId": 4 }),
    );
    let Action::FileUpload { paths, .. } = upload else {
        panic!("no upload: {upload:?}");
    };
    assert_eq!(paths, ["/a", "b"]);
    refused(send(
        &mut attached(),
        Some("S1"),
        "DOM.setFileInputFiles",
        json!({ "files": [1] }),
    ));
    for (method, name) in [
        ("Storage.getCookies", "save_storage_state"),
        ("Network.getAllCookies", "save_storage_state"),
        ("Storage.setCookies", "set_cookies"),
        ("Network.clearBrowserCookies", "clear_cookies"),
        ("Browser.grantPermissions", "emulate"),
        ("Network.enable", "read_request"),
        ("Audits.enable", "read_request"),
        ("Page.captureScreenshot", "screenshot"),
        ("Page.printToPDF", "save_pdf"),
        ("Page.close", "close_tab"),
        ("Page.handleJavaScriptDialog", "answer_dialog"),
    ] {
        assert_eq!(judge(method, json!({})).name(), name, "{method}");
    }
    let granted = judge(
        "Browser.grantPermissions",
        json!({ "permissions": ["geolocation"] }),
    );
    let Action::Emulate { settings } = granted else {
        panic!("no permission: {granted:?}");
    };
    assert_eq!(settings["permissions"], json!(["geolocation"]));
    assert_eq!(settings["origin"], "every origin");
    let granted = judge(
        "Browser.grantPermissions",
        json!({ "permissions": ["geolocation"], "origin": "https://example.com" }),
    );
    let Action::Emulate { settings } = granted else {
        panic!("no permission: {granted:?}");
    };
    assert_eq!(settings["origin"], "https://example.com");
    let headers = json!({ "headers": { "X-Test": "1" } });
    let set = judge("Network.setExtraHTTPHeaders", headers);
    assert_eq!(set.name(), "emulate");
    let cookie = json!({ "headers": { "Cookie": "a=b" } });
    let problem = refused(send(
        &mut attached(),
        Some("S1"),
        "Network.setExtraHTTPHeaders",
        cookie,
    ));
    assert!(problem.contains("Network.setCookies"), "{problem}");
}

#[test]
fn downloads_go_where_those_of_the_session_go() {
    let mut gateway = attached();
    let params = json!({ "behavior": "allowAndName", "downloadPath": "/etc/cron.d" });
    let step = send(&mut gateway, None, "Browser.setDownloadBehavior", params);
    let answered = json!({ "id": 7, "result": {} });
    assert_eq!(step, MessageStep::Reply(answered.to_string()));
}

#[test]
fn messages_that_are_none_are_answered() {
    let mut gateway = attached();
    for text in [
        "",
        "[]",
        "null",
        "{}",
        "{\"id\":1}",
        "{\"id\":\"1\",\"method\":\"Page.enable\"}",
        "{\"id\":1.5,\"method\":\"Page.enable\"}",
        "{\"id\":1,\"method\":[]}",
        "{\"id\":1,\"method\":\"Page.enable\",\"params\":[]}",
        "{\"id\":1,\"method\":\"Page.enable\",\"sessionId\":1}",
    ] {
        let MessageStep::Reply(reply) = gateway.receive(text) else {
            panic!("{text} is passed on");
        };
        assert!(reply.contains("\"error\""), "{text}: {reply}");
    }
}
