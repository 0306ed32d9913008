//! A turn that a session host executes, as its client follows it.

use std::future::Future;
use std::time::Duration;

use telechir_protocol::ToolResult;
use tokio::time::timeout;

use crate::approvals::{ApprovalCode, CallerReply, OpenApproval};
use crate::connection::Exchange;
use crate::error::HostErrorKind;
use crate::message::{HostReply, HostRequest, to_result};
use crate::{HostError, TurnKey};

/// Timeout for the cancellation of a call: keys released, command killed.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);

/// Where a client asks its user about the questions of its turn.
pub trait QuestionPrompt {
    /// Shows a question, which replaces the one before.
    fn show(&mut self, open: OpenApproval) -> impl Future<Output = ()>;

    /// Removes the question, which needs no reply any more, because it was settled in this way, if that
    /// is known.
    fn withdraw(&mut self, settled: Option<&str>);

    /// The reply does not count, for this reason. The question as it is now; none if it is settled.
    fn refused(&mut self, reason: &str, _open: Option<OpenApproval>) -> impl Future<Output = ()> {
        tracing::warn!(reason, "an answer does not count");
        std::future::ready(())
    }

    /// The next reply to the question that is shown. Must be cancel-safe, and wait for ever when
    /// there is nothing to reply.
    fn reply(&mut self) -> impl Future<Output = CallerReply>;
}

/// A turn under way. If its request is dropped before its end, it is cancelled, unless it runs on or
/// another client follows it, too.
#[derive(Debug)]
pub struct RunningCall {
    key: TurnKey,
    exchange: Exchange,
    has_ended: bool,
    /// Whether the turn is cancelled when this is dropped.
    is_cancelled_on_drop: bool,
    has_started: bool,
    /// A reply that came before it was expected.
    early: Option<HostReply>,
}

/// What happens to a turn.
#[expect(
    clippy::large_enum_variant,
    reason = "made once per message and taken apart at once"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum CallUpdate {
    /// Other calls are executed first.
    Queued,
    /// It is executed now. An earlier question is withdrawn.
    Started,
    /// It waits for an approval.
    Question(OpenApproval),
    /// It has its results, one per call.
    Answered(Vec<ToolResult>),
}

impl RunningCall {
    pub(crate) fn new(key: TurnKey, exchange: Exchange, is_cancelled_on_drop: bool) -> Self {
        Self {
            key,
            exchange,
            has_ended: false,
            is_cancelled_on_drop,
            has_started: false,
            early: None,
        }
    }

    /// The key of the turn; once it has joined another one, the key of that.
    pub fn key(&self) -> &TurnKey {
        &self.key
    }

    /// Waits until a turn that may be a retry was accepted: then [`Self::key`] is that of the turn that
    /// it has joined, if it has.
    ///
    /// # Errors
    /// When the turn was refused, or the session host is gone.
    pub async fn accepted(&mut self) -> Result<(), HostError> {
        match self.exchange.next("nothing is known about the call").await {
            Ok(HostReply::Accepted { key }) => self.key = key,
            Ok(reply) => self.early = Some(reply),
            Err(error) => {
                self.has_ended = true;
                return Err(error);
            }
        }
        Ok(())
    }

    /// What happens next. Cancel-safe.
    ///
    /// # Errors
    /// When the turn failed or was cancelled, or the session host is gone.
    pub async fn next(&mut self) -> Result<CallUpdate, HostError> {
        let context = match self.has_started {
            true => "actions already started may have taken effect",
            false => "nothing is known about the call",
        };
        let mut reply = match self.early.take() {
            Some(reply) => Ok(reply),
            None => self.exchange.next(context).await,
        };
        if let Ok(HostReply::Accepted { key }) = reply {
            self.key = key;
            reply = self.exchange.next(context).await;
        }
        let reply = reply.inspect_err(|_| self.has_ended = true)?;
        let ended = |kind, message: &str| Err(HostError::of(kind, message));
        match reply {
            HostReply::Queued => Ok(CallUpdate::Queued),
            HostReply::Started => {
                self.has_started = true;
                Ok(CallUpdate::Started)
            }
            HostReply::Question(open) => {
                self.has_started = true;
                Ok(CallUpdate::Question(open))
            }
            HostReply::Answered { results } => {
                self.has_ended = true;
                let results = results.into_iter().filter_map(to_result).collect();
                Ok(CallUpdate::Answered(results))
            }
            HostReply::Cancelled => {
                self.has_ended = true;
                ended(HostErrorKind::Cancelled, "the session cancelled the call")
            }
            HostReply::Busy => {
                self.has_ended = true;
                let message = "the session was busy for too long; nothing was executed";
                ended(HostErrorKind::Busy, message)
            }
            HostReply::Described(_)
            | HostReply::Event { .. }
            | HostReply::EventsFrom { .. }
            | HostReply::EventsEnded { .. }
            | HostReply::Image(_)
            | HostReply::ScreenChanged(_)
            | HostReply::ControlTaken { .. }
            | HostReply::Offered(_)
            | HostReply::HiddenInput { .. }
            | HostReply::Reloaded { .. }
            | HostReply::Approvals { .. }
            | HostReply::Approval(_)
            | HostReply::Remembered { .. }
            | HostReply::Done
            | HostReply::Accepted { .. }
            | HostReply::Failed { .. }
            | HostReply::RecordedCall(_)
            | HostReply::OutputChanged(_)
            | HostReply::Page { .. }
            | HostReply::DevtoolsOpened { .. }
            | HostReply::DevtoolsMessages { .. }
            | HostReply::Closed { .. } => Err(self.exchange.unexpected()),
        }
    }

    /// Waits for the results; shows `prompt` the questions of the turn and sends its replies, and
    /// calls `queued` if the turn waits for others.
    ///
    /// # Errors
    /// When the turn failed or was cancelled, or the session host is gone.
    pub async fn results(
        &mut self,
        prompt: &mut impl QuestionPrompt,
        queued: impl Fn(),
    ) -> Result<Vec<ToolResult>, HostError> {
        let mut shown: Option<ApprovalCode> = None;
        loop {
            // Both futures are cancel-safe: the prompt and a partial message stay.
            let update = tokio::select! {
                reply = prompt.reply(), if shown.is_some() => {
                    if let Some(code) = shown.clone() {
                        self.reply(code, reply, prompt).await?;
                    }
                    continue;
                }
                update = self.next() => update?,
            };
            match update {
                CallUpdate::Queued => queued(),
                CallUpdate::Started => {
                    if let Some(code) = shown.take() {
                        let settled = self.settled(code).await;
                        prompt.withdraw(settled.as_deref());
                    }
                }
                CallUpdate::Question(open) => {
                    shown = Some(open.code.clone());
                    prompt.show(open).await;
                }
                CallUpdate::Answered(results) => return Ok(results),
            }
        }
    }

    /// Sends a reply to a question; if it does not count, reports that to `prompt`.
    async fn reply(
        &self,
        code: ApprovalCode,
        reply: CallerReply,
        prompt: &mut impl QuestionPrompt,
    ) -> Result<(), HostError> {
        let Some(reason) = self.refusal(code.clone(), reply).await? else {
            return Ok(());
        };
        let request = HostRequest::FindApproval { code };
        let mut exchange = self.exchange.connection.request(request).await?;
        let HostReply::Approval(found) = exchange.next("the answer does not count").await? else {
            return Err(exchange.unexpected());
        };
        prompt.refused(&reason, found.open).await;
        Ok(())
    }

    /// How a question was settled, if the session host knows.
    async fn settled(&self, code: ApprovalCode) -> Option<String> {
        let request = HostRequest::FindApproval { code };
        let mut exchange = self.exchange.connection.request(request).await.ok()?;
        let reply = exchange.next("the question is settled").await.ok()?;
        let HostReply::Approval(found) = reply else {
            return None;
        };
        found.settled
    }

    /// Sends a reply to a question of the turn. A reply that does not count is logged.
    ///
    /// # Errors
    /// When the session host is gone.
    pub async fn reply_to(&self, code: ApprovalCode, reply: CallerReply) -> Result<(), HostError> {
        if let Some(reason) = self.refusal(code, reply).await? {
            tracing::warn!(reason, "an answer does not count");
        }
        Ok(())
    }

    /// Sends a reply to a question. Returns why it does not count, if so.
    async fn refusal(
        &self,
        code: ApprovalCode,
        reply: CallerReply,
    ) -> Result<Option<String>, HostError> {
        let request = HostRequest::ReplyToQuestion { code, reply };
        let mut exchange = self.exchange.connection.request(request).await?;
        match exchange.next("the answer may be lost").await {
            Ok(_) => Ok(None),
            Err(error) if error.kind() == HostErrorKind::Lost => Err(error),
            Err(error) => Ok(Some(error.to_string())),
        }
    }

    /// Cancels the turn and waits until it has stopped. Returns whether it was executed, at least in
    /// part.
    pub async fn cancel(mut self) -> bool {
        let key = self.key.clone();
        let cancelled = async {
            let request = HostRequest::Cancel { key };
            let _reply = self.exchange.connection.request(request).await?;
            loop {
                self.next().await?;
            }
        };
        let stopped: Result<Result<(), HostError>, _> = timeout(CANCEL_TIMEOUT, cancelled).await;
        if !matches!(stopped, Ok(Err(error)) if error.kind() == HostErrorKind::Cancelled) {
            tracing::warn!("the session host did not confirm the cancellation");
        }
        self.has_started
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.is_cancelled_on_drop && !self.has_ended {
            let (key, request) = (self.key.clone(), Some(self.exchange.id));
            self.exchange
                .connection
                .request_later(HostRequest::Leave { key, request });
        }
    }
}
