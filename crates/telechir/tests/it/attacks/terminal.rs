//! An attack on the prompt itself: a call has text that a real terminal would obey.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::approvals::Approvals;

/// What makes an xterm type: its answerback, its title, the position of its cursor, a setting, a color.
const OBEYED: &str =
    "\u{5}\u{1b}]2;y\n\u{7}\u{1b}[21t\u{1b}[6n\u{1b}P$qm\u{1b}\\\u{1b}]10;?\u{7}\u{9b}21t";

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _already_ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// An X server, and the display's name.
fn x_server() -> (Running, String) {
    require(Component::XServer);
    let mut server = Command::new("/usr/bin/Xvfb")
        .args([
            "-displayfd",
            "1",
            "-nolisten",
            "tcp",
            "-ac",
            "-screen",
            "0",
            "800x600x24",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Xvfb starts");
    let mut number = String::new();
    let stdout = server.stdout.take().expect("a pipe");
    let read = BufReader::new(stdout).read_line(&mut number);
    let running = Running(server);
    read.expect("the display");
    (running, format!(":{}", number.trim_end()))
}

#[test]
fn a_terminal_obeys_nothing_in_a_question() {
    require(Component::Sandbox);
    let approvals = Approvals::new();
    let (_server, display) = x_server();
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "bash",
        "input": {"command": format!("touch made # {OBEYED}")}});
    let response = json!({
        "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [call],
    });
    fs::write(approvals.file("call.json"), response.to_string()).expect("input");
    let telechir = env!("CARGO_BIN_EXE_telechir");
    let exec = format!(
        "{telechir} exec --dialect anthropic-messages --shell --policy=policy.toml < call.json \
         > out.json"
    );
    // First the terminal shows that it obeys such text.
    let script = format!(
        "stty -icanon; printf '\\005'; dd bs=1 count=1 of=obeyed; stty sane\n\
         script --quiet --flush --command '{exec}' shown\n"
    );
    fs::write(approvals.file("attack.sh"), script).expect("a script");
    let folder = approvals.telechir.folder();
    let xterm = Command::new("/usr/bin/xterm")
        .args([
            "-xrm",
            r"XTerm*answerbackString: y",
            "-xrm",
            "XTerm*allowWindowOps: true",
        ])
        .args(["-e", "/bin/sh", "attack.sh"])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .env("XDG_RUNTIME_DIR", folder.join("run"))
        .env("DISPLAY", display)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("xterm starts");
    let mut xterm = Running(xterm);
    let code = approvals.code();
    assert_eq!(
        fs::read_to_string(approvals.file("obeyed")).expect("a file"),
        "y"
    );
    let shown = || {
        let shown = fs::read(approvals.file("shown")).unwrap_or_default();
        String::from_utf8_lossy(&shown).into_owned()
    };
    assert_eventually_blocking!(shown(), |shown| shown.contains("/N] "));
    for sequence in [
        "\u{5}",
        "\u{1b}]",
        "\u{1b}P",
        "\u{1b}[21t",
        "\u{1b}[6n",
        "\u{9b}",
    ] {
        assert!(!shown().contains(sequence), "{sequence:?}: {:?}", shown());
    }
    assert!(shown().contains(r"\u{1b}[21t"), "escaped: {}", shown());
    let denied = approvals.run(&["deny", &code, "--because", "no"]);
    assert_eq!(denied.code, Some(0), "it was still open: {denied:?}");
    let has_ended = |xterm: &mut Running| xterm.0.try_wait().expect("a status").is_some();
    assert_eventually_blocking!(has_ended(&mut xterm), "the call ends");
    let reply = fs::read_to_string(approvals.file("out.json")).expect("a reply");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply[0]["is_error"], true, "{reply}");
    assert!(
        reply.to_string().contains("The user denied this"),
        "{reply}"
    );
}
