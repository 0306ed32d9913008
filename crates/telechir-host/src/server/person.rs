//! A person who has control of the session: taken and given back between turns, by requests that the
//! session's own loop serves, so that person and calls never act at the same time.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telechir_runtime::{ControlLease, DeviceKind, PersonInput};
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
    holder: Mutex<Option<Holder>>,
    /// Whether a person has control.
    is_taken: watch::Sender<bool>,
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
pub(super) struct EndedControl {
    pub(super) by: String,
    pub(super) time: Duration,
    pub(super) inputs: u64,
}

impl PersonControl {
    /// Nobody has control; the requests are for the session.
    pub(super) fn new() -> (Self, mpsc::Receiver<PersonRequest>) {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let control = Self {
            lease: ControlLease::default(),
            requests,
            holder: Mutex::default(),
            is_taken: watch::Sender::new(false),
        };
        (control, receiver)
    }

    /// The lease that the session's calls check.
    pub(super) fn lease(&self) -> ControlLease {
        self.lease.clone()
    }

    /// Waits until no call runs and this person has control. No step starts meanwhile.
    pub(super) async fn take(&self, by: String) -> Result<ControlId, String> {
        self.check_free()?;
        let waiting = WaitingLease(self);
        self.lease.take();
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
                self.check_free()?;
                Err("this session cannot be taken over, or is being closed".to_owned())
            }
        }
    }

    fn check_free(&self) -> Result<(), String> {
        match &*self.lock() {
            Some(holder) => Err(format!("{} has control already", holder.by)),
            None => Ok(()),
        }
    }

    /// Passes input on, if it comes from whoever has control.
    pub(super) async fn input(
        &self,
        id: &ControlId,
        device: Option<DeviceKind>,
        input: PersonInput,
    ) -> Result<(), String> {
        {
            let mut holder = self.lock();
            let holder = holder.as_mut().filter(|holder| holder.id == *id);
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
        let holder = self.lock();
        holder.as_ref().map(|holder| PersonInControl {
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
            let end = self.lock().as_ref().map(Holder::end);
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

    /// Gives control to this person; the session's loop calls it between turns. False if they left.
    pub(super) fn begin(&self, by: String, taken: oneshot::Sender<ControlId>) -> bool {
        let mut holder = self.lock();
        if holder.is_some() {
            return false;
        }
        let Ok(id) = ControlId::random() else {
            return false;
        };
        if taken.send(id.clone()).is_err() {
            return false;
        }
        let now = Instant::now();
        *holder = Some(Holder {
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

    /// Lets calls act again; the session's loop calls it when everything is released.
    pub(super) fn end(&self) -> Option<EndedControl> {
        let ended = self.lock().take();
        self.lease.give_back();
        self.is_taken.send_replace(false);
        ended.map(|holder| EndedControl {
            by: holder.by,
            time: holder.since.elapsed(),
            inputs: holder.inputs,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holder {
    fn end(&self) -> Instant {
        (self.last_input + IDLE_LIMIT).min(self.since + HARD_LIMIT)
    }
}

/// Calls wait for a person who takes control; dropping it lets them go on if nobody has it.
struct WaitingLease<'a>(&'a PersonControl);

impl Drop for WaitingLease<'_> {
    fn drop(&mut self) {
        if self.0.lock().is_none() {
            self.0.lease.give_back();
        }
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
