//! Arranges a history into turns that the services accept: the results of a turn's calls come first
//! in the next turn, one for each call and in the same order.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use telechir_protocol::{CallId, Content, Message, Role, Size, ToolResult};

use super::PROVIDER;
use super::call::kept;
use super::context::{call_id, result_id};
use super::encode_call::Asked;
use super::media::{media, size_of};
use crate::{Envelope, Report};

/// The author of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Model,
    User,
}

/// An element of a turn.
#[derive(Clone, Debug)]
pub(super) enum Entry<'a> {
    /// A content and its location in the history.
    Content(&'a Content, String),
    /// The missing result of this call.
    Missing(&'a Content),
}

/// Consecutive contents of one speaker.
#[derive(Clone, Debug)]
pub(super) struct Turn<'a> {
    pub(super) side: Side,
    /// The original JSON around the message; absent if the turn combines several messages.
    pub(super) around: Option<&'a Value>,
    pub(super) entries: Vec<Entry<'a>>,
}

/// The speaker of a content.
fn side(role: &Role, content: &Content) -> Side {
    match content {
        _ if result_id(content).is_some() => Side::User,
        _ if call_id(content).is_some() => Side::Model,
        Content::Reasoning(_)
        | Content::CommandCall(_)
        | Content::CommandResult(_)
        | Content::ImageGenerationCall(_)
        | Content::ImageGenerationResult(_) => Side::Model,
        _ if *role == Role::Assistant => Side::Model,
        _ => Side::User,
    }
}

/// Groups messages into turns. A message with JSON from `around` stays a turn of its own.
pub(super) fn turns<'a>(
    messages: &'a [Message],
    first: usize,
    around: impl Fn(&'a Message) -> Option<&'a Value>,
    report: &mut Report,
) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let place = |index| format!("messages[{}].contents[{index}]", at + first);
        let entry = |(index, content)| Entry::Content(content, place(index));
        if let Some(around) = around(message) {
            let side = if message.role == Role::Assistant {
                Side::Model
            } else {
                Side::User
            };
            turns.push(Turn {
                side,
                around: Some(around),
                entries: message.contents.iter().enumerate().map(entry).collect(),
            });
            continue;
        }
        for (index, content) in message.contents.iter().enumerate() {
            let side = side(&message.role, content);
            let entry = Entry::Content(content, place(index));
            match turns.last_mut() {
                Some(last) if last.side == side && last.around.is_none() => {
                    last.entries.push(entry);
                }
                _ => turns.push(Turn {
                    side,
                    around: None,
                    entries: vec![entry],
                }),
            }
        }
    }
    paired(turns, report)
}

fn answer_of<'a>(entry: &Entry<'a>) -> Option<&'a CallId> {
    match entry {
        Entry::Content(content, _) => result_id(content),
        Entry::Missing(_) => None,
    }
}

fn called_by<'a>(entry: &Entry<'a>) -> Option<&'a CallId> {
    match entry {
        Entry::Content(content, _) => call_id(content),
        Entry::Missing(_) => None,
    }
}

/// The turns in which calls and results with the same id occur.
#[derive(Debug, Default)]
struct Homes {
    calls: VecDeque<usize>,
    answers: VecDeque<usize>,
}

impl Homes {
    /// The turn with the result for a call in turn `at`: a later one, before the id is used again.
    fn answer(&mut self, at: usize) -> Option<usize> {
        for turns in [&mut self.calls, &mut self.answers] {
            while turns.front().is_some_and(|turn| *turn < at) {
                turns.pop_front();
            }
        }
        let again = self.calls.iter().find(|turn| **turn > at);
        let is_next = |home: &usize| again.is_none_or(|again| home < again);
        self.answers.front().copied().filter(is_next)?;
        self.answers.pop_front()
    }
}

/// Moves each result into the turn after its call.
fn paired<'a>(mut turns: Vec<Turn<'a>>, report: &mut Report) -> Vec<Turn<'a>> {
    let mut homes: HashMap<CallId, Homes> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        for id in turn.entries.iter().filter_map(answer_of) {
            homes.entry(id.clone()).or_default().answers.push_back(at);
        }
        for id in turn.entries.iter().filter_map(called_by) {
            homes.entry(id.clone()).or_default().calls.push_back(at);
        }
    }
    let mut ordered = Vec::with_capacity(turns.len());
    for at in 0..turns.len() {
        let calls: Vec<&Content> = open_calls(&turns[at]);
        if turns[at].side == Side::Model && !calls.is_empty() {
            let is_last = turns[at + 1..].iter().all(|turn| turn.entries.is_empty());
            let mut answers = answers(&mut turns, at, &calls, &mut homes, report);
            let is_open = is_last
                && answers
                    .iter()
                    .all(|entry| matches!(entry, Entry::Missing(_)));
            ordered.push(turns[at].clone());
            if is_open || answers.is_empty() {
                continue;
            }
            match turns.get_mut(at + 1).filter(|next| next.side == Side::User) {
                Some(next) => {
                    answers.append(&mut next.entries);
                    next.entries = answers;
                }
                None => ordered.push(Turn {
                    side: Side::User,
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

fn open_calls<'a>(turn: &Turn<'a>) -> Vec<&'a Content> {
    let call = |entry: &Entry<'a>| match entry {
        Entry::Content(content, _) if call_id(content).is_some() => Some(*content),
        _ => None,
    };
    turn.entries.iter().filter_map(call).collect()
}

/// The results for these calls, removed from their turns; empty if the next turn already has all of
/// them.
fn answers<'a>(
    turns: &mut [Turn<'a>],
    at: usize,
    calls: &[&'a Content],
    homes: &mut HashMap<CallId, Homes>,
    report: &mut Report,
) -> Vec<Entry<'a>> {
    if turns.get(at + 1).is_some_and(|next| has_all(next, calls)) {
        return Vec::new();
    }
    let mut answers = Vec::new();
    for call in calls {
        let Some(id) = call_id(call) else { continue };
        let home = homes.get_mut(id).and_then(|homes| homes.answer(at));
        let found = home.and_then(|home| {
            let is_answer = |entry: &Entry<'_>| answer_of(entry) == Some(id);
            let entries = &mut turns[home].entries;
            let place = entries.iter().position(is_answer)?;
            // Moving is normal for other dialects, but an anomaly in Google's own JSON.
            if home > at + 1 && came_from_here(&entries[place]) {
                report.kept(
                    "a late result",
                    format!("call {id}"),
                    "the turn after a call must have its result",
                    "in that turn",
                );
            } else if place > 0 && entries[..=place].iter().any(came_from_here) {
                report.kept(
                    "a result after other contents",
                    format!("call {id}"),
                    "a turn starts with the results of the previous calls, in their order",
                    "at its position among them",
                );
            }
            Some(entries.remove(place))
        });
        answers.push(found.unwrap_or(Entry::Missing(call)));
    }
    answers
}

/// Whether a turn already has a result for each call: inside an original message, or in leading
/// results from Google's JSON, whose order the service accepted.
fn has_all(turn: &Turn<'_>, calls: &[&Content]) -> bool {
    let is_answer = |entry: &&Entry<'_>| answer_of(entry).is_some() && came_from_here(entry);
    let begins = match turn.around {
        Some(_) => turn.entries.len(),
        None => turn.entries.iter().take_while(is_answer).count(),
    };
    let mut answers: HashMap<&CallId, usize> = HashMap::new();
    for id in turn.entries[..begins].iter().filter_map(answer_of) {
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

fn came_from_here(entry: &Entry<'_>) -> bool {
    match entry {
        Entry::Content(content, _) => content
            .meta()
            .is_some_and(|meta| super::raw_of(meta).is_some()),
        Entry::Missing(_) => false,
    }
}

/// The results of a history by call id.
pub(super) fn results(messages: &[Message]) -> HashMap<CallId, &Content> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    contents
        .filter_map(|content| Some((result_id(content)?.clone(), content)))
        .collect()
}

/// The size of the image in a content.
pub(super) fn image_of(content: &Content) -> Option<Size> {
    match content {
        Content::ComputerResult(result) => {
            let own = result.screenshot.as_ref().and_then(size_of);
            own.or(result.display)
        }
        content => size_of(&media(content)?),
    }
}

/// The content as a tool result, if it is one.
pub(super) fn result_of(content: &Content) -> Option<ToolResult> {
    Some(match content {
        Content::ComputerResult(result) => ToolResult::Computer(result.clone()),
        Content::ShellResult(result) => ToolResult::Shell(result.clone()),
        Content::EditResult(result) => ToolResult::Edit(result.clone()),
        Content::FunctionResult(result) => ToolResult::Function(result.clone()),
        _ => return None,
    })
}

/// The function call of a result that records its function's name.
pub(super) fn asked_by_name(result: &ToolResult) -> Option<Vec<Asked>> {
    let meta = match result {
        ToolResult::Computer(result) => &result.meta,
        ToolResult::Shell(result) => &result.meta,
        ToolResult::Edit(result) => &result.meta,
        ToolResult::Function(result) => &result.meta,
    };
    let kept = meta.property(PROVIDER, kept::FUNCTION);
    let kept = kept.and_then(Value::as_str).map(str::to_owned);
    let own = match result {
        ToolResult::Function(function) => function.name.clone(),
        _ => None,
    };
    Some(vec![Asked {
        id: result.call_id()?.clone(),
        name: kept.or(own)?,
        args: Value::Null,
        action: None,
    }])
}

/// The text of a message.
pub(super) fn words_of(message: &Message) -> String {
    let words = message.contents.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n\n")
}

/// Reports the fields around a history of another dialect, which a list cannot represent.
pub(super) fn foreign_envelope(envelope: &Envelope, own: &str, report: &mut Report) {
    let Envelope::Object {
        dialect,
        member,
        rest,
    } = envelope
    else {
        return;
    };
    if *dialect == own {
        return;
    }
    let why = "a list has no fields of a request or response";
    // Textual instructions are also a message of the history.
    let is_message = |name: &str| {
        name == *member
            || matches!(
                name,
                "instructions" | "systemInstruction" | "system_instruction"
            )
    };
    for (name, value) in rest {
        if !is_message(name) && !value.is_null() {
            report.lost(format!("field `{name}`"), name.clone(), why);
        }
    }
}

/// Reports instructions outside the request's own field, which become user messages.
pub(super) fn note_instructions(messages: &[Message], first: usize, report: &mut Report) {
    for (at, message) in messages.iter().enumerate() {
        let is_system = matches!(message.role, Role::System | Role::Developer);
        if is_system && super::raw_of(&message.meta).is_none() {
            let why = "only a request has a field for them, and only for leading ones";
            let place = format!("messages[{}]", at + first);
            report.kept("instructions", place, why, "as a user message");
        }
    }
}
