//! Memory of an idle session, without the programs it runs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::{BenchFixture, EXEC, command, screenshot, telechir};
use crate::peers::Peers;
use crate::table::remark;

/// Memory of one or several processes in bytes.
#[derive(Clone, Copy, Default)]
struct Memory {
    resident: u64,
    proportional: u64,
}

pub(crate) fn idle(fixture: &BenchFixture, peers: &Peers) {
    println!("\n## Memory of an idle session\n");
    println!("| session | processes | resident (RSS) | proportional (PSS) |");
    println!("|---|---|---|---|");
    for (devices, input) in [
        (&["--shell"][..], command()),
        (&["--desktop"][..], screenshot()),
        (&["--desktop", "--shell"][..], screenshot()),
    ] {
        let name = format!("bench-{}", std::process::id());
        telechir(
            &[&EXEC[..], &["--session", &name], devices].concat(),
            &input,
        );
        let (count, sum) = total(&telechir_run(session_host_pid(&name)));
        println!("{}", row(&devices.join(" "), count, sum, "**"));
        telechir(&["sessions", "close", &name], "");
    }
    println!("{}", driver(fixture, peers));
    println!("| `cua-computer-server` | missing: no package for this Python | | **not run** |");
    remark(
        "Session host and guardian after one call; X server, window manager, bus, bubblewrap and bash are not counted. The RSS sum counts shared pages, mostly the program itself, twice; the PSS sum counts them once. One measurement each. The driver is an MCP server that received only its `initialize` request.",
    );
}

/// The row of another desktop driver.
fn driver(fixture: &BenchFixture, peers: &Peers) -> String {
    const NAME: &str = "cua-driver mcp";
    let program = peers
        .python()
        .and_then(|python| Some(Path::new(python).parent()?.join("cua-driver")))
        .filter(|program| program.exists());
    let Some(program) = program else {
        return format!("| `{NAME}` | missing: not installed | | **not run** |");
    };
    let options = DisplayOptions::new(fixture.folder(), fixture.identity);
    let display = fixture.runtime.block_on(PrivateDisplay::start(options));
    let display = display.expect("an X server");
    let home = [("HOME", fixture.folder())];
    let text = Command::new(&program)
        .args(["telemetry", "disable"])
        .envs(home)
        .output();
    drop(text.expect("the program starts"));
    let mut server = Command::new(&program)
        .arg("mcp")
        .envs(display.environment())
        .envs(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"}}});
    let mut stdin = server.stdin.take().expect("a pipe");
    writeln!(stdin, "{greeting}").expect("a question");
    let mut answer = String::new();
    let answers = server.stdout.take().expect("a pipe");
    BufReader::new(answers)
        .read_line(&mut answer)
        .expect("an answer");
    std::thread::sleep(Duration::from_secs(1));
    let (count, sum) = total(&telechir_run(server.id().into()));
    let _over_already = server.kill();
    let _over_already = server.wait();
    fixture.runtime.block_on(async {
        let screen = display.into_screen().await.expect("a screen");
        screen.close().await.expect("a clean close");
    });
    row(NAME, count, sum, "")
}

fn total(processes: &[u64]) -> (usize, Memory) {
    let sum = processes.iter().fold(Memory::default(), |sum, pid| {
        let one = memory(*pid);
        Memory {
            resident: sum.resident + one.resident,
            proportional: sum.proportional + one.proportional,
        }
    });
    (processes.len(), sum)
}

fn row(name: &str, count: usize, sum: Memory, bold: &str) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    format!(
        "| `{name}` | {count} | {bold}{}{bold} | {} |",
        megabytes(sum.resident),
        megabytes(sum.proportional)
    )
}

/// Process id of a session host.
pub(crate) fn session_host_pid(name: &str) -> u64 {
    let listed = telechir(&["sessions", "list", "--json"], "");
    let listed: Value = serde_json::from_slice(&listed).expect("JSON");
    let rows = listed.as_array().expect("rows");
    let telechir_run = rows.iter().find(|row| row["name"] == name);
    telechir_run
        .and_then(|row| row["pid"].as_u64())
        .expect("a session host")
}

/// The session host and its children that run the same program.
fn telechir_run(session_host_pid: u64) -> Vec<u64> {
    let program = |pid: u64| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let parent = |pid: u64| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
    };
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid == session_host_pid || parent(*pid) == Some(session_host_pid))
        .filter(|pid| program(*pid).is_some_and(|it| Some(it) == program(session_host_pid)))
        .collect()
}

fn memory(pid: u64) -> Memory {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("its memory");
    let field = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.expect("a number") * 1024
    };
    Memory {
        resident: field("Rss:"),
        proportional: field("Pss:"),
    }
}
