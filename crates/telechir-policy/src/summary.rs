//! Text for users: what would be done, with nothing that hides, overwrites or reorders text.

use telechir_protocol::display::SafeText;
use telechir_protocol::{
    Action, Chord, Command, EditStep, Key, Modifier, Region, ShellAction, Target,
};

/// Escapes a text to one line without anything that hides, overwrites or reorders text, shortened
/// to head and tail if it is long. It can never look like a line of the program's own.
pub fn escape(text: &str) -> String {
    one_line(&SafeText::of(text).text)
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Whether a text has characters that are invisible or misleading.
pub(crate) fn has_hidden(text: &str) -> bool {
    SafeText::of(text).hidden
}

/// Whether a word mixes letters of two similar-looking alphabets.
pub(crate) fn mixes_alphabets(text: &str) -> bool {
    SafeText::of(text).mixed_scripts
}

/// Whether a word consists of letters of another alphabet that look like Latin ones.
pub(crate) fn imitates_latin(text: &str) -> bool {
    SafeText::of(text).imitates_latin
}

/// Whether a text has letters that are written from right to left. A screen that follows their
/// direction reorders and mirrors the signs between them: `cat א > ב` looks like `cat ב < א`.
pub(crate) fn reads_right_to_left(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(c,
            '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    })
}

/// One line about an action for a timeline, without typed text.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the name and the target describe all others"
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
                at.as_ref().map(target_suffix).unwrap_or_default()
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
                path.iter()
                    .map(target_suffix)
                    .collect::<Vec<_>>()
                    .join(" →")
            )
        }
        Action::Scroll {
            at, dx, dy, unit, ..
        } => {
            let at = at.as_ref().map(target_suffix).unwrap_or_default();
            format!("scroll{at} by {dx}, {dy} {}", unit.name())
        }
        Action::Zoom { region } => format!("zoom {}", region_text(region)),
        Action::Navigate { url, .. } => format!("navigate {}", shorten(url)),
        Action::OpenBrowser { url: Some(url) } | Action::NewTab { url: Some(url) } => {
            format!("{name} {}", shorten(url))
        }
        Action::Wait {
            duration: Some(time),
        } => format!("wait {} ms", time.as_millis()),
        Action::SwitchTab { tab } | Action::CloseTab { tab } => format!("{name} {}", shorten(tab)),
        Action::FocusWindow { window }
        | Action::MaximizeWindow {
            window: Some(window),
        }
        | Action::RestoreWindow {
            window: Some(window),
        }
        | Action::MinimizeWindow {
            window: Some(window),
        }
        | Action::CloseWindow {
            window: Some(window),
        }
        | Action::CaptureWindow {
            window: Some(window),
        }
        | Action::CaptureMonitor {
            monitor: Some(window),
        } => format!("{name} {}", shorten(window)),
        Action::PlaceWindow { window, region } => {
            let window = window.as_deref().map_or_else(String::new, shorten);
            format!("place_window {window} {}", region_text(region))
        }
        Action::WriteClipboard { text } => {
            format!("write_clipboard ({} characters)", text.chars().count())
        }
        Action::Emulate { settings } => {
            let names: Vec<_> = settings.keys().map(|name| shorten(name)).collect();
            format!("emulate {}", names.join(", "))
        }
        Action::SetCookies { cookies } => format!("set_cookies ({} cookies)", cookies.len()),
        Action::ListCookies { url: Some(text) }
        | Action::ClearCookies { url: Some(text) }
        | Action::SaveStorageState { path: Some(text) }
        | Action::LoadStorageState { path: text }
        | Action::SavePdf {
            path: Some(text), ..
        } => format!("{name} {}", shorten(text)),
        Action::ReadRequest { request, .. } => format!("{name} {request}"),
        Action::AnswerDialog { accept, .. } => {
            format!("{name} {}", if *accept { "accept" } else { "dismiss" })
        }
        Action::Invoke { at, name } => {
            let name = name.as_deref().map_or_else(String::new, shorten);
            format!("invoke {name}{}", target_suffix(at))
        }
        Action::OpenApp { name: app } => format!("open_app {}", shorten(app)),
        Action::Other { name, .. } => shorten(name),
        _ => format!(
            "{name}{}",
            action.target().map(target_suffix).unwrap_or_default()
        ),
    }
}

/// One line about a command for a timeline.
pub fn summarize_command(command: &Command) -> String {
    format!("$ {}", shorten(&command.to_line()))
}

/// One line about a shell action other than a command, without typed text.
pub fn summarize_shell_action(action: &ShellAction) -> String {
    let name = escape(action.name());
    match action {
        ShellAction::SendText(text) => format!("{name} ({} characters)", text.chars().count()),
        ShellAction::SendKey(key) if may_type(key) => format!("{name} (a key)"),
        ShellAction::SendKey(argument)
        | ShellAction::Read(argument)
        | ShellAction::Stop(argument) => {
            format!("{name} {}", shorten(argument))
        }
        ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Other(_) => name,
    }
}

/// Whether these keys may be part of a text: a password can be typed key by key.
pub fn may_type(keys: &str) -> bool {
    let types = |chord: Chord| {
        let is_text = |key: &Key| matches!(key, Key::Char(_) | Key::Other(_));
        chord.keys().iter().any(is_text)
            && !chord.modifiers().any(|modifier| modifier == Modifier::Ctrl)
    };
    Chord::parse(keys).is_none_or(types)
}

fn shorten(text: &str) -> String {
    const MAX_SUMMARY_CHARS: usize = 160;
    let text = escape(text);
    match text.char_indices().nth(MAX_SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn target_suffix(target: &Target) -> String {
    match target {
        Target::Point(point) => format!(" ({}, {})", point.x, point.y),
        Target::Label { n, .. } => format!(" [{n}]"),
        Target::Ref { id, .. } => format!(" {}", shorten(id)),
        Target::Named(named) => format!(" {}", shorten(&named.to_string())),
    }
}

fn region_text(region: &Region) -> String {
    format!(
        "({}, {})–({}, {})",
        region.from.x, region.from.y, region.to.x, region.to.y
    )
}

/// One line about an edit for a timeline, without written text.
pub fn summarize_edit(step: &EditStep) -> String {
    let path = escape(step.path());
    match step {
        EditStep::Rename { to, .. } => format!("rename {path} to {}", escape(to)),
        EditStep::View { .. }
        | EditStep::Create { .. }
        | EditStep::Replace { .. }
        | EditStep::Insert { .. }
        | EditStep::Undo { .. }
        | EditStep::Delete { .. }
        | EditStep::Add { .. }
        | EditStep::Patch { .. } => format!("{} {path}", step.name()),
    }
}

/// Words as a person would write them for a shell, escaped.
pub(crate) fn quoted(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", escape(word).replace('\'', "'\\''")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_on_one_line_and_hides_nothing() {
        for (text, wanted) in [
            ("ls\x1b[2K", "ls\\u{1b}[2K"),
            ("\u{202e}txt", "\\u{202e}txt"),
            ("a\u{200b}b\u{ad}", "a\\u{200b}b\\u{ad}"),
            ("one\ntwo\r", "one\\ntwo\\r"),
            ("é 漢字 😀", "é 漢字 😀"),
        ] {
            assert_eq!(escape(text), wanted);
        }
        let padded = format!("ls{}rm -rf x", " ".repeat(400));
        assert_eq!(escape(&padded), "ls⟨400 blanks⟩rm -rf x");
        assert!(!escape(&format!("ls{}rm", "\n".repeat(80))).contains('\n'));
        assert!(escape(&format!("{}END", "xy".repeat(10_000))).ends_with("END"));
    }

    #[test]
    fn a_summary_never_contains_typed_text() {
        let typing = Action::Type {
            text: "secret".to_owned(),
            at: None,
            clear_first: false,
            submit: true,
        };
        assert_eq!(summarize(&typing), "type (6 characters)");
    }
}
