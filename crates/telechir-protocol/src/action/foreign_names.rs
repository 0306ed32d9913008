//! Encodes actions in other vocabularies, as far as those support them.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an action not listed is not supported there"
)]

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Action, Button, ClickCount, ScrollUnit};
use crate::json::{milliseconds, number};
use crate::{Chord, Key, Space, Target};

/// Another vocabulary, which can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// Eighteen classes of action, tagged by `type`; times in seconds.
    ToolCalls,
    /// A small computer package: eight actions, labels, times in milliseconds.
    Computer,
    /// A desktop tool's nine actions; no labels, no times.
    DesktopTool,
}

/// A vocabulary does not support an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("express the action {action} in this vocabulary: {what} is not supported")]
pub struct UnsupportedAction {
    /// The action's canonical name.
    pub action: String,
    /// The unsupported part of the action.
    pub what: &'static str,
}

type EncodeResult = Result<Map<String, Value>, &'static str>;

impl Action {
    /// Encodes the action in another vocabulary; [`Action::from_json`] decodes the same action.
    ///
    /// # Errors
    /// When the vocabulary does not support a part of the action; nothing is omitted silently.
    pub fn in_vocabulary(
        &self,
        vocabulary: Vocabulary,
    ) -> Result<Map<String, Value>, UnsupportedAction> {
        let encoded = match vocabulary {
            Vocabulary::ToolCalls => tool_calls(self),
            Vocabulary::Computer => computer(self),
            Vocabulary::DesktopTool => desktop_tool(self),
        };
        encoded.map_err(|what| UnsupportedAction {
            action: self.name().to_owned(),
            what,
        })
    }
}

const ANY_FORM: &str = "the action";

fn members<const N: usize>(list: [(&str, Value); N]) -> Map<String, Value> {
    list.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn typed<const N: usize>(name: &str, list: [(&str, Value); N]) -> Map<String, Value> {
    let mut all = members([("type", name.into())]);
    all.extend(members(list));
    all
}

/// The whole pixels of a point.
fn pixels(target: &Target) -> Result<[Value; 2], &'static str> {
    let point = target.point().ok_or("a label, ref or name")?;
    if point.space != Space::Screenshot {
        return Err("a point that is not in pixels of the screenshot");
    }
    if point.x.fract() != 0.0 || point.y.fract() != 0.0 {
        return Err("a fraction of a pixel");
    }
    Ok([number(point.x), number(point.y)])
}

fn no_modifiers(pressed: &[crate::Modifier]) -> Result<(), &'static str> {
    if pressed.is_empty() {
        Ok(())
    } else {
        Err("pressing modifier keys meanwhile")
    }
}

fn tool_calls(action: &Action) -> EncodeResult {
    let xy = |target: &Target| Ok::<_, &'static str>(Value::from(pixels(target)?.to_vec()));
    let with_optional_point = |name: &str, at: &Option<Target>| {
        let mut encoded = typed(name, []);
        if let Some(at) = at {
            encoded.insert("xy".to_owned(), xy(at)?);
        }
        Ok(encoded)
    };
    if let Action::Click {
        at,
        button,
        count,
        modifiers,
    } = action
    {
        no_modifiers(modifiers)?;
        return with_optional_point(class_of_click(*button, *count)?, at);
    }
    Ok(match action {
        Action::Screenshot => typed("screenshot", []),
        Action::CursorPosition => typed("cursor_position", []),
        Action::Move { at } => typed("move", [("xy", xy(at)?)]),
        Action::MouseDown {
            at,
            button: Button::Left,
        } => with_optional_point("left_mouse_down", at)?,
        Action::MouseUp {
            at,
            button: Button::Left,
        } => with_optional_point("left_mouse_up", at)?,
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: None,
        } => {
            no_modifiers(modifiers)?;
            let path = path.iter().map(xy).collect::<Result<Vec<_>, _>>()?;
            typed("drag", [("xy", path.into())])
        }
        Action::Key { chord, repeat: 1 } => typed("keypress", [("keys", key_names(chord)?)]),
        Action::HoldKey { chord, duration } => typed(
            "keypress_hold",
            [
                ("keys", key_names(chord)?),
                ("duration", seconds(*duration)?),
            ],
        ),
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } => {
            no_modifiers(modifiers)?;
            let mut encoded = typed("scroll", []);
            if let Some(at) = at {
                encoded.insert("start_xy".to_owned(), xy(at)?);
            }
            encoded.extend(match unit {
                ScrollUnit::Pixels => {
                    members([("distance_xy", vec![number(*dx), number(*dy)].into())])
                }
                ScrollUnit::Clicks | ScrollUnit::Thousandths => {
                    let (direction, amount) = single_axis(*dx, *dy, *unit)?;
                    members([
                        ("magnitude", number(amount)),
                        ("direction", direction.into()),
                    ])
                }
            });
            encoded
        }
        Action::Type {
            text,
            at: None,
            clear_first: false,
            submit: false,
        } => typed("type", [("text", text.as_str().into())]),
        Action::Wait { duration: None } => typed("wait", []),
        Action::Wait {
            duration: Some(duration),
        } => typed("wait", [("duration", seconds(*duration)?)]),
        _ => return Err(ANY_FORM),
    })
}

fn class_of_click(button: Button, count: ClickCount) -> Result<&'static str, &'static str> {
    Ok(match (button, count) {
        (Button::Left, ClickCount::Single) => "left_mouse_click",
        (Button::Left, ClickCount::Double) => "left_mouse_double_click",
        (Button::Left, ClickCount::Triple) => "left_mouse_triple_click",
        (Button::Middle, ClickCount::Single) => "middle_click",
        (Button::Right, ClickCount::Single) => "right_click",
        (Button::Back, ClickCount::Single) => "back_click",
        (Button::Forward, ClickCount::Single) => "forward_click",
        (
            Button::Middle | Button::Right | Button::Back | Button::Forward,
            ClickCount::Double | ClickCount::Triple,
        ) => return Err("this number of clicks of this button"),
    })
}

/// The names of a chord's keys, if each decodes to the same key.
fn key_names(chord: &Chord) -> Result<Value, &'static str> {
    let key_names: Vec<String> = chord.keys().iter().map(Key::to_string).collect();
    match Chord::from_names(&key_names) {
        Some(back) if back == *chord => Ok(key_names.into()),
        Some(_) | None => Err("the name of a key"),
    }
}

/// A chord as one string, if it decodes to the same chord.
fn chord_text(chord: &Chord) -> Result<Value, &'static str> {
    match serde_json::to_value(chord) {
        Ok(Value::String(text)) => Ok(text.into()),
        Ok(_) | Err(_) => Err("the name of a key"),
    }
}

/// Seconds, always with a fraction: without one they could be another vocabulary's milliseconds.
fn seconds(duration: Duration) -> Result<Value, &'static str> {
    let seconds = duration.as_secs_f64();
    let exact = crate::json::from_milliseconds(seconds * 1e3) == Some(duration);
    if exact {
        Ok(seconds.into())
    } else {
        Err("such a precise time")
    }
}

/// The direction and distance of a scroll along one axis.
fn single_axis(dx: f64, dy: f64, unit: ScrollUnit) -> Result<(&'static str, f64), &'static str> {
    if unit != ScrollUnit::Clicks {
        return Err("a distance that is not in wheel notches");
    }
    match (dx, dy) {
        (0.0, dy) if dy < 0.0 => Ok(("up", -dy)),
        (0.0, dy) => Ok(("down", dy)),
        (dx, 0.0) if dx < 0.0 => Ok(("left", -dx)),
        (dx, 0.0) => Ok(("right", dx)),
        _ => Err("a scroll along both axes"),
    }
}

fn notches(dx: f64, dy: f64, unit: ScrollUnit) -> Result<(Value, Value), &'static str> {
    let (direction, amount) = single_axis(dx, dy, unit)?;
    if amount.fract() != 0.0 {
        return Err("a fraction of a notch");
    }
    Ok((direction.into(), number(amount)))
}

/// Adds a point as `x` and `y`.
fn with_xy(mut encoded: Map<String, Value>, at: &Target) -> EncodeResult {
    let [x, y] = pixels(at)?;
    encoded.extend(members([("x", x), ("y", y)]));
    Ok(encoded)
}

fn with_optional_xy(encoded: Map<String, Value>, at: Option<&Target>) -> EncodeResult {
    match at {
        Some(at) => with_xy(encoded, at),
        None => Ok(encoded),
    }
}

fn computer(action: &Action) -> EncodeResult {
    Ok(match action {
        Action::Click {
            at: Some(at),
            button: Button::Left,
            count,
            modifiers,
        } => {
            no_modifiers(modifiers)?;
            let name = match count {
                ClickCount::Single | ClickCount::Double => count.action_name(),
                ClickCount::Triple => return Err("a triple click"),
            };
            match at {
                Target::Label { n, frame: None } => typed(name, [("label", (*n).into())]),
                Target::Point(_) | Target::Label { .. } | Target::Ref { .. } | Target::Named(_) => {
                    with_xy(typed(name, []), at)?
                }
            }
        }
        Action::Click { at: None, .. } => return Err("a click at the pointer's position"),
        Action::Type {
            text,
            at: None,
            clear_first: false,
            submit: false,
        } => typed("type", [("text", text.as_str().into())]),
        Action::Key { chord, repeat: 1 } => typed("key", [("key", chord_text(chord)?)]),
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } => {
            no_modifiers(modifiers)?;
            let (direction, amount) = notches(*dx, *dy, *unit)?;
            let encoded = typed("scroll", [("direction", direction), ("amount", amount)]);
            with_optional_xy(encoded, at.as_ref())?
        }
        Action::Screenshot => typed("screenshot", []),
        Action::Navigate { url, tab: None } => typed("navigate", [("url", url.as_str().into())]),
        Action::Wait { duration: None } => typed("wait", []),
        Action::Wait {
            duration: Some(duration),
        } => {
            // Values below 100 mean seconds there.
            if duration.as_millis() < 100 || duration.subsec_nanos() % 1_000_000 != 0 {
                return Err("such a short or precise time");
            }
            typed("wait", [("duration", milliseconds(*duration))])
        }
        _ => return Err(ANY_FORM),
    })
}

fn desktop_tool(action: &Action) -> EncodeResult {
    let named = |name: &str| members([("action", name.into())]);
    Ok(match action {
        Action::Click {
            at: Some(at),
            button,
            count,
            modifiers,
        } => {
            no_modifiers(modifiers)?;
            let name = match (button, count) {
                (Button::Left, ClickCount::Single) => "click",
                (Button::Left, ClickCount::Double) => "double_click",
                (Button::Right, ClickCount::Single) => "right_click",
                _ => return Err("this kind of click"),
            };
            with_xy(named(name), at)?
        }
        Action::Click { at: None, .. } => return Err("a click at the pointer's position"),
        Action::Type {
            text,
            at: None,
            clear_first: false,
            submit: false,
        } => members([("action", "type".into()), ("text", text.as_str().into())]),
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } => {
            no_modifiers(modifiers)?;
            let (direction, amount) = notches(*dx, *dy, *unit)?;
            let mut encoded = named("scroll");
            encoded.extend(members([("direction", direction), ("clicks", amount)]));
            with_optional_xy(encoded, at.as_ref())?
        }
        Action::Key { chord, repeat: 1 } if chord.keys().len() == 1 => {
            members([("action", "press_key".into()), ("key", chord_text(chord)?)])
        }
        Action::Key { chord, repeat: 1 } => {
            members([("action", "hotkey".into()), ("keys", key_names(chord)?)])
        }
        Action::Move { at } => with_xy(named("move_mouse"), at)?,
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: None,
        } => {
            no_modifiers(modifiers)?;
            let [from, to] = path.as_slice() else {
                return Err("a drag with other than two points");
            };
            let ([x0, y0], [x1, y1]) = (pixels(from)?, pixels(to)?);
            let mut encoded = named("drag");
            encoded.extend(members([
                ("start_x", x0),
                ("start_y", y0),
                ("end_x", x1),
                ("end_y", y1),
            ]));
            encoded
        }
        _ => return Err(ANY_FORM),
    })
}
