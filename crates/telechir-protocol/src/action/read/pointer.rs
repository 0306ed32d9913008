//! Decodes targets, paths and distances, in every vocabulary's members.

use serde_json::Value;

use super::ReadResult;
use crate::action::alias::Alias;
use crate::action::{Action, ClickCount, ScrollUnit};
use crate::json::{InvalidMember, Members, count_of, number, number_of, strings_of};
use crate::{Chord, Key, Modifier, NamedElement, Point, Region, Target};

/// The number of wheel notches if a vocabulary omits the amount.
const USUAL_NOTCHES: f64 = 3.0;

pub(super) fn click(alias: Alias, m: &mut Members) -> ReadResult {
    Ok(Action::Click {
        at: m.target()?,
        button: m.button(alias)?,
        count: click_count(alias, m)?,
        modifiers: m.modifiers()?,
    })
}

fn click_count(alias: Alias, m: &mut Members) -> Result<ClickCount, InvalidMember> {
    let Some((name, value)) = m.take_any(&["count", "clicks"]) else {
        return Ok(alias.count.unwrap_or_default());
    };
    let count = count_of(&value)
        .and_then(ClickCount::from_number)
        .ok_or_else(|| InvalidMember::wrong(name, &value, "1, 2 or 3"))?;
    match alias.count {
        Some(named) if named != count => Err(InvalidMember::Contradiction(format!(
            "`{name}` is {} and the action's name says {}",
            count.number(),
            named.number()
        ))),
        Some(_) | None => Ok(count),
    }
}

pub(super) fn drag(alias: Alias, m: &mut Members) -> ReadResult {
    Ok(Action::Drag {
        path: drag_path(alias, m)?,
        button: m.button(alias)?,
        modifiers: m.modifiers()?,
        duration: super::timing::duration(false, m)?,
    })
}

/// A complete path, or a start and an end; an end alone starts at the pointer's position.
fn drag_path(alias: Alias, m: &mut Members) -> Result<Vec<Target>, InvalidMember> {
    if let Some((name, value)) = m.take_any(&["path", "xy"]) {
        let wanted = "a list of at least one point";
        let path: Option<Vec<Target>> = value
            .as_array()
            .and_then(|points| points.iter().map(Target::from_json).collect());
        return path
            .filter(|path| !path.is_empty())
            .ok_or_else(|| InvalidMember::wrong(name, &value, wanted));
    }
    if let Some(from) = m.target_in("start_coordinate")? {
        let end = if m.has("end_coordinate") {
            "end_coordinate"
        } else {
            "coordinate"
        };
        let to = m
            .target_in(end)?
            .ok_or(InvalidMember::Missing { member: end })?;
        return Ok(vec![from, to]);
    }
    let (from, to) = if m.has("end_x") || m.has("start_x") {
        (
            m.point_in("start_x", "start_y")?,
            m.point_in("end_x", "end_y")?,
        )
    } else {
        (m.target()?, m.target_in("end_coordinate")?)
    };
    match (from, to) {
        (from, Some(to)) => Ok(from.into_iter().chain([to]).collect()),
        // Anthropic's own drag has its end in `coordinate`, possibly without a start.
        (Some(end), None) if alias.button.is_some() => Ok(vec![end]),
        (_, None) => Err(InvalidMember::Missing {
            member: "end_coordinate",
        }),
    }
}

pub(super) fn scroll(m: &mut Members) -> ReadResult {
    let at = match m.target_in("start_xy")? {
        Some(start) => Some(start),
        None => m.target()?,
    };
    let modifiers = m.modifiers()?;
    let (dx, dy, unit) = distance(m)?;
    Ok(Action::Scroll {
        at,
        dx,
        dy,
        unit,
        modifiers,
    })
}

/// A distance on both axes, or a direction and an amount. The distance wins if both are present.
fn distance(m: &mut Members) -> Result<(f64, f64, ScrollUnit), InvalidMember> {
    if m.has("dx") || m.has("dy") {
        let unit = m.unit()?.unwrap_or_default();
        return Ok((
            m.number("dx")?.unwrap_or(0.0),
            m.number("dy")?.unwrap_or(0.0),
            unit,
        ));
    }
    if let Some(value) = m.take("distance_xy") {
        let distance = Point::from_json(&value)
            .ok_or_else(|| InvalidMember::wrong("distance_xy", &value, "a pair of numbers"))?;
        return Ok((distance.x, distance.y, ScrollUnit::Pixels));
    }
    if m.has("scroll_x") || m.has("scroll_y") {
        let (dx, dy) = (m.number("scroll_x")?, m.number("scroll_y")?);
        return Ok((dx.unwrap_or(0.0), dy.unwrap_or(0.0), ScrollUnit::Pixels));
    }
    let (dx, dy) = along(m)?;
    Ok((dx, dy, m.unit()?.unwrap_or_default()))
}

/// A direction and an amount. An axis takes the amount's sign; a side takes none.
fn along(m: &mut Members) -> Result<(f64, f64), InvalidMember> {
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
            _ => Err(InvalidMember::Missing {
                member: if relative {
                    "direction"
                } else {
                    "scroll_amount"
                },
            }),
        };
    };
    let side = |sign: f64| match amount.unwrap_or(USUAL_NOTCHES) {
        amount if amount < 0.0 => Err(InvalidMember::Contradiction(format!(
            "the amount {amount} is negative, but `{name}` is already {direction}"
        ))),
        amount => Ok(sign * amount),
    };
    let axis = amount.ok_or(InvalidMember::Missing {
        member: "scroll_amount",
    });
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

impl Members {
    /// The target of an action. A label or ref wins over a point, as in its vocabulary; the point
    /// remains as `x` and `y`.
    pub(super) fn target(&mut self) -> Result<Option<Target>, InvalidMember> {
        let element = match self.element()? {
            Some(element) => Some(element),
            None => self.element_id()?,
        };
        let element = match element {
            Some(element) => Some(element),
            None => self.element_named()?,
        };
        if element.is_some() {
            if let Some(Target::Point(point)) = self.target_in("coordinate")? {
                self.put("x", number(point.x));
                self.put("y", number(point.y));
            }
            return Ok(element);
        }
        for name in ["coordinate", "coordinates", "xy"] {
            if let Some(target) = self.target_in(name)? {
                return Ok(Some(target));
            }
        }
        self.point_in("x", "y")
    }

    /// The desktop tool's `element_id`: a label, or a name.
    fn element_id(&mut self) -> Result<Option<Target>, InvalidMember> {
        if self.peek("element_id").is_some_and(Value::is_number) {
            return Ok(self
                .count("element_id")?
                .map(|n| Target::Label { n, frame: None }));
        }
        Ok(self
            .text("element_id")?
            .map(|id| Target::Ref { id, frame: None }))
    }

    /// The desktop tool's members for an element of an application.
    fn element_named(&mut self) -> Result<Option<Target>, InvalidMember> {
        if !self.has("element_name") && !self.has("automation_id") {
            return Ok(None);
        }
        Ok(Some(Target::Named(NamedElement {
            name: self.text("element_name")?,
            role: self.text("control_type")?,
            id: self.text("automation_id")?,
            window: self.text("window_title")?,
        })))
    }

    fn target_in(&mut self, name: &'static str) -> Result<Option<Target>, InvalidMember> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let wanted = "a point like [x, y], a label, a ref or a name";
        Target::from_json(&value)
            .map(Some)
            .ok_or_else(|| InvalidMember::wrong(name, &value, wanted))
    }

    /// A point in two members. One without the other is an error.
    fn point_in(
        &mut self,
        x: &'static str,
        y: &'static str,
    ) -> Result<Option<Target>, InvalidMember> {
        match (self.number(x)?, self.number(y)?) {
            (Some(x), Some(y)) => Ok(Some(Point::new(x, y).into())),
            (None, None) => Ok(None),
            (Some(_), None) => Err(InvalidMember::Missing { member: y }),
            (None, Some(_)) => Err(InvalidMember::Missing { member: x }),
        }
    }

    pub(super) fn region(&mut self) -> Result<Region, InvalidMember> {
        let value = self
            .take("region")
            .ok_or(InvalidMember::Missing { member: "region" })?;
        Region::from_json(&value)
            .ok_or_else(|| InvalidMember::wrong("region", &value, "a region like [x0, y0, x1, y1]"))
    }

    fn unit(&mut self) -> Result<Option<ScrollUnit>, InvalidMember> {
        let Some(value) = self.take("unit") else {
            return Ok(None);
        };
        value
            .as_str()
            .and_then(ScrollUnit::parse)
            .map(Some)
            .ok_or_else(|| InvalidMember::wrong("unit", &value, "clicks, pixels or thousandths"))
    }

    /// Modifier keys pressed meanwhile: `modifiers`, OpenAI's `keys`, Anthropic's `text`; the first
    /// that is not empty.
    fn modifiers(&mut self) -> Result<Vec<Modifier>, InvalidMember> {
        for name in ["modifiers", "keys", "text"] {
            let Some(value) = self.take(name) else {
                continue;
            };
            let modifiers = modifiers_of(&value)
                .ok_or_else(|| InvalidMember::wrong(name, &value, "modifier keys"))?;
            if !modifiers.is_empty() {
                return Ok(modifiers);
            }
        }
        Ok(Vec::new())
    }
}

fn modifiers_of(value: &Value) -> Option<Vec<Modifier>> {
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
    all_modifiers.then(|| chord.modifiers().collect())
}
