//! Actions that a model must not use, by their names in any vocabulary.

use telechir_protocol::{Button, ClickCount, Tool, normalize_action_type};

use super::Declared;
use crate::{Declaration, Report, ToolOffer};

/// Types of actions whose classes start with `CU`, if they differ from all other names.
const CLASS_TYPES: [&str; 7] = [
    "left_mouse_down",
    "left_mouse_up",
    "left_mouse_click",
    "left_mouse_double_click",
    "left_mouse_triple_click",
    "keypress",
    "keypress_hold",
];

/// Replaces the names of classes by the names that dialects know.
pub(super) fn normalize(tool: &mut Tool) {
    let Tool::ComputerUse(tool) = tool else {
        return;
    };
    for name in &mut tool.excluded_actions {
        if name.starts_with("CU") || CLASS_TYPES.contains(&name.as_str()) {
            *name = plain(name).to_owned();
        }
    }
}

fn plain(name: &str) -> &str {
    let action = normalize_action_type(name);
    if action.action != "click" {
        return action.action;
    }
    match (action.count, action.button) {
        (Some(ClickCount::Double), _) => "double_click",
        (Some(ClickCount::Triple), _) => "triple_click",
        (_, Some(Button::Right)) => "right_click",
        (_, Some(Button::Middle)) => "middle_click",
        (_, Some(Button::Back)) => "back_click",
        (_, Some(Button::Forward)) => "forward_click",
        (_, Some(Button::Left) | None) => "left_click",
    }
}

/// Reports exclusions of a part of an action, such as one button, that change nothing.
pub(super) fn report_ignored(
    codec: &impl Fn(&ToolOffer) -> Declared,
    offer: &ToolOffer,
    declaration: &Declaration,
    report: &mut Report,
) {
    for (at, tool) in offer.tools.iter().enumerate() {
        let Tool::ComputerUse(computer) = tool else {
            continue;
        };
        for name in &computer.excluded_actions {
            let is_part = normalize_action_type(name).action != name;
            let is_reported = report
                .losses
                .iter()
                .any(|loss| loss.what.contains(name.as_str()));
            if !is_part || is_reported {
                continue;
            }
            let mut computer = computer.clone();
            computer.excluded_actions.retain(|other| other != name);
            let mut without = offer.clone();
            if let Some(tool) = without.tools.get_mut(at) {
                *tool = Tool::ComputerUse(computer);
            }
            if codec(&without).is_ok_and(|(other, _)| other == *declaration) {
                let why = "the tool cannot exclude a part of an action";
                report.lost(format!("exclusion of {name}"), format!("tools[{at}]"), why);
            }
        }
    }
}
