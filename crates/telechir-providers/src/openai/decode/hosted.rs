//! Calls executed by the provider, and its approval requests.

use serde_json::Value;
use telechir_protocol::{
    ApprovalRequest, ApprovalResponse, Arguments, CallId, Content, DataContent, ErrorContent,
    FunctionCall, HostedCall, Message, Meta, Role, TextContent,
};

use crate::data_url;
use crate::json::{kind, object, owned, present, text};
use crate::openai::item::{Item, keep, raw};

pub(super) fn code_interpreter(item: &Item) -> Option<Message> {
    let mut meta = raw(item);
    keep(&mut meta, item, &["container_id"]);
    let call = HostedCall {
        call_id: Some(CallId::from(text(item, "id")?)),
        inputs: text(item, "code").map(text_content).into_iter().collect(),
        results: Vec::new(),
        status: owned(item, "status"),
        meta,
    };
    let outputs = present(item, "outputs").and_then(Value::as_array);
    let results = outputs.map(|outputs| outputs.iter().map(output).collect());
    Some(pair(
        Content::CommandCall(call.clone()),
        results.map(|results| Content::CommandResult(of(&call, results))),
    ))
}

fn output(value: &Value) -> Content {
    let read = value.as_object().and_then(|output| match kind(output) {
        "logs" => text(output, "logs").map(text_content),
        "image" => text(output, "url").map(|url| data_url::content_of(url, Meta::default())),
        _ => None,
    });
    read.unwrap_or_else(|| text_content(&value.to_string()))
}

/// Image generation fields without a neutral equivalent.
pub(in crate::openai) const IMAGE_CALL_FIELDS: [&str; 8] = [
    "action",
    "background",
    "output_format",
    "quality",
    "size",
    "revised_prompt",
    "svg_usage",
    "error",
];

pub(super) fn image_generation(item: &Item) -> Option<Message> {
    let mut meta = raw(item);
    keep(&mut meta, item, &IMAGE_CALL_FIELDS);
    let call = HostedCall {
        call_id: Some(CallId::from(text(item, "id")?)),
        inputs: text(item, "revised_prompt")
            .map(text_content)
            .into_iter()
            .collect(),
        results: Vec::new(),
        status: owned(item, "status"),
        meta,
    };
    let format = text(item, "output_format").unwrap_or("png");
    let media_type = if format == "svg" {
        "image/svg+xml".to_owned()
    } else {
        format!("image/{format}")
    };
    let image = text(item, "result")
        .map(|result| Content::Data(DataContent::from_base64(&media_type, result)));
    let failure = object(item, "error").map(|error| {
        Content::Error(ErrorContent {
            message: owned(error, "message").unwrap_or_default(),
            error_code: owned(error, "code").or_else(|| owned(error, "type")),
            error_details: Some(Value::Object(error.clone())),
            meta: Meta::default(),
        })
    });
    let results: Vec<Content> = image.into_iter().chain(failure).collect();
    let result = (!results.is_empty()).then(|| Content::ImageGenerationResult(of(&call, results)));
    Some(pair(Content::ImageGenerationCall(call), result))
}

/// Only the call carries the raw item, so that it is written once.
fn pair(call: Content, result: Option<Content>) -> Message {
    Message::new(
        Role::Assistant,
        std::iter::once(call).chain(result).collect(),
    )
}

fn of(call: &HostedCall, results: Vec<Content>) -> HostedCall {
    HostedCall {
        call_id: call.call_id.clone(),
        results,
        ..HostedCall::default()
    }
}

fn text_content(content_text: &str) -> Content {
    Content::Text(TextContent {
        text: content_text.to_owned(),
        meta: Meta::default(),
    })
}

pub(super) fn approval_request(item: &Item) -> Option<Content> {
    let mut call_meta = Meta::default();
    keep(&mut call_meta, item, &["server_label"]);
    let call = FunctionCall {
        call_id: None,
        item_id: None,
        name: owned(item, "name")?,
        arguments: Arguments::Text(owned(item, "arguments").unwrap_or_default()),
        requires_local_execution: false,
        could_be_structured_output: false,
        exception: None,
        meta: call_meta,
    };
    Some(Content::ApprovalRequest(ApprovalRequest {
        id: owned(item, "id")?,
        call: Box::new(Content::FunctionCall(call)),
        safety_checks: Vec::new(),
        reason: None,
        digest: None,
        meta: raw(item),
    }))
}

/// Only an explicit `true` counts as approval.
pub(super) fn approval_response(item: &Item) -> Option<Content> {
    let mut meta = raw(item);
    keep(&mut meta, item, &["id"]);
    Some(Content::ApprovalResponse(ApprovalResponse {
        id: owned(item, "approval_request_id")?,
        approved: item.get("approve") == Some(&Value::Bool(true)),
        reason: owned(item, "reason"),
        call: None,
        meta,
    }))
}
