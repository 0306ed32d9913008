//! `true`, in the shell that stays and in others.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command as Program;
use std::time::Duration;

use telechir_device::{BoxShell, Shell as _, ShellCommand};
use telechir_protocol::{Command, Content, ShellCall};
use telechir_shell::{Bash, Isolation, Sandbox};

use crate::peers::{Peers, absent};
use crate::stage::{Stage, ids, run};
use crate::table::{Contestant, compare, remark, table};

const RUNS: usize = 200;

pub(crate) fn commands(stage: &Stage, peers: &mut Peers) {
    table("`true` in a shell that stays, in a sandbox");
    let mut bash = bash(stage, "direct");
    let command = ShellCommand {
        command: Command::Line("true".to_owned()),
        timeout: Duration::from_secs(10),
        max_output_bytes: 1024,
        cwd: None,
        env: Vec::new(),
    };
    let direct = || {
        let output = stage.runtime.block_on(bash.run(&command));
        drop(output.expect("an output"));
    };
    let mut pty = || peers.ask("pty");
    let pty = match pty() {
        Ok(()) => Contestant::new("bash on a terminal that stays, without a sandbox", || {
            pty().expect("it did before");
        }),
        Err(why) => Contestant::missing("bash on a terminal that stays", why),
    };
    let others = vec![
        Contestant::new("without policy and journal", direct),
        pty,
        Contestant::new("`bash -c true` each time, without a sandbox", || {
            run(Program::new("bash").args(["-c", "true"]));
        }),
        bubblewrap(stage),
    ];
    compare(RUNS, others);
    // Each has its shell and its session; they take turns, so that the disk is as busy for both.
    let disk = stage.make("disk");
    let mut on_disk = Caller::new(stage, "on disk", &disk);
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let mut in_memory = Caller::new(stage, "in memory", memory.path());
    let calls = vec![
        Contestant::new("as a call: judged, journal on disk", || on_disk.call()),
        Contestant::new("as a call: judged, journal in memory", || in_memory.call()),
    ];
    compare(RUNS, calls);
    on_disk.close();
    in_memory.close();
    remark(
        "A call's intent and outcome are on the disk before it is answered. There is no call \
         without a journal; the first row is the shell alone, and the one in memory shows what \
         the disk costs.",
    );
}

fn bash(stage: &Stage, name: &str) -> Bash {
    let sandbox = Sandbox {
        identity: stage.identity,
        ..Sandbox::new(stage.make(name))
    };
    let bash = stage
        .runtime
        .block_on(Bash::start(Isolation::Sandbox(sandbox)));
    bash.expect("a shell")
}

fn bubblewrap(stage: &Stage) -> Contestant<'static> {
    let name = "`bwrap --unshare-all … bash -c true` each time";
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
