//! Encodes one action as members of the browser toolset.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::{Action, Button, Target};

use super::{
    LossNotes, MemberSteps, click_at, click_name, key, non_null_members, notches, number,
    pixel_point, single_step, target, typed, wait,
};
use crate::anthropic::xdotool_keys;

pub(super) fn steps(action: &Action, notes: &mut LossNotes<'_>) -> MemberSteps {
    match action {
        Action::Screenshot => single_step("screenshot", json!({})),
        Action::Zoom { region } => {
            let (from, to) = (
                pixel_point(region.from, notes)?,
                pixel_point(region.to, notes)?,
            );
            single_step("zoom", json!({"region": [from.0, from.1, to.0, to.1]}))
        }
        Action::Click {
            at: Some(at),
            button,
            count,
            modifiers,
        } => {
            let modifiers = xdotool_keys::modifiers(modifiers).map_or(Value::Null, Value::from);
            single_step(
                click_name(*button, *count)?,
                non_null_members([("target", target(at, notes)?), ("modifiers", modifiers)]),
            )
        }
        Action::Hover { at } => single_step("hover", json!({"target": target(at, notes)?})),
        Action::Move {
            at: at @ Target::Point(_),
        } => single_step("mouse_move", json!({"target": target(at, notes)?})),
        Action::MouseDown {
            at: Some(at @ Target::Point(_)),
            button: Button::Left,
        } => single_step("left_mouse_down", json!({"target": target(at, notes)?})),
        Action::MouseUp {
            at: Some(at @ Target::Point(_)),
            button: Button::Left,
        } => single_step("left_mouse_up", json!({"target": target(at, notes)?})),
        Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: _,
        } if modifiers.is_empty() => {
            let [from @ Target::Point(_), to @ Target::Point(_)] = path.as_slice() else {
                return None;
            };
            single_step(
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
            let scroll = |(direction, amount): (&str, u32)| {
                // The member accepts 1 to 10.
                let amount = amount.clamp(1, 10);
                (
                    "scroll",
                    json!({"target": target, "scroll_direction": direction, "scroll_amount": amount}),
                )
            };
            let notches = notches(*dx, *dy, *unit, notes)?;
            if notches.iter().any(|(_, amount)| !(1..=10).contains(amount)) {
                notes.preserved(
                    "scroll distance",
                    "the browser toolset scrolls by 1 to 10 notches",
                    "as the nearest supported distance",
                );
            }
            Some(notches.into_iter().map(scroll).collect())
        }
        Action::Type {
            text,
            at,
            clear_first,
            submit,
        } => {
            let mut steps = Vec::new();
            if let Some(at) = at {
                steps.extend(self::steps(&click_at(at), notes)?);
            }
            steps.extend(typed(text, *clear_first, *submit));
            Some(steps)
        }
        Action::Key { chord, repeat } => key(&xdotool_keys::chord(chord), *repeat, true),
        Action::HoldKey { chord, duration } => {
            let seconds = seconds_up_to(*duration, 30)?;
            single_step(
                "hold_key",
                json!({"text": xdotool_keys::chord(chord), "duration": seconds}),
            )
        }
        Action::Wait { duration } => single_step(
            "wait",
            json!({"duration": seconds_up_to(wait(*duration, notes), 30)?}),
        ),
        _ => page_steps(action, notes),
    }
}

fn page_steps(action: &Action, notes: &mut LossNotes<'_>) -> MemberSteps {
    let navigate = |url: &str, tab: &Option<String>| {
        single_step(
            "navigate",
            non_null_members([("url", json!(url)), ("tab_id", json!(tab))]),
        )
    };
    let only_tab =
        |name, tab: &Option<String>| single_step(name, non_null_members([("tab_id", json!(tab))]));
    match action {
        Action::Navigate { url, tab } => navigate(url, tab),
        Action::Back { tab } => navigate("back", tab),
        Action::Forward { tab } => navigate("forward", tab),
        Action::Reload { tab } => navigate("reload", tab),
        Action::ListTabs => single_step("list_tabs", json!({})),
        Action::NewTab { url: None } => single_step("new_tab", json!({})),
        Action::NewTab { url: Some(url) } => Some(vec![
            ("new_tab", json!({})),
            ("navigate", json!({"url": url})),
        ]),
        Action::SwitchTab { tab } => single_step("switch_tab", json!({"tab_id": tab})),
        Action::CloseTab { tab } => single_step("close_tab", json!({"tab_id": tab})),
        Action::ReadPage {
            filter,
            depth,
            root,
            tab,
        } => {
            let root = match root {
                None => Value::Null,
                Some(Target::Ref { id, frame: _ }) => json!(id),
                Some(Target::Point(_) | Target::Label { .. } | Target::Named(_)) => return None,
            };
            single_step(
                "read_page",
                non_null_members([
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
        Action::Find { query, tab } => single_step(
            "find",
            non_null_members([("query", json!(query)), ("tab_id", json!(tab))]),
        ),
        Action::FormInput { at, value, tab } => single_step(
            "form_input",
            non_null_members([
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
            single_step(
                "file_upload",
                non_null_members([
                    ("target", target(at, notes)?),
                    ("paths", list(paths)),
                    ("document_ids", list(documents)),
                    ("tab_id", json!(tab)),
                ]),
            )
        }
        Action::ScrollTo { at, tab } => single_step(
            "scroll_to",
            non_null_members([("target", target(at, notes)?), ("tab_id", json!(tab))]),
        ),
        Action::Javascript { script, tab } => single_step(
            "javascript_exec",
            non_null_members([("text", json!(script)), ("tab_id", json!(tab))]),
        ),
        _ => None,
    }
}

fn seconds_up_to(duration: Duration, max_secs: u64) -> Option<Value> {
    (duration <= Duration::from_secs(max_secs)).then(|| number(duration.as_secs_f64()))
}
