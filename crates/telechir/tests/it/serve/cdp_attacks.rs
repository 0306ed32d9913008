//! What an untrusted program at the CDP gateway tries against the person, the policy and other programs.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;

use super::approvals::question;
use super::cdp::{Driver, GatewayFixture, POLICY};
use crate::telechir::Ran;
use crate::view::stream::{Viewer, page_session};

const REQUESTS: &str = "
[[computer]]
actions = ['read_request']
verdict = 'allow'
reason = 'A test.'

[[computer]]
actions = ['save_storage_state']
verdict = 'deny'
reason = 'Cookies stay here.'
";

/// A page that logs in: with a cookie, a header and a form.
const LOG_IN: &str = "(async () => {
    document.cookie = 'sid=c00kie-s3cret';
    const field = document.createElement('input');
    [field.type, field.value] = ['password', 'typed-s3cret'];
    document.body.append(field);
    await fetch(location.pathname, { headers: { Authorization: 'Bearer h3ader-s3cret' } });
    await fetch(location.pathname, { method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'user=ann&password=f0rm-s3cret' });
    return 'done';
})()";

#[test]
fn a_program_reads_no_secret_of_a_page_that_the_policy_keeps() {
    let gateway = GatewayFixture::new(&format!("{POLICY}{REQUESTS}"));
    let mut program = gateway.connect();
    let page = program.attach();
    program.open(&page, &gateway.pages.url);
    for method in ["Network.enable", "Audits.enable"] {
        program
            .call(Some(&page), method, json!({}))
            .expect("enabled");
    }
    let params = json!({ "expression": LOG_IN, "awaitPromise": true, "returnByValue": true });
    let done = program.call(Some(&page), "Runtime.evaluate", params);
    assert_eq!(done.expect("a value")["result"]["value"], "done");
    let post = loop {
        let event = program.event("Network.requestWillBeSent");
        if event["request"]["method"] == "POST" {
            break event;
        }
    };
    assert_eq!(post["request"]["postData"], "user=ann&password=(hidden)");
    let id = json!({ "requestId": post["requestId"] });
    let body = program.call(Some(&page), "Network.getRequestPostData", id);
    assert_eq!(
        body.expect("a body")["postData"],
        "user=ann&password=(hidden)"
    );
    let sent = program.event("Network.requestWillBeSentExtraInfo");
    assert!(
        sent.to_string().to_lowercase().contains("\"cookie\""),
        "{sent}"
    );
    let snapshot = json!({ "computedStyles": [], "includeDOMRects": true });
    let snapshot = program.call(Some(&page), "DOMSnapshot.captureSnapshot", snapshot);
    let snapshot = snapshot.expect("a snapshot").to_string();
    let seen = format!(
        "{snapshot}{sent}{post}{}",
        Value::from(program.events.clone())
    );
    for secret in ["c00kie", "h3ader", "f0rm", "typed"] {
        assert!(!seen.contains(&format!("{secret}-s3cret")), "{secret}");
    }
    for method in ["Storage.getCookies", "Network.getCookies"] {
        let refused = program.call(Some(&page), method, json!({}));
        let refused = refused.expect_err("it is denied");
        assert!(refused.contains("Cookies stay here"), "{refused}");
    }
}

/// A page with a field into which somebody types a password.
const PASSWORD_FIELD: &str = "(() => {
    const field = document.createElement('input');
    field.type = 'password';
    document.body.append(field);
    const host = document.createElement('div');
    host.attachShadow({ mode: 'open' }).innerHTML = '<b>in the page</b>';
    document.body.append(host);
    field.focus();
})()";

/// All node numbers of a reply.
fn node_ids(value: &Value, ids: &mut Vec<i64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| node_ids(item, ids)),
        Value::Object(members) => {
            ids.extend(members.get("nodeId").and_then(Value::as_i64));
            members.values().for_each(|member| node_ids(member, ids));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_program_reads_no_password_through_the_nodes_of_a_field() {
    let gateway = GatewayFixture::new(POLICY);
    let mut program = gateway.connect();
    let page = program.attach();
    program.open(&page, &gateway.pages.url);
    program.evaluate(&page, PASSWORD_FIELD);
    let everything = json!({ "depth": -1, "pierce": true });
    let document = program.call(Some(&page), "DOM.getDocument", everything.clone());
    let document = document.expect("a document");
    let typed = json!({ "text": "typed-s3cret" });
    program
        .call(Some(&page), "Input.insertText", typed)
        .expect("typed");
    let value = "document.querySelector('[type=password]').value";
    assert_eq!(program.evaluate(&page, value), "typed-s3cret");

    let again = program.call(Some(&page), "DOM.getDocument", everything.clone());
    let again = again.expect("a document");
    let (mut ids, mut later) = (Vec::new(), Vec::new());
    node_ids(&document, &mut ids);
    node_ids(&again, &mut later);
    assert!(
        ids.iter().max() < later.iter().min(),
        "numbers are not given out twice"
    );
    let mut seen = vec![document, again.clone()];
    let query = json!({ "nodeId": again["root"]["nodeId"], "selector": "[type=password]" });
    let field = program.call(Some(&page), "DOM.querySelector", query);
    let field = field.expect("a field")["nodeId"].take();
    let deep = json!({ "nodeId": field, "depth": -1, "pierce": true });
    for method in ["DOM.describeNode", "DOM.requestChildNodes"] {
        let described = program.call(Some(&page), method, deep.clone());
        seen.push(described.expect("an answer"));
    }
    let outer = json!({ "nodeId": again["root"]["nodeId"], "includeShadowDOM": true });
    let outer = program.call(Some(&page), "DOM.getOuterHTML", outer);
    seen.push(outer.expect("a text"));
    let tree = program.call(Some(&page), "Accessibility.getFullAXTree", json!({}));
    seen.push(tree.expect("a tree"));
    let flat = program.call(Some(&page), "DOM.getFlattenedDocument", everything);
    let flat = flat.expect("nodes");
    node_ids(&flat, &mut later);
    seen.push(flat);
    let shown = Value::from(seen).to_string();
    assert!(
        shown.contains("in the page"),
        "its own shadow root is shown"
    );
    assert!(!shown.contains("user-agent"), "{shown}");
    // All numbers around those that it got.
    node_ids(&program.events.clone().into(), &mut later);
    let last = later.iter().max().copied().unwrap_or_default();
    let mut guessed = 0;
    for id in 1..=last + 8 {
        for method in [
            "DOM.describeNode",
            "DOM.getOuterHTML",
            "DOM.requestChildNodes",
        ] {
            let guess = json!({ "nodeId": id, "depth": -1, "pierce": true });
            if let Ok(reply) = program.call(Some(&page), method, guess) {
                guessed += 1;
                assert!(!reply.to_string().contains("typed-s3cret"), "{id}: {reply}");
            }
        }
    }
    assert!(guessed > 0, "those that it got are described");
    let seen = format!("{shown}{}", Value::from(program.events.clone()));
    assert!(!seen.contains("typed-s3cret"), "{seen}");
}

#[test]
fn a_program_reads_no_properties_and_no_world_of_telechir_by_itself() {
    let denies = "
[[computer]]
actions = ['javascript']
verdict = 'deny'
reason = 'No scripts.'
";
    let policy = POLICY.replace("'javascript', ", "");
    let gateway = GatewayFixture::new(&format!("{policy}{denies}"));
    let mut program = gateway.connect();
    let page = program.attach();
    program
        .call(Some(&page), "Runtime.enable", json!({}))
        .expect("enabled");
    program.open(&page, &gateway.pages.url);
    let root = program.call(Some(&page), "DOM.getDocument", json!({}));
    let root = root.expect("a document")["root"]["nodeId"].take();
    let resolved = program.call(Some(&page), "DOM.resolveNode", json!({ "nodeId": root }));
    let object = resolved.expect("an object")["object"]["objectId"].take();
    for params in [
        json!({ "objectId": object }),
        json!({ "objectId": object, "ownProperties": true, "accessorPropertiesOnly": true }),
    ] {
        let refused = program.call(Some(&page), "Runtime.getProperties", params);
        let refused = refused.expect_err("it is denied");
        assert!(refused.contains("No scripts"), "{refused}");
    }
    let guess = json!({ "backendNodeId": 2 });
    let refused = program.call(Some(&page), "DOM.describeNode", guess);
    assert!(refused.expect_err("it is denied").contains("No scripts"));
    // Contexts that it was told of are none of telechir's, and no others can be named.
    let mut worlds = Vec::new();
    for event in &program.events {
        if event["method"] == "Runtime.executionContextCreated" {
            let context = &event["params"]["context"];
            assert_ne!(context["name"], "telechir", "{event}");
            worlds.extend(context["id"].as_i64());
        }
    }
    assert!(!worlds.is_empty(), "the page has a context");
    for id in (1..20).filter(|id| !worlds.contains(id)) {
        let enter = json!({ "expression": "1", "contextId": id });
        let refused = program.call(Some(&page), "Runtime.evaluate", enter);
        let refused = refused.expect_err("no such context");
        assert!(refused.contains("Cannot find context"), "{refused}");
    }
}

#[test]
fn a_script_that_is_denied_ends_the_connection_in_which_others_last() {
    let gateway = GatewayFixture::new(POLICY);
    let mut program = gateway.connect();
    let page = program.attach();
    let lasts = json!({ "source": "window.lasts = true" });
    program
        .call(Some(&page), "Page.addScriptToEvaluateOnNewDocument", lasts)
        .expect("installed");
    let sessions = &gateway.server.sessions;
    let policy = POLICY.replace("'javascript', ", "");
    let denies = "
[[computer]]
actions = ['javascript']
verdict = 'deny'
reason = 'No more scripts.'
";
    fs::write(sessions.file("policy.toml"), format!("{policy}{denies}")).expect("a policy");
    let reload = ["policy", "reload", &gateway.session];
    let ran = Ran::of(&mut sessions.command(&reload), "");
    assert!(ran.stdout.contains("was reloaded"), "{ran:?}");
    let script = json!({ "id": 78, "method": "Runtime.evaluate", "sessionId": page,
        "params": { "expression": "1" } });
    program.send(&script);
    let mut last = Value::Null;
    while let Some(message) = program.read() {
        last = message;
    }
    assert_eq!(last["method"], "Inspector.detached", "{last}");
    assert!(last.to_string().contains("No more scripts"), "{last}");
}

#[test]
fn a_program_whose_opening_is_in_question_keeps_no_person_out() {
    let rule = "
[[computer]]
actions = ['read_console']
verdict = 'ask'
reason = 'It reads the console.'
";
    let gateway = GatewayFixture::new(&format!("{POLICY}{rule}"));
    let (server, address) = (gateway.server.address.clone(), gateway.address());
    let opening = thread::spawn(move || Driver::connect(&server, &address, &[]).is_ok());
    let operator = gateway.server.client("operator");
    question(&operator);
    let person = page_session(&gateway.server, "operator");
    let mut person = Viewer::connect(&gateway.server, &person, &gateway.session);
    assert!(person.take()["control"]["id"].is_string());
    let open = operator.get("/v1/approvals")["approvals"].clone();
    assert_eq!(open, json!([]), "nobody waits for it any more");
    assert!(!opening.join().expect("a thread"), "it was not opened");
}

#[test]
fn a_person_in_control_is_alone_with_the_browser() {
    let gateway = GatewayFixture::new(POLICY);
    let mut program = gateway.connect();
    program.attach();
    // A question is open about the program's command; the person does not have to answer it first.
    let ask = json!({ "id": 77, "method": "Storage.getCookies", "params": {} });
    program.send(&ask);
    let operator = gateway.server.client("operator");
    question(&operator);
    let person = page_session(&gateway.server, "operator");
    let mut person = Viewer::connect(&gateway.server, &person, &gateway.session);
    assert!(person.take()["control"]["id"].is_string());
    let open = operator.get("/v1/approvals")["approvals"].clone();
    assert_eq!(open, json!([]), "nobody waits for it any more");
    let mut why = String::new();
    while let Some(message) = program.read() {
        assert_ne!(message["id"], 77, "{message}");
        if message["method"] == "Inspector.detached" {
            message["params"]["reason"]
                .as_str()
                .expect("a reason")
                .clone_into(&mut why);
        }
    }
    assert!(why.contains("a person has control"), "{why:?}");
    let refused = Driver::connect(&gateway.server.address, &gateway.address(), &[]);
    assert!(refused.is_err(), "no program observes meanwhile");
    person.send(&json!("give"));
    person.answer();
    let mut program = gateway.connect();
    let page = program.attach();
    assert_eq!(program.evaluate(&page, "1 + 1"), 2);
}

#[test]
fn a_command_of_a_program_that_has_gone_is_never_done() {
    let gateway = GatewayFixture::new(POLICY);
    let operator = gateway.server.client("operator");
    let mut program = gateway.connect();
    let page = program.attach();
    let text = "before the page";
    for (method, params) in [
        ("Page.enable", json!({})),
        (
            "Emulation.setUserAgentOverride",
            json!({ "userAgent": text }),
        ),
        (
            "Emulation.setTimezoneOverride",
            json!({ "timezoneId": "Asia/Tokyo" }),
        ),
        (
            "Network.emulateNetworkConditions",
            json!({ "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0 }),
        ),
        (
            "Page.setInterceptFileChooserDialog",
            json!({ "enabled": true }),
        ),
        ("Runtime.addBinding", json!({ "name": "tell" })),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": "window.left = 1" }),
        ),
    ] {
        program.call(Some(&page), method, params).expect(method);
    }
    program.send(&json!({ "id": 77, "method": "Storage.getCookies", "params": {} }));
    question(&operator);
    drop(program);
    let open = || operator.get("/v1/approvals")["approvals"].clone();
    assert_eventually_blocking!(open(), |open| *open == json!([]));
    // The session goes on, and nothing of what it set is left.
    let mut program = gateway.connect();
    let page = program.attach();
    program.open(&page, &gateway.pages.url);
    let left = "[navigator.userAgent, Intl.DateTimeFormat().resolvedOptions().timeZone, \
        typeof window.left, typeof window.tell].join()";
    let left = program.evaluate(&page, left).to_string();
    assert!(left.contains("undefined,undefined"), "{left}");
    assert!(!left.contains(text) && !left.contains("Tokyo"), "{left}");
    assert!(
        !gateway
            .intents()
            .iter()
            .any(|does| does["devtools"] == "Storage.getCookies"),
        "it never started"
    );
}

#[test]
fn what_a_new_policy_denies_ends_with_it() {
    let gateway = GatewayFixture::new(&format!("{POLICY}{REQUESTS}"));
    let mut listening = gateway.connect();
    let page = listening.attach();
    listening
        .call(Some(&page), "Network.enable", json!({}))
        .expect("enabled");
    let mut other = gateway.connect();
    let its_page = other.attach();
    let sessions = &gateway.server.sessions;
    let denies = "
[[computer]]
actions = ['read_request']
verdict = 'deny'
reason = 'No more requests.'
";
    fs::write(sessions.file("policy.toml"), format!("{POLICY}{denies}")).expect("a policy");
    let reload = ["policy", "reload", &gateway.session];
    let ran = Ran::of(&mut sessions.command(&reload), "");
    assert!(ran.stdout.contains("was reloaded"), "{ran:?}");
    let mut last = Value::Null;
    while let Some(message) = listening.read() {
        last = message;
    }
    assert_eq!(last["method"], "Inspector.detached", "{last}");
    assert!(last.to_string().contains("No more requests"), "{last}");
    assert_eq!(
        other.evaluate(&its_page, "1 + 1"),
        2,
        "it does nothing that is denied"
    );
}

#[test]
fn no_program_holds_a_page_before_it_starts_or_drives_it_unknown() {
    let gateway = GatewayFixture::new(POLICY);
    let mut program = gateway.connect();
    // It attaches to everything, paused, and never lets it run.
    let page = program.attach();
    let opened = gateway.agent.post(
        &super::turn_path(&gateway.session),
        &crate::sessions::response(
            "browser",
            None,
            json!({ "action": "new_tab", "url": gateway.pages.url }),
        ),
    );
    assert!(opened.to_string().contains("/page"), "{opened}");
    // It never asked where its page is; the gateway knows all the same, and the session is untrusted.
    program.evaluate(&page, "1");
    let targets = program.call(None, "Target.getTargets", json!({}));
    let targets = targets.expect("targets").to_string();
    assert!(targets.contains(&gateway.pages.url), "{targets}");
    let activate = program.call(Some(&page), "Page.bringToFront", json!({}));
    activate.expect("a tab");
    assert!(
        gateway
            .intents()
            .iter()
            .any(|does| does["action"]["action"] == "switch_tab")
    );
}
