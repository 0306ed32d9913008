//! Actions in the words of other vocabularies, where those have words for them.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an action not listed has no words there"
)]

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Action, Button, ClickCount, ScrollUnit};
use crate::json::{milliseconds, number};
use crate::{Chord, Key, Space, Target};

/// A vocabulary whose names we read, and can also write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// Eighteen classes of action, tagged by `type`; times in seconds.
    ToolCalls,
    /// A small computer package: eight actions, labels, times in milliseconds.
    Computer,
    /// A desktop tool's nine actions; no label, no time.
    DesktopTool,
}

/// A vocabulary has no words for an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("say the action {action} in other words: there are none for {what}")]
pub struct UnsupportedAction {
    /// The action's canonical name.
    pub action: String,
    /// What there are no words for.
    pub what: &'static str,
}

type Said = Result<Map<String, Value>, &'static str>;

impl Action {
    /// The action in other words, which [`Action::from_json`] reads back as the same action.
    ///
    /// # Errors
    /// When the vocabulary cannot say all of it; nothing is left out in silence.
    pub fn in_vocabulary(
        &self,
        vocabulary: Vocabulary,
    ) -> Result<Map<String, Value>, UnsupportedAction> {
        let said = match vocabulary {
            Vocabulary::ToolCalls => tool_calls(self),
            Vocabulary::Computer => computer(self),
            Vocabulary::DesktopTool => desktop_tool(self),
        };
        said.map_err(|what| UnsupportedAction {
            action: self.name().to_owned(),
            what,
        })
    }
}

const THE_ACTION: &str = "it at all";

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

/// The whole pixels of a place.
fn pixels(target: &Target) -> Result<[Value; 2], &'static str> {
    let point = target.point().ok_or("a label, ref or name")?;
    if point.space != Space::Screenshot {
        return Err("a place that is not in pixels of the picture");
    }
    if point.x.fract() != 0.0 || point.y.fract() != 0.0 {
        return Err("a part of a pixel");
    }
    Ok([number(point.x), number(point.y)])
}

fn plain(held: &[crate::Modifier]) -> Result<(), &'static str> {
    if held.is_empty() {
        Ok(())
    } else {
        Err("keys held meanwhile")
    }
}

fn tool_calls(action: &Action) -> Said {
    let xy = |target: &Target| Ok::<_, &'static str>(Value::from(pixels(target)?.to_vec()));
    let maybe = |name: &str, at: &Option<Target>| {
        let mut said = typed(name, []);
        if let Some(at) = at {
            said.insert("xy".to_owned(), xy(at)?);
        }
        Ok(said)
    };
    if let Action::Click {
        at,
        button,
        count,
        modifiers,
    } = action
    {
        plain(modifiers)?;
        return maybe(class_of_click(*button, *count)?, at);
    }
    Ok(match action {
        Action::Screenshot => typed("screenshot", []),
        Action::CursorPosition => typed("cursor_position", []),
        Action::Move { at } => typed("move", [("xy", xy(at)?)]),
        Action::MouseDown {
            at,
            button: Button::Left,
        } => maybe("left_mouse_down", at)?,
        Action::MouseUp {
            at,
            button: Button::Left,
        } => maybe("left_mouse_up", at)?,
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: None,
        } => {
            plain(modifiers)?;
            let path = path.iter().map(xy).collect::<Result<Vec<_>, _>>()?;
            typed("drag", [("xy", path.into())])
        }
        Action::Key { chord, repeat: 1 } => typed("keypress", [("keys", names(chord)?)]),
        Action::HoldKey { chord, duration } => typed(
            "keypress_hold",
            [("keys", names(chord)?), ("duration", seconds(*duration)?)],
        ),
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } => {
            plain(modifiers)?;
            let mut said = typed("scroll", []);
            if let Some(at) = at {
                said.insert("start_xy".to_owned(), xy(at)?);
            }
            said.extend(match unit {
                ScrollUnit::Pixels => {
                    members([("distance_xy", vec![number(*dx), number(*dy)].into())])
                }
                ScrollUnit::Clicks | ScrollUnit::Thousandths => {
                    let (direction, amount) = along(*dx, *dy, *unit)?;
                    members([
                        ("magnitude", number(amount)),
                        ("direction", direction.into()),
                    ])
                }
            });
            said
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
        _ => return Err(THE_ACTION),
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
        ) => return Err("so many clicks of this button"),
    })
}

/// The names of a chord's keys, when each is read back as the same key.
fn names(chord: &Chord) -> Result<Value, &'static str> {
    let names: Vec<String> = chord.keys().iter().map(Key::to_string).collect();
    match Chord::from_names(&names) {
        Some(back) if back == *chord => Ok(names.into()),
        Some(_) | None => Err("the name of a key"),
    }
}

/// A chord as one string, when it is read back as the same chord.
fn spelled(chord: &Chord) -> Result<Value, &'static str> {
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
        Err("so fine a time")
    }
}

/// A scroll along one axis: its direction and how far.
fn along(dx: f64, dy: f64, unit: ScrollUnit) -> Result<(&'static str, f64), &'static str> {
    if unit != ScrollUnit::Clicks {
        return Err("a distance that is not in notches of the wheel");
    }
    match (dx, dy) {
        (0.0, dy) if dy < 0.0 => Ok(("up", -dy)),
        (0.0, dy) => Ok(("down", dy)),
        (dx, 0.0) if dx < 0.0 => Ok(("left", -dx)),
        (dx, 0.0) => Ok(("right", dx)),
        _ => Err("a scroll along both axes"),
    }
}

fn whole_notches(dx: f64, dy: f64, unit: ScrollUnit) -> Result<(Value, Value), &'static str> {
    let (direction, amount) = along(dx, dy, unit)?;
    if amount.fract() != 0.0 {
        return Err("a part of a notch");
    }
    Ok((direction.into(), number(amount)))
}

/// Adds a place as `x` and `y`.
fn at_xy(mut said: Map<String, Value>, at: &Target) -> Said {
    let [x, y] = pixels(at)?;
    said.extend(members([("x", x), ("y", y)]));
    Ok(said)
}

fn maybe_at_xy(said: Map<String, Value>, at: Option<&Target>) -> Said {
    match at {
        Some(at) => at_xy(said, at),
        None => Ok(said),
    }
}

fn computer(action: &Action) -> Said {
    Ok(match action {
        Action::Click {
            at: Some(at),
            button: Button::Left,
            count,
            modifiers,
        } => {
            plain(modifiers)?;
            let name = match count {
                ClickCount::Single | ClickCount::Double => count.action_name(),
                ClickCount::Triple => return Err("three clicks"),
            };
            match at {
                Target::Label { n, frame: None } => typed(name, [("label", (*n).into())]),
                Target::Point(_) | Target::Label { .. } | Target::Ref { .. } | Target::Named(_) => {
                    at_xy(typed(name, []), at)?
                }
            }
        }
        Action::Click { at: None, .. } => return Err("a click at the pointer's place"),
        Action::Type {
            text,
            at: None,
            clear_first: false,
            submit: false,
        } => typed("type", [("text", text.as_str().into())]),
        Action::Key { chord, repeat: 1 } => typed("key", [("key", spelled(chord)?)]),
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } => {
            plain(modifiers)?;
            let (direction, amount) = whole_notches(*dx, *dy, *unit)?;
            let said = typed("scroll", [("direction", direction), ("amount", amount)]);
            maybe_at_xy(said, at.as_ref())?
        }
        Action::Screenshot => typed("screenshot", []),
        Action::Navigate { url, tab: None } => typed("navigate", [("url", url.as_str().into())]),
        Action::Wait { duration: None } => typed("wait", []),
        Action::Wait {
            duration: Some(duration),
        } => {
            // It takes anything below a hundred for seconds.
            if duration.as_millis() < 100 || duration.subsec_nanos() % 1_000_000 != 0 {
                return Err("so short or so fine a time");
            }
            typed("wait", [("duration", milliseconds(*duration))])
        }
        _ => return Err(THE_ACTION),
    })
}

fn desktop_tool(action: &Action) -> Said {
    let named = |name: &str| members([("action", name.into())]);
    Ok(match action {
        Action::Click {
            at: Some(at),
            button,
            count,
            modifiers,
        } => {
            plain(modifiers)?;
            let name = match (button, count) {
                (Button::Left, ClickCount::Single) => "click",
                (Button::Left, ClickCount::Double) => "double_click",
                (Button::Right, ClickCount::Single) => "right_click",
                _ => return Err("such a click"),
            };
            at_xy(named(name), at)?
        }
        Action::Click { at: None, .. } => return Err("a click at the pointer's place"),
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
            plain(modifiers)?;
            let (direction, amount) = whole_notches(*dx, *dy, *unit)?;
            let mut said = named("scroll");
            said.extend(members([("direction", direction), ("clicks", amount)]));
            maybe_at_xy(said, at.as_ref())?
        }
        Action::Key { chord, repeat: 1 } if chord.keys().len() == 1 => {
            members([("action", "press_key".into()), ("key", spelled(chord)?)])
        }
        Action::Key { chord, repeat: 1 } => {
            members([("action", "hotkey".into()), ("keys", names(chord)?)])
        }
        Action::Move { at } => at_xy(named("move_mouse"), at)?,
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: None,
        } => {
            plain(modifiers)?;
            let [from, to] = path.as_slice() else {
                return Err("a drag but from one point to another");
            };
            let ([x0, y0], [x1, y1]) = (pixels(from)?, pixels(to)?);
            let mut said = named("drag");
            said.extend(members([
                ("start_x", x0),
                ("start_y", y0),
                ("end_x", x1),
                ("end_y", y1),
            ]));
            said
        }
        _ => return Err(THE_ACTION),
    })
}
