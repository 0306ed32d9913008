//! `policy`: what comes with the program, and what a policy says about one call.

use std::fs;

use serde_json::Value;

use crate::telechir::{Ran, Telechir};

#[track_caller]
fn run(telechir: &Telechir, arguments: &[&str]) -> Ran {
    let mut all = vec!["policy"];
    all.extend(arguments);
    telechir.run(&all, "")
}

/// Verdict and rule of one test.
#[track_caller]
fn tested(telechir: &Telechir, arguments: &[&str]) -> (String, String) {
    let mut all = vec!["test", "--json"];
    all.extend(arguments);
    let json: Value = run(telechir, &all).json();
    let text = |name: &str| json[name].as_str().expect("a text").to_owned();
    (text("verdict"), text("rule"))
}

#[test]
fn a_shipped_policy_is_printed_and_can_be_changed() {
    let telechir = Telechir::new();
    let list = run(&telechir, &["show"]);
    for name in ["look", "ask", "sandbox", "trust-sandbox"] {
        assert!(list.stdout.contains(name), "{list:?}");
        let shown = run(&telechir, &["show", name]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let file = telechir.folder().join("mine.toml");
        fs::write(&file, &shown.stdout).expect("a file");
        let checked = run(&telechir, &["check", &file.display().to_string()]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert_eq!(run(&telechir, &["check", name]).code, Some(0));
    }
}

#[test]
fn a_check_counts_the_rules_and_examples() {
    let telechir = Telechir::new();
    let check = |text: &str| {
        let file = telechir.folder().join("counted.toml");
        fs::write(&file, text).expect("a policy");
        let checked = run(&telechir, &["check", &file.display().to_string()]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let (_file, counts) = checked.stdout.split_once(": ").expect("counts");
        counts.trim_end().to_owned()
    };
    assert_eq!(check(""), "valid; no rules, no examples");
    assert_eq!(
        check(
            "[[url]]\ndefault = 'deny'\nreason = 'Only the docs.'\n\
             [[url]]\nhost = ['docs.rs']\nverdict = 'allow'\nreason = 'They are the task.'\n\
             examples = { match = ['https://docs.rs/a'], not_match = ['https://a.org/'] }\n\
             [[shell]]\nwords = ['git']\nverdict = 'ask'\nreason = 'History.'\n\
             [[shell]]\nwords = ['rm']\nverdict = 'ask'\nreason = 'It deletes.'\n"
        ),
        "valid; [[url]] has 1 rule and a default, [[shell]] has 2 rules, \
         2 examples, judged as expected"
    );
}

#[test]
fn an_allowed_address_has_the_rule_that_allows_it() {
    let telechir = Telechir::new();
    let file = telechir.folder().join("rules.toml");
    let text = "[[url]]\nname = 'the docs'\nhost = ['docs.rs']\nverdict = 'allow'\n\
                reason = 'They are the task.'\n";
    fs::write(&file, text).expect("a policy");
    let file = file.display().to_string();
    let judged = run(&telechir, &["test", "https://docs.rs/a", "--policy", &file]);
    assert_eq!(
        judged.stdout,
        "allow (url), by the docs\n  They are the task.\n"
    );
    let (verdict, rule) = tested(
        &telechir,
        &["https://docs.rs/a", "--policy", &file, "--host"],
    );
    assert_eq!(
        (verdict.as_str(), rule.as_str()),
        ("ask", "default: navigate")
    );
}

/// It would be judged as if it were absent, and the verdict be that of another call.
#[test]
fn a_misspelt_member_is_an_error() {
    let telechir = Telechir::new();
    for (call, named) in [
        (
            "{\"action\": \"click\", \"coordinate\": [5, 5], \"buton\": \"right\"}",
            "click has no member \"buton\"",
        ),
        (
            "{\"action\": \"clik\", \"coordinate\": [5, 5]}",
            "no action \"clik\"",
        ),
        (
            "{\"type\": \"shell_call\", \"commands\": [\"ls\"], \"cdw\": \"/\"}",
            "shell_call has no member \"cdw\"",
        ),
        (
            "{\"type\": \"computer_call\", \"actions\": [{\"action\": \"wait\", \"secs\": 1}]}",
            "\"secs\"",
        ),
        (
            "{\"type\": \"computer_call\", \"actions\": [{\"action\": \"screenshot\"}], \"taget\": \"x\"}",
            "computer_call has no member \"taget\"",
        ),
    ] {
        let refused = run(&telechir, &["test", call]);
        assert_eq!(refused.code, Some(2), "{call}: {refused:?}");
        assert!(refused.stderr.contains(named), "{call}: {refused:?}");
    }
    let judged = run(
        &telechir,
        &[
            "test",
            "{\"type\": \"shell_call\", \"call_id\": \"c1\", \"action\": \"execute\", \
             \"commands\": [\"ls\"], \"env\": {}, \"environment\": {\"type\": \"local\"}}",
        ],
    );
    assert_eq!(judged.code, Some(0), "{judged:?}");
}

#[test]
fn a_policy_is_tested_without_doing_anything() {
    let telechir = Telechir::new();
    let file = telechir.folder().join("rules.toml");
    fs::write(
        &file,
        "[[shell]]\nname = 'no pushes'\nwords = ['git', 'push']\nverdict = 'deny'\n\
         reason = 'A person pushes.'\n",
    )
    .expect("a policy");
    let file = file.display().to_string();
    let pushed = run(&telechir, &["test", "git push", "--policy", &file]);
    assert_eq!(
        pushed.stdout,
        "deny (command), by no pushes\n  A person pushes.\n"
    );
    for (arguments, verdict, rule) in [
        (&["git push"][..], "sandbox", "default: shell"),
        (&["git push", "--workspace"], "ask", "default: shell"),
        (&["ls -l", "--workspace"], "sandbox", "default: shell"),
        (&["git push", "--host"], "ask", "default: shell"),
        (&["https://93.184.215.14/"], "allow", "default: navigate"),
        (&["http://127.0.0.1:8080/"], "deny", "default: "),
        (&["ctrl+alt+F1"], "deny", "default: keys"),
        (&["ctrl+s"], "allow", "default: "),
        (&["F5", "--as", "keys"], "allow", "default: "),
        (
            &[r#"{"action": "open_app", "name": "xterm"}"#],
            "ask",
            "default: open_app",
        ),
        (
            &[
                r#"{"type": "shell_call", "commands": ["ls", "rm a"]}"#,
                "--workspace",
            ],
            "ask",
            "default: shell",
        ),
        (
            &[
                r#"{"type": "computer_call", "actions": [{"action": "click", "coordinate": [1, 2]}]}"#,
                "--host",
            ],
            "ask",
            "default: click",
        ),
    ] {
        let (found, by) = tested(&telechir, arguments);
        assert_eq!(found, verdict, "{arguments:?} by {by}");
        assert!(by.starts_with(rule), "{arguments:?} by {by}");
    }
}

#[test]
fn what_is_no_address_is_an_error_and_a_host_alone_is_explained() {
    let telechir = Telechir::new();
    for (subject, fragments) in [
        ("", &["found an empty text"][..]),
        (" ", &["found an empty text"]),
        ("https://", &["\"https://\" is not a URL", "empty host"]),
        ("http://[::1/", &["is not a URL"]),
        ("https://a b.example/", &["is not a URL"]),
    ] {
        run(&telechir, &["test", subject]).fails(2, fragments);
    }
    for (subject, is_explained) in [
        ("example.com", true),
        ("www.example.com/a?b=c", true),
        ("localhost:8080", true),
        ("ls", false),
        ("./run.sh", false),
        ("cat example.com", false),
        ("a:b", false),
    ] {
        let judged = run(&telechir, &["test", subject]);
        assert_eq!(judged.code, Some(0), "{judged:?}");
        assert!(judged.stdout.contains("(command)"), "{judged:?}");
        let hint = format!("an address needs its scheme: https://{subject}");
        assert_eq!(judged.stderr.contains(&hint), is_explained, "{judged:?}");
    }
}

#[test]
fn an_error_names_the_key_the_line_what_was_found_and_what_is_expected() {
    let telechir = Telechir::new();
    let file = telechir.folder().join("rules.toml");
    let path = file.display().to_string();
    for (text, fragments) in [
        (
            "[[url]]\nport = '443'\nverdict = 'deny'\nreason = 'x'\n",
            &["rules.toml, line 2", "`port`", "string \"443\"", "a list"][..],
        ),
        (
            "[[shell]]\nverdict = 'deny'\nreason = 'x'\nlimit = { count = 'five' }\n",
            &["line 4", "`count`", "string \"five\"", "a whole number"],
        ),
        (
            "[[keys]]\nchords = ['ctrl+Entr']\nverdict = 'deny'\nreason = 'x'\n",
            &["line 1", "\"ctrl+Entr\"", "unknown key \"Entr\"", "Enter"],
        ),
        (
            "[[edit]]\npaths = ['a']\nverdict = 'forbid'\nreason = 'x'\n",
            &["line 3", "`verdict`", "`forbid`", "`deny`"],
        ),
    ] {
        fs::write(&file, text).expect("a policy");
        run(&telechir, &["check", &path]).fails(1, fragments);
    }
    for chord in [
        "XF86AudioMute",
        "ctrl+F24",
        "KP_5",
        "ISO_Level3_Shift",
        "ctrl+alt+Delete",
    ] {
        let text = format!("[[keys]]\nchords = ['{chord}']\nverdict = 'deny'\nreason = 'x'\n");
        fs::write(&file, text).expect("a policy");
        assert_eq!(run(&telechir, &["check", &path]).code, Some(0), "{chord}");
    }
}
