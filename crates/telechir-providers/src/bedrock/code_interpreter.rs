//! The tools of AgentCore's Code Interpreter: the request for a command, and the event stream of its
//! answer.

use std::fmt;

use serde_json::{Value, json};
use telechir_protocol::json_limits;

use super::event_stream::{EventFrame, EventFrameReader};
use crate::json::text_of;

/// What is asked of an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpreterCall<'a> {
    /// To run a command to its end.
    Execute(&'a str),
    /// To start a command as a task.
    Start(&'a str),
    /// The state of a task.
    Task(&'a str),
    /// The end of a task.
    Stop(&'a str),
}

impl InterpreterCall<'_> {
    /// The body of the request.
    pub fn to_json(self) -> Value {
        let (name, member, value) = match self {
            Self::Execute(command) => ("executeCommand", "command", command),
            Self::Start(command) => ("startCommandExecution", "command", command),
            Self::Task(task) => ("getTask", "taskId", task),
            Self::Stop(task) => ("stopTask", "taskId", task),
        };
        json!({ "name": name, "arguments": { member: value } })
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpreterTaskState {
    /// It has not ended.
    Running,
    /// It ended by itself, whatever its exit code.
    Completed,
    /// It was stopped before it ended by itself.
    Cancelled,
    /// It could not be run.
    Failed,
}

/// What an interpreter answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterpreterAnswer {
    /// Standard output of the command.
    pub stdout: String,
    /// Standard error of the command.
    pub stderr: String,
    /// Exit code of the command, if it has ended.
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The task that was started or asked about.
    pub task: Option<String>,
    /// Its state; none if there is no task.
    pub state: Option<InterpreterTaskState>,
    /// The texts of the answer, which say what went wrong if nothing was run.
    pub text: String,
    /// Whether the interpreter calls it an error.
    pub is_error: bool,
}

/// Why an answer has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterpreterError {
    /// The service reported an exception in the stream.
    Exception {
        /// Its name, such as `throttlingException`.
        name: String,
        /// Its message; empty if there is none.
        message: String,
    },
    /// The answer is no event stream, is cut off, or has no result.
    Unreadable(String),
}

impl fmt::Display for InterpreterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exception { name, message } => write!(f, "{name}: {message}"),
            Self::Unreadable(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for InterpreterError {}

impl InterpreterAnswer {
    /// Reads the event stream of an answer.
    ///
    /// # Errors
    /// If the stream has an exception, or no complete result.
    pub fn read(stream: &[u8]) -> Result<Self, InterpreterError> {
        let unreadable = |problem: String| InterpreterError::Unreadable(problem);
        let mut reader = EventFrameReader::default();
        let frames = reader.push(stream);
        let frames = frames.map_err(|error| unreadable(error.to_string()))?;
        if reader.is_open() {
            return Err(unreadable("the answer is cut off".to_owned()));
        }
        let mut answer = None;
        for frame in frames {
            let body = match frame.payload.as_slice() {
                [] => Value::Null,
                payload => json_limits::parse(payload)
                    .map_err(|error| unreadable(format!("an event is not JSON: {error}")))?,
            };
            match (frame.kind.as_str(), frame.name.as_str()) {
                ("event", "result") => answer.get_or_insert_with(Self::default).add(&body),
                // Events that are added to the service later.
                ("event", _) => {}
                _ => return Err(exception(frame, &body)),
            }
        }
        answer.ok_or_else(|| unreadable("the answer has no result".to_owned()))
    }

    /// Adds a result: a long one can come in parts.
    fn add(&mut self, result: &Value) {
        let texts = result["content"].as_array().into_iter().flatten();
        for text in texts.filter_map(|block| block["text"].as_str()) {
            self.text.push_str(text);
        }
        self.is_error |= result["isError"] == true;
        let details = &result["structuredContent"];
        self.stdout.push_str(text_of(details, "stdout"));
        self.stderr.push_str(text_of(details, "stderr"));
        let code = details["exitCode"].as_i64();
        self.exit_code = code
            .and_then(|code| i32::try_from(code).ok())
            .or(self.exit_code);
        let duration = details["executionTime"].as_f64();
        self.duration_ms = duration.map(milliseconds).or(self.duration_ms);
        let task = details["taskId"].as_str().map(str::to_owned);
        self.task = task.or_else(|| self.task.take());
        let state = match details["taskStatus"].as_str() {
            Some("completed") => Some(InterpreterTaskState::Completed),
            Some("canceled" | "cancelled") => Some(InterpreterTaskState::Cancelled),
            Some("failed") => Some(InterpreterTaskState::Failed),
            Some(_) => Some(InterpreterTaskState::Running),
            None => None,
        };
        self.state = state.or(self.state);
    }
}

fn exception(frame: EventFrame, body: &Value) -> InterpreterError {
    let messages = [text_of(body, "message"), text_of(body, "Message")];
    let message = messages.into_iter().find(|message| !message.is_empty());
    InterpreterError::Exception {
        message: message.map_or(frame.message, str::to_owned),
        name: frame.name,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cut to the range of the number"
)]
fn milliseconds(duration: f64) -> u64 {
    duration as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: &str, name: &str, payload: &str) -> Vec<u8> {
        let type_header = match kind {
            "event" => ":event-type",
            _ => ":exception-type",
        };
        let mut headers = Vec::new();
        for (header, value) in [(":message-type", kind), (type_header, name)] {
            headers.push(u8::try_from(header.len()).unwrap());
            headers.extend_from_slice(header.as_bytes());
            headers.push(7);
            headers.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            headers.extend_from_slice(value.as_bytes());
        }
        let total = 12 + headers.len() + payload.len() + 4;
        let mut frame = Vec::new();
        frame.extend_from_slice(&u32::try_from(total).unwrap().to_be_bytes());
        frame.extend_from_slice(&u32::try_from(headers.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
        frame.extend_from_slice(&headers);
        frame.extend_from_slice(payload.as_bytes());
        frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
        frame
    }

    fn read(parts: &[Vec<u8>]) -> Result<InterpreterAnswer, InterpreterError> {
        InterpreterAnswer::read(&parts.concat())
    }

    #[test]
    fn a_result_has_the_outputs_and_the_exit_code() {
        let result = json!({
            "content": [{"type": "text", "text": "out"}], "isError": true,
            "structuredContent": {"stdout": "out", "stderr": "err", "exitCode": 3, "executionTime": 12.5},
        });
        let answer = read(&[frame("event", "result", &result.to_string())]).unwrap();
        let expected = InterpreterAnswer {
            stdout: "out".to_owned(),
            stderr: "err".to_owned(),
            exit_code: Some(3),
            duration_ms: Some(12),
            text: "out".to_owned(),
            is_error: true,
            ..InterpreterAnswer::default()
        };
        assert_eq!(answer, expected);
    }

    #[test]
    fn parts_of_a_result_are_joined() {
        let part = |text: &str| json!({"structuredContent": {"stdout": text}}).to_string();
        let last =
            json!({"structuredContent": {"exitCode": 0, "taskId": "t", "taskStatus": "working"}});
        let answer = read(&[
            frame("event", "result", &part("a")),
            frame("event", "progress", "{}"),
            frame("event", "result", &part("b")),
            frame("event", "result", &last.to_string()),
        ]);
        let answer = answer.unwrap();
        assert_eq!((answer.stdout.as_str(), answer.exit_code), ("ab", Some(0)));
        assert_eq!(answer.task.as_deref(), Some("t"));
        assert_eq!(answer.state, Some(InterpreterTaskState::Running));
    }

    #[test]
    fn an_exception_and_an_incomplete_stream_are_errors() {
        let exception = frame(
            "exception",
            "throttlingException",
            r#"{"message":"slow down"}"#,
        );
        assert_eq!(
            read(&[exception]).unwrap_err().to_string(),
            "throttlingException: slow down"
        );
        let mut cut = frame("event", "result", "{}");
        cut.pop();
        for (parts, problem) in [
            (vec![], "no result"),
            (vec![frame("event", "other", "{}")], "no result"),
            (vec![frame("event", "result", "{")], "not JSON"),
            (vec![cut], "cut off"),
            (vec![b"<html>busy, try later</html>".to_vec()], "checksum"),
        ] {
            let error = read(&parts).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_call_has_the_member_of_its_tool() {
        assert_eq!(
            InterpreterCall::Execute("ls").to_json(),
            json!({"name": "executeCommand", "arguments": {"command": "ls"}})
        );
        assert_eq!(
            InterpreterCall::Stop("t").to_json(),
            json!({"name": "stopTask", "arguments": {"taskId": "t"}})
        );
    }
}
