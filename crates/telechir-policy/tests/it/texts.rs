//! The texts about a call, for a timeline and for a person who approves it.

use serde_json::{Value, json};
use telechir_policy::{
    ApproveAt, Digest, Question, escape, may_type, summarize, summarize_command, summarize_edit,
    summarize_shell_action,
};
use telechir_protocol::{Action, Command, EditOperation, SafetyCheck, SafetySource, ShellAction};

#[test]
fn a_summary_names_the_action_and_its_target_and_no_text() {
    for (action, wanted) in [
        (json!({"action": "screenshot"}), "screenshot"),
        (
            json!({"action": "type", "text": "secret"}),
            "type (6 characters)",
        ),
        (
            json!({"action": "form_input", "ref": "e1", "value": "secret"}),
            "form_input",
        ),
        (
            json!({"action": "javascript", "script": "x()"}),
            "javascript (3 characters)",
        ),
        (
            json!({"action": "click", "coordinate": [1, 2]}),
            "click left (1, 2)",
        ),
        (
            json!({"action": "click", "button": "middle"}),
            "click middle",
        ),
        (json!({"action": "click", "label": 7}), "click left [7]"),
        (json!({"action": "click", "ref": "e12"}), "click left e12"),
        (
            json!({"action": "move", "coordinate": [3, 4]}),
            "move (3, 4)",
        ),
        (json!({"action": "key", "key": "ctrl+s"}), "key ctrl+s"),
        (
            json!({"action": "key", "key": "Down", "repeat": 3}),
            "key ArrowDown × 3",
        ),
        (
            json!({"action": "hold_key", "key": "a", "duration": 5}),
            "hold_key a",
        ),
        (
            json!({"action": "key_down", "key": "shift"}),
            "key_down shift",
        ),
        (json!({"action": "key_up", "key": "shift"}), "key_up shift"),
        (
            json!({"action": "drag", "path": [[1, 2], [3, 4]]}),
            "drag (1, 2) → (3, 4)",
        ),
        (
            json!({"action": "scroll", "coordinate": [1, 2], "dx": 0, "dy": -3}),
            "scroll (1, 2) by 0, -3 clicks",
        ),
        (
            json!({"action": "zoom", "region": [1, 2, 3, 4]}),
            "zoom (1, 2)–(3, 4)",
        ),
        (
            json!({"action": "navigate", "url": "https://a.example/"}),
            "navigate https://a.example/",
        ),
        (
            json!({"action": "new_tab", "url": "https://a.example/"}),
            "new_tab https://a.example/",
        ),
        (
            json!({"action": "open_browser", "url": "x.example"}),
            "open_browser x.example",
        ),
        (json!({"action": "new_tab"}), "new_tab"),
        (json!({"action": "wait", "duration": 250}), "wait 250 ms"),
        (
            json!({"action": "switch_tab", "tab": "t1"}),
            "switch_tab t1",
        ),
        (json!({"action": "close_tab", "tab": "t2"}), "close_tab t2"),
        (
            json!({"action": "focus_window", "window": "w1"}),
            "focus_window w1",
        ),
        (
            json!({"action": "maximize_window", "window": "w2"}),
            "maximize_window w2",
        ),
        (json!({"action": "maximize_window"}), "maximize_window"),
        (
            json!({"action": "capture_monitor", "monitor": "DP-1"}),
            "capture_monitor DP-1",
        ),
        (
            json!({"action": "place_window", "window": "w3", "region": [1, 2, 3, 4]}),
            "place_window w3 (1, 2)–(3, 4)",
        ),
        (
            json!({"action": "write_clipboard", "text": "secret"}),
            "write_clipboard (6 characters)",
        ),
        (
            json!({"action": "invoke", "ref": "e1", "name": "press"}),
            "invoke press e1",
        ),
        (
            json!({"action": "open_app", "name": "xterm"}),
            "open_app xterm",
        ),
        (json!({"action": "juggle"}), "juggle"),
        (
            json!({"action": "jug\u{1b}[2Kgle", "coordinate": [1, 2]}),
            "jug\\u{1b}[2Kgle",
        ),
    ] {
        let read: Action = serde_json::from_value(action.clone()).unwrap();
        assert_eq!(summarize(&read), wanted, "{action}");
    }
    let long = Action::Navigate {
        url: format!("https://a.example/{}", "xyz".repeat(60)),
        tab: None,
    };
    let summary = summarize(&long);
    assert!(summary.ends_with('…'), "{summary}");
    assert_eq!(summary.chars().count(), "navigate ".len() + 160 + 1);
}

#[test]
fn a_summary_of_a_shell_or_an_edit_is_one_line_without_its_input() {
    let line = Command::Line("ls -l\nrm x".to_owned());
    assert_eq!(summarize_command(&line), "$ ls -l\\nrm x");
    for (action, wanted) in [
        (
            ShellAction::SendText("secret".to_owned()),
            "send_text (6 characters)",
        ),
        (ShellAction::SendKey("a".to_owned()), "send_key (a key)"),
        (ShellAction::SendKey("ctrl+c".to_owned()), "send_key ctrl+c"),
        (ShellAction::Read("j1".to_owned()), "read j1"),
        (ShellAction::Stop("j1".to_owned()), "stop j1"),
        (ShellAction::Restart, "restart"),
        (ShellAction::Other("juggle".to_owned()), "juggle"),
    ] {
        assert_eq!(summarize_shell_action(&action), wanted);
    }
    let edit = |json: Value| {
        let operation: EditOperation = serde_json::from_value(json).unwrap();
        summarize_edit(&operation.step().unwrap())
    };
    let create = json!({"name": "create", "path": "/w/a", "file_text": "secret"});
    assert_eq!(edit(create), "create /w/a");
    let rename = json!({"name": "rename", "old_path": "/w/a", "new_path": "/w/b"});
    assert_eq!(edit(rename), "rename /w/a to /w/b");
}

/// A password can be typed key by key.
#[test]
fn a_key_that_may_be_part_of_a_text_is_known() {
    for key in ["a", "shift+A", "alt+x", "é", "no such key at all"] {
        assert!(may_type(key), "{key}");
    }
    for key in ["Return", "ctrl+c", "ctrl+shift+v", "F4", "shift+Tab"] {
        assert!(!may_type(key), "{key}");
    }
}

#[test]
fn a_question_shows_everything_that_a_person_decides_about() {
    let question = Question {
        call_id: "call_1".into(),
        digest: Digest::of_json(&json!(1)),
        action: None,
        shape: None,
        contained: telechir_policy::ContainedParts::default(),
        lines: vec!["$ ls".to_owned(), "> rm x".to_owned()],
        reasons: vec!["First.".to_owned(), "Second.".to_owned()],
        has_hidden_characters: true,
        approve: ApproveAt::Terminal,
        untrusted_source: Some("a page of evil.example".to_owned()),
        safety_checks: vec![
            SafetyCheck {
                id: "s1".to_owned(),
                code: Some("malicious".to_owned()),
                message: Some("Look twice.".to_owned()),
                source: SafetySource::Openai,
            },
            SafetyCheck {
                id: "s2".to_owned(),
                code: None,
                message: None,
                source: SafetySource::Openai,
            },
        ],
        min_answer_ms: 0,
    };
    assert_eq!(
        question.text(),
        [
            "The model requests approval (call call_1):",
            "    $ ls",
            "    > rm x",
            "  It contains invisible characters; they are escaped above.",
            "  Reason: First.",
            "  Reason: Second.",
            "  This session has read untrusted content: a page of evil.example.",
            "  The provider's malicious: Look twice.",
            "  The provider's safety check: ",
        ]
    );
    let plain = Question {
        has_hidden_characters: false,
        untrusted_source: None,
        safety_checks: Vec::new(),
        ..question
    };
    assert_eq!(plain.text().len(), 5);
    for (at, text) in [
        (ApproveAt::Any, "any interface"),
        (ApproveAt::Terminal, "a terminal"),
        (ApproveAt::Page, "a web page of telechir"),
        (ApproveAt::Nowhere, "no interface"),
    ] {
        assert_eq!(at.to_string(), text);
    }
    assert_eq!(escape("a\nb"), "a\\nb");
}
