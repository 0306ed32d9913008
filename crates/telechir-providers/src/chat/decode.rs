//! Decodes one message. Unknown content is kept unchanged; calls that cannot be executed carry the
//! reason.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, ReasoningContent, Role};

use super::call::{self, given_id};
use super::parts;
use super::{Flavour, content_list, ollama, result_images};
use crate::Report;
use crate::fallback_tools::{self, CallInfo, FunctionOutput};
use crate::json::{Fields, list, owned, present, raw, some_text, text};

/// Stores message fields without a neutral equivalent.
pub(super) use crate::settings::MEMBERS;
/// Marks content that came as a list of parts.
pub(super) const PARTS: &str = "parts";
/// Marks content that came as an empty string instead of null.
pub(super) const EMPTY: &str = "empty";
/// Marks that the service is known to accept the role `developer`.
pub(super) const DEVELOPER: &str = "developer";
/// Stores the field that held the thinking.
pub(super) const MEMBER: &str = "member";
/// Stores how many images of a result are in the following message.
pub(super) const AFTER: &str = "images_after";
/// Marks a message with the older role `function`.
pub(super) const LEGACY_ROLE: &str = "function";
/// Fields that hold thinking next to `content`.
pub(super) const THINKING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

const KNOWN_FIELDS: [&str; 8] = [
    "role",
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "tool_call_id",
    "name",
    ollama::IMAGES,
];

/// Reads messages in order and tracks the calls among them.
#[derive(Clone, Debug)]
pub(super) struct MessageReader {
    pub(super) flavour: Flavour,
    /// Known calls by id.
    pub(super) calls_by_id: HashMap<String, CallInfo>,
    /// Calls with a generated id and their function names, in order, until a result arrives.
    unanswered: VecDeque<(String, Option<String>)>,
    generated: usize,
    pub(super) report: Report,
}

impl MessageReader {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            calls_by_id: HashMap::new(),
            unanswered: VecDeque::new(),
            generated: 0,
            report: Report::default(),
        }
    }

    /// Decodes a list of messages. Images in a message after the results are returned to their
    /// results.
    pub(super) fn messages(&mut self, values: &[Fields]) -> Vec<Message> {
        let mut read = Vec::new();
        let mut at = 0;
        while at < values.len() {
            let run = values[at..].iter().take_while(|value| is_result(value));
            let run = run.count();
            if run == 0 {
                read.push(self.message(&values[at], &[]));
                at += 1;
                continue;
            }
            let (results, rest) = values[at..].split_at(run);
            let ids: Vec<String> = results
                .iter()
                .map(|result| self.result_id(result))
                .collect();
            let following = result_images::read(self.flavour, rest, &ids);
            let mut images = following.images.into_iter().peekable();
            for (result, id) in results.iter().zip(&ids) {
                let images_of_result = result_images::take_images(&mut images, id);
                read.push(self.message(result, &images_of_result));
            }
            at += run + following.messages;
            if following.bridged
                && let Some(next) = values.get(at)
            {
                let mut message = self.message(next, &[]);
                let provider = self.flavour.provider();
                message
                    .meta
                    .set_property(provider, result_images::BRIDGED, true.into());
                read.push(message);
                at += 1;
            }
        }
        read
    }

    /// The id of a result: its own, or that of the next unanswered call with a generated id.
    fn result_id(&self, result: &Fields) -> String {
        let given = given_id(result, "tool_call_id");
        given
            .or_else(|| {
                self.next_unanswered(function_name(result))
                    .map(|(id, _)| id.clone())
            })
            .unwrap_or_default()
    }

    fn next_unanswered(&self, name: Option<&str>) -> Option<&(String, Option<String>)> {
        let named = self
            .unanswered
            .iter()
            .find(|(_, of)| name.is_some() && of.as_deref() == name);
        named.or_else(|| self.unanswered.front())
    }

    /// Decodes one message; `after` holds the images of its result from the following message.
    pub(super) fn message(&mut self, value: &Fields, after: &[Content]) -> Message {
        let mut meta = raw(self.flavour.dialect(), Value::Object(value.clone()));
        let provider = self.flavour.provider();
        if value.get("content").is_some_and(Value::is_array) {
            meta.set_property(provider, PARTS, true.into());
        }
        if value.get("content").is_some_and(|content| content == "") {
            meta.set_property(provider, EMPTY, true.into());
        }
        if text(value, "role") == Some(DEVELOPER) {
            meta.set_property(provider, DEVELOPER, true.into());
        }
        let is_result = is_result(value);
        let mut members = unknown(value);
        if is_result {
            let mut content = self.result(value, after);
            if !after.is_empty()
                && let Some(meta) = content.meta_mut()
            {
                meta.set_property(provider, AFTER, after.len().into());
            }
            if text(value, "role") == Some("function") {
                meta.set_property(provider, LEGACY_ROLE, true.into());
            }
            members.extend(present(value, "name").map(|name| ("name".to_owned(), name.clone())));
            keep_members(&mut meta, provider, members);
            return Message {
                role: Role::Tool,
                contents: vec![content],
                meta,
            };
        }
        let role = role(value);
        let mut contents = if role == Role::Assistant {
            self.assistant_contents(value, &mut members)
        } else {
            parts::read(self.flavour, value.get("content"))
        };
        contents.extend(ollama::images(value));
        for result in content_list::results(value) {
            let id = result.call_id.as_ref();
            let known = id.and_then(|id| self.calls_by_id.get(id));
            let output = FunctionOutput {
                call_id: result.call_id.as_deref().map(Into::into),
                name: result.name,
                text: Some(result.text),
                parts: Vec::new(),
                meta: Default::default(),
            };
            contents.push(fallback_tools::decode_result(known, output));
        }
        content_list::remove_known(&mut members, value);
        members.extend(present(value, "name").map(|name| ("name".to_owned(), name.clone())));
        keep_members(&mut meta, provider, members);
        Message {
            role,
            contents,
            meta,
        }
    }

    /// The contents of an assistant message: thinking, text and calls.
    fn assistant_contents(
        &mut self,
        value: &Fields,
        members: &mut Map<String, Value>,
    ) -> Vec<Content> {
        let mut contents: Vec<Content> = self.thinking(value, members).into_iter().collect();
        contents.extend(parts::read(self.flavour, value.get("content")));
        let refusal = some_text(value, parts::REFUSAL);
        contents.extend(refusal.map(parts::refusal(self.flavour)));
        for entry in list(value, "tool_calls") {
            let generated = self.next_id();
            let read = call::read(self.flavour, entry, &generated);
            self.remember(&read, &generated);
            contents.push(read.content);
        }
        for entry in content_list::calls(value) {
            let generated = self.next_id();
            let mut read = call::read(self.flavour, &entry, &generated);
            if let Some(meta) = read.content.meta_mut() {
                let form = content_list::CONTENT_LIST.into();
                meta.set_property(self.flavour.provider(), call::FORM, form);
            }
            self.remember(&read, &generated);
            contents.push(read.content);
        }
        if let Some(legacy) = present(value, "function_call") {
            let generated = self.next_id();
            let read = call::read_legacy(self.flavour, legacy, &generated);
            self.remember(&read, &generated);
            contents.push(read.content);
        }
        contents
    }

    /// Thinking in a separate field; a second such field is stored unchanged.
    fn thinking(&self, value: &Fields, members: &mut Map<String, Value>) -> Option<Content> {
        let member = THINKING
            .into_iter()
            .find(|name| some_text(value, name).is_some())?;
        members.shift_remove(member);
        let mut thinking = ReasoningContent {
            text: owned(value, member),
            ..ReasoningContent::default()
        };
        let provider = self.flavour.provider();
        thinking.meta.set_property(provider, MEMBER, member.into());
        Some(Content::Reasoning(thinking))
    }

    fn next_id(&self) -> String {
        format!("no-id-{}", self.generated)
    }

    fn remember(&mut self, entry: &call::ToolCallEntry, generated: &str) {
        let Some((_, known)) = fallback_tools::call_info(&entry.content) else {
            return;
        };
        if entry.call_id == generated {
            self.generated += 1;
            let name = fallback_tools::to_function_call(&entry.content).map(|called| called.name);
            self.unanswered.push_back((generated.to_owned(), name));
        }
        self.calls_by_id.insert(entry.call_id.clone(), known);
    }

    fn result(&mut self, value: &Fields, after: &[Content]) -> Content {
        let id = Some(self.result_id(value)).filter(|id| !id.is_empty());
        if let Some(id) = &id {
            self.unanswered.retain(|(unanswered, _)| unanswered != id);
        }
        let content = value.get("content");
        let mut parts = match content {
            Some(Value::String(_)) | None => Vec::new(),
            other => parts::read(self.flavour, other),
        };
        parts.extend(after.iter().cloned());
        let answer = FunctionOutput {
            call_id: id.as_deref().map(Into::into),
            name: function_name(value).map(str::to_owned),
            text: content.and_then(Value::as_str).map(str::to_owned),
            parts,
            meta: Default::default(),
        };
        let known = id.as_ref().and_then(|id| self.calls_by_id.get(id));
        fallback_tools::decode_result(known, answer)
    }
}

/// The name of the function that a result belongs to.
fn function_name(result: &Fields) -> Option<&str> {
    some_text(result, "name").or_else(|| some_text(result, ollama::TOOL_NAME))
}

/// Whether the message is a tool result.
pub(super) fn is_result(value: &Fields) -> bool {
    matches!(text(value, "role"), Some("tool" | "function"))
}

fn role(value: &Fields) -> Role {
    match text(value, "role") {
        Some("assistant" | "model") => Role::Assistant,
        Some("system") => Role::System,
        Some("developer") => Role::Developer,
        Some(_) => Role::User,
        // Only the message of a response may lack its role.
        None => Role::Assistant,
    }
}

fn unknown(value: &Fields) -> Map<String, Value> {
    value
        .iter()
        .filter(|(name, value)| !KNOWN_FIELDS.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn keep_members(meta: &mut telechir_protocol::Meta, provider: &str, members: Map<String, Value>) {
    if !members.is_empty() {
        meta.set_property(provider, MEMBERS, Value::Object(members));
    }
}
