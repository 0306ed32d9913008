//! Actions that a model must not use, by their names in any vocabulary.

use std::collections::{BTreeSet, HashSet};

use telechir_protocol::{
    Button, ClickCount, ComputerUseTool, Environment, Tool, normalize_action_type,
};

use super::Declared;
use crate::declaration::{RefuseTool, end_declaration, tool_location};
use crate::{Report, ToolOffer};

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
    codec: &impl Fn(&ToolOffer, RefuseTool<'_>) -> Declared,
    declared: &[(usize, &Tool)],
    model: Option<&String>,
    report: &mut Report,
) {
    let declare = |tools: Vec<Tool>| {
        let model = model.cloned();
        codec(&ToolOffer { tools, model }, &mut end_declaration)
    };
    let is_screen = |tool: &Tool| matches!(tool, Tool::ComputerUse(tool) if tool.environment != Some(Environment::Browser));
    let mut tools = declared.iter().map(|(_, tool)| *tool);
    let screen = tools.find(|tool| is_screen(tool));
    let words = report_words(report);
    for (at, tool) in declared {
        let Tool::ComputerUse(computer) = tool else {
            continue;
        };
        // Beside a screen, a browser may be declared differently.
        let beside = screen.filter(|_| !is_screen(tool));
        let parts: BTreeSet<&String> = computer
            .excluded_actions
            .iter()
            .filter(|name| normalize_action_type(name).action != name.as_str())
            .filter(|name| !words.contains(name.as_str()))
            .collect();
        let with = |computer: ComputerUseTool| {
            let tools = beside.cloned().into_iter();
            declare(tools.chain([Tool::ComputerUse(computer)]).collect()).ok()
        };
        let Some((declaration, _)) = (!parts.is_empty())
            .then(|| with(computer.clone()))
            .flatten()
        else {
            continue;
        };
        for name in parts {
            let mut computer = computer.clone();
            computer.excluded_actions.retain(|other| other != name);
            if with(computer).is_some_and(|(other, _)| other == declaration) {
                let why = "the tool cannot exclude a part of an action";
                report.lost(format!("exclusion of {name}"), tool_location(*at), why);
            }
        }
    }
}

/// The words of all entries, as names of actions are written.
fn report_words(report: &Report) -> HashSet<String> {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let texts = report.losses.iter().map(|loss| loss.what.as_str());
    let words = texts.flat_map(|text| text.split(is_separator));
    words.map(str::to_owned).collect()
}
