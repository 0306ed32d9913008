//! Text shown to the user can neither hide nor imitate anything.

use proptest::prelude::*;
use serde_json::json;
use telechir_protocol::Content;
use telechir_protocol::display::{SafeText, describe, escape};

use crate::{read, strategies};

#[test]
fn terminal_control_is_shown_and_marked() {
    for sly in [
        "ls\u{1b}[2K\u{1b}[1Grm -rf ~",
        "ls\u{9b}2K",
        "\u{1b}]8;;http://evil\u{7}safe\u{1b}]8;;\u{7}",
        "\u{1b}]52;c;cm0=\u{7}",
        "rm\u{8}\u{8}ls",
        "rm -rf ~\rls",
        "a\u{0}b",
        "a\u{7f}b",
    ] {
        let shown = SafeText::of(sly);
        assert!(shown.hidden, "{sly:?}");
        assert!(
            shown.text.chars().all(|c| !c.is_control()),
            "{sly:?} is shown as {:?}",
            shown.text
        );
    }
    assert_eq!(escape("ls\u{1b}[2K"), r"ls\u{1b}[2K");
}

#[test]
fn invisible_characters_are_shown_and_marked() {
    let invisible = [
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{200b}',
        '\u{200d}',
        '\u{feff}',
        '\u{ad}',
        '\u{e0041}',
        '\u{fe0f}',
        '\u{e0100}',
        '\u{2063}',
        '\u{3164}',
        '\u{115f}',
        '\u{1160}',
        '\u{ffa0}',
        '\u{2800}',
        '\u{300}',
        '\u{2028}',
        '\u{2029}',
        '\u{a0}',
        '\u{3000}',
        '\u{e000}',
        '\u{fff9}',
        '\u{61c}',
        '\u{180e}',
        '\u{34f}',
    ];
    for c in invisible {
        let shown = SafeText::of(&format!("a{c}b"));
        assert!(shown.hidden, "{c:?}");
        assert_eq!(shown.text, format!("a{}b", c.escape_unicode()), "{c:?}");
    }
}

#[test]
fn ordinary_text_is_shown_as_it_is() {
    for plain in [
        "echo \"$HOME\" | grep 'x\\y'",
        "für Größe ÷ 2 → 日本語 Ελλάδα Москва",
        "a\n  b\n\nc",
        "",
    ] {
        let shown = SafeText::of(plain);
        assert_eq!(shown.text, plain);
        assert!(!shown.hidden && !shown.mixed_scripts, "{plain:?}");
    }
    assert_eq!(escape("a\tb"), r"a\tb");
    assert!(!SafeText::of("a\tb").hidden);
}

#[test]
fn letters_that_look_like_others_are_marked() {
    assert!(SafeText::of("\u{441}url https://x").mixed_scripts);
    assert!(SafeText::of("https://g\u{43e}\u{43e}d.com").mixed_scripts);
    assert!(!SafeText::of("curl Москва").mixed_scripts);
}

#[test]
fn long_runs_are_collapsed() {
    let pushed = SafeText::of(&format!("ls{}rm -rf ~", "\n".repeat(80)));
    assert_eq!(
        pushed.text,
        "ls\n⟨80 line breaks, 80 blanks in all⟩\nrm -rf ~"
    );
    assert_eq!((pushed.lines, pushed.bytes), (81, 90));
    assert_eq!(
        escape(&format!("ls{}rm", " ".repeat(400))),
        "ls⟨400 blanks⟩rm"
    );
    assert_eq!(
        escape(&format!("ls #{}", "x".repeat(500))),
        "ls #x⟨500 times⟩"
    );
}

#[test]
fn a_long_text_is_shown_as_head_and_tail() {
    let long = format!("first{}last", "ab ".repeat(5_000));
    let shown = escape(&long);
    assert!(shown.starts_with("first") && shown.ends_with("last"));
    assert!(shown.contains("⟨11009 characters left out⟩"), "{shown}");
}

#[test]
fn a_batch_is_shown_step_by_step() {
    let call: Content = read(json!({
        "type": "computer_call", "call_id": "c", "intent": "already approved",
        "actions": [
            {"action": "click", "coordinate": [1, 2]},
            {"action": "type", "text": "rm -rf ~\u{202e}\n", "submit": true},
            {"action": "key", "key": "Control_L+Return"}
        ]
    }));
    assert_eq!(
        describe(&call),
        "1. click coordinate=[1,2] button=left\n\
         2. type text=\"rm -rf ~\\u{202e}\\n\" submit=true\n\
         3. key key=ctrl+Enter\n"
    );
}

#[test]
fn a_command_cannot_look_like_the_next_one() {
    let call: Content = read(json!({
        "type": "shell_call", "call_id": "s", "commands": ["true\n2. ls", "rm -rf ~"],
        "env": {"LD_PRELOAD": "/x.so"}
    }));
    assert_eq!(
        describe(&call),
        "execute env={\"LD_PRELOAD\":\"/x.so\"}\n1. true\n   2. ls\n2. rm -rf ~\n"
    );
}

proptest! {
    #[test]
    fn no_control_character_is_ever_shown(text in "\\PC*|[\\x00-\\xff]*") {
        prop_assert!(escape(&text).chars().all(|c| c == '\n' || !c.is_control()));
    }

    #[test]
    fn every_call_can_be_shown(content in strategies::content()) {
        let shown = describe(&content);
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert!(shown.ends_with('\n') || shown.is_empty());
    }
}
