//! A person who has control of the session: taken and given back between turns, by requests that the
//! session's own loop serves, so that person and calls never act at the same time.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telechir_runtime::{ControlLease, DeviceKind, PersonInput, Session, SessionEvent};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::{ControlId, PersonInControl};

/// Requests that the session has not served yet.
const MAX_REQUESTS: usize = 256;
/// Control ends this long after the last input.
const IDLE_LIMIT: Duration = Duration::from_secs(600);
/// Control ends after this time in any case.
const HARD_LIMIT: Duration = Duration::from_secs(3600);

/// What the session does for a person between turns.
#[derive(Debug)]
pub(super) enum PersonRequest {
    /// No call runs: this person has control from now on.
    Take {
        by: String,
        taken: oneshot::Sender<ControlId>,
    },
    /// Input of the person who has control.
    Input {
        device: Option<DeviceKind>,
        input: PersonInput,
    },
    /// Ends control.
    Give { given: oneshot::Sender<()> },
}

/// Control of the session as clients reach it.
#[derive(Debug)]
pub(super) struct PersonControl {
    lease: ControlLease,
    requests: mpsc::Sender<PersonRequest>,
    /// The lease changes only while this is locked.
    state: Mutex<ControlState>,
    /// Whether a person has control.
    is_taken: watch::Sender<bool>,
}

/// Who has control, and who waits for it: as long as there is one of them, no step starts.
#[derive(Debug, Default)]
struct ControlState {
    holder: Option<Holder>,
    /// Number of persons who wait.
    waiting: usize,
}

/// Who has control.
#[derive(Clone, Debug)]
struct Holder {
    by: String,
    id: ControlId,
    since: Instant,
    last_input: Instant,
    inputs: u64,
}

/// How long a person had control, and what they did.
#[derive(Debug, PartialEq, Eq)]
struct EndedControl {
    by: String,
    time: Duration,
    inputs: u64,
}

impl PersonControl {
    /// Nobody has control; the requests are for the session.
    pub(super) fn new() -> (Self, mpsc::Receiver<PersonRequest>) {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let control = Self {
            lease: ControlLease::default(),
            requests,
            state: Mutex::default(),
            is_taken: watch::Sender::new(false),
        };
        (control, receiver)
    }

    /// The lease that the session's calls check.
    pub(super) fn lease(&self) -> ControlLease {
        self.lease.clone()
    }

    /// An error if somebody has control already.
    pub(super) fn check_free(&self) -> Result<(), String> {
        self.lock().check_free()
    }

    /// Waits until no call runs and this person has control. No step starts meanwhile.
    pub(super) async fn take(&self, by: String) -> Result<ControlId, String> {
        let waiting = self.wait()?;
        let (taken, is_taken) = oneshot::channel();
        let sent = self.requests.send(PersonRequest::Take { by, taken }).await;
        let id = match sent {
            Ok(()) => is_taken.await.ok(),
            Err(_) => None,
        };
        drop(waiting);
        match id {
            Some(id) => Ok(id),
            None => {
                self.lock().check_free()?;
                Err("this session cannot be taken over, or is being closed".to_owned())
            }
        }
    }

    /// Stops calls for a person who waits for control, unless somebody has it.
    fn wait(&self) -> Result<WaitingLease<'_>, String> {
        let mut state = self.lock();
        state.check_free()?;
        state.waiting += 1;
        self.lease.take();
        Ok(WaitingLease(self))
    }

    /// Passes input on, if it comes from whoever has control.
    pub(super) async fn input(
        &self,
        id: &ControlId,
        device: Option<DeviceKind>,
        input: PersonInput,
    ) -> Result<(), String> {
        {
            let mut state = self.lock();
            let holder = state.holder.as_mut().filter(|holder| holder.id == *id);
            let holder = holder.ok_or("control was given back, or has ended")?;
            holder.last_input = Instant::now();
            holder.inputs += 1;
        }
        let request = PersonRequest::Input { device, input };
        let sent = self.requests.send(request).await;
        sent.map_err(|_| "the session is being closed".to_owned())
    }

    /// Ends control, whoever has it; without anybody nothing happens.
    pub(super) async fn give_back(&self) {
        if !self.is_taken() {
            return;
        }
        let (given, is_given) = oneshot::channel();
        if self
            .requests
            .send(PersonRequest::Give { given })
            .await
            .is_ok()
        {
            let _the_session_closes = is_given.await;
        }
    }

    /// Who has control; none if calls do.
    pub(super) fn describe(&self) -> Option<PersonInControl> {
        let state = self.lock();
        state.holder.as_ref().map(|holder| PersonInControl {
            by: holder.by.clone(),
            seconds: holder.since.elapsed().as_secs(),
            ends_in_seconds: holder
                .end()
                .saturating_duration_since(Instant::now())
                .as_secs(),
        })
    }

    /// Whether a person has control.
    pub(super) fn is_taken(&self) -> bool {
        *self.is_taken.borrow()
    }

    /// Waits until nobody has control.
    pub(super) async fn given_back(&self) {
        let mut is_taken = self.is_taken.subscribe();
        let _never_dropped = is_taken.wait_for(|is_taken| !is_taken).await.is_ok();
    }

    /// Waits until control ends by itself; for ever if nobody has it.
    pub(super) async fn expired(&self) {
        loop {
            let end = self.lock().holder.as_ref().map(Holder::end);
            let Some(end) = end else {
                return std::future::pending().await;
            };
            if end <= Instant::now() {
                return;
            }
            // Input moves the end meanwhile.
            sleep_until(end).await;
        }
    }

    /// Does what a person requests; the session's loop calls it between turns.
    pub(super) async fn serve(&self, session: &mut Session, request: PersonRequest) {
        match request {
            PersonRequest::Take { by, taken } => {
                if self.begin(by.clone(), taken) {
                    session.emit(SessionEvent::ControlTaken { by });
                }
            }
            PersonRequest::Input { device, input } => {
                if let Err(message) = session.act_for_person(device, input).await {
                    tracing::debug!(message, "input of a person had no effect");
                }
            }
            PersonRequest::Give { given } => {
                self.finish(session).await;
                let _they_left = given.send(());
            }
        }
    }

    /// Lets calls act again once nothing is pressed any more. If nobody has control, nothing happens.
    pub(super) async fn finish(&self, session: &mut Session) {
        if !self.is_taken() {
            return;
        }
        session.release_for_person().await;
        if let Some(ended) = self.end() {
            let ms = u64::try_from(ended.time.as_millis()).unwrap_or(u64::MAX);
            let (by, inputs) = (ended.by, ended.inputs);
            session.emit(SessionEvent::ControlGivenBack { by, ms, inputs });
        }
    }

    /// Gives control to this person. False if they left.
    fn begin(&self, by: String, taken: oneshot::Sender<ControlId>) -> bool {
        let mut state = self.lock();
        if state.holder.is_some() {
            return false;
        }
        let Ok(id) = ControlId::random() else {
            return false;
        };
        if taken.send(id.clone()).is_err() {
            return false;
        }
        let now = Instant::now();
        state.holder = Some(Holder {
            by,
            id,
            since: now,
            last_input: now,
            inputs: 0,
        });
        self.lease.take();
        self.is_taken.send_replace(true);
        true
    }

    /// Lets calls act again, unless another person waits.
    fn end(&self) -> Option<EndedControl> {
        let mut state = self.lock();
        let ended = state.holder.take();
        self.give_back_if_free(&state);
        self.is_taken.send_replace(false);
        ended.map(|holder| EndedControl {
            by: holder.by,
            time: holder.since.elapsed(),
            inputs: holder.inputs,
        })
    }

    fn give_back_if_free(&self, state: &ControlState) {
        if state.holder.is_none() && state.waiting == 0 {
            self.lease.give_back();
        }
    }

    fn lock(&self) -> MutexGuard<'_, ControlState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ControlState {
    fn check_free(&self) -> Result<(), String> {
        match &self.holder {
            Some(holder) => Err(format!("{} has control already", holder.by)),
            None => Ok(()),
        }
    }
}

impl Holder {
    fn end(&self) -> Instant {
        (self.last_input + IDLE_LIMIT).min(self.since + HARD_LIMIT)
    }
}

/// Calls wait for a person who takes control; dropping it lets them go on if nobody has it and no
/// other person waits.
struct WaitingLease<'a>(&'a PersonControl);

impl Drop for WaitingLease<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting = state.waiting.saturating_sub(1);
        self.0.give_back_if_free(&state);
    }
}

impl ControlId {
    /// An id that nobody guesses.
    fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use super::*;

    async fn taken(
        control: &PersonControl,
        requests: &mut mpsc::Receiver<PersonRequest>,
    ) -> ControlId {
        let (id, ()) = tokio::join!(control.take("operator/ann".to_owned()), async {
            let Some(PersonRequest::Take { by, taken }) = requests.recv().await else {
                panic!("no request to take control");
            };
            assert!(
                control.lease().is_taken(),
                "no step starts while a person waits"
            );
            assert!(control.begin(by, taken));
        });
        id.unwrap()
    }

    /// Whether a future is not ready when it is polled once.
    fn is_pending(future: Pin<&mut impl Future>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        future.poll(&mut context).is_pending()
    }

    #[tokio::test(start_paused = true)]
    async fn control_has_one_holder_and_ends_by_itself() {
        let (control, mut requests) = PersonControl::new();
        let id = taken(&control, &mut requests).await;
        let refused = control.take("operator/bob".to_owned()).await.unwrap_err();
        assert!(refused.contains("operator/ann has control"), "{refused}");
        assert!(control.lease().is_taken());
        let other = ControlId::random().unwrap();
        let text = PersonInput::Text {
            text: "a".to_owned(),
        };
        assert!(control.input(&other, None, text.clone()).await.is_err());
        tokio::time::sleep(IDLE_LIMIT - Duration::from_secs(1)).await;
        control.input(&id, None, text.clone()).await.unwrap();
        assert!(
            tokio::time::timeout(Duration::from_secs(5), control.expired())
                .await
                .is_err()
        );
        control.expired().await;
        let ended = control.end().unwrap();
        assert_eq!((ended.by.as_str(), ended.inputs), ("operator/ann", 1));
        assert!(!control.lease().is_taken());
        assert!(control.input(&id, None, text).await.is_err());
    }

    #[tokio::test]
    async fn calls_stop_as_long_as_one_person_waits_or_has_control() {
        let (control, mut requests) = PersonControl::new();
        let mut ann = Box::pin(control.take("operator/ann".to_owned()));
        let mut bob = Box::pin(control.take("operator/bob".to_owned()));
        assert!(is_pending(ann.as_mut()));
        assert!(is_pending(bob.as_mut()));
        drop(ann);
        assert!(control.lease().is_taken(), "bob still waits");
        let mut granted = Vec::new();
        for _ in 0..2 {
            let Some(PersonRequest::Take { by, taken }) = requests.recv().await else {
                panic!("no request to take control");
            };
            granted.push(control.begin(by, taken));
        }
        assert_eq!(granted, [false, true]);
        bob.await.unwrap();
        assert!(control.lease().is_taken());
        assert_eq!(control.end().unwrap().by, "operator/bob");
        assert!(!control.lease().is_taken());
    }

    #[tokio::test]
    async fn the_end_of_control_leaves_the_lease_to_the_next_who_waits() {
        let (control, mut requests) = PersonControl::new();
        let mut ann = Box::pin(control.take("operator/ann".to_owned()));
        let mut bob = Box::pin(control.take("operator/bob".to_owned()));
        assert!(is_pending(ann.as_mut()));
        assert!(is_pending(bob.as_mut()));
        let Some(PersonRequest::Take { by, taken }) = requests.recv().await else {
            panic!("no request to take control");
        };
        assert!(control.begin(by, taken));
        ann.await.unwrap();
        control.end().unwrap();
        assert!(control.lease().is_taken(), "bob waits");
        drop(bob);
        assert!(!control.lease().is_taken());
    }

    #[tokio::test]
    async fn whoever_stops_waiting_leaves_the_calls_alone() {
        let (control, mut requests) = PersonControl::new();
        {
            let waiting = control.take("operator/ann".to_owned());
            assert!(
                tokio::time::timeout(Duration::from_millis(1), waiting)
                    .await
                    .is_err()
            );
        }
        assert!(!control.lease().is_taken());
        let Some(PersonRequest::Take { by, taken }) = requests.recv().await else {
            panic!("no request to take control");
        };
        assert!(!control.begin(by, taken), "nobody is there");
        assert_eq!(control.describe(), None);
    }
}
