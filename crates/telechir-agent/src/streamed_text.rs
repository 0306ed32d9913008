//! The model's text as it arrives, without secrets.

use std::fmt;
use std::sync::Arc;

use telechir_providers::{Delta, Dialect, ResponseStream, StreamError};

use crate::redact::Redactor;

/// Receives the model's text piece by piece, for display. It may belong to a response that breaks off
/// and is requested again.
#[derive(Clone)]
pub(crate) struct TextReceiver(pub(crate) Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for TextReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextReceiver(…)")
    }
}

/// A response that is being received.
pub(crate) struct StreamedText<'a> {
    stream: ResponseStream,
    receiver: &'a TextReceiver,
    redactor: &'a Redactor,
    /// Text that may be the beginning of a secret.
    pending: String,
    /// Position of the content whose text came last.
    last_index: Option<u64>,
    kind: BodyKind,
    failure: Option<StreamError>,
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
        redactor: &'a Redactor,
    ) -> Option<Self> {
        Some(Self {
            stream: dialect.stream()?,
            receiver,
            redactor,
            pending: String::new(),
            last_index: None,
            kind: BodyKind::Unknown,
            failure: None,
        })
    }

    /// Takes the next bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.kind == BodyKind::Unknown {
            // No event of any dialect begins so.
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
        if self.last_index.is_some_and(|last| last != index) {
            self.pending.push('\n');
        }
        self.last_index = Some(index);
        self.pending.push_str(&text);
        let ready = self.redactor.take_ready(&mut self.pending);
        self.send(&ready);
    }

    fn send(&self, text: &str) {
        if !text.is_empty() {
            (self.receiver.0)(text);
        }
    }

    /// The received stream, after all text was shown; none if the body is no stream.
    pub(crate) fn finish(self) -> Option<Result<ResponseStream, StreamError>> {
        self.send(&self.redactor.text(&self.pending));
        if let Some(failure) = self.failure {
            return Some(Err(failure));
        }
        (self.kind == BodyKind::Events).then_some(Ok(self.stream))
    }
}
