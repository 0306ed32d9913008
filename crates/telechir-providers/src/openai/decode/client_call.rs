//! Calls for the client without a neutral kind: a tool search, and types that this version does not
//! know. They become function calls, so that each gets a result.

use serde_json::{Value, json};
use telechir_protocol::{Arguments, CallId, Content, FunctionCall, FunctionResult, Message, Role};

use super::computer::unfinished;
use super::{CallContext, ItemReader, message_of};
use crate::json::{kind, owned, present, text};
use crate::openai::PROVIDER;
use crate::openai::call_form::form_property;
use crate::openai::item::{Item, keep, raw};
use crate::openai::item_kinds::{TOOL_SEARCH, TOOL_SEARCH_OUTPUT, is_other_call};

/// Call fields that are not arguments.
const CALL_FIELDS: [&str; 5] = ["type", "id", "call_id", "status", "caller"];

impl ItemReader {
    pub(super) fn client_call(&mut self, item: &Item) -> Option<Message> {
        let call_id = text(item, "call_id").filter(|_| is_other_call(item))?;
        if self.call_contexts.get(call_id) == Some(&CallContext::AnsweredByProvider) {
            return None;
        }
        self.call_contexts
            .insert(call_id.to_owned(), CallContext::Client);
        let kind = kind(item);
        let is_search = kind == TOOL_SEARCH;
        let mut meta = raw(item);
        meta.set_property(PROVIDER, form_property::NAME, kind.into());
        keep(&mut meta, item, &["caller", "status"]);
        let arguments = match item.get("arguments") {
            Some(Value::Object(arguments)) if is_search => Arguments::Json(arguments.clone()),
            Some(Value::String(arguments)) if is_search => Arguments::Text(arguments.clone()),
            _ => Arguments::Json(without(item, &CALL_FIELDS)),
        };
        let name = if is_search { "tool_search" } else { kind };
        let call = FunctionCall {
            call_id: Some(CallId::from(call_id)),
            item_id: owned(item, "id"),
            exception: unfinished(item),
            meta,
            ..FunctionCall::new(name, arguments)
        };
        Some(message_of(Role::Assistant, Content::FunctionCall(call)))
    }

    /// Decodes the client's answer to such a call.
    pub(super) fn client_output(&self, item: &Item) -> Option<Message> {
        let call_id = text(item, "call_id")?;
        let is_answered_call = self.call_contexts.get(call_id) == Some(&CallContext::Client);
        let is_search = kind(item) == TOOL_SEARCH_OUTPUT;
        let is_of_client = is_search && text(item, "execution") == Some("client");
        if !kind(item).ends_with("_output") || !(is_answered_call || is_of_client) {
            return None;
        }
        let mut meta = raw(item);
        meta.set_property(PROVIDER, form_property::NAME, kind(item).into());
        keep(&mut meta, item, &["caller", "id", "status"]);
        let result = match (present(item, "tools"), present(item, "output")) {
            (Some(tools), _) if is_search => json!({ "tools": tools }),
            (_, Some(output)) => output.clone(),
            (_, None) => Value::Object(without(item, &CALL_FIELDS)),
        };
        let result = FunctionResult {
            call_id: Some(CallId::from(call_id)),
            name: None,
            items: Vec::new(),
            result: Some(result),
            error: None,
            meta,
        };
        Some(message_of(Role::Tool, Content::FunctionResult(result)))
    }
}

fn without(item: &Item, names: &[&str]) -> Item {
    let others = item
        .iter()
        .filter(|(name, _)| !names.contains(&name.as_str()));
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
