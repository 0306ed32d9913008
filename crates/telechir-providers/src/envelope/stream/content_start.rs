//! Contents of a response that can be written piece by piece.

use serde_json::Value;

use crate::envelope::api::Api;

/// A content of a response that can be written piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContentStart {
    Text,
    Call { id: String, name: String },
}

/// Gives the call with the id `from` in a translated response the id `to`.
pub(super) fn rename_call(api: Api, document: &mut Value, from: &str, to: &str) {
    let (list, id) = match api {
        Api::Anthropic | Api::Invoke => ("/content", "/id"),
        Api::Converse => ("/output/message/content", "/toolUse/toolUseId"),
        Api::Responses => ("/output", "/call_id"),
        Api::Chat | Api::Mistral => ("/choices/0/message/tool_calls", "/id"),
        Api::Interactions => ("/steps", "/id"),
        Api::Conversations => ("/outputs", "/tool_call_id"),
        // Their calls are written at the end.
        Api::Generate | Api::Agents | Api::Framework => return,
    };
    let contents = document.pointer_mut(list).and_then(Value::as_array_mut);
    let mut ids = contents.into_iter().flatten();
    // Another call may have that id from its start; the one that changed to it comes first.
    let own = ids.find_map(|content| content.pointer_mut(id).filter(|own| *own == from));
    if let Some(own) = own {
        *own = to.into();
    }
}

/// The start of a translated content and its text, if it can be written piece by piece.
pub(super) fn start_of(api: Api, content: &Value) -> Option<(ContentStart, String)> {
    let text = |pointer: &str| content.pointer(pointer).and_then(Value::as_str);
    let call = |id: &str, name: &str, arguments: &str| {
        let arguments = match content.pointer(arguments)? {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        };
        let (id, name) = (text(id)?.to_owned(), text(name)?.to_owned());
        Some((ContentStart::Call { id, name }, arguments))
    };
    let plain = |pointer: &str| Some((ContentStart::Text, text(pointer)?.to_owned()));
    match (api, text("/type").unwrap_or_default()) {
        (Api::Anthropic | Api::Invoke, "text") => plain("/text"),
        (Api::Anthropic | Api::Invoke, "tool_use") => call("/id", "/name", "/input"),
        (Api::Converse, _) if content.get("toolUse").is_some() => {
            call("/toolUse/toolUseId", "/toolUse/name", "/toolUse/input")
        }
        (Api::Converse, _) => plain("/text"),
        (Api::Responses, "message") if content.pointer("/content/1").is_none() => {
            text("/content/0/type").filter(|kind| *kind == "output_text")?;
            plain("/content/0/text")
        }
        (Api::Responses, "function_call") => call("/call_id", "/name", "/arguments"),
        (Api::Chat | Api::Mistral, "function") => {
            call("/id", "/function/name", "/function/arguments")
        }
        (Api::Chat | Api::Mistral, _) => plain("/text"),
        (Api::Generate, _) if content.as_object()?.len() == 1 => plain("/text"),
        (Api::Interactions, "model_output") if content.pointer("/content/1").is_none() => {
            text("/content/0/type").filter(|kind| *kind == "text")?;
            plain("/content/0/text")
        }
        (Api::Interactions, "function_call") => call("/id", "/name", "/arguments"),
        (Api::Conversations, "message.output") => plain("/content"),
        (Api::Conversations, "function.call") => call("/tool_call_id", "/name", "/arguments"),
        _ => None,
    }
}
