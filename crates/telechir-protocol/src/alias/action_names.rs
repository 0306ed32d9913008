//! All names of actions, in the neutral and in other vocabularies.

use crate::{ActionKind, Button, ClickCount};

/// What a name means beside the kind of the action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Alias {
    pub(crate) kind: ActionKind,
    /// The button, if the name implies one.
    pub(crate) button: Option<Button>,
    /// The click count, if the name implies one.
    pub(crate) count: Option<ClickCount>,
    /// Whether its `duration` is in seconds.
    pub(crate) seconds: bool,
}

const fn plain(kind: ActionKind) -> Alias {
    Alias {
        kind,
        button: None,
        count: None,
        seconds: false,
    }
}

const fn press(kind: ActionKind, button: Button) -> Alias {
    Alias {
        kind,
        button: Some(button),
        count: None,
        seconds: false,
    }
}

const fn clicks(button: Button, count: ClickCount) -> Alias {
    Alias {
        kind: ActionKind::Click,
        button: Some(button),
        count: Some(count),
        seconds: false,
    }
}

const fn counted(count: ClickCount) -> Alias {
    Alias {
        kind: ActionKind::Click,
        button: None,
        count: Some(count),
        seconds: false,
    }
}

const fn timed(kind: ActionKind) -> Alias {
    Alias {
        kind,
        button: None,
        count: None,
        seconds: true,
    }
}

use Button::{Back, Forward, Left, Middle, Right};
use ClickCount::{Double, Single, Triple};

/// Names other than the canonical name of a kind.
const ALIASES: &[(&str, Alias)] = &[
    // The decision record's click names.
    ("double_click", counted(Double)),
    ("triple_click", counted(Triple)),
    // The eighteen classes of the tool-call structures, by `type` and by class.
    ("left_mouse_down", press(ActionKind::MouseDown, Left)),
    ("CULeftMouseDown", press(ActionKind::MouseDown, Left)),
    ("left_mouse_up", press(ActionKind::MouseUp, Left)),
    ("CULeftMouseUp", press(ActionKind::MouseUp, Left)),
    ("left_mouse_click", clicks(Left, Single)),
    ("CULeftMouseClick", clicks(Left, Single)),
    ("left_mouse_double_click", clicks(Left, Double)),
    ("CULeftMouseDoubleClick", clicks(Left, Double)),
    ("left_mouse_triple_click", clicks(Left, Triple)),
    ("CULeftMouseTripleClick", clicks(Left, Triple)),
    ("middle_click", clicks(Middle, Single)),
    ("CUMiddleClick", clicks(Middle, Single)),
    ("right_click", clicks(Right, Single)),
    ("CURightClick", clicks(Right, Single)),
    ("back_click", clicks(Back, Single)),
    ("CUBackClick", clicks(Back, Single)),
    ("forward_click", clicks(Forward, Single)),
    ("CUForwardClick", clicks(Forward, Single)),
    ("CUDrag", plain(ActionKind::Drag)),
    ("keypress", plain(ActionKind::Key)),
    ("CUKeypress", plain(ActionKind::Key)),
    ("keypress_hold", timed(ActionKind::HoldKey)),
    ("CUKeypressHold", timed(ActionKind::HoldKey)),
    ("CUMove", plain(ActionKind::Move)),
    ("CUScreenshot", plain(ActionKind::Screenshot)),
    ("CUScroll", plain(ActionKind::Scroll)),
    ("CUType", plain(ActionKind::Type)),
    ("CUWait", timed(ActionKind::Wait)),
    ("CUCursorPosition", plain(ActionKind::CursorPosition)),
    // The desktop tool's names.
    ("hotkey", plain(ActionKind::Key)),
    ("press_key", plain(ActionKind::Key)),
    ("move_mouse", plain(ActionKind::Move)),
    ("maximize_active_window", plain(ActionKind::MaximizeWindow)),
    ("set_value", plain(ActionKind::FormInput)),
    // Anthropic's names, which other tools adopt.
    ("left_click", clicks(Left, Single)),
    ("mouse_move", plain(ActionKind::Move)),
    ("left_click_drag", press(ActionKind::Drag, Left)),
];

/// Finds the meaning of a name; none if no action has it.
pub(crate) fn find(name: &str) -> Option<Alias> {
    let canonical = |kind: &&ActionKind| kind.name() == name && **kind != ActionKind::Other;
    ActionKind::ALL
        .iter()
        .find(canonical)
        .map(|kind| plain(*kind))
        .or_else(|| {
            ALIASES
                .iter()
                .find(|(alias, _)| *alias == name)
                .map(|(_, meaning)| *meaning)
        })
}

/// The meaning of an action's name in any vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalizedAction<'a> {
    /// The canonical name of the kind; an unknown name is returned unchanged.
    pub action: &'a str,
    /// The button that the name implies.
    pub button: Option<Button>,
    /// The click count that the name implies.
    pub count: Option<ClickCount>,
}

/// Splits a name such as `right_click` into its meaning without loss.
///
/// ```
/// use telechir_protocol::{Button, ClickCount, normalize_action_type};
/// let normalized = normalize_action_type("right_click");
/// assert_eq!((normalized.action, normalized.button, normalized.count),
///     ("click", Some(Button::Right), Some(ClickCount::Single)));
/// assert_eq!(normalize_action_type("mouse_move").action, "move");
/// assert_eq!(normalize_action_type("dance").action, "dance");
/// ```
pub fn normalize_action_type(name: &str) -> NormalizedAction<'_> {
    match find(name) {
        Some(Alias {
            kind,
            button,
            count,
            seconds: _,
        }) => NormalizedAction {
            action: kind.name(),
            button,
            count,
        },
        None => NormalizedAction {
            action: name,
            button: None,
            count: None,
        },
    }
}

/// All names of actions other than the canonical ones, each with its kind.
pub fn action_aliases() -> impl Iterator<Item = (&'static str, ActionKind)> {
    ALIASES.iter().map(|(name, alias)| (*name, alias.kind))
}
