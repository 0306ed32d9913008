//! The server with a session whose calls end when a test lets them.

use async_trait::async_trait;
use serde_json::json;
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_protocol::{ShellCall, ShellResult};
use telechir_testkit::assert_eventually;
use telechir_tools::{Capabilities, ToolSelection};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
    duplex, split,
};
use tokio::sync::{Semaphore, mpsc};

use super::*;

/// A session whose calls end when they are let go.
#[derive(Debug)]
struct Gate {
    started: mpsc::UnboundedSender<String>,
    end: Semaphore,
    /// Whether each call needs an approval.
    needs_approval: bool,
    question: GivenQuestion,
    approval_wait: Duration,
}

impl Gate {
    /// A session, and where the lines of the commands that it begins arrive.
    fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (started, calls) = mpsc::unbounded_channel();
        let gate = Self {
            started,
            end: Semaphore::new(0),
            needs_approval: false,
            question: GivenQuestion::default(),
            approval_wait: Duration::from_secs(45),
        };
        (gate, calls)
    }
}

#[async_trait]
impl SessionAccess for Gate {
    async fn execute(
        &self,
        call: Content,
        _shows_screen: bool,
        mut approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String> {
        let Content::ShellCall(call) = call else {
            return Err("expected a shell call".to_owned());
        };
        let line = call
            .commands
            .first()
            .map(telechir_protocol::Command::to_line);
        let _nobody_reads = self.started.send(line.unwrap_or_default());
        if self.needs_approval {
            approvals.show(question(&self.question)).await;
            return Err(format!("{:?}", approvals.reply().await));
        }
        let _permit = self.end.acquire().await;
        Ok(ToolResult::Shell(ShellResult::new(
            call.call_id,
            Vec::new(),
        )))
    }

    async fn open(&self, _options: &OpenOptions) -> Result<(), String> {
        Ok(())
    }

    async fn extend(&self, _seconds: u64) -> Result<(), String> {
        Ok(())
    }

    async fn describe(&self) -> Map<String, Value> {
        Map::new()
    }

    fn approval_wait(&self) -> Duration {
        self.approval_wait
    }

    async fn close(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Lines of a question, and whether the client may answer it.
#[derive(Clone, Debug, Default)]
struct GivenQuestion {
    lines: Vec<String>,
    is_open_to_caller: bool,
}

fn question(given: &GivenQuestion) -> OpenApproval {
    let question = json!({
        "call_id": "c", "digest": "0".repeat(64), "lines": given.lines, "reasons": ["A rule."],
        "has_hidden_characters": false, "safety_checks": [],
    });
    let open = json!({
        "code": "K7QM2X", "age_ms": 0, "expires_in_ms": 300_000, "is_waiting": true,
        "open_to_caller": given.is_open_to_caller, "question": question,
    });
    serde_json::from_value(open).expect("a question")
}

fn server_of(gate: Gate) -> (McpServer, Arc<Gate>) {
    let has = Capabilities {
        shell: true,
        ..Capabilities::default()
    };
    let catalog = ToolCatalog::new(has, &ToolSelection::default()).expect("tools");
    let gate = Arc::new(gate);
    let session: Arc<dyn SessionAccess> = gate.clone();
    (McpServer::new(catalog, session, "1"), gate)
}

/// The client's end of a connection to a server.
struct Connection {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Connection {
    fn to(server: McpServer) -> Self {
        let (ours, theirs) = duplex(1 << 16);
        let (input, output) = split(theirs);
        tokio::spawn(async move {
            let transport = MessageLines::new(input, output);
            let running = serve_server(server, transport).await.expect("a request");
            running.waiting().await
        });
        let (input, output) = split(ours);
        Self {
            lines: BufReader::new(input).lines(),
            output,
        }
    }

    /// Calls `execute_cli` with more metadata than every request has.
    async fn call(&mut self, id: u64, command: &str, more: Value) {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
        meta.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let params = json!({
            "name": "execute_cli", "arguments": {"command": command}, "_meta": meta,
        });
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let line = format!("{request}\n");
        self.output
            .write_all(line.as_bytes())
            .await
            .expect("a server");
    }

    async fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id, "reason": "enough"});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let line = format!("{message}\n");
        self.output
            .write_all(line.as_bytes())
            .await
            .expect("a server");
    }

    async fn receive_answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn receive(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("a server that writes");
        serde_json::from_str(&line.expect("a message")).expect("JSON")
    }
}

struct NoApprovals;

#[async_trait]
impl Approvals for NoApprovals {
    async fn show(&mut self, _open: OpenApproval) {}

    async fn reply(&mut self) -> CallerReply {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_would_wait_too_long_is_answered_busy_and_not_executed() {
    let (gate, mut calls) = Gate::new();
    let (mut server, gate) = server_of(gate);
    server.max_queued = Duration::from_millis(20);
    let call = |line: &str| {
        let command = telechir_protocol::Command::Line(line.to_owned());
        let call = Content::ShellCall(ShellCall::execute("", vec![command]));
        let server = server.clone();
        tokio::spawn(async move {
            let started = Instant::now();
            server
                .in_turn("execute_cli", call, Box::new(NoApprovals), started)
                .await
        })
    };
    let first = call("first");
    assert_eq!(calls.recv().await.as_deref(), Some("first"));
    let busy = call("second").await.expect("an answer");
    assert!(busy.is_error);
    let message = busy.members["message"].as_str().expect("a message");
    assert!(message.starts_with("Busy: execute_cli (for "), "{message}");
    gate.end.add_permits(1);
    assert!(!first.await.expect("an answer").is_error);
    assert!(calls.try_recv().is_err(), "the second was not executed");
    gate.end.add_permits(1);
    assert_eventually!(
        call("third").await.map(|answer| answer.is_error).ok(),
        |is_error| *is_error == Some(false)
    );
}

#[tokio::test(start_paused = true)]
async fn progress_comes_every_five_seconds_grows_and_has_no_typed_text() {
    let (gate, mut calls) = Gate::new();
    let (server, gate) = server_of(gate);
    let mut client = Connection::to(server);
    client
        .call(1, "echo secret-7", json!({"progressToken": "t"}))
        .await;
    let started_at = tokio::time::Instant::now();
    for tick in 0..6 {
        let progress = client.receive().await;
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        assert_eq!(progress["params"]["progressToken"], "t");
        let due = 5.0 * f64::from(tick);
        assert_eq!(started_at.elapsed().as_secs_f64().floor(), due);
        let value = progress["params"]["progress"].as_f64().expect("a number");
        assert!((due..due + 1.0).contains(&value), "{progress}");
        assert!(!progress.to_string().contains("secret"), "{progress}");
    }
    assert_eq!(calls.recv().await.as_deref(), Some("echo secret-7"));
    gate.end.add_permits(1);
    assert_eq!(client.receive().await["id"], 1);
}

/// Clients that wait longer as long as progress comes get the answer, however long the user takes.
#[tokio::test(start_paused = true)]
async fn progress_extends_the_wait_for_an_approval() {
    let (mut gate, _calls) = Gate::new();
    gate.needs_approval = true;
    gate.approval_wait = Duration::from_secs(300);
    let mut client = Connection::to(server_of(gate).0);
    client.call(1, "echo hi", json!({"progressToken": 3})).await;
    let started_at = tokio::time::Instant::now();
    let mut ticks = 0;
    let answer = loop {
        let message = client.receive().await;
        if message["method"] != "notifications/progress" {
            break message;
        }
        ticks += 1;
        assert!(started_at.elapsed() >= Duration::from_secs(5 * (ticks - 1)));
    };
    assert!((60..=61).contains(&ticks), "{ticks} notifications");
    assert_eq!(started_at.elapsed().as_secs(), 300);
    let text = answer["result"]["content"][0]["text"].as_str();
    assert!(
        text.is_some_and(|text| text.starts_with("Parked")),
        "{answer}"
    );
    assert_eq!(
        answer["result"]["_meta"]["telechir/verdict"], "ask",
        "{answer}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_end_is_stopped_before_clients_give_up() {
    let (gate, _calls) = Gate::new();
    let mut client = Connection::to(server_of(gate).0);
    client.call(1, "sleep 1000", json!({})).await;
    let started_at = tokio::time::Instant::now();
    let answer = client.receive().await;
    assert_eq!(started_at.elapsed(), MAX_CALL);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str();
    let expected = "The call did not end in 57 seconds and was stopped.";
    assert!(
        text.is_some_and(|text| text.starts_with(expected)),
        "{answer}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_sent_again_while_it_waits_has_the_answer_of_the_first() {
    let id = json!({"telechir/callId": "c-1"});
    let (mut gate, mut calls) = Gate::new();
    gate.needs_approval = true;
    let mut client = Connection::to(server_of(gate).0);
    client.call(1, "echo hi", id.clone()).await;
    client.call(2, "echo hi", id).await;
    for _ in 0..2 {
        let answer = client.receive().await;
        let text = answer["result"]["content"][0]["text"].as_str();
        assert!(
            text.is_some_and(|text| text.starts_with("Parked")),
            "{answer}"
        );
    }
    assert_eq!(calls.recv().await.as_deref(), Some("echo hi"));
    calls.try_recv().expect_err("nobody was asked again");
}

#[tokio::test]
async fn a_call_goes_on_for_the_request_that_joined_it() {
    let id = json!({"telechir/callId": "c-1"});
    let (gate, mut calls) = Gate::new();
    let (server, gate) = server_of(gate);
    let mut client = Connection::to(server.clone());
    client.call(1, "echo hi", id.clone()).await;
    assert_eq!(calls.recv().await.as_deref(), Some("echo hi"));
    client.call(2, "echo hi", id.clone()).await;
    assert_eventually!(server.calls.followers("c-1"), |count| *count == 2);
    client.cancel(1).await;
    assert_eventually!(server.calls.followers("c-1"), |count| *count == 1);
    // Another call cannot have its id.
    client.call(3, "echo other", id).await;
    let refused = client.receive_answer(3).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    gate.end.add_permits(1);
    let answer = client.receive_answer(2).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    calls.try_recv().expect_err("one execution");
}

#[tokio::test]
async fn an_id_of_another_form_is_refused() {
    let (gate, mut calls) = Gate::new();
    let mut client = Connection::to(server_of(gate).0);
    for id in [json!(7), json!(""), json!("x".repeat(101)), json!(["a"])] {
        client
            .call(1, "echo hi", json!({"telechir/callId": id}))
            .await;
        let refused = client.receive().await;
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
    calls.try_recv().expect_err("nothing was executed");
}

/// The SDK would execute both and send one answer.
#[tokio::test]
async fn a_request_with_the_id_of_one_in_flight_is_refused_and_the_first_goes_on() {
    let (gate, mut calls) = Gate::new();
    let (server, gate) = server_of(gate);
    let mut client = Connection::to(server);
    client.call(1, "first", json!({})).await;
    assert_eq!(calls.recv().await.as_deref(), Some("first"));
    client.call(1, "second", json!({})).await;
    let refused = client.receive().await;
    assert_eq!(refused["id"], 1, "{refused}");
    assert_eq!(refused["error"]["code"], -32_600, "{refused}");
    gate.end.add_permits(1);
    let answer = client.receive().await;
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    calls.try_recv().expect_err("the second was not executed");
    // An answered id can be used again.
    client.call(1, "again", json!({})).await;
    assert_eq!(client.receive().await["result"]["isError"], false);
    assert_eq!(calls.recv().await.as_deref(), Some("again"));
}

#[tokio::test]
async fn the_id_of_a_cancelled_call_that_has_ended_can_be_used_again() {
    let (gate, mut calls) = Gate::new();
    let (server, gate) = server_of(gate);
    let mut client = Connection::to(server);
    client.call(1, "first", json!({})).await;
    assert_eq!(calls.recv().await.as_deref(), Some("first"));
    client.cancel(1).await;
    client.call(2, "next", json!({})).await;
    assert_eq!(calls.recv().await.as_deref(), Some("next"));
    client.call(1, "last", json!({})).await;
    gate.end.add_permits(1);
    for id in [2, 1] {
        let answer = client.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    assert_eq!(calls.recv().await.as_deref(), Some("last"));
}

/// A client shows a form at once; a person could not see the end of a long one.
#[tokio::test]
async fn a_question_that_does_not_fit_in_a_form_is_for_a_terminal() {
    for (lines, is_shown) in [
        (vec!["x".repeat(100); 200], true),
        (vec!["x".to_owned(); 201], false),
        (vec!["x".repeat(20_001)], false),
    ] {
        let (mut gate, _calls) = Gate::new();
        gate.needs_approval = true;
        gate.question = GivenQuestion {
            lines,
            is_open_to_caller: true,
        };
        let mut client = Connection::to(server_of(gate).0);
        client.call(1, "echo hi", json!({})).await;
        let answer = client.receive().await;
        if is_shown {
            assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
            continue;
        }
        // The session is informed that nobody can be asked here, and tells how to answer.
        let text = answer["result"]["content"][0]["text"].as_str();
        assert!(
            text.is_some_and(|text| text.starts_with("Closed")),
            "{answer}"
        );
    }
}
