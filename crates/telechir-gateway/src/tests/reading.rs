//! What a program reads that it may not know, or only after a judgement.

use serde_json::{Value, json};

use super::{attached, passed, refused, send};
use crate::{JudgedScope, MessageStep, opening_actions};

#[track_caller]
fn script(step: MessageStep) -> (String, Value) {
    let MessageStep::Judge(judged) = step else {
        panic!("not judged: {step:?}");
    };
    assert_eq!(judged.action.name(), "javascript");
    let JudgedScope::Script(shown) = judged.scope else {
        panic!("no script: {:?}", judged.scope);
    };
    (shown, judged.command.params)
}

#[test]
fn getters_run_as_scripts_do() {
    let mut gateway = attached();
    let params = json!({ "objectId": "1.2.3", "ownProperties": false });
    let step = send(
        &mut gateway,
        Some("S1"),
        "Runtime.getProperties",
        params.clone(),
    );
    let (shown, sent) = script(step);
    assert!(shown.starts_with("Runtime.getProperties") && shown.contains("1.2.3"));
    assert_eq!(sent, params);
}

#[test]
fn the_console_api_is_given_to_no_script() {
    let mut gateway = attached();
    let params = json!({ "scriptId": "4", "includeCommandLineAPI": true });
    let (_, sent) = script(send(&mut gateway, Some("S1"), "Runtime.runScript", params));
    assert_eq!(sent, json!({ "scriptId": "4" }));
}

#[test]
fn nodes_that_were_left_out_are_not_reached_by_their_numbers() {
    let mut gateway = attached();
    let mut run = |method: &str, params: Value| send(&mut gateway, Some("S1"), method, params);
    for method in [
        "DOM.describeNode",
        "DOM.getOuterHTML",
        "DOM.requestChildNodes",
        "DOM.getAttributes",
        "DOM.resolveNode",
        "DOM.querySelectorAll",
        "DOM.setNodeValue",
    ] {
        for id in [json!(6), json!("1"), json!(-1)] {
            let problem = refused(run(method, json!({ "nodeId": id })));
            assert!(problem.contains("Could not find node"), "{problem}");
        }
    }
    passed(run("DOM.describeNode", json!({ "nodeId": 1 })));
    passed(run("DOM.describeNode", json!({ "objectId": "1.1.1" })));
    // Other numbers are guessed as easily, and say nothing of where the node is.
    for method in ["DOM.describeNode", "DOM.getOuterHTML", "DOM.resolveNode"] {
        script(run(method, json!({ "backendNodeId": 6 })));
        script(run(method, json!({ "nodeId": 1, "backendNodeId": 6 })));
    }
    let listed = json!({ "backendNodeIds": [6] });
    script(run("DOM.pushNodesByBackendIdsToFrontend", listed));
    let path = json!({ "path": "1,BODY,0,INPUT,u,#document-fragment" });
    let problem = refused(run("DOM.pushNodeByPathToFrontend", path));
    assert!(problem.contains("browser's own part"), "{problem}");
    let path = json!({ "path": "1,BODY,0,INPUT,a,#document-fragment" });
    passed(run("DOM.pushNodeByPathToFrontend", path));
    let search = json!({ "query": "s3cret", "includeUserAgentShadowDOM": true });
    let command = passed(run("DOM.performSearch", search));
    assert_eq!(command.params, json!({ "query": "s3cret" }));
}

#[test]
fn replies_and_events_have_no_nodes_of_the_browser_itself() {
    let mut gateway = attached();
    let own = json!({ "nodeId": 11, "shadowRootType": "user-agent",
        "children": [{ "nodeId": 12, "nodeValue": "s3cret" }] });
    let field = json!({ "nodeId": 10, "shadowRoots": [own] });
    for (method, reply) in [
        ("DOM.getDocument", json!({ "root": field })),
        ("DOM.describeNode", json!({ "node": field })),
        (
            "DOM.getFlattenedDocument",
            json!({ "nodes": [own["children"][0], field] }),
        ),
    ] {
        let command = passed(send(&mut gateway, Some("S1"), method, json!({})));
        let mut reply = reply;
        if method == "DOM.getFlattenedDocument" {
            reply["nodes"][0]["parentId"] = 11.into();
        }
        let reply = gateway.reply(&command, Ok(reply));
        assert!(!reply.contains("s3cret"), "{method}: {reply}");
        assert!(reply.contains("10"), "{method}: {reply}");
    }
    let set = json!({ "parentId": 10, "nodes": [field] });
    let step = gateway.event(Some("S1"), "DOM.setChildNodes", set);
    let message = step.message.unwrap();
    assert!(!message.contains("s3cret"), "{message}");
    for (method, event) in [
        ("DOM.shadowRootPushed", json!({ "hostId": 10, "root": own })),
        (
            "DOM.characterDataModified",
            json!({ "nodeId": 12, "characterData": "s3cret" }),
        ),
    ] {
        let step = gateway.event(Some("S1"), method, event);
        assert_eq!(step.message, None, "{method}");
    }
    let renewed = gateway.event(Some("S1"), "DOM.documentUpdated", json!({}));
    assert!(renewed.message.is_some());
    let gone = json!({ "nodeId": 10 });
    refused(send(&mut gateway, Some("S1"), "DOM.getAttributes", gone));
}

#[test]
fn no_program_sees_or_enters_the_world_of_telechir() {
    let mut gateway = attached();
    let created = |id: i64, name: &str| {
        let unique = format!("u{id}");
        json!({ "context": { "id": id, "uniqueId": unique, "name": name, "origin": "" } })
    };
    for (id, name, is_shown) in [(1, "", true), (2, "telechir", false), (3, "mine", true)] {
        let step = gateway.event(
            Some("S1"),
            "Runtime.executionContextCreated",
            created(id, name),
        );
        assert_eq!(step.message.is_some(), is_shown, "{name}");
    }
    let mut run = |method: &str, params: Value| send(&mut gateway, Some("S1"), method, params);
    for (method, params) in [
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "contextId": 2 }),
        ),
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "contextId": 4 }),
        ),
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "contextId": "2" }),
        ),
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "uniqueContextId": "u2" }),
        ),
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "uniqueContextId": "u9" }),
        ),
        (
            "Runtime.runScript",
            json!({ "scriptId": "1", "executionContextId": 2 }),
        ),
        (
            "Runtime.compileScript",
            json!({ "expression": "1", "executionContextId": 2 }),
        ),
        (
            "Runtime.addBinding",
            json!({ "name": "x", "executionContextId": 2 }),
        ),
        (
            "DOM.resolveNode",
            json!({ "nodeId": 1, "executionContextId": 2 }),
        ),
        (
            "Runtime.callFunctionOn",
            json!({ "functionDeclaration": "f", "executionContextId": 2 }),
        ),
        (
            "Runtime.callFunctionOn",
            json!({ "functionDeclaration": "f", "objectId": "-7.2.1" }),
        ),
        (
            "Runtime.callFunctionOn",
            json!({ "functionDeclaration": "f", "objectId": "-7.1.1",
                "arguments": [{ "objectId": "-7.2.1" }] }),
        ),
    ] {
        let problem = refused(run(method, params.clone()));
        assert!(
            problem.contains("Cannot find context"),
            "{params}: {problem}"
        );
    }
    for (method, params) in [
        (
            "Page.createIsolatedWorld",
            json!({ "frameId": "F", "worldName": "telechir" }),
        ),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": "1", "worldName": "telechir" }),
        ),
        (
            "Runtime.addBinding",
            json!({ "name": "x", "executionContextName": "telechir" }),
        ),
    ] {
        let problem = refused(run(method, params));
        assert!(problem.contains("telechir's own"), "{problem}");
    }
    for params in [
        json!({ "expression": "1", "contextId": 1 }),
        json!({ "expression": "1", "contextId": 3 }),
        json!({ "expression": "1", "uniqueContextId": "u3" }),
        json!({ "expression": "1" }),
    ] {
        script(run("Runtime.evaluate", params));
    }
    let world = json!({ "frameId": "F", "worldName": "w" });
    let command = passed(run("Page.createIsolatedWorld", world));
    gateway.reply(&command, Ok(json!({ "executionContextId": 8 })));
    let own = json!({ "expression": "1", "contextId": 8 });
    script(send(&mut gateway, Some("S1"), "Runtime.evaluate", own));
    for (method, params) in [
        (
            "Runtime.consoleAPICalled",
            json!({ "executionContextId": 2, "args": [] }),
        ),
        (
            "Runtime.bindingCalled",
            json!({ "executionContextId": 2, "name": "x" }),
        ),
        (
            "Runtime.exceptionThrown",
            json!({ "exceptionDetails": { "executionContextId": 2 } }),
        ),
        (
            "Runtime.executionContextDestroyed",
            json!({ "executionContextId": 2 }),
        ),
    ] {
        let step = gateway.event(Some("S1"), method, params);
        assert_eq!(step.message, None, "{method}");
    }
    for id in [1, 8] {
        let ended = json!({ "executionContextId": id, "executionContextUniqueId": "u1" });
        let step = gateway.event(Some("S1"), "Runtime.executionContextDestroyed", ended);
        assert!(step.message.is_some());
        let old = json!({ "expression": "1", "contextId": id });
        refused(send(&mut gateway, Some("S1"), "Runtime.evaluate", old));
    }
    gateway.event(Some("S1"), "Runtime.executionContextsCleared", json!({}));
    let old = json!({ "expression": "1", "contextId": 3 });
    refused(send(&mut gateway, Some("S1"), "Runtime.evaluate", old));
}

#[test]
fn log_entries_have_no_addresses_of_requests() {
    let mut gateway = attached();
    let entry = json!({ "entry": { "text": "404", "url": "https://a/?token=x", "level": "error",
        "networkRequestId": "1" } });
    let step = gateway.event(Some("S1"), "Log.entryAdded", entry);
    let message: Value = serde_json::from_str(&step.message.unwrap()).unwrap();
    let entry = json!({ "text": "404", "level": "error" });
    assert_eq!(message["params"]["entry"], entry);
}

#[test]
fn the_opening_is_judged_for_all_that_is_read_freely() {
    let actions = opening_actions();
    let names: Vec<&str> = actions.iter().map(|action| action.name()).collect();
    for name in [
        "read_page",
        "page_text",
        "read_console",
        "scroll",
        "emulate",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn of_parameters_that_were_sent_only_what_the_answer_needs_stays() {
    let mut gateway = attached();
    let params = json!({ "frameId": "F", "worldName": "w".repeat(1000) });
    let step = send(
        &mut gateway,
        Some("S1"),
        "Page.createIsolatedWorld",
        params.clone(),
    );
    let mut command = passed(step);
    assert_eq!(command.take_params(), params);
    assert_eq!(command.params, Value::Null);
    let params = json!({ "url": "https://example.com/", "newWindow": true });
    let step = send(&mut gateway, None, "Target.createTarget", params.clone());
    let MessageStep::Judge(mut judged) = step else {
        panic!("a tab is not judged");
    };
    assert_eq!(judged.command.take_params(), params);
    gateway.reply(&judged.command, Ok(json!({ "targetId": "T9" })));
    assert!(gateway.urls().any(|url| url == "https://example.com/"));
}
