//! Finds what the provider rejects before the request is sent.
//!
//! Documents in use have two results of one call and failed results without text. Services reject
//! them or not, by model; they are written back as they are.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::decode_call::{BROWSER, COMPUTER};
use super::decode_result::halt_sentence;
use super::media::missing;
use super::{declare, models, tabs};
use crate::EncodeError;
use crate::json::{Fields as Block, kind, list, list_of, text};
use crate::service_rules::{NEWEST_ANTHROPIC_VERSION, SAMPLING, is_image_type};

/// Checks that every call has a valid result in the next message of the user. The API joins messages
/// of the assistant in a row to one.
pub(super) fn messages(messages: &[Value]) -> Result<(), EncodeError> {
    let mut calls: Vec<&Block> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.get("role") == Some(&Value::from("assistant")) {
            calls.extend(of_type(message, "tool_use"));
        } else if !calls.is_empty() {
            turn(&calls, message, &format!("messages[{at}]"))?;
            calls.clear();
        }
    }
    for (at, message) in messages.iter().enumerate() {
        for result in of_type(message, "tool_result") {
            images(result, &format!("messages[{at}]"))?;
        }
    }
    Ok(())
}

/// Whether a result may follow `before` in the same turn: after a failure in its toolset it must
/// contain the toolset's "not executed" text.
pub(super) fn may_follow(result: &Value, before: &[Value]) -> bool {
    let toolset = |result: &Value| {
        result
            .get("toolset_name")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let Some(own) = toolset(result) else {
        return true;
    };
    let failed = |result: &&Value| result.get("is_error") == Some(&Value::Bool(true));
    let has_failed = before
        .iter()
        .filter(failed)
        .any(|result| toolset(result).as_ref() == Some(&own));
    let halted = result.get("content").and_then(Value::as_str) == Some(halt_sentence(&own));
    !has_failed || (failed(&result) && halted)
}

fn of_type<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Block> {
    let blocks = list_of(message, "content").iter();
    blocks
        .filter_map(Value::as_object)
        .filter(move |block| self::kind(block) == kind)
}

fn turn(calls: &[&Block], next: &Value, location: &str) -> Result<(), EncodeError> {
    let mut failed = HashSet::new();
    let mut results: HashMap<&str, &Block> = HashMap::new();
    for result in of_type(next, "tool_result") {
        let id = text(result, "tool_use_id").unwrap_or_default();
        results.entry(id).or_insert(result);
    }
    for call in calls {
        let id = text(call, "id").unwrap_or_default();
        let Some(result) = results.get(id) else {
            return Err(missing(format!(
                "{location} must contain a tool_result for {id}"
            )));
        };
        let location = format!("{location}, result {id}:");
        let toolset = text(call, "toolset_name");
        if text(result, "toolset_name") != toolset {
            let expected =
                toolset.map_or_else(|| "none".to_owned(), |toolset| format!("{toolset:?}"));
            return Err(missing(format!(
                "{location} toolset_name must be {expected}, as in the call"
            )));
        }
        if let Some(toolset) = toolset {
            member(call, result, toolset, &mut failed, &location)?;
        }
    }
    Ok(())
}

fn member<'a>(
    call: &Block,
    result: &Block,
    toolset: &'a str,
    failed: &mut HashSet<&'a str>,
    location: &str,
) -> Result<(), EncodeError> {
    let is_error = result.get("is_error") == Some(&Value::Bool(true));
    let result_text = result_text(result);
    let kinds = kinds(result);
    if failed.contains(toolset) {
        let halted = is_error && result_text == Some(halt_sentence(toolset));
        return if halted {
            Ok(())
        } else {
            Err(missing(format!(
                "{location} an earlier call of its toolset failed; the content must be {:?}",
                halt_sentence(toolset)
            )))
        };
    }
    let allowed = |kind: &&str| {
        matches!(*kind, "text" | "image") || (toolset == BROWSER && *kind == "browser_state")
    };
    if let Some(odd) = kinds
        .iter()
        .find(|kind| !allowed(kind))
        .filter(|_| matches!(toolset, COMPUTER | BROWSER))
    {
        return Err(missing(format!(
            "{location} blocks of type {odd} are not allowed"
        )));
    }
    if is_error {
        failed.insert(toolset);
        if kinds.contains(&"browser_state") {
            return Err(missing(format!(
                "{location} an error must not contain a browser_state"
            )));
        }
        return match result_text {
            None | Some("") => Err(missing(format!("{location} an error must contain text"))),
            Some(_) => Ok(()),
        };
    }
    let name = text(call, "name").unwrap_or_default();
    if matches!(name, "screenshot" | "zoom") && !kinds.contains(&"image") {
        return Err(missing(format!("{location} {name} must contain an image")));
    }
    if toolset == BROWSER {
        browser_states(name, result, &kinds, location)
    } else {
        Ok(())
    }
}

fn kinds(result: &Block) -> Vec<&str> {
    let blocks = list(result, "content").iter();
    blocks
        .filter_map(|block| block.get("type").and_then(Value::as_str))
        .collect()
}

fn result_text(result: &Block) -> Option<&str> {
    match result.get("content") {
        Some(Value::String(result_text)) => Some(result_text),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .find_map(|block| block.get("text").and_then(Value::as_str)),
        _ => None,
    }
}

fn browser_states(
    name: &str,
    result: &Block,
    kinds: &[&str],
    location: &str,
) -> Result<(), EncodeError> {
    let count = kinds
        .iter()
        .filter(|kind| **kind == "browser_state")
        .count();
    if count > 1 {
        return Err(missing(format!(
            "{location} expected at most one browser_state, found {count}"
        )));
    }
    if tabs::is_tab_member(name) && kinds != ["browser_state"] {
        return Err(missing(format!(
            "{location} {name} must contain one browser_state and nothing else"
        )));
    }
    let blocks = list(result, "content").iter();
    let state = blocks
        .filter_map(Value::as_object)
        .find(|block| kind(block) == "browser_state");
    state.map_or(Ok(()), |state| browser_state(state, location))
}

fn browser_state(state: &Block, location: &str) -> Result<(), EncodeError> {
    let tabs = list(state, "tabs");
    let ids: HashSet<&str> = tabs
        .iter()
        .filter_map(|tab| tab.get("tab_id")?.as_str())
        .collect();
    if ids.len() != tabs.len() || tabs.len() > 100 {
        return Err(missing(format!(
            "{location} expected at most 100 tabs with distinct ids"
        )));
    }
    let active = tabs
        .iter()
        .filter(|tab| tab.get("active") == Some(&Value::Bool(true)))
        .count();
    if !tabs.is_empty() && active != 1 {
        return Err(missing(format!(
            "{location} expected one active tab, found {active}"
        )));
    }
    match state.get("state_changes") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(changes)) if (1..=200).contains(&changes.len()) => Ok(()),
        Some(_) => Err(missing(format!(
            "{location} state_changes must have 1 to 200 entries or be absent"
        ))),
    }
}

/// Checks that images have a supported type.
fn images(result: &Block, location: &str) -> Result<(), EncodeError> {
    let id = text(result, "tool_use_id").unwrap_or_default();
    let blocks = list(result, "content").iter();
    for source in blocks
        .filter(|block| block.get("type") == Some(&Value::from("image")))
        .filter_map(|image| image.get("source"))
    {
        let kind = source.get("media_type").and_then(Value::as_str);
        if let Some(kind) = kind.filter(|kind| !is_image_type(kind)) {
            return Err(missing(format!(
                "{location}, result {id}: expected a PNG, JPEG, GIF or WebP image, found {kind}"
            )));
        }
    }
    Ok(())
}

/// Whether a request uses the newest API version: its body states it, or it is for a model that
/// came with it. Most bodies do not state the version, which is in a header.
pub(super) fn is_newest(rest: &Map<String, Value>) -> bool {
    let is_newest =
        |version: &str| version.starts_with("20") && version >= NEWEST_ANTHROPIC_VERSION;
    let is_of_model = || text(rest, "model").is_some_and(models::needs_newest_version);
    text(rest, "anthropic_version").map_or_else(is_of_model, is_newest)
}

/// Checks the fields of a request except its messages.
pub(super) fn request(rest: &Map<String, Value>) -> Result<(), EncodeError> {
    let sampling = SAMPLING
        .into_iter()
        .find(|name| is_newest(rest) && rest.contains_key(*name));
    if let Some(name) = sampling {
        return Err(missing(format!(
            "remove `{name}` from the request; this API version rejects it"
        )));
    }
    let entries = list(rest, "tools").iter();
    for entry in entries.filter_map(Value::as_object) {
        declare::rejection(entry).map_or(Ok(()), |problem| Err(missing(problem)))?;
    }
    Ok(())
}
