//! Input items: exactly one output per call, reasoning directly before its item, and unchanged
//! model items.

use serde_json::Value;

use super::{MAX_CALL_ID_CHARS, Validated, ensure, list, one_of, only, output, text_or_empty};
use crate::provider::Rejection;

const MESSAGE: &[&str] = &["type", "role", "content", "phase", "status", "id"];
const OUTPUTS: &[&str] = &[
    "computer_call_output",
    "shell_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
    "function_call_output",
    "custom_tool_call_output",
];
/// Item types that the model produces and a client only repeats.
const MODEL_ITEMS: &[&str] = &[
    "reasoning",
    "computer_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
    "function_call",
    "custom_tool_call",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "program",
    "program_output",
    "tool_search_call",
    "compaction",
];

pub(super) fn check(body: &Value, history: &[Vec<Value>]) -> Validated {
    let items = match body.get("input") {
        Some(Value::String(text)) if !text.is_empty() => return Ok(()),
        Some(input) => list(input, "input")?,
        None => return Err(Rejection::invalid("Missing required parameter: 'input'.")),
    };
    ensure(!items.is_empty(), || {
        "input: at least one item is required".to_owned()
    })?;
    let history: Vec<&Value> = history.iter().flatten().collect();
    for (index, item) in items.iter().enumerate() {
        let location = format!("input[{index}]");
        match text_or_empty(item, "type") {
            "message" | "" => check_message(item, &history, &location)?,
            kind if OUTPUTS.contains(&kind) => check_answer(items, index, &location)?,
            kind if MODEL_ITEMS.contains(&kind) => check_unchanged(item, &history, &location)?,
            other => {
                return Err(Rejection::invalid(format!(
                    "Invalid value: '{other}' at '{location}.type'."
                )));
            }
        }
        if text_or_empty(item, "type") == "reasoning" {
            check_followed(item, items.get(index + 1), &location)?;
        }
    }
    check_answered(items)?;
    check_nothing_lost(items, &history)
}

fn check_message(item: &Value, history: &[&Value], location: &str) -> Validated {
    only(item, &[MESSAGE], location, super::extra)?;
    one_of(
        text_or_empty(item, "role"),
        &["user", "assistant", "system", "developer"],
        &format!("{location}.role"),
    )?;
    if text_or_empty(item, "role") == "assistant" && item.get("id").is_some() {
        return check_unchanged(item, history, location);
    }
    let empty = match item.get("content") {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(parts)) => {
            for (index, part) in parts.iter().enumerate() {
                let kinds = &[
                    "input_text",
                    "input_image",
                    "input_file",
                    "output_text",
                    "refusal",
                ];
                one_of(
                    text_or_empty(part, "type"),
                    kinds,
                    &format!("{location}.content[{index}].type"),
                )?;
            }
            parts.is_empty()
        }
        _ => true,
    };
    ensure(!empty, || {
        format!("Missing required parameter: '{location}.content'.")
    })
}

/// A model item must be returned unchanged, except for fields of responses only.
fn check_unchanged(item: &Value, history: &[&Value], location: &str) -> Validated {
    if let Some(member) = ["created_by", "parsed_arguments"]
        .iter()
        .find(|member| item.get(**member).is_some())
    {
        return Err(super::extra(location, member));
    }
    let same = |history: &&&Value| {
        let mut history = (**history).clone();
        if let Some(members) = history.as_object_mut() {
            members.retain(|name, _| name != "created_by" && name != "parsed_arguments");
        }
        history == *item
    };
    ensure(history.iter().any(|one| same(&one)), || {
        format!(
            "recorded model: '{location}' ({}) differs from this model's response",
            text_or_empty(item, "type")
        )
    })
}

fn check_followed(reasoning: &Value, next: Option<&Value>, location: &str) -> Validated {
    let follows = next.is_some_and(|next| {
        MODEL_ITEMS.contains(&text_or_empty(next, "type"))
            || (text_or_empty(next, "type") == "message"
                && text_or_empty(next, "role") == "assistant")
    });
    ensure(follows, || {
        format!(
            "Item '{}' of type 'reasoning' was provided without its required following item ({location}).",
            text_or_empty(reasoning, "id")
        )
    })
}

/// An output needs an earlier call of its kind, and each call has one output.
fn check_answer(items: &[Value], index: usize, location: &str) -> Validated {
    let answer = &items[index];
    let id = text_or_empty(answer, "call_id");
    ensure(!id.is_empty() && id.len() <= MAX_CALL_ID_CHARS, || {
        format!("Invalid '{location}.call_id': 1 to {MAX_CALL_ID_CHARS} characters.")
    })?;
    let kind = text_or_empty(answer, "type").trim_end_matches("_output");
    let call = items[..index]
        .iter()
        .find(|item| text_or_empty(item, "type") == kind && text_or_empty(item, "call_id") == id);
    let Some(call) = call else {
        return Err(Rejection::invalid(format!(
            "No tool call found for {} with call_id {id}.",
            kind.replace('_', " ")
        )));
    };
    let twice = items[..index].iter().any(|item| {
        text_or_empty(item, "type") == text_or_empty(answer, "type")
            && text_or_empty(item, "call_id") == id
    });
    ensure(!twice, || {
        format!("Duplicate output for call_id {id} at '{location}'.")
    })?;
    output::check(answer, call, location)
}

fn check_answered(items: &[Value]) -> Validated {
    for call in items {
        let kind = text_or_empty(call, "type");
        let answer_kind = format!("{kind}_output");
        if !OUTPUTS.contains(&answer_kind.as_str()) {
            continue;
        }
        let outcome = items.iter().any(|item| {
            text_or_empty(item, "type") == answer_kind && item.get("call_id") == call.get("call_id")
        });
        ensure(outcome, || {
            format!(
                "No tool output found for {} {}.",
                kind.replace('_', " "),
                text_or_empty(call, "call_id")
            )
        })?;
    }
    Ok(())
}

/// Old computer calls may be removed with their screenshots; all other items must be present.
fn check_nothing_lost(items: &[Value], history: &[&Value]) -> Validated {
    let missing = history.iter().find(|one| {
        let kind = text_or_empty(one, "type");
        let may_leave = matches!(kind, "computer_call" | "reasoning");
        let here = items
            .iter()
            .any(|item| text_or_empty(item, "type") == kind && item.get("id") == one.get("id"));
        !may_leave && !here
    });
    ensure(missing.is_none(), || {
        format!(
            "recorded model: an item of this model is missing: {}",
            missing.map_or("", |item| text_or_empty(item, "type"))
        )
    })?;
    let last = history
        .iter()
        .rfind(|one| text_or_empty(one, "type") == "computer_call");
    let here = last.is_none_or(|last| {
        items
            .iter()
            .any(|item| item.get("call_id") == last.get("call_id"))
    });
    ensure(here, || {
        "recorded model: this model's last computer call is missing".to_owned()
    })
}
