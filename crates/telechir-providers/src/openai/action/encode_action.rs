//! Encodes actions for the computer tool where it has an equivalent.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, Button, Chord, ClickCount, Key, Modifier, Point, ScrollUnit, Space, Target,
};

/// Pixels per wheel click, from the vendor's sample code for X11.
const PIXELS_PER_CLICK: f64 = 100.0;

/// Maximum number of key presses into which a repeated press is expanded.
const MAX_REPEATS: u32 = 100;

/// An aspect of an action that could not be encoded as is.
#[derive(Debug)]
pub(crate) struct ActionLoss {
    pub(crate) what: String,
    pub(crate) why: &'static str,
    /// What was written instead; `None` if it was dropped.
    pub(crate) how: Option<&'static str>,
}

/// Encodes actions and tracks the pointer for actions without a point.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionEncoder {
    pointer: Option<(i64, i64)>,
}

impl ActionEncoder {
    /// Encodes a batch; `None` if any action has no equivalent in the computer tool.
    pub(crate) fn encode(&mut self, actions: &[Action]) -> Option<(Vec<Value>, Vec<ActionLoss>)> {
        let mut losses = Vec::new();
        let mut written = Vec::new();
        let mut trial = self.clone();
        for action in actions {
            written.extend(trial.action(action, &mut losses)?);
        }
        *self = trial;
        (!written.is_empty()).then_some((written, losses))
    }

    fn action(&mut self, action: &Action, losses: &mut Vec<ActionLoss>) -> Option<Vec<Value>> {
        match action {
            Action::Screenshot => Some(vec![json!({"type": "screenshot"})]),
            Action::Wait { duration } => {
                if duration.is_some() {
                    losses.push(lost("duration of wait", "wait has no duration"));
                }
                Some(vec![json!({"type": "wait"})])
            }
            Action::Move { at } => {
                let (x, y) = self.resolve_point(Some(at), "move", losses)?;
                Some(vec![json!({"type": "move", "x": x, "y": y, "keys": null})])
            }
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                let (x, y) = self.resolve_point(at.as_ref(), "click", losses)?;
                Some(clicks(x, y, *button, *count, &keys(modifiers), losses))
            }
            Action::Drag {
                path,
                button: Button::Left,
                modifiers,
                duration,
            } => {
                if duration.is_some() {
                    losses.push(lost("duration of drag", "drag has no duration"));
                }
                self.drag(path, modifiers, losses)
            }
            Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers,
            } => {
                let factor = match unit {
                    ScrollUnit::Pixels => 1.0,
                    ScrollUnit::Clicks => PIXELS_PER_CLICK,
                    ScrollUnit::Thousandths => return None,
                };
                let (x, y) = self.resolve_point(at.as_ref(), "scroll", losses)?;
                if *unit == ScrollUnit::Clicks {
                    losses.push(replaced(
                        "clicks of scroll",
                        "scroll distances are in pixels",
                        "as 100 pixels per click",
                    ));
                }
                let (dx, dy) = (dx * factor, dy * factor);
                if dx.fract() != 0.0 || dy.fract() != 0.0 {
                    losses.push(replaced(
                        "fraction of scroll",
                        "pixels are integers",
                        "rounded to the nearest integer",
                    ));
                }
                Some(vec![json!({
                    "type": "scroll", "x": x, "y": y,
                    "scroll_x": round(dx), "scroll_y": round(dy),
                    "keys": keys(modifiers),
                })])
            }
            Action::Type {
                text,
                at: None,
                clear_first: false,
                submit: false,
            } => Some(vec![json!({"type": "type", "text": text})]),
            Action::Key { chord, repeat } if *repeat <= MAX_REPEATS => {
                if *repeat > 1 {
                    losses.push(replaced(
                        "repeat of key",
                        "keypress has no repeat",
                        "as repeated key presses",
                    ));
                }
                let press = json!({"type": "keypress", "keys": key_names(chord)});
                Some(std::iter::repeat_n(press, usize::try_from(*repeat).unwrap_or(1)).collect())
            }
            Action::Key { .. } | Action::Type { .. } | Action::Drag { .. } => None,
            Action::Zoom { .. }
            | Action::CursorPosition
            | Action::MouseDown { .. }
            | Action::MouseUp { .. }
            | Action::HoldKey { .. }
            | Action::KeyDown { .. }
            | Action::KeyUp { .. }
            | Action::WaitFor { .. }
            | Action::Navigate { .. }
            | Action::Back { .. }
            | Action::Forward { .. }
            | Action::Reload { .. }
            | Action::Search { .. }
            | Action::OpenBrowser { .. }
            | Action::ListTabs
            | Action::NewTab { .. }
            | Action::SwitchTab { .. }
            | Action::CloseTab { .. }
            | Action::ObserveScreen { .. }
            | Action::ReadPage { .. }
            | Action::PageText { .. }
            | Action::Find { .. }
            | Action::FormInput { .. }
            | Action::FileUpload { .. }
            | Action::ScrollTo { .. }
            | Action::Hover { .. }
            | Action::Javascript { .. }
            | Action::ReadConsole { .. }
            | Action::ReadNetwork { .. }
            | Action::ReadRequest { .. }
            | Action::AnswerDialog { .. }
            | Action::Emulate { .. }
            | Action::ListCookies { .. }
            | Action::SetCookies { .. }
            | Action::ClearCookies { .. }
            | Action::SaveStorageState { .. }
            | Action::LoadStorageState { .. }
            | Action::SavePdf { .. }
            | Action::CaptureElement { .. }
            | Action::ListWindows
            | Action::FocusWindow { .. }
            | Action::MaximizeWindow { .. }
            | Action::RestoreWindow { .. }
            | Action::MinimizeWindow { .. }
            | Action::CloseWindow { .. }
            | Action::PlaceWindow { .. }
            | Action::CaptureWindow { .. }
            | Action::ListMonitors
            | Action::CaptureMonitor { .. }
            | Action::ReadClipboard
            | Action::WriteClipboard { .. }
            | Action::Invoke { .. }
            | Action::OpenApp { .. }
            | Action::LongPress { .. }
            | Action::Other { .. } => None,
        }
    }

    /// The pixel position of an action, or the last pointer position if the action has none. `None`
    /// if the target is not a screenshot pixel.
    fn resolve_point(
        &mut self,
        at: Option<&Target>,
        action: &str,
        losses: &mut Vec<ActionLoss>,
    ) -> Option<(i64, i64)> {
        let Some(target) = at else {
            let pointer = self.pointer?;
            let what = format!("the pointer position of {action}");
            losses.push(replaced(
                what,
                "the action needs a point",
                "as the point of the previous action",
            ));
            return Some(pointer);
        };
        let point = target
            .point()
            .filter(|point| point.space == Space::Screenshot)?;
        self.pointer = Some(pixel(point, action, losses));
        self.pointer
    }

    fn drag(
        &mut self,
        path: &[Target],
        modifiers: &[Modifier],
        losses: &mut Vec<ActionLoss>,
    ) -> Option<Vec<Value>> {
        let mut points = Vec::with_capacity(path.len() + 1);
        if let [_] = path {
            points.push(self.resolve_point(None, "drag", losses)?);
        }
        for target in path {
            points.push(self.resolve_point(Some(target), "drag", losses)?);
        }
        let path: Vec<Value> = points
            .iter()
            .map(|(x, y)| json!({"x": x, "y": y}))
            .collect();
        (path.len() > 1)
            .then(|| vec![json!({"type": "drag", "path": path, "keys": keys(modifiers)})])
    }
}

fn pixel(point: Point, action: &str, losses: &mut Vec<ActionLoss>) -> (i64, i64) {
    if point.x.fract() != 0.0 || point.y.fract() != 0.0 {
        let what = format!("fraction of the point of {action}");
        losses.push(replaced(
            what,
            "coordinates are integers",
            "rounded to the nearest pixel",
        ));
    }
    (round(point.x), round(point.y))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates far beyond any screen size"
)]
fn round(number: f64) -> i64 {
    number.round() as i64
}

fn clicks(
    x: i64,
    y: i64,
    button: Button,
    count: ClickCount,
    keys: &Value,
    losses: &mut Vec<ActionLoss>,
) -> Vec<Value> {
    if (button, count) == (Button::Left, ClickCount::Double) {
        return vec![json!({"type": "double_click", "x": x, "y": y, "keys": keys})];
    }
    let name = match button {
        Button::Left => "left",
        Button::Middle => "wheel",
        Button::Right => "right",
        Button::Back => "back",
        Button::Forward => "forward",
    };
    if count != ClickCount::Single {
        let what = format!("{} of the {name} button", count.action_name());
        losses.push(replaced(
            what,
            "the tool has no such action",
            "as repeated clicks",
        ));
    }
    let click = json!({"type": "click", "button": name, "x": x, "y": y, "keys": keys});
    std::iter::repeat_n(click, usize::from(count.number())).collect()
}

fn keys(modifiers: &[Modifier]) -> Value {
    if modifiers.is_empty() {
        return Value::Null;
    }
    modifiers
        .iter()
        .map(|modifier| Value::from(modifier.name().to_uppercase()))
        .collect()
}

fn key_names(chord: &Chord) -> Vec<String> {
    let name = |key: &Key| match key {
        Key::Modifier(modifier) => modifier.name().to_uppercase(),
        Key::Named(named) => named.name().to_uppercase(),
        Key::Char(c) => c.to_ascii_uppercase().to_string(),
        Key::Other(name) => name.clone(),
    };
    chord.keys().iter().map(name).collect()
}

fn lost(what: impl Into<String>, why: &'static str) -> ActionLoss {
    ActionLoss {
        what: what.into(),
        why,
        how: None,
    }
}

fn replaced(what: impl Into<String>, why: &'static str, how: &'static str) -> ActionLoss {
    ActionLoss {
        what: what.into(),
        why,
        how: Some(how),
    }
}
