//! Judges actions on screens by their kind and by the owner of the screen.

use telechir_protocol::{Action, ActionKind};

use crate::rule::{MatchCertainty, Matcher, Polarity, RuleReason};
use crate::{Device, DisplayOwner, Verdict};

/// A kind of action and the screen it is for.
#[derive(Debug)]
pub(crate) struct ScreenSubject {
    pub(crate) kind: ActionKind,
    pub(crate) device: Device,
    pub(crate) display: DisplayOwner,
}

/// The conditions of a `[[computer]]` rule; an absent one matches everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComputerMatch {
    pub(crate) actions: Option<Vec<ActionKind>>,
    pub(crate) device: Option<Device>,
    pub(crate) display: Option<DisplayOwner>,
}

impl Matcher for ComputerMatch {
    type Subject<'a> = ScreenSubject;

    fn fit(&self, step: &ScreenSubject, _sense: Polarity) -> MatchCertainty {
        let fits = self
            .actions
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&step.kind))
            && self.device.is_none_or(|device| device == step.device)
            && self.display.is_none_or(|display| display == step.display);
        if fits {
            MatchCertainty::Yes
        } else {
            MatchCertainty::No
        }
    }
}

/// The verdict if no rule matches.
pub(crate) fn default(step: &ScreenSubject, action: &Action) -> RuleReason {
    let built_in = |verdict, reason: &str| RuleReason::built_in(verdict, step.kind.name(), reason);
    match nature(action) {
        ActionClass::Looks => built_in(Verdict::Allow, "It only reads."),
        ActionClass::Acts => match step.display {
            DisplayOwner::Private => {
                built_in(Verdict::Allow, "The display is private to this session.")
            }
            DisplayOwner::Existing => built_in(Verdict::Ask, "The display is the user's own."),
        },
        ActionClass::Reaches(what) => built_in(Verdict::Ask, what),
    }
}

/// How far the effect of an action can reach.
enum ActionClass {
    Looks,
    Acts,
    /// Beyond pointer and keyboard input.
    Reaches(&'static str),
}

fn nature(action: &Action) -> ActionClass {
    match action {
        Action::Screenshot
        | Action::ObserveScreen { .. }
        | Action::Zoom { .. }
        | Action::CursorPosition
        | Action::Wait { .. }
        | Action::ListTabs
        | Action::ReadPage { .. }
        | Action::PageText { .. }
        | Action::Find { .. }
        | Action::ReadConsole { .. }
        | Action::ReadNetwork { .. }
        | Action::ListWindows
        | Action::ListMonitors
        | Action::CaptureWindow { .. }
        | Action::CaptureMonitor { .. } => ActionClass::Looks,
        // Copied text, perhaps a password, is more sensitive than what the screen shows.
        Action::ReadClipboard => ActionClass::Acts,
        Action::Type { text, .. } | Action::WriteClipboard { text } if has_control(text) => {
            ActionClass::Reaches("The text contains control characters, which terminals execute.")
        }
        Action::Move { .. }
        | Action::Click { .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::Drag { .. }
        | Action::Scroll { .. }
        | Action::Type { .. }
        | Action::Key { .. }
        | Action::HoldKey { .. }
        | Action::KeyDown { .. }
        | Action::KeyUp { .. }
        | Action::Navigate { .. }
        | Action::Back { .. }
        | Action::Forward { .. }
        | Action::Reload { .. }
        | Action::Search { .. }
        | Action::OpenBrowser { .. }
        | Action::NewTab { .. }
        | Action::SwitchTab { .. }
        | Action::CloseTab { .. }
        | Action::FormInput { .. }
        | Action::ScrollTo { .. }
        | Action::Hover { .. }
        | Action::FocusWindow { .. }
        | Action::MaximizeWindow { .. }
        | Action::RestoreWindow { .. }
        | Action::MinimizeWindow { .. }
        | Action::CloseWindow { .. }
        | Action::PlaceWindow { .. }
        | Action::WriteClipboard { .. }
        | Action::Invoke { .. }
        | Action::LongPress { .. } => ActionClass::Acts,
        Action::FileUpload { .. } => ActionClass::Reaches("It uploads files to a web site."),
        Action::Javascript { .. } => ActionClass::Reaches("It runs a script in the page."),
        Action::OpenApp { .. } => ActionClass::Reaches("It starts a program."),
        Action::Other { .. } => ActionClass::Reaches("Its effect is unknown."),
    }
}

fn has_control(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
