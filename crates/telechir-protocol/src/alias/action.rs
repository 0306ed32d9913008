//! The members of an action in any vocabulary, changed to those of its canonical form.

use serde::Deserialize;
use serde_json::Value;

use super::action_names::Alias;
use crate::json::{
    FieldValue, InvalidMember, Members, count_of, from_milliseconds, number, number_of, strings_of,
};
use crate::{ActionKind, Button, Chord, ClickCount, Key, NamedElement, Point, ScrollUnit, Target};

/// Members of an action that may be members of the call if it has only one action.
const FIELDS: &str = "
    coordinate coordinates xy x y label element_id ref frame
    end_coordinate start_coordinate start_xy distance_xy start_x start_y end_x end_y path
    scroll_amount scroll_direction scroll_x scroll_y amount direction magnitude dx dy unit
    text key keys button count clicks modifiers duration duration_ms seconds region
    clear_first submit repeat url tab query filter depth value paths documents script name
    window monitor gone idle element_name automation_id control_type window_title mode intent
    settings cookies
";

/// Whether a member belongs to an action rather than to its call.
pub(crate) fn is_field(name: &str) -> bool {
    FIELDS.split_whitespace().any(|own| own == name)
}

/// The name of an action in the input: its meaning and the member that it came from.
#[derive(Clone, Copy)]
pub(crate) struct ActionName {
    pub(crate) alias: Alias,
    /// Whether the name was under `type`, as in other vocabularies, not under `action`.
    pub(crate) by_type: bool,
}

/// A value, and the name of its member if it is an alias.
type Found = Result<Option<(Option<&'static str>, Value)>, InvalidMember>;

/// Takes the value of each canonical field from the members, under any of its names.
pub(crate) fn canonical(
    named: ActionName,
    fields: &'static [&'static str],
    m: &mut Members,
) -> Result<Vec<FieldValue>, InvalidMember> {
    let mut all = Vec::with_capacity(fields.len());
    for field in fields {
        if let Some((alias, value)) = take(field, named, m)? {
            let field = (*field).into();
            all.push(FieldValue {
                field,
                alias,
                value,
            });
        }
    }
    Ok(all)
}

fn take(field: &'static str, named: ActionName, m: &mut Members) -> Found {
    match field {
        "coordinate" => target(named.alias.kind, m),
        "path" if named.alias.kind == ActionKind::Drag => path(named.alias, m),
        "button" => button(named.alias, m),
        "count" => click_count(named.alias, m),
        "modifiers" => modifiers(m),
        "key" => chord(m),
        "duration" => duration(named, m),
        "dx" => distance(m),
        "depth" | "repeat" => counted(field, m),
        "dy" => unchanged(m.number(field)?.map(number)),
        "clear_first" | "submit" | "gone" | "idle" => unchanged(m.flag(field)?.map(Value::from)),
        "tab" | "window" | "monitor" => unchanged(m.name(field)?.map(Value::from)),
        "paths" | "documents" => unchanged(Some(m.texts(field)?.into())),
        "value" => unchanged(m.take_with_null(field)),
        other => unchanged(m.take(other)),
    }
}

fn unchanged(value: Option<Value>) -> Found {
    Ok(value.map(|value| (None, value)))
}

fn counted(field: &'static str, m: &mut Members) -> Found {
    let lowest = u32::from(field == "repeat");
    let Some(value) = m.take(field) else {
        return Ok(None);
    };
    match count_of(&value).filter(|count| *count >= lowest) {
        Some(count) => unchanged(Some(count.into())),
        None => {
            let expected = format!("a whole number from {lowest}");
            Err(InvalidMember::wrong(field, &value, expected))
        }
    }
}

/// The target of an action. A label or ref wins over a point, as in its vocabulary; the point
/// remains as `x` and `y`.
fn target(kind: ActionKind, m: &mut Members) -> Found {
    if kind == ActionKind::Scroll
        && let Some(start) = m.take("start_xy")
    {
        return Ok(Some((Some("start_xy"), start)));
    }
    if kind == ActionKind::ReadPage
        && !m.has("coordinate")
        && !m.has("ref")
        && let Some(window) = m.name("window")?
    {
        return unchanged(Some(window_itself(window).to_json()));
    }
    if let Some(element) = element(m)? {
        if let Some(Target::Point(point)) = target_in("coordinate", m)? {
            m.put("x", number(point.x));
            m.put("y", number(point.y));
        }
        return unchanged(Some(element.to_json()));
    }
    for name in ["coordinate", "coordinates", "xy"] {
        if let Some(value) = m.take(name) {
            return Ok(Some((Some(name), value)));
        }
    }
    unchanged(point_in("x", "y", m)?)
}

/// A label, a ref, the desktop tool's `element_id`, or its members for an element by name.
fn element(m: &mut Members) -> Result<Option<Target>, InvalidMember> {
    if let Some(element) = m.element()? {
        return Ok(Some(element));
    }
    let frame = None;
    if m.peek("element_id").is_some_and(Value::is_number) {
        return Ok(m.count("element_id")?.map(|n| Target::Label { n, frame }));
    }
    if let Some(id) = m.text("element_id")? {
        return Ok(Some(Target::Ref { id, frame }));
    }
    if !m.has("element_name") && !m.has("automation_id") {
        return Ok(None);
    }
    Ok(Some(Target::Named(NamedElement {
        name: m.text("element_name")?,
        role: m.text("control_type")?,
        id: m.text("automation_id")?,
        window: m.text("window_title")?,
    })))
}

/// A window itself, by its title or id.
fn window_itself(title: String) -> Target {
    Target::Named(NamedElement {
        name: Some(title),
        role: Some("window".to_owned()),
        ..NamedElement::default()
    })
}

fn target_in(name: &'static str, m: &mut Members) -> Result<Option<Target>, InvalidMember> {
    let Some(value) = m.take(name) else {
        return Ok(None);
    };
    Target::from_json(&value)
        .map(Some)
        .ok_or_else(|| InvalidMember::wrong(name, &value, Target::FORM))
}

/// A point in two members. One without the other is an error.
fn point_in(
    x: &'static str,
    y: &'static str,
    m: &mut Members,
) -> Result<Option<Value>, InvalidMember> {
    match (m.number(x)?, m.number(y)?) {
        (Some(x), Some(y)) => Ok(Some(vec![number(x), number(y)].into())),
        (None, None) => Ok(None),
        (Some(_), None) => Err(InvalidMember::missing(y)),
        (None, Some(_)) => Err(InvalidMember::missing(x)),
    }
}

/// A complete path, or a start and an end; an end alone starts at the pointer's position.
fn path(alias: Alias, m: &mut Members) -> Found {
    if let Some((name, value)) = m.take_any(&["path", "xy"]) {
        return match value.as_array() {
            Some(points) if !points.is_empty() => Ok(Some((Some(name), value))),
            _ => {
                let expected = "a list of at least one point";
                Err(InvalidMember::wrong(name, &value, expected))
            }
        };
    }
    let json = |target: Target| target.to_json();
    let (from, to) = if let Some(from) = target_in("start_coordinate", m)? {
        let end = if m.has("end_coordinate") {
            "end_coordinate"
        } else {
            "coordinate"
        };
        let to = target_in(end, m)?.ok_or_else(|| InvalidMember::missing(end))?;
        (Some(from.to_json()), Some(to.to_json()))
    } else if m.has("end_x") || m.has("start_x") {
        (
            point_in("start_x", "start_y", m)?,
            point_in("end_x", "end_y", m)?,
        )
    } else {
        let from = target(ActionKind::Drag, m)?.map(|(_, value)| value);
        (from, target_in("end_coordinate", m)?.map(json))
    };
    match (from, to) {
        (from, Some(to)) => unchanged(Some(from.into_iter().chain([to]).collect())),
        // Anthropic's own drag has its end in `coordinate`, possibly without a start.
        (Some(end), None) if alias.button.is_some() => unchanged(Some(vec![end].into())),
        (_, None) => Err(InvalidMember::missing("end_coordinate")),
    }
}

/// The button, in any case. The action's name may imply it.
fn button(alias: Alias, m: &mut Members) -> Found {
    let Some(value) = m.take("button") else {
        return unchanged(alias.button.map(|button| button.name().into()));
    };
    let lower = value.as_str().map(str::to_ascii_lowercase);
    let button = lower.and_then(|name| Button::deserialize(Value::from(name)).ok());
    let button = button.ok_or_else(|| {
        InvalidMember::wrong("button", &value, "left, middle, right, back or forward")
    })?;
    match alias.button {
        Some(named) if named != button => Err(InvalidMember::Contradiction(format!(
            "`button` is {} and the action's name says {}",
            button.name(),
            named.name()
        ))),
        Some(_) | None => unchanged(Some(button.name().into())),
    }
}

/// The number of clicks. The action's name may imply it.
fn click_count(alias: Alias, m: &mut Members) -> Found {
    let Some((name, value)) = m.take_any(&["count", "clicks"]) else {
        return unchanged(alias.count.map(|count| count.number().into()));
    };
    let count = count_of(&value)
        .and_then(|count| ClickCount::try_from(count).ok())
        .ok_or_else(|| InvalidMember::wrong(name, &value, "1, 2 or 3"))?;
    match alias.count {
        Some(named) if named != count => Err(InvalidMember::Contradiction(format!(
            "`{name}` is {} and the action's name says {}",
            count.number(),
            named.number()
        ))),
        Some(_) | None => unchanged(Some(count.number().into())),
    }
}

/// Modifier keys pressed meanwhile: `modifiers`, OpenAI's `keys`, Anthropic's `text`; the first
/// that is not empty.
fn modifiers(m: &mut Members) -> Found {
    for name in ["modifiers", "keys", "text"] {
        let Some(value) = m.take(name) else {
            continue;
        };
        let modifiers = modifiers_of(&value)
            .ok_or_else(|| InvalidMember::wrong(name, &value, "modifier keys"))?;
        if !modifiers.is_empty() {
            return unchanged(Some(modifiers.into()));
        }
    }
    Ok(None)
}

fn modifiers_of(value: &Value) -> Option<Vec<Value>> {
    let names = match value.as_str() {
        Some(text) => vec![text.to_owned()],
        None => strings_of(value)?,
    };
    if names.iter().all(String::is_empty) {
        return Some(Vec::new());
    }
    let chord = Chord::from_names(names)?;
    let all_modifiers = chord
        .keys()
        .iter()
        .all(|key| matches!(key, Key::Modifier(_)));
    let name = |key: &Key| key.to_string().into();
    all_modifiers.then(|| chord.keys().iter().map(name).collect())
}

/// A chord under `key`, or the names of its keys, each of which may be a chord, under `keys` or,
/// for Anthropic, `text`.
fn chord(m: &mut Members) -> Found {
    let Some((name, value)) = m.take_any(&["key", "keys", "text"]) else {
        return Ok(None);
    };
    if name == "key" {
        return unchanged(Some(value));
    }
    let names = match value.as_str() {
        Some(text) => Some(vec![text.to_owned()]),
        None => strings_of(&value),
    };
    let chord = names.and_then(Chord::from_names);
    match chord.and_then(|chord| serde_json::to_value(chord).ok()) {
        Some(chord) => unchanged(Some(chord)),
        None => Err(InvalidMember::wrong(name, &value, "a chord of keys")),
    }
}

/// `duration` in milliseconds, or in seconds if the vocabulary uses those.
///
/// If a wait is named by `type`, its `duration` may have either of two meanings: one vocabulary
/// uses seconds, the other whole milliseconds, with numbers below 100 meaning seconds.
fn duration(named: ActionName, m: &mut Members) -> Found {
    const FEWEST_MILLISECONDS: f64 = 100.0;
    let ambiguous = |value: &Value| {
        value.is_f64() || number_of(value).is_some_and(|number| number < FEWEST_MILLISECONDS)
    };
    let ActionName { alias, by_type } = named;
    let may_be_seconds = alias.kind == ActionKind::Wait && by_type;
    let in_seconds = alias.seconds || may_be_seconds && m.peek("duration").is_some_and(ambiguous);
    let Some((name, value)) = m.take_any(&["duration", "duration_ms", "seconds"]) else {
        return Ok(None);
    };
    let factor = if name == "seconds" || (name == "duration" && in_seconds) {
        1e3
    } else {
        1.0
    };
    match number_of(&value).map(|number| number * factor) {
        Some(duration) if from_milliseconds(duration).is_some() => {
            unchanged(Some(number(duration)))
        }
        _ => Err(InvalidMember::wrong(name, &value, "a duration")),
    }
}

/// A distance on both axes, or a direction and an amount. The distance wins if both are present.
///
/// Returns `dx`, and leaves `dy` and `unit` among the members.
fn distance(m: &mut Members) -> Found {
    let (dx, dy, unit) = if m.has("dx") || m.has("dy") {
        (m.number("dx")?, m.number("dy")?, None)
    } else if let Some(value) = m.take("distance_xy") {
        let distance = Point::from_json(&value)
            .ok_or_else(|| InvalidMember::wrong("distance_xy", &value, "a pair of numbers"))?;
        (Some(distance.x), Some(distance.y), Some(ScrollUnit::Pixels))
    } else if m.has("scroll_x") || m.has("scroll_y") {
        let (dx, dy) = (m.number("scroll_x")?, m.number("scroll_y")?);
        (dx, dy, Some(ScrollUnit::Pixels))
    } else {
        let (dx, dy) = along(m)?;
        (Some(dx), Some(dy), None)
    };
    put_new("dy", number(dy.unwrap_or(0.0)), m)?;
    if let Some(unit) = unit {
        put_new("unit", unit.name().into(), m)?;
    }
    unchanged(Some(number(dx.unwrap_or(0.0))))
}

/// Adds a canonical member that follows from others.
fn put_new(name: &str, value: Value, m: &mut Members) -> Result<(), InvalidMember> {
    if m.peek(name).is_some() {
        return Err(InvalidMember::conflict(name));
    }
    m.put(name, value);
    Ok(())
}

/// A direction and an amount. An axis takes the amount's sign; a side takes none.
fn along(m: &mut Members) -> Result<(f64, f64), InvalidMember> {
    /// The number of wheel notches if a vocabulary omits the amount.
    const USUAL_NOTCHES: f64 = 3.0;
    let relative = m.has("magnitude");
    let amount = match m.take_any(&["scroll_amount", "amount", "clicks", "magnitude"]) {
        None => None,
        Some((name, value)) => {
            Some(number_of(&value).ok_or_else(|| InvalidMember::wrong(name, &value, "a number"))?)
        }
    };
    let Some((name, direction)) = m.take_any(&["scroll_direction", "direction"]) else {
        return match amount {
            Some(amount) if !relative => Ok((0.0, amount)),
            _ if relative => Err(InvalidMember::missing("direction")),
            _ => Err(InvalidMember::missing("scroll_amount")),
        };
    };
    let side = |sign: f64| match amount.unwrap_or(USUAL_NOTCHES) {
        amount if amount < 0.0 => Err(InvalidMember::Contradiction(format!(
            "the amount {amount} is negative, but `{name}` is already {direction}"
        ))),
        amount => Ok(sign * amount),
    };
    let axis = amount.ok_or_else(|| InvalidMember::missing("scroll_amount"));
    match direction.as_str().map(str::to_ascii_lowercase).as_deref() {
        Some("up") => Ok((0.0, side(-1.0)?)),
        Some("down") => Ok((0.0, side(1.0)?)),
        Some("left") => Ok((side(-1.0)?, 0.0)),
        Some("right") => Ok((side(1.0)?, 0.0)),
        Some("vertical") => Ok((0.0, axis?)),
        Some("horizontal") => Ok((axis?, 0.0)),
        _ => Err(InvalidMember::wrong(name, &direction, "a direction")),
    }
}
