//! Encodes an action as a JSON object with the decision record's names.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Action, Button, ClickCount, ObserveMode, ScrollUnit};
use crate::json::{NESTED_ARGS, milliseconds, must_be_nested, number};
use crate::{Chord, Modifier, Target};

/// The members of an action in order.
struct ActionMembers(Map<String, Value>);

impl ActionMembers {
    fn named(action: &str) -> Self {
        let mut members = Map::new();
        members.insert("action".to_owned(), action.into());
        Self(members)
    }

    fn put(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn put_some<V: Into<Value>>(self, name: &str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    fn put_true(self, name: &str, value: bool) -> Self {
        if value { self.put(name, true) } else { self }
    }

    fn at(self, target: &Target) -> Self {
        self.put("coordinate", target.to_json())
    }

    fn maybe_at(self, target: Option<&Target>) -> Self {
        self.put_some("coordinate", target.map(Target::to_json))
    }

    fn modifiers(self, modifiers: &[Modifier]) -> Self {
        if modifiers.is_empty() {
            return self;
        }
        let names: Vec<Value> = modifiers
            .iter()
            .map(|modifier| modifier.name().into())
            .collect();
        self.put("modifiers", names)
    }

    fn chord(self, chord: &Chord) -> Self {
        self.put("key", serde_json::to_value(chord).unwrap_or_default())
    }

    fn tab(self, tab: &Option<String>) -> Self {
        self.put_some("tab", tab.as_deref())
    }

    fn window(self, window: &Option<String>) -> Self {
        self.put_some("window", window.as_deref())
    }
}

impl Button {
    /// The canonical name in JSON, such as `left`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
            Self::Back => "back",
            Self::Forward => "forward",
        }
    }
}

impl ClickCount {
    /// The count as a number from 1 to 3.
    pub fn number(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::Double => 2,
            Self::Triple => 3,
        }
    }

    /// The decision record's name for this number of clicks.
    pub fn action_name(self) -> &'static str {
        match self {
            Self::Single => "click",
            Self::Double => "double_click",
            Self::Triple => "triple_click",
        }
    }
}

impl ObserveMode {
    /// The canonical name of the unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grounding => "grounding",
            Self::Understanding => "understanding",
        }
    }

    /// Parses the canonical name of a mode.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Grounding, Self::Understanding]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

impl ScrollUnit {
    /// The canonical name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clicks => "clicks",
            Self::Pixels => "pixels",
            Self::Thousandths => "thousandths",
        }
    }
}

impl Action {
    /// The action's name in JSON: a click is named by its count, an unknown action verbatim.
    pub fn name(&self) -> &str {
        if let Self::Click { count, .. } = self {
            count.action_name()
        } else if let Self::Other { name, .. } = self {
            name
        } else {
            self.kind().name()
        }
    }

    /// Encodes the action as a JSON object.
    pub fn to_json(&self) -> Map<String, Value> {
        let named = ActionMembers::named(self.name());
        match self {
            Self::Screenshot
            | Self::CursorPosition
            | Self::ListTabs
            | Self::ListWindows
            | Self::ListMonitors
            | Self::ReadClipboard => named,
            Self::Zoom { region } => named.put("region", region.to_json()),
            Self::Move { at } | Self::Hover { at } => named.at(at),
            Self::Click {
                at,
                button,
                count: _,
                modifiers,
            } => named
                .maybe_at(at.as_ref())
                .put("button", button.name())
                .modifiers(modifiers),
            Self::MouseDown { at, button } | Self::MouseUp { at, button } => {
                named.maybe_at(at.as_ref()).put("button", button.name())
            }
            Self::Drag {
                path,
                button,
                modifiers,
                duration,
            } => named
                .put("path", path.iter().map(Target::to_json).collect::<Vec<_>>())
                .put("button", button.name())
                .modifiers(modifiers)
                .put_some("duration", duration.map(milliseconds)),
            Self::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers,
            } => named
                .maybe_at(at.as_ref())
                .put("dx", number(*dx))
                .put("dy", number(*dy))
                .put("unit", unit.name())
                .modifiers(modifiers),
            Self::Type {
                text,
                at,
                clear_first,
                submit,
            } => named
                .put("text", text.as_str())
                .maybe_at(at.as_ref())
                .put_true("clear_first", *clear_first)
                .put_true("submit", *submit),
            Self::Key { chord, repeat } => named
                .chord(chord)
                .put_some("repeat", (*repeat != 1).then_some(*repeat)),
            Self::HoldKey { chord, duration } => {
                named.chord(chord).put("duration", milliseconds(*duration))
            }
            Self::KeyDown { chord } | Self::KeyUp { chord } => named.chord(chord),
            Self::Wait { duration } => named.put_some("duration", duration.map(milliseconds)),
            Self::FocusWindow { window } => named.put("window", window.as_str()),
            Self::MaximizeWindow { window }
            | Self::RestoreWindow { window }
            | Self::MinimizeWindow { window }
            | Self::CloseWindow { window }
            | Self::CaptureWindow { window } => named.window(window),
            Self::CaptureMonitor { monitor } => named.put_some("monitor", monitor.as_deref()),
            Self::PlaceWindow { window, region } => {
                named.window(window).put("region", region.to_json())
            }
            Self::WriteClipboard { text } => named.put("text", text.as_str()),
            Self::Invoke { at, name } => named.at(at).put_some("name", name.as_deref()),
            Self::OpenApp { name } => named.put("name", name.as_str()),
            Self::LongPress { at, duration } => named
                .at(at)
                .put_some("duration", duration.map(milliseconds)),
            Self::Navigate { url, tab } => named.put("url", url.as_str()).tab(tab),
            Self::Back { tab }
            | Self::Forward { tab }
            | Self::Reload { tab }
            | Self::PageText { tab }
            | Self::ReadConsole { tab }
            | Self::ReadNetwork { tab } => named.tab(tab),
            Self::Search { query } => named.put_some("query", query.as_deref()),
            Self::OpenBrowser { url } | Self::NewTab { url } => {
                named.put_some("url", url.as_deref())
            }
            Self::SwitchTab { tab } | Self::CloseTab { tab } => named.put("tab", tab.as_str()),
            Self::ObserveScreen { mode, intent } => named
                .put("mode", mode.name())
                .put_some("intent", intent.as_deref()),
            Self::ReadPage {
                filter,
                depth,
                root,
                tab,
            } => named
                .put_some("filter", filter.as_deref())
                .put_some("depth", *depth)
                .maybe_at(root.as_ref())
                .tab(tab),
            Self::Find { query, tab } => named.put("query", query.as_str()).tab(tab),
            Self::FormInput { at, value, tab } => named.at(at).put("value", value.clone()).tab(tab),
            Self::FileUpload {
                at,
                paths,
                documents,
                tab,
            } => {
                let documents = (!documents.is_empty()).then(|| documents.clone());
                named
                    .at(at)
                    .put("paths", paths.clone())
                    .put_some("documents", documents)
                    .tab(tab)
            }
            Self::ScrollTo { at, tab } => named.at(at).tab(tab),
            Self::Javascript { script, tab } => named.put("script", script.as_str()).tab(tab),
            Self::Other { name: _, args } => {
                let mut members = named;
                if must_be_nested(args, &RESERVED_MEMBERS) {
                    members
                        .0
                        .insert(NESTED_ARGS.to_owned(), args.clone().into());
                } else {
                    members.0.extend(args.clone());
                }
                members
            }
        }
        .0
    }
}

/// Members beside the arguments of an unknown action.
pub(super) const RESERVED_MEMBERS: [&str; 1] = ["action"];

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.to_json();
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, value) in &members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Button {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for ClickCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl Serialize for ScrollUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
