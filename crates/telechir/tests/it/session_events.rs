//! A session's events from any row, its policy while it runs, and hosts of other versions.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};
use telechir_host::{EventsFrom, HostClient};
use telechir_protocol::ToolResult;
use telechir_runtime::{RecordedEvent, SessionEvent};
use telechir_testkit::assert_eventually_blocking;

use crate::session_clients::{connect, execute, runtime, shell, turn};
use crate::sessions::{SessionFixture, bash};
use crate::telechir::Ran;

/// Reads events from a row to the first one that fits.
async fn events_until(
    client: &HostClient,
    from: u64,
    is_last: impl Fn(&RecordedEvent) -> bool,
) -> Vec<RecordedEvent> {
    let mut events = client.subscribe(Some(from)).await.expect("a subscription");
    let mut read = Vec::new();
    loop {
        let event = events.next().await.expect("an event").expect("no end");
        let ends = is_last(&event);
        read.push(event);
        if ends {
            return read;
        }
    }
}

#[test]
fn events_come_from_any_row_without_gaps() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let (client, watcher) = (connect(&sessions, "a").await, connect(&sessions, "a").await);
        execute(&client, turn("k1", shell("echo past"))).await;
        // The first turn started the session, the next is past, the last is executed meanwhile.
        let reading = events_until(&watcher, 1, |event| {
            event.event["turn"] == 2 && event.event["event"] == "turn_completed"
        });
        let executing = execute(&client, turn("k2", shell("echo present")));
        let (all, _) = tokio::join!(reading, executing);
        assert_eq!(all[0].event["event"], "session_started");
        let rows: Vec<u64> = all.iter().map(|event| event.row).collect();
        assert!(rows.is_sorted_by(|one, next| one < next), "{rows:?}");
        let keys: Vec<_> = all
            .iter()
            .filter_map(|event| event.event["key"].as_str())
            .collect();
        assert_eq!(keys[1..], ["k1", "k2"], "{keys:?}");
        for event in &all {
            let parsed = serde_json::from_value::<SessionEvent>(event.event.clone());
            assert!(parsed.is_ok(), "{event:?}");
        }
        // Any row of them is a start, with the same events after it.
        for skipped in [1, all.len() / 2, all.len() - 1] {
            let rest = &all[skipped..];
            let last = all.last().expect("events").row;
            let again = events_until(&watcher, rest[0].row, |event| event.row == last).await;
            assert_eq!(again, rest);
        }
    });
    sessions.assert_closes("a");
}

#[test]
fn who_follows_a_session_gets_its_end() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let clients = [connect(&sessions, "a").await, connect(&sessions, "a").await];
        let mut subscribed = clients[0].subscribe(Some(1)).await.expect("events");
        let from = EventsFrom::Session;
        let mut followed = clients[1].follow_events(from).await.expect("events");
        let closing = connect(&sessions, "a").await;
        closing.close().await.expect("closed");
        for events in [&mut subscribed, &mut followed] {
            let mut last = None;
            while let Some(event) = events.next().await.expect("no lost connection") {
                last = Some(event);
            }
            let last = last.expect("events");
            assert_eq!(last.event["event"], "session_closed");
            assert_eq!(events.next_row(), last.row + 1);
        }
    });
    sessions.telechir.assert_nothing_left();
}

#[test]
fn a_subscription_that_is_not_read_delays_nothing_else_on_its_connection() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let mut unread = client.subscribe(Some(1)).await.expect("a subscription");
        for number in 0..40 {
            execute(&client, turn(&format!("k{number}"), shell("true"))).await;
        }
        client.describe().await.expect("a description");
        let is_last = |event: &RecordedEvent| {
            event.event["turn"] == 40 && event.event["event"] == "turn_completed"
        };
        let mut read = Vec::new();
        while !read.last().is_some_and(is_last) {
            read.push(unread.next().await.expect("an event").expect("no end"));
        }
        assert!(read.len() > 128, "more than are under way: {}", read.len());
        let other = connect(&sessions, "a").await;
        assert_eq!(read, events_until(&other, 1, is_last).await);
    });
    sessions.assert_closes("a");
}

#[test]
fn a_subscriber_that_never_reads_does_not_delay_the_session() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let mut silent = UnixStream::connect(sessions.file("run/telechir/a")).expect("a connection");
    let hello = format!(
        r#"{{"protocol":{},"version":"0"}}"#,
        telechir_host::PROTOCOL
    );
    let messages = [
        hello.as_str(),
        r#"{"id":1,"request":{"subscribe":{"from":1}}}"#,
        r#"{"id":2,"request":{"subscribe":{"from":1}}}"#,
        r#"{"id":3,"request":"describe"}"#,
    ];
    for message in messages {
        let length = u32::try_from(message.len()).expect("short").to_be_bytes();
        let frame = [&length[..], message.as_bytes()].concat();
        silent.write_all(&frame).expect("written");
    }
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        // More than the buffers of a socket hold.
        for number in 0..40 {
            let long = format!("echo {number}; : {}", "y".repeat(20_000));
            let results = execute(&client, turn(&format!("k{number}"), shell(&long))).await;
            let [ToolResult::Shell(result)] = &results[..] else {
                panic!("{results:?}");
            };
            assert_eq!(result.stdout(), format!("{number}\n"));
        }
    });
    sessions.assert_closes("a");
}

#[test]
fn a_policy_is_reloaded_while_the_session_runs() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let permissive = fs::read_to_string(sessions.file("policy.toml")).expect("a policy");
    let denying = "[[shell]]\nshell = 'sandboxed'\nverdict = 'deny'\nreason = 'Not today.'\n";
    let reload = || Ran::of(&mut sessions.command(&["policy", "reload", "a"]), "");

    fs::write(sessions.file("policy.toml"), denying).expect("a policy");
    assert!(
        sessions.shell("a", "echo still").contains("still"),
        "not read yet"
    );
    let ran = reload();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("session a: the policy was reloaded"),
        "{ran:?}"
    );
    assert!(sessions.shell("a", "echo now").contains("Not today."));

    fs::write(
        sessions.file("policy.toml"),
        "[[shell]]\nverdict = 'maybe'\n",
    )
    .expect("a policy");
    let ran = reload();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("session a keeps its policy"), "{ran:?}");
    assert!(
        sessions.shell("a", "echo now").contains("Not today."),
        "unchanged"
    );

    fs::write(sessions.file("policy.toml"), permissive).expect("a policy");
    kill_process(sessions.session_host(), Signal::HUP).expect("a signal");
    assert_eventually_blocking!(sessions.shell("a", "echo again"), |text| text
        .contains("again\\n"));
    let named = sessions.file("policy.toml");
    let named = named.to_str().expect("a path");
    let ran = sessions.exec("a", &["--policy", named], &bash("true"));
    assert_eq!(ran.code, Some(0), "the session has this policy: {ran:?}");

    let reloads = runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        execute(&client, turn("last", shell("true"))).await;
        let events = events_until(&client, 1, |event| event.event["key"] == "last").await;
        let is_reload = |event: &&RecordedEvent| event.event["event"] == "policy_reloaded";
        events.iter().filter(is_reload).count()
    });
    assert_eq!(reloads, 2, "an invalid policy is no event");
    let ran = Ran::of(&mut sessions.command(&["policy", "reload", "b"]), "");
    ran.fails(1, &["no session named b"]);
    sessions.assert_closes("a");
}

#[test]
fn a_reload_counts_for_the_rest_of_a_turn() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let denying = "[[shell]]\nshell = 'sandboxed'\nverdict = 'deny'\nreason = 'Not today.'\n";
    runtime().block_on(async {
        let client = connect(&sessions, "a").await;
        let mut content = shell("touch begun; until [[ -e go ]]; do sleep 0.01; done");
        if let telechir_protocol::Content::ShellCall(call) = &mut content {
            let after = telechir_protocol::Command::Line("touch after".to_owned());
            call.commands.push(after);
        }
        let mut call = client.execute(turn("k1", content)).await.expect("a call");
        telechir_testkit::assert_eventually!(sessions.file("work/begun").exists(), "it runs");
        fs::write(sessions.file("policy.toml"), denying).expect("a policy");
        client.reload_policy().await.expect("reloaded");
        fs::write(sessions.file("work/go"), "").expect("a file");
        crate::session_clients::results(&mut call).await;
    });
    assert!(
        !sessions.file("work/after").exists(),
        "the second command is judged again"
    );
    sessions.assert_closes("a");
}

#[test]
fn a_host_of_another_version_is_named_and_can_be_closed() {
    // Only the greeting of another version is known: it refuses, and ends with SIGTERM.
    const OTHER: &str = r#"
import os, signal, socket, struct, sys
path, answer = sys.argv[1], sys.argv[2].encode()
def end(*_):
    os.unlink(path)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
print("ready", flush=True)
while True:
    peer, _ = server.accept()
    try:
        if peer.recv(65536):
            peer.sendall(struct.pack(">I", len(answer)) + answer)
    except OSError:
        pass
    peer.close()
"#;
    let sessions = SessionFixture::new();
    let socket = sessions.file("run/telechir");
    fs::create_dir(&socket).expect("a folder");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&socket, private).expect("permissions");
    for (answer, expected) in [
        (
            r#"{"refused":{"message":"no","protocol":7,"version":"9.1.0"}}"#,
            "a newer version: telechir 9.1.0 (protocol 7)",
        ),
        (r#"{"refused":{"message":"no"}}"#, "an older version"),
    ] {
        let mut host = Command::new("/usr/bin/python3")
            .args(["-c", OTHER])
            .arg(socket.join("a"))
            .arg(answer)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let mut ready = String::new();
        let stdout = host.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut ready)
            .expect("a line");
        let ran = sessions.exec("a", &["--shell"], &bash("true"));
        ran.fails(1, &[expected, "telechir sessions close a"]);
        let closed = sessions.close("a");
        assert_eq!(closed.code, Some(0), "{closed:?}");
        assert!(host.wait().expect("an exit status").success());
        assert!(!socket.join("a").exists());
    }
}
