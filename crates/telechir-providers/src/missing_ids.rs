//! Gives ids to calls that have none or an empty one, and to their results. Most services require ids, and
//! a call without one would vanish with its result.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use telechir_protocol::{CallId, Content, Message};

use crate::Report;
use crate::duplicate_ids::is_own;
use crate::history::turns::{answered_ids, call_id, is_result, pair_id, set_pair_id};

const WHY: &str = "an id connects a call with its result";

/// The messages with an id for each call, and for each result that answers one,
/// with a report of the new ids; `None` if nothing changes. A result without an id belongs to the
/// first open call before it, of its name if it has one. Contents with raw JSON of the dialect `own`
/// stay, because they are written back unchanged.
pub(crate) fn assign(messages: &[Message], own: &str) -> Option<(Vec<Message>, Report)> {
    let lacks_id = |message: &Message, content: &Content| {
        name_without_id(content).is_some() && !is_own(message, content, own)
    };
    let mut all = messages.iter().flat_map(|message| {
        message
            .contents
            .iter()
            .map(move |content| (message, content))
    });
    if !all.any(|(message, content)| lacks_id(message, content)) {
        return None;
    }
    let contents = messages.iter().flat_map(|message| &message.contents);
    let mut ids = Ids {
        known: contents.filter_map(pair_id).cloned().collect(),
        answered: answered_ids(messages),
        ..Ids::default()
    };
    let mut messages = messages.to_vec();
    for (at, message) in messages.iter_mut().enumerate() {
        for index in 0..message.contents.len() {
            let lacks_id = lacks_id(message, &message.contents[index]);
            let location = || format!("messages[{at}].contents[{index}]");
            ids.content(&mut message.contents[index], lacks_id, location);
        }
    }
    Some((messages, ids.report))
}

/// The kind of tool of a call or result that has no id; empty for a result that names none.
fn name_without_id(content: &Content) -> Option<&str> {
    let has_id = pair_id(content).is_some_and(|id| !is_empty(id));
    if has_id { None } else { tool_name(content) }
}

fn is_empty(id: &CallId) -> bool {
    id.as_str().is_empty()
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a call or a result that has an id"
)]
fn tool_name(content: &Content) -> Option<&str> {
    Some(match content {
        Content::ComputerCall(_) | Content::ComputerResult(_) => "computer",
        Content::ShellCall(_) | Content::ShellResult(_) => "shell",
        Content::EditCall(_) | Content::EditResult(_) => "edit",
        Content::FunctionCall(call) => &call.name,
        Content::FunctionResult(result) => result.name.as_deref().unwrap_or_default(),
        _ => return None,
    })
}

#[derive(Default)]
struct Ids {
    known: HashSet<CallId>,
    /// Calls that have a result with their id.
    answered: HashSet<CallId>,
    /// Calls that wait for a result without an id, by their number.
    open: BTreeMap<usize, CallId>,
    /// The numbers of the calls of each function, the earliest first.
    numbers: HashMap<String, VecDeque<usize>>,
    /// How many calls were open at some time.
    calls: usize,
    /// The number of the last new id.
    last: usize,
    report: Report,
}

impl Ids {
    fn content(&mut self, content: &mut Content, lacks_id: bool, location: impl Fn() -> String) {
        let name = tool_name(content).filter(|_| !is_result(content));
        if let Some(name) = name {
            let name = name.to_owned();
            let id = match call_id(content).filter(|id| !is_empty(id)) {
                Some(id) => Some(id.clone()),
                None => lacks_id.then(|| self.unused()),
            };
            let Some(id) = id.filter(|id| !self.answered.contains(id)) else {
                return;
            };
            let numbers = self.numbers.entry(name).or_default();
            numbers.push_back(self.calls);
            self.open.insert(self.calls, id.clone());
            self.calls += 1;
            if lacks_id {
                self.set(content, id, &location());
            }
        } else if lacks_id && let Some(id) = self.answered_call(content) {
            self.set(content, id, &location());
        }
    }

    fn set(&mut self, content: &mut Content, id: CallId, location: &str) {
        let how = format!("as `{id}`");
        self.report
            .preserved("the absence of a call id", location, WHY, how);
        set_pair_id(content, id);
    }

    /// The call that a result without an id answers.
    fn answered_call(&mut self, content: &Content) -> Option<CallId> {
        let name = name_without_id(content)?;
        if name.is_empty() {
            return self.open.pop_first().map(|(_, id)| id);
        }
        let numbers = self.numbers.get_mut(name)?;
        // Results without a name may have answered some.
        std::iter::from_fn(|| numbers.pop_front()).find_map(|number| self.open.remove(&number))
    }

    fn unused(&mut self) -> CallId {
        loop {
            self.last += 1;
            let id = CallId::new(format!("call_{}", self.last));
            if self.known.insert(id.clone()) {
                return id;
            }
        }
    }
}
