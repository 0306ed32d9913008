//! Decodes one entry. Unknown entries are kept unchanged; calls that cannot be executed carry the
//! reason.

use std::collections::HashMap;

use serde_json::{Map, Value};
use telechir_protocol::{
    ApprovalRequest, ApprovalResponse, Arguments, Content, FunctionCall, HostedCall, Message, Meta,
    Role,
};

use super::{DIALECT, FLAVOUR, PROVIDER, execution, result_images};
use crate::Report;
use crate::chat::parts;
use crate::chat::result_images::take_images;
use crate::fallback_tools::{self, CallInfo, FunctionOutput};
use crate::json::{
    Fields, is_text_or_absent, kind, owned, present, raw, some_text, text, verbatim,
};

/// Stores entry fields without a neutral equivalent. Its chat completions have other fields.
pub(super) use crate::settings::{ENTRY, ENTRY_MEMBERS as MEMBERS};
/// Marks content that came as a list of parts.
pub(super) const PARTS: &str = "parts";
/// Stores how many images of a result are in the following entry.
pub(super) const AFTER: &str = "images_after";
/// Stores the user's decision on a connector call.
pub(super) const CONFIRMATION: &str = "confirmation_status";
/// Wrapper type for entries whose own type collides with a neutral content type.
pub(super) const WRAPPED: &str = "mistral_entry";

const KNOWN_FIELDS: [&str; 9] = [
    "type",
    "role",
    "content",
    "tool_call_id",
    "name",
    "arguments",
    "result",
    "info",
    CONFIRMATION,
];

/// Reads entries in order and tracks the calls among them.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryReader {
    /// Known calls by id.
    pub(super) calls_by_id: HashMap<String, CallInfo>,
    /// The id of the last image generation call.
    last_image_call: Option<String>,
    pub(super) report: Report,
}

impl EntryReader {
    /// Decodes a list of entries. Images in an entry after the results are returned to their
    /// results.
    pub(super) fn entries(&mut self, entries: &[Fields]) -> Vec<Message> {
        let mut read = Vec::new();
        let mut at = 0;
        while at < entries.len() {
            let is_result = |entry: &&Fields| kind(entry) == "function.result";
            let run = entries[at..].iter().take_while(is_result).count();
            if run == 0 {
                read.push(self.entry(&entries[at], &[]));
                at += 1;
                continue;
            }
            let results = &entries[at..at + run];
            let ids: Vec<&str> = results
                .iter()
                .map(|result| text(result, "tool_call_id").unwrap_or_default())
                .collect();
            let following = entries
                .get(at + run)
                .and_then(|next| result_images::read(next, &ids));
            at += run + usize::from(following.is_some());
            let mut following = following.unwrap_or_default().into_iter().peekable();
            for (result, id) in results.iter().zip(ids) {
                let images = take_images(&mut following, id);
                read.push(self.entry(result, &images));
            }
        }
        read
    }

    /// Decodes one entry; `after` holds the images of its result from the following entry.
    pub(super) fn entry(&mut self, entry: &Fields, after: &[Content]) -> Message {
        let mut meta = raw(DIALECT, Value::Object(entry.clone()));
        meta.set_property(PROVIDER, ENTRY, kind(entry).into());
        if entry.get("content").is_some_and(Value::is_array) {
            meta.set_property(PROVIDER, PARTS, true.into());
        }
        let members = unknown(entry);
        if !members.is_empty() {
            meta.set_property(PROVIDER, MEMBERS, Value::Object(members));
        }
        let (role, contents) = self
            .contents(entry, after)
            .unwrap_or_else(|| (Role::Assistant, vec![verbatim(entry, DIALECT)]));
        Message {
            role,
            contents,
            meta,
        }
    }

    fn contents(&mut self, entry: &Fields, after: &[Content]) -> Option<(Role, Vec<Content>)> {
        match kind(entry) {
            "message.input" | ""
                if text(entry, "role").is_some() && is_text_or_absent(entry, "type") =>
            {
                let role = match text(entry, "role") {
                    Some("assistant") => Role::Assistant,
                    _ => Role::User,
                };
                Some((role, parts::read(FLAVOUR, entry.get("content"))))
            }
            "message.output" => {
                let contents = parts::read(FLAVOUR, entry.get("content"));
                let contents = contents
                    .into_iter()
                    .map(|content| self.image_result(content));
                Some((Role::Assistant, contents.collect()))
            }
            "function.call" => Some((Role::Assistant, vec![self.call(entry)?])),
            "function.result" => Some((Role::Tool, vec![self.result(entry, after)?])),
            "tool.execution" => {
                let contents = execution::read(entry, Meta::default())?;
                if text(entry, "name") == Some("image_generation") {
                    self.last_image_call = owned(entry, "id");
                }
                Some((Role::Assistant, contents))
            }
            kind if kind.ends_with(".call") => {
                Some((Role::Assistant, vec![self.unknown_call(entry)?]))
            }
            _ => None,
        }
    }

    /// A call of a type that this version does not know, as a function call: it gets a result.
    fn unknown_call(&mut self, entry: &Fields) -> Option<Content> {
        const OWN: [&str; 7] = [
            "type",
            "id",
            "tool_call_id",
            "object",
            "created_at",
            "completed_at",
            "arguments",
        ];
        let call_id = some_text(entry, "tool_call_id")?;
        let others = entry
            .iter()
            .filter(|(name, _)| !OWN.contains(&name.as_str()));
        let others = others.map(|(name, value)| (name.clone(), value.clone()));
        let arguments = match present(entry, "arguments") {
            Some(Value::Object(members)) => Arguments::Json(members.clone()),
            Some(Value::String(text)) => Arguments::Text(text.clone()),
            _ => Arguments::Json(others.collect()),
        };
        let name = kind(entry);
        let known = CallInfo::Function(name.to_owned());
        self.calls_by_id.insert(call_id.to_owned(), known);
        Some(Content::FunctionCall(FunctionCall {
            call_id: Some(call_id.into()),
            item_id: owned(entry, "id"),
            ..FunctionCall::new(name, arguments)
        }))
    }

    /// Assigns a generated image to its call.
    fn image_result(&self, content: Content) -> Content {
        let tool = content
            .meta()
            .and_then(|meta| meta.property(PROVIDER, "tool"));
        if tool.is_none_or(|tool| tool != "image_generation") {
            return content;
        }
        Content::ImageGenerationResult(HostedCall {
            call_id: self.last_image_call.as_deref().map(Into::into),
            results: vec![content],
            ..HostedCall::default()
        })
    }

    fn call(&mut self, entry: &Fields) -> Option<Content> {
        let call_id = some_text(entry, "tool_call_id")?;
        let name = text(entry, "name").unwrap_or_default();
        let arguments = match present(entry, "arguments") {
            Some(Value::Object(members)) => Arguments::Json(members.clone()),
            Some(Value::String(text)) => Arguments::Text(text.clone()),
            _ => Arguments::Text(String::new()),
        };
        if let Some(status) = some_text(entry, CONFIRMATION) {
            return Some(connector_call(entry, call_id, name, arguments, status));
        }
        let mut content = fallback_tools::decode_call(name, call_id, arguments);
        set_item_id(&mut content, owned(entry, "id"));
        keep_unread(&mut content, entry);
        if let Some((_, known)) = fallback_tools::call_info(&content) {
            self.calls_by_id.insert(call_id.to_owned(), known);
        }
        Some(content)
    }

    fn result(&mut self, entry: &Fields, after: &[Content]) -> Option<Content> {
        let call_id = some_text(entry, "tool_call_id")?;
        let result = present(entry, "result")?;
        let text = result
            .as_str()
            .map_or_else(|| result.to_string(), str::to_owned);
        let mut meta = Meta::default();
        if !after.is_empty() {
            meta.set_property(PROVIDER, AFTER, after.len().into());
        }
        let answer = FunctionOutput {
            call_id: Some(call_id.into()),
            name: None,
            text: Some(text),
            parts: after.to_vec(),
            meta,
        };
        Some(fallback_tools::decode_result(
            self.calls_by_id.get(call_id),
            answer,
        ))
    }
}

/// A connector call that needs, or already has, the user's confirmation.
fn connector_call(
    entry: &Fields,
    call_id: &str,
    name: &str,
    arguments: Arguments,
    status: &str,
) -> Content {
    let mut call = FunctionCall {
        call_id: Some(call_id.into()),
        item_id: owned(entry, "id"),
        requires_local_execution: false,
        ..FunctionCall::new(name, arguments)
    };
    call.meta
        .set_property(PROVIDER, CONFIRMATION, status.into());
    if status != "pending" {
        return Content::FunctionCall(call);
    }
    Content::ApprovalRequest(ApprovalRequest {
        id: call_id.to_owned(),
        call: Box::new(Content::FunctionCall(call)),
        safety_checks: Vec::new(),
        reason: None,
        digest: None,
        meta: Meta::default(),
    })
}

/// The user's decision on a connector call. Only an explicit `allow` counts as approval.
pub(super) fn confirmation(value: &Fields) -> Message {
    let approved = text(value, "confirmation") == Some("allow");
    let response = ApprovalResponse {
        id: owned(value, "tool_call_id").unwrap_or_default(),
        approved,
        reason: None,
        call: None,
        meta: raw(DIALECT, Value::Object(value.clone())),
    };
    Message::new(Role::User, vec![Content::ApprovalResponse(response)])
}

fn set_item_id(content: &mut Content, id: Option<String>) {
    if let Content::ComputerCall(call) = content {
        call.item_id = id;
    } else if let Content::ShellCall(call) = content {
        call.item_id = id;
    } else if let Content::EditCall(call) = content {
        call.item_id = id;
    } else if let Content::FunctionCall(call) = content {
        call.item_id = id;
    }
}

/// Keeps the entry of a call that cannot be read, for its arguments.
fn keep_unread(content: &mut Content, entry: &Fields) {
    let is_unread = fallback_tools::is_unread(content);
    if let Some(meta) = content.meta_mut().filter(|_| is_unread) {
        meta.raw_representation = raw(DIALECT, Value::Object(entry.clone())).raw_representation;
    }
}

fn unknown(entry: &Fields) -> Map<String, Value> {
    entry
        .iter()
        .filter(|(name, _)| !KNOWN_FIELDS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
