//! What a function call and its result cannot hold, reported alike by chat messages and Mistral's
//! entries.

use std::collections::HashMap;

use telechir_protocol::{Content, ShellEnvironment, ToolResult};

use super::Flavour;
use crate::Report;
use crate::digest::digest;

/// The error for a call without a result, which the services reject.
pub(crate) fn missing_result(id: &str, report: &mut Report) -> &'static str {
    report.preserved(
        "the absence of a result",
        format!("call {id}"),
        "every call must be answered before the next message",
        "as an error result",
    );
    "Error (not executed): The history has no result of this call."
}

/// Reports the parts of a call that a function call cannot hold. `is_own` says that the call came
/// from the target dialect, where it was such a call already.
pub(crate) fn call(content: &Content, is_own: bool, path: &str, report: &mut Report) {
    let why = "a function call has no field for it";
    if let Content::ComputerCall(call) = content {
        if let Some(intent) = &call.intent {
            report.lost(format!("intent `{intent}`"), path, why);
        }
        if !call.pending_safety_checks.is_empty() {
            report.lost("pending safety checks", path, why);
        }
        if call.actions.is_empty() && !is_own {
            let how = "as a call without actions";
            let what = match &call.group {
                Some(group) => format!("an invalid call of `{group}`"),
                None => "an invalid call".to_owned(),
            };
            report.preserved(what, path, why, how);
        }
    }
    if let Content::ShellCall(call) = content
        && call.environment != ShellEnvironment::Local
    {
        let how = "as a call of the function `shell`";
        report.preserved("the executor of the commands", path, why, how);
    }
    if let Content::FunctionCall(call) = content
        && !call.requires_local_execution
        && !is_own
    {
        let how = "as a call of a function of the same name";
        let what = format!("a call of `{}` executed by the provider", call.name);
        report.preserved(what, path, "it belongs to another provider", how);
    }
}

/// Reports acknowledged safety checks, which a function result cannot hold.
pub(crate) fn acknowledged(result: &ToolResult, path: &str, report: &mut Report) {
    let ToolResult::Computer(result) = result else {
        return;
    };
    for check in &result.acknowledged_safety_checks {
        let what = format!("acknowledged safety check {}", check.id);
        report.lost(what, path, "a function result has no field for it");
    }
}

/// Derives an id that the service accepts from another id, deterministically, adds it to `ids` and
/// reports it.
pub(crate) fn replaced_id(
    flavour: Flavour,
    own: String,
    ids: &mut HashMap<String, String>,
    path: &str,
    report: &mut Report,
) -> String {
    let (prefix, why) = match flavour {
        Flavour::Mistral | Flavour::Conversations => {
            ("tc", "ids consist of nine letters and digits")
        }
        Flavour::Functions | Flavour::Inline => ("call_tc", "ids are limited to 40 characters"),
    };
    let id = synthetic_id(prefix, &own, ids);
    let how = format!("as `{id}`, which cannot be mapped back");
    report.preserved(format!("id `{own}`"), path, why, how);
    ids.insert(own, id.clone());
    id
}

fn synthetic_id(prefix: &str, own: &str, taken: &HashMap<String, String>) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let spelled = |mut number: u64| {
        let mut id = prefix.to_owned();
        for _ in 0..7 {
            let digit = usize::try_from(number % 62).unwrap_or_default();
            id.push(char::from(DIGITS[digit]));
            number /= 62;
        }
        id
    };
    let free = |id: &String| !taken.values().any(|other| other == id);
    (0..)
        .map(|salt| spelled(digest(own, salt)))
        .find(free)
        .unwrap_or_default()
}
