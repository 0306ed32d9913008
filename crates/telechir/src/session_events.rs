//! The events that a command shows: of its own session, or of one in a session host.

use std::sync::Arc;

use telechir_agent::Agent;
use telechir_host::EventStream;
use telechir_runtime::{EventReader, SessionEvent};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The model's text as it arrives, in pieces; an empty one ends a response.
pub(crate) type ModelText = UnboundedReceiver<String>;

/// What a run shows: the events of its session, and the text of a response between its request and
/// the event that has it.
#[derive(Debug)]
pub(crate) struct RunEvents {
    events: SessionEvents,
    text: Option<ModelText>,
    /// Whether text may come: a request was shown, and not the end of its response.
    is_text_due: bool,
    /// An event before which text may have arrived.
    next_event: Option<Arc<SessionEvent>>,
}

/// One of them.
#[derive(Debug)]
pub(crate) enum RunEvent {
    Session(Arc<SessionEvent>),
    /// The next characters of a message, without secrets.
    Text(String),
}

impl RunEvents {
    /// Without a text, messages are shown when they are complete.
    pub(crate) fn new(events: SessionEvents, text: Option<ModelText>) -> Self {
        Self {
            events,
            text,
            is_text_due: false,
            next_event: None,
        }
    }

    /// The next event; none after the last. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<RunEvent> {
        while self.is_text_due && self.next_event.is_none() {
            let Some(text) = &mut self.text else { break };
            tokio::select! {
                biased;
                piece = text.recv() => match piece {
                    Some(piece) if piece.is_empty() => self.is_text_due = false,
                    Some(piece) => return Some(RunEvent::Text(piece)),
                    None => self.text = None,
                },
                event = self.events.next() => self.next_event = Some(event?),
            }
        }
        // The text of a response is complete before the event that has it.
        while self.is_text_due
            && let Some(Ok(piece)) = self.text.as_mut().map(ModelText::try_recv)
        {
            match piece.is_empty() {
                true => self.is_text_due = false,
                false => return Some(RunEvent::Text(piece)),
            }
        }
        let event = match self.next_event.take() {
            Some(event) => event,
            None => self.events.next().await?,
        };
        self.is_text_due |= matches!(
            *event,
            SessionEvent::RequestSent { .. }
                | SessionEvent::Retrying { .. }
                | SessionEvent::EventsDropped { .. }
        );
        Some(RunEvent::Session(event))
    }
}

/// An agent that streams its model's text to the session's live page, and the text for each of two
/// readers.
pub(crate) fn with_streamed_text(
    agent: Agent,
    page: impl Fn(&str) + Send + Sync + 'static,
) -> (Agent, [Option<ModelText>; 2]) {
    let (first, first_text) = unbounded_channel();
    let (second, second_text) = unbounded_channel();
    let agent = agent.stream_text_to(move |text| {
        page(text);
        for reader in [&first, &second] {
            // One that does not read is gone.
            let _gone = reader.send(text.to_owned());
        }
    });
    (agent, [Some(first_text), Some(second_text)])
}

/// The events of a session from now on.
#[derive(Debug)]
pub(crate) enum SessionEvents {
    /// Of a session in this process, until it is closed.
    Own(EventReader),
    /// Of a session host, until the task of this command has ended.
    Hosted(Option<EventStream>),
}

impl SessionEvents {
    /// The next event; none after the last. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Arc<SessionEvent>> {
        match self {
            Self::Own(events) => events.next().await,
            Self::Hosted(stream) => {
                let event = next_of(stream.as_mut()?).await;
                let is_last = event.as_ref().is_none_or(is_end);
                if is_last {
                    *stream = None;
                }
                event.map(Arc::new)
            }
        }
    }
}

fn is_end(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TaskEnded { .. })
}

/// The next event that this version knows.
async fn next_of(stream: &mut EventStream) -> Option<SessionEvent> {
    loop {
        let recorded = stream.next().await.ok()??;
        if let Ok(event) = serde_json::from_value(recorded.event) {
            return Some(event);
        }
    }
}
