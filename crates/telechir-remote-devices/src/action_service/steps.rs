//! The steps of an action in the JSON of action services.

use serde_json::{Value, json};
use telechir_device::{DeviceError, ScreenAction, ScreenTarget};
use telechir_protocol::{Action, ActionKind, Button, ClickCount, Modifier, ScrollUnit};

/// Pixels of one unit of a scroll, as the service counts.
const SCROLL_PIXELS: f64 = 100.0;
/// A longer scroll means nothing on any screen.
const MAX_SCROLL: f64 = 1000.0;
/// More presses of a key, each a request of its own, are refused.
const MAX_REPEATS: usize = 100;

/// What such a service performs. The runtime takes screenshots and waits itself.
pub(super) const KINDS: &[ActionKind] = &[
    ActionKind::Screenshot,
    ActionKind::Zoom,
    ActionKind::Wait,
    ActionKind::Click,
    ActionKind::Scroll,
    ActionKind::Type,
    ActionKind::Key,
    ActionKind::Navigate,
];

/// The name of a step.
pub(super) fn name(step: &Value) -> &str {
    step["type"].as_str().unwrap_or_default()
}

/// The requests that an action consists of, in order.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the service performs few of the many actions; all others are unsupported"
)]
pub(super) fn of(action: &ScreenAction) -> Result<Vec<Value>, DeviceError> {
    match action {
        Action::Click {
            at: Some(at),
            button: Button::Left,
            count: count @ (ClickCount::Single | ClickCount::Double),
            modifiers,
        } => {
            unmodified(modifiers)?;
            let name = match count {
                ClickCount::Double => "double_click",
                ClickCount::Single | ClickCount::Triple => "click",
            };
            Ok(vec![at_point(name, at)?])
        }
        Action::Click { at: None, .. } => {
            let message =
                "This screen has no pointer that stays; give the coordinates of the click.";
            Err(refused(message))
        }
        Action::Click { .. } => {
            let message = "This screen has single and double clicks of the left button only.";
            Err(refused(message))
        }
        Action::Type {
            text,
            at,
            clear_first,
            submit,
        } => {
            let mut steps = Vec::new();
            if let Some(at) = at {
                steps.push(at_point("click", at)?);
            }
            if *clear_first {
                steps.extend([key("ctrl+a"), key("Delete")]);
            }
            if !text.is_empty() {
                steps.push(json!({ "type": "type", "text": text }));
            }
            if *submit {
                steps.push(key("Enter"));
            }
            Ok(steps)
        }
        Action::Key { chord, repeat } => {
            let times = usize::try_from(*repeat).unwrap_or(usize::MAX);
            if !(1..=MAX_REPEATS).contains(&times) {
                let problem =
                    format!("repeat is {repeat}; the action service takes 1 to {MAX_REPEATS}.");
                return Err(refused(&problem));
            }
            Ok(vec![key(&chord.to_string()); times])
        }
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } => {
            unmodified(modifiers)?;
            let ways = [(*dy, "up", "down"), (*dx, "left", "right")];
            let ways = ways.into_iter().filter(|(distance, ..)| *distance != 0.0);
            let steps = ways.map(|(distance, back, forth)| {
                let mut step = match at {
                    Some(at) => at_point("scroll", at)?,
                    None => json!({ "type": "scroll" }),
                };
                step["direction"] = if distance < 0.0 { back } else { forth }.into();
                step["amount"] = units(distance, *unit).into();
                Ok(step)
            });
            steps.collect()
        }
        Action::Navigate { url, tab: None } => Ok(vec![json!({ "type": "navigate", "url": url })]),
        other => Err(DeviceError::Unsupported {
            action: other.kind().name().to_owned(),
            device: super::DEVICE,
        }),
    }
}

fn key(name: &str) -> Value {
    json!({ "type": "key", "key": name })
}

fn at_point(name: &str, at: &ScreenTarget) -> Result<Value, DeviceError> {
    match at {
        ScreenTarget::Point(point) => Ok(json!({ "type": name, "x": point.x(), "y": point.y() })),
        ScreenTarget::Element { .. } | ScreenTarget::Named(_) => {
            Err(refused("This screen knows no elements; give coordinates."))
        }
    }
}

fn unmodified(modifiers: &[Modifier]) -> Result<(), DeviceError> {
    match modifiers.is_empty() {
        true => Ok(()),
        false => Err(refused(
            "This screen cannot hold keys during a click or a scroll.",
        )),
    }
}

/// A distance in the units of the service, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 1 to 1000"
)]
fn units(distance: f64, unit: ScrollUnit) -> u32 {
    let units = match unit {
        ScrollUnit::Clicks => distance.abs(),
        ScrollUnit::Pixels | ScrollUnit::Thousandths => distance.abs() / SCROLL_PIXELS,
    };
    units.round().clamp(1.0, MAX_SCROLL) as u32
}

fn refused(message: &str) -> DeviceError {
    DeviceError::Refused {
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use telechir_device::Viewport;
    use telechir_protocol::Size;

    use super::*;

    fn steps(action: Value) -> Result<Vec<Value>, DeviceError> {
        let action: Action = serde_json::from_value(action).expect("an action");
        let screen = Viewport::unscaled(Size::new(800, 600));
        of(&screen.action(&action).expect("on the screen"))
    }

    #[test]
    fn an_action_becomes_the_requests_of_the_service() {
        for (action, expected) in [
            (
                json!({"action": "left_click", "coordinate": [0, 7]}),
                json!([{"type": "click", "x": 0, "y": 7}]),
            ),
            (
                json!({"action": "double_click", "coordinate": [3, 4]}),
                json!([{"type": "double_click", "x": 3, "y": 4}]),
            ),
            (
                json!({"action": "type", "text": "a", "coordinate": [3, 4], "clear_first": true, "submit": true}),
                json!([
                    {"type": "click", "x": 3, "y": 4}, {"type": "key", "key": "ctrl+a"},
                    {"type": "key", "key": "Delete"}, {"type": "type", "text": "a"},
                    {"type": "key", "key": "Enter"},
                ]),
            ),
            (
                json!({"action": "key", "key": "ctrl+shift+t", "repeat": 2}),
                json!([{"type": "key", "key": "ctrl+shift+t"}, {"type": "key", "key": "ctrl+shift+t"}]),
            ),
            (
                json!({"action": "scroll", "coordinate": [1, 2], "dx": 0, "dy": -240, "unit": "pixels"}),
                json!([{"type": "scroll", "x": 1, "y": 2, "direction": "up", "amount": 2}]),
            ),
            (
                json!({"action": "scroll", "dx": 3, "dy": 1}),
                json!([
                    {"type": "scroll", "direction": "down", "amount": 1},
                    {"type": "scroll", "direction": "right", "amount": 3},
                ]),
            ),
            (
                json!({"action": "navigate", "url": "https://example.com/"}),
                json!([{"type": "navigate", "url": "https://example.com/"}]),
            ),
        ] {
            assert_eq!(
                Value::from(steps(action.clone()).unwrap()),
                expected,
                "{action}"
            );
        }
    }

    #[test]
    fn what_the_service_cannot_do_is_refused_before_anything_is_sent() {
        for action in [
            json!({"action": "right_click", "coordinate": [1, 1]}),
            json!({"action": "triple_click", "coordinate": [1, 1]}),
            json!({"action": "left_click"}),
            json!({"action": "left_click", "coordinate": [1, 1], "modifiers": ["ctrl"]}),
            json!({"action": "drag", "path": [[1, 1], [2, 2]]}),
            json!({"action": "left_click", "coordinate": {"ref": "e1"}}),
        ] {
            assert!(steps(action.clone()).is_err(), "{action}");
        }
    }
}
