//! Judges actions on screens by their kind and by the owner of the screen.

use serde_json::{Map, Value};
use telechir_protocol::{Action, ActionKind};

use crate::input_target::{InputTarget, may_be_terminal};
use crate::rule::{MatchCertainty, Matcher, Polarity, RuleReason};
use crate::{Device, DisplayOwner, Verdict};

/// A kind of action and the screen it is for.
#[derive(Debug)]
pub(crate) struct ScreenSubject<'a> {
    pub(crate) kind: ActionKind,
    pub(crate) device: Device,
    pub(crate) display: DisplayOwner,
    /// The windows that the action's input may reach.
    pub(crate) target: InputTarget<'a>,
}

/// The conditions of a `[[computer]]` rule; an absent one matches everything, with one exception: a
/// permissive rule must name the windows of terminals.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComputerMatch {
    pub(crate) actions: Option<Vec<ActionKind>>,
    pub(crate) device: Option<Device>,
    pub(crate) display: Option<DisplayOwner>,
    /// Patterns for the names of the window that receives the input.
    pub(crate) windows: Option<Vec<String>>,
}

impl Matcher for ComputerMatch {
    type Subject<'a> = ScreenSubject<'a>;

    fn fit(&self, step: &ScreenSubject<'_>, sense: Polarity) -> MatchCertainty {
        let fits = self
            .actions
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&step.kind))
            && self.device.is_none_or(|device| device == step.device)
            && self.display.is_none_or(|display| display == step.display);
        if !fits {
            return MatchCertainty::No;
        }
        match &self.windows {
            Some(patterns) => step.target.fits(patterns, sense),
            None if sense == Polarity::Permits && may_be_terminal(&step.target) => {
                MatchCertainty::No
            }
            None => MatchCertainty::Yes,
        }
    }

    fn doubt(&self, _step: &ScreenSubject<'_>) -> String {
        "Which window receives its input is uncertain.".to_owned()
    }
}

/// The verdict if no rule matches.
pub(crate) fn default(step: &ScreenSubject<'_>, action: &Action) -> RuleReason {
    let built_in = |verdict, reason: &str| RuleReason::built_in(verdict, step.kind.name(), reason);
    if may_be_terminal(&step.target) {
        return built_in(Verdict::Ask, IN_TERMINAL);
    }
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

const IN_TERMINAL: &str = "It may be input to a terminal, whose commands no [[shell]] rule sees; \
                           a [[computer]] rule that names its window can allow it.";

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
        | Action::WaitFor { .. }
        | Action::ListTabs
        | Action::ReadPage { .. }
        | Action::PageText { .. }
        | Action::Find { .. }
        | Action::ReadConsole { .. }
        | Action::ReadNetwork { .. }
        | Action::ListWindows
        | Action::ListMonitors
        | Action::CaptureWindow { .. }
        | Action::CaptureMonitor { .. }
        | Action::CaptureElement { .. } => ActionClass::Looks,
        Action::Emulate { settings } if settings.contains_key("permissions") => {
            ActionClass::Reaches("It grants permissions to web pages.")
        }
        Action::Emulate { settings } if authorizes(settings) => {
            ActionClass::Reaches("It adds a header that authorizes all requests of a page.")
        }
        Action::SetCookies { .. } => {
            ActionClass::Reaches("It sets cookies, which can hold logins.")
        }
        Action::SaveStorageState { .. } => ActionClass::Reaches(
            "It writes the browser's cookies and stored data, which can hold logins, to a file.",
        ),
        Action::LoadStorageState { .. } => ActionClass::Reaches(
            "It loads cookies and stored data, which can hold logins, into the browser.",
        ),
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
        | Action::AnswerDialog { .. }
        // Headers and bodies can hold more than the page shows.
        | Action::ReadRequest { .. }
        | Action::Emulate { .. }
        // Their names show which sites were visited.
        | Action::ListCookies { .. }
        | Action::ClearCookies { .. }
        | Action::SavePdf { .. }
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

/// Whether settings add a header by which servers know who sends a request.
fn authorizes(settings: &Map<String, Value>) -> bool {
    let headers = settings.get("headers").and_then(Value::as_object);
    let mut names = headers.into_iter().flat_map(Map::keys);
    names.any(|name| name.eq_ignore_ascii_case("authorization"))
}

fn has_control(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
