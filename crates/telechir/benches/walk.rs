//! How long the steps of the walk take on this machine: medians, with the spread.
//!
//! `make bench` prints the table. Nothing here judges; tests do not time.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on ends here, and prints"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the binary is started as a user starts it"
)]

use std::io::Write;
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use telechir_device::{BoxComputer, BoxShell, Computer, Shell, ShellCommand};
use telechir_policy::Policy;
use telechir_process::{Identity, am_root};
use telechir_protocol::{
    Action, Command, ComputerCall, Content, ModelTurn, Point, ShellCall, Size, Target,
};
use telechir_providers::Dialect;
use telechir_runtime::{Journal, Session};
use telechir_shell::{Bash, Isolation, Sandbox};
use telechir_x11::{DisplayOptions, PrivateDisplay};

/// Whatever the sandbox holds may run.
const POLICY: &str =
    "[[shell]]\nshell = \"sandboxed\"\nverdict = \"sandbox\"\nreason = \"A bench.\"\n";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!("| what | median | fastest | slowest | runs |\n|---|---|---|---|---|");
    runtime.block_on(devices());
    histories();
    whole_runs();
}

async fn devices() {
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir()
        .expect("a folder");
    let identity = am_root().then(|| Identity::unprivileged(3_900)).flatten();
    open_to(folder.path(), identity);
    for size in [Size::new(1280, 800), Size::new(1920, 1080)] {
        desktop(folder.path(), identity, size).await;
    }
    shell(folder.path(), identity).await;
}

async fn desktop(folder: &std::path::Path, identity: Option<Identity>, size: Size) {
    let mut options = DisplayOptions::new(folder, identity);
    options.size = size;
    let display = PrivateDisplay::start(options).await.expect("an X server");
    let mut desktop = display.into_desktop().await.expect("a desktop");
    let name = format!("{}x{}", size.width, size.height);
    let mut times = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        desktop.capture().await.expect("a frame");
        times.push(start.elapsed());
    }
    row(&format!("pixels of a {name} desktop"), times);
    let mut session = session(folder)
        .desktop(BoxComputer::new(desktop))
        .build()
        .expect("a session");
    let screenshot = || vec![Action::Screenshot];
    let times = walk(&mut session, 30, |id| {
        Content::ComputerCall(ComputerCall::new(id, screenshot()))
    })
    .await;
    row(
        &format!("screenshot call, {name}: judged, captured, PNG, journal"),
        times,
    );
    let click = |id: String| {
        let at = Some(Target::Point(Point::new(100, 100)));
        let click = Action::Click {
            at,
            button: Default::default(),
            count: Default::default(),
            modifiers: Vec::new(),
        };
        Content::ComputerCall(ComputerCall::new(id, vec![click]))
    };
    let times = walk(&mut session, 30, click).await;
    row(
        &format!("click call, {name}: the same with settling"),
        times,
    );
    session.close().await.expect("an end");
}

async fn shell(folder: &std::path::Path, identity: Option<Identity>) {
    let workspace = folder.join("workspace");
    std::fs::create_dir(&workspace).expect("a folder");
    open_to(&workspace, identity);
    let sandbox = Sandbox {
        identity,
        ..Sandbox::new(&workspace)
    };
    let mut bash = Bash::start(Isolation::Sandbox(sandbox))
        .await
        .expect("a shell");
    let command = ShellCommand {
        command: Command::Line("true".to_owned()),
        timeout: Duration::from_secs(10),
        max_output_bytes: 1024,
        cwd: None,
        env: Vec::new(),
    };
    let mut times = Vec::new();
    for _ in 0..300 {
        let start = Instant::now();
        bash.run(&command).await.expect("an output");
        times.push(start.elapsed());
    }
    row("`true` in the sandboxed shell", times);
    let mut session = session(folder)
        .shell(BoxShell::new(bash))
        .build()
        .expect("a session");
    let call = |id: String| {
        Content::ShellCall(ShellCall::execute(
            id,
            vec![Command::Line("true".to_owned())],
        ))
    };
    row(
        "the same as a call: judged, journal",
        walk(&mut session, 200, call).await,
    );
    session.close().await.expect("an end");
}

fn session(folder: &std::path::Path) -> telechir_runtime::SessionBuilder {
    let policy = Policy::from_toml(POLICY, "bench").expect("a policy");
    let journal = tempfile::tempdir_in(folder).expect("a folder").keep();
    Session::builder(policy).journal(Journal::open(journal).expect("a journal"))
}

async fn walk(
    session: &mut Session,
    runs: usize,
    call: impl Fn(String) -> Content,
) -> Vec<Duration> {
    let mut times = Vec::new();
    for run in 0..runs {
        let turn = ModelTurn::new(vec![call(format!("call_{run}"))]).expect("a turn");
        let start = Instant::now();
        session.carry_out(turn).await.expect("answers");
        times.push(start.elapsed());
    }
    times
}

/// A history with six pictures, as a long run sends it with every request.
fn histories() {
    let picture = "A".repeat(480_000);
    let mut messages = Vec::new();
    for turn in 0..6 {
        let id = format!("toolu_{turn}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "screenshot", "toolset_name": "computer", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}]}]}));
    }
    let bytes = serde_json::Value::Array(messages).to_string().into_bytes();
    let name = format!("{:.1} MB of history", bytes.len() as f64 / 1e6);
    let time = |work: &dyn Fn()| -> Vec<Duration> {
        (0..20)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed()
            })
            .collect()
    };
    let dialect = Dialect::AnthropicMessages;
    row(
        &format!("read {name}"),
        time(&|| drop(dialect.decode_history(&bytes).expect("a history"))),
    );
    let (history, _) = dialect.decode_history(&bytes).expect("a history");
    row(
        "write it back in the same dialect",
        time(&|| drop(dialect.encode_history(&history).expect("messages"))),
    );
    row(
        "write it in the other dialect",
        time(&|| {
            drop(
                Dialect::OpenaiResponses
                    .encode_history(&history)
                    .expect("items"),
            )
        }),
    );
}

fn whole_runs() {
    let response = json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "screenshot", "toolset_name": "computer", "input": {}}]});
    for flag in ["--desktop", "--browser", "--shell"] {
        let mut times = Vec::new();
        for _ in 0..7 {
            let start = Instant::now();
            exec(flag, &response.to_string());
            times.push(start.elapsed());
        }
        row(
            &format!("a whole `telechir exec {flag}`, start to end"),
            times,
        );
    }
}

fn exec(flag: &str, input: &str) {
    let mut child = Program::new(env!("CARGO_BIN_EXE_telechir"))
        .args(["exec", "--dialect", "anthropic-messages", flag])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("input");
    assert!(child.wait().expect("an end").success());
}

fn open_to(folder: &std::path::Path, identity: Option<Identity>) {
    if let Some(identity) = identity {
        std::os::unix::fs::chown(folder, Some(identity.uid), Some(identity.gid))
            .expect("a new owner");
    }
}

fn row(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |time: Option<&Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
    let (median, fastest, slowest) = (
        ms(times.get(times.len() / 2)),
        ms(times.first()),
        ms(times.last()),
    );
    println!(
        "| {what} | {median:.2} ms | {fastest:.2} ms | {slowest:.2} ms | {} |",
        times.len()
    );
}
