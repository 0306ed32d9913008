//! `true`, a first command and a gigabyte, in the shell that stays and in others.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command as Program;
use std::time::{Duration, Instant};

use telechir_device::{BoxShell, Shell as _, ShellCommand};
use telechir_protocol::{Command, Content, ShellCall};
use telechir_shell::{Bash, Isolation, Sandbox};

use crate::fixture::{Stage, ids, run};
use crate::peers::{Peers, absent};
use crate::table::{Contestant, compare, remark, table};

const RUNS: usize = 200;
/// For those that take a thousand times as long.
const FEW: usize = 20;
/// Commands of a turn in which nothing else comes between.
const IN_A_ROW: u32 = 10;
/// Bytes of what is written at once.
const PAGE: usize = 4096;
const GIGABYTE: &str = "head -c 1G /dev/zero";
/// Says where codex's program is.
const CODEX: &str = "TELECHIR_PEERS_CODEX";

pub(crate) fn commands(stage: &Stage, peers: &mut Peers) {
    table("`true` in a persistent sandboxed shell");
    let mut bash = bash(stage, "direct");
    let command = line("true");
    let direct = || {
        let output = stage.runtime.block_on(bash.run(&command));
        drop(output.expect("an output"));
    };
    let mut pty = || peers.ask("pty");
    let pty = match pty() {
        Ok(()) => Contestant::new("persistent bash on a pty, no sandbox", || {
            pty().expect("it did before");
        }),
        Err(why) => Contestant::missing("persistent bash on a pty", why),
    };
    let others = vec![
        Contestant::new("shell alone, no policy and no journal", direct),
        pty,
        Contestant::new("`bash -c true` per command, no sandbox", || {
            run(Program::new("bash").args(["-c", "true"]));
        }),
        bubblewrap(stage),
    ];
    compare(RUNS, others);
    products(stage, peers);
    calls(stage);
    remark(
        "The contestants take turns, so each one starts on idle cores. The intent and the outcome of a call are on disk before its result is returned. Every call has a journal: the in-memory row shows the cost of the disk, and the last row the minimum that this disk allows.",
    );
    in_a_row(stage, peers);
}

/// Judged and recorded. Each has its shell and its session; they take turns, so that the disk is
/// as busy for both.
fn calls(stage: &Stage) {
    let disk = stage.make("disk");
    let mut on_disk = Caller::new(stage, "on disk", &disk);
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let mut in_memory = Caller::new(stage, "in memory", memory.path());
    let log = log(&stage.make("bare disk").join("log")).expect("a file");
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

/// A file with room for 256 pages, which is on the disk.
fn log(path: &Path) -> std::io::Result<File> {
    let log = File::create(path)?;
    log.write_all_at(&[0; 256 * PAGE], 0)?;
    log.sync_all()?;
    Ok(log)
}

/// The same without a pause between one command and the next.
fn in_a_row(stage: &Stage, peers: &mut Peers) {
    table(&format!("`true`, {IN_A_ROW} in a row, time per command"));
    let mut bash = bash(stage, "in a row");
    let command = line("true");
    let direct = || {
        let output = stage.runtime.block_on(bash.run(&command));
        drop(output.expect("an output"));
    };
    let mut pty = || peers.ask("pty");
    let name = "persistent bash on a pty, no sandbox";
    let pty = match pty() {
        Ok(()) => row(name, || pty().expect("it did before")),
        Err(why) => Contestant::missing(name, why),
    };
    compare(
        RUNS,
        vec![row("shell alone, no policy and no journal", direct), pty],
    );
    let folder = stage.make("row on disk");
    let mut on_disk = Caller::new(stage, "row on disk", &folder);
    let call = row("as a call: policy, journal on disk", || on_disk.call());
    compare(RUNS, vec![call]);
    on_disk.close();
}

/// One turn of so many; what each took.
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
fn products(stage: &Stage, peers: &mut Peers) {
    let mut bash = bash(stage, "beside products");
    let command = line("true");
    let ours = || {
        let output = stage.runtime.block_on(bash.run(&command));
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
    let found = names.map(|(question, name)| (question, name, peers.ask(question)));
    let peers = std::cell::RefCell::new(peers);
    let asked = found
        .into_iter()
        .map(|(question, name, found)| match found {
            Ok(()) => Contestant::new(name, || {
                let asked = peers.borrow_mut().ask(question);
                asked.expect("it did before");
            }),
            Err(why) => Contestant::missing(name, why),
        });
    let first = Contestant::new("shell alone, no policy and no journal", ours);
    let all = std::iter::once(first).chain(asked).chain([codex(stage)]);
    compare(FEW, all.collect());
}

fn codex(stage: &Stage) -> Contestant<'static> {
    let name = "`codex sandbox -- bash -c true` per command";
    let program = std::env::var_os(CODEX).filter(|program| Path::new(program).exists());
    let Some(program) = program else {
        return Contestant::missing(name, "not installed");
    };
    let folder = stage.folder().to_owned();
    let once = move || {
        let mut codex = Program::new(&program);
        codex.args("sandbox -- bash -c true".split(' '));
        codex.current_dir(&folder);
        codex
    };
    let tried = once().output().expect("it starts");
    if !tried.status.success() {
        let said = String::from_utf8_lossy(&tried.stderr);
        let last = said.lines().last().unwrap_or("it fails").to_owned();
        return Contestant::missing(name, last);
    }
    Contestant::new(name, move || run(&mut once()))
}

/// A shell from nothing to the end of its first command.
pub(crate) fn starts(stage: &Stage) {
    table("First command of a new sandboxed shell");
    let mut count = 0;
    let ours = || {
        count += 1;
        let name = format!("new {count}");
        let folder = stage.make(&name);
        let start = Instant::now();
        let mut bash = shell_in(stage, folder);
        let output = stage.runtime.block_on(bash.run(&line("true")));
        let took = start.elapsed();
        drop(output.expect("an output"));
        let closed = stage.runtime.block_on(bash.close());
        closed.expect("an end");
        took
    };
    let all = vec![
        Contestant::timed("new shell and its first command", ours),
        bubblewrap(stage),
        codex(stage),
    ];
    compare(40, all);
    remark("Shutdown is not counted for telechir; it is for the others.");
}

/// More than anyone keeps.
pub(crate) fn gigabyte(stage: &Stage) {
    table("1 GiB of output");
    let mut bash = bash(stage, "gigabyte");
    let before = peak();
    let command = line(GIGABYTE);
    let ours = || {
        let output = stage.runtime.block_on(bash.run(&command));
        let output = output.expect("an output");
        assert!(output.truncated_bytes > 1_000_000_000, "it was counted");
    };
    let pipe = || {
        let both = format!("{GIGABYTE} | cat >/dev/null");
        run(Program::new("bash").args(["-c", &both]));
    };
    let all = vec![
        Contestant::new("as a command, first 256 MiB spooled to a file", ours),
        Contestant::new("`cat` from a pipe to `/dev/null`", pipe),
    ];
    compare(5, all);
    let grown = peak().saturating_sub(before);
    remark(&format!("Peak memory of telechir grew by {grown} kB."));
}

/// The most memory that this process had, in kB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("a number")
}

fn bash(stage: &Stage, name: &str) -> Bash {
    shell_in(stage, stage.make(name))
}

fn shell_in(stage: &Stage, folder: std::path::PathBuf) -> Bash {
    let sandbox = Sandbox {
        identity: stage.identity,
        ..Sandbox::new(folder)
    };
    let bash = stage
        .runtime
        .block_on(Bash::start(Isolation::Sandbox(sandbox)));
    bash.expect("a shell")
}

fn bubblewrap(stage: &Stage) -> Contestant<'static> {
    let name = "`bwrap --unshare-all … bash -c true` per command";
    if let Some(why) = absent("bwrap") {
        return Contestant::missing(name, why);
    }
    let identity = stage.identity;
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
struct Caller<'a> {
    stage: &'a Stage,
    session: telechir_runtime::Session,
    next: Box<dyn FnMut() -> String>,
}

impl<'a> Caller<'a> {
    fn new(stage: &'a Stage, name: &str, journal: &Path) -> Self {
        let builder = stage
            .session(journal)
            .shell(BoxShell::new(bash(stage, name)));
        // The journal's own threads want a runtime about them.
        let session = {
            let _inside = stage.runtime.enter();
            builder.build().expect("a session")
        };
        Self {
            stage,
            session,
            next: Box::new(ids()),
        }
    }

    fn call(&mut self) {
        let line = vec![Command::Line("true".to_owned())];
        let call = Content::ShellCall(ShellCall::execute((self.next)(), line));
        self.stage.carry_out(&mut self.session, call);
    }

    fn close(self) {
        let closed = self.stage.runtime.block_on(self.session.close());
        closed.expect("an end");
    }
}
