//! The output of one call: its fields, its image, its entries.

use serde_json::Value;

use super::{
    MAX_TEXT_CHARS, Validated, ensure, extra, image, list, one_of, only, text, text_or_empty,
};
use crate::provider::Rejection;

const MAX_IMAGE_URL_CHARS: usize = 20_971_520;
const MAX_EDGE_PIXELS: u32 = 65_535;
const MAX_PATCHES: u64 = 30_000;

pub(super) fn check(answer: &Value, call: &Value, location: &str) -> Validated {
    match text_or_empty(answer, "type") {
        "computer_call_output" => check_computer(answer, call, location),
        "shell_call_output" => check_shell(answer, call, location),
        "local_shell_call_output" => {
            only(
                answer,
                &[&["type", "call_id", "id", "output", "status"]],
                location,
                extra,
            )?;
            text(answer, "output", location).map(drop)
        }
        "apply_patch_call_output" => {
            only(
                answer,
                &[&["type", "call_id", "id", "output", "status", "caller"]],
                location,
                extra,
            )?;
            one_of(
                text_or_empty(answer, "status"),
                &["completed", "failed"],
                &format!("{location}.status"),
            )
        }
        _ => check_function(answer, location),
    }
}

fn check_computer(answer: &Value, call: &Value, location: &str) -> Validated {
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
        location,
        extra,
    )?;
    check_status(answer, location)?;
    let acknowledged = match answer.get("acknowledged_safety_checks") {
        Some(checks) => list(checks, &format!("{location}.acknowledged_safety_checks"))?,
        None => &[],
    };
    for check in acknowledged {
        only(
            check,
            &[&["id", "code", "message"]],
            &format!("{location}.acknowledged_safety_checks"),
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
                text_or_empty(call, "call_id"),
                text_or_empty(pending, "id")
            )
        })?;
    }
    let screen = answer.get("output").unwrap_or(&Value::Null);
    let location = format!("{location}.output");
    one_of(
        text_or_empty(screen, "type"),
        &["computer_screenshot"],
        &format!("{location}.type"),
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
        &location,
        extra,
    )?;
    check_image(screen, &location)
}

fn check_image(container: &Value, location: &str) -> Validated {
    if let Some(detail) = container.get("detail").and_then(Value::as_str) {
        one_of(
            detail,
            &["low", "high", "auto", "original"],
            &format!("{location}.detail"),
        )?;
    }
    let address = text(container, "image_url", location)?;
    ensure(address.len() <= MAX_IMAGE_URL_CHARS, || {
        format!("Invalid '{location}.image_url': string too long.")
    })?;
    let data = address
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let Some((media_type, base64)) = data else {
        return Err(Rejection::invalid(format!(
            "Invalid '{location}.image_url': the recorded model reads only data: addresses."
        )));
    };
    let size = image::measure(media_type, base64).map_err(|problem| {
        Rejection::invalid(format!("Invalid '{location}.image_url': {problem}."))
    })?;
    let fits = size.long_edge() <= MAX_EDGE_PIXELS && size.tiles(32) <= MAX_PATCHES;
    ensure(fits, || {
        format!(
            "Invalid '{location}.image_url': {}x{} is above {MAX_PATCHES} patches.",
            size.width, size.height
        )
    })
}

fn check_shell(answer: &Value, call: &Value, location: &str) -> Validated {
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
        location,
        extra,
    )?;
    check_status(answer, location)?;
    let entries = list(
        answer.get("output").unwrap_or(&Value::Null),
        &format!("{location}.output"),
    )?;
    let commands = call
        .get("action")
        .and_then(|action| action.get("commands"))
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    ensure(entries.len() == commands, || {
        format!(
            "'{location}.output' has {} entries for {commands} commands",
            entries.len()
        )
    })?;
    for (index, entry) in entries.iter().enumerate() {
        let location = format!("{location}.output[{index}]");
        only(entry, &[&["stdout", "stderr", "outcome"]], &location, extra)?;
        for name in ["stdout", "stderr"] {
            let long = text(entry, name, &location)?.chars().count() > MAX_TEXT_CHARS;
            ensure(!long, || {
                format!("Invalid '{location}.{name}': string too long.")
            })?;
        }
        check_outcome(
            entry.get("outcome").unwrap_or(&Value::Null),
            &format!("{location}.outcome"),
        )?;
    }
    let call_ids = call
        .get("action")
        .and_then(|action| action.get("max_output_length"))
        .filter(|limit| !limit.is_null());
    ensure(
        call_ids.is_none() || answer.get("max_output_length") == call_ids,
        || format!("'{location}.max_output_length' must repeat the call's"),
    )
}

fn check_outcome(outcome: &Value, location: &str) -> Validated {
    one_of(
        text_or_empty(outcome, "type"),
        &["exit", "timeout"],
        &format!("{location}.type"),
    )?;
    if text_or_empty(outcome, "type") == "timeout" {
        return only(outcome, &[&["type"]], location, extra);
    }
    only(outcome, &[&["type", "exit_code"]], location, extra)?;
    ensure(outcome.get("exit_code").is_some_and(Value::is_i64), || {
        format!("Missing required parameter: '{location}.exit_code'.")
    })
}

fn check_function(answer: &Value, location: &str) -> Validated {
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
        location,
        extra,
    )?;
    check_status(answer, location)?;
    let parts = match answer.get("output") {
        Some(Value::String(text_of)) => {
            return ensure(text_of.chars().count() <= MAX_TEXT_CHARS, || {
                format!("Invalid '{location}.output': string too long.")
            });
        }
        Some(parts) => list(parts, &format!("{location}.output"))?,
        None => {
            return Err(Rejection::invalid(format!(
                "Missing required parameter: '{location}.output'."
            )));
        }
    };
    for (index, part) in parts.iter().enumerate() {
        let location = format!("{location}.output[{index}]");
        match text_or_empty(part, "type") {
            "input_text" => text(part, "text", &location).map(drop)?,
            "input_image" => check_image(part, &location)?,
            "input_file" => {}
            other => {
                return Err(Rejection::invalid(format!(
                    "Invalid value: '{other}' at '{location}.type'."
                )));
            }
        }
    }
    Ok(())
}

/// A client's output is never `failed`; the vendor's own clients omit the field.
fn check_status(answer: &Value, location: &str) -> Validated {
    match answer.get("status") {
        None => Ok(()),
        Some(status) => one_of(
            status.as_str().unwrap_or_default(),
            &["in_progress", "completed", "incomplete"],
            &format!("{location}.status"),
        ),
    }
}

/// All text of an output.
pub(super) fn text_of(answer: &Value) -> String {
    let Some(parts) = answer.get("output").and_then(Value::as_array) else {
        return text_or_empty(answer, "output").to_owned();
    };
    let text_of = parts
        .iter()
        .flat_map(|part| ["text", "stdout", "stderr"].map(|name| text_or_empty(part, name)));
    text_of
        .filter(|text_of| !text_of.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
