//! One living bash: how it starts, what belongs to it, how it ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use telechir_device::DeviceError;
use telechir_egress::Serving;
use telechir_process::confinement::{self, Protected, Told, gone};
use telechir_process::{Cgroup, Child, Pid, Signal, SpawnError, Stdio};
use tokio::time::{sleep, timeout};

use crate::config::Isolation;
use crate::control_channel::{Exchange, Report};
use crate::disk_guard::Keeper;
use crate::processes::{self, Marks, Process};
use crate::spool::Spools;
use crate::terminal::Terminal;
use crate::{docker, host, sandbox, script};

/// A sandbox takes some ten milliseconds; a machine out of breath takes longer.
const START: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(5);
/// Nothing tells of the end of processes that are not our children.
const AGAIN: Duration = Duration::from_millis(5);

/// How many processes were ended, and for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    memory: u64,
    disk: u64,
}

/// A bash that waits for commands or runs one.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) child: Child,
    pub(crate) terminal: Terminal,
    pub(crate) exchange: Exchange,
    /// Its folder when it was ready.
    pub(crate) cwd: String,
    /// bash, which leads its terminal's session.
    pub(crate) shell: Pid,
    shell_fd: OwnedFd,
    /// The first process of a sandbox or container: when it is gone, so is all inside.
    first: Option<OwnedFd>,
    first_pid: Option<Pid>,
    /// What bounds all of it together.
    pub(crate) group: Option<Cgroup>,
    /// What keeps its disk from being filled.
    disk: Option<Keeper>,
    /// What was told of processes that were ended for what they used up.
    told: Ended,
    /// Held as long as the sandbox lives.
    _told: Option<Told>,
    _protected: Option<Protected>,
    _network: Option<Serving>,
    /// The container ends when nobody holds these.
    _wires: [Option<OwnedFd>; 2],
}

impl Session {
    /// Starts bash and waits until it is ready.
    ///
    /// # Errors
    /// When it, or the sandbox, cannot be had.
    pub(crate) async fn start(isolation: &Isolation, spools: &Spools) -> Result<Self, DeviceError> {
        match isolation {
            Isolation::Sandbox(sandbox) => Self::start_in_sandbox(sandbox, spools).await,
            Isolation::Docker(docker) => Self::start_in_container(docker, spools).await,
            Isolation::Host(host) => Self::start_on_host(host).await,
        }
    }

    async fn start_in_container(
        docker: &crate::Docker,
        spools: &Spools,
    ) -> Result<Self, DeviceError> {
        docker::engine_runs(docker).await?;
        let failed =
            |error: io::Error| docker::unavailable(&format!("could not prepare it: {error}"));
        let owner = Some(docker.identity);
        if docker.identity.uid == 0 {
            return Err(docker::unavailable("commands must not run as root"));
        }
        let workspace = confinement::workspace(&docker.workspace, owner)
            .map_err(|error| docker::unavailable(&error.to_string()))?;
        let mut exchange =
            Exchange::new(&docker.runtime_dir, Some(sandbox::INSIDE), owner).map_err(failed)?;
        exchange
            .write("startup", &script::startup(&exchange))
            .map_err(failed)?;
        let (terminal, name) = Terminal::open_by("/dev/ptmx".as_ref(), owner).map_err(failed)?;
        let arguments = docker::arguments(
            docker,
            docker::Shared {
                workspace: &workspace,
                exchange: exchange.path(),
                outputs: &spools.folder(),
                terminal: name.as_ref(),
            },
        );
        let spawn = docker::engine(docker, arguments).stdin(Stdio::Piped);
        let child = spawn.spawn().await;
        let mut child =
            child.map_err(|error| docker::unavailable(&format!("could not {error}")))?;
        let wires = [child.take_stdin(), child.take_stderr()];
        let ended = || {
            let said = docker::said(wires[1].as_ref());
            docker::unavailable(&format!(
                "the container ended before bash was ready: {said}"
            ))
        };
        let report = ready(&mut exchange, &child).await.ok_or_else(ended)?;
        let mut session = Self::with(child, terminal, exchange, report).map_err(failed)?;
        session._wires = wires;
        let refused =
            |error: confinement::ConfinementError| docker::unavailable(&error.to_string());
        confinement::verify_container(session.shell).map_err(refused)?;
        let first = processes::first_of_namespace(session.shell)
            .ok_or_else(|| docker::unavailable("its processes cannot be seen from here"))?;
        let first_fd =
            pidfd_open(first, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        session.first = Some(first_fd);
        session.first_pid = Some(first);
        Ok(session)
    }

    async fn start_in_sandbox(
        sandbox: &crate::Sandbox,
        spools: &Spools,
    ) -> Result<Self, DeviceError> {
        let identity = sandbox::identity(sandbox)?;
        let workspace: PathBuf = sandbox::workspace(sandbox)?;
        let failed =
            |error: io::Error| sandbox::unavailable(&format!("could not prepare it: {error}"));
        let mut exchange =
            Exchange::new(&sandbox.runtime_dir, Some(sandbox::INSIDE), identity).map_err(failed)?;
        exchange
            .write("startup", &sandbox::startup(sandbox, &exchange))
            .map_err(failed)?;
        let (terminal, theirs) = Terminal::open(identity).map_err(failed)?;
        let prepared = sandbox::prepare(sandbox, &workspace, &exchange, spools, theirs)?;
        let child = prepared.spawn.spawn().await;
        let child = child
            .map_err(|error: SpawnError| sandbox::unavailable(&format!("could not {error}")))?;
        let complaint = || sandbox::refused(prepared.told.complaint());
        let report = ready(&mut exchange, &child).await.ok_or_else(complaint)?;
        let first = prepared.told.first_process().ok_or_else(complaint)?;
        let first_fd =
            pidfd_open(first, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        let mut session = Self::with(child, terminal, exchange, report).map_err(failed)?;
        session.first = Some(first_fd);
        session.first_pid = Some(first);
        session._told = Some(prepared.told);
        if let Some(stopped) = &prepared.protected.too_large {
            tracing::warn!(at = %stopped.display(), "too many files to look for links in protected folders");
        }
        session._protected = Some(prepared.protected);
        sandbox::verify(session.shell)?;
        session._network = sandbox::open_network(sandbox, first)?;
        let disk = Keeper::start(&workspace, &sandbox.limits, first, session.shell);
        session.disk = Some(disk.map_err(failed)?);
        let mut group = prepared.group;
        group.prove(session.shell);
        if !group.bounds().hold() {
            tracing::info!(bounds = %group.bounds(), "limits");
        }
        session.group = Some(group);
        Ok(session)
    }

    async fn start_on_host(host: &crate::Host) -> Result<Self, DeviceError> {
        let unavailable = |message: String| DeviceError::Unavailable {
            what: "the host shell",
            message,
        };
        let failed = |error: io::Error| unavailable(error.to_string());
        tracing::warn!(workspace = %host.workspace.display(), "commands run without a sandbox");
        let mut exchange = Exchange::new(&host.runtime_dir, None, None).map_err(failed)?;
        exchange
            .write("startup", &script::startup(&exchange))
            .map_err(failed)?;
        let (terminal, theirs) = Terminal::open(None).map_err(failed)?;
        let child = host::prepare(host, &exchange, theirs).spawn().await;
        let child = child.map_err(|error| unavailable(format!("could not {error}")))?;
        let ended = || unavailable("bash ended before it was ready".to_owned());
        let report = ready(&mut exchange, &child).await.ok_or_else(ended)?;
        Self::with(child, terminal, exchange, report).map_err(failed)
    }

    fn with(
        child: Child,
        terminal: Terminal,
        exchange: Exchange,
        report: Report,
    ) -> io::Result<Self> {
        let shell = terminal.leader()?;
        let shell_fd = pidfd_open(shell, PidfdFlags::empty())?;
        Ok(Self {
            child,
            terminal,
            exchange,
            cwd: report.cwd,
            shell,
            shell_fd,
            first: None,
            first_pid: None,
            group: None,
            disk: None,
            told: Ended::default(),
            _told: None,
            _protected: None,
            _network: None,
            _wires: [None, None],
        })
    }

    /// What a command began that started at this tick.
    pub(crate) fn begun(&self, since: u64) -> Vec<Process> {
        let mut begun = processes::begun(self.processes(), since);
        begun.retain(|process| !processes::is_of_a_job(process.pid));
        begun
    }

    /// A further terminal, which programs of this session can open by the name that comes with it.
    pub(crate) fn open_terminal(&self) -> io::Result<(Terminal, String)> {
        let maker = match self.first_pid {
            Some(first) => format!("/proc/{}/root/dev/ptmx", first.as_raw_nonzero()),
            None => "/dev/ptmx".to_owned(),
        };
        Terminal::open_by(maker.as_ref(), self.exchange.owner())
    }

    /// What is to be said of processes that were ended since this was last asked, because they
    /// used up too much together.
    pub(crate) fn note(&mut self) -> String {
        let now = self.ended();
        let told = std::mem::replace(&mut self.told, now);
        self.note_since(told)
    }

    /// How many processes were ended so far for what they used up.
    pub(crate) fn ended(&self) -> Ended {
        Ended {
            memory: self.group.as_ref().map_or(0, Cgroup::killed_for_memory),
            disk: self.disk.as_ref().map_or(0, Keeper::ended),
        }
    }

    /// What is to be said of those that were ended since then.
    pub(crate) fn note_since(&self, told: Ended) -> String {
        let (now, mut note) = (self.ended(), String::new());
        let what = |count| if count == 1 { "a process" } else { "processes" };
        if let Some(group) = self.group.as_ref().filter(|_| now.memory > told.memory) {
            let mib = group.bounds().memory_bytes.unwrap_or_default() >> 20;
            let what = what(now.memory - told.memory);
            note.push_str(&format!(
                "[the kernel ended {what}: all together used more than {mib} MiB of memory]\n"
            ));
        }
        if let Some(disk) = self.disk.as_ref().filter(|_| now.disk > told.disk) {
            let (what, why) = (what(now.disk - told.disk), disk.why());
            note.push_str(&format!("[ended {what} that wrote on: {why}]\n"));
        }
        note
    }

    /// Interrupts bash itself, so that it does not go on with a list or a loop.
    pub(crate) fn interrupt(&self) {
        // It may be over by now.
        let _gone = pidfd_send_signal(&self.shell_fd, Signal::INT);
    }

    fn processes(&self) -> Vec<Process> {
        // A sandbox is a namespace, whose tree nobody leaves.
        let variable = self.first.is_none().then(|| host::mark(&self.exchange));
        let marks = Marks {
            root: self.first_pid.unwrap_or_else(|| self.child.pid()),
            shell: self.shell,
            variable: variable.as_deref(),
        };
        processes::of_session(marks)
    }

    /// Kills everything of it.
    fn kill(&self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        match &self.first {
            Some(first) => {
                let _gone = pidfd_send_signal(first, Signal::KILL);
            }
            None => processes::signal(&self.processes(), Signal::KILL),
        }
        let _gone = pidfd_send_signal(&self.shell_fd, Signal::KILL);
        let _gone = self.child.signal_group(Signal::KILL);
    }

    /// Kills everything of it and waits until it is gone.
    ///
    /// # Errors
    /// When something is still there.
    pub(crate) async fn end(self) -> io::Result<()> {
        self.kill();
        let gone = timeout(END, async {
            self.child.wait().await?;
            match &self.first {
                Some(first) => gone(first.as_fd()).await,
                None => {
                    // Whatever was begun while the others were killed.
                    while !self.processes().is_empty() {
                        self.kill();
                        sleep(AGAIN).await;
                    }
                    Ok(())
                }
            }
        });
        gone.await.map_err(|_| io::Error::from(Errno::TIMEDOUT))?
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The first report; none when bash ended instead or took too long.
async fn ready(exchange: &mut Exchange, child: &Child) -> Option<Report> {
    let control = exchange.listen().ok()?;
    let report = async {
        tokio::select! {
            biased;
            report = exchange.report(&control) => report.ok(),
            _ = child.wait() => None,
        }
    };
    timeout(START, report).await.ok().flatten()
}
