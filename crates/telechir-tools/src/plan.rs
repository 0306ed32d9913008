//! The steps of a plan in the vocabulary of the tools.

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Button, Point, ScrollUnit, Size, Space, Target};

/// An action as the call of a tool, with points in pixels of a screenshot of this size. An action
/// that no tool has is returned as neutral JSON under `action`.
///
/// ```
/// use telechir_protocol::{Action, Point, Size, Target};
/// use telechir_tools::tool_step;
///
/// let action = Action::Move { at: Target::from(Point::thousandths(500, 250)) };
/// let step = tool_step(&action, Size::new(1280, 800));
/// assert_eq!(step["tool"], "execute_gui");
/// assert_eq!(step["arguments"]["action"], "move_mouse");
/// assert_eq!((&step["arguments"]["x"], &step["arguments"]["y"]), (&640.into(), &200.into()));
/// ```
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other actions are written as neutral JSON"
)]
pub fn tool_step(action: &Action, screen: Size) -> Value {
    let gui = |name: &str, more: Map<String, Value>| {
        let mut arguments = Map::new();
        arguments.insert("action".to_owned(), name.into());
        arguments.extend(more);
        json!({"tool": "execute_gui", "arguments": arguments})
    };
    let at = |target: Option<&Target>| target.map(|target| members(target, screen));
    let step = match action {
        Action::Click {
            at: target,
            button,
            count,
            modifiers,
        } if modifiers.is_empty() => {
            let name = match (button, count.number()) {
                (Button::Left, 1) => "click",
                (Button::Left, 2) => "double_click",
                (Button::Left, 3) => "triple_click",
                (Button::Right, 1) => "right_click",
                (Button::Middle, 1) => "middle_click",
                _ => return neutral(action),
            };
            at(target.as_ref())
                .map_or(Some(Map::new()), Some)
                .map(|at| gui(name, at))
        }
        Action::Move { at: target } | Action::Hover { at: target } => {
            at(Some(target)).map(|at| gui("move_mouse", at))
        }
        Action::Drag { path, .. } => match path.as_slice() {
            [from, .., to] => at(Some(from)).and_then(|mut from| {
                let to = members(to, screen);
                from.insert("end_x".to_owned(), to.get("x")?.clone());
                from.insert("end_y".to_owned(), to.get("y")?.clone());
                Some(gui("drag", from))
            }),
            _ => None,
        },
        Action::Scroll {
            at: target,
            dx,
            dy,
            unit: ScrollUnit::Clicks,
            ..
        } => direction(*dx, *dy).map(|(direction, clicks)| {
            let mut more = at(target.as_ref()).unwrap_or_default();
            more.insert("direction".to_owned(), direction.into());
            more.insert("clicks".to_owned(), json!(clicks));
            gui("scroll", more)
        }),
        Action::Type { text, at: None, .. } => Some(gui(
            "type",
            Map::from_iter([("text".to_owned(), text.clone().into())]),
        )),
        Action::Key { chord, repeat: 1 } => {
            let key = chord.to_string();
            Some(gui(
                "press_key",
                Map::from_iter([("key".to_owned(), key.into())]),
            ))
        }
        Action::Navigate { url, .. } => Some(json!({
            "tool": "execute_browser", "arguments": {"action": "navigate", "url": url}
        })),
        _ => None,
    };
    step.unwrap_or_else(|| neutral(action))
}

fn neutral(action: &Action) -> Value {
    json!({"action": action})
}

fn members(target: &Target, screen: Size) -> Map<String, Value> {
    match target {
        Target::Point(point) => {
            let (x, y) = pixels(*point, screen);
            Map::from_iter([("x".to_owned(), x.into()), ("y".to_owned(), y.into())])
        }
        Target::Label { n, .. } => Map::from_iter([("label".to_owned(), (*n).into())]),
        Target::Ref { id, .. } => Map::from_iter([("ref".to_owned(), id.clone().into())]),
        Target::Named(named) => Map::from_iter([("target".to_owned(), named.to_string().into())]),
    }
}

/// A point in whole pixels. Thousandths are the middle of the pixels that they cover.
pub(crate) fn pixels(point: Point, screen: Size) -> (i64, i64) {
    let scaled = |value: f64, length: u32| {
        let value = match point.space {
            Space::Thousandths => value / 1_000.0 * f64::from(length),
            Space::Screenshot | Space::Screen => value,
        };
        #[expect(clippy::cast_possible_truncation, reason = "limited to the screen")]
        let pixel = value
            .round()
            .clamp(0.0, f64::from(length.saturating_sub(1))) as i64;
        pixel
    };
    (
        scaled(point.x, screen.width),
        scaled(point.y, screen.height),
    )
}

/// A distance along one axis as a direction.
fn direction(dx: f64, dy: f64) -> Option<(&'static str, f64)> {
    match (dx, dy) {
        (0.0, dy) if dy > 0.0 => Some(("down", dy)),
        (0.0, dy) if dy < 0.0 => Some(("up", -dy)),
        (dx, 0.0) if dx > 0.0 => Some(("right", dx)),
        (dx, 0.0) if dx < 0.0 => Some(("left", -dx)),
        _ => None,
    }
}
