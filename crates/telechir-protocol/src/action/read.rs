//! Decodes an action from a JSON object, in the neutral or another vocabulary.

mod pointer;
mod timing;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::alias::{self, Alias};
use super::write::RESERVED_MEMBERS;
use super::{Action, ActionKind, Button, ClickCount, InvalidAction, ObserveMode, ScrollUnit};
use crate::json::{InvalidMember, Members, count_of, excerpt, from_nested};
use crate::{Chord, Target};

/// Members of an action that may be members of the call if it has only one action.
const ACTION_FIELDS: &str = "
    coordinate coordinates xy x y label element_id ref frame
    end_coordinate start_coordinate start_xy distance_xy start_x start_y end_x end_y path
    scroll_amount scroll_direction scroll_x scroll_y amount direction magnitude dx dy unit
    text key keys button count clicks modifiers duration duration_ms seconds region
    clear_first submit repeat url tab query filter depth value paths documents script name
    window monitor element_name automation_id control_type window_title mode intent
";

/// Whether a member belongs to an action rather than to its call.
pub(crate) fn is_action_field(name: &str) -> bool {
    ACTION_FIELDS.split_whitespace().any(|own| own == name)
}

/// The name of an action in the input: its meaning and the member that it came from.
#[derive(Clone, Copy)]
struct ActionName {
    alias: Alias,
    /// Whether the name was under `type`, as in other vocabularies, not under `action`.
    by_type: bool,
}

type ReadResult = Result<Action, InvalidMember>;

impl Action {
    /// Decodes an action; the unknown members are returned for the caller to retain.
    ///
    /// # Errors
    /// When a member is missing or invalid; the error names it.
    pub fn from_json(
        members: Map<String, Value>,
    ) -> Result<(Self, Map<String, Value>), InvalidAction> {
        let mut members = Members::new(members);
        let by_type = !members.has("action");
        let name = match members.take(if by_type { "type" } else { "action" }) {
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(nameless(&format!(
                    "`action` is {}, not a name",
                    excerpt(&other)
                )));
            }
            None => return Err(nameless("`action` is missing")),
        };
        let Some(alias) = alias::find(&name) else {
            return Ok((Self::unknown(name, members.into_rest()), Map::new()));
        };
        members.lift("coordinates");
        let invalid = |problem: InvalidMember| InvalidAction {
            action: name.clone(),
            problem: problem.to_string(),
        };
        let action = read(ActionName { alias, by_type }, &mut members).map_err(invalid)?;
        let rest = members.into_rest();
        match conflicting_member(&action, &rest) {
            None => Ok((action, rest)),
            Some(member) => Err(invalid(InvalidMember::Contradiction(format!(
                "`{member}` conflicts with another member that already sets the same value"
            )))),
        }
    }
}

impl Action {
    /// Creates an unknown action from its name and its other members.
    pub(crate) fn unknown(name: String, written: Map<String, Value>) -> Self {
        let args = from_nested(&written, &RESERVED_MEMBERS)
            .cloned()
            .unwrap_or(written);
        Self::Other { name, args }
    }
}

/// An unknown member that would change the action if it were written beside it.
fn conflicting_member<'a>(action: &Action, rest: &'a Map<String, Value>) -> Option<&'a String> {
    let suspect = rest.keys().find(|name| is_action_field(name))?;
    let mut written = action.to_json();
    let twice = rest.keys().find(|name| written.contains_key(*name));
    if twice.is_some() {
        return twice;
    }
    written.extend(rest.clone());
    let mut again = Members::new(written);
    let alias = again
        .take("action")
        .as_ref()
        .and_then(Value::as_str)
        .and_then(alias::find)?;
    let same = read(
        ActionName {
            alias,
            by_type: false,
        },
        &mut again,
    )
    .as_ref()
        == Ok(action);
    (!same || again.into_rest() != *rest).then_some(suspect)
}

fn nameless(problem: &str) -> InvalidAction {
    InvalidAction {
        action: "without a name".to_owned(),
        problem: problem.to_owned(),
    }
}

fn read(named: ActionName, m: &mut Members) -> ReadResult {
    Ok(match named.alias.kind {
        ActionKind::Screenshot => Action::Screenshot,
        ActionKind::ObserveScreen => Action::ObserveScreen {
            mode: m.mode()?,
            intent: m.text("intent")?,
        },
        ActionKind::CursorPosition => Action::CursorPosition,
        ActionKind::Zoom => Action::Zoom {
            region: m.region()?,
        },
        ActionKind::Move => Action::Move {
            at: m.needed_target()?,
        },
        ActionKind::Hover => Action::Hover {
            at: m.needed_target()?,
        },
        ActionKind::Click => pointer::click(named.alias, m)?,
        ActionKind::MouseDown => Action::MouseDown {
            at: m.target()?,
            button: m.button(named.alias)?,
        },
        ActionKind::MouseUp => Action::MouseUp {
            at: m.target()?,
            button: m.button(named.alias)?,
        },
        ActionKind::Drag => pointer::drag(named.alias, m)?,
        ActionKind::Scroll => pointer::scroll(m)?,
        ActionKind::Type => type_text(m)?,
        ActionKind::Key => Action::Key {
            chord: m.chord()?,
            repeat: m.repeat()?,
        },
        ActionKind::KeyDown => Action::KeyDown { chord: m.chord()? },
        ActionKind::KeyUp => Action::KeyUp { chord: m.chord()? },
        ActionKind::HoldKey => timing::hold_key(named, m)?,
        ActionKind::Wait => Action::Wait {
            duration: timing::wait(named, m)?,
        },
        ActionKind::LongPress => Action::LongPress {
            at: m.needed_target()?,
            duration: timing::duration(named.alias.seconds, m)?,
        },
        ActionKind::ListWindows => Action::ListWindows,
        ActionKind::FocusWindow => Action::FocusWindow {
            window: m
                .window()?
                .ok_or(InvalidMember::Missing { member: "window" })?,
        },
        ActionKind::MaximizeWindow => Action::MaximizeWindow {
            window: m.window()?,
        },
        ActionKind::RestoreWindow => Action::RestoreWindow {
            window: m.window()?,
        },
        ActionKind::MinimizeWindow => Action::MinimizeWindow {
            window: m.window()?,
        },
        ActionKind::CloseWindow => Action::CloseWindow {
            window: m.window()?,
        },
        ActionKind::PlaceWindow => Action::PlaceWindow {
            window: m.window()?,
            region: m.region()?,
        },
        ActionKind::CaptureWindow => Action::CaptureWindow {
            window: m.window()?,
        },
        ActionKind::ListMonitors => Action::ListMonitors,
        ActionKind::CaptureMonitor => Action::CaptureMonitor {
            monitor: m.name("monitor")?,
        },
        ActionKind::ReadClipboard => Action::ReadClipboard,
        ActionKind::WriteClipboard => Action::WriteClipboard {
            text: m.needed_text("text")?,
        },
        ActionKind::Invoke => Action::Invoke {
            at: m.needed_target()?,
            name: m.text("name")?,
        },
        ActionKind::OpenApp => Action::OpenApp {
            name: m.needed_text("name")?,
        },
        ActionKind::Navigate => Action::Navigate {
            url: m.needed_text("url")?,
            tab: m.tab()?,
        },
        ActionKind::Back => Action::Back { tab: m.tab()? },
        ActionKind::Forward => Action::Forward { tab: m.tab()? },
        ActionKind::Reload => Action::Reload { tab: m.tab()? },
        ActionKind::Search => Action::Search {
            query: m.text("query")?,
        },
        ActionKind::OpenBrowser => Action::OpenBrowser {
            url: m.text("url")?,
        },
        ActionKind::NewTab => Action::NewTab {
            url: m.text("url")?,
        },
        ActionKind::SwitchTab => Action::SwitchTab {
            tab: m.needed_tab()?,
        },
        ActionKind::CloseTab => Action::CloseTab {
            tab: m.needed_tab()?,
        },
        ActionKind::ReadPage => Action::ReadPage {
            filter: m.text("filter")?,
            depth: m.count("depth")?,
            root: m.target()?,
            tab: m.tab()?,
        },
        ActionKind::PageText => Action::PageText { tab: m.tab()? },
        ActionKind::Find => Action::Find {
            query: m.needed_text("query")?,
            tab: m.tab()?,
        },
        ActionKind::FormInput => Action::FormInput {
            at: m.needed_target()?,
            value: m
                .take_with_null("value")
                .ok_or(InvalidMember::Missing { member: "value" })?,
            tab: m.tab()?,
        },
        ActionKind::FileUpload => Action::FileUpload {
            at: m.needed_target()?,
            paths: m.texts("paths")?,
            documents: m.texts("documents")?,
            tab: m.tab()?,
        },
        ActionKind::ScrollTo => Action::ScrollTo {
            at: m.needed_target()?,
            tab: m.tab()?,
        },
        ActionKind::Javascript => Action::Javascript {
            script: m.needed_text("script")?,
            tab: m.tab()?,
        },
        ActionKind::ReadConsole => Action::ReadConsole { tab: m.tab()? },
        ActionKind::ReadNetwork => Action::ReadNetwork { tab: m.tab()? },
        ActionKind::ListTabs => Action::ListTabs,
        ActionKind::Other => return Err(InvalidMember::Missing { member: "action" }),
    })
}

fn type_text(m: &mut Members) -> ReadResult {
    Ok(Action::Type {
        text: m.needed_text("text")?,
        at: m.target()?,
        clear_first: m.flag("clear_first")?.unwrap_or(false),
        submit: m.flag("submit")?.unwrap_or(false),
    })
}

impl Members {
    fn needed_text(&mut self, name: &'static str) -> Result<String, InvalidMember> {
        self.text(name)?
            .ok_or(InvalidMember::Missing { member: name })
    }

    fn tab(&mut self) -> Result<Option<String>, InvalidMember> {
        self.name("tab")
    }

    fn needed_tab(&mut self) -> Result<String, InvalidMember> {
        self.tab()?.ok_or(InvalidMember::Missing { member: "tab" })
    }

    fn mode(&mut self) -> Result<ObserveMode, InvalidMember> {
        let Some(value) = self.take("mode") else {
            return Ok(ObserveMode::default());
        };
        let named = value.as_str().and_then(ObserveMode::named);
        named.ok_or_else(|| InvalidMember::wrong("mode", &value, "grounding or understanding"))
    }

    fn window(&mut self) -> Result<Option<String>, InvalidMember> {
        self.name("window")
    }

    fn repeat(&mut self) -> Result<u32, InvalidMember> {
        let Some(value) = self.take("repeat") else {
            return Ok(1);
        };
        count_of(&value)
            .filter(|repeat| *repeat > 0)
            .ok_or_else(|| InvalidMember::wrong("repeat", &value, "a whole number from 1"))
    }

    /// A chord under `key`, `keys` or, for Anthropic, `text`.
    fn chord(&mut self) -> Result<Chord, InvalidMember> {
        const NAMES: &[&str] = &["key", "keys", "text"];
        let Some((name, value)) = self.take_any(NAMES) else {
            return Err(InvalidMember::Missing { member: "key" });
        };
        chord_of(name, &value).ok_or_else(|| InvalidMember::wrong(name, &value, "a chord of keys"))
    }

    fn button(&mut self, alias: Alias) -> Result<Button, InvalidMember> {
        let Some(value) = self.take("button") else {
            return Ok(alias.button.unwrap_or_default());
        };
        let wanted = "left, middle, right, back or forward";
        let button = value
            .as_str()
            .and_then(Button::parse)
            .ok_or_else(|| InvalidMember::wrong("button", &value, wanted))?;
        match alias.button {
            Some(named) if named != button => Err(InvalidMember::Contradiction(format!(
                "`button` is {} and the action's name says {}",
                button.name(),
                named.name()
            ))),
            Some(_) | None => Ok(button),
        }
    }

    fn needed_target(&mut self) -> Result<Target, InvalidMember> {
        self.target()?.ok_or(InvalidMember::Missing {
            member: "coordinate",
        })
    }
}

/// `key` is one chord; `keys` is a list of names, each of which may be a chord.
fn chord_of(name: &str, value: &Value) -> Option<Chord> {
    if name == "key" {
        return Chord::deserialize(value).ok();
    }
    match value {
        Value::String(text) => Chord::parse(text),
        Value::Array(names) => Chord::from_names(
            names
                .iter()
                .map(Value::as_str)
                .collect::<Option<Vec<_>>>()?,
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

impl Button {
    /// Parses a button name, including OpenAI's `wheel`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "left" => Self::Left,
            "middle" | "wheel" => Self::Middle,
            "right" => Self::Right,
            "back" => Self::Back,
            "forward" => Self::Forward,
            _ => return None,
        })
    }
}

impl ClickCount {
    /// The click count for 1, 2 or 3; none for other numbers.
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Single),
            2 => Some(Self::Double),
            3 => Some(Self::Triple),
            _ => None,
        }
    }
}

impl ScrollUnit {
    /// Parses the name of a unit.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "clicks" => Some(Self::Clicks),
            "pixels" => Some(Self::Pixels),
            "thousandths" => Some(Self::Thousandths),
            _ => None,
        }
    }
}

/// An action alone cannot retain unknown members, so they are an error here; a computer call
/// retains them.
impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (action, rest) =
            Self::from_json(Map::deserialize(deserializer)?).map_err(D::Error::custom)?;
        match rest.keys().next() {
            None => Ok(action),
            Some(unknown) => Err(D::Error::custom(format_args!(
                "read the action {}: unknown member `{unknown}`",
                action.name()
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for Button {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| D::Error::custom(format_args!("unknown button {name:?}")))
    }
}

impl<'de> Deserialize<'de> for ClickCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_number(u32::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("a click count is 1, 2 or 3"))
    }
}

impl<'de> Deserialize<'de> for ScrollUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name)
            .ok_or_else(|| D::Error::custom(format_args!("unknown scroll unit {name:?}")))
    }
}
