//! Lists of what is permitted: everything else stays closed, by name and by address.

use serde_json::json;
use telechir_policy::{Judge, NetworkClient, Policy, Remote, Resolved, ScreenFacts, Verdict};

use crate::screen::{facts, navigate};
use crate::shell::{SANDBOX, judge};

fn policy(text: &str) -> Policy {
    Policy::from_toml(text, "p.toml").unwrap()
}

fn sites() -> Policy {
    policy(
        "
        [[url]]
        default = 'deny'
        reason = 'Only the listed sites.'

        [[url]]
        host = ['docs.example.com', '*.example.org']
        except = [{ host = ['evil.example.org', '*.evil.example.org'] }, { port = [8080] }]
        verdict = 'allow'
        reason = 'They are the task.'
        examples.match = ['https://docs.example.com/', 'https://a.example.org/']
        examples.not_match = ['https://evil.example.org/', 'https://a.example.org:8080/']

        [[url]]
        host = ['bank.example']
        verdict = 'ask'
        reason = 'A person watches.'
        ",
    )
}

fn resolved() -> ScreenFacts {
    let hosts = [
        "docs.example.com",
        "a.example.org",
        "evil.example.org",
        "other.example",
    ];
    let resolved = hosts.map(|host| Resolved {
        host: host.to_owned(),
        addresses: vec!["93.184.216.34".parse().unwrap()],
    });
    ScreenFacts {
        resolved: resolved.to_vec(),
        ..facts()
    }
}

#[test]
fn an_allow_list_of_sites_closes_everything_else() {
    for (url, wanted) in [
        ("https://docs.example.com/x", Verdict::Allow),
        ("https://a.example.org/", Verdict::Allow),
        ("https://evil.example.org/", Verdict::Deny),
        ("https://a.example.org:8080/", Verdict::Deny),
        ("https://other.example/", Verdict::Deny),
        ("https://93.184.216.34/", Verdict::Deny),
        ("https://docs.example.com.evil.example/", Verdict::Deny),
        ("https://bank.example/", Verdict::Ask),
        ("http://127.0.0.1/", Verdict::Deny),
    ] {
        assert_eq!(navigate(&sites(), url, &resolved()), wanted, "{url}");
    }
}

#[test]
fn a_name_outside_of_the_list_is_not_even_resolved() {
    let judge = Judge::new(sites());
    let go = |url: &str| serde_json::from_value(json!({"action": "navigate", "url": url})).unwrap();
    let hosts = judge.hosts_to_resolve(&[
        go("https://docs.example.com/"),
        go("https://secret.other.example/"),
        go("https://evil.example.org/"),
        go("https://bank.example/"),
        go("https://127.0.0.1/"),
    ]);
    assert_eq!(hosts, ["docs.example.com", "bank.example"]);
    let gate = sites().gate(NetworkClient::Browser);
    let refused = |host: &str| {
        let remote = Remote::for_tunnel(host).unwrap();
        gate.refusal_by_name(&remote).is_some()
    };
    assert!(!refused("docs.example.com:443") && !refused("bank.example:443"));
    assert!(refused("evil.example.org:443") && refused("secret.other.example:443"));
    assert!(refused("a.example.org:8080"));
}

#[test]
fn without_a_default_every_public_name_is_resolved_as_before() {
    let judge = Judge::new(Policy::default_policy());
    let go = |url: &str| serde_json::from_value(json!({"action": "navigate", "url": url})).unwrap();
    assert_eq!(
        judge.hosts_to_resolve(&[go("https://a.example/"), go("b.example")]),
        ["a.example", "b.example"]
    );
}

#[test]
fn an_exception_shrinks_its_own_rule_alone() {
    let rules = policy(
        "
        [[shell]]
        words = ['git']
        except = [{ words = ['git', ['push', 'clone']] }]
        verdict = 'sandbox'
        reason = 'Local work.'
        examples.match = ['git log']
        examples.not_match = ['git push', 'git -C . push']

        [[shell]]
        words = ['rm']
        except = [{ words = ['rm', 'scratch'] }]
        verdict = 'deny'
        reason = 'Keep files.'

        [[shell]]
        words = ['rm']
        verdict = 'sandbox'
        reason = 'Clean up.'
        ",
    );
    for (command, wanted) in [
        ("git log", Verdict::Allow),
        ("git push", Verdict::Ask),
        ("git -C . push", Verdict::Ask),
        ("rm scratch", Verdict::Allow),
        ("rm x", Verdict::Deny),
        ("rm $x", Verdict::Ask),
    ] {
        assert_eq!(judge(&rules, &[command], &SANDBOX), wanted, "{command}");
    }
}

#[test]
fn a_default_can_only_tighten() {
    let fails = |text: &str, wanted: &str| {
        let error = Policy::from_toml(text, "p.toml").unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    for verdict in ["allow", "sandbox"] {
        for table in ["computer", "keys", "url", "shell", "edit"] {
            let text = format!("[[{table}]]\ndefault = '{verdict}'\nreason = 'x'");
            fails(&text, "it can only tighten");
        }
    }
    fails(
        "[[network]]\ndefault = 'allow'\nreason = 'x'",
        "it can only tighten",
    );
    fails(
        "[[network]]\ndefault = 'ask'\nreason = 'x'",
        "cannot wait for approval",
    );
    fails(
        "[[url]]\ndefault = 'deny'\nhost = ['a.b']\nreason = 'x'",
        "where no rule fits",
    );
    fails(
        "[[url]]\ndefault = 'deny'\nverdict = 'deny'\nreason = 'x'",
        "where no rule fits",
    );
    fails("[[url]]\nreason = 'x'", "line 1: the rule has no `verdict`");
    let twice = "[[url]]\ndefault = 'deny'\nreason = 'x'\n[[url]]\ndefault = 'ask'\nreason = 'y'";
    fails(twice, "line 4: [[url]] already has a default");
    fails(
        "[[url]]\nexcept = [{}]\nverdict = 'deny'\nreason = 'x'",
        "has no condition",
    );
    fails(
        "[[url]]\nexcept = []\nverdict = 'deny'\nreason = 'x'",
        "`except` is empty",
    );
    fails(
        "[[url]]\nexcept = [{ hots = ['a'] }]\nverdict = 'deny'\nreason = 'x'",
        "unknown field `hots`",
    );
    fails(
        "[[shell]]\noptions = ['-x']\nverdict = 'deny'\nreason = 'x'",
        "name it with `words`",
    );
    fails(
        "[[shell]]\nwords = ['a']\noptions = ['x']\nverdict = 'deny'\nreason = 'x'",
        "is not an option",
    );
    fails(
        "[[shell]]\napprove = 'page'\nverdict = 'deny'\nreason = 'x'",
        "never asks",
    );
    fails(
        "[[shell]]\napprove = 'phone'\nverdict = 'ask'\nreason = 'x'",
        "unknown variant `phone`",
    );
    fails(
        "[[shell]]\nafter_untrusted = true\nverdict = 'allow'\nreason = 'x'",
        "can only tighten",
    );
    fails("[trusted]\nhost = ['a b']", "invalid host");
    fails("[trusted]\nhosts = ['a']", "unknown field `hosts`");
}

#[test]
fn a_rule_that_only_might_match_does_not_replace_a_default() {
    let rules = policy(
        "
        [[shell]]
        default = 'deny'
        reason = 'Only what is listed.'

        [[shell]]
        words = ['git', 'push']
        verdict = 'ask'
        reason = 'A person watches.'
        ",
    );
    assert_eq!(judge(&rules, &["git push"], &SANDBOX), Verdict::Ask);
    assert_eq!(judge(&rules, &["git -C . push"], &SANDBOX), Verdict::Deny);
    assert_eq!(judge(&rules, &["$x"], &SANDBOX), Verdict::Deny);
    assert_eq!(judge(&rules, &["ls"], &SANDBOX), Verdict::Deny);
}
