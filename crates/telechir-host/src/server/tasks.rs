//! What the session does for a client whose model works on a task: it states what there is to use,
//! finds hidden input, and records the conversation. Between turns, because the session is needed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use telechir_protocol::{Content, ModelTurn, Size, Tool};
use telechir_runtime::{ConversationEntry, DeviceKind, NewestOutput, SessionEvent};
use tokio::sync::{mpsc, oneshot};

use super::control::SessionControl;
use super::{HostedSession, error_chain};
use crate::message::DeviceOffer;
use crate::{HostReply, ScreenshotsFor};

/// Requests that the session's loop has not served yet.
const MAX_REQUESTS: usize = 16;

/// What a client requests for its task.
#[derive(Debug)]
pub(super) enum TaskWork {
    Offer(ScreenshotsFor),
    FindHiddenInput(Vec<Content>),
    Record(Box<ConversationEntry>),
}

/// A request that waits for the session.
#[derive(Debug)]
pub(super) struct TaskRequest {
    work: TaskWork,
    done: oneshot::Sender<Result<HostReply, String>>,
}

impl TaskRequest {
    /// Answers that the session does not serve it, and why.
    pub(super) fn refuse(self, why: &str) {
        let _they_left = self.done.send(Err(why.to_owned()));
    }
}

/// The requests of all clients, and which of them works on a task: one at a time, because events and
/// conversations have no other owner.
#[derive(Debug)]
pub(super) struct TaskRequests {
    requests: mpsc::Sender<TaskRequest>,
    is_working: AtomicBool,
}

/// The right to work on a task in the session, until it is dropped.
#[derive(Debug)]
pub(super) struct TaskLease {
    tasks: Arc<TaskRequests>,
    /// Of its model.
    message: NewestOutput,
}

impl Drop for TaskLease {
    fn drop(&mut self) {
        self.message.push_message("");
        self.tasks.is_working.store(false, Ordering::Release);
    }
}

impl TaskRequests {
    /// No requests; they arrive at the receiver.
    pub(super) fn new() -> (Self, mpsc::Receiver<TaskRequest>) {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let is_working = AtomicBool::new(false);
        (
            Self {
                requests,
                is_working,
            },
            receiver,
        )
    }

    /// The right to work on a task; none while another client does.
    pub(super) fn lease(self: &Arc<Self>, message: NewestOutput) -> Option<TaskLease> {
        let was_working = self.is_working.swap(true, Ordering::AcqRel);
        (!was_working).then(|| TaskLease {
            tasks: Arc::clone(self),
            message,
        })
    }

    /// Waits until no turn runs and returns the reply.
    pub(super) async fn request(&self, work: TaskWork) -> Result<HostReply, String> {
        let closing = || "the session is being closed".to_owned();
        let (done, is_done) = oneshot::channel();
        let sent = self.requests.send(TaskRequest { work, done }).await;
        sent.map_err(|_| closing())?;
        is_done.await.map_err(|_| closing())?
    }
}

/// Refuses the requests that wait, and all that come.
pub(super) fn refuse_all(requests: &mut mpsc::Receiver<TaskRequest>, why: &str) {
    requests.close();
    while let Ok(request) = requests.try_recv() {
        request.refuse(why);
    }
}

/// The tools and the folder of a session, as its devices have them.
#[derive(Debug)]
pub struct HostedTools {
    /// The tools to declare to a model.
    pub tools: Vec<Tool>,
    /// The folder that shell, editor and desktop share.
    pub workspace: PathBuf,
}

/// Serves a request between turns.
pub(super) async fn serve_task(hosted: &mut impl HostedSession, request: TaskRequest) {
    let reply = match request.work {
        TaskWork::Offer(screenshots) => offer(hosted, &screenshots),
        TaskWork::FindHiddenInput(contents) => hidden_input(hosted, contents),
        TaskWork::Record(entry) => {
            let recorded = hosted.session().record_conversation(&entry).await;
            let failed = |e| format!("failed to {}", error_chain(&e));
            recorded.map(|()| HostReply::Done).map_err(failed)
        }
    };
    let _they_left = request.done.send(reply);
}

fn offer(
    hosted: &mut impl HostedSession,
    screenshots: &ScreenshotsFor,
) -> Result<HostReply, String> {
    hosted.set_screenshots(screenshots)?;
    let HostedTools { tools, workspace } = hosted.tools();
    let session = hosted.session();
    let size = |device: DeviceKind| -> Option<Size> { session.screenshot_size(device) };
    let recording = session.recording();
    let recording = recording.map_err(|e| format!("failed to {}", error_chain(&e)))?;
    Ok(HostReply::Offered(Box::new(DeviceOffer {
        tools,
        desktop: size(DeviceKind::Desktop),
        browser: size(DeviceKind::Browser),
        workspace,
        next_row: recording.last_row() + 1,
    })))
}

fn hidden_input(
    hosted: &mut impl HostedSession,
    contents: Vec<Content>,
) -> Result<HostReply, String> {
    let turn = ModelTurn::new(contents).map_err(|e| format!("failed to {e}"))?;
    let texts = hosted.session().hidden_input(&turn);
    Ok(HostReply::HiddenInput { texts })
}

/// Shows progress of a client's task to those who follow the session.
pub(super) fn report_task(control: &SessionControl, event: SessionEvent) -> Result<(), String> {
    if !is_about_task(&event) {
        return Err("only events of a task can be reported".to_owned());
    }
    control.events.emit(event);
    Ok(())
}

/// Whether it is the end of a task.
pub(super) fn is_end(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TaskEnded { .. })
}

/// Whether a client may report this event: those of the loop of its model, none about what was done
/// here.
fn is_about_task(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::TaskStarted { .. }
            | SessionEvent::TaskEnded { .. }
            | SessionEvent::RequestSent { .. }
            | SessionEvent::ResponseReceived { .. }
            | SessionEvent::Retrying { .. }
            | SessionEvent::AssistantMessage { .. }
            | SessionEvent::Warning { .. }
    )
}
