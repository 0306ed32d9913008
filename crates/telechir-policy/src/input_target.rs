//! Which windows the input of an action may reach, and whether one of them is a terminal.
//!
//! A terminal runs what is typed or pasted into it, so input to it is like a command of a shell.

use telechir_protocol::Action;

use crate::ScreenWindows;
use crate::rule::{MatchCertainty, Polarity};

/// The windows that input may reach.
#[derive(Clone, Debug)]
pub(crate) enum InputTarget<'a> {
    /// It is no input, or the screen belongs to one program.
    NoWindow,
    /// Any window.
    Unknown,
    /// No window but these, by their names.
    Windows {
        /// These receive it.
        certain: Vec<&'a [String]>,
        /// Any of these may receive it.
        possible: Vec<&'a [String]>,
    },
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputKind {
    None,
    /// Into the window with the focus.
    ToFocus,
    /// Into the windows under its points.
    ToPoint,
    /// Into the window under its point, and by keys into the one that has the focus then.
    ToPointAndFocus,
    /// Into any window.
    Anywhere,
}

impl<'a> InputTarget<'a> {
    /// The windows that the input of the action at this index of a proposal may reach. After an
    /// action of the same call that may have moved the focus, that is any window.
    pub(crate) fn of(
        action: &Action,
        windows: &'a ScreenWindows,
        index: usize,
        has_moved: bool,
    ) -> Self {
        let kind = input_kind(action);
        let (focused, all, under) = match (kind, windows) {
            (InputKind::None, _) | (_, ScreenWindows::None) => return Self::NoWindow,
            (_, ScreenWindows::Unknown) => return Self::Unknown,
            (
                _,
                ScreenWindows::Listed {
                    focused,
                    all,
                    under,
                },
            ) => (focused.as_deref(), all, under.get(index)),
        };
        let all = || all.iter().map(Vec::as_slice).collect::<Vec<_>>();
        let any = || Self::Windows {
            certain: Vec::new(),
            possible: all(),
        };
        let by_focus = || focused.map_or_else(all, |focused| vec![focused]);
        let under = under.and_then(Option::as_ref);
        match (kind, under) {
            _ if has_moved => any(),
            (InputKind::ToFocus, _) => match focused {
                Some(focused) => Self::Windows {
                    certain: vec![focused],
                    possible: Vec::new(),
                },
                None => any(),
            },
            (InputKind::ToPoint | InputKind::ToPointAndFocus, Some(under)) => Self::Windows {
                certain: under.names.iter().map(Vec::as_slice).collect(),
                possible: if under.passes_on || kind == InputKind::ToPointAndFocus {
                    by_focus()
                } else {
                    Vec::new()
                },
            },
            (InputKind::ToPoint | InputKind::ToPointAndFocus, None)
            | (InputKind::Anywhere | InputKind::None, _) => any(),
        }
    }

    /// The windows, if only some may receive it.
    pub(crate) fn windows(&self) -> Option<Vec<Vec<String>>> {
        match self {
            Self::NoWindow | Self::Unknown => None,
            Self::Windows { certain, possible } => {
                let all = certain.iter().chain(possible);
                Some(all.map(|names| names.to_vec()).collect())
            }
        }
    }

    /// Whether the windows match these patterns.
    pub(crate) fn fits(&self, patterns: &[String], sense: Polarity) -> MatchCertainty {
        let fits = |names: &&[String]| names.iter().any(|name| is_named(patterns, name));
        match (self, sense) {
            (Self::NoWindow, _) => MatchCertainty::No,
            (Self::Unknown, _) => MatchCertainty::Unclear,
            (Self::Windows { certain, possible }, Polarity::Permits) => {
                let mut all = certain.iter().chain(possible).peekable();
                (all.peek().is_some() && all.all(fits)).into()
            }
            (Self::Windows { certain, .. }, Polarity::Restricts) if certain.iter().any(fits) => {
                MatchCertainty::Yes
            }
            (Self::Windows { possible, .. }, Polarity::Restricts) if possible.iter().any(fits) => {
                MatchCertainty::Unclear
            }
            (Self::Windows { .. }, Polarity::Restricts) => MatchCertainty::No,
        }
    }
}

/// Whether one of the windows that the input may reach is a terminal.
pub(crate) fn may_be_terminal(target: &InputTarget<'_>) -> bool {
    match target {
        InputTarget::NoWindow => false,
        InputTarget::Unknown => true,
        InputTarget::Windows { certain, possible } => {
            let mut all = certain.iter().chain(possible);
            all.any(|names| is_terminal(names))
        }
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
        // A click pastes, by the middle button or by a menu's command. A drop enters what was
        // dragged.
        Action::Click { .. }
        | Action::LongPress { .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::Drag { .. }
        | Action::Invoke { .. } => InputKind::ToPoint,
        Action::Type { at: Some(_), .. } | Action::FormInput { .. } => InputKind::ToPointAndFocus,
        Action::Other { .. } => InputKind::Anywhere,
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
