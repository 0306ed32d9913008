//! A model behind HTTP that answers by the request alone, so that it does not matter how often a
//! killed run asks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// Status and body of a response.
pub(crate) type Reply = (u16, Value);

/// A server of Anthropic's Messages API for one test.
pub(crate) struct Model {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// Starts a server that answers each request by `reply`.
    pub(crate) fn start(reply: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (Arc::clone(&requests), Arc::new(reply));
        // Ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, reply) = (Arc::clone(&seen), Arc::clone(&reply));
                thread::spawn(move || {
                    // A killed client leaves half a request.
                    let _client_gone = serve(stream, &seen, &*reply);
                });
            }
        });
        Self { address, requests }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(
    stream: TcpStream,
    seen: &Mutex<Vec<Value>>,
    reply: &impl Fn(&Value) -> Reply,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body)?;
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request.clone());
    let (status, body) = reply(&request);
    let body = body.to_string();
    write!(
        reader.get_mut(),
        "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The number of responses that a request repeats.
pub(crate) fn responses(request: &Value) -> usize {
    let messages = request["messages"].as_array().expect("messages");
    let own = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    own.count()
}

/// A response that ends the task.
pub(crate) fn message(text: &str) -> Reply {
    response("end_turn", json!([{"type": "text", "text": text}]))
}

/// A response with one command.
pub(super) fn bash(id: &str, command: &str) -> Reply {
    let input = json!({"command": command});
    response(
        "tool_use",
        json!([{"type": "tool_use", "id": id, "name": "bash", "input": input}]),
    )
}

/// A response that types a text into the running command.
pub(super) fn shell_session(id: &str, text: &str) -> Reply {
    let input = json!({"action": "send_text", "text": text});
    response(
        "tool_use",
        json!([{"type": "tool_use", "id": id, "name": "shell_session", "input": input}]),
    )
}

/// A response with a text and then one command.
pub(super) fn text_and_bash(text: &str, id: &str, command: &str) -> Reply {
    let text = json!({"type": "text", "text": text});
    let input = json!({"command": command});
    let call = json!({"type": "tool_use", "id": id, "name": "bash", "input": input});
    response("tool_use", json!([text, call]))
}

/// A response with one call of the computer toolset.
pub(super) fn computer(id: &str, name: &str, input: Value) -> Reply {
    let call = json!({"type": "tool_use", "id": id, "name": name, "toolset_name": "computer",
        "input": input});
    response("tool_use", json!([call]))
}

/// A response with this content.
pub(crate) fn response(stop: &str, content: Value) -> Reply {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    });
    (200, body)
}
