//! Decodes a predefined function of either vocabulary into a neutral action.
//!
//! The name and the arguments decide, not the model. Coordinates are thousandths of the screenshot,
//! and stay so until the screen rounds them.

use serde_json::{Map, Value};
use std::time::Duration;
use telechir_protocol::{Action, Button, ClickCount, ScrollUnit, Target};

use super::args::{ArgResult, Args};
use crate::json::arguments::scroll_distance;

/// Arguments of predefined functions. A call with none of them belongs to another function.
const MEMBERS: [&str; 32] = [
    "x",
    "y",
    "text",
    "press_enter",
    "clear_before_typing",
    "key",
    "keys",
    "direction",
    "magnitude",
    "magnitude_in_pixels",
    "magnitude_in_wheel_clicks",
    "destination_x",
    "destination_y",
    "start_x",
    "start_y",
    "end_x",
    "end_y",
    "source_x",
    "source_y",
    "target_x",
    "target_y",
    "url",
    "seconds",
    "duration",
    "app_name",
    "coordinate",
    "point",
    "intent",
    "safety_decision",
    "name",
    "start",
    "end",
];

/// Default scroll distance of the current vocabulary, in thousandths.
pub(super) const DEFAULT_SCROLL: f64 = 300.0;
/// Default scroll distance of the legacy vocabulary, in thousandths.
pub(super) const DEFAULT_LEGACY_SCROLL: f64 = 800.0;

/// The action that a predefined function requests, and its unknown arguments; `None` for any other
/// function.
pub(super) fn read(
    name: &str,
    args: &Map<String, Value>,
) -> Option<(ArgResult<Action>, Map<String, Value>)> {
    let foreign = !args.is_empty() && !args.keys().any(|arg| MEMBERS.contains(&arg.as_str()));
    if foreign || !is_predefined(name) {
        return None;
    }
    let mut args = Args(args.clone());
    let action = action(name, &mut args);
    Some((action, args.0))
}

/// Other names of predefined functions, observed in recorded calls.
pub(super) const ALIASES: [&str; 11] = [
    "left_click",
    "left_mouse_down",
    "left_mouse_up",
    "mouse_move",
    "hover",
    "screenshot",
    "key",
    "type_at",
    "open_url",
    "drag",
    "keypress",
];

/// Whether the name belongs to either vocabulary or is an alias that models use.
pub(super) fn is_predefined(name: &str) -> bool {
    const NAMES: [&str; 33] = [
        "open_web_browser",
        "wait_5_seconds",
        "go_back",
        "go_forward",
        "search",
        "navigate",
        "click_at",
        "hover_at",
        "type_text_at",
        "key_combination",
        "scroll_document",
        "scroll_at",
        "drag_and_drop",
        "move_to",
        "click",
        "double_click",
        "triple_click",
        "middle_click",
        "right_click",
        "mouse_down",
        "mouse_up",
        "move",
        "type",
        "wait",
        "press_key",
        "key_down",
        "key_up",
        "hotkey",
        "take_screenshot",
        "scroll",
        "long_press",
        "open_app",
        "list_apps",
    ];
    NAMES.contains(&name) || ALIASES.contains(&name)
}

fn action(name: &str, args: &mut Args) -> ArgResult<Action> {
    use Button::{Left, Middle, Right};
    use ClickCount::{Double, Single, Triple};
    Ok(match name {
        "click" | "click_at" | "left_click" => click(args, Left, Single)?,
        "double_click" => click(args, Left, Double)?,
        "triple_click" => click(args, Left, Triple)?,
        "middle_click" => click(args, Middle, Single)?,
        "right_click" => click(args, Right, Single)?,
        "mouse_down" | "left_mouse_down" => Action::MouseDown {
            at: Some(Target::Point(args.needed_at()?)),
            button: Left,
        },
        "mouse_up" | "left_mouse_up" => Action::MouseUp {
            at: Some(Target::Point(args.needed_at()?)),
            button: Left,
        },
        "move" | "move_to" | "mouse_move" => Action::Move {
            at: Target::Point(args.needed_at()?),
        },
        "hover_at" | "hover" => Action::Hover {
            at: Target::Point(args.needed_at()?),
        },
        "drag_and_drop" | "drag" => drag(args)?,
        "scroll" => scroll(args, ScrollTarget::Point, DEFAULT_SCROLL)?,
        "scroll_at" => scroll(args, ScrollTarget::Point, DEFAULT_LEGACY_SCROLL)?,
        "scroll_document" => scroll(args, ScrollTarget::Page, DEFAULT_LEGACY_SCROLL)?,
        "type" | "type_at" => typed(args, false)?,
        "type_text_at" => typed(args, true)?,
        "press_key" | "key" | "hotkey" | "key_combination" | "keypress" => Action::Key {
            chord: args.chord()?,
            repeat: 1,
        },
        "key_down" => Action::KeyDown {
            chord: args.chord()?,
        },
        "key_up" => Action::KeyUp {
            chord: args.chord()?,
        },
        "wait" => Action::Wait {
            duration: args.seconds()?,
        },
        "wait_5_seconds" => Action::Wait {
            duration: Some(Duration::from_secs(5)),
        },
        "take_screenshot" | "screenshot" => Action::Screenshot,
        _ => other_action(name, args)?,
    })
}

/// Actions without pointer, keys or screenshots.
fn other_action(name: &str, args: &mut Args) -> ArgResult<Action> {
    Ok(match name {
        "open_web_browser" => Action::OpenBrowser {
            url: args.text(&["url"])?,
        },
        "go_back" => Action::Back { tab: None },
        "go_forward" => Action::Forward { tab: None },
        "navigate" | "open_url" => Action::Navigate {
            url: args.needed_text(&["url"])?,
            tab: None,
        },
        "search" => Action::Search { query: None },
        "open_app" => Action::OpenApp {
            name: args.needed_text(&["app_name", "name"])?,
        },
        "long_press" => Action::LongPress {
            at: Target::Point(args.needed_at()?),
            duration: args.seconds()?,
        },
        other => Action::Other {
            name: other.to_owned(),
            args: Map::new(),
        },
    })
}

fn click(args: &mut Args, button: Button, count: ClickCount) -> ArgResult<Action> {
    Ok(Action::Click {
        at: Some(Target::Point(args.needed_at()?)),
        button,
        count,
        modifiers: Vec::new(),
    })
}

/// Both vocabularies have a function of this name, with different arguments.
fn drag(args: &mut Args) -> ArgResult<Action> {
    let start = args.point(&[("start_x", "start_y"), ("source_x", "source_y"), ("x", "y")])?;
    let start = start.ok_or("`start_x` is missing")?;
    let end = args.point(&[
        ("end_x", "end_y"),
        ("destination_x", "destination_y"),
        ("target_x", "target_y"),
    ])?;
    let end = end.ok_or("`end_x` is missing")?;
    Ok(Action::Drag {
        path: vec![Target::Point(start), Target::Point(end)],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
    })
}

/// What a scroll function scrolls.
#[derive(Clone, Copy, PartialEq)]
enum ScrollTarget {
    /// The element at a point.
    Point,
    /// The page, at the pointer's position.
    Page,
}

/// Distances are thousandths, whatever the argument's name says; only wheel clicks are notches.
fn scroll(args: &mut Args, target: ScrollTarget, default: f64) -> ArgResult<Action> {
    let at = match target {
        ScrollTarget::Point => Some(Target::Point(args.needed_at()?)),
        ScrollTarget::Page => None,
    };
    let clicks = args.number("magnitude_in_wheel_clicks")?;
    let (amount, unit) = match clicks {
        Some(clicks) => (clicks, ScrollUnit::Clicks),
        None => {
            let pixels = args.number("magnitude_in_pixels")?;
            let distance =
                pixels.map_or_else(|| args.number("magnitude"), |pixels| Ok(Some(pixels)))?;
            (distance.unwrap_or(default), ScrollUnit::Thousandths)
        }
    };
    if amount < 0.0 {
        return Err(format!(
            "the magnitude is {amount}, expected a number from 0"
        ));
    }
    let direction = args.needed_text(&["direction"])?.to_ascii_lowercase();
    let (dx, dy) = scroll_distance("direction", &direction, amount)?;
    Ok(Action::Scroll {
        at,
        dx,
        dy,
        unit,
        modifiers: Vec::new(),
    })
}

/// The legacy function clicks first; it clears and submits by default.
fn typed(args: &mut Args, is_legacy: bool) -> ArgResult<Action> {
    let at = if is_legacy {
        Some(args.needed_at()?)
    } else {
        args.at()?
    };
    Ok(Action::Type {
        text: args.needed_text(&["text"])?,
        at: at.map(Target::Point),
        clear_first: args.flag("clear_before_typing", is_legacy)?,
        submit: args.flag("press_enter", is_legacy)?,
    })
}
