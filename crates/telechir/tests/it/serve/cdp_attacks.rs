//! What an untrusted program at the CDP gateway tries against the person, the policy and other programs.

use std::fs;

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
