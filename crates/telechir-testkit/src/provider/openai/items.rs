//! Input items: whether every call was answered once, whether reasoning stands before what
//! belongs to it, and whether the model's own items came back unchanged.

use serde_json::Value;

use super::{Checked, LONGEST_CALL_ID, ensure, list, one_of, only, output, word};
use crate::provider::Refusal;

const MESSAGE: &[&str] = &["type", "role", "content", "phase", "status", "id"];
const OUTPUTS: &[&str] = &[
    "computer_call_output",
    "shell_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
    "function_call_output",
    "custom_tool_call_output",
];
/// What the model says and a client only repeats.
const SAID: &[&str] = &[
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

pub(super) fn check(body: &Value, said: &[Vec<Value>]) -> Checked {
    let items = match body.get("input") {
        Some(Value::String(text)) if !text.is_empty() => return Ok(()),
        Some(input) => list(input, "input")?,
        None => return Err(Refusal::invalid("Missing required parameter: 'input'.")),
    };
    ensure(!items.is_empty(), || {
        "input: at least one item is required".to_owned()
    })?;
    let said: Vec<&Value> = said.iter().flatten().collect();
    for (index, item) in items.iter().enumerate() {
        let place = format!("input[{index}]");
        match word(item, "type") {
            "message" | "" => check_message(item, &said, &place)?,
            kind if OUTPUTS.contains(&kind) => check_answer(items, index, &place)?,
            kind if SAID.contains(&kind) => check_said(item, &said, &place)?,
            other => {
                return Err(Refusal::invalid(format!(
                    "Invalid value: '{other}' at '{place}.type'."
                )));
            }
        }
        if word(item, "type") == "reasoning" {
            check_followed(item, items.get(index + 1), &place)?;
        }
    }
    check_answered(items)?;
    check_nothing_lost(items, &said)
}

fn check_message(item: &Value, said: &[&Value], place: &str) -> Checked {
    only(item, &[MESSAGE], place, super::extra)?;
    one_of(
        word(item, "role"),
        &["user", "assistant", "system", "developer"],
        &format!("{place}.role"),
    )?;
    if word(item, "role") == "assistant" && item.get("id").is_some() {
        return check_said(item, said, place);
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
                    word(part, "type"),
                    kinds,
                    &format!("{place}.content[{index}].type"),
                )?;
            }
            parts.is_empty()
        }
        _ => true,
    };
    ensure(!empty, || {
        format!("Missing required parameter: '{place}.content'.")
    })
}

/// An item of the model must come back as it was said, without what only answers may hold.
fn check_said(item: &Value, said: &[&Value], place: &str) -> Checked {
    if let Some(member) = ["created_by", "parsed_arguments"]
        .iter()
        .find(|member| item.get(**member).is_some())
    {
        return Err(super::extra(place, member));
    }
    let same = |said: &&&Value| {
        let mut said = (**said).clone();
        if let Some(members) = said.as_object_mut() {
            members.retain(|name, _| name != "created_by" && name != "parsed_arguments");
        }
        said == *item
    };
    ensure(said.iter().any(|one| same(&one)), || {
        format!(
            "recorded model: '{place}' ({}) is not what I said",
            word(item, "type")
        )
    })
}

fn check_followed(reasoning: &Value, next: Option<&Value>, place: &str) -> Checked {
    let follows = next.is_some_and(|next| {
        SAID.contains(&word(next, "type"))
            || (word(next, "type") == "message" && word(next, "role") == "assistant")
    });
    ensure(follows, || {
        format!(
            "Item '{}' of type 'reasoning' was provided without its required following item ({place}).",
            word(reasoning, "id")
        )
    })
}

/// An answer needs its call before it, of its kind, and none other for the same call.
fn check_answer(items: &[Value], index: usize, place: &str) -> Checked {
    let answer = &items[index];
    let id = word(answer, "call_id");
    ensure(!id.is_empty() && id.len() <= LONGEST_CALL_ID, || {
        format!("Invalid '{place}.call_id': 1 to {LONGEST_CALL_ID} characters.")
    })?;
    let kind = word(answer, "type").trim_end_matches("_output");
    let call = items[..index]
        .iter()
        .find(|item| word(item, "type") == kind && word(item, "call_id") == id);
    let Some(call) = call else {
        return Err(Refusal::invalid(format!(
            "No tool call found for {} with call_id {id}.",
            kind.replace('_', " ")
        )));
    };
    let twice = items[..index]
        .iter()
        .any(|item| word(item, "type") == word(answer, "type") && word(item, "call_id") == id);
    ensure(!twice, || {
        format!("Duplicate output for call_id {id} at '{place}'.")
    })?;
    output::check(answer, call, place)
}

fn check_answered(items: &[Value]) -> Checked {
    for call in items {
        let kind = word(call, "type");
        let answer_kind = format!("{kind}_output");
        if !OUTPUTS.contains(&answer_kind.as_str()) {
            continue;
        }
        let answered = items.iter().any(|item| {
            word(item, "type") == answer_kind && item.get("call_id") == call.get("call_id")
        });
        ensure(answered, || {
            format!(
                "No tool output found for {} {}.",
                kind.replace('_', " "),
                word(call, "call_id")
            )
        })?;
    }
    Ok(())
}

/// Old computer calls may have left together with their pictures; all else must be there.
fn check_nothing_lost(items: &[Value], said: &[&Value]) -> Checked {
    let missing = said.iter().find(|one| {
        let kind = word(one, "type");
        let may_leave = matches!(kind, "computer_call" | "reasoning");
        let here = items
            .iter()
            .any(|item| word(item, "type") == kind && item.get("id") == one.get("id"));
        !may_leave && !here
    });
    ensure(missing.is_none(), || {
        format!(
            "recorded model: an item of mine is missing: {}",
            missing.map_or("", |item| word(item, "type"))
        )
    })?;
    let last = said
        .iter()
        .rfind(|one| word(one, "type") == "computer_call");
    let here = last.is_none_or(|last| {
        items
            .iter()
            .any(|item| item.get("call_id") == last.get("call_id"))
    });
    ensure(here, || {
        "recorded model: my last computer call is missing".to_owned()
    })
}
