//! Arranges a history into turns that the services accept: the results of a turn's calls come first
//! in the next turn, one for each call and in the same order.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use telechir_protocol::{CallId, Content, Message, Role, Size, ToolResult};

use super::PROVIDER;
use super::call::property;
use super::encode_call::EncodedFunctionCall;
use super::media::size_of;
use crate::history::turns::{call_id, meta_of, result_id};
use crate::json::media;
use crate::{History, Report};

/// The author of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnAuthor {
    Model,
    User,
}

/// An element of a turn.
#[derive(Clone, Debug)]
pub(super) enum TurnEntry<'a> {
    /// A content and its location in the history.
    Content(&'a Content, String),
    /// The missing result of this call.
    Missing(&'a Content),
}

/// Consecutive contents of one author.
#[derive(Clone, Debug)]
pub(super) struct AuthoredTurn<'a> {
    pub(super) author: TurnAuthor,
    /// The original JSON around the message; absent if the turn combines several messages.
    pub(super) around: Option<&'a Value>,
    pub(super) entries: Vec<TurnEntry<'a>>,
}

/// The author of a content.
fn author_of(role: &Role, content: &Content) -> TurnAuthor {
    match content {
        _ if result_id(content).is_some() => TurnAuthor::User,
        _ if call_id(content).is_some() => TurnAuthor::Model,
        Content::Reasoning(_)
        | Content::CommandCall(_)
        | Content::CommandResult(_)
        | Content::ImageGenerationCall(_)
        | Content::ImageGenerationResult(_) => TurnAuthor::Model,
        _ if *role == Role::Assistant => TurnAuthor::Model,
        _ => TurnAuthor::User,
    }
}

/// The turns of a history from message `first` on, without what a list of turns cannot represent,
/// which is reported. A message that came from this dialect stays a turn of its own.
pub(super) fn turns<'a>(
    history: &'a History,
    first: usize,
    dialect: &str,
    report: &mut Report,
) -> Vec<AuthoredTurn<'a>> {
    let messages = history.messages.get(first..).unwrap_or_default();
    history.envelope.report_foreign(dialect, report);
    report_instructions(messages, first, report);
    let mut turns: Vec<AuthoredTurn<'a>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let location = |index| format!("messages[{}].contents[{index}]", at + first);
        let entry = |(index, content)| TurnEntry::Content(content, location(index));
        if let Some(around) = own_around(message, dialect) {
            let author = if message.role == Role::Assistant {
                TurnAuthor::Model
            } else {
                TurnAuthor::User
            };
            turns.push(AuthoredTurn {
                author,
                around: Some(around),
                entries: message.contents.iter().enumerate().map(entry).collect(),
            });
            continue;
        }
        for (index, content) in message.contents.iter().enumerate() {
            let author = author_of(&message.role, content);
            let entry = TurnEntry::Content(content, location(index));
            match turns.last_mut() {
                Some(last) if last.author == author && last.around.is_none() => {
                    last.entries.push(entry);
                }
                _ => turns.push(AuthoredTurn {
                    author,
                    around: None,
                    entries: vec![entry],
                }),
            }
        }
    }
    pair_results(turns, report)
}

/// The JSON around the contents of a message, if it came from this dialect.
pub(super) fn own_around<'a>(message: &'a Message, dialect: &str) -> Option<&'a Value> {
    let raw = message.meta.raw_representation.as_ref()?;
    (raw.dialect == dialect && raw.json().is_object()).then_some(raw.json())
}

fn result_call_id<'a>(entry: &TurnEntry<'a>) -> Option<&'a CallId> {
    match entry {
        TurnEntry::Content(content, _) => result_id(content),
        TurnEntry::Missing(_) => None,
    }
}

fn entry_call_id<'a>(entry: &TurnEntry<'a>) -> Option<&'a CallId> {
    match entry {
        TurnEntry::Content(content, _) => call_id(content),
        TurnEntry::Missing(_) => None,
    }
}

/// The turns in which calls and results with the same id occur.
#[derive(Debug, Default)]
struct CallSites {
    calls: VecDeque<usize>,
    answers: VecDeque<usize>,
}

impl CallSites {
    /// The turn with the result for a call in turn `at`: a later one, before the id is used again.
    fn answer(&mut self, at: usize) -> Option<usize> {
        for turns in [&mut self.calls, &mut self.answers] {
            while turns.front().is_some_and(|turn| *turn < at) {
                turns.pop_front();
            }
        }
        let reused = self.calls.iter().find(|turn| **turn > at);
        let is_next = |turn_index: &usize| reused.is_none_or(|reused| turn_index < reused);
        self.answers.front().copied().filter(is_next)?;
        self.answers.pop_front()
    }
}

/// Moves each result into the turn after its call.
fn pair_results<'a>(
    mut turns: Vec<AuthoredTurn<'a>>,
    report: &mut Report,
) -> Vec<AuthoredTurn<'a>> {
    let mut call_sites: HashMap<CallId, CallSites> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        for id in turn.entries.iter().filter_map(result_call_id) {
            call_sites
                .entry(id.clone())
                .or_default()
                .answers
                .push_back(at);
        }
        for id in turn.entries.iter().filter_map(entry_call_id) {
            call_sites
                .entry(id.clone())
                .or_default()
                .calls
                .push_back(at);
        }
    }
    let mut ordered = Vec::with_capacity(turns.len());
    for at in 0..turns.len() {
        let calls: Vec<&Content> = open_calls(&turns[at]);
        if turns[at].author == TurnAuthor::Model && !calls.is_empty() {
            let is_last = turns[at + 1..].iter().all(|turn| turn.entries.is_empty());
            let mut answers = answers(&mut turns, at, &calls, &mut call_sites, report);
            // A conversation of this dialect stays as it is, also one that was cut.
            if turns[at].around.is_some()
                && turns.get(at + 1).is_none_or(|next| next.around.is_some())
            {
                answers.retain(|entry| !matches!(entry, TurnEntry::Missing(_)));
            }
            let is_open = is_last
                && answers
                    .iter()
                    .all(|entry| matches!(entry, TurnEntry::Missing(_)));
            ordered.push(turns[at].clone());
            if is_open || answers.is_empty() {
                continue;
            }
            match turns
                .get_mut(at + 1)
                .filter(|next| next.author == TurnAuthor::User)
            {
                Some(next) => {
                    answers.append(&mut next.entries);
                    next.entries = answers;
                }
                None => ordered.push(AuthoredTurn {
                    author: TurnAuthor::User,
                    around: None,
                    entries: answers,
                }),
            }
        } else {
            ordered.push(turns[at].clone());
        }
    }
    ordered.retain(|turn| !turn.entries.is_empty() || turn.around.is_some());
    ordered
}

fn open_calls<'a>(turn: &AuthoredTurn<'a>) -> Vec<&'a Content> {
    let call = |entry: &TurnEntry<'a>| match entry {
        TurnEntry::Content(content, _) if call_id(content).is_some() => Some(*content),
        _ => None,
    };
    turn.entries.iter().filter_map(call).collect()
}

/// The results for these calls, removed from their turns; empty if the next turn already has all of
/// them.
fn answers<'a>(
    turns: &mut [AuthoredTurn<'a>],
    at: usize,
    calls: &[&'a Content],
    call_sites: &mut HashMap<CallId, CallSites>,
    report: &mut Report,
) -> Vec<TurnEntry<'a>> {
    // The API accepts several contents of the model in a row, whose results follow together.
    let next = turns[at + 1..]
        .iter()
        .find(|turn| turn.author != TurnAuthor::Model);
    if next.is_some_and(|next| has_all(next, calls)) {
        return Vec::new();
    }
    let mut answers = Vec::new();
    for call in calls {
        let Some(id) = call_id(call) else { continue };
        let turn_index = call_sites
            .get_mut(id)
            .and_then(|call_sites| call_sites.answer(at));
        let found = turn_index.and_then(|turn_index| {
            let is_answer = |entry: &TurnEntry<'_>| result_call_id(entry) == Some(id);
            let entries = &mut turns[turn_index].entries;
            let index = entries.iter().position(is_answer)?;
            // Moving is normal for other dialects, but an anomaly in Google's own JSON.
            if turn_index > at + 1 && has_google_raw(&entries[index]) {
                report.preserved(
                    "a late result",
                    format!("call {id}"),
                    "the turn after a call must have its result",
                    "in that turn",
                );
            } else if index > 0 && entries[..=index].iter().any(has_google_raw) {
                report.preserved(
                    "a result after other contents",
                    format!("call {id}"),
                    "a turn starts with the results of the previous calls, in their order",
                    "at its position among them",
                );
            }
            Some(entries.remove(index))
        });
        answers.push(found.unwrap_or(TurnEntry::Missing(call)));
    }
    answers
}

/// Whether a turn already has a result for each call: inside an original message, or in leading
/// results from Google's JSON, whose order the service accepted.
fn has_all(turn: &AuthoredTurn<'_>, calls: &[&Content]) -> bool {
    let is_answer =
        |entry: &&TurnEntry<'_>| result_call_id(entry).is_some() && has_google_raw(entry);
    let begins = match turn.around {
        Some(_) => turn.entries.len(),
        None => turn.entries.iter().take_while(is_answer).count(),
    };
    let mut answers: HashMap<&CallId, usize> = HashMap::new();
    for id in turn.entries[..begins].iter().filter_map(result_call_id) {
        *answers.entry(id).or_default() += 1;
    }
    let mut ids = calls.iter().filter_map(|call| call_id(call));
    ids.all(|id| match answers.get_mut(id) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    })
}

fn has_google_raw(entry: &TurnEntry<'_>) -> bool {
    match entry {
        TurnEntry::Content(content, _) => content
            .meta()
            .is_some_and(|meta| super::raw_of(meta).is_some()),
        TurnEntry::Missing(_) => false,
    }
}

/// The size of the image in a content.
pub(super) fn image_size(content: &Content) -> Option<Size> {
    match content {
        Content::ComputerResult(result) => {
            let own = result.screenshot.as_ref().and_then(size_of);
            own.or(result.display)
        }
        content => size_of(&media(content)?),
    }
}

/// The function call of a result that records its function's name.
pub(super) fn encoded_by_name(result: &ToolResult) -> Option<Vec<EncodedFunctionCall>> {
    let meta = meta_of(result);
    let stored = meta.property(PROVIDER, property::FUNCTION);
    let stored = stored.and_then(Value::as_str).map(str::to_owned);
    let own = match result {
        ToolResult::Function(function) => function.name.clone(),
        _ => None,
    };
    Some(vec![EncodedFunctionCall {
        id: result.call_id()?.clone(),
        name: stored.or(own)?,
        args: Value::Null,
        action: None,
    }])
}

/// The text of a message.
pub(super) fn joined_text(message: &Message) -> String {
    let texts = message.contents.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Reports instructions outside the request's own field, which become user messages.
fn report_instructions(messages: &[Message], first: usize, report: &mut Report) {
    for (at, message) in messages.iter().enumerate() {
        let is_system = matches!(message.role, Role::System | Role::Developer);
        if is_system && super::raw_of(&message.meta).is_none() {
            let why = "only a request has a field for them, and only for leading ones";
            let location = format!("messages[{}]", at + first);
            report.preserved("instructions", location, why, "as a user message");
        }
    }
}
