//! The model's text as it arrives, without secrets.

use std::fmt;
use std::sync::Arc;

use telechir_providers::{Delta, Dialect, ResponseStream, StreamError};

use crate::redact::Redactor;

/// Receives the model's text piece by piece, for display, and an empty piece at the end of each
/// response. It may belong to a response that breaks off and is requested again.
#[derive(Clone)]
pub(crate) struct TextReceiver(pub(crate) Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for TextReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextReceiver(…)")
    }
}

/// What decides about the text of a response before it is complete.
#[derive(Clone, Copy)]
pub(crate) struct TextDisplay<'a> {
    /// Removes what must not be shown.
    pub(crate) redactor: &'a Redactor,
    /// Whether the shell waits for input that it does not show. The response may repeat it, and which
    /// text that is, is known at its end.
    pub(crate) awaits_hidden_input: bool,
}

/// A response that is being received.
pub(crate) struct StreamedText<'a> {
    stream: ResponseStream,
    receiver: &'a TextReceiver,
    redactor: &'a Redactor,
    shown: ShownText,
    /// Text that is not shown yet.
    pending: String,
    /// Position of the content whose text came last.
    last_index: Option<u64>,
    kind: BodyKind,
    failure: Option<StreamError>,
}

/// What of the text is shown before the response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownText {
    /// Nothing: the response may contain input that is hidden, which is known at its end.
    Nothing,
    /// Nothing was shown yet.
    NotYet,
    /// Nothing: it begins like JSON, whose values are searched when it is complete.
    Json,
    /// What cannot be the beginning of a secret.
    Pieces,
}

/// What the first byte of a body says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    /// Nothing arrived yet.
    Unknown,
    Events,
    /// A service without streams answers with one document.
    Document,
}

impl<'a> StreamedText<'a> {
    /// Receives a response of a dialect; none if it has no streams.
    pub(crate) fn new(
        dialect: Dialect,
        receiver: &'a TextReceiver,
        display: TextDisplay<'a>,
    ) -> Option<Self> {
        Some(Self {
            stream: dialect.stream()?,
            receiver,
            redactor: display.redactor,
            shown: match display.awaits_hidden_input {
                true => ShownText::Nothing,
                false => ShownText::NotYet,
            },
            pending: String::new(),
            last_index: None,
            kind: BodyKind::Unknown,
            failure: None,
        })
    }

    /// Takes the next bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.kind == BodyKind::Unknown {
            // Events begin with a field or a length; one object per line is read as a document.
            self.kind = match bytes.trim_ascii_start().first() {
                Some(b'{' | b'[' | b'<') => BodyKind::Document,
                Some(_) => BodyKind::Events,
                None => BodyKind::Unknown,
            };
        }
        if self.kind != BodyKind::Events || self.failure.is_some() {
            return;
        }
        match self.stream.push(bytes) {
            Ok(deltas) => deltas.into_iter().for_each(|delta| self.show(delta)),
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn show(&mut self, delta: Delta) {
        let Delta::Text { index, text } = delta else {
            return;
        };
        if text.is_empty() {
            return;
        }
        if self.last_index.is_some_and(|last| last != index) {
            self.pending.push('\n');
        }
        self.last_index = Some(index);
        self.pending.push_str(&text);
        if self.shown == ShownText::NotYet {
            self.shown = match self.pending.trim_start().chars().next() {
                None => ShownText::NotYet,
                Some('{' | '[') => ShownText::Json,
                Some(_) => ShownText::Pieces,
            };
        }
        if self.shown == ShownText::Pieces {
            let ready = self.redactor.take_ready(&mut self.pending);
            if !ready.is_empty() {
                (self.receiver.0)(&ready);
            }
        }
    }

    /// The received stream, after all text was given on, and an empty one as its end; none if the body
    /// is no stream.
    pub(crate) fn finish(self) -> Option<Result<ResponseStream, StreamError>> {
        let last = match self.shown {
            ShownText::Nothing => String::new(),
            ShownText::NotYet | ShownText::Json => self.redactor.text(&self.pending),
            ShownText::Pieces => self.redactor.part(&self.pending),
        };
        if !last.is_empty() {
            (self.receiver.0)(&last);
        }
        (self.receiver.0)("");
        if let Some(failure) = self.failure {
            return Some(Err(failure));
        }
        (self.kind == BodyKind::Events).then_some(Ok(self.stream))
    }
}
