//! Makes call ids unique. Some servers restart their ids in every turn. Services reject duplicates
//! or mix up the results, so later calls get new ids, which are reported.

use std::collections::{HashMap, HashSet, VecDeque};

use telechir_protocol::{CallId, Content, Message, Role};

use crate::Report;
use crate::history::turns::{call_id, result_id, set_pair_id};

/// The messages with a unique id for each call and its result, and a report of the new ids; `None`
/// if all ids are unique. Contents with raw JSON of the dialect `own` keep their ids, because they
/// are written back unchanged.
pub(crate) fn deduplicate(messages: &[Message], own: &str) -> Option<(Vec<Message>, Report)> {
    let mut taken = HashSet::new();
    let mut others = Vec::new();
    for message in messages {
        for content in &message.contents {
            match call_id(content) {
                Some(id) if is_own(message, content, own) => {
                    taken.insert(id.clone());
                }
                Some(id) => others.push(id),
                None => {}
            }
        }
    }
    let mut seen = taken.clone();
    if others.iter().all(|id| seen.insert((*id).clone())) {
        return None;
    }
    let mut id_map = IdMap {
        taken,
        known: seen,
        counts: HashMap::new(),
        open: HashMap::new(),
        turn: 0,
        report: Report::default(),
    };
    let mut messages = messages.to_vec();
    for message in &mut messages {
        id_map.turn += usize::from(message.role != Role::Assistant);
        for at in 0..message.contents.len() {
            let is_own = is_own(message, &message.contents[at], own);
            id_map.content(&mut message.contents[at], is_own);
        }
    }
    Some((messages, id_map.report))
}

/// Whether a content is written back unchanged, from its raw JSON of the dialect `own`.
pub(crate) fn is_own(message: &Message, content: &Content, own: &str) -> bool {
    let metas = content.meta().into_iter().chain([&message.meta]);
    let mut raws = metas.filter_map(|meta| meta.raw_representation.as_ref());
    raws.any(|raw| raw.dialect == own)
}

/// Assigns the ids that calls are sent with.
#[derive(Debug)]
struct IdMap {
    /// Ids of the calls so far and of all calls that keep theirs.
    taken: HashSet<CallId>,
    /// All ids of the history.
    known: HashSet<CallId>,
    /// How many calls with this id were seen.
    counts: HashMap<CallId, usize>,
    open: HashMap<CallId, PendingCalls>,
    /// Number of the model's turns that have ended.
    turn: usize,
    report: Report,
}

impl IdMap {
    fn content(&mut self, content: &mut Content, is_own: bool) {
        let sent = if let Some(id) = call_id(content).cloned() {
            let sent = self.call(&id, is_own);
            let open = self.open.entry(id).or_default();
            open.wait(self.turn, sent.clone());
            Some(sent)
        } else {
            let open = result_id(content).and_then(|id| self.open.get_mut(id));
            open.and_then(PendingCalls::answer)
        };
        if let Some(sent) = sent {
            set_pair_id(content, sent);
        }
    }

    fn call(&mut self, id: &CallId, is_own: bool) -> CallId {
        let count = self.counts.entry(id.clone()).or_default();
        *count += 1;
        if is_own || self.taken.insert(id.clone()) {
            return id.clone();
        }
        let new = loop {
            let new = CallId::new(format!("{id}-{count}"));
            if self.known.insert(new.clone()) {
                break new;
            }
            *count += 1;
        };
        self.report.preserved(
            format!("id {id}"),
            format!("call {id}"),
            "another call of the history has the same id",
            format!("as {new}"),
        );
        new
    }
}

/// The new ids of calls that had the same id.
#[derive(Debug, Default)]
struct PendingCalls {
    /// The turn of the pending calls. Calls of earlier turns get no results any more.
    turn: usize,
    waiting: VecDeque<CallId>,
    /// The call of the last result; a call may have several results.
    answered: Option<CallId>,
}

impl PendingCalls {
    fn wait(&mut self, turn: usize, sent: CallId) {
        if self.turn != turn {
            self.waiting.clear();
        }
        self.turn = turn;
        self.waiting.push_back(sent);
    }

    /// The call that the next result belongs to.
    fn answer(&mut self) -> Option<CallId> {
        self.answered = self.waiting.pop_front().or_else(|| self.answered.take());
        self.answered.clone()
    }
}
