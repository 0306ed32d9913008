//! Moves the further results of a call to the user, for services that accept one result per id.

use std::collections::HashMap;
use std::mem;

use telechir_protocol::{CallId, Content, Message, Role, ToolResult};

use crate::Report;
use crate::duplicate_ids::is_own;
use crate::fallback_tools;
use crate::history::turns::{call_id, result_id, result_of};

/// The messages with the first result of each call and the further ones as texts and images of the
/// user, and a report of them; `None` if no call has several. Results with raw JSON of the dialect
/// `own` stay, because they are written back unchanged.
pub(crate) fn move_to_user(messages: &[Message], own: &str) -> Option<(Vec<Message>, Report)> {
    let mut open: HashMap<&CallId, OpenCalls> = HashMap::new();
    let mut moves: Vec<Vec<bool>> = Vec::new();
    for message in messages {
        let contents = message.contents.iter().map(|content| {
            if let Some(id) = call_id(content) {
                open.entry(id).or_default().waiting += 1;
            }
            let calls = result_id(content).and_then(|id| open.get_mut(id));
            calls.is_some_and(|calls| calls.answer(is_own(message, content, own)))
        });
        moves.push(contents.collect());
    }
    if !moves.iter().flatten().any(|moves| *moves) {
        return None;
    }
    let mut report = Report::default();
    let mut moved = Vec::with_capacity(messages.len());
    let mut waiting = Vec::new();
    for (at, (message, moves)) in messages.iter().zip(moves).enumerate() {
        if message.role == Role::Assistant {
            add_user_message(&mut moved, &mut waiting);
        }
        let mut rest = message.clone();
        rest.contents.clear();
        for (index, (content, moves)) in message.contents.iter().zip(moves).enumerate() {
            match result_of(content).filter(|_| moves) {
                Some(result) => {
                    let location = format!("messages[{at}].contents[{index}]");
                    waiting.extend(as_user_contents(&result, &location, &mut report));
                }
                None => rest.contents.push(content.clone()),
            }
        }
        if !rest.contents.is_empty() || message.contents.is_empty() {
            moved.push(rest);
        }
    }
    add_user_message(&mut moved, &mut waiting);
    Some((moved, report))
}

fn add_user_message(messages: &mut Vec<Message>, contents: &mut Vec<Content>) {
    if !contents.is_empty() {
        messages.push(Message::new(Role::User, mem::take(contents)));
    }
}

/// A result as a text and images.
fn as_user_contents(result: &ToolResult, location: &str, report: &mut Report) -> Vec<Content> {
    let id = result.call_id().map_or("", CallId::as_str);
    report.preserved(
        format!("a further result of call {id}"),
        location,
        "the service accepts one result per id",
        "as a user message",
    );
    let rendered = fallback_tools::render_result(result);
    let text = format!("A further result of call {id}: {}", rendered.text);
    let images = rendered.images.into_iter().map(Content::from);
    std::iter::once(Content::text(text)).chain(images).collect()
}

/// The calls of one id so far.
#[derive(Debug, Default)]
struct OpenCalls {
    /// How many have no result yet.
    waiting: usize,
    /// Whether the last result stays as it is.
    is_own: bool,
}

impl OpenCalls {
    /// Whether a result must move: a further one, unless it and the one before it are `own`.
    fn answer(&mut self, own: bool) -> bool {
        let is_further = self.waiting == 0;
        self.waiting = self.waiting.saturating_sub(1);
        let moves = is_further && !(own && self.is_own);
        if !is_further {
            self.is_own = own;
        }
        moves
    }
}
