//! A client sends a call again under its id: it gets the answer, and nothing is executed twice.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::{Client, LEGACY, MODERN, asking};

/// A call of `execute_cli` under this id.
fn call(id: &str, command: &str) -> Value {
    json!({
        "name": "execute_cli", "arguments": {"command": command},
        "_meta": {"telechir/callId": id},
    })
}

/// Each execution makes the answer longer.
const COUNTED: &str = "echo done >> mark; cat mark";

#[test]
fn a_call_that_is_sent_again_has_the_first_answer() {
    require(Component::Sandbox);
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        for _ in 0..3 {
            let answer = client.request("tools/call", call("a-1", COUNTED))["result"].clone();
            assert_eq!(answer["structuredContent"]["stdout"], "done\n", "{answer}");
            assert_eq!(answer["_meta"]["telechir/callId"], "a-1");
            assert_eq!(answer["_meta"]["telechir/effect"], "confirmed");
        }
        let other = client.request("tools/call", call("a-1", "echo other >> mark"));
        assert_eq!(other["result"]["isError"], true, "{other}");
        let text = other["result"]["content"][0]["text"].as_str();
        assert!(
            text.is_some_and(|text| text.contains("nothing was executed")),
            "{other}"
        );
        let new = client.request("tools/call", call("a-2", COUNTED));
        let stdout = &new["result"]["structuredContent"]["stdout"];
        assert_eq!(stdout, "done\ndone\n", "another id is another call: {new}");
        client.leave();
    }
}

#[test]
fn a_call_that_is_sent_again_while_it_runs_is_executed_once() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    let made = client.run("mkfifo gate; pwd");
    let folder = made["stdout"].as_str().expect("a text").trim_end();
    let command = "echo done >> mark; cat gate; cat mark";
    client.send_request("tools/call", call("b", command));
    client.send_request("tools/call", call("b", command));
    // Opens when the command reads it.
    fs::write(Path::new(folder).join("gate"), "").expect("a reader");
    for _ in 0..2 {
        let answer = client.receive();
        let stdout = &answer["result"]["structuredContent"]["stdout"];
        assert_eq!(stdout, "done\n", "{answer}");
    }
    client.leave();
}

#[test]
fn a_cancelled_call_that_is_sent_again_is_not_executed_again() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    let command = "echo done >> mark; sleep 987654";
    client.run("true");
    client.send_request("tools/call", call("c", command));
    let sleeps = |client: &Client| {
        let all = client.telechir.processes();
        all.iter().any(|name| name.trim_end() == "sleep")
    };
    assert_eventually_blocking!(sleeps(&client), "the command runs");
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2, "reason": "enough"}
    }));
    assert_eventually_blocking!(!sleeps(&client), "the command is killed");
    client.send_request("tools/call", call("c", command));
    let answer = client.receive_answer(3);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    client.send_request(
        "tools/call",
        json!({"name": "execute_cli", "arguments": {"command": "cat mark"}}),
    );
    let marks = client.receive_answer(4);
    let stdout = &marks["result"]["structuredContent"]["stdout"];
    assert_eq!(stdout, "done\n", "{marks}");
    client.leave();
}

/// A client that lost the question gets it again, and the first state is void.
#[test]
fn a_call_whose_question_was_lost_gets_it_again() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking(folder.path());
    let mut client = Client::start(MODERN, &[&policy]);
    let lost = client.request("tools/call", call("d", COUNTED))["result"].clone();
    assert_eq!(lost["resultType"], "input_required", "{lost}");
    let question = client.request("tools/call", call("d", COUNTED))["result"].clone();
    assert_eq!(
        question["inputRequests"], lost["inputRequests"],
        "{question}"
    );
    assert_ne!(question["requestState"], lost["requestState"]);
    let other = client.request("tools/call", call("d", "echo other"));
    assert_eq!(other["error"]["code"], -32_602, "{other}");
    let yes = |state: &Value| {
        let mut params = call("d", COUNTED);
        params["requestState"] = state.clone();
        params["inputResponses"] =
            json!({"approval": {"action": "accept", "content": {"answer": "yes"}}});
        params
    };
    let void = client.request("tools/call", yes(&lost["requestState"]));
    assert_eq!(void["error"]["code"], -32_602, "{void}");
    let done = client.request("tools/call", yes(&question["requestState"]))["result"].clone();
    assert_eq!(done["structuredContent"]["stdout"], "done\n", "{done}");
    assert_eq!(done["_meta"]["telechir/verdict"], "ask", "{done}");
    let again = client.request("tools/call", call("d", COUNTED))["result"].clone();
    assert_eq!(again["structuredContent"]["stdout"], "done\n", "{again}");
    client.leave();
}

#[test]
fn a_denied_call_has_its_verdict_and_no_effect() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("deny.toml");
    let rule = "[[shell]]\nwords = ['ls']\nverdict = 'deny'\nreason = 'No lists.'\n";
    fs::write(&file, rule).expect("a policy file");
    let policy = format!("--policy={}", file.display());
    let mut client = Client::start(MODERN, &[&policy]);
    let denied = client.call("execute_cli", &json!({"command": "ls"}));
    assert_eq!(denied["_meta"]["telechir/verdict"], "deny", "{denied}");
    assert_eq!(denied["_meta"]["telechir/effect"], "none", "{denied}");
    let wrong = client.call("execute_cli", &json!({"cmd": "id"}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    assert_eq!(wrong["_meta"], Value::Null, "no policy judged it: {wrong}");
    client.leave();
}

/// A new session knows nothing of the calls of the one before, which may have had effects outside.
#[test]
fn a_call_of_a_session_that_ended_is_not_executed_again() {
    require(Component::Sandbox);
    let work = tempfile::tempdir().expect("a folder");
    let workspace = format!("--workspace={}", work.path().display());
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), include_str!("../permissive.toml")).expect("a policy");
    let policy = format!("--policy={}", file.path().display());
    for is_killed in [true, false] {
        let mut client = Client::start(MODERN, &[&workspace, &policy]);
        let answer = client.request("tools/call", call("f-1", "echo one >> marks"));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        client.send_request("tools/call", call("f-2", "echo two >> marks; sleep 1000"));
        let marks = || fs::read_to_string(work.path().join("marks")).unwrap_or_default();
        assert_eventually_blocking!(marks().contains("two"), "the command runs");
        if is_killed {
            client.kill_host();
        } else {
            let name = format!("mcp-{}", client.server.id());
            let closed = client.telechir_command(&["sessions", "close", &name]);
            assert_eq!(closed.code, Some(0), "{}", closed.stderr);
        }
        let answer = client.receive();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        // The guardian of a killed host holds the workspace until its processes are gone.
        assert_eventually_blocking!(client.run("true"), |ran| ran["status"] == "success");
        for (id, command) in [
            ("f-1", "echo one >> marks"),
            ("f-2", "echo two >> marks; sleep 1000"),
        ] {
            let refused = client.request("tools/call", call(id, command))["result"].clone();
            assert_eq!(refused["isError"], true, "{refused}");
            let text = refused["content"][0]["text"].as_str().expect("a text");
            assert!(
                text.starts_with("The call was sent to an earlier"),
                "{text}"
            );
        }
        let marks = client.run("cat marks; rm marks");
        assert_eq!(marks["stdout"], "one\ntwo\n", "{marks}");
        client.leave();
    }
}

/// The session outlives a server of a named session; so does what it knows of its calls.
#[test]
fn another_server_of_the_same_session_knows_the_call() {
    require(Component::Sandbox);
    let mut first = Client::start(MODERN, &["--session=shared"]);
    let answer = first.request("tools/call", call("e", COUNTED));
    assert_eq!(
        answer["result"]["structuredContent"]["stdout"], "done\n",
        "{answer}"
    );
    let mut second = first.another(&["--shell", "--session=shared"]);
    let answer = second.request("tools/call", call("e", COUNTED));
    assert_eq!(
        answer["result"]["structuredContent"]["stdout"], "done\n",
        "{answer}"
    );
    let closed = first.telechir_command(&["sessions", "close", "shared"]);
    assert_eq!(closed.code, Some(0), "{}", closed.stderr);
    drop(second);
    first.leave();
}
