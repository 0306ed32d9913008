//! Encodes one action as members of the computer toolset, or as actions of the legacy tools.

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Button, Target};

use super::{
    LossNotes, MemberSteps, click_at, click_name, coordinate, key, non_null_members, notches,
    number, pixel_point, single_step, typed, wait,
};
use crate::anthropic::models::ToolVersion;
use crate::anthropic::xdotool_keys;

pub(super) fn steps(
    action: &Action,
    version: ToolVersion,
    notes: &mut LossNotes<'_>,
) -> MemberSteps {
    let is_october_2024 = version == ToolVersion::October2024;
    match action {
        Action::Screenshot => single_step("screenshot", json!({})),
        Action::CursorPosition => single_step("cursor_position", json!({})),
        Action::Zoom { region } if version >= ToolVersion::November2025 => {
            let (from, to) = (
                pixel_point(region.from, notes)?,
                pixel_point(region.to, notes)?,
            );
            single_step("zoom", json!({"region": [from.0, from.1, to.0, to.1]}))
        }
        Action::Move { at } => {
            single_step("mouse_move", json!({"coordinate": coordinate(at, notes)?}))
        }
        Action::Click {
            at,
            button,
            count,
            modifiers,
        } => {
            let name = click_name(*button, *count)?;
            let mut input = Map::new();
            let mut steps = Vec::new();
            match at {
                // The first version only clicks at the pointer.
                Some(at) if is_october_2024 => {
                    steps.push(("mouse_move", json!({"coordinate": coordinate(at, notes)?})))
                }
                Some(at) => {
                    input.insert("coordinate".to_owned(), coordinate(at, notes)?);
                }
                None => {}
            }
            if let Some(text) = xdotool_keys::modifiers(modifiers) {
                (!is_october_2024).then_some(())?;
                input.insert("text".to_owned(), text.into());
            }
            steps.push((name, Value::Object(input)));
            Some(steps)
        }
        Action::MouseDown {
            at,
            button: Button::Left,
        } if !is_october_2024 => press_or_release("left_mouse_down", at.as_ref(), notes),
        Action::MouseUp {
            at,
            button: Button::Left,
        } if !is_october_2024 => press_or_release("left_mouse_up", at.as_ref(), notes),
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration,
        } => {
            if duration.is_some() {
                notes.report.lost(
                    "duration of a drag",
                    notes.location,
                    "a drag has no duration",
                );
            }
            drag(
                path,
                xdotool_keys::modifiers(modifiers),
                is_october_2024,
                notes,
            )
        }
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } if !is_october_2024 => {
            let coordinate = at
                .as_ref()
                .map(|at| coordinate(at, notes))
                .map_or(Some(Value::Null), |coordinate| coordinate)?;
            let text = xdotool_keys::modifiers(modifiers).map_or(Value::Null, Value::from);
            let scroll = |direction, amount| {
                let input = [
                    ("coordinate", coordinate.clone()),
                    ("scroll_direction", json!(direction)),
                    ("scroll_amount", json!(amount)),
                    ("text", text.clone()),
                ];
                ("scroll", non_null_members(input))
            };
            Some(
                notches(*dx, *dy, *unit, notes)?
                    .into_iter()
                    .map(|(direction, amount)| scroll(direction, amount))
                    .collect(),
            )
        }
        Action::Type {
            text,
            at,
            clear_first,
            submit,
        } => {
            let mut steps = Vec::new();
            if let Some(at) = at {
                steps.extend(self::steps(&click_at(at), version, notes)?);
            }
            steps.extend(typed(text, *clear_first, *submit));
            Some(steps)
        }
        Action::Key { chord, repeat } => key(
            &xdotool_keys::chord(chord),
            *repeat,
            version == ToolVersion::Toolset,
        ),
        Action::HoldKey { chord, duration } if !is_october_2024 => single_step(
            "hold_key",
            json!({"text": xdotool_keys::chord(chord), "duration": seconds(*duration, version, notes)?}),
        ),
        Action::Wait { duration } if !is_october_2024 => single_step(
            "wait",
            json!({"duration": seconds(wait(*duration, notes), version, notes)?}),
        ),
        _ => None,
    }
}

fn press_or_release(
    name: &'static str,
    at: Option<&Target>,
    notes: &mut LossNotes<'_>,
) -> MemberSteps {
    let mut steps = Vec::new();
    if let Some(at) = at {
        steps.push(("mouse_move", json!({"coordinate": coordinate(at, notes)?})));
    }
    steps.push((name, json!({})));
    Some(steps)
}

/// Encodes a drag. One along more than two points becomes button down, moves and button up, which
/// is unsupported with modifier keys.
fn drag(
    path: &[Target],
    text: Option<String>,
    is_october_2024: bool,
    notes: &mut LossNotes<'_>,
) -> MemberSteps {
    let points: Vec<Value> = path
        .iter()
        .map(|point| coordinate(point, notes))
        .collect::<Option<_>>()?;
    match points.as_slice() {
        [end] if is_october_2024 => single_step("left_click_drag", json!({"coordinate": end})),
        [start, end] if !is_october_2024 => {
            let text = text.map_or(Value::Null, Value::from);
            single_step(
                "left_click_drag",
                non_null_members([
                    ("start_coordinate", start.clone()),
                    ("coordinate", end.clone()),
                    ("text", text),
                ]),
            )
        }
        [start, end] if text.is_none() => Some(vec![
            ("mouse_move", json!({"coordinate": start})),
            ("left_click_drag", json!({"coordinate": end})),
        ]),
        [first, rest @ ..] if text.is_none() && !is_october_2024 => {
            notes.preserved(
                "drag path",
                "a drag has a start and an end",
                "as button down, moves and button up",
            );
            let step = |point: &Value| ("mouse_move", json!({"coordinate": point}));
            let mut steps = Vec::new();
            let moves = if rest.is_empty() {
                &points[..]
            } else {
                steps.push(step(first));
                rest
            };
            steps.push(("left_mouse_down", json!({})));
            steps.extend(moves.iter().map(step));
            steps.push(("left_mouse_up", json!({})));
            Some(steps)
        }
        _ => None,
    }
}

fn seconds(duration: Duration, version: ToolVersion, notes: &mut LossNotes<'_>) -> Option<Value> {
    if version != ToolVersion::Toolset {
        return Some(number(duration.as_secs_f64()));
    }
    let rounded_up = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    if duration.subsec_nanos() > 0 {
        notes.preserved(
            "fractions of a second",
            "durations are integers",
            format!("as {rounded_up} seconds"),
        );
    }
    (rounded_up <= 300).then(|| rounded_up.into())
}
