//! Which windows the input of an action may reach, and whether one of them is a terminal.
//!
//! A terminal runs what is typed or pasted into it, so input to it is like a command of a shell.

use telechir_protocol::{Action, Button};

use crate::ScreenWindows;
use crate::rule::{MatchCertainty, Polarity};

/// The windows that input may reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputTarget<'a> {
    /// It is no input, or the screen belongs to one program.
    NoWindow,
    /// Any window.
    Unknown,
    /// The names of exactly this window.
    Window(&'a [String]),
    /// The names of windows of which any may receive it.
    OneOf(&'a [Vec<String>]),
}

/// Names of terminals, as a part of a window's class or instance between `-`, `.`, `_` and blanks.
const TERMINALS: [&str; 23] = [
    "alacritty",
    "blackbox",
    "contour",
    "foot",
    "footclient",
    "ghostty",
    "guake",
    "hyper",
    "kgx",
    "kitty",
    "ptyxis",
    "putty",
    "rio",
    "rxvt",
    "sakura",
    "st",
    "tabby",
    "tilix",
    "urxvt",
    "warp",
    "xvt",
    "yakuake",
    "zutty",
];
/// Parts of the names of other terminals, such as xterm, gnome-terminal, wezterm and konsole.
const TERMINAL_PARTS: [&str; 4] = ["term", "console", "konsole", "rxvt"];

/// How an action puts something into windows.
enum InputKind {
    None,
    /// Into the window with the focus.
    ToFocus,
    /// Into any window: its place decides, or what was dragged or copied before.
    Anywhere,
}

impl<'a> InputTarget<'a> {
    /// The windows that an action's input may reach. After an action of the same call that may have
    /// moved the focus, that is any window.
    pub(crate) fn of(action: &Action, windows: &'a ScreenWindows, has_moved: bool) -> Self {
        let kind = input_kind(action);
        match (kind, windows) {
            (InputKind::None, _) | (_, ScreenWindows::None) => Self::NoWindow,
            (_, ScreenWindows::Unknown) => Self::Unknown,
            (
                InputKind::ToFocus,
                ScreenWindows::Listed {
                    focused: Some(focused),
                    ..
                },
            ) if !has_moved => Self::Window(focused),
            (_, ScreenWindows::Listed { all, .. }) => Self::OneOf(all),
        }
    }

    /// Whether the windows match these patterns.
    pub(crate) fn fits(&self, patterns: &[String], sense: Polarity) -> MatchCertainty {
        let fits = |names: &[String]| names.iter().any(|name| is_named(patterns, name));
        match (self, sense) {
            (Self::NoWindow, _) => MatchCertainty::No,
            (Self::Unknown, _) => MatchCertainty::Unclear,
            (Self::Window(names), _) => fits(names).into(),
            (Self::OneOf(all), Polarity::Permits) => {
                (!all.is_empty() && all.iter().all(|names| fits(names))).into()
            }
            (Self::OneOf(all), Polarity::Restricts) if all.iter().any(|names| fits(names)) => {
                MatchCertainty::Unclear
            }
            (Self::OneOf(_), Polarity::Restricts) => MatchCertainty::No,
        }
    }
}

/// Whether one of the windows that the input may reach is a terminal.
pub(crate) fn may_be_terminal(target: &InputTarget<'_>) -> bool {
    match target {
        InputTarget::NoWindow => false,
        InputTarget::Unknown => true,
        InputTarget::Window(names) => is_terminal(names),
        InputTarget::OneOf(all) => all.iter().any(|names| is_terminal(names)),
    }
}

fn is_named(patterns: &[String], name: &str) -> bool {
    let name = name.to_lowercase();
    patterns
        .iter()
        .any(|pattern| fast_glob::glob_match(pattern, &name))
}

/// Whether a window of these names is a terminal's. One without a name may be anything.
fn is_terminal(names: &[String]) -> bool {
    let is_terminal = |name: &String| {
        let name = name.to_lowercase();
        let mut parts = name.split(|c: char| !c.is_alphanumeric());
        TERMINAL_PARTS.iter().any(|part| name.contains(part))
            || parts.any(|part| TERMINALS.contains(&part))
    };
    names.iter().all(String::is_empty) || names.iter().any(is_terminal)
}

/// Whether an action puts something into a window.
pub(crate) fn is_input(action: &Action) -> bool {
    !matches!(input_kind(action), InputKind::None)
}

/// Whether an action may move the keyboard focus to another window, or open one. A new action may do
/// anything.
pub(crate) fn may_move_focus(action: &Action) -> bool {
    !matches!(
        action,
        Action::Screenshot
            | Action::ObserveScreen { .. }
            | Action::Zoom { .. }
            | Action::CursorPosition
            | Action::ListWindows
            | Action::ListMonitors
            | Action::CaptureWindow { .. }
            | Action::CaptureMonitor { .. }
            | Action::ReadClipboard
            | Action::WriteClipboard { .. }
            | Action::KeyUp { .. }
    )
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is classified in `screen_rule`, whose match has no wildcard"
)]
fn input_kind(action: &Action) -> InputKind {
    match action {
        Action::Type { at: None, .. }
        | Action::Key { .. }
        | Action::HoldKey { .. }
        | Action::KeyDown { .. } => InputKind::ToFocus,
        // A middle button pastes, also into a window that had no focus before.
        Action::Click {
            button: Button::Middle,
            ..
        } => InputKind::Anywhere,
        // With the focus on a terminal, a click may choose its menu's command for pasting.
        Action::Click { .. } | Action::LongPress { .. } => InputKind::ToFocus,
        Action::Type { at: Some(_), .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::Drag { .. }
        | Action::FormInput { .. }
        | Action::Invoke { .. }
        | Action::Other { .. } => InputKind::Anywhere,
        _ => InputKind::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_recognized_by_class_or_instance() {
        let terminals = [
            "XTerm",
            "UXTerm",
            "URxvt",
            "st-256color",
            "kitty",
            "Alacritty",
            "Xfce4-terminal",
            "org.gnome.Console",
            "konsole",
            "Gnome-terminal",
            "org.wezfurlong.wezterm",
            "foot",
            "x-terminal-emulator",
            "com.mitchellh.ghostty",
            "Terminator",
            "Guake",
            "kgx",
        ];
        for class in terminals {
            assert!(
                is_terminal(&["main".to_owned(), class.to_owned()]),
                "{class}"
            );
            assert!(
                is_terminal(&[class.to_owned(), "Mousepad".to_owned()]),
                "{class}"
            );
        }
        for class in [
            "Mousepad",
            "Gimp",
            "firefox",
            "Chromium",
            "libreoffice-writer",
            "Estate",
        ] {
            assert!(
                !is_terminal(&[class.to_lowercase(), class.to_owned()]),
                "{class}"
            );
        }
        assert!(is_terminal(&[]) && is_terminal(&[String::new(), String::new()]));
    }
}
