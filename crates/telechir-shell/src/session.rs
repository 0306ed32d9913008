//! One running bash: its start, its processes, and its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use telechir_device::DeviceError;
use telechir_egress::Serving;
use telechir_process::confinement::{self, Protected, SandboxInfo, Undone, wait_for_exit};
use telechir_process::{Cgroup, Child, Pid, Signal, SpawnError, Stdio};
use tokio::time::{sleep, timeout};

use crate::config::Isolation;
use crate::control_channel::{CommandReport, ControlChannel};
use crate::disk_guard::DiskGuard;
use crate::processes::{self, SessionMarks, ShellProcess};
use crate::socket_guard::SocketGuard;
use crate::spool::Spools;
use crate::terminal::Pty;
use crate::{docker, host, sandbox, script};

/// Time limit for a start. A sandbox takes about ten milliseconds, longer on a loaded machine.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The kernel does not report the end of processes that are not our children.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Number of processes killed, or not started, because of limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KillCounts {
    memory: u64,
    disk: u64,
    not_started: u64,
}

/// A bash that is idle or runs a command.
#[derive(Debug)]
pub(crate) struct ShellSession {
    pub(crate) child: Child,
    pub(crate) terminal: Pty,
    pub(crate) channel: ControlChannel,
    /// Working directory after the start.
    pub(crate) cwd: String,
    /// Pid of bash, which leads its terminal's session.
    pub(crate) shell: Pid,
    shell_fd: OwnedFd,
    /// First process of a sandbox or container; everything inside ends with it.
    first: Option<OwnedFd>,
    first_pid: Option<Pid>,
    /// The cgroup with the limits in total.
    pub(crate) group: Option<Cgroup>,
    /// Monitors the workspace's file system.
    disk: Option<DiskGuard>,
    /// Covers new sockets in the workspace.
    sockets: Option<SocketGuard>,
    /// Kills that were already reported.
    reported: KillCounts,
    /// Kept open as long as the sandbox runs.
    _info: Option<SandboxInfo>,
    protected: Option<Protected>,
    /// Whether nothing but bash was left when protected paths were last looked at.
    was_idle_at_look: bool,
    _network: Option<Serving>,
    /// Kept open, because the container ends when they close.
    _pipes: [Option<OwnedFd>; 2],
}

impl ShellSession {
    /// Starts bash and waits until it is ready.
    ///
    /// # Errors
    /// If bash or the sandbox cannot be started.
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
        docker::check_engine(docker).await?;
        let failed =
            |error: io::Error| docker::unavailable(&format!("failed to prepare it: {error}"));
        let owner = Some(docker.identity);
        if docker.identity.uid == 0 {
            return Err(docker::unavailable("commands must not run as root"));
        }
        let workspace = confinement::workspace(&docker.workspace, owner)
            .map_err(|error| docker::unavailable(&error.to_string()))?;
        let mut channel =
            ControlChannel::new(&docker.runtime_dir, Some(sandbox::CHANNEL_DIR), owner)
                .map_err(failed)?;
        channel
            .write("startup", &script::startup(&channel))
            .map_err(failed)?;
        let (terminal, name) = Pty::open_by("/dev/ptmx".as_ref(), owner).map_err(failed)?;
        let arguments = docker::arguments(
            docker,
            docker::ContainerMounts {
                workspace: &workspace,
                channel: channel.path(),
                outputs: &spools.folder(),
                terminal: name.as_ref(),
            },
        );
        let spawn = docker::engine(docker, arguments).stdin(Stdio::Piped);
        let child = spawn.spawn().await;
        let mut child =
            child.map_err(|error| docker::unavailable(&format!("failed to {error}")))?;
        let pipes = [child.take_stdin(), child.take_stderr()];
        let ended = || {
            let error_text = docker::pipe_text(pipes[1].as_ref());
            let hint = docker.runtime.as_ref().map_or_else(String::new, |runtime| {
                let runtime = runtime.as_str();
                format!("; the runtime `{runtime}` must pass on named pipes and a terminal")
            });
            docker::unavailable(&format!(
                "the container exited before bash was ready: {error_text}{hint}"
            ))
        };
        let report = first_report(&mut channel, &child).await.ok_or_else(ended)?;
        let mut session = Self::with(child, terminal, channel, report).map_err(failed)?;
        session._pipes = pipes;
        let refused =
            |error: confinement::ConfinementError| docker::unavailable(&error.to_string());
        confinement::verify_container(session.shell).map_err(refused)?;
        let first = processes::first_of_namespace(session.shell)
            .ok_or_else(|| docker::unavailable("its processes are not visible in /proc"))?;
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
            |error: io::Error| sandbox::unavailable(&format!("failed to prepare it: {error}"));
        let mut channel =
            ControlChannel::new(&sandbox.runtime_dir, Some(sandbox::CHANNEL_DIR), identity)
                .map_err(failed)?;
        channel
            .write("startup", &sandbox::startup(sandbox, &channel))
            .map_err(failed)?;
        let (terminal, slave) = Pty::open(identity).map_err(failed)?;
        let prepared = sandbox::prepare(sandbox, &workspace, &channel, spools, slave)?;
        let child = prepared.spawn.spawn().await;
        let child = child
            .map_err(|error: SpawnError| sandbox::unavailable(&format!("failed to {error}")))?;
        let complaint = || sandbox::unavailable_because(prepared.info.failure());
        let report = first_report(&mut channel, &child)
            .await
            .ok_or_else(complaint)?;
        let first = prepared.info.first_process().ok_or_else(complaint)?;
        let first_fd =
            pidfd_open(first, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        let mut session = Self::with(child, terminal, channel, report).map_err(failed)?;
        session.first = Some(first_fd);
        session.first_pid = Some(first);
        session._info = Some(prepared.info);
        for gap in &prepared.protected.gaps {
            tracing::warn!(gap, "protected files of the workspace");
        }
        let sockets = &prepared.protected.sockets;
        sandbox::warn_of_unsearched(sockets);
        session.sockets = Some(SocketGuard::start(&workspace, first, identity, sockets));
        session.protected = Some(prepared.protected);
        sandbox::verify(session.shell)?;
        sandbox::verify_mounts(session._info.as_ref(), first)?;
        session._network = sandbox::serve_network(sandbox, first)?;
        let disk = DiskGuard::start(&workspace, &sandbox.limits, first, session.shell);
        session.disk = Some(disk.map_err(failed)?);
        let mut group = prepared.group;
        group.verify_member(session.shell);
        if !group.effective_limits().limits_totals() {
            tracing::info!(bounds = %group.effective_limits(), "limits");
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
        let mut channel = ControlChannel::new(&host.runtime_dir, None, None).map_err(failed)?;
        channel
            .write("startup", &script::startup(&channel))
            .map_err(failed)?;
        let (terminal, slave) = Pty::open(None).map_err(failed)?;
        let child = host::prepare(host, &channel, slave).spawn().await;
        let child = child.map_err(|error| unavailable(format!("failed to {error}")))?;
        let ended = || unavailable("bash exited before it was ready".to_owned());
        let report = first_report(&mut channel, &child).await.ok_or_else(ended)?;
        Self::with(child, terminal, channel, report).map_err(failed)
    }

    fn with(
        child: Child,
        terminal: Pty,
        channel: ControlChannel,
        report: CommandReport,
    ) -> io::Result<Self> {
        let shell = terminal.leader()?;
        let shell_fd = pidfd_open(shell, PidfdFlags::empty())?;
        Ok(Self {
            child,
            terminal,
            channel,
            cwd: report.cwd,
            shell,
            shell_fd,
            first: None,
            first_pid: None,
            group: None,
            disk: None,
            sockets: None,
            reported: KillCounts::default(),
            _info: None,
            protected: None,
            was_idle_at_look: true,
            _network: None,
            _pipes: [None, None],
        })
    }

    /// Processes of a command that started at this tick, without those of background jobs.
    pub(crate) fn started_since(&self, since: u64) -> Vec<ShellProcess> {
        let mut started_since = processes::started_since(self.processes(), since);
        started_since.retain(|process| !processes::belongs_to_job(process.pid));
        started_since
    }

    /// Opens another terminal; programs of this session can open it by the returned name.
    pub(crate) fn open_terminal(&self) -> io::Result<(Pty, String)> {
        let maker = match self.first_pid {
            Some(first) => format!("/proc/{}/root/dev/ptmx", first.as_raw_nonzero()),
            None => "/dev/ptmx".to_owned(),
        };
        Pty::open_by(maker.as_ref(), self.channel.owner())
    }

    /// A notice about processes killed or not started since the last call because of limits in
    /// total.
    pub(crate) fn kill_notice(&mut self) -> String {
        let now = self.ended();
        let reported = std::mem::replace(&mut self.reported, now);
        self.kill_notice_since(reported)
    }

    /// Number of processes killed or not started so far because of limits.
    pub(crate) fn ended(&self) -> KillCounts {
        KillCounts {
            memory: self.group.as_ref().map_or(0, Cgroup::killed_for_memory),
            disk: self.disk.as_ref().map_or(0, DiskGuard::killed),
            not_started: self.group.as_ref().map_or(0, Cgroup::refused_processes),
        }
    }

    /// A notice about processes killed or not started since then.
    pub(crate) fn kill_notice_since(&self, reported: KillCounts) -> String {
        let (now, mut kill_notice) = (self.ended(), String::new());
        let what = |count| if count == 1 { "a process" } else { "processes" };
        if let Some(group) = self.group.as_ref().filter(|_| now.memory > reported.memory) {
            let mib = group.effective_limits().memory_bytes.unwrap_or_default() >> 20;
            let what = what(now.memory - reported.memory);
            kill_notice.push_str(&format!(
                "[the kernel killed {what}: total memory use exceeded {mib} MiB]\n"
            ));
        }
        if let Some(disk) = self.disk.as_ref().filter(|_| now.disk > reported.disk) {
            let (what, reason) = (what(now.disk - reported.disk), disk.reason());
            kill_notice.push_str(&format!("[killed {what} that kept writing: {reason}]\n"));
        }
        let refused = now.not_started > reported.not_started;
        if let Some(group) = self.group.as_ref().filter(|_| refused) {
            let max = group.effective_limits().processes.unwrap_or_default();
            kill_notice.push_str(&format!(
                "[the kernel did not start a process or thread: the limit of {max} in total was reached]\n"
            ));
        }
        kill_notice
    }

    /// Starts what follows each command in the background.
    pub(crate) fn command_ended(&self) {
        if let Some(sockets) = &self.sockets {
            sockets.command_ended();
        }
    }

    /// Whether a program that a command left behind may have changed the workspace since the last
    /// [`Self::undo_changes`].
    pub(crate) fn may_have_changed(&self) -> bool {
        !self.was_idle_at_look
    }

    /// Accepts what others changed in the workspace while nothing ran in the sandbox; returns the
    /// protected paths among it, which only a new sandbox protects.
    pub(crate) fn accept_changes(&self) -> Vec<PathBuf> {
        match &self.protected {
            Some(protected) if self.was_idle_at_look && self.is_idle() => {
                protected.accept_changes()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Undoes what programs in the sandbox created at protected paths.
    pub(crate) fn undo_changes(&mut self) -> Vec<Undone> {
        // First, so that what ends in between counts as running.
        self.was_idle_at_look = self.is_idle();
        let protected = self.protected.as_ref();
        protected.map_or_else(Vec::new, Protected::undo_changes)
    }

    /// A notice about the protected path that one of these outputs names as the cause of a failure.
    pub(crate) fn refusal_notice(&self, outputs: [&str; 2]) -> String {
        let explain =
            |protected: &Protected| outputs.iter().find_map(|output| protected.explain(output));
        let explained = self.protected.as_ref().and_then(explain);
        explained.map_or_else(String::new, |sentence| format!("[{sentence}]\n"))
    }

    /// Whether bash is the only program in the sandbox.
    fn is_idle(&self) -> bool {
        let Some(first) = self.first_pid else {
            return false;
        };
        let shell = self.shell.as_raw_nonzero().to_string();
        processes::children(first).is_some_and(|children| children == [shell])
            && processes::children(self.shell).is_some_and(|children| children.is_empty())
    }

    /// Interrupts bash itself, so that it does not continue with a list or loop.
    pub(crate) fn interrupt(&self) {
        // It may have exited.
        let _gone = pidfd_send_signal(&self.shell_fd, Signal::INT);
    }

    fn processes(&self) -> Vec<ShellProcess> {
        // A sandbox has a pid namespace, which no process can leave.
        let variable = self.first.is_none().then(|| host::mark(&self.channel));
        let marks = SessionMarks {
            root: self.first_pid.unwrap_or_else(|| self.child.pid()),
            shell: self.shell,
            variable: variable.as_deref(),
        };
        processes::session_processes(marks)
    }

    /// Kills all processes of the session.
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

    /// Kills all processes of the session and waits for their end. Returns what they left at
    /// protected paths.
    ///
    /// # Errors
    /// If a process still runs after five seconds.
    pub(crate) async fn end(mut self) -> io::Result<Vec<Undone>> {
        self.kill();
        let gone = timeout(END_TIMEOUT, async {
            self.child.wait().await?;
            match &self.first {
                Some(first) => wait_for_exit(first.as_fd()).await,
                None => {
                    // Processes started while the others were killed. One that just executes
                    // another program shows no environment, so one look without any is not enough.
                    let mut looks_without_any = 0;
                    while looks_without_any < 2 {
                        looks_without_any += 1;
                        if !self.processes().is_empty() {
                            looks_without_any = 0;
                            self.kill();
                        }
                        sleep(POLL_INTERVAL).await;
                    }
                    Ok(())
                }
            }
        });
        let ended = gone.await;
        let undone = self.undo_changes();
        ended.map_err(|_| io::Error::from(Errno::TIMEDOUT))??;
        Ok(undone)
    }
}

impl Drop for ShellSession {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for bash's first report; `None` if bash exits or takes too long.
async fn first_report(channel: &mut ControlChannel, child: &Child) -> Option<CommandReport> {
    let control = channel.listen().ok()?;
    let report = async {
        tokio::select! {
            biased;
            report = channel.report(&control) => report.ok(),
            _ = child.wait() => None,
        }
    };
    timeout(START_TIMEOUT, report).await.ok().flatten()
}
