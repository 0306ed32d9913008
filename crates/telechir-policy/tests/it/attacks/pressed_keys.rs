//! Chords that are pressed in pieces.

use serde_json::{Value, json};
use telechir_policy::{Device, Judge, Policy, ScreenFacts, Verdict};
use telechir_protocol::{Key, Modifier, NamedKey};

use crate::screen::{facts, proposal};
use crate::shell::verdict;

fn on_desktop(policy: &Policy, actions: &[Value], facts: &ScreenFacts) -> Verdict {
    let mut proposal = proposal(actions);
    proposal.device = Device::Desktop;
    verdict(&Judge::new(policy.clone()).screen(proposal, facts))
}

fn select_all() -> Policy {
    let text = "
        [[keys]]
        chords = ['ctrl+a', 'ctrl+shift+b', 'Enter']
        verdict = 'deny'
        reason = 'Not here.'
    ";
    Policy::from_toml(text, "p.toml").unwrap()
}

fn pressed_ctrl(text: &str) -> Vec<Value> {
    vec![
        json!({"action": "key_down", "key": "ctrl"}),
        json!({"action": "type", "text": text}),
    ]
}

#[test]
fn characters_are_judged_with_the_keys_that_are_pressed() {
    let policy = select_all();
    for text in ["a", "xya", "A", "B", "a b"] {
        assert_eq!(
            on_desktop(&policy, &pressed_ctrl(text), &facts()),
            Verdict::Deny,
            "{text}"
        );
    }
    for text in ["x", "b"] {
        assert_eq!(
            on_desktop(&policy, &pressed_ctrl(text), &facts()),
            Verdict::Allow,
            "{text}"
        );
    }
    let alone = json!({"action": "type", "text": "aB"});
    assert_eq!(on_desktop(&policy, &[alone], &facts()), Verdict::Allow);
}

#[test]
fn a_key_pressed_by_an_earlier_call_counts() {
    let facts = ScreenFacts {
        pressed: vec![Key::Modifier(Modifier::Ctrl)],
        ..facts()
    };
    let text = |text: &str| json!({"action": "type", "text": text});
    assert_eq!(
        on_desktop(&select_all(), &[text("a")], &facts),
        Verdict::Deny
    );
    assert_eq!(
        on_desktop(&select_all(), &[text("c")], &facts),
        Verdict::Allow
    );
}

#[test]
fn the_keys_that_typing_adds_are_judged_too() {
    let policy = select_all();
    let submit = json!({"action": "type", "text": "x", "submit": true});
    assert_eq!(on_desktop(&policy, &[submit], &facts()), Verdict::Deny);
    let clear = json!({"action": "type", "text": "x", "clear_first": true});
    assert_eq!(on_desktop(&policy, &[clear], &facts()), Verdict::Deny);
    for text in ["x\n", "x\r"] {
        let text = json!({"action": "type", "text": text});
        assert_eq!(on_desktop(&policy, &[text], &facts()), Verdict::Deny);
    }
}

#[test]
fn the_default_stops_dangerous_chords_that_are_typed() {
    let policy = Policy::default_policy();
    let with = |keys: Vec<Key>, text: &str| {
        let facts = ScreenFacts {
            pressed: keys,
            ..facts()
        };
        on_desktop(&policy, &[json!({"action": "type", "text": text})], &facts)
    };
    let (ctrl, alt) = (Key::Modifier(Modifier::Ctrl), Key::Modifier(Modifier::Alt));
    let superkey = Key::Modifier(Modifier::Super);
    assert_eq!(with(vec![superkey.clone()], "hello r"), Verdict::Deny);
    assert_eq!(with(vec![superkey], "R"), Verdict::Deny);
    assert_eq!(with(vec![ctrl.clone(), alt.clone()], "t"), Verdict::Ask);
    assert_eq!(with(vec![ctrl, alt.clone()], "\u{7f}"), Verdict::Deny);
    assert_eq!(with(vec![alt, Key::Named(NamedKey::F2)], "x"), Verdict::Ask);
    assert_eq!(with(Vec::new(), "hello r"), Verdict::Allow);
}

#[test]
fn a_default_for_chords_leaves_ordinary_text_alone() {
    let text = "[[keys]]\ndefault = 'deny'\nreason = 'Only listed chords.'";
    let policy = Policy::from_toml(text, "p.toml").unwrap();
    let typed = json!({"action": "type", "text": "Hello"});
    assert_eq!(on_desktop(&policy, &[typed], &facts()), Verdict::Allow);
    let pressed = json!({"action": "key", "key": "ctrl+s"});
    assert_eq!(on_desktop(&policy, &[pressed], &facts()), Verdict::Deny);
    let holding = ScreenFacts {
        pressed: vec![Key::Modifier(Modifier::Ctrl)],
        ..facts()
    };
    let typed = json!({"action": "type", "text": "x"});
    assert_eq!(on_desktop(&policy, &[typed], &holding), Verdict::Deny);
    assert_eq!(
        on_desktop(&policy, &pressed_ctrl("x"), &facts()),
        Verdict::Deny
    );
}
