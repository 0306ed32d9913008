//! Which contents of a response are written while they arrive.

use serde_json::{Map, Value};
use telechir_protocol::json_limits;

use super::StreamTranslationError;
use super::content_start::{ContentStart, start_of};
use crate::envelope::ThinkingTranslation;
use crate::envelope::api::Api;
use crate::envelope::stream::writer::EventWriter;
use crate::{CallDelta, Delta, Dialect, anthropic, extra_tools, fallback_tools};

/// Functions that stand for a screen, a shell or an editor: their calls may take another form.
const OWN_FUNCTIONS: [&str; 11] = [
    fallback_tools::COMPUTER,
    fallback_tools::SHELL,
    fallback_tools::EDITOR,
    fallback_tools::MEMORY,
    fallback_tools::PATCH,
    extra_tools::BROWSER,
    extra_tools::COMPUTER,
    extra_tools::EXECUTE_BROWSER,
    extra_tools::SHELL,
    "bash",
    "str_replace_editor",
];

/// A content that is being written.
#[derive(Debug)]
struct LiveContent {
    /// Position in the source's response; calls and texts may be counted apart.
    source: (bool, u64),
    start: ContentStart,
    text: String,
    /// How many bytes of the text were written.
    written: usize,
    is_open: bool,
    was_opened: bool,
    /// Whether the source said that a call is complete.
    has_ended: bool,
}

/// The leading contents of a response whose translation is known before they are complete.
#[derive(Debug)]
pub(super) struct LiveContents {
    source: Api,
    api: Api,
    thinking: ThinkingTranslation,
    /// Whether further contents can be written while they arrive.
    is_live: bool,
    contents: Vec<LiveContent>,
}

impl LiveContents {
    pub(super) fn new(from: Dialect, to: Dialect, thinking: ThinkingTranslation) -> Self {
        let (source, api) = (Api::of(from), Api::of(to));
        Self {
            source,
            api,
            thinking,
            // An agent's chunk of text is complete in itself.
            is_live: api != Api::Agents && source != Api::Agents,
            contents: Vec::new(),
        }
    }

    /// Takes a delta; whether it opened or extended a content.
    pub(super) fn push(&mut self, delta: Delta) -> bool {
        match delta {
            Delta::Text { index, text } => self.text((false, index), &text),
            Delta::Call(piece) => self.call(piece),
            Delta::CallEnd { index } => {
                let mut contents = self.contents.iter_mut();
                if let Some(call) = contents.find(|content| content.source == (true, index)) {
                    call.has_ended = true;
                }
                false
            }
            Delta::Reasoning { .. } => {
                self.is_live &= self.drops_thinking();
                false
            }
            Delta::Other { .. } => {
                self.is_live = false;
                false
            }
        }
    }

    /// Whether the target gets nothing of the source's thinking.
    fn drops_thinking(&self) -> bool {
        let foreign = matches!(
            self.api,
            Api::Responses
                | Api::Generate
                | Api::Interactions
                | Api::Chat
                | Api::Mistral
                | Api::Conversations
        );
        let is_chat = |api| matches!(api, Api::Chat | Api::Mistral | Api::Conversations);
        let is_other_provider = self.source.provider() != self.api.provider()
            && !(is_chat(self.source) && is_chat(self.api));
        foreign && is_other_provider && self.thinking == ThinkingTranslation::Drop
    }

    fn text(&mut self, source: (bool, u64), text: &str) -> bool {
        if text.is_empty() {
            return false;
        }
        if let Some(content) = self
            .contents
            .iter_mut()
            .find(|content| content.source == source)
        {
            content.text.push_str(text);
            return true;
        }
        let follows_text = self
            .contents
            .last()
            .is_some_and(|last| last.start == ContentStart::Text);
        let is_one_message = matches!(self.api, Api::Chat | Api::Mistral);
        if follows_text || (is_one_message && !self.contents.is_empty()) {
            self.is_live = false;
        }
        self.open(source, ContentStart::Text, text)
    }

    fn call(&mut self, piece: CallDelta) -> bool {
        let source = (true, piece.index);
        if let Some(content) = self
            .contents
            .iter_mut()
            .find(|content| content.source == source)
        {
            content.text.push_str(&piece.arguments);
            return true;
        }
        let start = piece.call_id.zip(piece.name);
        let start = start.filter(|(id, name)| self.is_plain_call(id, name));
        let Some((id, name)) = start else {
            self.is_live = false;
            return false;
        };
        let is_known = |content: &LiveContent| matches!(&content.start, ContentStart::Call { id: other, .. } if *other == id);
        self.is_live &= !self.contents.iter().any(is_known);
        self.open(source, ContentStart::Call { id, name }, &piece.arguments)
    }

    /// Whether the call is written with the same id and name, and piece by piece.
    fn is_plain_call(&self, id: &str, name: &str) -> bool {
        let is_google = matches!(self.source, Api::Generate | Api::Interactions);
        let is_plain = |text: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            !text.is_empty() && text.len() <= 40 && text.bytes().all(allowed)
        };
        let is_nine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let needs_nine = matches!(self.api, Api::Mistral | Api::Conversations);
        // A call that is no function has the type of its item as its name, until it is complete.
        let is_item = self.source == Api::Responses && name.ends_with("_call");
        self.api != Api::Generate
            && !is_google
            && !is_item
            && is_plain(id)
            && is_plain(name)
            && (is_nine || !needs_nine)
            && !OWN_FUNCTIONS.contains(&name)
            && !self.is_toolset_member(name)
    }

    /// Whether the name may be that of a toolset's member, which a delta does not tell apart from a
    /// function.
    fn is_toolset_member(&self, name: &str) -> bool {
        let is_anthropic = matches!(self.source, Api::Anthropic | Api::Invoke);
        is_anthropic
            && (anthropic::COMPUTER_MEMBERS.contains(&name)
                || anthropic::BROWSER_MEMBERS.contains(&name))
    }

    fn open(&mut self, source: (bool, u64), start: ContentStart, text: &str) -> bool {
        if !self.is_live {
            return false;
        }
        self.contents.push(LiveContent {
            source,
            start,
            text: text.to_owned(),
            written: 0,
            is_open: false,
            was_opened: false,
            has_ended: false,
        });
        true
    }

    /// Writes what arrived. Where contents follow each other, only the last is open.
    pub(super) fn write(&mut self, writer: &mut EventWriter) {
        if !writer.has_started() {
            return;
        }
        let is_parallel = matches!(self.api, Api::Chat | Api::Mistral | Api::Responses);
        let mut before: Option<&mut LiveContent> = None;
        for (at, content) in self.contents.iter_mut().enumerate() {
            if !is_parallel && let Some(before) = before {
                let is_call = matches!(before.start, ContentStart::Call { .. });
                if is_call && !before.has_ended {
                    return;
                }
                if before.is_open {
                    before.close(at.saturating_sub(1), writer);
                }
            }
            if content.is_open || !content.was_opened {
                content.write(at, writer);
            }
            before = Some(content);
        }
    }

    /// The translated contents, with those that were opened first: a chat message has its text
    /// and its calls in different members, so that they have no order.
    pub(super) fn ordered(&self, mut translated: Vec<Value>) -> Vec<Value> {
        if !matches!(self.api, Api::Chat | Api::Mistral) {
            return translated;
        }
        for (at, content) in self.contents.iter().enumerate() {
            let is_it = |value: &Value| {
                start_of(self.api, value).is_some_and(|(start, _)| start == content.start)
            };
            let found = translated.iter().skip(at).position(is_it);
            if let Some(found) = found {
                let value = translated.remove(at + found);
                translated.insert(at, value);
            }
        }
        translated
    }

    /// Writes the rest of the opened contents.
    pub(super) fn finish(
        &mut self,
        translated: &[Value],
        writer: &mut EventWriter,
    ) -> Result<WrittenContents, StreamTranslationError> {
        let opened = self
            .contents
            .iter()
            .take_while(|content| content.was_opened);
        let mut written = WrittenContents {
            count: opened.count(),
            ..WrittenContents::default()
        };
        let starts: Vec<_> = translated
            .iter()
            .map(|content| start_of(self.api, content))
            .collect();
        for (at, content) in self.contents.iter_mut().enumerate().take(written.count) {
            let found = starts.get(at).and_then(Option::as_ref);
            let Some((start, text)) = found.filter(|found| content.is_start_of(found, &starts))
            else {
                return Err(StreamTranslationError::Changed { at });
            };
            if *start == ContentStart::Text {
                content.text.clone_from(text);
            }
            written.changes.extend(content.change(start, text));
            if content.is_open {
                content.write(at, writer);
                content.close(at, writer);
            } else {
                written.late.push_str(&content.text[content.written..]);
            }
        }
        Ok(written)
    }
}

/// The contents of a response that were written while they arrived.
#[derive(Debug, Default)]
pub(super) struct WrittenContents {
    pub(super) count: usize,
    /// Text that the source added to a content that had been closed.
    pub(super) late: String,
    pub(super) changes: Vec<ChangedCall>,
}

/// A call that differs at the end of the stream from what was written of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedCall {
    /// The id that was written.
    pub(super) id: String,
    /// The id at the end of the stream, if it is another one.
    pub(super) last_id: Option<String>,
    /// The arguments at the end of the stream, if they are others.
    pub(super) last_arguments: Option<String>,
}

impl LiveContent {
    /// Whether a content of the whole response is what was written. Some services change the id
    /// of a call until its end.
    fn is_start_of(
        &self,
        (start, text): &(ContentStart, String),
        all: &[Option<(ContentStart, String)>],
    ) -> bool {
        match (&self.start, start) {
            (ContentStart::Text, ContentStart::Text) => text.starts_with(&self.text),
            (
                ContentStart::Call { id, name },
                ContentStart::Call {
                    id: last_id,
                    name: last_name,
                },
            ) => {
                let has_id = |start: &(ContentStart, String)| matches!(&start.0, ContentStart::Call { id: other, .. } if other == id);
                name == last_name && (id == last_id || !all.iter().flatten().any(has_id))
            }
            (ContentStart::Text | ContentStart::Call { .. }, _) => false,
        }
    }

    fn change(&self, last: &ContentStart, arguments: &str) -> Option<ChangedCall> {
        let (ContentStart::Call { id, .. }, ContentStart::Call { id: last_id, .. }) =
            (&self.start, last)
        else {
            return None;
        };
        let is_same = is_same_json(&self.text, arguments);
        let change = ChangedCall {
            id: id.clone(),
            last_id: (id != last_id).then(|| last_id.clone()),
            last_arguments: (!is_same).then(|| arguments.to_owned()),
        };
        (change.last_id.is_some() || change.last_arguments.is_some()).then_some(change)
    }

    fn write(&mut self, at: usize, writer: &mut EventWriter) {
        if !self.was_opened {
            writer.open(at, &self.start);
            (self.is_open, self.was_opened) = (true, true);
        }
        let rest = &self.text[self.written..];
        if !rest.is_empty() {
            writer.grow(at, &self.start, rest);
            self.written = self.text.len();
        }
    }

    fn close(&mut self, at: usize, writer: &mut EventWriter) {
        writer.close(at, &self.start, &self.text);
        self.is_open = false;
    }
}

/// Whether two arguments are the same JSON; none are an empty object.
fn is_same_json(one: &str, other: &str) -> bool {
    let parsed = |text: &str| match text.trim() {
        "" => Some(Value::Object(Map::new())),
        text => json_limits::parse(text.as_bytes()).ok(),
    };
    one == other || parsed(one).is_some_and(|one| parsed(other) == Some(one))
}
