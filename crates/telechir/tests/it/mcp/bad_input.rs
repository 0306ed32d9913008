//! What a client can do wrong: one clear answer each, nothing executed twice, nothing left.

use std::fs;

use serde_json::{Map, Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::{Client, LEGACY, MODERN, asking};

/// The repetition of a call with the state of a question, and the answer yes.
fn approved(state: &Value, arguments: &Value) -> Value {
    json!({
        "name": "execute_cli", "arguments": arguments, "requestState": state,
        "inputResponses": {"approval": {"action": "accept", "content": {"answer": "yes"}}},
    })
}

#[test]
fn a_state_that_this_server_did_not_send_executes_nothing() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking(folder.path());
    let arguments = json!({"command": "echo done >> mark; cat mark"});
    let call = json!({"name": "execute_cli", "arguments": arguments});
    let mut other = Client::start(MODERN, &[&policy]);
    let foreign = other.request("tools/call", call.clone())["result"]["requestState"].clone();
    let mut client = Client::start(MODERN, &[&policy]);
    let own = client.request("tools/call", call)["result"]["requestState"].clone();
    let text = own.as_str().expect("a state");
    // Each character matters.
    let changed = |at: usize| {
        let mut bytes = text.as_bytes().to_vec();
        let byte = bytes.get_mut(at).expect("a character");
        *byte = if *byte == b'0' { b'1' } else { b'0' };
        json!(String::from_utf8(bytes).expect("ASCII"))
    };
    let truncated = json!(text.get(..text.len() - 1));
    let states = [
        changed(0),
        changed(text.len() / 2),
        changed(text.len() - 1),
        truncated,
        json!(format!("{text} ")),
        json!(""),
        json!("../../etc/passwd"),
        foreign,
    ];
    for state in states {
        let refused = client.request("tools/call", approved(&state, &arguments));
        assert_eq!(refused["error"]["code"], -32_602, "{state}: {refused}");
    }
    let done = client.request("tools/call", approved(&own, &arguments));
    let stdout = &done["result"]["structuredContent"]["stdout"];
    assert_eq!(stdout, "done\n", "executed once: {done}");
    client.leave();
    other.leave();
}

#[test]
fn arguments_of_ten_megabytes_are_answered() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    let long = "x".repeat(10 << 20);
    let mut unknown = Map::new();
    unknown.insert(long.clone(), 1.into());
    let limit = "/command: expected at most 1048576 bytes, found 104857";
    for (tool, arguments, expected) in [
        (
            "execute_cli",
            json!({"command": format!(": {long}")}),
            limit,
        ),
        (
            "execute_cli",
            json!({"cmd": long}),
            "/cmd: execute_cli has no",
        ),
        (
            "execute_cli",
            json!({"command": vec![long.as_str()]}),
            limit,
        ),
        (
            "execute_cli",
            unknown.into(),
            "execute_cli has no such argument",
        ),
        (long.as_str(), json!({}), "No tool is named `xxx"),
    ] {
        let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let size = answer.to_string().len();
        assert!(size < 100_000, "an answer of {size} bytes");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains(expected)), "{answer}");
    }
    let history = client.call("get_action_history", &json!({"last_n": 50}));
    let history = &history["structuredContent"]["actions"];
    assert_eq!(history.as_array().map(Vec::len), Some(5));
    let size = history.to_string().len();
    assert!(size < 100_000, "a history of {size} bytes");
    let lock = format!("run/telechir/mcp-{}.lock", client.server.id());
    let lock = client.telechir.folder().join(lock);
    assert!(!lock.exists(), "no session was started");
    let after = client.run("echo still here");
    assert_eq!(after["stdout"], "still here\n", "{after}");
    client.leave();
}

#[test]
fn two_hundred_calls_in_parallel_are_executed_once_and_in_order() {
    require(Component::Sandbox);
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        for number in 0..200 {
            let arguments = json!({"command": format!("echo {number} >> order")});
            let call = json!({"name": "execute_cli", "arguments": arguments});
            client.send_request("tools/call", call);
        }
        for _ in 0..200 {
            let answer = client.receive();
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
        let order = client.run("paste -sd, order");
        let numbers: Vec<String> = (0..200).map(|number| number.to_string()).collect();
        assert_eq!(order["stdout"], format!("{}\n", numbers.join(",")));
        client.leave();
    }
}

#[test]
fn a_session_that_is_closed_or_killed_under_a_call_answers_and_starts_again() {
    require(Component::Sandbox);
    for is_killed in [false, true] {
        let mut client = Client::start(MODERN, &[]);
        client.run("touch old");
        let arguments = json!({"command": "sleep 1000"});
        let call = json!({"name": "execute_cli", "arguments": arguments});
        client.send_request("tools/call", call);
        let sleeps = |client: &Client| {
            let all = client.telechir.processes();
            all.iter().any(|name| name.trim_end() == "sleep")
        };
        assert_eventually_blocking!(sleeps(&client), "the command runs");
        let name = format!("mcp-{}", client.server.id());
        if is_killed {
            client.kill_host();
        } else {
            let closed = client.telechir_command(&["sessions", "close", &name]);
            assert_eq!(closed.code, Some(0), "{}", closed.stderr);
        }
        let answer = client.receive();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let again = client.run("ls");
        assert_eq!(
            again["stdout"], "",
            "a new session, nothing repeated: {again}"
        );
        client.leave();
    }
}

#[test]
fn what_is_no_request_does_not_end_the_server() {
    let mut client = Client::start(MODERN, &[]);
    client.request("tools/list", json!({}));
    for line in [
        "",
        "not JSON",
        "[]",
        "[[[[[[[[",
        "{}",
        "null",
        "{\"jsonrpc\":\"2.0\",\"method\":\"unknown\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
        "\u{feff}\u{0}\u{fffd}",
    ] {
        client.send_line(line);
    }
    client.send_request("tools/list", json!({}));
    // Some of them are answered by errors without an id: see below.
    let listed = std::iter::repeat_with(|| client.receive())
        .take(20)
        .find(|answer| answer["id"] == 2);
    let listed = listed.expect("an answer");
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    client.leave();
}

/// A client may have meant them for the server before.
#[test]
fn what_comes_before_the_first_request_does_not_end_the_server() {
    for line in [
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "not JSON",
    ] {
        let mut client = Client::start(MODERN, &[]);
        client.send_line(line);
        client.send_request("tools/list", json!({}));
        let listed = client.receive_answer(1);
        assert!(listed["result"]["tools"].is_array(), "{line}: {listed}");
        client.leave();
    }
}

/// A client that waits for the answer to what it sent learns what was wrong, and goes on.
#[test]
fn a_line_that_is_no_request_is_answered_with_the_error_of_the_protocol() {
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        client.request("tools/list", json!({}));
        for (line, code, id) in [
            ("not JSON", -32_700, Value::Null),
            ("{\"jsonrpc\": \"2.0\", \"id\": 70", -32_700, Value::Null),
            ("[]", -32_600, Value::Null),
            ("{\"jsonrpc\":\"2.0\",\"id\":71}", -32_600, json!(71)),
            (
                "{\"jsonrpc\":\"1.0\",\"id\":\"72\",\"method\":\"tools/list\"}",
                -32_600,
                json!("72"),
            ),
        ] {
            client.send_line(line);
            let answer = client.receive();
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(answer["id"], id, "{line}: {answer}");
        }
        let unread = client.request("tools/call", json!({"name": 5}));
        assert_eq!(unread["error"]["code"], -32_602, "{unread}");
        let unknown = client.request("tools/unknown", json!({}));
        assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
        let listed = client.request("tools/list", json!({}));
        assert!(listed["result"]["tools"].is_array(), "{listed}");
        client.leave();
    }
}

/// Each message has one answer: the second one an error, the first one its result.
#[test]
fn an_id_in_flight_is_refused_and_its_first_request_executed_once() {
    require(Component::Sandbox);
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        client.run("true");
        // The server has both lines before the first command can end.
        let arguments = json!({"command": "echo ran >> mark; sleep 0.5; cat mark"});
        let params = json!({"name": "execute_cli", "arguments": arguments});
        let call = client.message("tools/call", params);
        let id = client.requests;
        client.send_line(&format!("{call}\n{call}"));
        let refused = client.receive();
        assert_eq!(refused["id"], id, "{refused}");
        assert_eq!(refused["error"]["code"], -32_600, "{refused}");
        let text = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(text.contains(&format!("found {id},")), "{refused}");
        let answer = client.receive();
        assert_eq!(answer["id"], id, "{answer}");
        let stdout = &answer["result"]["structuredContent"]["stdout"];
        assert_eq!(stdout, "ran\n", "{answer}");
        client.leave();
    }
}

#[test]
fn a_policy_that_cannot_be_read_is_reported_before_the_first_call() {
    let telechir = crate::telechir::Telechir::new();
    let file = telechir.folder().join("broken.toml");
    fs::write(&file, "[[shell]]\nverdict = \"perhaps\"\n").expect("a file");
    let flag = format!("--policy={}", file.display());
    let ran = telechir.run(&["mcp", "--shell", &flag], "");
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    assert!(ran.stderr.contains("broken.toml"), "{}", ran.stderr);
}
