//! Actions on screens: kinds, keys, addresses, safety checks.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_policy::{
    Device, DisplayOwner, Judge, Judgement, Policy, Resolved, ScreenFacts, ScreenProposal,
    ScreenWindows, Verdict,
};
use telechir_protocol::{Action, SafetyCheck, SafetySource};

use crate::shell::verdict;

pub(crate) fn facts() -> ScreenFacts {
    let (pressed, resolved) = (Vec::new(), Vec::new());
    ScreenFacts {
        display: DisplayOwner::Private,
        pressed,
        resolved,
        windows: ScreenWindows::None,
        is_untrusted: false,
        now: Duration::ZERO,
    }
}

pub(crate) fn proposal(actions: &[Value]) -> ScreenProposal {
    let read = |action: &Value| serde_json::from_value::<Action>(action.clone()).unwrap();
    let actions = actions.iter().map(read).collect();
    ScreenProposal {
        call_id: "call_1".into(),
        device: Device::Browser,
        actions,
        safety_checks: Vec::new(),
    }
}

#[test]
fn what_a_rule_permits_in_a_sandbox_needs_approval_on_an_existing_display() {
    let rules = "
        [[computer]]
        actions = ['open_app']
        verdict = 'sandbox'
        reason = 'Only where it is confined.'
    ";
    let policy = Policy::from_toml(rules, "p.toml").unwrap();
    let start = json!({"action": "open_app", "name": "mousepad"});
    for (display, wanted) in [
        (DisplayOwner::Private, Verdict::Allow),
        (DisplayOwner::Existing, Verdict::Ask),
    ] {
        let facts = ScreenFacts { display, ..facts() };
        let start = proposal(std::slice::from_ref(&start));
        let found = verdict(&Judge::new(policy.clone()).screen(start, &facts));
        assert_eq!(found, wanted, "{display:?}");
    }
}

#[test]
fn windows_and_the_clipboard_of_an_existing_display_need_approval() {
    let look = json!({"action": "list_windows"});
    let close = json!({"action": "close_window", "window": "w1"});
    let (copied, copy) = (
        json!({"action": "read_clipboard"}),
        json!({"action": "write_clipboard", "text": "a"}),
    );
    let (hidden, start) = (
        json!({"action": "write_clipboard", "text": "a\u{1b}b"}),
        json!({"action": "open_app", "name": "xterm"}),
    );
    for (action, private, existing) in [
        (&look, Verdict::Allow, Verdict::Allow),
        (&close, Verdict::Allow, Verdict::Ask),
        (&copied, Verdict::Allow, Verdict::Ask),
        (&copy, Verdict::Allow, Verdict::Ask),
        (&hidden, Verdict::Ask, Verdict::Ask),
        (&start, Verdict::Ask, Verdict::Ask),
    ] {
        for (display, wanted) in [
            (DisplayOwner::Private, private),
            (DisplayOwner::Existing, existing),
        ] {
            let mut judge = Judge::new(Policy::default_policy());
            let facts = ScreenFacts { display, ..facts() };
            let approval = proposal(std::slice::from_ref(action));
            assert_eq!(verdict(&judge.screen(approval, &facts)), wanted, "{action}");
        }
    }
}

pub(crate) fn navigate(policy: &Policy, url: &str, facts: &ScreenFacts) -> Verdict {
    let approval = proposal(&[json!({ "action": "navigate", "url": url })]);
    verdict(&Judge::new(policy.clone()).screen(approval, facts))
}

#[track_caller]
fn check_urls(wanted: Verdict, urls: &[&str]) {
    for url in urls {
        assert_eq!(
            navigate(&Policy::default_policy(), url, &facts()),
            wanted,
            "{url:?}"
        );
    }
}

#[test]
fn this_machine_is_refused_however_it_is_spelled() {
    check_urls(
        Verdict::Deny,
        &[
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://0/",
            "http://①②⑦.⓪.⓪.①/",
            "http://127。0。0。1/",
            "http://127.0.0.1./",
            "http://localhost/",
            "http://localhost./",
            "http://LOCALHOST/",
            "http://a.localhost/",
            "http:/\\127.0.0.1/",
            "http://[::1]/",
            "127.0.0.1",
        ],
    );
}

#[test]
fn addresses_that_are_not_public_are_refused() {
    check_urls(
        Verdict::Deny,
        &[
            "http://[::ffff:127.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2002:7f00:1::]/",
            "http://[::]/",
            "http://[fe80::1]/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://10.0.0.1/",
            "http://metadata.google.internal/",
        ],
    );
}

#[test]
fn disguised_and_other_schemes_are_refused() {
    check_urls(
        Verdict::Deny,
        &[
            "http://a@8.8.8.8/",
            "http://a:b@8.8.8.8/",
            "https://127.0.0.1%2f@good.com/",
            "file:///etc/passwd",
            "view-source:file:///etc",
            "chrome://settings",
            "devtools://x",
            "javascript:alert(1)",
            " java\nscript:alert(1)",
            "data:text/html,x",
            "blob:https://x/1",
            "filesystem:https://x/t/1",
            "about:srcdoc",
            "ftp://8.8.8.8/",
            "chrome-extension://x/",
            "http://",
            "localhost:3000",
        ],
    );
}

#[test]
fn an_address_is_judged_by_the_host_a_browser_would_find() {
    check_urls(
        Verdict::Ask,
        &["http://good.com\\@127.0.0.1", "http://good.com#@127.0.0.1/"],
    );
}

#[test]
fn public_addresses_are_gone_to() {
    check_urls(
        Verdict::Allow,
        &[
            "https://8.8.8.8/",
            "http://93.184.216.34:8080/x",
            "about:blank",
        ],
    );
}

#[test]
fn names_are_judged_by_all_their_addresses() {
    let with = |addresses: &[&str]| {
        let addresses = addresses
            .iter()
            .map(|a| a.parse::<IpAddr>().unwrap())
            .collect();
        let resolved = vec![Resolved {
            host: "example.com".to_owned(),
            addresses,
        }];
        let facts = ScreenFacts {
            resolved,
            ..facts()
        };
        navigate(&Policy::default_policy(), "https://EXAMPLE.com./x", &facts)
    };
    assert_eq!(with(&["93.184.216.34", "2606:4700::1111"]), Verdict::Allow);
    assert_eq!(with(&["93.184.216.34", "127.0.0.1"]), Verdict::Deny);
    assert_eq!(with(&[]), Verdict::Ask);
}

#[test]
fn an_address_is_carried_out_as_it_was_judged() {
    let approval = proposal(&[json!({ "action": "navigate", "url": "93.184.216.34/a b" })]);
    let judgement = Judge::new(Policy::default_policy()).screen(approval, &facts());
    let Judgement::Allowed(permit) = judgement else {
        panic!("not allowed")
    };
    let wanted = json!({ "action": "navigate", "url": "https://93.184.216.34/a%20b" });
    assert_eq!(json!(permit.proposal().actions[0]), wanted);
    let opens = "[[computer]]\nverdict = 'allow'\nreason = 'x'\n";
    let opens = Policy::from_toml(opens, "p.toml").unwrap();
    for opening in ["new_tab", "open_browser"] {
        let shown = proposal(&[json!({ "action": opening, "url": "HTTPS://93.184.216.34:443" })]);
        let judgement = Judge::new(opens.clone()).screen(shown, &facts());
        let Judgement::Allowed(permit) = judgement else {
            panic!("{opening} is not allowed")
        };
        let wanted = json!({ "action": opening, "url": "https://93.184.216.34/" });
        assert_eq!(json!(permit.proposal().actions[0]), wanted);
    }
}

#[test]
fn a_rule_can_open_one_local_address_and_no_user_name() {
    let text = "
        [[url]]
        host = ['127.0.0.1']
        port = [8080]
        verdict = 'allow'
        reason = 'The page under test.'
        examples.match = ['http://127.0.0.1:8080/a', 'http://0x7f.1:8080/']
        examples.not_match = ['http://127.0.0.1/', 'http://127.0.0.2:8080/']
    ";
    let policy = Policy::from_toml(text, "p.toml").unwrap();
    assert_eq!(
        navigate(&policy, "http://127.0.0.1:8080/", &facts()),
        Verdict::Allow
    );
    assert_eq!(
        navigate(&policy, "http://u@127.0.0.1:8080/", &facts()),
        Verdict::Deny
    );
    assert_eq!(
        navigate(&policy, "http://127.0.0.1:9090/", &facts()),
        Verdict::Deny
    );
}

#[test]
fn each_kind_of_action_has_its_default() {
    let judge = |action: Value, display| {
        let facts = ScreenFacts { display, ..facts() };
        verdict(&Judge::new(Policy::default_policy()).screen(proposal(&[action]), &facts))
    };
    let click = json!({ "action": "click", "coordinate": [1, 2] });
    assert_eq!(
        judge(json!({ "action": "screenshot" }), DisplayOwner::Existing),
        Verdict::Allow
    );
    assert_eq!(judge(click.clone(), DisplayOwner::Private), Verdict::Allow);
    assert_eq!(judge(click, DisplayOwner::Existing), Verdict::Ask);
    assert_eq!(
        judge(
            json!({ "action": "type", "text": "a\nb" }),
            DisplayOwner::Private
        ),
        Verdict::Allow
    );
    assert_eq!(
        judge(
            json!({ "action": "type", "text": "\u{3}" }),
            DisplayOwner::Private
        ),
        Verdict::Ask
    );
    assert_eq!(
        judge(json!({ "action": "dance" }), DisplayOwner::Private),
        Verdict::Ask
    );
    let script = json!({ "action": "javascript", "script": "1" });
    assert_eq!(judge(script, DisplayOwner::Private), Verdict::Ask);
    for (header, wanted) in [("X-Test", Verdict::Allow), ("AUTHORIZATION", Verdict::Ask)] {
        let settings = json!({ "headers": { header: "v" } });
        let emulate = json!({ "action": "emulate", "settings": settings });
        assert_eq!(judge(emulate, DisplayOwner::Private), wanted, "{header}");
    }
}

#[test]
fn one_bad_step_of_a_batch_stops_all_of_it() {
    let steps = [
        json!({ "action": "screenshot" }),
        json!({ "action": "key_down", "key": "ctrl" }),
        json!({ "action": "key_down", "key": "alt" }),
        json!({ "action": "key", "key": "F1" }),
    ];
    let judgement = Judge::new(Policy::default_policy()).screen(proposal(&steps), &facts());
    assert_eq!(verdict(&judgement), Verdict::Deny);
    let judgement = Judge::new(Policy::default_policy()).screen(proposal(&steps[..3]), &facts());
    assert_eq!(verdict(&judgement), Verdict::Allow);
}

#[test]
fn a_providers_check_is_always_a_question() {
    let mut approval = proposal(&[json!({ "action": "screenshot" })]);
    let check = SafetyCheck {
        id: "sc_1".to_owned(),
        code: Some("malicious_instructions".to_owned()),
        message: None,
        source: SafetySource::Openai,
    };
    approval.safety_checks = vec![check.clone()];
    let allow = "[[computer]]\nverdict = 'allow'\nreason = 'Everything.'";
    let policy = Policy::from_toml(allow, "p.toml").unwrap();
    let Judgement::Ask(pending) = Judge::new(policy).screen(approval, &facts()) else {
        panic!("not asked")
    };
    let yes = pending.question().approve();
    assert_eq!(pending.resolve(yes).unwrap().acknowledged(), [check]);
}

#[test]
fn a_limit_counts_within_its_time() {
    let text = "
        [[computer]]
        actions = ['click']
        verdict = 'allow'
        reason = 'Some clicks.'
        limit = { count = 2, per_seconds = 10, then = 'deny' }
    ";
    let mut judge = Judge::new(Policy::from_toml(text, "p.toml").unwrap());
    let mut at = |seconds| {
        let facts = ScreenFacts {
            now: Duration::from_secs(seconds),
            ..facts()
        };
        let click = proposal(&[json!({ "action": "click", "coordinate": [1, 2] })]);
        verdict(&judge.screen(click, &facts))
    };
    assert_eq!(
        [at(0), at(1), at(2)],
        [Verdict::Allow, Verdict::Allow, Verdict::Deny]
    );
    assert_eq!(at(13), Verdict::Allow);
}
