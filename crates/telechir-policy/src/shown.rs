//! Text for people: what would be done, with nothing that hides, overwrites or turns around.

use std::fmt::Write as _;

use telechir_protocol::{Action, Command, Region, Target};

/// What a person is shown of a long text: so many characters of its head and of its tail.
const HEAD: usize = 2000;
const TAIL: usize = 1000;

/// The text with everything that would not be seen as it is written out as `\u{…}`.
///
/// Control and format characters, marks, fillers, private and unassigned ones, and spaces other
/// than the ASCII one. Line ends become `\n`.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if is_hidden(c) => {
                let _infallible = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a text holds something that [`escape`] writes out, other than line ends and tabs.
pub(crate) fn has_hidden(text: &str) -> bool {
    text.chars()
        .any(|c| !matches!(c, '\n' | '\t') && is_hidden(c))
}

/// Whether a word mixes Latin letters with Cyrillic, Greek or Armenian ones that look like them.
pub(crate) fn mixes_alphabets(text: &str) -> bool {
    let is_twin =
        |c: char| matches!(u32::from(c), 0x370..=0x58f | 0x1c80..=0x1c8f | 0x1f00..=0x1fff);
    text.split(|c: char| !c.is_alphanumeric())
        .any(|word| word.contains(|c: char| c.is_ascii_alphabetic()) && word.contains(is_twin))
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(u32::from(c),
            // Soft hyphen, combining marks, Arabic letter mark, fillers, Mongolian selectors.
            0xad | 0x300..=0x36f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
            | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff
            // Zero width, directions, joiners, invisible operators; braille blank; Hangul fillers.
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x20d0..=0x20ff | 0x2800
            | 0x3164 | 0xffa0
            // Private use, selectors, half marks, specials, tags, planes without characters.
            | 0xe000..=0xf8ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xfeff | 0xfff0..=0xfffb
            | 0xfffe | 0xffff | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0x10ffff)
}

/// Escaped, with head and tail and the count of what lies between when it is long, and runs of
/// spaces or line ends written as their number.
pub(crate) fn shown(text: &str) -> String {
    let folded = fold_runs(&escape(text));
    let count = folded.chars().count();
    if count <= HEAD + TAIL {
        return folded;
    }
    let head: String = folded.chars().take(HEAD).collect();
    let tail: String = folded.chars().skip(count - TAIL).collect();
    format!("{head} […{} characters more…] {tail}", count - HEAD - TAIL)
}

/// A payload must not hide behind four hundred spaces.
fn fold_runs(text: &str) -> String {
    const LONGEST: usize = 8;
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (unit, run) = ["\\n", "\\t", "\\r", " "]
            .into_iter()
            .find(|unit| rest.starts_with(unit))
            .map_or(("", 0), |unit| (unit, count_prefix(rest, unit)));
        if run > LONGEST {
            let name = if unit == " " { "spaces" } else { unit };
            let _infallible = write!(folded, "[{run} × {name}]");
            rest = &rest[run * unit.len()..];
        } else {
            let next = rest.chars().next().map_or(0, char::len_utf8);
            folded.push_str(&rest[..next]);
            rest = &rest[next..];
        }
    }
    folded
}

fn count_prefix(mut text: &str, unit: &str) -> usize {
    let mut count = 0;
    while let Some(rest) = text.strip_prefix(unit) {
        text = rest;
        count += 1;
    }
    count
}

/// One line about an action for a timeline: never the text it types.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the name and the place say enough of all others"
)]
pub fn summarize(action: &Action) -> String {
    let name = action.name();
    match action {
        Action::Type { text, .. } => format!("type ({} characters)", text.chars().count()),
        Action::FormInput { .. } => "form_input".to_owned(),
        Action::Javascript { script, .. } => {
            format!("javascript ({} characters)", script.chars().count())
        }
        Action::Click { at, button, .. } => {
            format!(
                "{name} {}{}",
                button.name(),
                at.as_ref().map(place).unwrap_or_default()
            )
        }
        Action::Key { chord, repeat: 1 } => format!("key {}", escape(&chord.to_string())),
        Action::Key { chord, repeat } => format!("key {} × {repeat}", escape(&chord.to_string())),
        Action::HoldKey { chord, .. } | Action::KeyDown { chord } | Action::KeyUp { chord } => {
            format!("{name} {}", escape(&chord.to_string()))
        }
        Action::Drag { path, .. } => {
            format!(
                "drag{}",
                path.iter().map(place).collect::<Vec<_>>().join(" →")
            )
        }
        Action::Scroll {
            at, dx, dy, unit, ..
        } => {
            let at = at.as_ref().map(place).unwrap_or_default();
            format!("scroll{at} by {dx}, {dy} {}", unit.name())
        }
        Action::Zoom { region } => format!("zoom {}", span(region)),
        Action::Navigate { url, .. } => format!("navigate {}", shorten(url)),
        Action::OpenBrowser { url: Some(url) } | Action::NewTab { url: Some(url) } => {
            format!("{name} {}", shorten(url))
        }
        Action::Wait {
            duration: Some(time),
        } => format!("wait {} ms", time.as_millis()),
        Action::SwitchTab { tab } | Action::CloseTab { tab } => format!("{name} {}", shorten(tab)),
        Action::OpenApp { name: app } => format!("open_app {}", shorten(app)),
        Action::Other { name, .. } => shorten(name),
        _ => format!("{name}{}", action.target().map(place).unwrap_or_default()),
    }
}

/// One line about a command for a timeline.
pub fn summarize_command(command: &Command) -> String {
    format!("$ {}", shorten(&command.to_line()))
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 160;
    let text = fold_runs(&escape(text));
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn place(target: &Target) -> String {
    match target {
        Target::Point(point) => format!(" ({}, {})", point.x, point.y),
        Target::Label { n, .. } => format!(" [{n}]"),
        Target::Ref { id, .. } => format!(" {}", shorten(id)),
    }
}

fn span(region: &Region) -> String {
    format!(
        "({}, {})–({}, {})",
        region.from.x, region.from.y, region.to.x, region.to.y
    )
}

/// Everything about an action, for the person who decides.
pub(crate) fn question_line(action: &Action) -> String {
    let members = serde_json::Value::Object(action.to_json()).to_string();
    shown(&members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_out() {
        for (text, wanted) in [
            ("ls\x1b[2K", "ls\\u{1b}[2K"),
            ("a\u{9b}b", "a\\u{9b}b"),
            ("\u{202e}txt", "\\u{202e}txt"),
            ("a\u{200b}b\u{ad}", "a\\u{200b}b\\u{ad}"),
            ("\u{e0041}\u{3164}\u{fe0f}", "\\u{e0041}\\u{3164}\\u{fe0f}"),
            ("a\u{a0}b\u{2028}", "a\\u{a0}b\\u{2028}"),
            ("one\ntwo\r", "one\\ntwo\\r"),
            ("é 漢字 😀", "é 漢字 😀"),
        ] {
            assert_eq!(escape(text), wanted);
        }
    }

    #[test]
    fn a_word_of_two_alphabets_is_noticed() {
        for text in ["\u{441}url x", "g\u{43e}\u{43e}d.com", "rm \u{3bf}k2a"] {
            assert!(mixes_alphabets(text), "{text}");
        }
        for text in ["curl x", "привет world", "naïve café"] {
            assert!(!mixes_alphabets(text), "{text}");
        }
    }

    #[test]
    fn nothing_hides_behind_space_or_length() {
        let padded = format!("ls{}rm -rf x", " ".repeat(400));
        assert_eq!(shown(&padded), "ls[400 × spaces]rm -rf x");
        assert_eq!(shown(&format!("ls{}rm", "\n".repeat(80))), "ls[80 × \\n]rm");
        let long = format!("{}END", "x".repeat(10_000));
        assert!(shown(&long).ends_with("END") && shown(&long).contains("7003 characters more"));
    }

    #[test]
    fn a_summary_never_holds_what_is_typed() {
        let typing = Action::Type {
            text: "secret".to_owned(),
            at: None,
            clear_first: false,
            submit: true,
        };
        assert_eq!(summarize(&typing), "type (6 characters)");
    }
}
