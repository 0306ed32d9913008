//! Encodes computer and browser calls as blocks.

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, ComputerCall};

use super::losses::{legal_id, report_losses};
use super::{EncodedToolUse, ToolUseStyle, finish, location};
use crate::Report;
use crate::anthropic::PROVIDER;
use crate::anthropic::decode_call::{BROWSER, COMPUTER, FORM, LEGACY_TOOL, toolset_name};
use crate::anthropic::encode_action::{self, LossNotes, ToolsetMember};
use crate::anthropic::models::ToolVersion;
use crate::extra_tools;
use crate::history::split_ids;

pub(super) fn computer(
    call: &ComputerCall,
    style: ToolUseStyle,
    report: &mut Report,
) -> EncodedToolUse {
    let location = location(&call.call_id);
    report_losses(
        report,
        &location,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    if let Some(intent) = &call.intent {
        report.lost(
            format!("intent {intent:?}"),
            &location,
            "a call has no field for it",
        );
    }
    for check in &call.pending_safety_checks {
        report.lost(
            format!("safety check {}", check.id),
            &location,
            "a call has no field for safety checks",
        );
    }
    let is_browser = call.group.as_deref() == Some(BROWSER)
        || call
            .target
            .as_ref()
            .is_some_and(|target| target.as_str() == BROWSER);
    // A changed call keeps its tool version: that is the one its model supports.
    let is_legacy_tool = call.meta.property(PROVIDER, FORM) == Some(&LEGACY_TOOL.into());
    let version = match style.version {
        _ if toolset_name(&call.meta).is_some() => ToolVersion::Toolset,
        ToolVersion::Toolset if is_legacy_tool => ToolVersion::November2025,
        version => version,
    };
    let style = ToolUseStyle { version, ..style };
    if let Some(block) = unknown_action(call, is_legacy_tool) {
        return finish(vec![(block, 0)], &call.meta);
    }
    let (indices, actions) = drop_unanswerable_screenshots(call, style, report, &location);
    let mut noted = Report::default();
    let notes = &mut LossNotes {
        report: &mut noted,
        location: &location,
    };
    let members = if !is_browser {
        encode_action::computer(&actions, style.version, notes)
    } else if style.version == ToolVersion::Toolset && (style.tabs || !are_about_tabs(&actions)) {
        encode_action::browser(&actions, notes)
    } else {
        None
    };
    let toolset = (style.version == ToolVersion::Toolset).then_some(if is_browser {
        BROWSER
    } else {
        COMPUTER
    });
    match members.filter(|members| !members.is_empty()) {
        Some(members) => {
            report.absorb(noted);
            let count = members.len();
            let base = legal_id(&call.call_id, report);
            let blocks = members.into_iter().enumerate().map(|(at, mut member)| {
                member.action = indices.get(member.action).copied().unwrap_or(member.action);
                member_block(&split_ids::part_id(&base, at + 1, count), member, toolset)
            });
            finish(blocks.collect::<Vec<_>>(), &call.meta)
        }
        None => function_call(call, is_browser, style.version, report),
    }
}

/// Encodes a call of this dialect whose only action is unknown, as it was decoded.
fn unknown_action(call: &ComputerCall, is_legacy_tool: bool) -> Option<Value> {
    let [Action::Other { name, args }] = call.actions.as_slice() else {
        return None;
    };
    let id = call.call_id.as_str();
    if is_legacy_tool {
        let mut input = Map::from_iter([("action".to_owned(), name.as_str().into())]);
        input.extend(args.clone());
        return Some(json!({"type": "tool_use", "id": id, "name": COMPUTER, "input": input}));
    }
    let toolset = toolset_name(&call.meta)?;
    Some(
        json!({"type": "tool_use", "id": id, "name": name, "toolset_name": toolset, "input": args}),
    )
}

/// Drops screenshots amid a batch if only the last image is known, because their results would
/// need one. Returns the other actions with their indices.
fn drop_unanswerable_screenshots(
    call: &ComputerCall,
    style: ToolUseStyle,
    report: &mut Report,
    location: &str,
) -> (Vec<usize>, Vec<Action>) {
    let last = call.actions.len().saturating_sub(1);
    let stays = |(at, action): &(usize, &Action)| {
        style.images || *at == last || !matches!(action, Action::Screenshot | Action::Zoom { .. })
    };
    let answerable = call.actions.iter().enumerate().filter(stays);
    let (indices, actions): (Vec<usize>, Vec<Action>) =
        answerable.map(|(at, action)| (at, action.clone())).unzip();
    if actions.len() < call.actions.len() {
        report.preserved(
            "a screenshot amid the batch",
            location,
            "its image is unknown",
            "as the only screenshot of the batch",
        );
    }
    (indices, actions)
}

/// Whether an action is about tabs. A switch before another action only selects its tab.
fn are_about_tabs(actions: &[Action]) -> bool {
    match actions {
        [Action::SwitchTab { .. }, action] => is_about_tabs(action),
        actions => actions.iter().any(is_about_tabs),
    }
}

fn is_about_tabs(action: &Action) -> bool {
    matches!(
        action,
        Action::ListTabs
            | Action::NewTab { .. }
            | Action::SwitchTab { .. }
            | Action::CloseTab { .. }
    )
}

fn member_block(id: &str, member: ToolsetMember, toolset: Option<&str>) -> (Value, usize) {
    let block = match toolset {
        Some(toolset) => {
            json!({"type": "tool_use", "id": id, "name": member.name, "toolset_name": toolset, "input": member.input})
        }
        None => {
            let mut input = Map::from_iter([("action".to_owned(), member.name.into())]);
            input.extend(member.input);
            json!({"type": "tool_use", "id": id, "name": COMPUTER, "input": input})
        }
    };
    (block, member.action)
}

/// Encodes the call as one of our function tools, whose arguments are the neutral actions.
fn function_call(
    call: &ComputerCall,
    is_browser: bool,
    version: ToolVersion,
    report: &mut Report,
) -> EncodedToolUse {
    let (mut name, arguments) = extra_tools::encode_computer_call(call);
    let mut input: Value = serde_json::from_str(&arguments).unwrap_or_default();
    if is_browser && version == ToolVersion::Toolset {
        // The toolset reserves the name `browser`.
        name = extra_tools::COMPUTER;
        input["target"] = BROWSER.into();
    }
    // Older models get the browser as this function.
    if !is_browser || version == ToolVersion::Toolset {
        let names = extra_tools::action_names(call);
        report.preserved(
            format!("computer call {names}"),
            location(&call.call_id),
            "the provider's tools do not support it",
            format!("as a call of a function named {name}"),
        );
    }
    let id = legal_id(&call.call_id, report);
    let last = call.actions.len().saturating_sub(1);
    finish(
        vec![(
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            last,
        )],
        &call.meta,
    )
}
