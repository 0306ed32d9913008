//! What a page makes a model do after it was read.

use std::time::Duration;

use serde_json::json;
use telechir_policy::{
    ContentTrust, Judge, NetworkClient, Policy, Remote, ResolvedAddress, ScreenFacts, ShellFacts,
    Verdict,
};

use crate::screen::{facts, proposal};
use crate::shell::{SANDBOX, judge, verdict};

fn policy() -> Policy {
    let text = "
        [trusted]
        host = ['docs.example.com', '*.corp.example']

        [[shell]]
        words = ['make']
        verdict = 'sandbox'
        reason = 'It builds.'

        [[shell]]
        after_untrusted = true
        verdict = 'ask'
        reason = 'A page may have asked for it.'

        [[computer]]
        actions = ['file_upload', 'click']
        verdict = 'allow'
        reason = 'Files of the task.'

        [[computer]]
        actions = ['file_upload']
        after_untrusted = true
        verdict = 'deny'
        reason = 'A page may have asked for it.'

        [[network]]
        from = ['shell']
        host = ['crates.example', 'docs.example.com']
        verdict = 'allow'
        reason = 'Dependencies.'

        [[network]]
        after_untrusted = true
        verdict = 'deny'
        reason = 'Nothing leaves any more.'
    ";
    Policy::from_toml(text, "p.toml").unwrap()
}

fn public() -> Vec<ResolvedAddress> {
    vec![ResolvedAddress {
        address: "93.184.216.34".parse().unwrap(),
        is_this_machine: false,
    }]
}

#[test]
fn rules_for_untrusted_content_tighten_and_count_only_then() {
    let untrusted = ShellFacts {
        is_untrusted: true,
        ..SANDBOX
    };
    assert_eq!(judge(&policy(), &["make"], &SANDBOX), Verdict::Allow);
    assert_eq!(judge(&policy(), &["make"], &untrusted), Verdict::Ask);
    assert_eq!(judge(&policy(), &["ls"], &SANDBOX), Verdict::Allow);
    assert_eq!(judge(&policy(), &["ls"], &untrusted), Verdict::Ask);
}

#[test]
fn a_rule_for_untrusted_content_never_loosens_a_default() {
    let text = "
        [[url]]
        after_untrusted = true
        verdict = 'ask'
        reason = 'A person watches.'
    ";
    let policy = Policy::from_toml(text, "p.toml").unwrap();
    let untrusted = ScreenFacts {
        is_untrusted: true,
        ..facts()
    };
    let go = |url: &str| crate::screen::navigate(&policy, url, &untrusted);
    assert_eq!(go("http://127.0.0.1/"), Verdict::Deny);
    assert_eq!(go("http://93.184.216.34/"), Verdict::Ask);
}

#[test]
fn a_page_opened_in_the_same_call_counts() {
    let upload = json!({"action": "file_upload", "coordinate": [1, 2], "paths": ["a"]});
    let go = |url: &str| json!({"action": "navigate", "url": url});
    let judged = |actions: &[serde_json::Value]| {
        let facts = ScreenFacts {
            resolved: ["docs.example.com", "evil.example"]
                .map(|host| telechir_policy::Resolved {
                    host: host.to_owned(),
                    addresses: vec!["93.184.216.34".parse().unwrap()],
                })
                .to_vec(),
            ..facts()
        };
        verdict(&Judge::new(policy()).screen(proposal(actions), &facts))
    };
    let (trusted, evil) = (go("https://docs.example.com/"), go("https://evil.example/"));
    assert_eq!(judged(&[trusted, upload.clone()]), Verdict::Allow);
    assert_eq!(judged(&[upload.clone(), evil.clone()]), Verdict::Allow);
    assert_eq!(judged(&[evil, upload]), Verdict::Deny);
}

#[test]
fn what_a_program_reaches_makes_the_session_untrusted() {
    let trust = ContentTrust::default();
    let mut gate = policy()
        .gate(NetworkClient::Shell)
        .with_trust(trust.clone());
    let mut verdict = |host: &str| {
        let remote = Remote::for_tunnel(host).unwrap();
        match gate.refusal_by_name(&remote) {
            Some(refused) => refused.verdict,
            None => gate.judge(&remote, &public(), Duration::ZERO).verdict,
        }
    };
    assert_eq!(verdict("docs.example.com:443"), Verdict::Allow);
    assert_eq!(verdict("evil.example:443"), Verdict::Deny);
    assert!(!trust.is_untrusted());
    assert_eq!(verdict("crates.example:443"), Verdict::Allow);
    assert_eq!(
        trust.untrusted_source().unwrap(),
        "the shell reached crates.example"
    );
    assert_eq!(verdict("crates.example:443"), Verdict::Deny);
    assert_eq!(verdict("docs.example.com:443"), Verdict::Deny);
    trust.restore();
    assert_eq!(verdict("docs.example.com:443"), Verdict::Allow);
}

#[test]
fn only_pages_of_the_named_set_are_trusted() {
    let judge = Judge::new(policy());
    for page in [
        "https://docs.example.com/x",
        "http://a.corp.example:81/",
        "about:blank",
    ] {
        assert!(judge.trusts_page(page), "{page}");
    }
    for page in [
        "https://corp.example/",
        "https://docs.example.com.evil.example/",
        "https://evil.example/#docs.example.com",
        "https://docs.example.com@evil.example/",
        "data:text/html,x",
        "file:///w/page.html",
        "",
    ] {
        assert!(!judge.trusts_page(page), "{page}");
    }
    assert!(!Judge::new(Policy::default_policy()).trusts_page("https://docs.example.com/"));
}
