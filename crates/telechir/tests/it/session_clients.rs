//! Clients of a session host: turns by their keys, lost connections, many calls at once.

use std::fs;
use std::future::pending;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_host::{
    CallUpdate, HostClient, HostErrorKind, Probe, QuestionPrompt, RunningCall, ScreenshotsFor,
    SessionPaths, TurnKey, TurnRequest, find,
};
use telechir_policy::Interface;
use telechir_protocol::{Action, Command, ComputerCall, Content, ShellCall, ToolResult};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::{assert_eventually, assert_eventually_blocking};
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn_blocking;

use crate::approvals::Person;
use crate::sessions::{SessionFixture, response};
use crate::telechir::Ran;

pub(crate) fn runtime() -> Runtime {
    let mut threads = Builder::new_multi_thread();
    let threads = threads.worker_threads(2).enable_all().build();
    threads.expect("a runtime")
}

/// Connects to a session that runs.
pub(crate) async fn connect(sessions: &SessionFixture, name: &str) -> HostClient {
    let folder = sessions.file("run/telechir");
    let paths = SessionPaths::new(folder, name.parse().expect("a name")).expect("paths");
    match find(&paths).await.expect("a session") {
        Probe::Alive(client) => client,
        other @ (Probe::Dead | Probe::Changing | Probe::Nothing) => panic!("{other:?}"),
    }
}

pub(crate) fn turn(key: &str, content: Content) -> TurnRequest {
    TurnRequest {
        key: TurnKey::new(key),
        screenshots: ScreenshotsFor::Mcp { on_request: true },
        interface: Interface::Other,
        queue_ms: 60_000,
        runs_on: false,
        may_be_retry: false,
        contents: vec![content],
        is_new: false,
        hosted_source: None,
    }
}

fn line(command: &str) -> Command {
    Command::Line(command.to_owned())
}

pub(crate) fn shell(command: &str) -> Content {
    Content::ShellCall(ShellCall::execute("c1", vec![line(command)]))
}

/// A client without a user.
struct Nobody;

impl QuestionPrompt for Nobody {
    async fn show(&mut self, _open: OpenApproval) {}

    fn withdraw(&mut self, _settled: Option<&str>) {}

    async fn reply(&mut self) -> CallerReply {
        pending().await
    }
}

pub(crate) async fn results(call: &mut RunningCall) -> Vec<ToolResult> {
    call.results(&mut Nobody, || {}).await.expect("results")
}

fn stdout(results: &[ToolResult]) -> String {
    match results {
        [ToolResult::Shell(result)] => result.stdout(),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn execute(client: &HostClient, request: TurnRequest) -> Vec<ToolResult> {
    let mut call = client.execute(request).await.expect("a call");
    results(&mut call).await
}

#[test]
fn a_turn_sent_again_is_answered_from_the_recording_and_not_executed() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let request = turn("k1", shell("echo one >> count; cat count"));
        let first = execute(&client, request.clone()).await;
        assert_eq!(stdout(&first), "one\n");
        let other = connect(&sessions, "a").await;
        assert_eq!(execute(&other, request).await, first);
        let mut awaited = other.await_turn(TurnKey::new("k1")).await.expect("a call");
        assert_eq!(results(&mut awaited).await, first);

        let changed = turn("k1", shell("echo two >> count"));
        let mut refused = other.execute(changed).await.expect("a call");
        let error = refused.results(&mut Nobody, || {}).await.unwrap_err();
        assert!(error.to_string().contains("other contents"), "{error}");
        let mut unknown = other.await_turn(TurnKey::new("k2")).await.expect("a call");
        let error = unknown.results(&mut Nobody, || {}).await.unwrap_err();
        assert!(error.to_string().contains("has no turn k2"), "{error}");
    });
    let count = fs::read_to_string(sessions.file("work/count")).expect("a file");
    assert_eq!(count, "one\n");
    sessions.assert_closes("a");
}

#[test]
fn a_screenshot_comes_from_the_recording_as_it_was() {
    require(Component::XServer);
    let sessions = SessionFixture::new();
    let look = response("screenshot", Some("computer"), json!({}));
    sessions.exec("a", &["--desktop"], &look).json();
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let call = ComputerCall::new("c1", vec![Action::Screenshot]);
        let request = turn("k1", Content::ComputerCall(call));
        let first = execute(&client, request.clone()).await;
        assert!(
            matches!(&first[..], [ToolResult::Computer(result)] if result.error.is_none()),
            "{first:?}"
        );
        assert_eq!(execute(&client, request).await, first);
    });
    sessions.assert_closes("a");
}

#[test]
fn a_named_run_answers_a_turn_after_its_host_was_killed() {
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recording").display());
    let flags = [record.as_str(), "--run=r"];
    sessions.start_shell("a", &flags);
    let request = turn("k1", shell("echo one >> count; cat count"));
    let first = runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        execute(&client, request.clone()).await
    });
    kill_process(sessions.session_host(), Signal::KILL).expect("a signal");
    assert_eventually_blocking!(sessions.nothing_left(), "its guardian is done");
    let policy = format!("--policy={}", sessions.file("policy.toml").display());
    let workspace = format!("--workspace={}", sessions.file("work").display());
    let restart = [&["--shell", &policy, &workspace], &flags[..]].concat();
    let ran = sessions.exec("a", &restart, &crate::sessions::bash("true"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        assert_eq!(execute(&client, request).await, first);
    });
    let count = fs::read_to_string(sessions.file("work/count")).expect("a file");
    assert_eq!(count, "one\n");
    sessions.assert_closes("a");
}

#[test]
fn the_same_turn_from_two_clients_is_executed_once() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let (one, two) = (connect(&sessions, "a").await, connect(&sessions, "a").await);
        let command = "echo x >> count; until [[ -e go ]]; do sleep 0.01; done; cat count";
        let request = turn("k1", shell(command));
        let mut first = one.execute(request.clone()).await.expect("a call");
        assert_eq!(first.next().await, Ok(CallUpdate::Started));
        let mut second = two.execute(request).await.expect("a call");
        assert_eq!(second.next().await, Ok(CallUpdate::Started));
        // The first client may leave: the turn belongs to both.
        drop(first);
        drop(one);
        assert_eventually!(two.describe().await.expect("a description").waiting == 0);
        fs::write(sessions.file("work/go"), "").expect("a file");
        assert_eq!(stdout(&results(&mut second).await), "x\n");
    });
    sessions.assert_closes("a");
}

/// A client that sends a turn and is gone without another word, as if it had been killed.
struct LostClient(UnixStream);

impl LostClient {
    fn send(sessions: &SessionFixture, request: &TurnRequest) -> Self {
        let socket = UnixStream::connect(sessions.file("run/telechir/a")).expect("a connection");
        let mut client = Self(socket);
        client.write(&json!({"protocol": telechir_host::PROTOCOL, "version": "0"}));
        client.write(&json!({"id": 1, "request": {"execute": request}}));
        client
    }

    fn write(&mut self, message: &Value) {
        let message = message.to_string();
        let length = u32::try_from(message.len()).expect("short").to_be_bytes();
        let frame = [&length[..], message.as_bytes()].concat();
        self.0.write_all(&frame).expect("written");
    }
}

#[test]
fn a_lost_connection_cancels_a_running_action_unless_it_runs_on() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let command = "touch begun; until [[ -e go ]]; do sleep 0.01; done; echo done";
        for (key, runs_on) in [("cancelled", false), ("continued", true)] {
            let mut request = turn(key, shell(command));
            request.runs_on = runs_on;
            let lost = LostClient::send(&sessions, &request);
            assert_eventually!(sessions.file("work/begun").exists(), "the command runs");
            fs::remove_file(sessions.file("work/begun")).expect("removed");
            drop(lost);
            if runs_on {
                fs::write(sessions.file("work/go"), "").expect("a file");
            } else {
                // Following it earlier would make it continue for this client.
                let state = async || client.describe().await.expect("a description").state;
                assert_eventually!(state().await, |state| state.name() == "idle");
            }
            let mut call = client.await_turn(TurnKey::new(key)).await.expect("a call");
            let ended = call.results(&mut Nobody, || {}).await;
            match runs_on {
                true => assert_eq!(stdout(&ended.expect("results")), "done\n"),
                false => {
                    let error = ended.expect_err("it is cancelled");
                    assert_eq!(error.kind(), HostErrorKind::Cancelled);
                }
            }
        }
    });
    sessions.assert_closes("a");
}

#[test]
fn a_response_sent_again_joins_the_turn_that_has_not_ended() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let retry = |key: &str, command: &str| TurnRequest {
        may_be_retry: true,
        ..turn(key, shell(command))
    };
    runtime().block_on(async {
        let (client, other) = (connect(&sessions, "a").await, connect(&sessions, "a").await);
        let execute = async |client: &HostClient, request: TurnRequest| {
            let mut call = client.execute(request).await.expect("a call");
            call.accepted().await.expect("a turn");
            call
        };
        let command = "echo one >> count; until [[ -e go ]]; do sleep 0.01; done; cat count";
        let first = execute(&client, retry("k1", command)).await;
        let mut same = execute(&client, retry("k2", command)).await;
        let mut again = execute(&other, retry("k3", command)).await;
        let keys = [&first, &same, &again].map(|call| call.key().as_str().to_owned());
        assert_eq!(keys, ["k1", "k1", "k1"]);
        let others = [
            execute(&other, retry("k4", "echo another call >> count")).await,
            execute(&other, turn_without_id("k5", command)).await,
        ];
        let keys = others.each_ref().map(|call| call.key().as_str());
        assert_eq!(keys, ["k4", "k5"]);
        drop(others);
        // The turn goes on for the clients that still follow it.
        drop(first);
        fs::write(sessions.file("work/go"), "").expect("a file");
        assert_eq!(stdout(&results(&mut same).await), "one\n");
        assert_eq!(stdout(&results(&mut again).await), "one\n");

        let command = "touch begun; sleep 1000";
        let calls = [
            execute(&client, retry("k6", command)).await,
            execute(&client, retry("k7", command)).await,
        ];
        assert_eventually!(sessions.file("work/begun").exists(), "the command runs");
        drop(calls);
        let state = async || client.describe().await.expect("a description").state;
        assert_eventually!(state().await, |state| state.name() == "idle");
    });
    sessions.assert_closes("a");
}

/// A response whose call has no id, sent again.
fn turn_without_id(key: &str, command: &str) -> TurnRequest {
    let call = ShellCall::execute("", vec![line(command)]);
    TurnRequest {
        may_be_retry: true,
        ..turn(key, Content::ShellCall(call))
    }
}

#[test]
fn a_question_outlives_its_client_and_anyone_answers_it() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let asking = "[[shell]]\nshell = 'sandboxed'\nverdict = 'ask'\nreason = 'A test asks.'\n";
    fs::write(sessions.file("policy.toml"), asking).expect("a policy");
    let reloaded = Ran::of(&mut sessions.command(&["policy", "reload", "a"]), "");
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let lost = LostClient::send(&sessions, &turn("k1", shell("echo $((40 + 2))")));
        let open = async || client.approvals().await.expect("a list");
        let open = assert_eventually!(open().await, |open| open.len() == 1);
        drop(lost);
        let mut call = client.await_turn(TurnKey::new("k1")).await.expect("a call");
        let update = call.next().await;
        assert!(
            matches!(&update, Ok(CallUpdate::Question(same)) if same.code == open[0].code),
            "{update:?}"
        );
        let (person, code) = (Person::of(sessions.file("")), open[0].code.to_string());
        let shown = spawn_blocking(move || person.approve(&code, "y\n"));
        let shown = shown.await.expect("an answer");
        assert_eq!(stdout(&results(&mut call).await), "42\n", "{shown}");
    });
    sessions.assert_closes("a");
}

#[test]
fn two_hundred_calls_at_once_run_in_order_of_arrival() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let mut calls = Vec::new();
        for number in 0..200 {
            let request = turn(
                &format!("k{number}"),
                shell(&format!("echo {number} >> order")),
            );
            calls.push(client.execute(request).await.expect("a call"));
        }
        // While they wait, the session answers others at once.
        let other = connect(&sessions, "a").await;
        assert!(other.describe().await.expect("a description").waiting > 0);
        for call in &mut calls {
            results(call).await;
        }
    });
    let order = fs::read_to_string(sessions.file("work/order")).expect("a file");
    let expected: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    assert_eq!(order.lines().collect::<Vec<_>>(), expected);
    sessions.assert_closes("a");
}

#[test]
fn a_long_argument_arrives_complete() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let text = "x".repeat(10 << 20);
        let request = turn("long", shell(&format!("wc -c <<'END'\n{text}\nEND\n")));
        let mut call = client.execute(request).await.expect("a call");
        // Executed or refused, but answered.
        let outcome = call.results(&mut Nobody, || {}).await;
        let [ToolResult::Shell(result)] = &outcome.expect("a result")[..] else {
            panic!("no result of the shell");
        };
        let is_counted = result.stdout().trim() == (text.len() + 1).to_string();
        assert!(is_counted || result.error.is_some(), "{result:?}");
        let after = execute(&client, turn("after", shell("echo on"))).await;
        assert_eq!(stdout(&after), "on\n");
    });
    sessions.assert_closes("a");
}

#[test]
fn a_host_that_dies_under_a_call_is_reported_and_nothing_runs_twice() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let command = "echo x >> count; until [[ -e go ]]; do sleep 0.01; done";
        let mut call = client
            .execute(turn("k1", shell(command)))
            .await
            .expect("a call");
        assert_eventually!(sessions.file("work/count").exists(), "the command runs");
        kill_process(sessions.session_host(), Signal::KILL).expect("a signal");
        let error = call.results(&mut Nobody, || {}).await.unwrap_err();
        assert_eq!(error.kind(), HostErrorKind::Lost);
        assert!(
            error.to_string().contains("may have taken effect"),
            "{error}"
        );
        let error = client.describe().await.unwrap_err();
        assert_eq!(error.kind(), HostErrorKind::Lost);
        assert!(!client.is_open());
    });
    assert_eventually_blocking!(sessions.nothing_left(), "its guardian is done");
    let count = fs::read_to_string(sessions.file("work/count")).expect("a file");
    assert_eq!(count, "x\n");
}

#[test]
fn an_extended_session_outlives_its_idle_timeout() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &["--idle-timeout", "1"]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        client
            .extend(Duration::from_secs(600))
            .await
            .expect("extended");
        assert_eventually!(client.describe().await.expect("a description").idle_seconds >= 2);
    });
    sessions.assert_closes("a");
}
