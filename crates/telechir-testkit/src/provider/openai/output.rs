//! One answer to a call: its members, its picture, its entries.

use serde_json::Value;

use super::{Checked, LONGEST_TEXT, ensure, extra, image, list, one_of, only, text, word};
use crate::provider::Refusal;

const LONGEST_IMAGE_URL: usize = 20_971_520;
const LONGEST_EDGE: u32 = 65_535;
const MOST_PATCHES: u64 = 30_000;

pub(super) fn check(answer: &Value, call: &Value, place: &str) -> Checked {
    match word(answer, "type") {
        "computer_call_output" => check_computer(answer, call, place),
        "shell_call_output" => check_shell(answer, call, place),
        "local_shell_call_output" => {
            only(
                answer,
                &[&["type", "call_id", "id", "output", "status"]],
                place,
                extra,
            )?;
            text(answer, "output", place).map(drop)
        }
        "apply_patch_call_output" => {
            only(
                answer,
                &[&["type", "call_id", "id", "output", "status", "caller"]],
                place,
                extra,
            )?;
            one_of(
                word(answer, "status"),
                &["completed", "failed"],
                &format!("{place}.status"),
            )
        }
        _ => check_function(answer, place),
    }
}

fn check_computer(answer: &Value, call: &Value, place: &str) -> Checked {
    only(
        answer,
        &[&[
            "type",
            "call_id",
            "id",
            "output",
            "acknowledged_safety_checks",
            "status",
        ]],
        place,
        extra,
    )?;
    check_status(answer, place)?;
    let acknowledged = match answer.get("acknowledged_safety_checks") {
        Some(checks) => list(checks, &format!("{place}.acknowledged_safety_checks"))?,
        None => &[],
    };
    for check in acknowledged {
        only(
            check,
            &[&["id", "code", "message"]],
            &format!("{place}.acknowledged_safety_checks"),
            extra,
        )?;
    }
    for pending in call
        .get("pending_safety_checks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let known = acknowledged
            .iter()
            .any(|check| check.get("id") == pending.get("id"));
        ensure(known, || {
            format!(
                "Computer tool call {} has a pending safety check that was not acknowledged: {}.",
                word(call, "call_id"),
                word(pending, "id")
            )
        })?;
    }
    let screen = answer.get("output").unwrap_or(&Value::Null);
    let place = format!("{place}.output");
    one_of(
        word(screen, "type"),
        &["computer_screenshot"],
        &format!("{place}.type"),
    )?;
    only(
        screen,
        &[&[
            "type",
            "image_url",
            "file_id",
            "detail",
            "prompt_cache_breakpoint",
        ]],
        &place,
        extra,
    )?;
    check_image(screen, &place)
}

fn check_image(holder: &Value, place: &str) -> Checked {
    if let Some(detail) = holder.get("detail").and_then(Value::as_str) {
        one_of(
            detail,
            &["low", "high", "auto", "original"],
            &format!("{place}.detail"),
        )?;
    }
    let address = text(holder, "image_url", place)?;
    ensure(address.len() <= LONGEST_IMAGE_URL, || {
        format!("Invalid '{place}.image_url': string too long.")
    })?;
    let data = address
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let Some((media_type, base64)) = data else {
        return Err(Refusal::invalid(format!(
            "Invalid '{place}.image_url': the recorded model reads only data: addresses."
        )));
    };
    let size = image::measure(media_type, base64)
        .map_err(|problem| Refusal::invalid(format!("Invalid '{place}.image_url': {problem}.")))?;
    let fits = size.long_edge() <= LONGEST_EDGE && size.tiles(32) <= MOST_PATCHES;
    ensure(fits, || {
        format!(
            "Invalid '{place}.image_url': {}x{} is above {MOST_PATCHES} patches.",
            size.width, size.height
        )
    })
}

fn check_shell(answer: &Value, call: &Value, place: &str) -> Checked {
    only(
        answer,
        &[&[
            "type",
            "call_id",
            "id",
            "output",
            "max_output_length",
            "status",
            "caller",
        ]],
        place,
        extra,
    )?;
    check_status(answer, place)?;
    let entries = list(
        answer.get("output").unwrap_or(&Value::Null),
        &format!("{place}.output"),
    )?;
    let commands = call
        .get("action")
        .and_then(|action| action.get("commands"))
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    ensure(entries.len() == commands, || {
        format!(
            "'{place}.output' has {} entries for {commands} commands",
            entries.len()
        )
    })?;
    for (index, entry) in entries.iter().enumerate() {
        let place = format!("{place}.output[{index}]");
        only(entry, &[&["stdout", "stderr", "outcome"]], &place, extra)?;
        for name in ["stdout", "stderr"] {
            let long = text(entry, name, &place)?.chars().count() > LONGEST_TEXT;
            ensure(!long, || {
                format!("Invalid '{place}.{name}': string too long.")
            })?;
        }
        check_outcome(
            entry.get("outcome").unwrap_or(&Value::Null),
            &format!("{place}.outcome"),
        )?;
    }
    let asked = call
        .get("action")
        .and_then(|action| action.get("max_output_length"))
        .filter(|limit| !limit.is_null());
    ensure(
        asked.is_none() || answer.get("max_output_length") == asked,
        || format!("'{place}.max_output_length' must repeat the call's"),
    )
}

fn check_outcome(outcome: &Value, place: &str) -> Checked {
    one_of(
        word(outcome, "type"),
        &["exit", "timeout"],
        &format!("{place}.type"),
    )?;
    if word(outcome, "type") == "timeout" {
        return only(outcome, &[&["type"]], place, extra);
    }
    only(outcome, &[&["type", "exit_code"]], place, extra)?;
    ensure(outcome.get("exit_code").is_some_and(Value::is_i64), || {
        format!("Missing required parameter: '{place}.exit_code'.")
    })
}

fn check_function(answer: &Value, place: &str) -> Checked {
    only(
        answer,
        &[&[
            "type",
            "call_id",
            "id",
            "output",
            "status",
            "caller",
            "name",
            "namespace",
        ]],
        place,
        extra,
    )?;
    check_status(answer, place)?;
    let parts = match answer.get("output") {
        Some(Value::String(words)) => {
            return ensure(words.chars().count() <= LONGEST_TEXT, || {
                format!("Invalid '{place}.output': string too long.")
            });
        }
        Some(parts) => list(parts, &format!("{place}.output"))?,
        None => {
            return Err(Refusal::invalid(format!(
                "Missing required parameter: '{place}.output'."
            )));
        }
    };
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}.output[{index}]");
        match word(part, "type") {
            "input_text" => text(part, "text", &place).map(drop)?,
            "input_image" => check_image(part, &place)?,
            "input_file" => {}
            other => {
                return Err(Refusal::invalid(format!(
                    "Invalid value: '{other}' at '{place}.type'."
                )));
            }
        }
    }
    Ok(())
}

/// A client's answer is never `failed`; the vendor's own clients leave the member out.
fn check_status(answer: &Value, place: &str) -> Checked {
    match answer.get("status") {
        None => Ok(()),
        Some(status) => one_of(
            status.as_str().unwrap_or_default(),
            &["in_progress", "completed", "incomplete"],
            &format!("{place}.status"),
        ),
    }
}

/// All that an answer says in words.
pub(super) fn text_of(answer: &Value) -> String {
    let Some(parts) = answer.get("output").and_then(Value::as_array) else {
        return word(answer, "output").to_owned();
    };
    let words = parts
        .iter()
        .flat_map(|part| ["text", "stdout", "stderr"].map(|name| word(part, name)));
    words
        .filter(|words| !words.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
