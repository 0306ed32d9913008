//! Decodes actions from JSON. A batch is validated before execution: one invalid action rejects the
//! batch.

use serde_json::Value;
use telechir_protocol::{
    Action, Button, Chord, ClickCount, Key, Modifier, Point, ScrollUnit, Target,
};

use crate::Report;
use crate::json::{kind, list, text};
use crate::openai::item::Item;

/// The decoded actions of a call, and the reason they must not be executed, if any.
pub(crate) struct DecodedActions {
    pub(crate) actions: Vec<Action>,
    pub(crate) problem: Option<String>,
}

/// An empty batch with the reason it could not be decoded.
pub(crate) fn unreadable(problem: &str) -> DecodedActions {
    DecodedActions {
        actions: Vec::new(),
        problem: Some(problem.to_owned()),
    }
}

/// Decodes the single `action` of the legacy tool.
pub(crate) fn decode_single(action: &Value, path: &str, report: &mut Report) -> DecodedActions {
    if action.is_null() {
        return unreadable("`action` is null");
    }
    decode_all(std::slice::from_ref(action), path, report)
}

/// Decodes the tool's `actions` list.
pub(crate) fn decode_batch(actions: &Value, path: &str, report: &mut Report) -> DecodedActions {
    match actions.as_array() {
        None if actions.is_null() => unreadable("`actions` is null"),
        None => unreadable("`actions` is not a list"),
        Some(actions) if actions.is_empty() => unreadable("`actions` is empty"),
        Some(actions) => decode_all(actions, path, report),
    }
}

fn decode_all(values: &[Value], path: &str, report: &mut Report) -> DecodedActions {
    let mut all = DecodedActions {
        actions: Vec::with_capacity(values.len()),
        problem: None,
    };
    for (index, value) in values.iter().enumerate() {
        let Some(members) = value.as_object() else {
            let problem = format!("action {} of {} is not an object", index + 1, values.len());
            all.problem.get_or_insert(problem);
            continue;
        };
        match read(members) {
            Ok(actions) => {
                note_unknown_members(members, &format!("{path}.actions[{index}]"), report);
                all.actions.extend(actions);
            }
            Err(problem) => {
                let name = kind(members);
                let problem = format!(
                    "action {} of {} (`{name}`): {problem}",
                    index + 1,
                    values.len()
                );
                all.problem.get_or_insert(problem);
                all.actions.push(Action::Other {
                    name: name.to_owned(),
                    args: arguments(members),
                });
            }
        }
    }
    all
}

fn arguments(members: &Item) -> Item {
    members
        .iter()
        .filter(|(name, _)| *name != "type")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

fn read(m: &Item) -> Result<Vec<Action>, String> {
    match kind(m) {
        "move" => moves(m),
        _ => one(m).map(|action| vec![action]),
    }
}

fn one(m: &Item) -> Result<Action, String> {
    Ok(match kind(m) {
        "screenshot" => Action::Screenshot,
        "wait" => Action::Wait { duration: None },
        "click" => Action::Click {
            at: Some(point(m)?),
            button: button(m)?,
            count: ClickCount::Single,
            modifiers: modifiers(m)?,
        },
        "double_click" => Action::Click {
            at: Some(point(m)?),
            button: Button::Left,
            count: ClickCount::Double,
            modifiers: modifiers(m)?,
        },
        "drag" => Action::Drag {
            path: path(m)?,
            button: Button::Left,
            modifiers: modifiers(m)?,
            duration: None,
        },
        "scroll" => Action::Scroll {
            at: Some(point(m)?),
            dx: number(m, "scroll_x")?,
            dy: number(m, "scroll_y")?,
            unit: ScrollUnit::Pixels,
            modifiers: modifiers(m)?,
        },
        "keypress" => Action::Key {
            chord: chord(m)?,
            repeat: 1,
        },
        "type" => Action::Type {
            text: text(m, "text")
                .ok_or("`text` is missing or not a string")?
                .to_owned(),
            at: None,
            clear_first: false,
            submit: false,
        },
        "" => return Err("it has no `type`".to_owned()),
        _ => return Err("unknown action".to_owned()),
    })
}

fn number(m: &Item, name: &str) -> Result<f64, String> {
    let number = m.get(name).and_then(Value::as_f64);
    number.ok_or_else(|| format!("`{name}` is missing or not a number"))
}

fn point(m: &Item) -> Result<Target, String> {
    Ok(Point::new(number(m, "x")?, number(m, "y")?).into())
}

/// A move with modifiers becomes a key press, the move and a key release.
fn moves(m: &Item) -> Result<Vec<Action>, String> {
    let at = point(m)?;
    let pressed = modifiers(m)?.into_iter().map(Key::Modifier).collect();
    Ok(match Chord::new(pressed) {
        None => vec![Action::Move { at }],
        Some(chord) => {
            let down = Action::KeyDown {
                chord: chord.clone(),
            };
            vec![down, Action::Move { at }, Action::KeyUp { chord }]
        }
    })
}

fn path(m: &Item) -> Result<Vec<Target>, String> {
    let points = list(m, "path");
    if points.len() < 2 {
        return Err("`path` needs at least two points".to_owned());
    }
    let path_point = |value: &Value| match value.as_object() {
        Some(members) => point(members),
        None => Err("a point of `path` is not an object".to_owned()),
    };
    points.iter().map(path_point).collect()
}

fn button(m: &Item) -> Result<Button, String> {
    match text(m, "button") {
        Some("left") => Ok(Button::Left),
        Some("right") => Ok(Button::Right),
        Some("wheel") => Ok(Button::Middle),
        Some("back") => Ok(Button::Back),
        Some("forward") => Ok(Button::Forward),
        Some(other) => Err(format!(
            "`button` is `{other}`, not left, right, wheel, back or forward"
        )),
        None => Err("`button` is missing".to_owned()),
    }
}

fn names(m: &Item) -> Result<Vec<&str>, String> {
    match m.get("keys") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(keys) => {
            let names = keys.as_array().ok_or("`keys` is not a list")?.iter();
            names
                .map(|name| {
                    name.as_str()
                        .ok_or_else(|| "a name in `keys` is not a string".to_owned())
                })
                .collect()
        }
    }
}

fn modifiers(m: &Item) -> Result<Vec<Modifier>, String> {
    let modifier = |name| {
        Modifier::parse(name).ok_or_else(|| format!("`{name}` in `keys` is not a modifier key"))
    };
    names(m)?.into_iter().map(modifier).collect()
}

/// Names denote keys, not characters: `A` is the letter's key without Shift.
fn chord(m: &Item) -> Result<Chord, String> {
    let chord = Chord::from_names(names(m)?).ok_or("`keys` contains no valid key")?;
    let unshifted = |key: &Key| match key {
        Key::Char(letter) => Key::Char(letter.to_ascii_lowercase()),
        Key::Modifier(_) | Key::Named(_) | Key::Other(_) => key.clone(),
    };
    Chord::new(chord.keys().iter().map(unshifted).collect())
        .ok_or_else(|| "`keys` contains no valid key".to_owned())
}

/// Reports fields without a neutral equivalent; they survive only in the item's raw JSON.
fn note_unknown_members(m: &Item, path: &str, report: &mut Report) {
    let known: &[&str] = match kind(m) {
        "click" => &["type", "x", "y", "keys", "button"],
        "double_click" | "move" => &["type", "x", "y", "keys"],
        "drag" => &["type", "path", "keys"],
        "scroll" => &["type", "x", "y", "keys", "scroll_x", "scroll_y"],
        "keypress" => &["type", "keys"],
        "type" => &["type", "text"],
        _ => &["type"],
    };
    for (name, value) in m {
        if !known.contains(&name.as_str()) && !value.is_null() {
            let what = format!("member `{name}` of {}", kind(m));
            report.preserved(
                what,
                path,
                "actions have no such member",
                "in the item's raw JSON",
            );
        }
    }
}
