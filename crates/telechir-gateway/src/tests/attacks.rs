//! Ways around the policy that a program tried.

use serde_json::{Value, json};
use telechir_protocol::Action;

use super::{attached, judged, page, passed, refused, send};
use crate::{CdpGateway, JudgedScope, MessageStep};

#[test]
fn a_page_is_what_the_browser_announces_whether_the_program_listens_or_not() {
    let mut gateway = attached();
    passed(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
    // It subscribed to nothing.
    let changed = json!({ "targetInfo": page("T1", "C1", "chrome://settings/") });
    let step = gateway.event(None, "Target.targetInfoChanged", changed);
    assert_eq!(step.message, None);
    refused(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
    assert_eq!(gateway.urls().count(), 0);
    let back = json!({ "targetInfo": page("T1", "C1", "https://evil.example/") });
    gateway.event(None, "Target.targetInfoChanged", back);
    passed(send(&mut gateway, Some("S1"), "DOM.getDocument", json!({})));
    assert_eq!(
        gateway.urls().collect::<Vec<_>>(),
        ["https://evil.example/"]
    );
}

#[test]
fn targets_are_announced_to_a_program_on_request() {
    let mut gateway = attached();
    let created = |id: &str, kind: &str| {
        let info = json!({
            "targetId": id, "type": kind, "browserContextId": "C1", "url": "about:blank",
        });
        json!({ "targetInfo": info })
    };
    let tab = gateway.event(None, "Target.targetCreated", created("T2", "tab"));
    assert_eq!(tab.message, None, "nobody asked");
    let step = send(
        &mut gateway,
        None,
        "Target.setDiscoverTargets",
        json!({ "discover": true }),
    );
    let MessageStep::Replies(messages) = step else {
        panic!("no events: {step:?}");
    };
    let [event, answer] = messages.as_slice() else {
        panic!("only the page is announced: {messages:?}");
    };
    assert!(
        event.contains("Target.targetCreated") && event.contains("T1"),
        "{event}"
    );
    assert_eq!(*answer, json!({ "id": 7, "result": {} }).to_string());
    for (id, kind, is_sent) in [("T3", "page", true), ("T4", "tab", false)] {
        let step = gateway.event(None, "Target.targetCreated", created(id, kind));
        assert_eq!(step.message.is_some(), is_sent, "{kind}");
        let gone = json!({ "targetId": id });
        let step = gateway.event(None, "Target.targetDestroyed", gone);
        assert_eq!(step.message.is_some(), is_sent, "{kind}");
    }
    refused(send(
        &mut gateway,
        None,
        "Target.closeTarget",
        json!({ "targetId": "T3" }),
    ));
    send(
        &mut gateway,
        None,
        "Target.setDiscoverTargets",
        json!({ "discover": false }),
    );
    let step = gateway.event(None, "Target.targetCreated", created("T5", "page"));
    assert_eq!(step.message, None);
}

#[test]
fn a_key_event_names_one_key() {
    let mut gateway = attached();
    let mut press =
        |params: Value| send(&mut gateway, Some("S1"), "Input.dispatchKeyEvent", params);
    for params in [
        json!({ "type": "rawKeyDown", "key": "a", "windowsVirtualKeyCode": 87, "modifiers": 2 }),
        json!({ "type": "rawKeyDown", "key": "a", "code": "KeyW", "modifiers": 2 }),
        json!({ "type": "keyDown", "key": "Enter", "text": "a" }),
        json!({ "type": "keyDown", "key": "a", "text": "b" }),
        json!({ "type": "keyDown", "text": "a", "windowsVirtualKeyCode": 13 }),
        json!({ "type": "char", "key": "é", "text": "é", "windowsVirtualKeyCode": 27 }),
        json!({ "type": "keyUp", "key": "Shift", "windowsVirtualKeyCode": 27 }),
        json!({ "type": "rawKeyDown", "key": "F4", "windowsVirtualKeyCode": "115" }),
        json!({ "type": "rawKeyDown", "key": "F4", "code": 4 }),
    ] {
        let problem = refused(press(params.clone()));
        assert!(problem.contains("different keys"), "{params}: {problem}");
    }
    // As the frameworks send them.
    for params in [
        json!({ "type": "rawKeyDown", "key": "w", "code": "KeyW", "windowsVirtualKeyCode": 87, "modifiers": 2 }),
        json!({ "type": "keyDown", "key": "A", "text": "A", "unmodifiedText": "A", "code": "KeyA", "windowsVirtualKeyCode": 65, "modifiers": 8 }),
        json!({ "type": "keyDown", "key": "Enter", "text": "\r", "unmodifiedText": "\r", "code": "Enter", "windowsVirtualKeyCode": 13 }),
        json!({ "type": "keyDown", "key": "Enter", "text": "\r", "code": "NumpadEnter", "windowsVirtualKeyCode": 13, "isKeypad": true }),
        json!({ "type": "keyDown", "key": "5", "text": "5", "code": "Numpad5", "windowsVirtualKeyCode": 101 }),
        json!({ "type": "keyDown", "key": "!", "text": "!", "code": "Digit1", "windowsVirtualKeyCode": 49, "modifiers": 8 }),
        json!({ "type": "keyDown", "key": " ", "text": " ", "code": "Space", "windowsVirtualKeyCode": 32 }),
        json!({ "type": "rawKeyDown", "key": "Shift", "code": "ShiftRight", "windowsVirtualKeyCode": 16 }),
        json!({ "type": "rawKeyDown", "key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37 }),
        json!({ "type": "keyDown", "key": "Tab", "text": "\t", "code": "Tab", "windowsVirtualKeyCode": 9 }),
        json!({ "type": "char", "key": "é", "text": "é" }),
        json!({ "type": "keyDown", "key": "ü", "text": "ü", "windowsVirtualKeyCode": 186 }),
        json!({ "type": "keyDown", "key": "c", "text": "\u{3}", "modifiers": 2 }),
    ] {
        let (action, _) = judged(press(params.clone()));
        assert!(
            matches!(action.name(), "type" | "key_down"),
            "{params}: {action:?}"
        );
    }
    let native = json!({ "type": "rawKeyDown", "key": "a", "nativeVirtualKeyCode": 87, "keyIdentifier": "U+0057", "unmodifiedText": "w" });
    let (_, params) = judged(press(native));
    assert_eq!(params, json!({ "type": "rawKeyDown", "key": "a" }));
}

#[test]
fn what_changes_a_page_is_judged_as_a_script_whatever_its_text_is() {
    let mut gateway = attached();
    for (method, params) in [
        (
            "DOM.setAttributeValue",
            json!({ "nodeId": 1, "name": "hidden", "value": "" }),
        ),
        (
            "DOM.setAttributesAsText",
            json!({ "nodeId": 1, "name": "sandbox", "text": "" }),
        ),
        ("DOM.setNodeValue", json!({ "nodeId": 1, "value": " " })),
        ("DOM.setOuterHTML", json!({ "nodeId": 1, "outerHTML": "" })),
        (
            "Page.setDocumentContent",
            json!({ "frameId": "F", "html": "" }),
        ),
        ("Runtime.addBinding", json!({ "name": "fetch" })),
    ] {
        let step = send(&mut gateway, Some("S1"), method, params);
        let MessageStep::Judge(judged) = step else {
            panic!("{method} is not judged: {step:?}");
        };
        let JudgedScope::Script(shown) = &judged.scope else {
            panic!("{method} is no script");
        };
        assert!(shown.starts_with(method), "{shown}");
    }
    // What a framework runs is in the arguments of its own function.
    let call = json!({
        "functionDeclaration": "(run, text) => run(text)", "objectId": "1",
        "arguments": [{ "objectId": "1" }, { "value": "document.cookie" }],
    });
    let step = send(&mut gateway, Some("S1"), "Runtime.callFunctionOn", call);
    let MessageStep::Judge(judged) = step else {
        panic!("a function is not judged");
    };
    assert!(
        matches!(&judged.scope, JudgedScope::Script(shown) if shown.contains("document.cookie")),
        "{judged:?}"
    );
}

#[test]
fn only_streams_of_the_program_are_read() {
    let mut gateway = attached();
    for handle in [json!("1"), json!("blob:0b9d"), json!(null), json!(1)] {
        for method in ["IO.read", "IO.close"] {
            let params = json!({ "handle": handle });
            let problem = refused(send(&mut gateway, Some("S1"), method, params));
            assert!(problem.contains("stream handle"), "{problem}");
        }
    }
    let step = send(&mut gateway, Some("S1"), "Page.printToPDF", json!({}));
    let MessageStep::Judge(judged) = step else {
        panic!("a PDF is not judged");
    };
    gateway.reply(&judged.command, Ok(json!({ "data": "", "stream": "5" })));
    let own = json!({ "handle": "5" });
    passed(send(&mut gateway, Some("S1"), "IO.read", own.clone()));
    let close = passed(send(&mut gateway, Some("S1"), "IO.close", own.clone()));
    gateway.reply(&close, Ok(json!({})));
    refused(send(&mut gateway, Some("S1"), "IO.read", own));
}

#[test]
fn what_goes_on_and_what_changes_tabs_is_judged_as_such() {
    let mut gateway = attached();
    for (method, scope) in [
        ("Network.enable", JudgedScope::Lasting),
        ("Page.startScreencast", JudgedScope::Lasting),
        ("Page.captureScreenshot", JudgedScope::Once),
    ] {
        let step = send(&mut gateway, Some("S1"), method, json!({}));
        assert!(
            matches!(&step, MessageStep::Judge(judged) if judged.scope == scope),
            "{step:?}"
        );
    }
    let (action, _) = judged(send(
        &mut gateway,
        Some("S1"),
        "Page.bringToFront",
        json!({}),
    ));
    assert_eq!(action.name(), "switch_tab");
    let tab = json!({ "targetId": "T1" });
    let (action, _) = judged(send(&mut gateway, None, "Target.activateTarget", tab));
    assert_eq!(
        action,
        Action::SwitchTab {
            tab: "T1".to_owned()
        }
    );
}

#[test]
fn a_target_waits_for_its_program_only_for_a_time() {
    let mut gateway = attached();
    let attach = |gateway: &mut CdpGateway, session: &str| {
        let info = page("T2", "C1", "about:blank");
        let params =
            json!({ "sessionId": session, "targetInfo": info, "waitingForDebugger": true });
        gateway.event(None, "Target.attachedToTarget", params);
    };
    attach(&mut gateway, "S2");
    attach(&mut gateway, "S3");
    passed(send(
        &mut gateway,
        Some("S3"),
        "Runtime.runIfWaitingForDebugger",
        json!({}),
    ));
    assert_eq!(gateway.take_overdue(), Vec::<String>::new());
    assert_eq!(gateway.take_overdue(), ["S2"]);
    assert_eq!(gateway.take_overdue(), Vec::<String>::new());
}
