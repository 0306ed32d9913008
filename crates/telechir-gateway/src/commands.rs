//! The table of methods: what each may do, and as which action it is judged.

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Target};

use crate::extra_headers;
use crate::gateway::JudgedScope;
use crate::input;

/// Methods that only read, subscribe, or change how a page is shown. The opening of the connection was
/// judged for them.
const FREE: &[&str] = &[
    "Accessibility.disable",
    "Accessibility.enable",
    "Accessibility.getAXNodeAndAncestors",
    "Accessibility.getChildAXNodes",
    "Accessibility.getFullAXTree",
    "Accessibility.getPartialAXTree",
    "Accessibility.getRootAXNode",
    "Accessibility.queryAXTree",
    "Audits.disable",
    "Browser.getVersion",
    "Browser.getWindowForTarget",
    "CSS.disable",
    "CSS.enable",
    "CSS.getComputedStyleForNode",
    "DOM.disable",
    "DOM.discardSearchResults",
    "DOM.enable",
    "DOM.focus",
    "DOM.getAttributes",
    "DOM.getBoxModel",
    "DOM.getContentQuads",
    "DOM.getDocument",
    "DOM.getFlattenedDocument",
    "DOM.getFrameOwner",
    "DOM.getNodeForLocation",
    "DOM.getSearchResults",
    "DOM.performSearch",
    "DOM.querySelector",
    "DOM.querySelectorAll",
    "DOM.requestChildNodes",
    "DOM.requestNode",
    "DOM.scrollIntoViewIfNeeded",
    "DOMSnapshot.captureSnapshot",
    "DOMSnapshot.disable",
    "DOMSnapshot.enable",
    "Emulation.clearDeviceMetricsOverride",
    "Emulation.clearGeolocationOverride",
    "Emulation.setCPUThrottlingRate",
    "Emulation.setDefaultBackgroundColorOverride",
    "Emulation.setDeviceMetricsOverride",
    "Emulation.setEmitTouchEventsForMouse",
    "Emulation.setEmulatedMedia",
    "Emulation.setFocusEmulationEnabled",
    "Emulation.setGeolocationOverride",
    "Emulation.setLocaleOverride",
    "Emulation.setScriptExecutionDisabled",
    "Emulation.setScrollbarsHidden",
    "Emulation.setTimezoneOverride",
    "Emulation.setTouchEmulationEnabled",
    "Emulation.setUserAgentOverride",
    "Inspector.disable",
    "Inspector.enable",
    "Log.clear",
    "Log.disable",
    "Log.enable",
    "Network.disable",
    "Network.emulateNetworkConditions",
    "Network.setBypassServiceWorker",
    "Network.setCacheDisabled",
    "Network.setUserAgentOverride",
    "Overlay.hideHighlight",
    "Page.disable",
    "Page.enable",
    "Page.getFrameTree",
    "Page.getLayoutMetrics",
    "Page.getNavigationHistory",
    "Page.removeScriptToEvaluateOnNewDocument",
    "Page.screencastFrameAck",
    "Page.setFontFamilies",
    "Page.setInterceptFileChooserDialog",
    "Page.setLifecycleEventsEnabled",
    "Page.stopLoading",
    "Page.stopScreencast",
    "Performance.disable",
    "Performance.enable",
    "Performance.getMetrics",
    "Runtime.disable",
    "Runtime.discardConsoleEntries",
    "Runtime.enable",
    "Runtime.releaseObject",
    "Runtime.releaseObjectGroup",
    "Runtime.removeBinding",
    "Runtime.runIfWaitingForDebugger",
    "ServiceWorker.enable",
    "Target.detachFromTarget",
    "Target.getTargetInfo",
    "Target.getTargets",
];

/// Methods that run or install a script, and the member that has it. Without a text they do nothing.
const SCRIPTS: &[(&str, &str)] = &[
    ("Page.addScriptToEvaluateOnNewDocument", "source"),
    ("Runtime.callFunctionOn", "functionDeclaration"),
    ("Runtime.compileScript", "expression"),
    ("Runtime.evaluate", "expression"),
];

/// Methods that do what a script could: they change a page, or run code of it. A binding replaces what the
/// page calls by its name; properties are read by their getters, such as that of `document.cookie`.
const AS_SCRIPTS: &[&str] = &[
    "DOM.removeNode",
    "DOM.setAttributeValue",
    "DOM.setAttributesAsText",
    "DOM.setNodeValue",
    "DOM.setOuterHTML",
    "Page.setDocumentContent",
    "Runtime.addBinding",
    "Runtime.getProperties",
    "Runtime.runScript",
];

/// Methods that show any node of a page by a number that is easily guessed, also one that other methods
/// leave out. Only for nodes that the program got otherwise they are free.
const SHOW_BY_NUMBER: &[&str] = &[
    "DOM.describeNode",
    "DOM.getOuterHTML",
    "DOM.pushNodesByBackendIdsToFrontend",
    "DOM.resolveNode",
];

/// Members of commands that would open a way around the policy; they are removed.
const REMOVED: &[(&str, &str)] = &[
    ("Page.navigate", "transitionType"),
    (
        "Page.addScriptToEvaluateOnNewDocument",
        "includeCommandLineAPI",
    ),
    ("Runtime.evaluate", "includeCommandLineAPI"),
    ("Runtime.runScript", "includeCommandLineAPI"),
    ("DOM.getNodeForLocation", "includeUserAgentShadowDOM"),
    ("DOM.performSearch", "includeUserAgentShadowDOM"),
];

/// The subject of every question about scripts: programs run hundreds, most of them their own helpers.
const SCRIPT_SUBJECT: &str = "(every script of a program at the CDP gateway)";

/// What happens with a command.
#[derive(Debug, PartialEq)]
pub(crate) enum Treatment {
    /// It is passed on.
    Pass,
    /// It is passed on if the policy permits the action.
    Judge(Action, JudgedScope),
    /// It has this result and no effect.
    Answer(Value),
    /// It is refused, for the reason.
    Refuse(String),
}

/// What happens with a command, whose parameters are cut down to what may reach the browser.
pub(crate) fn treatment(method: &str, params: &mut Map<String, Value>) -> Treatment {
    for (of, member) in REMOVED {
        if *of == method {
            params.remove(*member);
        }
    }
    if FREE.contains(&method) {
        return Treatment::Pass;
    }
    if let Some((_, member)) = SCRIPTS.iter().find(|(name, _)| *name == method) {
        return script(method, member, params);
    }
    let is_by_number = ["backendNodeId", "backendNodeIds"]
        .iter()
        .any(|name| params.contains_key(*name));
    let shows_node = SHOW_BY_NUMBER.contains(&method);
    if shows_node && !is_by_number {
        return Treatment::Pass;
    }
    if shows_node || AS_SCRIPTS.contains(&method) {
        return scripted(format!("{method} {}", Value::Object(params.clone())));
    }
    let once = |action: Action| Treatment::Judge(action, JudgedScope::Once);
    let no = |reason: &str| Treatment::Refuse(reason.to_owned());
    match method {
        // `u` leads into what the browser itself has put into an element.
        "DOM.pushNodeByPathToFrontend" => {
            match text(params, "path")
                .split(',')
                .any(|step| step.trim() == "u")
            {
                true => no("the path leads into the browser's own part of an element"),
                false => Treatment::Pass,
            }
        }
        // Not with access to all origins.
        "Page.createIsolatedWorld" => {
            params.retain(|name, _| matches!(name.as_str(), "frameId" | "worldName"));
            Treatment::Pass
        }
        "Page.navigate" => match opened(params) {
            Ok(url) => once(Action::Navigate { url, tab: None }),
            Err(reason) => no(reason),
        },
        "Target.createTarget" => {
            params.retain(|name, _| {
                matches!(
                    name.as_str(),
                    "url" | "newWindow" | "background" | "browserContextId"
                )
            });
            match opened(params) {
                Ok(url) => once(Action::NewTab { url: Some(url) }),
                Err(reason) => no(reason),
            }
        }
        "Target.closeTarget" => once(Action::CloseTab {
            tab: text(params, "targetId"),
        }),
        "Target.activateTarget" => once(Action::SwitchTab {
            tab: text(params, "targetId"),
        }),
        "Page.bringToFront" => once(Action::SwitchTab {
            tab: "the tab of this command".to_owned(),
        }),
        // Their streams are checked: only what a command of this program has opened.
        "IO.read" | "IO.close" => Treatment::Pass,
        "Page.close" => once(Action::CloseTab {
            tab: "the tab of this command".to_owned(),
        }),
        "Page.reload" => match params.get("scriptToEvaluateOnLoad") {
            None => once(Action::Reload { tab: None }),
            Some(_) => no("Page.reload runs no scripts here"),
        },
        "Page.navigateToHistoryEntry" => once(Action::Back { tab: None }),
        "Page.captureScreenshot" => once(Action::Screenshot),
        "Page.startScreencast" => Treatment::Judge(Action::Screenshot, JudgedScope::Lasting),
        "Page.printToPDF" => once(Action::SavePdf {
            path: None,
            tab: None,
        }),
        "Page.handleJavaScriptDialog" => once(Action::AnswerDialog {
            accept: params.get("accept") == Some(&Value::Bool(true)),
            text: params
                .get("promptText")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }),
        // Headers and bodies show more than the page does.
        "Audits.enable" | "Network.enable" => {
            Treatment::Judge(read_request(), JudgedScope::Lasting)
        }
        "Network.getResponseBody" | "Network.getRequestPostData" => once(read_request()),
        "Network.setExtraHTTPHeaders" => match extra_headers::checked(params) {
            Ok(headers) => once(Action::Emulate {
                settings: Map::from_iter([("headers".to_owned(), headers.into())]),
            }),
            Err(reason) => Treatment::Refuse(reason),
        },
        "Browser.grantPermissions" => once(granted(params)),
        "Browser.resetPermissions" => once(Action::Emulate {
            settings: Map::from_iter([("permissions".to_owned(), json!([]))]),
        }),
        "Network.getCookies" | "Network.getAllCookies" | "Storage.getCookies" => {
            once(Action::SaveStorageState { path: None })
        }
        "Network.setCookie" => once(Action::SetCookies {
            cookies: vec![Value::Object(params.clone())],
        }),
        "Network.setCookies" | "Storage.setCookies" => once(Action::SetCookies {
            cookies: params
                .get("cookies")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
        }),
        "Network.deleteCookies" | "Network.clearBrowserCookies" | "Storage.clearCookies" => {
            once(Action::ClearCookies { url: None })
        }
        "DOM.setFileInputFiles" => upload(params),
        "Input.dispatchMouseEvent" => input::mouse(params),
        "Input.dispatchKeyEvent" => input::key(params),
        "Input.insertText" => input::insert_text(params),
        "Input.dispatchTouchEvent" => input::touch(params),
        "Input.dispatchDragEvent" => input::drag(params),
        "Target.setAutoAttach" | "Target.attachToTarget" => {
            match params.get("flatten") {
                Some(Value::Bool(true)) => {}
                _ if params.get("autoAttach") == Some(&Value::Bool(false)) => {}
                _ => return no("only flat sessions are offered; set `flatten`"),
            }
            // Filters that name targets of other kinds change nothing: those are not shown.
            Treatment::Pass
        }
        // Programs set their own folder as soon as they connect; downloads go where those of the
        // session go, whatever they set.
        "Browser.setDownloadBehavior" | "Page.setDownloadBehavior" | "Browser.cancelDownload" => {
            Treatment::Answer(json!({}))
        }
        "Target.getBrowserContexts" => Treatment::Answer(json!({ "browserContextIds": [] })),
        "Target.createBrowserContext" => no(
            "a session has one browser context, with the session's proxy and profile; use the default \
             context",
        ),
        "Browser.close" | "Browser.crash" | "Browser.crashGpuProcess" => {
            no("the browser belongs to the session; close the session, or only this connection")
        }
        "Target.attachToBrowserTarget"
        | "Target.sendMessageToTarget"
        | "Target.exposeDevToolsProtocol"
        | "Target.setRemoteLocations" => no("it would open a connection that nothing judges"),
        _ => no("it is not on the gateway's list of methods"),
    }
}

/// The URL that a command opens, or why it is not opened.
fn opened(params: &mut Map<String, Value>) -> Result<String, &'static str> {
    let url = text(params, "url");
    let url = match url.as_str() {
        "" => "about:blank".to_owned(),
        _ => url,
    };
    params.insert("url".to_owned(), url.clone().into());
    let trimmed: String = url
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace())
        .collect();
    let lower = trimmed.to_ascii_lowercase();
    let is_of_web = lower == "about:blank"
        || ["http://", "https://", "data:"]
            .iter()
            .any(|scheme| lower.starts_with(scheme));
    match is_of_web && trimmed == url {
        true => Ok(url),
        false => Err("only http:, https:, data: and about:blank can be opened"),
    }
}

/// The granting of permissions to an origin, or to all.
fn granted(params: &Map<String, Value>) -> Action {
    let permissions = params.get("permissions").cloned().unwrap_or_default();
    let origin = match params.get("origin") {
        None | Some(Value::Null) => "every origin".into(),
        Some(origin) => origin.clone(),
    };
    let settings = [("permissions", permissions), ("origin", origin)];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    Action::Emulate {
        settings: Map::from_iter(settings),
    }
}

fn read_request() -> Action {
    Action::ReadRequest {
        request: 0,
        tab: None,
    }
}

fn script(method: &str, member: &str, params: &Map<String, Value>) -> Treatment {
    let source = params.get(member).unwrap_or(&Value::Null);
    let arguments = params.get("arguments").filter(|list| **list != json!([]));
    scripted(match (source.as_str(), arguments) {
        (Some(text), None) if text.trim().is_empty() => return Treatment::Pass,
        (Some(text), None) => text.to_owned(),
        // Frameworks have one function that runs what its arguments say.
        (Some(text), Some(arguments)) => format!("{text}\n// arguments: {arguments}"),
        (None, _) => format!("{method} {}", Value::Object(params.clone())),
    })
}

fn scripted(shown: String) -> Treatment {
    let action = Action::Javascript {
        script: SCRIPT_SUBJECT.to_owned(),
        tab: None,
    };
    Treatment::Judge(action, JudgedScope::Script(shown))
}

fn upload(params: &Map<String, Value>) -> Treatment {
    let files = params.get("files").and_then(Value::as_array);
    let paths: Option<Vec<String>> = files.and_then(|files| {
        let paths = files.iter().map(|path| path.as_str().map(str::to_owned));
        paths.collect()
    });
    let Some(paths) = paths else {
        return Treatment::Refuse("`files` is not a list of paths".to_owned());
    };
    let id = match params.get("backendNodeId").or_else(|| params.get("nodeId")) {
        Some(node) => format!("node {node}"),
        None => "the file control of this command".to_owned(),
    };
    let action = Action::FileUpload {
        at: Target::Ref { id, frame: None },
        paths,
        documents: Vec::new(),
        tab: None,
    };
    Treatment::Judge(action, JudgedScope::Once)
}

/// A text of the parameters; empty if it is missing.
pub(crate) fn text(params: &Map<String, Value>, name: &str) -> String {
    params
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
