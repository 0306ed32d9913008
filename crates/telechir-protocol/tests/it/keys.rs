//! Every spelling of a key means the same key.

use serde_json::json;
use telechir_protocol::{Chord, Key, Modifier, NamedKey};

use crate::{read, refusal, written};

fn canonical(text: &str) -> String {
    Chord::parse(text)
        .unwrap_or_else(|| panic!("{text:?} is a chord"))
        .to_string()
}

#[test]
fn every_vocabularys_names_are_read() {
    const NAMES: &[(&str, &[&str])] = &[
        (
            "ctrl",
            &[
                "ctrl",
                "Control",
                "CTRL",
                "Control_L",
                "Control_R",
                "ControlLeft",
                "0xffe3",
            ],
        ),
        (
            "alt",
            &[
                "alt", "ALT", "Alt_L", "Alt_R", "option", "OPTION", "AltLeft",
            ],
        ),
        ("shift", &["SHIFT", "Shift_L", "shiftright"]),
        (
            "super",
            &[
                "Super_L", "Meta_L", "META", "CMD", "command", "win", "WIN", "windows", "super",
            ],
        ),
        (
            "Enter",
            &[
                "Return",
                "ENTER",
                "KP_Enter",
                "return",
                "NumpadEnter",
                "\n",
                "0xff0d",
            ],
        ),
        ("Escape", &["ESC", "Escape", "escape"]),
        ("Backspace", &["BackSpace", "BACKSPACE", "back_space"]),
        ("Delete", &["DEL", "Delete", "KP_Delete"]),
        ("PageUp", &["Prior", "Page_Up", "PAGEUP", "page up", "pgup"]),
        ("PageDown", &["Next", "Page_Down", "PageDown"]),
        ("ArrowUp", &["Up", "ARROWUP", "arrow_up", "KP_Up"]),
        ("ArrowLeft", &["Left", "ARROWLEFT", "left"]),
        ("Space", &["space", "SPACE", " ", "spacebar"]),
        ("Tab", &["TAB", "tab", "\t"]),
        ("CapsLock", &["Caps_Lock", "CAPSLOCK"]),
        ("PrintScreen", &["Print", "PrtSc"]),
        ("ContextMenu", &["Menu", "apps"]),
        ("F1", &["F1", "f1", "0xffbe"]),
        ("F12", &["f12", "0xffc9"]),
        ("f13", &["F13"]),
        ("a", &["a", "A", "KeyA", "0x61"]),
        ("7", &["7", "KP_7", "Digit7", "Numpad7"]),
        ("-", &["minus", "-", "KP_Subtract"]),
        ("+", &["plus", "+"]),
        (",", &["comma"]),
        (".", &["period"]),
        ("/", &["slash", "KP_Divide"]),
        ("€", &["€", "U20AC", "0x010020ac"]),
    ];
    for (expected, spellings) in NAMES {
        for spelling in *spellings {
            assert_eq!(canonical(spelling), *expected, "{spelling:?}");
        }
    }
}

#[test]
fn every_spelling_of_one_chord_has_one_canonical_form() {
    let spellings = [
        "ctrl+alt+F1",
        "Alt+Control+f1",
        "Control_R+Alt_L+F1",
        "ctrl alt f1",
        "CTRL-ALT-F1",
        "ctrl+ctrl+alt+F1",
        "f1 + option + control",
        "ctrl+alt+0xffbe",
    ];
    for spelling in spellings {
        assert_eq!(canonical(spelling), "ctrl+alt+F1", "{spelling:?}");
    }
    let named = Chord::from_names(["CTRL", "ALT", "F1"]).unwrap();
    assert_eq!(
        named.canonical(),
        Chord::parse("alt+ctrl+f1").unwrap().canonical()
    );
}

#[test]
fn the_plus_key_is_a_key() {
    let plus = Key::Char('+');
    assert_eq!(
        Chord::parse("+").unwrap().keys(),
        std::slice::from_ref(&plus)
    );
    assert_eq!(
        Chord::parse("ctrl++").unwrap().keys(),
        [Key::Modifier(Modifier::Ctrl), plus.clone()]
    );
    assert_eq!(Chord::parse("ctrl + +").unwrap().keys().last(), Some(&plus));
}

#[test]
fn a_chord_with_a_missing_key_is_none() {
    for text in ["", "ctrl+", "a++b", "ctrl+ alt +"] {
        assert_eq!(Chord::parse(text), None, "{text:?}");
    }
    assert_eq!(Chord::new(Vec::new()), None);
    assert_eq!(Chord::from_names(["ctrl", ""]), None);
}

#[test]
fn the_order_and_case_of_keys_are_retained() {
    let chord = Chord::parse("t+Shift+T").unwrap();
    assert_eq!(
        chord.keys(),
        [
            Key::Char('t'),
            Key::Modifier(Modifier::Shift),
            Key::Char('T')
        ]
    );
    assert_eq!(written(&chord), json!("t+shift+T"));
    assert_eq!(chord.to_string(), "shift+t");
}

#[test]
fn an_unknown_name_is_retained_verbatim() {
    let chord = Chord::parse("ctrl+XF86AudioPlay").unwrap();
    assert_eq!(chord.keys()[1], Key::Other("XF86AudioPlay".to_owned()));
    assert_eq!(written(&chord), json!("ctrl+XF86AudioPlay"));
}

#[test]
fn a_key_that_no_string_can_hold_is_written_as_a_list() {
    let chord = Chord::new(vec![Key::Other("odd+name".to_owned())]).unwrap();
    let json = written(&chord);
    assert_eq!(json, json!(["odd+name"]));
    assert_eq!(read::<Chord>(json), chord);
}

#[test]
fn names_of_named_keys_are_read_back() {
    for named in NamedKey::ALL {
        assert_eq!(Key::parse(named.name()), Key::Named(named));
    }
    for modifier in Modifier::ALL {
        assert_eq!(Modifier::parse(modifier.name()), Some(modifier));
    }
}

#[test]
fn a_chord_of_no_keys_is_refused() {
    assert!(refusal::<Chord>(json!("")).contains("is not a chord of keys"));
    assert!(refusal::<Chord>(json!([])).contains("at least one key"));
    assert!(refusal::<Modifier>(json!("a")).contains("unknown variant `a`"));
}
