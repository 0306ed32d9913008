//! The questions of a call without a session host: they are listed and answered from outside like those
//! of a session, as long as the call lasts.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::process::{Signal, getpid, kill_process};
use telechir_policy::Interface;
use telechir_runtime::{AnswerWay, NewestOutput, Session};
use tokio::net::UnixListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, spawn};

use super::PersonTurns;
use super::calls::CallTable;
use super::connections::{Connections, Shared};
use super::control::{ControlSlot, EventSlot, SessionControl};
use super::devtools::DevtoolsConnections;
use super::person::{PersonControl, PersonRequest};
use super::status::SessionStatus;
use super::tasks::TaskRequests;
use super::{HostApprover, HostSettings};
use crate::approvals::{
    ApprovalCode, ApprovalQueue, CallerReply, CallerWay, PeerProcess, UnsandboxedDevices,
};
use crate::paths::Lock;
use crate::{HostError, SessionPaths, SessionState, error_chain};

/// The questions of one call. Nothing is made outside of memory before [`Self::show`].
#[derive(Debug)]
pub struct CallQuestions {
    paths: SessionPaths,
    settings: HostSettings,
    queue: ApprovalQueue,
    control: ControlSlot,
    message: NewestOutput,
    person: Arc<PersonControl>,
    /// None once the session is shown to people, whose requests it serves.
    person_requests: Option<mpsc::Receiver<PersonRequest>>,
    shown: Option<Shown>,
}

/// Where the session of a call goes, for people who look at it where its questions are.
#[derive(Debug)]
pub struct ViewedSession {
    control: ControlSlot,
    message: NewestOutput,
    person: Arc<PersonControl>,
    person_requests: mpsc::Receiver<PersonRequest>,
}

impl ViewedSession {
    /// Where the text of the session's model goes as it arrives.
    pub fn message(&self) -> NewestOutput {
        self.message.clone()
    }

    /// Shows the session, which has started: its events, screens and output. People can take control
    /// wherever what this returns serves them.
    ///
    /// # Errors
    /// When its recording cannot be read.
    pub fn show(self, session: &mut Session) -> Result<PersonTurns, HostError> {
        let recording = session.recording();
        let recording =
            recording.map_err(|e| HostError::new(format!("failed to {}", error_chain(&e))))?;
        self.control.set(Arc::new(SessionControl {
            recording,
            screens: session.screens(),
            page: session.page_outline(),
            output: session.shell_output(),
            policy_slot: session.policy_slot(),
            policy_source: Box::new(|| {
                Err("a call keeps the policy that it was started with".to_owned())
            }),
            time_extender: None,
            policy_changed: Notify::new(),
            events: EventSlot::new(session.event_sender()),
        }));
        Ok(PersonTurns::of(self.person, self.person_requests, session))
    }
}

/// The socket at which others find the questions; removed on drop.
#[derive(Debug)]
struct Shown {
    paths: SessionPaths,
    accepting: AbortHandle,
    lock: Option<Lock>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.accepting.abort();
        self.paths.remove_socket();
        if let Some(lock) = self.lock.take() {
            // Without its lock the socket is that of a dead process, which the next client removes.
            let _best_effort = self.paths.release(lock);
        }
    }
}

impl CallQuestions {
    /// The questions of this process, under a name like that of a session.
    ///
    /// # Errors
    /// If the folder of sockets is missing.
    pub fn new(paths: SessionPaths, settings: HostSettings) -> Result<Self, HostError> {
        let unsandboxed = UnsandboxedDevices::of(paths.folder())?;
        let standing = settings.standing.clone();
        let queue = ApprovalQueue::new(settings.approval_timeout, unsandboxed, standing);
        queue.set_caller(Some(CallerWay {
            interface: Interface::Terminal,
            way: AnswerWay::Terminal,
        }));
        let (person, person_requests) = PersonControl::new();
        Ok(Self {
            paths,
            settings,
            queue,
            control: ControlSlot::new(),
            message: NewestOutput::default(),
            person: Arc::new(person),
            person_requests: Some(person_requests),
            shown: None,
        })
    }

    /// Where the session goes once it has started; none after the first time, and after
    /// [`Self::show`].
    pub fn viewed_session(&mut self) -> Option<ViewedSession> {
        Some(ViewedSession {
            control: self.control.clone(),
            message: self.message.clone(),
            person: Arc::clone(&self.person),
            person_requests: self.person_requests.take()?,
        })
    }

    /// The queue, which answers of others reach once it is shown.
    pub fn queue(&self) -> &ApprovalQueue {
        &self.queue
    }

    /// Takes the reply at this process's own terminal, which must not be one of a session or on a
    /// display that a session drives.
    ///
    /// # Errors
    /// With a sentence, if it does not count.
    pub fn reply(&self, code: &ApprovalCode, reply: CallerReply) -> Result<(), String> {
        let own = UnixStream::pair().and_then(|(one, _other)| PeerProcess::of(&one));
        let own = own.map_err(|error| format!("failed to look at this process: {error}"))?;
        self.queue.caller_replied(code, reply, &own)
    }

    /// Lets others find the questions, from now on until this is dropped. Nobody can take control of a
    /// session whose [`Self::viewed_session`] was not asked for before. Must be called inside the async
    /// runtime.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn show(&mut self) -> Result<(), HostError> {
        if self.shown.is_some() {
            return Ok(());
        }
        self.person_requests = None;
        let name = &self.paths.name;
        let taken = || HostError::new(format!("the name {name} is in use"));
        let lock = self.paths.claim()?.ok_or_else(taken)?;
        let listener = self.paths.listen(&lock)?;
        let calls = Arc::<CallTable>::default();
        calls.close(&format!(
            "{name} is a call that ends with its devices; it takes no others"
        ));
        let (closes, mut close_requests) = mpsc::channel(1);
        let control = self.control.clone();
        let shared = Arc::new(Shared {
            // No session serves them: a program is told that it is being closed.
            devtools: Arc::new(DevtoolsConnections::new().0),
            // Nor tasks of other clients.
            tasks: Arc::new(TaskRequests::new().0),
            message: self.message.clone(),
            person: Arc::clone(&self.person),
            status: SessionStatus::new(name.to_string(), self.settings.clone()),
            approver: HostApprover::new(Arc::clone(&calls), self.queue.clone(), control.clone()),
            calls,
            closes,
            control,
        });
        shared.status.set(SessionState::Busy);
        let accepting = spawn(async move {
            tokio::select! {
                () = accept(listener, shared) => {}
                Some(_closer) = close_requests.recv() => {
                    // Whoever closes it waits for the end of this process, which closes its devices.
                    let _own_process = kill_process(getpid(), Signal::TERM);
                    std::future::pending::<()>().await;
                }
            }
        });
        self.shown = Some(Shown {
            paths: self.paths.clone(),
            accepting: accepting.abort_handle(),
            lock: Some(lock),
        });
        Ok(())
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    Connections::new().accept_all(&listener, &shared).await;
}
