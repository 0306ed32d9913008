//! Encodes messages that came from other dialects or were edited.

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, ErrorContent, HostedCall, Message, ReasoningContent, Role};

use super::Flavour;
use super::call;
use super::decode::{DEVELOPER, EMPTY, LEGACY_ROLE, MEMBER, MEMBERS, PARTS};
use super::encode::MessageWriter;
use super::envelope::CHOICE_NUMBER;
use super::{losses, parts};
use crate::content_text;
use crate::fallback_tools::{self, CallInfo, RenderedResult};
use crate::json::passed_on;
use crate::settings::ENTRY;

/// An assistant message under construction.
#[derive(Debug, Default)]
struct AssistantMessage {
    parts: Vec<Value>,
    calls: Vec<Value>,
    legacy: Option<Value>,
    refusal: Option<String>,
    members: Map<String, Value>,
    /// Images and files, which assistant messages cannot contain.
    media: Vec<Value>,
}

impl MessageWriter {
    /// Writes contents other than results.
    pub(super) fn write_message(&mut self, message: &Message, contents: &[Content], path: &str) {
        if message.role == Role::Assistant {
            self.write_assistant_message(message, contents, path);
            return;
        }
        let has_property = |name: &str| {
            message
                .meta
                .property(self.flavour.provider(), name)
                .is_some()
        };
        let role = match message.role {
            Role::System => "system",
            Role::Developer if has_property(DEVELOPER) => DEVELOPER,
            Role::Developer => {
                let why = "not every service supports this role";
                self.report
                    .preserved("the role developer", path, why, "as the role system");
                "system"
            }
            Role::User | Role::Tool | Role::Assistant => "user",
        };
        let mut parts = Vec::new();
        for content in contents {
            match self.part_of(message, content) {
                Some(part) => parts.push(part),
                None => self.write_as_text(content, path, &mut parts),
            }
        }
        self.note_annotations(contents, path);
        if parts.is_empty() {
            return;
        }
        let mut item = json!({"role": role, "content": content_of(self.flavour, message, parts)});
        restore_members(self.flavour, message, &mut item);
        self.push_user(item);
    }

    /// Whether the contents came as a list of parts of this API, not as an entry of Mistral's
    /// conversations.
    fn is_own_list(&self, message: &Message) -> bool {
        let property = |name: &str| message.meta.property(self.flavour.provider(), name);
        property(PARTS).is_some() && property(ENTRY).is_none()
    }

    /// The content as a message part. Parts of unknown types are returned to the service they came
    /// from.
    fn part_of(&self, message: &Message, content: &Content) -> Option<Value> {
        if let Content::Other(other) = content
            && self.is_own_list(message)
        {
            let part = passed_on(other, self.flavour.wrapped());
            return Some(Value::Object(part.clone()));
        }
        parts::write_part(self.flavour, content)
    }

    /// Writes content without an equivalent part as text, or reports it as lost.
    fn write_as_text(&mut self, content: &Content, path: &str, parts: &mut Vec<Value>) {
        let mut as_text = |what: &str, text: String| {
            self.report
                .preserved(what, path, "messages have no such part", "as text");
            parts.push(json!({"type": "text", "text": text}));
        };
        if let Content::Error(ErrorContent { message, .. }) = content {
            as_text("an error in a message", format!("Error: {message}"));
        } else if let Some(text) = content_text::as_text(content) {
            as_text(&content_text::label(content), text);
        } else {
            let why = "messages have no such part";
            self.report.lost(content_text::label(content), path, why);
        }
    }

    fn write_assistant_message(&mut self, message: &Message, contents: &[Content], path: &str) {
        let mut draft = AssistantMessage::default();
        for content in contents {
            self.add(&mut draft, message, content, path);
        }
        self.note_annotations(contents, path);
        let media = std::mem::take(&mut draft.media);
        if let Some(item) = draft.into_message(self.flavour, message) {
            // Another choice of the same response stays a separate message.
            let apart = message
                .meta
                .property(self.flavour.provider(), CHOICE_NUMBER)
                .is_some();
            if apart {
                self.push(item);
            } else {
                self.push_assistant(item);
            }
        }
        if !media.is_empty() {
            let how = "as a user message";
            let why = "assistant messages hold only text";
            self.report
                .preserved("an image or file of the model", path, why, how);
            self.push_model_media(media);
        }
    }

    fn add(
        &mut self,
        draft: &mut AssistantMessage,
        message: &Message,
        content: &Content,
        path: &str,
    ) {
        if fallback_tools::call_info(content).is_some() {
            return self.add_call(draft, content, path);
        }
        if let Content::Reasoning(reasoning) = content {
            return self.add_thinking(draft, reasoning, path);
        }
        if let Content::CommandCall(hosted)
        | Content::CommandResult(hosted)
        | Content::ImageGenerationCall(hosted)
        | Content::ImageGenerationResult(hosted) = content
        {
            return self.add_hosted(draft, content, hosted, path);
        }
        if let Content::Usage(_) = content {
            return self
                .report
                .lost("usage", path, "request messages have no usage");
        }
        if let Content::Text(text) = content
            && text
                .meta
                .property(self.flavour.provider(), parts::REFUSAL)
                .is_some()
            && message
                .meta
                .property(self.flavour.provider(), PARTS)
                .is_none()
        {
            draft.refusal = Some(text.text.clone());
            return;
        }
        let is_media = crate::json::media(content).is_some();
        // The service itself may send images and files that its tools created.
        let own = self.is_own_list(message);
        match self.part_of(message, content) {
            Some(part) if is_media && !own => draft.media.push(part),
            Some(part) => draft.parts.push(part),
            None => self.write_as_text(content, path, &mut draft.parts),
        }
    }

    fn add_call(&mut self, draft: &mut AssistantMessage, content: &Content, path: &str) {
        if self.is_hosted_without_result(content)
            && let Some(called) = fallback_tools::to_function_call(content)
        {
            let why = "the service that executed it returned no result";
            let what = format!("the call of `{}`", called.name);
            self.report
                .preserved(what, path, why, "as text of the model");
            return draft
                .parts
                .push(json!({"type": "text", "text": called.as_text()}));
        }
        let id = self.wire_id(content, path);
        let Some(entry) = call::write(self.flavour, content, &id) else {
            return;
        };
        if call::unedited(self.flavour, content, &id).is_none() {
            losses::call(content, false, path, &mut self.report);
        }
        if call::is_legacy(self.flavour, content) {
            draft.legacy = Some(entry);
        } else {
            draft.calls.push(entry);
        }
    }

    fn add_thinking(
        &mut self,
        draft: &mut AssistantMessage,
        reasoning: &ReasoningContent,
        path: &str,
    ) {
        let provider = self.flavour.provider();
        if let Some(member) = reasoning.meta.property(provider, MEMBER)
            && let (Some(member), Some(text)) = (member.as_str(), &reasoning.text)
        {
            draft
                .members
                .insert(member.to_owned(), text.as_str().into());
        } else if let Some(part) = parts::write_thinking(self.flavour, reasoning) {
            draft.parts.push(part);
        } else {
            let why = "thinking of another provider cannot be repeated";
            self.report.lost("thinking", path, why);
        }
    }

    /// Writes what another provider executed as text.
    fn add_hosted(
        &mut self,
        draft: &mut AssistantMessage,
        content: &Content,
        hosted: &HostedCall,
        path: &str,
    ) {
        let what = content.type_name().unwrap_or_default().to_owned();
        let why = "it is a tool of another provider";
        let parts: Vec<&Content> = hosted.inputs.iter().chain(&hosted.results).collect();
        let texts = content_text::hosted_texts(hosted);
        for media in parts.iter().filter_map(|part| crate::json::media(part)) {
            match parts::write_media(self.flavour, &media) {
                Some(part) => draft.media.push(part),
                None => self
                    .report
                    .lost(content_text::label(&Content::from(media)), path, why),
            }
        }
        let text = format!("[{what}] {}", texts.join("\n"));
        self.report.preserved(
            content_text::hosted_label(&what, hosted),
            path,
            why,
            "as text of the model",
        );
        draft
            .parts
            .push(json!({"type": "text", "text": text.trim_end()}));
    }

    fn note_annotations(&mut self, contents: &[Content], path: &str) {
        let annotated = |content: &Content| matches!(content, Content::Text(text) if !text.meta.annotations.is_empty());
        if contents.iter().any(annotated) {
            let why = "messages have no annotations";
            self.report.lost("annotations", path, why);
        }
    }
}

impl AssistantMessage {
    fn into_message(self, flavour: Flavour, message: &Message) -> Option<Value> {
        let is_empty = self.parts.is_empty() && self.refusal.is_none() && self.members.is_empty();
        if is_empty && self.calls.is_empty() && self.legacy.is_none() {
            return None;
        }
        let content = if self.parts.is_empty() {
            Value::Null
        } else {
            content_of(flavour, message, self.parts)
        };
        let calls = !self.calls.is_empty() || self.legacy.is_some();
        let empty = message.meta.property(flavour.provider(), EMPTY).is_some();
        let content = if content.is_null() && (empty || (!calls && self.refusal.is_none())) {
            "".into()
        } else {
            content
        };
        let mut item = json!({"role": "assistant", "content": content});
        if let Some(members) = item.as_object_mut() {
            members.extend(self.members);
            members.extend(
                self.refusal
                    .map(|refusal| (parts::REFUSAL.to_owned(), refusal.into())),
            );
            members.extend(self.legacy.map(|call| ("function_call".to_owned(), call)));
            if !self.calls.is_empty() {
                members.insert("tool_calls".to_owned(), self.calls.into());
            }
        }
        restore_members(flavour, message, &mut item);
        Some(item)
    }
}

/// Appends the next message of the same turn: text to text, calls to calls.
pub(super) fn append(message: &mut Map<String, Value>, next: &Map<String, Value>) {
    let parts = |content: Option<&Value>| match content {
        Some(Value::String(text)) if !text.is_empty() => {
            vec![json!({"type": "text", "text": text})]
        }
        Some(Value::Array(parts)) => parts.clone(),
        Some(_) | None => Vec::new(),
    };
    let mut content = parts(message.get("content"));
    let more = parts(next.get("content"));
    if content.is_empty() {
        let content = next.get("content").filter(|_| !more.is_empty());
        if let Some(content) = content {
            message.insert("content".to_owned(), content.clone());
        }
    } else if !more.is_empty() {
        content.extend(more);
        message.insert("content".to_owned(), content.into());
    }
    for (name, value) in next {
        match (message.get_mut(name), value) {
            (Some(Value::Array(list)), Value::Array(more)) if name == "tool_calls" => {
                list.extend(more.iter().cloned());
            }
            (Some(_), _) => {}
            (None, value) => {
                message.insert(name.clone(), value.clone());
            }
        }
    }
}

/// A single text as a string, otherwise the list of parts.
fn content_of(flavour: Flavour, message: &Message, parts: Vec<Value>) -> Value {
    let listed = message.meta.property(flavour.provider(), PARTS).is_some();
    match parts.as_slice() {
        [only]
            if !listed && only["type"] == "text" && only.as_object().map_or(0, Map::len) == 2 =>
        {
            only["text"].clone()
        }
        _ => Value::Array(parts),
    }
}

fn restore_members(flavour: Flavour, message: &Message, item: &mut Value) {
    let members = message.meta.property(flavour.provider(), MEMBERS);
    if let (Some(item), Some(Value::Object(members))) = (item.as_object_mut(), members) {
        for (name, value) in members {
            item.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// The tool message for a result.
pub(super) fn result(
    writer: &MessageWriter,
    id: &str,
    rendered: &RenderedResult,
    known: Option<&CallInfo>,
    message: &Message,
) -> Value {
    let flavour = writer.flavour;
    let legacy = message
        .meta
        .property(flavour.provider(), LEGACY_ROLE)
        .is_some();
    let mut item = Map::new();
    item.insert(
        "role".to_owned(),
        if legacy { "function" } else { "tool" }.into(),
    );
    let no_id = legacy || id.is_empty() || writer.has_no_id_in_results(id);
    if !no_id {
        item.insert("tool_call_id".to_owned(), id.into());
    }
    let name = match known {
        Some(CallInfo::Function(name)) => Some(name.as_str()),
        Some(CallInfo::Computer(family, _)) if family.as_deref() == Some("browser") => {
            Some("browser")
        }
        Some(CallInfo::Computer(..)) => Some(fallback_tools::COMPUTER),
        Some(CallInfo::Shell) => Some(fallback_tools::SHELL),
        Some(CallInfo::Edit) | None => None,
    };
    if let Some(name) = name.filter(|_| no_id || flavour == Flavour::Mistral) {
        item.insert("name".to_owned(), name.into());
    }
    let images = rendered
        .images
        .iter()
        .filter_map(|media| parts::write_media(flavour, media));
    let listed = message.meta.property(flavour.provider(), PARTS).is_some();
    let has_inline_images = flavour == Flavour::Inline && !rendered.images.is_empty();
    let content = if listed && !has_inline_images && !rendered.text.is_empty() {
        json!([{"type": "text", "text": rendered.text}])
    } else if has_inline_images {
        let text =
            (!rendered.text.is_empty()).then(|| json!({"type": "text", "text": rendered.text}));
        Value::Array(text.into_iter().chain(images).collect())
    } else {
        rendered.text.as_str().into()
    };
    item.insert("content".to_owned(), content);
    let mut item = Value::Object(item);
    restore_members(flavour, message, &mut item);
    item
}
