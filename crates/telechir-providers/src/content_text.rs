//! Contents as text: their name in a report, and what stands for them where a dialect has no type for
//! them.

use serde_json::{Map, Value};
use telechir_protocol::{Content, HostedCall, Media};

use crate::json::{kind, media, object, some_text, text_of_content};
use crate::leaves;

/// A content that no part type represents, as text: an address, or the title and address of a
/// source.
pub(crate) fn as_text(content: &Content) -> Option<String> {
    if let Content::Uri(uri) = content {
        return Some(uri.uri.clone());
    }
    if let Content::ApprovalRequest(request) = content {
        let called = called_text(&request.call);
        let text = format!(
            "The call {called} waits for the user's approval {}.",
            request.id
        );
        return Some(text);
    }
    if let Content::ApprovalResponse(response) = content {
        let verb = if response.approved {
            "approves"
        } else {
            "declines"
        };
        let reason = response
            .reason
            .as_deref()
            .map(|reason| format!(": {reason}"));
        let reason = reason.unwrap_or_default();
        return Some(format!(
            "The user {verb} the request {}{reason}.",
            response.id
        ));
    }
    let Content::Other(other) = content else {
        return None;
    };
    let part = object(&other.json, "item").unwrap_or(&other.json);
    let address = some_text(part, "url").or_else(|| some_text(part, "uri"))?;
    let title = some_text(part, "title").or_else(|| some_text(part, "name"));
    Some(match title {
        Some(title) => format!("[{title}]({address})"),
        None => address.to_owned(),
    })
}

/// The name and the arguments of a call.
fn called_text(call: &Content) -> String {
    if let Content::FunctionCall(call) = call {
        return format!("{} {}", call.name, call.arguments_as_str());
    }
    serde_json::to_string(call).unwrap_or_default()
}

/// The name of a content in a report.
pub(crate) fn label(content: &Content) -> String {
    let named = |kind: &str, name: &str| format!("{kind} `{name}`");
    match media(content) {
        Some(Media::Data(data)) => {
            let kind = data.media_type().unwrap_or("unknown").to_owned();
            let name = data.name.map(|name| format!(" `{name}`"));
            format!("the file{} of type {kind}", name.unwrap_or_default())
        }
        Some(Media::Uri(uri)) => {
            let kind = uri.media_type.map(|kind| format!(" of type {kind}"));
            format!("the file `{}`{}", uri.uri, kind.unwrap_or_default())
        }
        Some(Media::HostedFile(file)) => {
            let name = file.name.map(|name| format!(" `{name}`"));
            let kind = file.media_type.map(|kind| format!(" of type {kind}"));
            let (name, kind) = (name.unwrap_or_default(), kind.unwrap_or_default());
            format!("the file{name} {}{kind}", file.file_id)
        }
        None => {
            if let Content::ApprovalRequest(request) = content {
                return format!("approval request {}", request.id);
            }
            if let Content::ApprovalResponse(response) = content {
                return format!("approval response {}", response.id);
            }
            let Content::Other(other) = content else {
                return named("content of type", content.type_name().unwrap_or("unknown"));
            };
            let part = object(&other.json, "item").unwrap_or(&other.json);
            let kind = Some(kind(part)).filter(|kind| !kind.is_empty());
            let kind = kind.or_else(|| part.keys().next().map(String::as_str));
            named("content of type", kind.unwrap_or("unknown"))
        }
    }
}

/// The names of all values in an object, after a colon; empty if it has none.
pub(crate) fn field_names(json: &Map<String, Value>) -> String {
    let mut names: Vec<String> = Vec::new();
    for leaf in leaves::of(&Value::Object(json.clone())) {
        if !names.iter().any(|name| name == leaf.name()) {
            names.push(leaf.name().to_owned());
        }
    }
    match names.is_empty() {
        true => String::new(),
        false => format!(": {}", names.join(", ")),
    }
}

/// The name in a report of what a provider executed.
pub(crate) fn hosted_label(what: &str, hosted: &HostedCall) -> String {
    match &hosted.call_id {
        Some(id) => format!("{what} {id}"),
        None => what.to_owned(),
    }
}

/// The texts of what a provider executed, its errors, and a status or exit code other than success.
pub(crate) fn hosted_texts(hosted: &HostedCall) -> Vec<String> {
    let status = hosted.status.as_deref();
    let status = status.filter(|status| !matches!(*status, "completed" | "success"));
    let has_error = |content: &Content| matches!(content, Content::Error(_));
    // An error states it, too.
    let exit_code = hosted
        .meta
        .additional_properties
        .values()
        .find_map(|settings| settings.get("return_code")?.as_i64())
        .filter(|code| *code != 0 && !hosted.results.iter().any(has_error));
    let status = status.map(|status| format!("({status})"));
    let exit_code = exit_code.map(|code| format!("(exit code {code})"));
    let parts = hosted.inputs.iter().chain(&hosted.results);
    let texts = parts.filter_map(|content| {
        if let Content::Error(error) = content {
            return Some(format!("Error: {}", error.message));
        }
        let text = text_of_content(content)?;
        (!text.is_empty()).then(|| text.to_owned())
    });
    status.into_iter().chain(exit_code).chain(texts).collect()
}
