//! Actions on screens, judged by their kind and by whose screen it is.

use telechir_protocol::{Action, ActionKind};

use crate::rule::{Fit, Matcher, RuleReason, Sense};
use crate::{Device, Display, Verdict};

/// A kind of action and where it would happen.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kind: ActionKind,
    pub(crate) device: Device,
    pub(crate) display: Display,
}

/// What a `[[computer]]` rule looks at; an absent member fits everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComputerMatch {
    pub(crate) actions: Option<Vec<ActionKind>>,
    pub(crate) device: Option<Device>,
    pub(crate) display: Option<Display>,
}

impl Matcher for ComputerMatch {
    type Subject<'a> = Step;

    fn fit(&self, step: &Step, _sense: Sense) -> Fit {
        let fits = self
            .actions
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&step.kind))
            && self.device.is_none_or(|device| device == step.device)
            && self.display.is_none_or(|display| display == step.display);
        if fits { Fit::Yes } else { Fit::No }
    }
}

/// What holds where no rule applies.
pub(crate) fn default(step: &Step, action: &Action) -> RuleReason {
    let built_in = |verdict, reason: &str| RuleReason::built_in(verdict, step.kind.name(), reason);
    match nature(action) {
        Nature::Looks => built_in(Verdict::Allow, "It only looks."),
        Nature::Acts => match step.display {
            Display::Private => built_in(Verdict::Allow, "The display is this session's own."),
            Display::Existing => built_in(Verdict::Ask, "The display is a person's own."),
        },
        Nature::Reaches(what) => built_in(Verdict::Ask, what),
    }
}

/// How much an action can do.
enum Nature {
    Looks,
    Acts,
    /// Further than a pointer and a keyboard would.
    Reaches(&'static str),
}

fn nature(action: &Action) -> Nature {
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
        | Action::CaptureMonitor { .. } => Nature::Looks,
        // What a person copied, perhaps a password, is more than what they show.
        Action::ReadClipboard => Nature::Acts,
        Action::Type { text, .. } | Action::WriteClipboard { text } if has_control(text) => {
            Nature::Reaches("The text holds control characters, which a terminal obeys.")
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
        | Action::LongPress { .. } => Nature::Acts,
        Action::FileUpload { .. } => Nature::Reaches("It gives files to a web site."),
        Action::Javascript { .. } => Nature::Reaches("It runs a script in the page."),
        Action::OpenApp { .. } => Nature::Reaches("It starts a program."),
        Action::Other { .. } => Nature::Reaches("What it does is not known."),
    }
}

fn has_control(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
