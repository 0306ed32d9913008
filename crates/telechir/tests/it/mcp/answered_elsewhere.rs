//! Questions of MCP calls that a person answers at a terminal instead of in the client.

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use super::{Client, LEGACY, MODERN, asking, asking_at_terminal};
use crate::approvals::Person;

const COUNTED: &str = "echo done >> mark; cat mark";

fn call(command: &str) -> Value {
    json!({"name": "execute_cli", "arguments": {"command": command}})
}

#[test]
fn a_yes_at_a_terminal_counts_while_the_client_shows_the_question() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking(folder.path());
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[&policy, "--approval-wait=40"]);
        client.send_request("tools/call", call(COUNTED));
        let question = client.receive();
        let person = Person::of(client.telechir.folder().to_owned());
        let screen = person.approve(&person.code(), "y\n");
        assert!(screen.contains("approved"), "{screen}");
        if version == MODERN {
            // The client's own answer comes too late to matter.
            let mut again = call(COUNTED);
            again["requestState"] = question["result"]["requestState"].clone();
            again["inputResponses"] = json!({"approval": {"action": "decline"}});
            client.send_request("tools/call", again);
        }
        // The second request of both: after the handshake, or after the first call.
        let done = client.receive_answer(2);
        let stdout = &done["result"]["structuredContent"]["stdout"];
        assert_eq!(stdout, "done\n", "executed once: {done}");
        client.leave();
    }
}

#[test]
fn a_late_yes_counts_for_one_further_call() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking_at_terminal(folder.path());
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[&policy, "--approval-wait=1"]);
        let denied = client.request("tools/call", call(COUNTED))["result"].clone();
        assert_eq!(denied["isError"], true, "{denied}");
        let person = Person::of(client.telechir.folder().to_owned());
        let code = person.code();
        let text = denied["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(&format!("telechir approve {code}")), "{text}");
        person.approve(&code, "y\n");
        let other = client.request("tools/call", call("id"))["result"].clone();
        assert_eq!(other["isError"], true, "another command: {other}");
        let second = client.request("tools/call", call(COUNTED))["result"].clone();
        assert_eq!(second["structuredContent"]["stdout"], "done\n", "{second}");
        let third = client.request("tools/call", call(COUNTED))["result"].clone();
        assert_eq!(third["isError"], true, "used up: {third}");
        client.leave();
    }
}
