//! What clients do to a session beside its turns: read its recording and reload its policy.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use telechir_policy::{Digest, Policy};
use telechir_runtime::{
    EventSender, NewestOutput, PageOutline, PolicySlot, RecordingReader, SessionEvent,
    SessionScreens,
};
use tokio::sync::{Notify, watch};

/// Reads the policy of a session from where it was read at the start.
pub type PolicySource = Box<dyn Fn() -> Result<Policy, String> + Send + Sync>;

/// Gives what a session rents at services this much time at least, as far as they can.
pub type TimeExtender = Box<dyn Fn(Duration) -> Extending + Send + Sync>;

/// The future of [`TimeExtender`]; an error says what ends earlier.
pub type Extending = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Access to a session that has started.
pub(super) struct SessionControl {
    pub(super) recording: RecordingReader,
    pub(super) screens: SessionScreens,
    /// None without a browser.
    pub(super) page: Option<PageOutline>,
    /// None without a shell.
    pub(super) output: Option<NewestOutput>,
    pub(super) policy_slot: PolicySlot,
    pub(super) policy_source: PolicySource,
    /// None where the session cannot be extended.
    pub(super) time_extender: Option<TimeExtender>,
    /// Notified when the slot has a policy, which an idle session takes at once.
    pub(super) policy_changed: Notify,
    pub(super) events: EventSlot,
}

/// What clients record in the session, until it is closed.
pub(super) struct EventSlot(Mutex<Option<EventSender>>);

impl EventSlot {
    pub(super) fn new(events: EventSender) -> Self {
        Self(Mutex::new(Some(events)))
    }

    /// Records an event. After the session is closed there is nothing to record it in.
    pub(super) fn emit(&self, event: SessionEvent) {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(events) = &*events {
            events.emit(event);
        }
    }

    /// Lets the recording end: while anybody can add to it, its readers wait for more.
    fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl SessionControl {
    /// Reads the policy again. Without an error it counts from the next judgement on.
    pub(super) fn reload(&self) -> Result<Digest, String> {
        let policy = (self.policy_source)()?;
        let digest = policy.digest();
        self.policy_slot.set(policy);
        self.policy_changed.notify_one();
        Ok(digest)
    }
}

impl std::fmt::Debug for SessionControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionControl")
    }
}

/// The control of a session, once it has started.
#[derive(Clone, Debug)]
pub(super) struct ControlSlot(Arc<watch::Sender<StartState>>);

#[derive(Debug)]
enum StartState {
    Starting,
    Started(Arc<SessionControl>),
    /// It ended before it had started.
    Unstarted,
}

impl StartState {
    fn started(&self) -> Option<Arc<SessionControl>> {
        match self {
            Self::Started(control) => Some(Arc::clone(control)),
            Self::Starting | Self::Unstarted => None,
        }
    }
}

impl ControlSlot {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(StartState::Starting)))
    }

    pub(super) fn set(&self, control: Arc<SessionControl>) {
        self.0.send_replace(StartState::Started(control));
    }

    /// None while the devices are starting.
    pub(super) fn get(&self) -> Option<Arc<SessionControl>> {
        self.0.borrow().started()
    }

    /// Waits until the devices have started; none if they never do.
    pub(super) async fn started(&self) -> Option<Arc<SessionControl>> {
        let mut control = self.0.subscribe();
        let is_known = |state: &StartState| !matches!(state, StartState::Starting);
        let known = control.wait_for(is_known).await;
        known.ok().and_then(|state| state.started())
    }

    /// Nothing is recorded any more, and who follows the recording gets the rest and its end.
    pub(super) fn close(&self) {
        self.0.send_if_modified(|state| match state {
            StartState::Started(control) => {
                control.events.close();
                false
            }
            StartState::Starting => {
                *state = StartState::Unstarted;
                true
            }
            StartState::Unstarted => false,
        });
    }
}
