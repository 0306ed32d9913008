//! Encodes text, images and approvals as entries, and content without an equivalent.

use serde_json::{Map, Value, json};
use telechir_protocol::{ApprovalRequest, ApprovalResponse, Content, ErrorContent, Message, Role};

use super::EntryWriter;
use crate::chat::parts;
use crate::content_text::{self, hosted_label};
use crate::json::{Fields, media, object_of, passed_on, raw_of, text_of_content};
use crate::mistral::decode::{CONFIRMATION, PARTS};
use crate::mistral::{DIALECT, FLAVOUR, PROVIDER};

impl EntryWriter {
    /// Writes contents other than calls and results.
    pub(super) fn write_message(&mut self, message: &Message, contents: &[Content], path: &str) {
        let is_model = message.role == Role::Assistant;
        let from = message.meta.property(PROVIDER, super::ENTRY);
        let is_input = from.is_some_and(|from| from == "message.input" || from == "");
        let mut parts = Vec::new();
        let mut images = Vec::new();
        for content in contents {
            let own_file = from.is_some();
            let is_media = media(content).is_some();
            match self.part_of(message, content, path) {
                Some(part) if is_media && is_model && !own_file => images.push(part),
                Some(part) => parts.push(part),
                None => self.write_as_text(content, path, &mut parts, &mut images),
            }
        }
        if matches!(message.role, Role::System | Role::Developer) {
            let how = "as a user entry; a request has `instructions` for it";
            let why = "entries belong to the user or the model";
            self.report.preserved("instructions", path, why, how);
        }
        let (kind, role) = match message.role {
            Role::Assistant if !is_input => ("message.output", "assistant"),
            Role::Assistant => ("message.input", "assistant"),
            Role::User | Role::System | Role::Developer | Role::Tool => ("message.input", "user"),
        };
        let came_empty = from.is_some() && contents.is_empty();
        if !parts.is_empty() || came_empty {
            let entry = object_of([
                ("type", kind.into()),
                ("role", role.into()),
                ("content", content_of(message, parts)),
            ]);
            let entry = self.with_original_fields(message, entry);
            self.push(entry, true);
        }
        if !images.is_empty() {
            let how = "as a user entry";
            let why = "the model's entries hold only text";
            self.report
                .preserved("an image or file of the model", path, why, how);
            let entry = json!({"type": "message.input", "role": "user", "content": images});
            self.push(entry, true);
        }
    }

    fn part_of(&mut self, message: &Message, content: &Content, path: &str) -> Option<Value> {
        let property = |name: &str| message.meta.property(PROVIDER, name);
        let own = property(PARTS).is_some() && property(super::ENTRY).is_some();
        if let Content::Other(other) = content
            && own
        {
            let part = passed_on(other, FLAVOUR.wrapped());
            return Some(Value::Object(part.clone()));
        }
        if let Content::Reasoning(reasoning) = content {
            return parts::write_thinking(FLAVOUR, reasoning);
        }
        if let Content::Text(text) = content
            && !text.meta.annotations.is_empty()
        {
            let why = "entries have no annotations";
            self.report.lost("annotations", path, why);
        }
        parts::write_part(FLAVOUR, content)
    }

    /// Writes content without an equivalent part as text, or reports it as lost.
    fn write_as_text(
        &mut self,
        content: &Content,
        path: &str,
        parts: &mut Vec<Value>,
        images: &mut Vec<Value>,
    ) {
        let why = "entries have no such part";
        if let Content::Reasoning(_) = content {
            let why = "thinking of another provider cannot be repeated";
            self.report.lost("thinking", path, why);
        } else if let Content::ImageGenerationResult(result)
        | Content::CommandResult(result)
        | Content::ImageGenerationCall(result)
        | Content::CommandCall(result) = content
        {
            let all = result.inputs.iter().chain(&result.results);
            let mut is_own = false;
            for part in all {
                is_own |= part
                    .meta()
                    .is_some_and(|meta| meta.property(PROVIDER, "tool").is_some());
                let written = parts::write_part(FLAVOUR, part);
                match written {
                    Some(part) if is_own => parts.push(part),
                    Some(written) if text_of_content(part).is_none() => images.push(written),
                    Some(written) => parts.push(written),
                    None => self.report.lost(content_text::label(part), path, why),
                }
            }
            if !is_own {
                let what = content.type_name().unwrap_or_default();
                let what = hosted_label(what, result);
                self.report
                    .preserved(what, path, "it belongs to another provider", "as its text");
            }
        } else if let Content::Error(ErrorContent { message, .. }) = content {
            self.report
                .preserved("an error in a message", path, why, "as text");
            parts.push(json!({"type": "text", "text": format!("Error: {message}")}));
        } else if let Some(text) = content_text::as_text(content) {
            let label = content_text::label(content);
            self.report.preserved(label, path, why, "as text");
            parts.push(json!({"type": "text", "text": text}));
        } else {
            self.report.lost(content_text::label(content), path, why);
        }
    }

    /// Shows the images and files that another provider's code returned in a user entry.
    pub(super) fn show_files(&mut self, execution: &[Content], path: &str) {
        let results = execution.iter().filter_map(|content| {
            let Content::CommandResult(result) = content else {
                return None;
            };
            Some(&result.results)
        });
        let files = results.flatten().filter(|content| media(content).is_some());
        let why = "the output of the interpreter is a text";
        let mut parts = Vec::new();
        for file in files {
            let label = content_text::label(file);
            match parts::write_part(FLAVOUR, file) {
                Some(part) => {
                    self.report.preserved(label, path, why, "in a user entry");
                    parts.push(part);
                }
                None => self.report.lost(label, path, why),
            }
        }
        if !parts.is_empty() {
            let entry = json!({"type": "message.input", "role": "user", "content": parts});
            self.push(entry, true);
        }
    }

    /// An approval request for a connector call.
    pub(super) fn approval_request(
        &mut self,
        message: &Message,
        request: &ApprovalRequest,
        path: &str,
    ) {
        let own = if let Content::FunctionCall(call) = request.call.as_ref() {
            call.meta
                .property(PROVIDER, CONFIRMATION)
                .map(|own| (call, own))
        } else {
            None
        };
        let Some((call, status)) = own else {
            let content = [Content::ApprovalRequest(request.clone())];
            return self.write_message(message, &content, path);
        };
        let arguments = match &call.arguments {
            telechir_protocol::Arguments::Text(text) => text.as_str().into(),
            telechir_protocol::Arguments::Json(members) => Value::Object(members.clone()),
        };
        let entry = object_of([
            ("type", "function.call".into()),
            ("tool_call_id", request.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("arguments", arguments),
            (CONFIRMATION, status.clone()),
        ]);
        let entry = self.with_original_fields(message, entry);
        self.push(entry, true);
    }

    /// The decision belongs to the request, not to the entries.
    pub(super) fn approval_response(&mut self, response: &ApprovalResponse, path: &str) {
        if !self.is_enclosed {
            let content = Content::ApprovalResponse(response.clone());
            let why = "it belongs to a request's `tool_confirmations`, not to the entries";
            self.report
                .preserved(content_text::label(&content), path, why, "as text");
            let text = content_text::as_text(&content).unwrap_or_default();
            let entry = json!({"type": "message.input", "role": "user", "content": text});
            return self.push(entry, true);
        }
        let own = raw_of(&response.meta, DIALECT).and_then(Value::as_object);
        let own = own.filter(|own| {
            crate::mistral::decode::confirmation(own).contents.first()
                == Some(&Content::ApprovalResponse(response.clone()))
        });
        let answer = if response.approved { "allow" } else { "deny" };
        let new = || json!({"tool_call_id": response.id, "confirmation": answer});
        let confirmation = own.map_or_else(new, |own: &Fields| Value::Object(own.clone()));
        self.confirmations.push(confirmation);
    }
}

/// A single text as a string, otherwise the list of parts.
fn content_of(message: &Message, parts: Vec<Value>) -> Value {
    let listed = message.meta.property(PROVIDER, PARTS).is_some();
    match parts.as_slice() {
        [] if !listed => "".into(),
        [only]
            if !listed && only["type"] == "text" && only.as_object().map_or(0, Map::len) == 2 =>
        {
            only["text"].clone()
        }
        _ => Value::Array(parts),
    }
}
