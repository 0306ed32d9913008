//! People who take control of a session that a command executes in its own process, between its turns.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use telechir_runtime::Session;
use tokio::sync::mpsc;

use super::person::{PersonControl, PersonRequest};

/// Serves people who take control of one session. A command calls it wherever no turn is executed.
#[derive(Debug)]
pub struct PersonTurns {
    person: Arc<PersonControl>,
    requests: mpsc::Receiver<PersonRequest>,
}

impl PersonTurns {
    /// The turns of people at this session, whose calls act only while nobody has control.
    pub(super) fn of(
        person: Arc<PersonControl>,
        requests: mpsc::Receiver<PersonRequest>,
        session: &mut Session,
    ) -> Self {
        session.set_control(person.lease());
        Self { person, requests }
    }

    /// Serves people until `work` has ended, which must not use the session. Control may last longer.
    pub async fn serve_during<T>(
        &mut self,
        session: &mut Session,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        loop {
            let request = tokio::select! {
                biased;
                done = &mut work => return done,
                request = self.next() => request,
            };
            // Not dropped halfway when the work ends.
            self.serve(session, request).await;
        }
    }

    /// Serves people until nobody has control: then the next turn can be executed, or the session
    /// closed.
    pub async fn until_given_back(&mut self, session: &mut Session) {
        while let Ok(request) = self.requests.try_recv() {
            self.serve(session, Some(request)).await;
        }
        while self.person.is_taken() {
            let request = self.next().await;
            self.serve(session, request).await;
        }
    }

    /// The next request; none when control has lasted too long. Cancel-safe.
    async fn next(&mut self) -> Option<PersonRequest> {
        tokio::select! {
            Some(request) = self.requests.recv() => Some(request),
            () = self.person.expired() => None,
        }
    }

    async fn serve(&self, session: &mut Session, request: Option<PersonRequest>) {
        match request {
            Some(request) => self.person.serve(session, request).await,
            None => self.person.finish(session).await,
        }
    }
}
