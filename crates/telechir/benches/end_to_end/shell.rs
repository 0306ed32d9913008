//! `true`, a first command and a gigabyte of output, in the persistent shell and in other shells.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command as Program;
use std::time::{Duration, Instant};

use telechir_device::{Shell as _, ShellCommand};
use telechir_protocol::{Command, Content, ShellCall};
use telechir_shell::{Bash, Isolation, Sandbox};

use crate::fixture::{BenchFixture, ids, run};
use crate::peers::{Peers, absent};
use crate::table::{Contestant, compare, remark, table};

const RUNS: usize = 200;
/// Rounds of contestants that take a thousand times as long.
const FEW: usize = 20;
/// Commands of a turn without a pause.
const IN_A_ROW: u32 = 10;
/// Bytes of one write.
const PAGE: usize = 4096;
const GIGABYTE: &str = "head -c 1G /dev/zero";
/// Variable with the path of codex's program.
const CODEX: &str = "TELECHIR_PEERS_CODEX";

pub(crate) fn commands(fixture: &BenchFixture, peers: &mut Peers) {
    table("`true` in a persistent sandboxed shell");
    let mut bash = bash(fixture, "direct");
    let command = line("true");
    let direct = || {
        let output = fixture.runtime.block_on(bash.run(&command));
        drop(output.expect("an output"));
    };
    let mut pty = || peers.request("pty");
    let pty = match pty() {
        Ok(()) => Contestant::new("persistent bash on a pty, no sandbox", || {
            pty().expect("it succeeded before");
        }),
        Err(why) => Contestant::missing("persistent bash on a pty", why),
    };
    let others = vec![
        Contestant::new("shell alone, no policy and no journal", direct),
        pty,
        Contestant::new("`bash -c true` per command, no sandbox", || {
            run(Program::new("bash").args(["-c", "true"]));
        }),
        bubblewrap(fixture),
    ];
    compare(RUNS, others);
    products(fixture, peers);
    calls(fixture);
    remark(
        "The contestants take turns, so each one starts on idle cores. The intent and the outcome of a call are on disk before its result is returned. Every call has a journal: the in-memory row shows the cost of the disk, and the last row the minimum that this disk allows.",
    );
    in_a_row(fixture, peers);
}

/// Commands through policy and journal. Each contestant has its own shell and session; they take
/// turns, so that the disk is equally busy for both.
fn calls(fixture: &BenchFixture) {
    let disk = fixture.make("disk");
    let mut on_disk = Caller::new(fixture, "on disk", &disk);
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let mut in_memory = Caller::new(fixture, "in memory", memory.path());
    let log = log(&fixture.make("bare disk").join("log")).expect("a file");
    let mut count = 0_u8;
    let calls = vec![
        Contestant::new("as a call: policy, journal on disk", || on_disk.call()),
        Contestant::new("as a call: policy, journal in memory", || in_memory.call()),
        Contestant::new("two synced 4 kB writes, for reference", || {
            for _ in 0..2 {
                count = count.wrapping_add(1);
                let written = log.write_all_at(&[count; PAGE], u64::from(count) * PAGE as u64);
                written.and_then(|()| log.sync_data()).expect("a write");
            }
        }),
    ];
    compare(RUNS, calls);
    on_disk.close();
    in_memory.close();
}

/// A file of 256 pages, written to disk.
fn log(path: &Path) -> std::io::Result<File> {
    let log = File::create(path)?;
    log.write_all_at(&[0; 256 * PAGE], 0)?;
    log.sync_all()?;
    Ok(log)
}

/// The same without a pause between commands.
fn in_a_row(fixture: &BenchFixture, peers: &mut Peers) {
    table(&format!("`true`, {IN_A_ROW} in a row, time per command"));
    let mut bash = bash(fixture, "in a row");
    let command = line("true");
    let direct = || {
        let output = fixture.runtime.block_on(bash.run(&command));
        drop(output.expect("an output"));
    };
    let mut pty = || peers.request("pty");
    let name = "persistent bash on a pty, no sandbox";
    let pty = match pty() {
        Ok(()) => row(name, || pty().expect("it succeeded before")),
        Err(why) => Contestant::missing(name, why),
    };
    compare(
        RUNS,
        vec![row("shell alone, no policy and no journal", direct), pty],
    );
    let folder = fixture.make("row on disk");
    let mut on_disk = Caller::new(fixture, "row on disk", &folder);
    let call = row("as a call: policy, journal on disk", || on_disk.call());
    compare(RUNS, vec![call]);
    on_disk.close();
}

/// A contestant that runs several commands per round.
fn row<'a>(name: &str, mut once: impl FnMut() + 'a) -> Contestant<'a> {
    Contestant::timed(name, move || {
        let start = Instant::now();
        for _ in 0..IN_A_ROW {
            once();
        }
        start.elapsed() / IN_A_ROW
    })
}

fn line(command: &str) -> ShellCommand {
    ShellCommand {
        command: Command::Line(command.to_owned()),
        timeout: Duration::from_secs(60),
        max_output_bytes: 64 * 1024,
        cwd: None,
        env: Vec::new(),
    }
}

/// Shells of other products for models.
fn products(fixture: &BenchFixture, peers: &mut Peers) {
    let mut bash = bash(fixture, "beside products");
    let command = line("true");
    let telechir_run = || {
        let output = fixture.runtime.block_on(bash.run(&command));
        drop(output.expect("an output"));
    };
    let names = [
        (
            "local-shell-tool",
            "agent-framework's LocalShellTool, persistent, no sandbox",
        ),
        (
            "polling",
            "bash on pipes, polled every 0.2 s, as in a well-known demo",
        ),
    ];
    let found = names.map(|(question, name)| (question, name, peers.request(question)));
    let peers = std::cell::RefCell::new(peers);
    let sent = found
        .into_iter()
        .map(|(question, name, found)| match found {
            Ok(()) => Contestant::new(name, || {
                let sent = peers.borrow_mut().request(question);
                sent.expect("it succeeded before");
            }),
            Err(why) => Contestant::missing(name, why),
        });
    let first = Contestant::new("shell alone, no policy and no journal", telechir_run);
    let all = std::iter::once(first).chain(sent).chain([codex(fixture)]);
    compare(FEW, all.collect());
}

fn codex(fixture: &BenchFixture) -> Contestant<'static> {
    let name = "`codex sandbox -- bash -c true` per command";
    let program = std::env::var_os(CODEX).filter(|program| Path::new(program).exists());
    let Some(program) = program else {
        return Contestant::missing(name, "not installed");
    };
    let folder = fixture.folder().to_owned();
    let once = move || {
        let mut codex = Program::new(&program);
        codex.args("sandbox -- bash -c true".split(' '));
        codex.current_dir(&folder);
        codex
    };
    let tried = once().output().expect("the program starts");
    if !tried.status.success() {
        let output = String::from_utf8_lossy(&tried.stderr);
        let last = output.lines().last().unwrap_or("it fails").to_owned();
        return Contestant::missing(name, last);
    }
    Contestant::new(name, move || run(&mut once()))
}

/// A shell from its start to the end of its first command.
pub(crate) fn starts(fixture: &BenchFixture) {
    table("First command of a new sandboxed shell");
    let mut count = 0;
    let telechir_run = || {
        count += 1;
        let name = format!("new {count}");
        let folder = fixture.make(&name);
        let start = Instant::now();
        let mut bash = shell_in(fixture, folder);
        let output = fixture.runtime.block_on(bash.run(&line("true")));
        let took = start.elapsed();
        drop(output.expect("an output"));
        let closed = fixture.runtime.block_on(bash.close());
        closed.expect("a clean close");
        took
    };
    let all = vec![
        Contestant::timed("new shell and its first command", telechir_run),
        bubblewrap(fixture),
        codex(fixture),
    ];
    compare(40, all);
    remark("Shutdown is not counted for telechir; it is for the others.");
}

/// More output than any result retains.
pub(crate) fn gigabyte(fixture: &BenchFixture) {
    table("1 GiB of output");
    let mut bash = bash(fixture, "gigabyte");
    let before = peak();
    let command = line(GIGABYTE);
    let telechir_run = || {
        let output = fixture.runtime.block_on(bash.run(&command));
        let output = output.expect("an output");
        assert!(output.truncated_bytes > 1_000_000_000, "it was counted");
    };
    let pipe = || {
        let both = format!("{GIGABYTE} | cat >/dev/null");
        run(Program::new("bash").args(["-c", &both]));
    };
    let all = vec![
        Contestant::new(
            "as a command, first 256 MiB spooled to a file",
            telechir_run,
        ),
        Contestant::new("`cat` from a pipe to `/dev/null`", pipe),
    ];
    compare(5, all);
    let grown = peak().saturating_sub(before);
    remark(&format!("Peak memory of telechir grew by {grown} kB."));
}

/// Peak memory of this process in kB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("a number")
}

fn bash(fixture: &BenchFixture, name: &str) -> Bash {
    shell_in(fixture, fixture.make(name))
}

fn shell_in(fixture: &BenchFixture, folder: std::path::PathBuf) -> Bash {
    let sandbox = Sandbox {
        identity: fixture.identity,
        ..Sandbox::new(folder)
    };
    let bash = fixture
        .runtime
        .block_on(Bash::start(Isolation::Sandbox(sandbox)));
    bash.expect("a shell")
}

fn bubblewrap(fixture: &BenchFixture) -> Contestant<'static> {
    let name = "`bwrap --unshare-all … bash -c true` per command";
    if let Some(why) = absent("bwrap") {
        return Contestant::missing(name, why);
    }
    let identity = fixture.identity;
    Contestant::new(name, move || {
        let mut bwrap = Program::new("bwrap");
        bwrap.args("--unshare-all --ro-bind / / --dev /dev --proc /proc bash -c true".split(' '));
        bwrap.current_dir("/");
        if let Some(identity) = identity {
            bwrap.uid(identity.uid).gid(identity.gid);
        }
        run(&mut bwrap);
    })
}

/// A session with a shell.
pub(crate) struct Caller<'a> {
    fixture: &'a BenchFixture,
    session: telechir_runtime::Session,
    next: Box<dyn FnMut() -> String>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(fixture: &'a BenchFixture, name: &str, journal: &Path) -> Self {
        let builder = fixture
            .session(journal)
            .shell(Box::new(bash(fixture, name)));
        // The journal's threads need a runtime.
        let session = {
            let _inside = fixture.runtime.enter();
            builder.build().expect("a session")
        };
        Self {
            fixture,
            session,
            next: Box::new(ids()),
        }
    }

    pub(crate) fn call(&mut self) {
        let line = vec![Command::Line("true".to_owned())];
        let call = Content::ShellCall(ShellCall::execute((self.next)(), line));
        self.fixture.execute(&mut self.session, call);
    }

    pub(crate) fn close(self) {
        let closed = self.fixture.runtime.block_on(self.session.close());
        closed.expect("a clean close");
    }
}
