//! Encodes neutral actions as toolset members, or as inputs of the legacy computer tools.

mod desktop;
mod page;

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Button, ClickCount, Point, ScrollUnit, Space, Target};

use super::models::ToolVersion;
use super::xdotool_keys;
use crate::Report;

/// Pixels per wheel notch, to convert scroll distances given in pixels.
const PIXELS_PER_NOTCH: f64 = 100.0;

/// One block of a call: a toolset member with its input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolsetMember {
    pub(super) name: &'static str,
    pub(super) input: Map<String, Value>,
    /// Index of the call's action that it belongs to.
    pub(super) action: usize,
}

/// Reports losses at one location.
pub(super) struct LossNotes<'a> {
    pub(super) report: &'a mut Report,
    pub(super) location: &'a str,
}

impl LossNotes<'_> {
    fn preserved(&mut self, what: &str, why: &str, how: impl Into<String>) {
        self.report.preserved(what, self.location, why, how);
    }
}

type MemberSteps = Option<Vec<(&'static str, Value)>>;

fn single_step(name: &'static str, input: Value) -> MemberSteps {
    Some(vec![(name, input)])
}

/// Encodes a call's actions as members of the computer tool; none if one is unsupported.
pub(super) fn computer(
    actions: &[Action],
    version: ToolVersion,
    notes: &mut LossNotes<'_>,
) -> Option<Vec<ToolsetMember>> {
    collect(actions, |action| desktop::steps(action, version, notes))
}

/// Encodes a call's actions as members of the browser toolset; none if one is unsupported.
pub(super) fn browser(actions: &[Action], notes: &mut LossNotes<'_>) -> Option<Vec<ToolsetMember>> {
    // A switch to a tab before another action is that action's tab.
    if let [Action::SwitchTab { tab }, action] = actions
        && let Some(mut steps) = page::steps(action, notes).filter(|steps| steps.len() == 1)
        && let Some((name, Value::Object(mut input))) = steps.pop()
        && !["list_tabs", "new_tab", "switch_tab", "close_tab"].contains(&name)
    {
        input.insert("tab_id".to_owned(), tab.as_str().into());
        return Some(vec![ToolsetMember {
            name,
            input,
            action: 1,
        }]);
    }
    if let Some(text) = several_keys(actions) {
        let input = Map::from_iter([("text".to_owned(), text.into())]);
        return Some(vec![ToolsetMember {
            name: "key",
            input,
            action: actions.len() - 1,
        }]);
    }
    collect(actions, |action| page::steps(action, notes))
}

fn several_keys(actions: &[Action]) -> Option<String> {
    let key = |action: &Action| match action {
        Action::Key { chord, repeat: 1 } => Some(xdotool_keys::chord(chord)),
        _ => None,
    };
    let keys: Vec<String> = actions.iter().map(key).collect::<Option<_>>()?;
    (keys.len() > 1).then(|| keys.join(" "))
}

fn collect(
    actions: &[Action],
    mut steps: impl FnMut(&Action) -> MemberSteps,
) -> Option<Vec<ToolsetMember>> {
    let mut members = Vec::new();
    for (index, action) in actions.iter().enumerate() {
        for (name, input) in steps(action)? {
            let Value::Object(input) = input else {
                return None;
            };
            members.push(ToolsetMember {
                name,
                input,
                action: index,
            });
        }
    }
    Some(members)
}

/// An object of the fields that are not null.
fn non_null_members<const N: usize>(members: [(&str, Value); N]) -> Value {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        present
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn click_name(button: Button, count: ClickCount) -> Option<&'static str> {
    Some(match (button, count) {
        (Button::Left, ClickCount::Single) => "left_click",
        (Button::Left, ClickCount::Double) => "double_click",
        (Button::Left, ClickCount::Triple) => "triple_click",
        (Button::Right, ClickCount::Single) => "right_click",
        (Button::Middle, ClickCount::Single) => "middle_click",
        (Button::Right | Button::Middle, ClickCount::Double | ClickCount::Triple)
        | (Button::Back | Button::Forward, _) => return None,
    })
}

fn click_at(at: &Target) -> Action {
    Action::Click {
        at: Some(at.clone()),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: Vec::new(),
    }
}

fn typed(text: &str, clear_first: bool, submit: bool) -> Vec<(&'static str, Value)> {
    let mut steps = Vec::new();
    if clear_first {
        steps.push(("key", json!({"text": "ctrl+a"})));
    }
    steps.push(("type", json!({"text": text})));
    if submit {
        steps.push(("key", json!({"text": "Return"})));
    }
    steps
}

/// A key press; legacy tools have no repetition, so the press is repeated there.
fn key(text: &str, repeat: u32, can_repeat: bool) -> MemberSteps {
    if !(1..=100).contains(&repeat) {
        return None;
    }
    if repeat > 1 && !can_repeat {
        return Some(
            (0..repeat)
                .map(|_| ("key", json!({"text": text})))
                .collect(),
        );
    }
    let repeat = if repeat == 1 {
        Value::Null
    } else {
        json!(repeat)
    };
    single_step(
        "key",
        non_null_members([("text", json!(text)), ("repeat", repeat)]),
    )
}

/// A point in screenshot pixels, rounded; none for any other space.
fn pixel_point(point: Point, notes: &mut LossNotes<'_>) -> Option<(i64, i64)> {
    if point.space != Space::Screenshot {
        return None;
    }
    let (x, y) = (point.x.round(), point.y.round());
    if (x, y) != (point.x, point.y) {
        notes.preserved(
            "fractions of a pixel",
            "coordinates are integers",
            "rounded",
        );
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float beyond the range saturates"
    )]
    Some((x as i64, y as i64))
}

fn coordinate(target: &Target, notes: &mut LossNotes<'_>) -> Option<Value> {
    let (x, y) = pixel_point(target.point()?, notes)?;
    Some(json!([x, y]))
}

fn target(target: &Target, notes: &mut LossNotes<'_>) -> Option<Value> {
    match target {
        Target::Point(point) => {
            let (x, y) = pixel_point(*point, notes)?;
            Some(json!({"type": "coordinate", "x": x, "y": y}))
        }
        Target::Ref { id, frame: _ } => Some(json!({"type": "ref", "ref": id})),
        Target::Label { .. } | Target::Named(_) => None,
    }
}

/// Scroll distances as wheel notches, one entry per direction; none for thousandths.
fn notches(
    dx: f64,
    dy: f64,
    unit: ScrollUnit,
    notes: &mut LossNotes<'_>,
) -> Option<Vec<(&'static str, u32)>> {
    let scale = match unit {
        ScrollUnit::Clicks => 1.0,
        ScrollUnit::Pixels => PIXELS_PER_NOTCH,
        ScrollUnit::Thousandths => return None,
    };
    let count = |distance: f64| {
        let rounded_up = (distance.abs() / scale).ceil().min(f64::from(u32::MAX));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and u32::MAX"
        )]
        let rounded_up = rounded_up as u32;
        rounded_up
    };
    let mut notches = Vec::new();
    if dy != 0.0 || dx == 0.0 {
        notches.push((if dy < 0.0 { "up" } else { "down" }, count(dy)));
    }
    if dx != 0.0 {
        notches.push((if dx < 0.0 { "left" } else { "right" }, count(dx)));
    }
    if unit == ScrollUnit::Pixels {
        notes.preserved(
            "scroll distance in pixels",
            "scroll distances are wheel notches",
            format!(
                "as notches of {PIXELS_PER_NOTCH} pixels: {}",
                describe(&notches)
            ),
        );
    } else if dx.fract() != 0.0 || dy.fract() != 0.0 {
        notes.preserved(
            "fractions of a notch",
            "scroll distances are integers",
            format!("as {}", describe(&notches)),
        );
    }
    Some(notches)
}

fn describe(notches: &[(&str, u32)]) -> String {
    notches
        .iter()
        .map(|(direction, amount)| format!("{amount} {direction}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn wait(duration: Option<Duration>, notes: &mut LossNotes<'_>) -> Duration {
    duration.unwrap_or_else(|| {
        notes.preserved(
            "wait without a duration",
            "a wait requires a duration",
            "as a wait of 1 second",
        );
        Duration::from_secs(1)
    })
}

/// A JSON number, an integer if it has no fraction.
fn number(seconds: f64) -> Value {
    if seconds.fract() == 0.0 && seconds < 1e15 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an integer below 1e15"
        )]
        return json!(seconds as u64);
    }
    json!(seconds)
}
