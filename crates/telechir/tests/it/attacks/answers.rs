//! Attacks on approvals: programs of a session, strangers and replayed messages answer a question.

use std::fs;
use std::slice;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::approvals::Approvals;
use crate::existing::ExistingDesktop;
use crate::telechir::Ran;

/// A client of the session's socket that speaks its messages without telechir: it prints the last
/// reply. `PASS` sends them from a child of the process that connected, `REPEAT` sends each twice.
const CLIENT: &str = r#"
use IO::Socket::UNIX; use JSON::PP;
my ($socket, $mode, @messages) = @ARGV;
my $host = IO::Socket::UNIX->new(Peer => $socket) or die "connect: $!";
sub message { my $text = shift; print $host pack("N", length $text), $text; $host->flush; }
sub reply {
    read($host, my $length, 4) == 4 or die "closed";
    read($host, my $text, unpack("N", $length)); return $text;
}
message(shift @messages); reply();
if ($mode eq "PASS") { my $child = fork(); if ($child) { waitpid($child, 0); exit; } }
for my $text (@messages) { message($text); print reply(), "\n"; }
"#;

/// Sends messages to a session by hand, at a terminal or without one. Returns what came back.
fn by_hand(approvals: &Approvals, mode: &str, at_terminal: bool, requests: &[Value]) -> String {
    let client = approvals.file("client.pl");
    fs::write(&client, CLIENT).expect("a script");
    let socket = approvals.file("run/telechir/a");
    let mut words = vec![
        "/usr/bin/perl".to_owned(),
        client.display().to_string(),
        socket.display().to_string(),
        mode.to_owned(),
        json!({"protocol": telechir_host::PROTOCOL, "version": "0"}).to_string(),
    ];
    let requests = requests.iter().zip(1..);
    words.extend(requests.map(|(request, id)| json!({"id": id, "request": request}).to_string()));
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = quoted.join(" ");
    if at_terminal {
        return approvals.at_terminal(&[], &line, "");
    }
    // Without a controlling terminal, wherever the tests run.
    let mut detached = std::process::Command::new("/usr/bin/setsid");
    detached
        .args(["--wait", "/bin/sh", "-c", &line])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let ran = Ran::of(&mut detached, "");
    ran.stdout + &ran.stderr
}

fn approval(question: &Value) -> Value {
    let code = question["code"].as_str().expect("a code");
    let decision = json!({"decision": "approve", "digest": question["question"]["digest"]});
    json!({"answer_approval": {"code": code, "answer": {"decision": decision}}})
}

/// A session with a question whose call waits no longer, and the question.
fn parked(shell: &str) -> (Approvals, Value) {
    let approvals = Approvals::new();
    approvals.start("a", shell, &[]);
    approvals.park("a", "touch made");
    let question = approvals.list()[0].clone();
    (approvals, question)
}

#[track_caller]
fn assert_still_open(approvals: &Approvals) {
    assert_eq!(approvals.list().len(), 1, "the question is open");
}

#[test]
fn a_message_by_hand_without_a_terminal_approves_nothing() {
    let (approvals, question) = parked("--shell");
    let reply = by_hand(&approvals, "PLAIN", false, &[approval(&question)]);
    assert!(reply.contains("counts only at a terminal"), "{reply}");
    assert_still_open(&approvals);
    approvals.close("a");
}

#[test]
fn a_connection_that_was_passed_on_approves_nothing() {
    let (approvals, question) = parked("--shell");
    let reply = by_hand(&approvals, "PASS", true, &[approval(&question)]);
    assert!(reply.contains("process that connected"), "{reply}");
    assert_still_open(&approvals);
    approvals.close("a");
}

#[test]
fn a_client_cannot_reply_for_the_caller_of_another_turn() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let mut call = approvals.call("a", &["--approval-wait=50"], "touch made");
    let call = call.spawn().expect("the binary starts");
    approvals.code();
    let question = approvals.list()[0].clone();
    let decision = json!({"decision": "approve", "digest": question["question"]["digest"]});
    let reply = json!({"decided": {"decision": decision, "by": "the caller"}});
    let reply = json!({"reply_to_question": {"code": question["code"], "reply": reply}});
    let reply = by_hand(&approvals, "PLAIN", true, &[reply]);
    assert!(reply.contains("not one of this client's turn"), "{reply}");
    assert_still_open(&approvals);
    let code = question["code"].as_str().expect("a code");
    let denied = approvals.run(&["deny", code, "--because", "Enough."]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let output = call.wait_with_output().expect("the call ends");
    let reply = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(reply.contains("Enough."), "{reply}");
    approvals.close("a");
}

#[test]
fn a_replayed_or_altered_answer_approves_nothing() {
    let (approvals, question) = parked("--shell");
    let mut altered = question.clone();
    altered["question"]["digest"] = json!("00".repeat(32));
    let reply = by_hand(&approvals, "PLAIN", true, &[approval(&altered)]);
    assert!(reply.contains("of another question"), "{reply}");
    assert_still_open(&approvals);
    let answer = approval(&question);
    let replies = by_hand(&approvals, "PLAIN", true, &[answer.clone(), answer.clone()]);
    assert!(
        replies.contains("done"),
        "a person at a terminal: {replies}"
    );
    assert!(
        replies.contains("already settled"),
        "the same again: {replies}"
    );
    let used = approvals.result("a", &[], "touch made");
    assert_ne!(used["is_error"], true, "{used}");
    // The next question has another code and another digest.
    let code = approvals.park("a", "touch made");
    assert_ne!(question["code"], code.as_str());
    let reply = by_hand(&approvals, "PLAIN", true, &[answer]);
    assert!(reply.contains("already settled"), "{reply}");
    assert_still_open(&approvals);
    approvals.close("a");
}

#[test]
fn the_sandboxed_shell_of_a_session_cannot_answer() {
    let approvals = Approvals::new();
    let workspace = approvals.file("work");
    fs::create_dir(&workspace).expect("a folder");
    let policy = "[[shell]]\nwords = ['touch']\nverdict = 'ask'\nreason = 'Asked.'\n\
                  [[shell]]\nverdict = 'sandbox'\nreason = 'Test.'\n";
    fs::write(approvals.file("policy.toml"), policy).expect("a policy");
    let binary = workspace.join("telechir");
    fs::copy(env!("CARGO_BIN_EXE_telechir"), &binary).expect("a copy of the binary");
    let script = workspace.join("attack.sh");
    fs::write(&script, "true").expect("a script");
    let workspace = format!("--workspace={}", workspace.display());
    approvals.start("a", "--shell", &[&workspace]);
    let code = approvals.park("a", "touch made");
    let run = approvals.file("run");
    for attack in [
        format!("./telechir approve {code} --session a"),
        format!(
            "XDG_RUNTIME_DIR={} ./telechir approve {code}",
            run.display()
        ),
        format!(
            "env -i XDG_RUNTIME_DIR={} setsid ./telechir deny {code} --because x",
            run.display()
        ),
        format!("ls {}/telechir", run.display()),
    ] {
        fs::write(&script, format!("{attack}; echo exit $?")).expect("a script");
        let result = approvals.result("a", &[], "sh attack.sh");
        let text = result["content"].to_string();
        assert!(text.contains("exit "), "it ran: {attack}: {text}");
        assert!(!text.contains("exit 0"), "{attack}: {text}");
        assert_still_open(&approvals);
    }
    approvals.close("a");
}

/// The middle of the window of xterm in session `a`, once it is there.
fn center_of_xterm(approvals: &Approvals) -> [i64; 2] {
    let list = json!({"type": "tool_use", "id": "w1", "name": "computer_action",
        "input": {"action": "list_windows"}});
    let bounds = assert_eventually_blocking!(
        bounds_of_xterm(&approvals.results("a", slice::from_ref(&list))),
        |bounds| bounds.is_some(),
        "xterm has a window"
    );
    let [left, top, right, bottom] = bounds.expect("a window");
    [i64::midpoint(left, right), i64::midpoint(top, bottom)]
}

/// The left, top, right and bottom edge of xterm in an answer to `list_windows`.
fn bounds_of_xterm(answer: &Value) -> Option<[i64; 4]> {
    let blocks = answer[0]["content"].as_array()?.iter();
    let mut lines = blocks
        .filter_map(|block| block["text"].as_str())
        .flat_map(str::lines);
    let line = lines.find(|line| line.to_lowercase().contains("class \"xterm\""))?;
    let (_, bounds) = line.rsplit_once('[')?;
    let (bounds, _) = bounds.split_once(']')?;
    let edges: Option<Vec<i64>> = bounds.split(", ").map(|edge| edge.parse().ok()).collect();
    edges?.try_into().ok()
}

#[test]
fn a_terminal_on_the_desktop_of_a_session_cannot_answer() {
    require(Component::XServer);
    let approvals = Approvals::new();
    let workspace = approvals.file("work");
    fs::create_dir(&workspace).expect("a folder");
    let policy = "[[shell]]\nwords = ['touch']\nverdict = 'ask'\nreason = 'Asked.'\n\
                  [[computer]]\nwindows = ['xterm']\nverdict = 'allow'\nreason = 'Test.'\n";
    fs::write(approvals.file("policy.toml"), policy).expect("a policy");
    let binary = workspace.join("telechir");
    fs::copy(env!("CARGO_BIN_EXE_telechir"), &binary).expect("a copy of the binary");
    let script = workspace.join("attack.sh");
    fs::write(&script, "true").expect("a script");
    let flags = [
        "--desktop",
        "--start-app=xterm",
        &format!("--workspace={}", workspace.display()),
    ];
    approvals.start("a", "--shell", &flags);
    let code = approvals.park("a", "touch made");
    let (binary, run) = (binary.display(), approvals.file("run"));
    let attack = format!(
        "for run in $XDG_RUNTIME_DIR {run}; do\n\
         XDG_RUNTIME_DIR=$run {binary} approve {code} --session a; echo exit $?\n\
         XDG_RUNTIME_DIR=$run setsid -w {binary} deny {code} --because x; echo exit $?\n\
         done\n",
        run = run.display()
    );
    fs::write(&script, attack).expect("a script");
    // The model types the command, and an answer to whatever it asks.
    let line = format!("sh {0} > {0}.out 2>&1; tty > {0}.tty\n", script.display());
    let typed = |id: &str, text: &str| {
        json!({"type": "tool_use", "id": id, "name": "computer",
            "input": {"action": "type", "text": text}})
    };
    let click = json!({"type": "tool_use", "id": "c1", "name": "computer",
        "input": {"action": "left_click", "coordinate": center_of_xterm(&approvals)}});
    let result = approvals.results("a", &[click, typed("c2", &line), typed("c3", "y\ny\n")]);
    assert!(!result.to_string().contains("is_error\":true"), "{result}");
    // The shell creates the file before `tty` writes to it.
    assert_eventually_blocking!(
        fs::read_to_string(workspace.join("attack.sh.tty")).unwrap_or_default(),
        |terminal| terminal.starts_with("/dev/pts/") && terminal.ends_with('\n'),
        "the terminal runs it"
    );
    let output = fs::read_to_string(workspace.join("attack.sh.out")).expect("an output");
    assert_eq!(output.matches("exit ").count(), 4, "{output}");
    assert!(!output.contains("exit 0"), "{output}");
    assert_still_open(&approvals);
    approvals.close("a");
}

/// A policy that runs everything on the host unasked but `touch`.
fn on_host(approvals: &Approvals) {
    let policy = "[[shell]]\nwords = ['touch']\nverdict = 'ask'\nreason = 'Asked.'\n\
                  [[shell]]\nverdict = 'allow'\nreason = 'Test.'\n";
    fs::write(approvals.file("policy.toml"), policy).expect("a policy");
}

#[test]
fn a_shell_on_the_host_cannot_answer_for_another_session() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    on_host(&approvals);
    approvals.start("h", "--shell=host", &[]);
    let telechir = env!("CARGO_BIN_EXE_telechir");
    let run = approvals.file("run");
    let run = run.display();
    let attacks = [
        // A program of the session, and one that hides its environment and its parents.
        (
            format!("XDG_RUNTIME_DIR={run} {telechir} deny {code} --because x"),
            "program of a session",
        ),
        (
            format!("env -i XDG_RUNTIME_DIR={run} {telechir} deny {code} --because x"),
            "program of a session",
        ),
        (
            format!(
                "setsid -f env -i XDG_RUNTIME_DIR={run} {telechir} deny {code} --because x \
                 > daemon.log 2>&1; until [ -s daemon.log ]; do sleep 0.1; done; cat daemon.log; false"
            ),
            "--shell=host",
        ),
        (
            format!(
                "printf y | env -i PATH=/usr/bin:/bin XDG_RUNTIME_DIR={run} setsid --wait script -qec \
                 '{telechir} approve {code}' /dev/null"
            ),
            "--shell=host",
        ),
    ];
    for (attack, why) in attacks {
        let script = approvals.file("attack.sh");
        fs::write(&script, format!("({attack}) 2>&1; echo exit $?")).expect("a script");
        let result = approvals.result("h", &[], &format!("sh {}", script.display()));
        let text = result["content"].to_string();
        assert!(text.contains(why), "{attack}: {text}");
        assert!(!text.contains("exit 0"), "{attack}: {text}");
        assert_still_open(&approvals);
    }
    // A person cannot be told apart there, and is referred to the caller's own prompt.
    let screen = approvals.approve(&code, "y\n");
    assert!(screen.contains("--shell=host"), "{screen}");
    assert_still_open(&approvals);
    approvals.close("h");
    let screen = approvals.approve(&code, "y\n");
    assert!(screen.contains("approved"), "{screen}");
    approvals.close("a");
}

#[test]
fn a_shell_on_the_host_cannot_hide_that_it_runs() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    on_host(&approvals);
    approvals.start("h", "--shell=host", &[]);
    // Everything in the folder of the sockets but what the other session needs to be reached.
    let script = approvals.file("attack.sh");
    let folder = approvals.file("run/telechir");
    let attack = format!(
        "find {} -mindepth 1 ! -name '[ah]' ! -name '[ah].*' -exec rm -rf {{}} +; echo hidden",
        folder.display()
    );
    fs::write(&script, attack).expect("a script");
    let result = approvals.result("h", &[], &format!("sh {}", script.display()));
    assert!(result["content"].to_string().contains("hidden"), "{result}");
    let screen = approvals.approve(&code, "y\n");
    assert!(screen.contains("--shell=host"), "{screen}");
    let reply = by_hand(&approvals, "PLAIN", true, &[approval(&approvals.list()[0])]);
    assert!(reply.contains("--shell=host"), "{reply}");
    assert_still_open(&approvals);
    approvals.close("h");
    approvals.close("a");
}

#[test]
fn a_daemon_of_a_shell_on_the_host_approves_nothing_by_hand() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    approvals.park("a", "touch made");
    let question = approvals.list()[0].clone();
    on_host(&approvals);
    approvals.start("h", "--shell=host", &[]);
    // It has a terminal, no mark and no ancestors of the session: nothing tells it from a person.
    let reply = by_hand(&approvals, "PLAIN", true, &[approval(&question)]);
    assert!(reply.contains("--shell=host"), "{reply}");
    assert_still_open(&approvals);
    approvals.close("h");
    approvals.close("a");
}

#[test]
fn a_question_beside_a_shell_on_the_host_is_for_the_callers_prompt_alone() {
    let approvals = Approvals::new();
    on_host(&approvals);
    approvals.start("h", "--shell=host", &[]);
    let result = approvals.result("h", &["--approval-wait=50"], "touch made");
    assert_eq!(result["is_error"], true, "denied at once: {result}");
    let text = result["content"].to_string();
    assert!(text.contains("--shell=host"), "{text}");
    assert!(!text.contains("telechir approve"), "{text}");
    assert!(approvals.list().is_empty());
    let input = approvals.file("call.json");
    let line = format!(
        "{} exec --dialect anthropic-messages --session h < {} > out.json",
        env!("CARGO_BIN_EXE_telechir"),
        input.display()
    );
    let screen = approvals.at_terminal(&[], &line, "y\n");
    assert!(screen.contains("touch made"), "{screen}");
    let reply = fs::read_to_string(approvals.file("out.json")).expect("a reply");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_ne!(reply[0]["is_error"], true, "{reply}");
    approvals.close("h");
}

#[test]
fn a_terminal_on_a_driven_display_cannot_answer() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    let desktop = ExistingDesktop::start_session(&approvals.telechir);
    let of_desktop = |name: &str| {
        let mut variables = desktop.environment.iter();
        let found = variables.find(|(variable, _)| variable == name);
        found.expect("a variable").1.clone()
    };
    let display = of_desktop("DISPLAY");
    let mut drive = approvals.call("d", &[&format!("--desktop={display}"), "--shell"], "true");
    drive
        .env("DISPLAY", &display)
        .env("XAUTHORITY", of_desktop("XAUTHORITY"));
    let driven = drive.output().expect("a run");
    assert!(driven.status.success(), "{driven:?}");
    let line = format!("{} approve {code}", env!("CARGO_BIN_EXE_telechir"));
    let screen = approvals.at_terminal(&[("DISPLAY", &display)], &line, "y\n");
    assert!(screen.contains("could type this answer"), "{screen}");
    assert_still_open(&approvals);
    // Neither does any number of shells between the terminal and the answer.
    let nested = approvals.file("nested.sh");
    let script = format!(
        "n=$(($1 - 1))\nif [ $n -gt 0 ]; then env -i XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR sh {} $n; \
         else {line}; fi\nexit $?\n",
        nested.display()
    );
    fs::write(&nested, script).expect("a script");
    for (depth, why) in [(3, "could type this answer"), (260, "more than 256")] {
        let line = format!("sh {} {depth}", nested.display());
        let screen = approvals.at_terminal(&[("DISPLAY", &display)], &line, "y\n");
        assert!(screen.contains(why), "{depth}: {screen}");
        assert_still_open(&approvals);
    }
    let screen = approvals.at_terminal(&[("DISPLAY", ":9999")], &line, "y\n");
    assert!(screen.contains("approved"), "another display: {screen}");
    approvals.close("d");
    approvals.close("a");
}
