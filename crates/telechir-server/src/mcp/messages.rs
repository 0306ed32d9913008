//! The protocol's messages as lines of two streams, and the errors for lines that are no messages.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    ClientRequest, CustomRequest, ErrorCode, GetMeta as _, JsonRpcMessage, NumberOrString,
    RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::Value;
use telechir_protocol::json_limits;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::ids_in_flight::IdsInFlight;
use super::parameters;

/// Longest message of a client: the arguments of a call may have megabytes of escaped text.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Maximum number of values in a message: the SDK keeps several copies of each while it reads.
const MAX_MESSAGE_VALUES: usize = 100_000;
/// Errors that are kept for a client that does not read; lines beyond get none.
const MAX_UNSENT_ERRORS: usize = 16;
/// Memory that the writer keeps between messages.
const MAX_RETAINED_BYTES: usize = 64 << 10;
/// What RFC 8259 lets a JSON text begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A connection whose messages are lines. Lines that are no messages are answered with errors.
pub(super) struct MessageLines<R, W> {
    input: MessageInput<R>,
    output: Arc<Mutex<MessageOutput<W>>>,
    errors: UnsentErrors,
    ids: IdsInFlight,
    /// Whether a request has come: what comes before the first one has no meaning.
    has_started: bool,
}

impl<R: AsyncRead, W: AsyncWrite> MessageLines<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: MessageInput {
                input: BufReader::new(input),
                line: Vec::new(),
                is_too_long: false,
            },
            output: Arc::new(Mutex::new(MessageOutput {
                output: Some(output),
                unsent: Vec::new(),
                sent: 0,
            })),
            errors: UnsentErrors::default(),
            ids: IdsInFlight::default(),
            has_started: false,
        }
    }
}

impl<R, W> Transport<RoleServer> for MessageLines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        self.ids.send(&message);
        async move {
            let mut output = output.lock().await;
            output.add(&message)?;
            output.flush().await
        }
    }

    /// Cancel-safe: what was read stays in the line, what was not sent in the writer.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = tokio::select! {
                biased;
                sent = self.errors.send(&self.output), if self.errors.is_waiting() => match sent {
                    Ok(()) => continue,
                    Err(error) => {
                        tracing::debug!("failed to answer a line that is no message: {error}");
                        return None;
                    }
                },
                line = self.input.next() => line,
            };
            let line = match line {
                Ok(ReadLine::Complete) => &self.input.line,
                Ok(ReadLine::TooLong) => {
                    self.errors.add(too_long());
                    continue;
                }
                Ok(ReadLine::End) => return None,
                Err(error) => {
                    tracing::error!("failed to read from the client: {error}");
                    return None;
                }
            };
            let read = read(line);
            self.input.line.clear();
            match read {
                ReadMessage::Message(mut message) => {
                    self.has_started |= matches!(*message, JsonRpcMessage::Request(_));
                    if !self.has_started {
                        continue;
                    }
                    match self.ids.receive(&mut message) {
                        Ok(()) => return Some(*message),
                        Err(error) => self.errors.add(*error),
                    }
                }
                ReadMessage::Ignored => {}
                ReadMessage::Error(error) => self.errors.add(*error),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.output = None;
        Ok(())
    }
}

/// What a line is.
#[derive(Debug)]
pub(crate) enum ReadMessage {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Nothing that has an answer: an empty line, a notification or a response that cannot be read.
    Ignored,
    Error(Box<TxJsonRpcMessage<RoleServer>>),
}

fn read(line: &[u8]) -> ReadMessage {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return ReadMessage::Ignored;
    }
    read_message(line)
}

/// Reads the JSON of one message.
pub(crate) fn read_message(text: &[u8]) -> ReadMessage {
    let value = match parse(text) {
        Ok(value) => value,
        Err(error) => return ReadMessage::Error(error),
    };
    let Ok(message) = RxJsonRpcMessage::<RoleServer>::deserialize(&value) else {
        let error = error_of_value(&value).map(Box::new);
        return error.map_or(ReadMessage::Ignored, ReadMessage::Error);
    };
    match unreadable_handshake(&message) {
        Some(error) => ReadMessage::Error(Box::new(error)),
        None => ReadMessage::Message(Box::new(message)),
    }
}

/// The answer to a handshake whose parameters are wrong: the SDK would take it for a request without
/// one. All other requests are answered by the handler.
fn unreadable_handshake(
    message: &RxJsonRpcMessage<RoleServer>,
) -> Option<TxJsonRpcMessage<RoleServer>> {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::CustomRequest(custom) = &request.request
        && custom.method == "initialize"
        // The versions without a handshake have no such method, as the handler answers.
        && custom.get_meta().protocol_version().is_none()
    {
        let error = parameters::error_of_handshake(custom);
        let id = Some(request.id.clone());
        return Some(TxJsonRpcMessage::<RoleServer>::error(error, id));
    }
    None
}

/// The JSON of a text, or the answer to what is none or has too many values.
fn parse(text: &[u8]) -> Result<Value, Box<TxJsonRpcMessage<RoleServer>>> {
    json_limits::parse_at_most(text, MAX_MESSAGE_VALUES).map_err(|error| {
        let message = format!("expected a message in JSON: {error}");
        let error = ErrorData::new(ErrorCode::PARSE_ERROR, message, None);
        Box::new(TxJsonRpcMessage::<RoleServer>::error(error, None))
    })
}

/// The answer to JSON that is no message of the protocol: -32600, with the id that it has. None for what
/// JSON-RPC does not answer. Without an id that can be read, the answer has none, as the protocol's schema
/// says (`id?: RequestId`, basic/index, "Error Responses"), and not the null of JSON-RPC.
fn error_of_value(value: &Value) -> Option<TxJsonRpcMessage<RoleServer>> {
    let is_response = value.get("result").is_some() || value.get("error").is_some();
    let has_method = value.get("method").is_some_and(Value::is_string);
    let has_version = value.get("jsonrpc").is_some_and(|version| version == "2.0");
    let is_notification = has_version && has_method && value.get("id").is_none();
    if (is_response && !has_method) || is_notification {
        return None;
    }
    let id = value.get("id").and_then(request_id);
    if let (true, Some(id), Some(method)) = (has_version, &id, value["method"].as_str())
        && let Some(params @ Value::Object(_)) = value.get("params")
        && parameters::are_of(method)
    {
        let request = CustomRequest::new(method, Some(params.clone()));
        let error = parameters::error_of(&request);
        let id = Some(id.clone());
        return Some(TxJsonRpcMessage::<RoleServer>::error(error, id));
    }
    let expected = if value.is_array() {
        "one message, found an array: this protocol has no batches"
    } else if !value.is_object() {
        "an object"
    } else if !has_version {
        "\"jsonrpc\": \"2.0\""
    } else if !has_method {
        "\"method\", a text"
    } else if id.is_none() {
        "\"id\", a text or an integer"
    } else {
        "\"params\", an object as the method has it"
    };
    let message = format!("no request: expected {expected}");
    let error = ErrorData::invalid_request(message, None);
    Some(TxJsonRpcMessage::<RoleServer>::error(error, id))
}

fn too_long() -> TxJsonRpcMessage<RoleServer> {
    let message = format!("no request: expected at most {MAX_MESSAGE_BYTES} bytes in a message");
    TxJsonRpcMessage::<RoleServer>::error(ErrorData::invalid_request(message, None), None)
}

fn request_id(value: &Value) -> Option<RequestId> {
    let text = value.as_str().map(|id| NumberOrString::String(id.into()));
    text.or_else(|| value.as_i64().map(NumberOrString::Number))
}

enum ReadLine {
    /// It is in the reader, with its line feed; the last one may have none.
    Complete,
    TooLong,
    End,
}

struct MessageInput<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of the line is left out.
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> MessageInput<R> {
    /// Reads the rest of a line. Cancel-safe.
    async fn next(&mut self) -> io::Result<ReadLine> {
        loop {
            let part = self.input.fill_buf().await?;
            if part.is_empty() {
                let is_too_long = std::mem::take(&mut self.is_too_long);
                return Ok(match (is_too_long, self.line.is_empty()) {
                    (true, _) => ReadLine::TooLong,
                    (false, true) => ReadLine::End,
                    (false, false) => ReadLine::Complete,
                });
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(part.len(), |end| end + 1);
            if !self.is_too_long {
                self.line.extend(part.iter().take(taken));
            }
            self.input.consume(taken);
            if self.line.len() > MAX_MESSAGE_BYTES {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if end.is_some() {
                return Ok(match std::mem::take(&mut self.is_too_long) {
                    true => ReadLine::TooLong,
                    false => ReadLine::Complete,
                });
            }
        }
    }
}

struct MessageOutput<W> {
    /// Absent after the connection was closed.
    output: Option<W>,
    unsent: Vec<u8>,
    /// How much of `unsent` was written.
    sent: usize,
}

impl<W: AsyncWrite + Unpin> MessageOutput<W> {
    fn add(&mut self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        serde_json::to_writer(&mut self.unsent, message)?;
        self.unsent.push(b'\n');
        Ok(())
    }

    /// Writes what was added. Cancel-safe: the next flush writes the rest.
    async fn flush(&mut self) -> io::Result<()> {
        let output = self.output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        while let Some(rest @ [_, ..]) = self.unsent.get(self.sent..) {
            let written = output.write(rest).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.sent += written;
        }
        self.unsent.clear();
        self.unsent.shrink_to(MAX_RETAINED_BYTES);
        self.sent = 0;
        output.flush().await
    }
}

/// Errors for lines that are no messages, until the client reads them.
#[derive(Default)]
struct UnsentErrors {
    errors: VecDeque<TxJsonRpcMessage<RoleServer>>,
    /// Whether the writer has some that it may not have written.
    is_writing: bool,
}

impl UnsentErrors {
    fn add(&mut self, error: TxJsonRpcMessage<RoleServer>) {
        if self.errors.len() < MAX_UNSENT_ERRORS {
            self.errors.push_back(error);
        }
    }

    fn is_waiting(&self) -> bool {
        self.is_writing || !self.errors.is_empty()
    }

    /// Cancel-safe.
    async fn send<W: AsyncWrite + Unpin>(
        &mut self,
        output: &Mutex<MessageOutput<W>>,
    ) -> io::Result<()> {
        let mut output = output.lock().await;
        while let Some(error) = self.errors.pop_front() {
            self.is_writing = true;
            output.add(&error)?;
        }
        output.flush().await?;
        self.is_writing = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt, duplex, split};

    use super::*;

    fn answer(text: &str) -> Option<Value> {
        let ReadMessage::Error(error) = read_message(text.as_bytes()) else {
            return None;
        };
        let mut error = serde_json::to_value(error).expect("JSON");
        error["error"]["message"].take();
        Some(error)
    }

    fn error(code: i64, id: &Value) -> Option<Value> {
        let mut error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": null}});
        if !id.is_null() {
            error["id"] = id.clone();
        }
        Some(error)
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_and_what_is_no_request_has_its_id() {
        for text in ["x", "[[[[", "{\"id\": 1", "\u{0}", "{}{}", "NaN"] {
            assert_eq!(answer(text), error(-32_700, &Value::Null), "{text}");
        }
        for (text, id) in [
            ("{}", Value::Null),
            ("[]", Value::Null),
            ("5", Value::Null),
            ("null", Value::Null),
            ("{\"jsonrpc\":\"2.0\",\"id\":7}", json!(7)),
            (
                "{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}",
                json!("a"),
            ),
            ("{\"id\":10,\"method\":\"ping\"}", json!(10)),
            ("{\"method\":\"ping\"}", Value::Null),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
                Value::Null,
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
                Value::Null,
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":[1]}",
                json!(3),
            ),
        ] {
            assert_eq!(answer(text), error(-32_600, &id), "{text}");
        }
    }

    /// Otherwise two sides that answer errors with errors would never end.
    #[test]
    fn responses_and_notifications_have_no_answer() {
        for text in [
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":\"x\"}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":[]}",
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
    }

    #[tokio::test]
    async fn lines_that_nobody_reads_the_errors_of_do_not_stop_the_messages() {
        let (ours, theirs) = duplex(64);
        let (input, output) = split(theirs);
        let mut lines = MessageLines::new(input, output);
        let (mut answers, mut requests) = split(ours);
        let client = tokio::spawn(async move {
            for _ in 0..100 {
                requests
                    .write_all(b"no JSON\r\n\n")
                    .await
                    .expect("a reader");
            }
            let ping = b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n";
            requests.write_all(ping).await.expect("a reader");
            requests.shutdown().await.expect("a reader");
        });
        let message = lines.receive().await.expect("a message");
        let RxJsonRpcMessage::<RoleServer>::Request(request) = message else {
            panic!("expected a request");
        };
        assert_eq!(request.id, NumberOrString::Number(1));
        client.await.expect("a client");
        let all = tokio::spawn(async move {
            let mut all = String::new();
            answers.read_to_string(&mut all).await.expect("text");
            all
        });
        assert!(lines.receive().await.is_none(), "the client is gone");
        drop(lines);
        let all = all.await.expect("answers");
        // The last one may be cut off: it was not read in time.
        let complete = all
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let codes: Vec<Value> = complete
            .map(|line| {
                let error: Value = serde_json::from_str(line).expect("JSON");
                error["error"]["code"].clone()
            })
            .collect();
        assert!(codes.iter().all(|code| *code == -32_700), "{all}");
        assert!(codes.len() < 100, "{all}");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_and_the_next_one_is_read() {
        let (ours, theirs) = duplex(1 << 20);
        let (input, output) = split(theirs);
        let mut lines = MessageLines::new(input, output);
        let (answers, mut requests) = split(ours);
        let client = tokio::spawn(async move {
            let part = vec![b'x'; 1 << 20];
            for _ in 0..=(MAX_MESSAGE_BYTES >> 20) {
                requests.write_all(&part).await.expect("a reader");
            }
            let ping = b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
            requests.write_all(ping).await.expect("a reader");
            requests
        });
        assert!(lines.receive().await.is_some(), "a message");
        let _requests = client.await.expect("a client");
        let mut answers = BufReader::new(answers).lines();
        let line = answers.next_line().await.expect("text").expect("an error");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["error"]["code"], -32_600, "{answer}");
    }

    #[tokio::test]
    async fn the_last_line_needs_no_line_feed() {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        for (input, messages, errors) in [
            (ping.to_owned(), 1, 0),
            (format!("{ping}\n{}", ping.replace(":1,", ":2,")), 2, 0),
            (format!("{ping}\n{{\"jsonrpc\""), 1, 1),
            (format!("{ping}\n"), 1, 0),
        ] {
            let (mut answers, theirs) = duplex(1 << 10);
            let mut lines = MessageLines::new(input.as_bytes(), theirs);
            for _ in 0..messages {
                assert!(lines.receive().await.is_some(), "{input}");
            }
            assert!(lines.receive().await.is_none(), "{input}");
            drop(lines);
            let mut sent = String::new();
            answers.read_to_string(&mut sent).await.expect("text");
            assert_eq!(sent.matches("-32700").count(), errors, "{input}: {sent}");
        }
    }

    #[test]
    fn a_line_with_too_many_values_is_a_parse_error_with_the_limit() {
        let values = "0,".repeat(MAX_MESSAGE_VALUES + 1);
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":[{values}0]}}}}\n"
        );
        let ReadMessage::Error(error) = read(line.as_bytes()) else {
            panic!("expected an error");
        };
        let error = serde_json::to_value(error).expect("JSON");
        assert_eq!(error["error"]["code"], -32_700, "{error}");
        let message = error["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("more than 100000 values"), "{message}");
    }
}
