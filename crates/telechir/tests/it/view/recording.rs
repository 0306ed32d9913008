//! What the page shows of calls: output while a command runs, the changes of edits, and a session that goes
//! over into its recording.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::page::{PageFixture, QUESTION};
use crate::exec::member;
use crate::sessions::{SessionFixture, response};
use crate::telechir::Ran;

const CALLS: &str = "document.querySelector('.calls').innerText";
const PLAYER: &str = "document.querySelector('.player').innerText";
const IMAGE: &str = "document.querySelector('.player img').naturalWidth";

/// A server that records its sessions in the folder `recordings`.
fn recorded(server: &[&str], role: &str, more: &[&str]) -> PageFixture {
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recordings").display());
    PageFixture::with_server(sessions, &[server, &[&record]].concat(), role, more)
}

impl PageFixture {
    fn show_session(&self) {
        self.script(&format!("location.hash = '#/sessions/{}'", self.id));
    }

    fn call(&self, response: &str) -> Value {
        let turn = format!("/v1/sessions/{}/anthropic-messages", self.id);
        self.agent.post(&turn, response)
    }

    fn edit(&self, id: &str, input: Value) {
        let edit = response("str_replace_based_edit_tool", None, input).replace("toolu_1", id);
        let reply = self.call(&edit);
        assert_ne!(reply["items"][0]["is_error"], true, "{reply}");
    }

    fn close_session(&self) {
        let path = format!("/v1/sessions/{}", self.id);
        assert_eq!(self.agent.request("DELETE", &path, None).status, 204);
    }
}

#[test]
fn a_running_command_shows_its_output_and_an_edit_its_changes() {
    let page = PageFixture::with_server(
        SessionFixture::new(),
        &["--shell", "--editor"],
        "operator",
        &[],
    );
    page.show_session();
    let text = "one\ntwo <b>three</b>\n";
    page.edit(
        "e1",
        json!({"command": "create", "path": "a.txt", "file_text": text}),
    );
    let replaced = json!({"command": "str_replace", "path": "a.txt",
        "old_str": "one\ntwo", "new_str": "one\n\u{202e}2"});
    page.edit("e2", replaced);
    page.wait(CALLS, "+two <b>three</b>");
    let lines = "[...document.querySelectorAll('.call')].at(0).querySelector('pre').innerText";
    page.wait(lines, "-two");
    page.wait(lines, "+U+202E2");
    assert!(
        !page.script(lines).contains("-one"),
        "what is the same is no change"
    );

    // The colours of a terminal and a line that was written again are not shown.
    page.request(
        "r1",
        "printf '\\033[31mfirst\\033[0m\\n1%%\\r2%% done' && sleep 1000",
    );
    let output = "document.querySelector('.call .running')?.innerText ?? 'none'";
    page.wait(output, "2% done");
    let shown = page.script(output);
    assert!(
        shown.contains("first") && !shown.contains("31m") && !shown.contains("1%"),
        "{shown}"
    );
    let cancel = format!("/v1/sessions/{}/cancel", page.id);
    page.agent.request("POST", &cancel, Some("{}"));
    page.wait(output, "none");
}

#[test]
fn a_session_goes_over_into_its_recording() {
    let page = recorded(
        &["--shell", "--browser", "--headless"],
        "operator",
        &["--display=420x1500", "--color-scheme=dark"],
    );
    page.show_session();
    page.request("q1", "touch one");
    page.wait(QUESTION, "touch one");
    let deny = "document.querySelector('.question .bar button:last-child').disabled";
    page.wait(deny, "false");
    page.click(".question .bar button:last-child");
    page.wait(CALLS, "denied by operator/test");
    let look = member("p1", "browser", "screenshot", json!({}));
    let message = json!({"type": "message", "role": "assistant", "model": "m",
        "stop_reason": "tool_use", "content": [look]});
    page.call(&message.to_string());
    page.call(
        &response("bash", None, json!({"command": "printf %05d 42"})).replace("toolu_1", "r2"),
    );
    page.wait(CALLS, "printf %05d 42");

    page.close_session();
    page.wait(
        "document.querySelector('main h1').innerText",
        "Recording of count U+202Efiles",
    );
    page.wait("location.hash", &format!("#/recordings/{}", page.id));
    page.wait(CALLS, "denied by operator/test");
    // The last call, with the screen that the model had seen by then.
    page.wait(PLAYER, "Call 3 of 3");
    page.wait(PLAYER, "the screen one call before");
    page.wait(IMAGE, "1280");
    page.wait(
        "document.querySelector('main [role=status]').innerText",
        "3 calls",
    );
    // Keys move it.
    page.click(".player input[type=range]");
    page.browse(&[], "key", json!({"text": "Home"}));
    page.wait(PLAYER, "Call 1 of 3");
    page.wait(PLAYER, "Question: New");
    page.wait(PLAYER, "denied by operator/test");
    page.wait("document.querySelector('.player img').hidden", "true");
    page.browse(&[], "key", json!({"text": "Right"}));
    page.wait(PLAYER, "Call 2 of 3");
    page.wait("document.querySelector('.player img').hidden", "false");
    page.script("document.querySelectorAll('.calls details').forEach((one) => one.open = true)");
    page.wait(CALLS, "00042");
    super::accessibility::assert_passes(&page);
    // It is in the list, and opens from there.
    page.script("location.hash = '#/'");
    page.wait("document.querySelector('.recordings')?.innerText", &page.id);
    page.click(".recordings a");
    page.wait(PLAYER, "Call 3 of 3");
}

#[test]
fn view_shows_a_recording_to_people_without_its_texts_for_viewers() {
    let page = recorded(&["--shell"], "viewer", &[]);
    page.call(&response(
        "bash",
        None,
        json!({"command": "printf %05d 42"}),
    ));
    let folder = page
        .server
        .sessions
        .file(&format!("recordings/{}", page.id));
    page.close_session();
    let absent = page.server.sessions.file("recordings");
    let absent = format!("--recording={}", absent.display());
    let refused = Ran::of(&mut page.server.sessions.command(&["view", &absent]), "");
    refused.fails(1, &["is no recording", "--record"]);

    let flag = format!("--recording={}", folder.display());
    let mut command = page
        .server
        .sessions
        .command(&["view", &flag, "--read-only"]);
    let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    output.read_line(&mut line).expect("an address");
    page.browse(&[], "navigate", json!({ "url": line.trim() }));
    page.wait(
        "document.querySelector('main h1').innerText",
        &format!("Recording of {}", page.id),
    );
    page.wait(PLAYER, "Call 1 of 1");
    page.wait(PLAYER, "There is no screenshot so far.");
    let details = page.script("document.querySelectorAll('.calls details').length");
    assert!(
        details.contains('0'),
        "viewers read events alone: {details}"
    );
    child.kill().expect("a signal");
    child.wait().expect("its end");
}
