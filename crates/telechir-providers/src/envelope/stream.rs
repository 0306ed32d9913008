//! Translates a streamed response while it arrives.
//!
//! Text and the arguments of plain functions are written as they come. A content whose translation
//! needs all of it, such as a click, ends that: it and everything after it are written at the end,
//! when the whole response is translated as without streaming. So the result does not depend on
//! how the bytes were divided.

mod content_start;
mod head;
mod live;
mod writer;

use super::api::Api;
use super::{TranslatedDocument, TranslationOptions, response};
use crate::precision::changed_call_id;
use crate::{DecodeError, Dialect, EncodeError, ResponseStream, StreamError};
use content_start::{ContentStart, rename_call};
use head::HeadReader;
use live::{ChangedCall, LiveContents};
use writer::EventWriter;

/// A response that is translated while it arrives.
pub struct StreamTranslation {
    from: Dialect,
    to: Dialect,
    options: TranslationOptions,
    source: ResponseStream,
    head: HeadReader,
    live: LiveContents,
    writer: EventWriter,
}

/// Why a stream cannot be translated. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum StreamTranslationError {
    /// The dialect's responses are not streamed.
    #[error("translate a stream: responses of {dialect} are not streamed")]
    NotStreamed {
        /// The name of the dialect.
        dialect: &'static str,
    },
    /// The source's stream is broken, or the provider sent an error.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The target dialect cannot represent the response.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The response as a whole differs from what was already written of it.
    #[error(
        "translate the stream: its content {at} became another one at its end; translate the response without --stream"
    )]
    Changed {
        /// Position of the content, from 0.
        at: usize,
    },
}

impl From<DecodeError> for StreamTranslationError {
    fn from(error: DecodeError) -> Self {
        Self::Stream(error.into())
    }
}

impl Dialect {
    /// Starts to translate a streamed response.
    ///
    /// # Errors
    /// If responses of one of the two dialects are not streamed.
    pub fn translate_stream(
        self,
        to: Self,
        options: TranslationOptions,
    ) -> Result<StreamTranslation, StreamTranslationError> {
        let not_streamed = |dialect: Self| StreamTranslationError::NotStreamed {
            dialect: dialect.name(),
        };
        let source = self.stream().ok_or_else(|| not_streamed(self))?;
        to.stream().ok_or_else(|| not_streamed(to))?;
        Ok(StreamTranslation {
            from: self,
            to,
            source,
            head: HeadReader::default(),
            live: LiveContents::new(self, to, options.thinking),
            writer: EventWriter::new(Api::of(to)),
            options,
        })
    }
}

impl StreamTranslation {
    /// Takes the next bytes, which may end anywhere in an event, and returns those to send on.
    ///
    /// # Errors
    /// If the bytes are no events of the source, or the provider sent an error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<u8>, StreamTranslationError> {
        self.head.push(bytes);
        for delta in self.source.push(bytes)? {
            if self.live.push(delta) && !self.writer.has_started() {
                self.writer.start(&self.head.found(&self.options));
            }
            self.live.write(&mut self.writer);
        }
        Ok(self.writer.take())
    }

    /// Ends the stream: the last bytes to send on, the whole translated response, and the report.
    ///
    /// # Errors
    /// If the response is incomplete, or cannot be translated.
    pub fn finish(mut self) -> Result<(Vec<u8>, TranslatedDocument), StreamTranslationError> {
        let received = self.source.finish()?;
        let mut report = received.report;
        let messages = response::messages(self.from, &received.response);
        let head = response::read_head(self.from, received.response, &self.options, &mut report);
        let (turn, options) = (&received.turn, &self.options);
        let mut translated = response::write(self.to, head, turn, &messages, options, report)?;
        if !self.writer.has_started() {
            self.writer
                .start(&head::of_document(Api::of(self.to), &translated.document));
        }
        self.writer.keep_head(&mut translated.document);
        let contents = writer::contents(Api::of(self.to), &translated.document);
        let contents = self.live.ordered(contents);
        let written = self.live.finish(&contents, &mut self.writer)?;
        for (at, content) in contents.iter().enumerate().skip(written.count) {
            self.writer.complete(at, content);
        }
        let late = &written.late;
        if !late.is_empty() {
            let at = contents.len();
            self.writer.open(at, &ContentStart::Text);
            self.writer.grow(at, &ContentStart::Text, late);
            self.writer.close(at, &ContentStart::Text, late);
        }
        for change in &written.changes {
            keep_written(Api::of(self.to), change, &mut translated);
        }
        self.writer.end(&translated.document);
        Ok((self.writer.take(), translated))
    }
}

/// Gives a call of the whole response the id that was written, and reports what its end changed.
fn keep_written(api: Api, change: &ChangedCall, translated: &mut TranslatedDocument) {
    let ChangedCall {
        id,
        last_id,
        last_arguments,
    } = change;
    let location = format!("call {id}");
    let report = &mut translated.report;
    if let Some(last) = last_id {
        // The reader says the opposite of the response as a whole.
        let of_first = changed_call_id(id);
        report.losses.retain(|loss| loss.what != of_first);
        let why = "the stream changed the id of the call, which was already written";
        report.preserved(changed_call_id(last), &location, why, format!("as `{id}`"));
        rename_call(api, &mut translated.document, last, id);
    }
    if let Some(arguments) = last_arguments {
        let what = format!("arguments {arguments} at the end of the stream");
        let why = "other arguments of the call were already written";
        report.lost(what, location, why);
    }
}

impl std::fmt::Debug for StreamTranslation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamTranslation")
            .field("from", &self.from)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}
