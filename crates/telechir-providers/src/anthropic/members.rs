//! Neutral actions as members of the toolsets, or as inputs of the older computer tools.

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Button, ClickCount, Point, ScrollUnit, Space, Target};

use super::models::Version;
use super::spelling;
use crate::Report;

/// Pixels that one notch of a wheel stands for where a history counts in pixels.
const PIXELS_A_NOTCH: f64 = 100.0;

/// One block of a call: a member with its input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) input: Map<String, Value>,
    /// Which of the call's actions it belongs to.
    pub(super) action: usize,
}

/// Where something is noted that can only be said in another way.
pub(super) struct Notes<'a> {
    pub(super) report: &'a mut Report,
    pub(super) place: &'a str,
}

impl Notes<'_> {
    fn kept(&mut self, what: &str, why: &str, how: impl Into<String>) {
        self.report.kept(what, self.place, why, how);
    }
}

type Steps = Option<Vec<(&'static str, Value)>>;

fn one(name: &'static str, input: Value) -> Steps {
    Some(vec![(name, input)])
}

/// The call's actions as members of the computer tool; none when one cannot be said.
pub(super) fn computer(
    actions: &[Action],
    version: Version,
    notes: &mut Notes<'_>,
) -> Option<Vec<Member>> {
    collect(actions, |action| computer_steps(action, version, notes))
}

/// The call's actions as members of the browser toolset; none when one cannot be said.
pub(super) fn browser(actions: &[Action], notes: &mut Notes<'_>) -> Option<Vec<Member>> {
    // A switch to a tab before another action is that action's tab.
    if let [Action::SwitchTab { tab }, action] = actions
        && let Some(mut steps) = browser_steps(action, notes).filter(|steps| steps.len() == 1)
        && let Some((name, Value::Object(mut input))) = steps.pop()
        && !["list_tabs", "new_tab", "switch_tab", "close_tab"].contains(&name)
    {
        input.insert("tab_id".to_owned(), tab.as_str().into());
        return Some(vec![Member {
            name,
            input,
            action: 1,
        }]);
    }
    if let Some(text) = several_keys(actions) {
        let input = Map::from_iter([("text".to_owned(), text.into())]);
        return Some(vec![Member {
            name: "key",
            input,
            action: actions.len() - 1,
        }]);
    }
    collect(actions, |action| browser_steps(action, notes))
}

fn several_keys(actions: &[Action]) -> Option<String> {
    let key = |action: &Action| match action {
        Action::Key { chord, repeat: 1 } => Some(spelling::chord(chord)),
        _ => None,
    };
    let keys: Vec<String> = actions.iter().map(key).collect::<Option<_>>()?;
    (keys.len() > 1).then(|| keys.join(" "))
}

fn collect(actions: &[Action], mut steps: impl FnMut(&Action) -> Steps) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    for (index, action) in actions.iter().enumerate() {
        for (name, input) in steps(action)? {
            let Value::Object(input) = input else {
                return None;
            };
            members.push(Member {
                name,
                input,
                action: index,
            });
        }
    }
    Some(members)
}

fn computer_steps(action: &Action, version: Version, notes: &mut Notes<'_>) -> Steps {
    let old = version == Version::October2024;
    match action {
        Action::Screenshot => one("screenshot", json!({})),
        Action::CursorPosition => one("cursor_position", json!({})),
        Action::Zoom { region } if version >= Version::November2025 => {
            let (from, to) = (place(region.from, notes)?, place(region.to, notes)?);
            one("zoom", json!({"region": [from.0, from.1, to.0, to.1]}))
        }
        Action::Move { at } => one("mouse_move", json!({"coordinate": spot(at, notes)?})),
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
                // The first version clicks where the pointer is.
                Some(at) if old => {
                    steps.push(("mouse_move", json!({"coordinate": spot(at, notes)?})))
                }
                Some(at) => {
                    input.insert("coordinate".to_owned(), spot(at, notes)?);
                }
                None => {}
            }
            if let Some(text) = spelling::modifiers(modifiers) {
                (!old).then_some(())?;
                input.insert("text".to_owned(), text.into());
            }
            steps.push((name, Value::Object(input)));
            Some(steps)
        }
        Action::MouseDown {
            at,
            button: Button::Left,
        } if !old => held("left_mouse_down", at.as_ref(), notes),
        Action::MouseUp {
            at,
            button: Button::Left,
        } if !old => held("left_mouse_up", at.as_ref(), notes),
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration,
        } => {
            if duration.is_some() {
                notes
                    .report
                    .lost("duration of a drag", notes.place, "a drag says no duration");
            }
            drag(path, spelling::modifiers(modifiers), old, notes)
        }
        Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } if !old => {
            let coordinate = at
                .as_ref()
                .map(|at| spot(at, notes))
                .map_or(Some(Value::Null), |spot| spot)?;
            let text = spelling::modifiers(modifiers).map_or(Value::Null, Value::from);
            let said = |direction, amount| {
                let input = [
                    ("coordinate", coordinate.clone()),
                    ("scroll_direction", json!(direction)),
                    ("scroll_amount", json!(amount)),
                    ("text", text.clone()),
                ];
                ("scroll", said_members(input))
            };
            Some(
                notches(*dx, *dy, *unit, notes)?
                    .into_iter()
                    .map(|(direction, amount)| said(direction, amount))
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
                steps.extend(computer_steps(&click_at(at), version, notes)?);
            }
            steps.extend(typed(text, *clear_first, *submit));
            Some(steps)
        }
        Action::Key { chord, repeat } => key(
            &spelling::chord(chord),
            *repeat,
            version == Version::Toolset,
        ),
        Action::HoldKey { chord, duration } if !old => one(
            "hold_key",
            json!({"text": spelling::chord(chord), "duration": seconds(*duration, version, notes)?}),
        ),
        Action::Wait { duration } if !old => one(
            "wait",
            json!({"duration": seconds(wait(*duration, notes), version, notes)?}),
        ),
        _ => None,
    }
}

fn browser_steps(action: &Action, notes: &mut Notes<'_>) -> Steps {
    match action {
        Action::Screenshot => one("screenshot", json!({})),
        Action::Zoom { region } => {
            let (from, to) = (place(region.from, notes)?, place(region.to, notes)?);
            one("zoom", json!({"region": [from.0, from.1, to.0, to.1]}))
        }
        Action::Click {
            at: Some(at),
            button,
            count,
            modifiers,
        } => {
            let modifiers = spelling::modifiers(modifiers).map_or(Value::Null, Value::from);
            one(
                click_name(*button, *count)?,
                said_members([("target", target(at, notes)?), ("modifiers", modifiers)]),
            )
        }
        Action::Hover { at } => one("hover", json!({"target": target(at, notes)?})),
        Action::Move {
            at: at @ Target::Point(_),
        } => one("mouse_move", json!({"target": target(at, notes)?})),
        Action::MouseDown {
            at: Some(at @ Target::Point(_)),
            button: Button::Left,
        } => one("left_mouse_down", json!({"target": target(at, notes)?})),
        Action::MouseUp {
            at: Some(at @ Target::Point(_)),
            button: Button::Left,
        } => one("left_mouse_up", json!({"target": target(at, notes)?})),
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: _,
        } if modifiers.is_empty() => {
            let [from @ Target::Point(_), to @ Target::Point(_)] = path.as_slice() else {
                return None;
            };
            one(
                "left_click_drag",
                json!({"from": target(from, notes)?, "target": target(to, notes)?}),
            )
        }
        Action::Scroll {
            at: Some(at @ Target::Point(_)),
            dx,
            dy,
            unit,
            modifiers,
        } if modifiers.is_empty() => {
            let target = target(at, notes)?;
            let said = |(direction, amount): (&str, u32)| {
                // The member takes from 1 to 10.
                let amount = amount.clamp(1, 10);
                (
                    "scroll",
                    json!({"target": target, "scroll_direction": direction, "scroll_amount": amount}),
                )
            };
            let notches = notches(*dx, *dy, *unit, notes)?;
            if notches.iter().any(|(_, amount)| !(1..=10).contains(amount)) {
                notes.kept(
                    "scroll distance",
                    "the browser scrolls by 1 to 10 notches",
                    "as the nearest of these",
                );
            }
            Some(notches.into_iter().map(said).collect())
        }
        Action::Type {
            text,
            at,
            clear_first,
            submit,
        } => {
            let mut steps = Vec::new();
            if let Some(at) = at {
                steps.extend(browser_steps(&click_at(at), notes)?);
            }
            steps.extend(typed(text, *clear_first, *submit));
            Some(steps)
        }
        Action::Key { chord, repeat } => key(&spelling::chord(chord), *repeat, true),
        Action::HoldKey { chord, duration } => {
            let seconds = seconds_up_to(*duration, 30)?;
            one(
                "hold_key",
                json!({"text": spelling::chord(chord), "duration": seconds}),
            )
        }
        Action::Wait { duration } => one(
            "wait",
            json!({"duration": seconds_up_to(wait(*duration, notes), 30)?}),
        ),
        _ => page_steps(action, notes),
    }
}

fn page_steps(action: &Action, notes: &mut Notes<'_>) -> Steps {
    let navigate = |url: &str, tab: &Option<String>| {
        one(
            "navigate",
            said_members([("url", json!(url)), ("tab_id", json!(tab))]),
        )
    };
    let only_tab = |name, tab: &Option<String>| one(name, said_members([("tab_id", json!(tab))]));
    match action {
        Action::Navigate { url, tab } => navigate(url, tab),
        Action::Back { tab } => navigate("back", tab),
        Action::Forward { tab } => navigate("forward", tab),
        Action::Reload { tab } => navigate("reload", tab),
        Action::ListTabs => one("list_tabs", json!({})),
        Action::NewTab { url: None } => one("new_tab", json!({})),
        Action::NewTab { url: Some(url) } => Some(vec![
            ("new_tab", json!({})),
            ("navigate", json!({"url": url})),
        ]),
        Action::SwitchTab { tab } => one("switch_tab", json!({"tab_id": tab})),
        Action::CloseTab { tab } => one("close_tab", json!({"tab_id": tab})),
        Action::ReadPage {
            filter,
            depth,
            root,
            tab,
        } => {
            let root = match root {
                None => Value::Null,
                Some(Target::Ref { id, frame: _ }) => json!(id),
                Some(Target::Point(_) | Target::Label { .. }) => return None,
            };
            one(
                "read_page",
                said_members([
                    ("filter", json!(filter)),
                    ("depth", json!(depth)),
                    ("ref", root),
                    ("tab_id", json!(tab)),
                ]),
            )
        }
        Action::PageText { tab } => only_tab("get_page_text", tab),
        Action::ReadConsole { tab } => only_tab("read_console", tab),
        Action::ReadNetwork { tab } => only_tab("read_network", tab),
        Action::Find { query, tab } => one(
            "find",
            said_members([("query", json!(query)), ("tab_id", json!(tab))]),
        ),
        Action::FormInput { at, value, tab } => one(
            "form_input",
            said_members([
                ("target", target(at, notes)?),
                ("value", value.clone()),
                ("tab_id", json!(tab)),
            ]),
        ),
        Action::FileUpload {
            at,
            paths,
            documents,
            tab,
        } => {
            let list = |items: &[String]| {
                if items.is_empty() {
                    Value::Null
                } else {
                    json!(items)
                }
            };
            one(
                "file_upload",
                said_members([
                    ("target", target(at, notes)?),
                    ("paths", list(paths)),
                    ("document_ids", list(documents)),
                    ("tab_id", json!(tab)),
                ]),
            )
        }
        Action::ScrollTo { at, tab } => one(
            "scroll_to",
            said_members([("target", target(at, notes)?), ("tab_id", json!(tab))]),
        ),
        Action::Javascript { script, tab } => one(
            "javascript_exec",
            said_members([("text", json!(script)), ("tab_id", json!(tab))]),
        ),
        _ => None,
    }
}

/// An object without its nulls.
fn said_members<const N: usize>(members: [(&str, Value); N]) -> Value {
    let said = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(said.map(|(name, value)| (name.to_owned(), value)).collect())
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

/// The older tools know no repetition: there it is said again.
fn key(text: &str, repeat: u32, can_repeat: bool) -> Steps {
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
    one(
        "key",
        said_members([("text", json!(text)), ("repeat", repeat)]),
    )
}

fn held(name: &'static str, at: Option<&Target>, notes: &mut Notes<'_>) -> Steps {
    let mut steps = Vec::new();
    if let Some(at) = at {
        steps.push(("mouse_move", json!({"coordinate": spot(at, notes)?})));
    }
    steps.push((name, json!({})));
    Some(steps)
}

/// A path of more than two points is said step by step, unless keys must be held meanwhile.
fn drag(path: &[Target], text: Option<String>, old: bool, notes: &mut Notes<'_>) -> Steps {
    let points: Vec<Value> = path
        .iter()
        .map(|point| spot(point, notes))
        .collect::<Option<_>>()?;
    match points.as_slice() {
        [end] if old => one("left_click_drag", json!({"coordinate": end})),
        [start, end] if !old => {
            let text = text.map_or(Value::Null, Value::from);
            one(
                "left_click_drag",
                said_members([
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
        [first, rest @ ..] if text.is_none() && !old => {
            notes.kept(
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

/// A point of the picture in whole pixels.
fn place(point: Point, notes: &mut Notes<'_>) -> Option<(i64, i64)> {
    if point.space != Space::Picture {
        return None;
    }
    let (x, y) = (point.x.round(), point.y.round());
    if (x, y) != (point.x, point.y) {
        notes.kept("fractions of a pixel", "places are whole pixels", "rounded");
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float beyond the range becomes its end"
    )]
    Some((x as i64, y as i64))
}

fn spot(target: &Target, notes: &mut Notes<'_>) -> Option<Value> {
    let (x, y) = place(target.point()?, notes)?;
    Some(json!([x, y]))
}

fn target(target: &Target, notes: &mut Notes<'_>) -> Option<Value> {
    match target {
        Target::Point(point) => {
            let (x, y) = place(*point, notes)?;
            Some(json!({"type": "coordinate", "x": x, "y": y}))
        }
        Target::Ref { id, frame: _ } => Some(json!({"type": "ref", "ref": id})),
        Target::Label { .. } => None,
    }
}

/// Distances as notches of the wheel, one entry a direction.
fn notches(
    dx: f64,
    dy: f64,
    unit: ScrollUnit,
    notes: &mut Notes<'_>,
) -> Option<Vec<(&'static str, u32)>> {
    let scale = match unit {
        ScrollUnit::Clicks => 1.0,
        ScrollUnit::Pixels => PIXELS_A_NOTCH,
        ScrollUnit::Thousandths => return None,
    };
    let count = |distance: f64| {
        let whole = (distance.abs() / scale).ceil().min(f64::from(u32::MAX));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the largest"
        )]
        let whole = whole as u32;
        whole
    };
    let mut notches = Vec::new();
    if dy != 0.0 || dx == 0.0 {
        notches.push((if dy < 0.0 { "up" } else { "down" }, count(dy)));
    }
    if dx != 0.0 {
        notches.push((if dx < 0.0 { "left" } else { "right" }, count(dx)));
    }
    if unit == ScrollUnit::Pixels {
        notes.kept(
            "scroll distance in pixels",
            "a scroll counts notches of the wheel",
            format!("as notches of {PIXELS_A_NOTCH} pixels: {}", show(&notches)),
        );
    } else if dx.fract() != 0.0 || dy.fract() != 0.0 {
        notes.kept(
            "fractions of a notch",
            "a scroll counts whole notches",
            format!("as {}", show(&notches)),
        );
    }
    Some(notches)
}

fn show(notches: &[(&str, u32)]) -> String {
    notches
        .iter()
        .map(|(direction, amount)| format!("{amount} {direction}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn wait(duration: Option<Duration>, notes: &mut Notes<'_>) -> Duration {
    duration.unwrap_or_else(|| {
        notes.kept(
            "wait without a duration",
            "a wait says its seconds",
            "as a wait of 1 second",
        );
        Duration::from_secs(1)
    })
}

fn seconds(duration: Duration, version: Version, notes: &mut Notes<'_>) -> Option<Value> {
    if version != Version::Toolset {
        return Some(number(duration.as_secs_f64()));
    }
    let whole = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    if duration.subsec_nanos() > 0 {
        notes.kept(
            "fractions of a second",
            "durations are whole seconds",
            format!("as {whole} seconds"),
        );
    }
    (whole <= 300).then(|| whole.into())
}

fn seconds_up_to(duration: Duration, most: u64) -> Option<Value> {
    (duration <= Duration::from_secs(most)).then(|| number(duration.as_secs_f64()))
}

/// A number without a fraction where it has none.
fn number(seconds: f64) -> Value {
    if seconds.fract() == 0.0 && seconds < 1e15 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and small enough"
        )]
        return json!(seconds as u64);
    }
    json!(seconds)
}
