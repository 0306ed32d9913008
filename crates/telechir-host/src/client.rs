//! A client of a session host.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use telechir_policy::Digest;
use telechir_protocol::Content;
use telechir_runtime::{ConversationEntry, SessionEvent};
use tokio::time::timeout;

use crate::approvals::{
    ApprovalCode, CommandAnswer, FoundApproval, OpenApproval, OperatorAnswer, RememberedApproval,
};
use crate::connection::{Connection, Exchange};
use crate::error::HostErrorKind;
use crate::frames::{MessageReader, MessageWriter};
use crate::message::{HostReply, HostRequest};
use crate::probe::{CHANGE_TIMEOUT, exited, terminate};
use crate::tokens::BearerToken;
use crate::{
    ControlId, DeviceKind, DeviceOffer, EventStream, EventsFrom, HostError, OutputTail,
    PersonInput, Probe, RecordedToolCall, RunningCall, ScreenUpdate, ScreenshotsFor,
    SessionDescription, SessionImage, SessionPaths, TurnKey, TurnRequest, find,
};

/// Timeout for a request that the session host answers at once.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for extending a session: a service that rents to it may take a minute to answer.
const EXTEND_TIMEOUT: Duration = Duration::from_secs(90);
/// Timeout for stopping all devices, one after the other.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(200);

/// Names a program's connection to the browser of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevtoolsId(u64);

/// A connection to a session host that passed the version check. Any number of requests can be
/// under way at once. Dropping it cancels its calls, unless they wait for an approval or run on.
#[derive(Debug)]
pub struct HostClient {
    description: Box<SessionDescription>,
    connection: Arc<Connection>,
    process: OwnedFd,
}

impl HostClient {
    pub(crate) fn new(
        description: Box<SessionDescription>,
        reader: MessageReader,
        writer: MessageWriter,
        process: OwnedFd,
    ) -> Self {
        let connection = Connection::new(description.name.clone(), reader, writer);
        Self {
            description,
            connection,
            process,
        }
    }

    /// The session as it was when this client connected.
    pub fn description(&self) -> &SessionDescription {
        &self.description
    }

    /// Whether the session host still replies.
    pub fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    /// Describes the session as it is now.
    ///
    /// # Errors
    /// When the session host does not reply.
    pub async fn describe(&self) -> Result<SessionDescription, HostError> {
        let mut exchange = self.request(HostRequest::Describe).await?;
        let HostReply::Described(description) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(*description)
    }

    /// Requests a turn. It waits for its turn in order of arrival.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub async fn execute(&self, request: TurnRequest) -> Result<RunningCall, HostError> {
        let (key, runs_on) = (request.key.clone(), request.runs_on);
        let exchange = self.request(HostRequest::Execute(request)).await?;
        Ok(RunningCall::new(key, exchange, !runs_on))
    }

    /// Follows the turn with this key, which another client may have requested.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub async fn await_turn(&self, key: TurnKey) -> Result<RunningCall, HostError> {
        let request = HostRequest::Await { key: key.clone() };
        let exchange = self.request(request).await?;
        Ok(RunningCall::new(key, exchange, false))
    }

    /// Cancels the turn with this key; it has stopped when its own request is answered.
    ///
    /// # Errors
    /// When there is no such turn.
    pub async fn cancel(&self, key: TurnKey) -> Result<(), HostError> {
        self.done(HostRequest::Cancel { key }).await
    }

    /// The open questions of the session, the oldest first.
    ///
    /// # Errors
    /// When the session host does not reply.
    pub async fn approvals(&self) -> Result<Vec<OpenApproval>, HostError> {
        let mut exchange = self.request(HostRequest::ListApprovals).await?;
        let HostReply::Approvals { open } = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(open)
    }

    /// What the session knows about a question.
    ///
    /// # Errors
    /// When the session host does not reply.
    pub async fn find_approval(&self, code: &ApprovalCode) -> Result<FoundApproval, HostError> {
        let code = code.clone();
        let mut exchange = self.request(HostRequest::FindApproval { code }).await?;
        let HostReply::Approval(found) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(*found)
    }

    /// Answers the question with this code as a person at another terminal.
    ///
    /// # Errors
    /// When the answer does not count, with the reason.
    pub async fn answer_approval(
        &self,
        code: &ApprovalCode,
        answer: CommandAnswer,
    ) -> Result<(), HostError> {
        let code = code.clone();
        self.done(HostRequest::AnswerApproval { code, answer })
            .await
    }

    /// Answers the question with this code as an operator of the HTTP API.
    ///
    /// # Errors
    /// When the answer does not count, with the reason.
    pub async fn answer_as_operator(
        &self,
        code: &ApprovalCode,
        answer: OperatorAnswer,
    ) -> Result<(), HostError> {
        let code = code.clone();
        self.done(HostRequest::AnswerAsOperator { code, answer })
            .await
    }

    /// The approvals for the rest of the session.
    ///
    /// # Errors
    /// When the session host does not reply.
    pub async fn remembered_approvals(&self) -> Result<Vec<RememberedApproval>, HostError> {
        let mut exchange = self.request(HostRequest::ListRemembered).await?;
        let HostReply::Remembered { approvals } = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(approvals)
    }

    /// Ends the approval for the rest of the session that has this number.
    ///
    /// # Errors
    /// When there is none with this number.
    pub async fn revoke_approval(&self, number: u64) -> Result<(), HostError> {
        self.done(HostRequest::RevokeApproval { number }).await
    }

    /// Subscribes to the events of the session's recording from this row on, past ones included;
    /// without a row, to new ones alone.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub async fn subscribe(&self, from: Option<u64>) -> Result<EventStream, HostError> {
        let window = Some(EventStream::WINDOW);
        let request = HostRequest::Subscribe { from, window };
        let exchange = self.request(request).await?;
        Ok(EventStream::new(exchange, from.unwrap_or(1)))
    }

    /// Follows the events of the session's recording from there on. Waits until the devices have started:
    /// then [`EventStream::next_row`] is the row of the first event that counts.
    ///
    /// # Errors
    /// When the session host does not reply, or the session ends before.
    pub async fn follow_events(&self, from: EventsFrom) -> Result<EventStream, HostError> {
        let window = EventStream::WINDOW;
        let mut exchange = self
            .request(HostRequest::FollowEvents { from, window })
            .await?;
        let context = "no event was read";
        let reply = exchange.next(context).await?;
        if let HostReply::EventsEnded { .. } = reply {
            let message = "the session ended before its devices had started";
            return Err(HostError::of(HostErrorKind::Lost, message));
        }
        let HostReply::EventsFrom { row } = reply else {
            return Err(exchange.unexpected());
        };
        Ok(EventStream::new(exchange, row))
    }

    /// Captures a screen as people see it now, also while a call runs; without a device the first
    /// screen, at most this wide.
    ///
    /// # Errors
    /// When the session has no such screen, or it cannot be captured.
    pub async fn capture_screen(
        &self,
        device: Option<DeviceKind>,
        max_width: Option<u32>,
    ) -> Result<SessionImage, HostError> {
        let request = HostRequest::CaptureScreen { device, max_width };
        let mut exchange = self.request(request).await?;
        let HostReply::Image(Some(image)) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(image)
    }

    /// Waits until a screen differs from the version that the caller has, a few seconds at most, and
    /// returns what changed; without a version all of it, at once. Without a device it is the first one.
    /// The session captures nothing for a client that does not wait.
    ///
    /// # Errors
    /// When the session has no such screen, or it cannot be captured.
    pub async fn watch_screen(
        &self,
        device: Option<DeviceKind>,
        since: Option<u64>,
    ) -> Result<ScreenUpdate, HostError> {
        let request = HostRequest::WatchScreen { device, since };
        let mut exchange = self.request(request).await?;
        let HostReply::ScreenChanged(update) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(update)
    }

    /// The elements of the browser's page as text, as it is now.
    ///
    /// # Errors
    /// When the session has no browser, or its page cannot be read.
    pub async fn read_page(&self) -> Result<String, HostError> {
        let mut exchange = self.request(HostRequest::ReadPage).await?;
        let HostReply::Page { text } = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(text)
    }

    /// Takes control as the operator with this token, once no call runs.
    ///
    /// # Errors
    /// When somebody has control, or this process or token may not take it.
    pub async fn take_control(&self, token: BearerToken) -> Result<ControlId, HostError> {
        let mut exchange = self.request(HostRequest::TakeControl { token }).await?;
        let context = "nothing is known about the request";
        let HostReply::ControlTaken { id } = exchange.next(context).await? else {
            return Err(exchange.unexpected());
        };
        Ok(id)
    }

    /// Sends input of whoever has control.
    ///
    /// # Errors
    /// When control has ended, or the session host does not reply.
    pub async fn control_input(
        &self,
        id: ControlId,
        device: Option<DeviceKind>,
        input: PersonInput,
    ) -> Result<(), HostError> {
        self.done(HostRequest::ControlInput { id, device, input })
            .await
    }

    /// Ends control as the operator with this token, whoever has it.
    ///
    /// # Errors
    /// When this process or token may not end it.
    pub async fn give_control_back(&self, token: BearerToken) -> Result<(), HostError> {
        self.done(HostRequest::GiveControlBack { token }).await
    }

    /// A screenshot of the session's recording, as an event names it; none if it has none.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn recorded_screenshot(
        &self,
        digest: &str,
    ) -> Result<Option<SessionImage>, HostError> {
        let digest = digest.to_owned();
        let mut exchange = self.request(HostRequest::ReadScreenshot { digest }).await?;
        let HostReply::Image(image) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(image)
    }

    /// The call whose event has this row in the session's recording; none if no call's event has it.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn recorded_call(&self, row: u64) -> Result<Option<RecordedToolCall>, HostError> {
        let mut exchange = self.request(HostRequest::ReadCall { row }).await?;
        let HostReply::RecordedCall(call) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(call)
    }

    /// Waits until the output of the running command differs from the version that the caller has, a
    /// few seconds at most, and returns its end; without a version at once.
    ///
    /// # Errors
    /// When the session has no shell, or does not reply.
    pub async fn watch_output(&self, since: Option<u64>) -> Result<OutputTail, HostError> {
        self.watch(HostRequest::WatchOutput { since }).await
    }

    /// The same for the message that the model of a task is writing; there is none between messages.
    ///
    /// # Errors
    /// When the session does not reply.
    pub async fn watch_message(&self, since: Option<u64>) -> Result<OutputTail, HostError> {
        self.watch(HostRequest::WatchMessage { since }).await
    }

    async fn watch(&self, request: HostRequest) -> Result<OutputTail, HostError> {
        let mut exchange = self.request(request).await?;
        let HostReply::OutputChanged(tail) = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(tail)
    }

    /// Opens the browser's DevTools protocol for a program, if the policy permits it. It ends with this
    /// client.
    ///
    /// # Errors
    /// With the reason, if the session has no such browser or the policy does not permit it.
    pub async fn open_devtools(&self) -> Result<DevtoolsId, HostError> {
        let mut exchange = self.request(HostRequest::OpenDevtools).await?;
        // A person may be asked, so this can take any time.
        let reply = exchange.next("nothing is known about the request").await?;
        let HostReply::DevtoolsOpened { id } = reply else {
            return Err(exchange.unexpected());
        };
        Ok(DevtoolsId(id))
    }

    /// Passes on a message of a program. Waits while the policy judges an earlier one.
    ///
    /// # Errors
    /// When the program's connection has ended.
    pub async fn send_devtools(&self, id: DevtoolsId, text: String) -> Result<(), HostError> {
        let request = HostRequest::SendDevtools { id: id.0, text };
        let mut exchange = self.request(request).await?;
        let reply = exchange.next("nothing is known about the message").await?;
        let HostReply::Done = reply else {
            return Err(exchange.unexpected());
        };
        Ok(())
    }

    /// Waits for messages for a program; none once its connection has ended.
    ///
    /// # Errors
    /// When the session host is gone.
    pub async fn receive_devtools(&self, id: DevtoolsId) -> Result<Vec<String>, HostError> {
        let request = HostRequest::ReceiveDevtools { id: id.0 };
        let mut exchange = self.request(request).await?;
        let reply = exchange.next("the connection has ended").await?;
        let HostReply::DevtoolsMessages { messages } = reply else {
            return Err(exchange.unexpected());
        };
        Ok(messages)
    }

    /// What a model that works on a task can use in this session. Waits while a turn runs.
    ///
    /// # Errors
    /// When the dialect is unknown, or the session is being closed.
    pub async fn offer_devices(
        &self,
        screenshots: ScreenshotsFor,
    ) -> Result<DeviceOffer, HostError> {
        let request = HostRequest::OfferDevices { screenshots };
        let mut exchange = self.request(request).await?;
        let reply = exchange.next("nothing is known about the request").await?;
        let HostReply::Offered(offer) = reply else {
            return Err(exchange.unexpected());
        };
        Ok(*offer)
    }

    /// The texts that calls of these contents type where the shell hides its input, such as passwords.
    /// Waits while a turn runs.
    ///
    /// # Errors
    /// When the session is being closed.
    pub async fn hidden_input(&self, contents: Vec<Content>) -> Result<Vec<String>, HostError> {
        let request = HostRequest::FindHiddenInput { contents };
        let mut exchange = self.request(request).await?;
        let reply = exchange.next("nothing is known about the request").await?;
        let HostReply::HiddenInput { texts } = reply else {
            return Err(exchange.unexpected());
        };
        Ok(texts)
    }

    /// Makes an entry of a model's conversation durable in the session's recording. Waits while a turn
    /// runs.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn record_conversation(&self, entry: ConversationEntry) -> Result<(), HostError> {
        let entry = Box::new(entry);
        let mut exchange = self
            .request(HostRequest::RecordConversation { entry })
            .await?;
        let reply = exchange.next("the entry may be recorded").await?;
        let HostReply::Done = reply else {
            return Err(exchange.unexpected());
        };
        Ok(())
    }

    /// Reports progress of a task to those who follow the session.
    ///
    /// # Errors
    /// When the event is not about a task, or the session host does not reply.
    pub async fn report_task(&self, event: SessionEvent) -> Result<(), HostError> {
        let event = Box::new(event);
        self.done(HostRequest::ReportTask { event }).await
    }

    /// Shows the next piece of the message that the task's model is writing to those who look at the
    /// session; an empty one ends it. Nothing of it is recorded.
    ///
    /// # Errors
    /// When this client works on no task, or the session does not reply.
    pub async fn show_message(&self, piece: String) -> Result<(), HostError> {
        self.done(HostRequest::ShowMessage { piece }).await
    }

    /// Makes the session read its policy again, and returns the digest of the new one.
    ///
    /// # Errors
    /// When the policy is invalid: then the session keeps the present one.
    pub async fn reload_policy(&self) -> Result<Digest, HostError> {
        let mut exchange = self.request(HostRequest::ReloadPolicy).await?;
        let HostReply::Reloaded { policy } = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(policy)
    }

    /// Closes the session after this time without a call at the earliest, and extends what it rents.
    ///
    /// # Errors
    /// When the session host does not reply, or something rented ends earlier.
    pub async fn extend(&self, time: Duration) -> Result<(), HostError> {
        self.extend_within(EXTEND_TIMEOUT, time, true).await
    }

    /// Closes the session after this time without a call at the earliest. What it rents is left alone.
    ///
    /// # Errors
    /// When the session host does not reply.
    pub async fn keep_open(&self, time: Duration) -> Result<(), HostError> {
        self.extend_within(REPLY_TIMEOUT, time, false).await
    }

    async fn extend_within(
        &self,
        limit: Duration,
        time: Duration,
        with_rented: bool,
    ) -> Result<(), HostError> {
        let seconds = time.as_secs();
        let request = HostRequest::Extend {
            seconds,
            with_rented,
        };
        let mut exchange = self.request(request).await?;
        let HostReply::Done = self.reply_within(limit, &mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(())
    }

    /// Makes the session end when this client does.
    ///
    /// # Errors
    /// When the session host does not reply.
    pub async fn own(&self) -> Result<(), HostError> {
        self.done(HostRequest::Own).await
    }

    /// Closes the session and waits until all its processes are gone.
    ///
    /// # Errors
    /// When it does not close in time, or a device did not stop cleanly.
    pub async fn close(self) -> Result<(), HostError> {
        let name = &self.description.name;
        let closed = async {
            let mut exchange = self.request(HostRequest::Close).await?;
            exchange.next("it may have been closed").await
        };
        let closed = timeout(CLOSE_TIMEOUT, closed).await;
        let pid = self.description.pid;
        let message = match closed {
            Ok(Ok(HostReply::Closed {
                problem: Some(text),
            })) => Some(format!(
                "session {name} is closed, but a device did not stop cleanly: {text}"
            )),
            // Another client may have closed it at the same time.
            Ok(_) => None,
            Err(_) => Some(too_slow(name, pid)),
        };
        let name = name.clone();
        let ended = timeout(CHANGE_TIMEOUT, exited(self.process)).await;
        match (message, ended) {
            (Some(message), _) => Err(HostError::new(message)),
            (None, Ok(_)) => Ok(()),
            (None, Err(_)) => Err(HostError::new(too_slow(&name, pid))),
        }
    }

    /// Closes the session with these paths, also one whose host has another version of the protocol.
    /// Returns what was found.
    ///
    /// # Errors
    /// When it does not close in time, or a device did not stop cleanly.
    pub async fn close_session(paths: &SessionPaths) -> Result<ClosedSession, HostError> {
        match find(paths).await {
            Ok(Probe::Alive(client)) => client.close().await.map(|()| ClosedSession::Closed),
            Ok(Probe::Dead) => Ok(ClosedSession::Dead),
            Ok(Probe::Changing | Probe::Nothing) => Ok(ClosedSession::Nothing),
            Err(error) if error.kind() == HostErrorKind::Version => {
                terminate(paths, CLOSE_TIMEOUT).await?;
                Ok(ClosedSession::Closed)
            }
            Err(error) => Err(error),
        }
    }

    async fn request(&self, request: HostRequest) -> Result<Exchange, HostError> {
        self.connection.request(request).await
    }

    async fn done(&self, request: HostRequest) -> Result<(), HostError> {
        let mut exchange = self.request(request).await?;
        let HostReply::Done = self.reply(&mut exchange).await? else {
            return Err(exchange.unexpected());
        };
        Ok(())
    }

    async fn reply(&self, exchange: &mut Exchange) -> Result<HostReply, HostError> {
        self.reply_within(REPLY_TIMEOUT, exchange).await
    }

    async fn reply_within(
        &self,
        limit: Duration,
        exchange: &mut Exchange,
    ) -> Result<HostReply, HostError> {
        let name = &self.description.name;
        let silent = |_| HostError::new(format!("the session host of {name} does not reply"));
        let reply = exchange.next("nothing is known about the request");
        timeout(limit, reply).await.map_err(silent)?
    }
}

/// What was found of a session that was to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedSession {
    /// The session, which is closed now.
    Closed,
    /// The files of a session whose host had exited, which are removed now.
    Dead,
    /// No session with this name.
    Nothing,
}

fn too_slow(name: &str, pid: u32) -> String {
    format!("session {name} did not close in time; its session host is process {pid}")
}
