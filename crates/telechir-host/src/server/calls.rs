//! The turns of a session: those that wait in order of arrival, the one that is executed, and who
//! follows which.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_policy::Digest;
use telechir_protocol::{Content, ModelTurn, ToolCall};
use tokio::sync::{Notify, watch};

use super::ended_turns::{EndedTurn, EndedTurns};
use crate::approvals::OpenApproval;
use crate::{HostError, HostErrorKind, TurnKey, TurnRequest};

/// Maximum number of waiting turns.
const MAX_WAITING: usize = 512;
/// Maximum bytes of all waiting turns together, if there are several.
const MAX_WAITING_BYTES: usize = 256 << 20;

/// What has become of a turn.
#[derive(Clone, Debug)]
pub(super) enum CallProgress {
    /// Others are executed first.
    Queued,
    /// It is executed.
    Started,
    /// It waits for an approval.
    Question(Arc<OpenApproval>),
    /// It has ended.
    Ended(Arc<CallEnd>),
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub(super) enum CallEnd {
    Answered(Vec<Content>),
    Cancelled,
    /// Others took longer than it could wait.
    Busy,
    Failed(HostError),
}

/// A turn that a client requests or follows.
#[derive(Debug)]
pub(super) enum Submitted {
    /// It has not ended.
    Following(Follower),
    /// It has ended earlier.
    Ended(EndedTurn),
}

/// A turn that has not ended, or whose end somebody may still read.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) key: TurnKey,
    pub(super) digest: Digest,
    bytes: usize,
    runs_on: AtomicBool,
    /// Whether the same response, sent again, is recognised by the ids of its calls.
    has_call_ids: bool,
    /// Absent once the turn has started.
    request: Mutex<Option<TurnRequest>>,
    progress: watch::Sender<CallProgress>,
    is_cancelled: watch::Sender<bool>,
}

impl Call {
    pub(super) fn progress(&self) -> watch::Receiver<CallProgress> {
        self.progress.subscribe()
    }

    /// Waits until somebody cancels the turn.
    pub(super) async fn cancelled(&self) {
        let mut cancelled = self.is_cancelled.subscribe();
        // The sender is in `self`.
        let _never_closed = cancelled.wait_for(|is_cancelled| *is_cancelled).await;
    }

    pub(super) fn take_request(&self) -> Option<TurnRequest> {
        let mut request = self.request.lock().unwrap_or_else(PoisonError::into_inner);
        request.take()
    }

    /// Whether it was executed, at least in part.
    pub(super) fn has_started(&self) -> bool {
        let request = self.request.lock().unwrap_or_else(PoisonError::into_inner);
        request.is_none()
    }

    pub(super) fn set(&self, progress: CallProgress) {
        self.progress.send_replace(progress);
    }

    fn runs_on(&self) -> bool {
        self.runs_on.load(Ordering::Relaxed)
    }

    /// Lets the turn go on without its clients, if one of them wants that.
    fn run_on(&self, is_wanted: bool) {
        self.runs_on.fetch_or(is_wanted, Ordering::Relaxed);
    }

    fn waits_for_approval(&self) -> bool {
        matches!(*self.progress.borrow(), CallProgress::Question(_))
    }
}

/// All turns that have not ended.
#[derive(Debug, Default)]
pub(super) struct CallTable {
    state: Mutex<TableState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct TableState {
    calls: HashMap<TurnKey, Followed>,
    /// The turns that were executed, at least in part: none of them is executed again.
    ended: EndedTurns,
    queue: VecDeque<Arc<Call>>,
    queued_bytes: usize,
    current: Option<Arc<Call>>,
    /// Whether a turn was executed, at least in part, or a client works on a task.
    is_used: bool,
    /// Why no turn is accepted any more.
    closed: Option<String>,
}

#[derive(Debug)]
struct Followed {
    call: Arc<Call>,
    followers: usize,
}

/// A client's interest in a turn. When the last one is dropped, the turn is cancelled, unless it
/// waits for an approval or runs on.
#[derive(Debug)]
pub(super) struct Follower {
    table: Arc<CallTable>,
    pub(super) call: Arc<Call>,
    /// Whether other turns are executed before it.
    pub(super) is_behind: bool,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.table.leave(&self.call);
    }
}

impl CallTable {
    /// Adds turns of an earlier session host with the same recording, all of them answered.
    pub(super) fn restore(&self, turns: Vec<(String, Digest)>) {
        let mut state = self.lock();
        for (key, digest) in turns {
            state
                .ended
                .insert(TurnKey::new(key), digest, EndedTurn::Answered);
        }
    }

    /// Notes that the session is used, although no turn was executed yet.
    pub(super) fn note_use(&self) {
        self.lock().is_used = true;
    }

    /// Whether no turn was executed, none waits, and nobody has used the session otherwise.
    pub(super) fn is_unused(&self) -> bool {
        let state = self.lock();
        state.calls.is_empty() && !state.is_used
    }

    /// Whether only the recording knows if a turn with this key has ended.
    pub(super) fn may_be_recorded(&self, key: &TurnKey) -> bool {
        let state = self.lock();
        !state.calls.contains_key(key) && state.ended.may_be_recorded(key)
    }

    /// Accepts a turn, or joins one that has not ended: the one with the same key and contents, or the
    /// one with the same calls if this may be their second delivery.
    pub(super) fn submit(
        self: &Arc<Self>,
        request: TurnRequest,
        digest: Digest,
        bytes: usize,
    ) -> Result<Submitted, HostError> {
        let key = request.key.clone();
        if !key.is_valid() {
            let message = "the turn's key is empty or too long; nothing was executed";
            return Err(HostError::new(message));
        }
        let mut state = self.lock();
        if let Some((known, end)) = state.ended.get(&key) {
            return match *known == digest {
                true => Ok(Submitted::Ended(end.clone())),
                false => Err(other_contents(&key)),
            };
        }
        if let Some(reason) = &state.closed {
            return Err(HostError::new(reason.as_str()));
        }
        let same_calls = request.may_be_retry.then(|| state.same_calls(digest));
        let joined = match state.calls.contains_key(&key) {
            true => Some(key.clone()),
            false => same_calls.flatten(),
        };
        if let Some(known) = joined.and_then(|key| state.calls.get_mut(&key)) {
            if known.call.digest != digest {
                return Err(other_contents(&key));
            }
            known.call.run_on(request.runs_on);
            known.followers += 1;
            let call = Arc::clone(&known.call);
            return Ok(Submitted::Following(self.follower(&state, call)));
        }
        let is_full = !state.queue.is_empty() && state.queued_bytes + bytes > MAX_WAITING_BYTES;
        if is_full || state.queue.len() >= MAX_WAITING {
            let message = "too many calls are waiting; nothing was executed";
            return Err(HostError::new(message));
        }
        let call = Arc::new(Call {
            key: key.clone(),
            digest,
            bytes,
            runs_on: AtomicBool::new(request.runs_on),
            has_call_ids: request.may_be_retry && has_call_ids(&request.contents),
            request: Mutex::new(Some(request)),
            progress: watch::Sender::new(CallProgress::Queued),
            is_cancelled: watch::Sender::new(false),
        });
        state.queue.push_back(Arc::clone(&call));
        state.queued_bytes += bytes;
        let followed = Followed {
            call: Arc::clone(&call),
            followers: 1,
        };
        state.calls.insert(key, followed);
        self.arrived.notify_one();
        Ok(Submitted::Following(self.follower(&state, call)))
    }

    /// Follows the turn with this key; none if there is none.
    pub(super) fn join(self: &Arc<Self>, key: &TurnKey) -> Option<Submitted> {
        let mut state = self.lock();
        if let Some((_, end)) = state.ended.get(key) {
            return Some(Submitted::Ended(end.clone()));
        }
        let known = state.calls.get_mut(key)?;
        known.followers += 1;
        let call = Arc::clone(&known.call);
        Some(Submitted::Following(self.follower(&state, call)))
    }

    /// Cancels a turn. Returns whether there is one.
    pub(super) fn cancel(&self, key: &TurnKey) -> bool {
        let mut state = self.lock();
        let Some(call) = state.calls.get(key).map(|known| Arc::clone(&known.call)) else {
            return false;
        };
        cancel(&mut state, &call);
        true
    }

    /// Cancels a turn that only one request follows. Returns whether it goes on instead.
    pub(super) fn cancel_unless_shared(&self, key: &TurnKey) -> bool {
        let mut state = self.lock();
        let Some(known) = state.calls.get(key) else {
            return false;
        };
        let call = Arc::clone(&known.call);
        let goes_on = known.followers > 1 || call.runs_on();
        if !goes_on {
            cancel(&mut state, &call);
        }
        goes_on
    }

    /// Ends a turn that waited for too long, if other turns are executed before it.
    pub(super) fn withdraw(&self, call: &Arc<Call>, is_starting: bool) -> bool {
        let mut state = self.lock();
        let is_first = state.current.is_none()
            && state
                .queue
                .front()
                .is_some_and(|first| Arc::ptr_eq(first, call));
        if is_first && !is_starting {
            return false;
        }
        unqueue(&mut state, call, CallEnd::Busy)
    }

    /// The next turn, which is then executed.
    pub(super) async fn next(&self) -> Arc<Call> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(call) = self.start_next() {
                return call;
            }
            arrived.await;
        }
    }

    fn start_next(&self) -> Option<Arc<Call>> {
        let mut state = self.lock();
        let call = state.queue.pop_front()?;
        state.queued_bytes -= call.bytes;
        state.current = Some(Arc::clone(&call));
        call.set(CallProgress::Started);
        Some(call)
    }

    /// Ends the turn that is executed. If nothing of it was executed, its key may be used again.
    pub(super) fn finish(&self, end: CallEnd, was_executed: bool) {
        let mut state = self.lock();
        if let Some(call) = state.current.take() {
            state.calls.remove(&call.key);
            let known = match &end {
                CallEnd::Answered(_) => EndedTurn::Answered,
                CallEnd::Cancelled | CallEnd::Busy => EndedTurn::Cancelled,
                CallEnd::Failed(error) => EndedTurn::Failed(error.clone()),
            };
            if was_executed {
                state.is_used = true;
                state.ended.insert(call.key.clone(), call.digest, known);
            }
            call.set(CallProgress::Ended(Arc::new(end)));
        }
    }

    /// The turn that is executed.
    pub(super) fn current(&self) -> Option<Arc<Call>> {
        self.lock().current.clone()
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().queue.len()
    }

    /// Accepts no more turns, and ends those that have not started.
    pub(super) fn close(&self, reason: &str) {
        let mut state = self.lock();
        state.closed = Some(reason.to_owned());
        state.queued_bytes = 0;
        for call in std::mem::take(&mut state.queue) {
            state.calls.remove(&call.key);
            let end = CallEnd::Failed(HostError::new(reason));
            call.set(CallProgress::Ended(Arc::new(end)));
        }
    }

    fn leave(&self, call: &Arc<Call>) {
        let mut state = self.lock();
        let Some(known) = state.calls.get_mut(&call.key) else {
            return;
        };
        known.followers = known.followers.saturating_sub(1);
        if known.followers == 0 && !call.runs_on() && !call.waits_for_approval() {
            cancel(&mut state, call);
        }
    }

    fn follower(self: &Arc<Self>, state: &TableState, call: Arc<Call>) -> Follower {
        let is_current = |call: &Arc<Call>| {
            let current = state.current.as_ref();
            current.is_some_and(|current| Arc::ptr_eq(current, call))
        };
        let is_first = state
            .queue
            .front()
            .is_some_and(|first| Arc::ptr_eq(first, &call));
        let is_behind = !is_current(&call) && (state.current.is_some() || !is_first);
        Follower {
            table: Arc::clone(self),
            call,
            is_behind,
        }
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableState {
    /// The key of a turn with these contents that has not ended, if its calls have ids.
    fn same_calls(&self, digest: Digest) -> Option<TurnKey> {
        let mut calls = self.calls.values().map(|known| &known.call);
        let same = calls.find(|call| call.has_call_ids && call.digest == digest)?;
        Some(same.key.clone())
    }
}

/// Whether there are calls, and all of them have ids.
fn has_call_ids(contents: &[Content]) -> bool {
    let Ok(turn) = ModelTurn::new(contents.to_vec()) else {
        return false;
    };
    let calls = turn.calls();
    let has_id = |call: &ToolCall| call.call_id().is_some_and(|id| !id.as_str().is_empty());
    !calls.is_empty() && calls.iter().all(has_id)
}

fn cancel(state: &mut TableState, call: &Arc<Call>) {
    if !unqueue(state, call, CallEnd::Cancelled) {
        call.is_cancelled.send_replace(true);
    }
}

/// Ends a turn that has not started. Returns whether it was waiting.
fn unqueue(state: &mut TableState, call: &Arc<Call>, end: CallEnd) -> bool {
    let index = state
        .queue
        .iter()
        .position(|queued| Arc::ptr_eq(queued, call));
    let Some(call) = index.and_then(|index| state.queue.remove(index)) else {
        return false;
    };
    state.queued_bytes -= call.bytes;
    state.calls.remove(&call.key);
    call.set(CallProgress::Ended(Arc::new(end)));
    true
}

pub(super) fn other_contents(key: &TurnKey) -> HostError {
    let message = format!(
        "the key {key} belongs to a turn with other contents; nothing was executed. Use a new key \
         for each turn, and the same key only to send the same turn again"
    );
    HostError::of(HostErrorKind::KeyReused, message)
}
