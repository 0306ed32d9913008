//! A terminal on the desktop as a way around the rules for commands.

use serde_json::{Value, json};
use telechir_policy::{Device, Judge, PointedWindows, Policy, ScreenFacts, ScreenWindows, Verdict};

use crate::screen::{facts, proposal};
use crate::shell::verdict;

fn names(class: &str) -> Vec<String> {
    vec![class.to_owned(), class.to_lowercase()]
}

/// Facts about a desktop with these windows; the first has the focus.
fn windows(classes: &[&str]) -> ScreenFacts {
    let all: Vec<_> = classes.iter().map(|class| names(class)).collect();
    let windows = ScreenWindows::Listed {
        focused: all.first().cloned(),
        all,
        under: Vec::new(),
    };
    ScreenFacts { windows, ..facts() }
}

/// Facts about a desktop with these windows, of which the first has the focus, where the first action
/// points at others.
fn pointed(classes: &[&str], at: &[&str], passes_on: bool) -> ScreenFacts {
    let mut facts = windows(classes);
    if let ScreenWindows::Listed { under, .. } = &mut facts.windows {
        let names = at.iter().map(|class| names(class)).collect();
        under.push(Some(PointedWindows { names, passes_on }));
    }
    facts
}

fn judge(policy: &Policy, actions: &[Value], facts: &ScreenFacts) -> Verdict {
    let mut proposal = proposal(actions);
    proposal.device = Device::Desktop;
    verdict(&Judge::new(policy.clone()).screen(proposal, facts))
}

fn default(actions: &[Value], facts: &ScreenFacts) -> Verdict {
    judge(&Policy::default_policy(), actions, facts)
}

#[test]
fn everything_that_enters_text_into_a_terminal_needs_approval() {
    let inputs = [
        json!({"action": "type", "text": "rm -rf ~\n"}),
        json!({"action": "type", "text": "ls"}),
        json!({"action": "type", "text": "ls", "coordinate": [1, 2]}),
        json!({"action": "key", "key": "Return"}),
        json!({"action": "key", "key": "shift+Insert"}),
        json!({"action": "hold_key", "key": "a", "duration_ms": 10}),
        json!({"action": "key_down", "key": "a"}),
        json!({"action": "click", "coordinate": [1, 2], "button": "middle"}),
        json!({"action": "click", "coordinate": [1, 2]}),
        json!({"action": "click", "coordinate": [1, 2], "button": "right"}),
        json!({"action": "drag", "path": [[1, 2], [3, 4]]}),
        json!({"action": "mouse_up", "coordinate": [1, 2]}),
    ];
    for input in &inputs {
        for class in [
            "XTerm",
            "Xfce4-terminal",
            "org.gnome.Console",
            "kitty",
            "st-256color",
        ] {
            let found = default(std::slice::from_ref(input), &windows(&[class]));
            assert_eq!(found, Verdict::Ask, "{class} {input}");
        }
        let found = default(std::slice::from_ref(input), &windows(&["Mousepad"]));
        assert_eq!(found, Verdict::Allow, "{input}");
    }
    let looks = json!({"action": "screenshot"});
    assert_eq!(default(&[looks], &windows(&["XTerm"])), Verdict::Allow);
}

#[test]
fn a_terminal_that_has_no_focus_yet_counts_where_input_may_reach_it() {
    let both = windows(&["Mousepad", "XTerm"]);
    let text = json!({"action": "type", "text": "x"});
    assert_eq!(default(std::slice::from_ref(&text), &both), Verdict::Allow);
    for first in [
        json!({"action": "click", "coordinate": [1, 2]}),
        json!({"action": "key", "key": "alt+Tab"}),
        json!({"action": "focus_window", "window": "w2"}),
        json!({"action": "type", "text": "y"}),
        json!({"action": "wait", "duration_ms": 10}),
    ] {
        let found = default(&[first.clone(), text.clone()], &both);
        assert_eq!(found, Verdict::Ask, "{first}");
    }
    // Looking, and releasing a key, move nothing.
    for first in [
        json!({"action": "screenshot"}),
        json!({"action": "list_windows"}),
        json!({"action": "cursor_position"}),
        json!({"action": "write_clipboard", "text": "y"}),
        json!({"action": "key_up", "key": "shift"}),
    ] {
        let found = default(&[first.clone(), text.clone()], &both);
        assert_eq!(found, Verdict::Allow, "{first}");
    }
    let middle = json!({"action": "click", "coordinate": [1, 2], "button": "middle"});
    assert_eq!(default(&[middle], &both), Verdict::Ask);
}

/// Actions with the pointer, and those that also press keys.
fn pointer_actions() -> (Vec<Value>, Vec<Value>) {
    let points = vec![
        json!({"action": "click", "coordinate": [1, 2]}),
        json!({"action": "click", "coordinate": [1, 2], "button": "middle"}),
        json!({"action": "click", "coordinate": [1, 2], "button": "right"}),
        json!({"action": "click"}),
        json!({"action": "long_press", "coordinate": [1, 2]}),
        json!({"action": "mouse_down", "coordinate": [1, 2]}),
        json!({"action": "mouse_up"}),
        json!({"action": "drag", "path": [[1, 2], [3, 4]]}),
        json!({"action": "invoke", "ref": "e1"}),
    ];
    let keys = vec![
        json!({"action": "type", "text": "x", "coordinate": [1, 2]}),
        json!({"action": "form_input", "ref": "e1", "value": "x"}),
    ];
    (points, keys)
}

#[test]
fn pointer_input_is_judged_by_the_windows_under_its_points() {
    let (points, keys) = pointer_actions();
    let all = ["XTerm", "Mousepad"];
    for action in &points {
        let judge = |facts| default(std::slice::from_ref(action), &facts);
        // The terminal has the focus, and the pointer is somewhere else.
        assert_eq!(
            judge(pointed(&all, &["Mousepad"], false)),
            Verdict::Allow,
            "{action}"
        );
        assert_eq!(judge(pointed(&all, &[], false)), Verdict::Allow, "{action}");
        assert_eq!(
            judge(pointed(&["Mousepad"], &["XTerm"], false)),
            Verdict::Ask,
            "{action}"
        );
        let several = pointed(&all, &["Mousepad", "XTerm"], false);
        assert_eq!(judge(several), Verdict::Ask, "{action}");
        assert_eq!(
            judge(pointed(&["Mousepad"], &[""], false)),
            Verdict::Ask,
            "{action}"
        );
        // A menu or an on-screen keyboard passes input on to the window with the focus.
        assert_eq!(
            judge(pointed(&all, &["Onboard"], true)),
            Verdict::Ask,
            "{action}"
        );
        let other = pointed(&["Mousepad", "XTerm"], &["Onboard"], true);
        assert_eq!(judge(other), Verdict::Allow, "{action}");
        // Where it points is unknown.
        assert_eq!(
            judge(windows(&["Mousepad", "XTerm"])),
            Verdict::Ask,
            "{action}"
        );
    }
    for action in &keys {
        let judge = |facts| default(std::slice::from_ref(action), &facts);
        assert_eq!(
            judge(pointed(&all, &["Mousepad"], false)),
            Verdict::Ask,
            "{action}"
        );
        let other = pointed(&["Mousepad", "XTerm"], &["Mousepad"], false);
        assert_eq!(judge(other), Verdict::Allow, "{action}");
    }
    for action in points.iter().chain(&keys) {
        let first = json!({"action": "wait", "duration_ms": 1});
        let later = pointed(&["Mousepad", "XTerm"], &["Mousepad"], false);
        let found = default(&[first, action.clone()], &later);
        assert_eq!(found, Verdict::Ask, "{action}");
    }
}

#[test]
fn rules_for_windows_count_where_the_input_arrives() {
    let stops = Policy::from_toml(
        "[[computer]]\nwindows = ['code']\nverdict = 'deny'\nreason = 'The editor has a terminal.'",
        "p.toml",
    );
    let stops = stops.unwrap();
    let click = [json!({"action": "click", "coordinate": [1, 2]})];
    let both = ["Code", "Mousepad"];
    assert_eq!(
        judge(&stops, &click, &pointed(&both, &["Code"], false)),
        Verdict::Deny
    );
    assert_eq!(
        judge(&stops, &click, &pointed(&both, &["Mousepad"], false)),
        Verdict::Allow
    );
    assert_eq!(
        judge(&stops, &click, &pointed(&both, &["Onboard"], true)),
        Verdict::Ask
    );
    let text = [json!({"action": "type", "text": "x", "coordinate": [1, 2]})];
    assert_eq!(
        judge(&stops, &text, &pointed(&both, &["Code"], false)),
        Verdict::Deny
    );
    assert_eq!(
        judge(&stops, &text, &pointed(&both, &["Mousepad"], false)),
        Verdict::Ask
    );
}

#[test]
fn the_windows_of_an_input_are_those_that_were_judged() {
    let read = |action: Value| serde_json::from_value(action).unwrap();
    let facts = pointed(&["XTerm", "Mousepad"], &["Mousepad"], false);
    let windows = |action: Value| Judge::windows_of_input(&read(action), &facts.windows);
    let key = json!({"action": "key", "key": "a"});
    assert_eq!(windows(key.clone()), Some(vec![names("XTerm")]));
    let click = json!({"action": "click", "coordinate": [1, 2]});
    assert_eq!(windows(click), Some(vec![names("Mousepad")]));
    let text = json!({"action": "type", "text": "x", "coordinate": [1, 2]});
    assert_eq!(windows(text), Some(vec![names("Mousepad"), names("XTerm")]));
    assert_eq!(windows(json!({"action": "screenshot"})), None);
    assert_eq!(
        Judge::windows_of_input(&read(key), &ScreenWindows::Unknown),
        None
    );
}

#[test]
fn unknown_windows_are_never_a_permission() {
    let text = json!({"action": "type", "text": "x"});
    let unknown = ScreenFacts {
        windows: ScreenWindows::Unknown,
        ..facts()
    };
    let unfocused = ScreenFacts {
        windows: ScreenWindows::Listed {
            focused: None,
            all: vec![names("Mousepad"), names("XTerm")],
            under: Vec::new(),
        },
        ..facts()
    };
    let nameless = ScreenFacts {
        windows: ScreenWindows::Listed {
            focused: Some(vec![String::new(), String::new()]),
            all: Vec::new(),
            under: Vec::new(),
        },
        ..facts()
    };
    let all = Policy::from_toml(
        "[[computer]]\nwindows = ['*']\nverdict = 'allow'\nreason = 'All windows.'",
        "p.toml",
    );
    let all = all.unwrap();
    for facts in [&unknown, &unfocused, &nameless] {
        assert_eq!(default(std::slice::from_ref(&text), facts), Verdict::Ask);
    }
    assert_eq!(
        judge(&all, std::slice::from_ref(&text), &unknown),
        Verdict::Ask
    );
    assert_eq!(
        judge(&all, std::slice::from_ref(&text), &unfocused),
        Verdict::Allow
    );
}

#[test]
fn only_a_rule_that_names_its_window_opens_a_terminal() {
    let read = |text: &str| Policy::from_toml(text, "p.toml").unwrap();
    let text = [json!({"action": "type", "text": "x"})];
    let general = read("[[computer]]\nverdict = 'allow'\nreason = 'Everything.'");
    assert_eq!(judge(&general, &text, &windows(&["XTerm"])), Verdict::Ask);
    let named = read(
        "
        [[computer]]
        actions = ['type', 'key']
        windows = ['xterm', '*-terminal']
        verdict = 'allow'
        reason = 'The terminal is the task.'
        examples.match = [{ action = 'type', window = 'XTerm' }]
        examples.not_match = [{ action = 'type', window = 'Mousepad' }, { action = 'type' }]
        ",
    );
    assert_eq!(judge(&named, &text, &windows(&["XTerm"])), Verdict::Allow);
    assert_eq!(
        judge(&named, &text, &windows(&["Mate-terminal"])),
        Verdict::Allow
    );
    assert_eq!(judge(&named, &text, &windows(&["kitty"])), Verdict::Ask);
    let stops = read(
        "
        [[computer]]
        windows = ['code']
        verdict = 'deny'
        reason = 'The editor has a terminal.'
        ",
    );
    assert_eq!(judge(&stops, &text, &windows(&["Code"])), Verdict::Deny);
    assert_eq!(
        judge(&stops, &text, &windows(&["Mousepad"])),
        Verdict::Allow
    );
    let click = json!({"action": "click", "coordinate": [1, 2]});
    let later = [click, text[0].clone()];
    assert_eq!(
        judge(&stops, &later, &windows(&["Mousepad", "Code"])),
        Verdict::Ask
    );
}
