//! Provider-executed tools: as items if they are this provider's, otherwise as text.

use serde_json::{Value, json};
use telechir_protocol::{ApprovalRequest, ApprovalResponse, Content, FunctionCall, HostedCall};

use super::message::input_part;
use super::{ItemWriter, image_fields};
use crate::content_text::{self, hosted_label, hosted_texts};
use crate::fallback_tools;
use crate::json::{media, object_of, text_of_content};
use crate::openai::decode::IMAGE_CALL_FIELDS;
use crate::openai::item::{property, restore};

impl ItemWriter {
    /// Writes a call together with its result if that follows; returns the number of contents used.
    pub(super) fn code_interpreter(
        &mut self,
        call: &HostedCall,
        next: Option<&Content>,
        path: &str,
    ) -> usize {
        let result = result_of(call, next);
        let (Some(id), Some(container)) = (&call.call_id, property(&call.meta, "container_id"))
        else {
            self.hosted_text("command_call", call, path);
            return 1;
        };
        let output = |content: &Content| match media(content).map(|media| image_fields(&media)) {
            Some(image) => json!({"type": "image", "url": image.get("image_url")}),
            None => json!({"type": "logs", "logs": joined_text(std::slice::from_ref(content))}),
        };
        let outputs =
            result.map(|result| result.results.iter().map(output).collect::<Vec<Value>>());
        self.push(json!({
            "type": "code_interpreter_call",
            "id": id.as_str(),
            "container_id": container,
            "status": call.status.as_deref().unwrap_or("completed"),
            "code": (!call.inputs.is_empty()).then(|| joined_text(&call.inputs)),
            "outputs": outputs,
        }));
        1 + usize::from(result.is_some())
    }

    pub(super) fn image_generation(
        &mut self,
        call: &HostedCall,
        next: Option<&Content>,
        path: &str,
    ) -> usize {
        let result = result_of(call, next);
        let id = call
            .call_id
            .as_ref()
            .map(|id| id.as_str())
            .filter(|id| id.starts_with("ig_"));
        let Some(id) = id else {
            self.hosted_text("image_generation_call", call, path);
            return 1;
        };
        let image = result.and_then(|result| {
            result.results.iter().find_map(|content| {
                if let Content::Data(data) = content {
                    data.base64()
                } else {
                    None
                }
            })
        });
        // The item holds one image as bytes.
        let others = result.into_iter().flat_map(|result| &result.results);
        let is_taken = |content: &Content| matches!(content, Content::Data(data) if data.base64().is_some() && data.base64() == image);
        for other in others.filter(|content| media(content).is_some() && !is_taken(content)) {
            let why = "the item of a generated image holds one as bytes";
            self.report.lost(content_text::label(other), path, why);
        }
        let mut item = object_of([
            ("type", "image_generation_call".into()),
            ("id", id.into()),
            (
                "status",
                call.status.as_deref().unwrap_or("completed").into(),
            ),
        ]);
        item.insert("result".to_owned(), image.into());
        restore(&mut item, &call.meta, &IMAGE_CALL_FIELDS);
        self.push(Value::Object(item));
        1 + usize::from(result.is_some())
    }

    /// Writes what another provider executed as text, and its images and files as a message of the
    /// user; the change is reported.
    pub(super) fn hosted_text(&mut self, what: &str, hosted: &HostedCall, path: &str) {
        let text = hosted_texts(hosted).join("\n");
        let contents = hosted.inputs.iter().chain(&hosted.results);
        let media: Vec<Value> = contents
            .filter(|content| media(content).is_some())
            .filter_map(input_part)
            .collect();
        let why = "it ran in a container of another provider";
        if text.is_empty() && media.is_empty() {
            return self.report.lost(hosted_label(what, hosted), path, why);
        }
        let how = match (text.is_empty(), media.is_empty()) {
            (false, true) => "as a text message",
            (true, _) => "as a user message",
            (false, false) => "as a text message and a user message",
        };
        self.report
            .preserved(hosted_label(what, hosted), path, why, how);
        if !text.is_empty() {
            let text = format!("[{what}] {text}");
            self.push(json!({"type": "message", "role": "assistant", "content": text}));
        }
        if !media.is_empty() {
            let note = json!({"type": "input_text", "text": format!("[{what}]")});
            let content: Vec<Value> = std::iter::once(note).chain(media).collect();
            self.push(json!({"type": "message", "role": "user", "content": content}));
        }
    }

    /// Writes a call as text that another provider executed without returning a result.
    pub(super) fn hosted_call(&mut self, call: &FunctionCall, path: &str) {
        let what = format!("the call of `{}`", call.name);
        let why = "the service that executed it returned no result";
        self.report.preserved(what, path, why, "as a text message");
        let called = fallback_tools::to_function_call(&Content::FunctionCall(call.clone()));
        let text = called.map(|called| called.as_text()).unwrap_or_default();
        self.push(json!({"type": "message", "role": "assistant", "content": text}));
    }

    pub(super) fn approval_request(&mut self, request: &ApprovalRequest, path: &str) {
        let own = if let Content::FunctionCall(call) = request.call.as_ref() {
            property(&call.meta, "server_label").map(|own| (call, own))
        } else {
            None
        };
        let Some((call, server)) = own else {
            let content = Content::ApprovalRequest(request.clone());
            return self.approval_text("assistant", &content, path);
        };
        self.push(json!({
            "type": "mcp_approval_request",
            "id": request.id,
            "server_label": server,
            "name": call.name,
            "arguments": call.arguments.to_text(),
        }));
    }

    fn approval_text(&mut self, role: &str, content: &Content, path: &str) {
        let why = "only calls of MCP tools have approval requests";
        let label = content_text::label(content);
        self.report.preserved(label, path, why, "as a text message");
        let text = content_text::as_text(content).unwrap_or_default();
        self.push(json!({"type": "message", "role": role, "content": text}));
    }

    /// Only ids with the provider's prefix identify its own requests.
    pub(super) fn approval_response(&mut self, response: &ApprovalResponse, path: &str) {
        if !response.id.starts_with("mcpr_") {
            let content = Content::ApprovalResponse(response.clone());
            return self.approval_text("user", &content, path);
        }
        self.push(Value::Object(object_of([
            ("type", "mcp_approval_response".into()),
            ("id", property(&response.meta, "id").into()),
            ("approval_request_id", response.id.as_str().into()),
            ("approve", response.approved.into()),
            ("reason", response.reason.as_deref().into()),
        ])));
    }
}

/// The result of a call, if the next content is one.
fn result_of<'a>(call: &HostedCall, next: Option<&'a Content>) -> Option<&'a HostedCall> {
    let (Content::CommandResult(result) | Content::ImageGenerationResult(result)) = next? else {
        return None;
    };
    (result.call_id == call.call_id).then_some(result)
}

fn joined_text(contents: &[Content]) -> String {
    let texts = contents.iter().filter_map(|content| {
        if let Content::Error(error) = content {
            Some(error.message.as_str())
        } else {
            text_of_content(content)
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}
