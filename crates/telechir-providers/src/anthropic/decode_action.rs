//! Decodes a toolset member, or an action of the legacy computer tools, into neutral actions.

use serde_json::{Map, Value};
use telechir_protocol::{Action, Button, ClickCount, Modifier, ScrollUnit, Target};

use super::input::{DurationLimit, InputResult, ToolInput};
use crate::json::arguments::scroll_distance;

/// Decodes a member of the computer toolset, or an action of the legacy tools, which have looser
/// limits on durations.
pub(super) fn computer(
    name: &str,
    members: &Map<String, Value>,
    is_toolset: bool,
) -> InputResult<Vec<Action>> {
    use Button::{Left, Middle, Right};
    use ClickCount::{Double, Single, Triple};
    let input = ToolInput(members);
    let seconds = if is_toolset {
        DurationLimit::IntegerSeconds { max_secs: 300 }
    } else {
        DurationLimit::AnySeconds { max_secs: 86_400 }
    };
    Ok(vec![match name {
        "screenshot" => Action::Screenshot,
        "zoom" => Action::Zoom {
            region: input.region("region")?,
        },
        "cursor_position" => Action::CursorPosition,
        "left_click" => click(input, Left, Single)?,
        "right_click" => click(input, Right, Single)?,
        "middle_click" => click(input, Middle, Single)?,
        "double_click" => click(input, Left, Double)?,
        "triple_click" => click(input, Left, Triple)?,
        "left_click_drag" => drag(input, is_toolset)?,
        "mouse_move" => Action::Move {
            at: input.needed_point("coordinate")?.into(),
        },
        "left_mouse_down" => Action::MouseDown {
            at: at(input)?,
            button: Left,
        },
        "left_mouse_up" => Action::MouseUp {
            at: at(input)?,
            button: Left,
        },
        "scroll" => {
            let amount = input.needed_count("scroll_amount")?;
            scroll(input, at(input)?, amount, input.modifiers("text")?)?
        }
        "type" => typed(input)?,
        "key" => return keys(input),
        "hold_key" => Action::HoldKey {
            chord: input.chord("text")?,
            duration: input.needed_duration(seconds)?,
        },
        "wait" if is_toolset => Action::Wait {
            duration: Some(input.needed_duration(seconds)?),
        },
        "wait" => Action::Wait {
            duration: input.duration(seconds)?,
        },
        _ => other(name, members),
    }])
}

/// Decodes a member of the browser toolset. A `tab_id` that the action has no field for becomes
/// a switch to that tab before the action.
pub(super) fn browser(name: &str, members: &Map<String, Value>) -> InputResult<Vec<Action>> {
    let input = ToolInput(members);
    let tab = input.text("tab_id")?;
    if let Some(action) = page(name, input, tab.as_deref())? {
        return Ok(vec![action]);
    }
    let mut actions = Vec::new();
    actions.extend(tab.map(|tab| Action::SwitchTab { tab }));
    actions.extend(pointer(name, input)?);
    Ok(actions)
}

/// Decodes members whose action has a tab field or needs no tab; none for any other.
fn page(name: &str, input: ToolInput<'_>, tab: Option<&str>) -> InputResult<Option<Action>> {
    let tab = tab.map(str::to_owned);
    Ok(Some(match name {
        "navigate" => match input.needed_text("url")?.trim() {
            "" => return Err("`url` is empty".to_owned()),
            "back" => Action::Back { tab },
            "forward" => Action::Forward { tab },
            "reload" => Action::Reload { tab },
            url => Action::Navigate {
                url: with_scheme(url),
                tab,
            },
        },
        "list_tabs" => Action::ListTabs,
        "new_tab" => Action::NewTab { url: None },
        "switch_tab" => Action::SwitchTab {
            tab: input.needed_text("tab_id")?,
        },
        "close_tab" => Action::CloseTab {
            tab: input.needed_text("tab_id")?,
        },
        "read_page" => Action::ReadPage {
            filter: input.text("filter")?,
            depth: input.count("depth")?,
            root: input.text("ref")?.map(|id| Target::Ref { id, frame: None }),
            tab,
        },
        "get_page_text" => Action::PageText { tab },
        "read_console" => Action::ReadConsole { tab },
        "read_network" => Action::ReadNetwork { tab },
        "find" => Action::Find {
            query: input.needed_text("query")?,
            tab,
        },
        "form_input" => Action::FormInput {
            at: input.target("target")?,
            value: input.value("value")?,
            tab,
        },
        "file_upload" => {
            let (paths, documents) = (input.texts("paths")?, input.texts("document_ids")?);
            if paths.is_empty() && documents.is_empty() {
                return Err("neither `paths` nor `document_ids` names a file".to_owned());
            }
            Action::FileUpload {
                at: input.target("target")?,
                paths,
                documents,
                tab,
            }
        }
        "scroll_to" => Action::ScrollTo {
            at: input.target("target")?,
            tab,
        },
        "javascript_exec" => Action::Javascript {
            script: input.needed_text("text")?,
            tab,
        },
        _ => return Ok(None),
    }))
}

/// Decodes pointer, keyboard and screenshot members.
fn pointer(name: &str, input: ToolInput<'_>) -> InputResult<Vec<Action>> {
    use Button::{Left, Middle, Right};
    use ClickCount::{Double, Single, Triple};
    let seconds = DurationLimit::AnySeconds { max_secs: 30 };
    let click = |button, count| {
        let modifiers = input.modifiers("modifiers")?;
        Ok::<_, String>(Action::Click {
            at: Some(input.target("target")?),
            button,
            count,
            modifiers,
        })
    };
    Ok(vec![match name {
        "screenshot" => Action::Screenshot,
        "zoom" => Action::Zoom {
            region: input.region("region")?,
        },
        "left_click" => click(Left, Single)?,
        "right_click" => click(Right, Single)?,
        "middle_click" => click(Middle, Single)?,
        "double_click" => click(Left, Double)?,
        "triple_click" => click(Left, Triple)?,
        "hover" => Action::Hover {
            at: input.target("target")?,
        },
        "left_click_drag" => Action::Drag {
            path: vec![input.target("from")?, input.target("target")?],
            button: Left,
            modifiers: input.modifiers("modifiers")?,
            duration: None,
        },
        "left_mouse_down" => Action::MouseDown {
            at: Some(input.target("target")?),
            button: Left,
        },
        "left_mouse_up" => Action::MouseUp {
            at: Some(input.target("target")?),
            button: Left,
        },
        "mouse_move" => Action::Move {
            at: input.target("target")?,
        },
        "scroll" => {
            let amount = input.count("scroll_amount")?.unwrap_or(3);
            scroll(input, Some(input.target("target")?), amount, Vec::new())?
        }
        "type" => typed(input)?,
        "key" => return keys(input),
        "hold_key" => Action::HoldKey {
            chord: input.chord("text")?,
            duration: input.needed_duration(seconds)?,
        },
        "wait" => Action::Wait {
            duration: Some(input.needed_duration(seconds)?),
        },
        _ => other(name, input.0),
    }])
}

fn other(name: &str, members: &Map<String, Value>) -> Action {
    Action::Other {
        name: name.to_owned(),
        args: members.clone(),
    }
}

fn at(input: ToolInput<'_>) -> InputResult<Option<Target>> {
    Ok(input.point("coordinate")?.map(Target::Point))
}

fn click(input: ToolInput<'_>, button: Button, count: ClickCount) -> InputResult<Action> {
    Ok(Action::Click {
        at: at(input)?,
        button,
        count,
        modifiers: input.modifiers("text")?,
    })
}

/// Decodes a drag. Without a start, which legacy tools allow, it starts at the pointer.
fn drag(input: ToolInput<'_>, needs_start: bool) -> InputResult<Action> {
    let start = input.point("start_coordinate")?;
    if needs_start && start.is_none() {
        return Err("`start_coordinate` is missing".to_owned());
    }
    let end = input.needed_point("coordinate")?;
    Ok(Action::Drag {
        path: start.into_iter().chain([end]).map(Target::Point).collect(),
        button: Button::Left,
        modifiers: input.modifiers("text")?,
        duration: None,
    })
}

fn scroll(
    input: ToolInput<'_>,
    at: Option<Target>,
    amount: u32,
    modifiers: Vec<Modifier>,
) -> InputResult<Action> {
    let amount = f64::from(amount);
    let name = "scroll_direction";
    let (dx, dy) = scroll_distance(name, &input.needed_text(name)?, amount)?;
    Ok(Action::Scroll {
        at,
        dx,
        dy,
        unit: ScrollUnit::Clicks,
        modifiers,
    })
}

fn typed(input: ToolInput<'_>) -> InputResult<Action> {
    let text = input.needed_text("text")?;
    Ok(Action::Type {
        text,
        at: None,
        clear_first: false,
        submit: false,
    })
}

/// Decodes key presses. Several chords become several actions, repeated as a sequence.
fn keys(input: ToolInput<'_>) -> InputResult<Vec<Action>> {
    const MAX_KEY_PRESSES: usize = 1000;
    let (chords, repeat) = (input.chords("text")?, input.repeat()?);
    if let [chord] = chords.as_slice() {
        return Ok(vec![Action::Key {
            chord: chord.clone(),
            repeat,
        }]);
    }
    let times = usize::try_from(repeat).unwrap_or(usize::MAX);
    if chords.len().saturating_mul(times) > MAX_KEY_PRESSES {
        return Err(format!(
            "`text` and `repeat` result in more than {MAX_KEY_PRESSES} key presses"
        ));
    }
    let once = chords
        .into_iter()
        .map(|chord| Action::Key { chord, repeat: 1 });
    Ok(std::iter::repeat_n(once, times).flatten().collect())
}

/// Adds `https://` to a URL without a scheme, as the toolset documents.
fn with_scheme(url: &str) -> String {
    const OPAQUE: [&str; 8] = [
        "about:",
        "data:",
        "javascript:",
        "blob:",
        "mailto:",
        "view-source:",
        "file:",
        "chrome:",
    ];
    let lower = url.to_ascii_lowercase();
    let is_scheme = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let has_scheme = url
        .split_once("://")
        .is_some_and(|(name, _)| is_scheme(name));
    if has_scheme || OPAQUE.iter().any(|scheme| lower.starts_with(scheme)) {
        url.to_owned()
    } else {
        format!("https://{url}")
    }
}
