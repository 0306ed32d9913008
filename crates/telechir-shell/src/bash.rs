//! The shell device: one bash, restarted when it is lost.

mod background;
pub(crate) mod input;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use telechir_device::{DeviceError, OutputObserver, Shell, ShellCommand, ShellInput, ShellJob};
use telechir_process::Signal;
use telechir_process::confinement::Undone;
use telechir_protocol::{CommandOutput, InputRequest, InputRequestKind, ShellOutcome};
use tokio::time::Instant;

use crate::background_output::BackgroundOutput;
use crate::config::Isolation;
use crate::control_channel::{COMMAND, CommandReport};
use crate::jobs::Jobs;
use crate::running::{CommandEvent, LookFor, RunningCommand};
use crate::session::{KillCounts, ShellSession};
use crate::spool::Spools;
use crate::{processes, sandbox, script};

/// Time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_millis(500);
/// Maximum rounds of SIGKILL, [`KILL_PAUSE`] apart, for processes started in the meantime.
const MAX_KILLS: u32 = 20;
/// Time for which the end of a command is polled in place, without the async runtime.
const INLINE_WAIT: Duration = Duration::from_micros(300);
/// The script with the directory and variables of a single command.
const RUN_FILE: &str = "run";
const KILL_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of moved files that one result names.
const MAX_UNDONE_SHOWN: usize = 5;

/// A persistent bash.
///
/// Directory, variables, functions and jobs persist between commands. If bash is lost (`exit`,
/// `exec`, a kill), a new one is started in the workspace, and the output reports it. In a sandbox
/// no process outlives the shell; on the host, a process that left its parent, session and
/// environment can.
///
/// A command that waits for input is reported immediately and killed by the next command. The same
/// holds for one whose `run` future was dropped.
#[derive(Debug)]
pub struct Bash {
    isolation: Isolation,
    session: Option<ShellSession>,
    running: Option<RunningCommand>,
    background_output: BackgroundOutput,
    jobs: Jobs,
    spools: Spools,
    observer: Option<Arc<dyn OutputObserver>>,
    cwd: Option<String>,
    /// Pending notice of processes of a lost shell that were killed for their resource use.
    kill_notice: String,
    /// What commands left at protected paths during the session.
    undone: Vec<Undone>,
}

/// How following a command ended.
#[derive(Debug)]
enum CommandEnd {
    Reported(CommandReport),
    Lost {
        code: Option<i32>,
    },
    Stopped {
        signal: Signal,
        report: Option<CommandReport>,
    },
    Waiting(InputRequestKind),
}

impl Bash {
    /// Starts bash with this isolation.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] with the reason and the fix if bash or the sandbox cannot be
    /// started. There is never less isolation than requested.
    pub async fn start(isolation: Isolation) -> Result<Self, DeviceError> {
        let mut bash = Self {
            spools: spools(&isolation)?,
            jobs: Jobs::default(),
            isolation,
            session: None,
            running: None,
            background_output: BackgroundOutput::new(),
            observer: None,
            cwd: None,
            kill_notice: String::new(),
            undone: Vec::new(),
        };
        bash.start_session().await?;
        Ok(bash)
    }

    async fn start_session(&mut self) -> Result<(), DeviceError> {
        let session = ShellSession::start(&self.isolation, &self.spools).await?;
        self.cwd = Some(session.cwd.clone());
        self.session = Some(session);
        Ok(())
    }

    /// The session, restarted if there is none.
    async fn session(&mut self) -> Result<&mut ShellSession, DeviceError> {
        if self.session.is_none() {
            self.start_session().await?;
        }
        self.session
            .as_mut()
            .ok_or_else(|| shell_gone(io::ErrorKind::NotFound.into()))
    }

    /// Runs one command until it ends or waits; the session is gone if bash was lost.
    async fn execute(&mut self, command: &ShellCommand) -> Result<CommandEnd, DeviceError> {
        let text = script::text(&command.command)?;
        let session = self.session().await?;
        let is_plain = command.cwd.is_none() && command.env.is_empty();
        let run = script::run(&session.channel, command)?;
        let max = command.max_output_bytes;
        let spools = self.spools.clone();
        let session = self.session().await?;
        let prepared = |session: &mut ShellSession| {
            session.channel.clear();
            let running = RunningCommand::new(session.channel.next()?, max, &spools);
            session.channel.write_command(&text)?;
            if !is_plain {
                session.channel.write(RUN_FILE, &run)?;
            }
            Ok(running)
        };
        let running = prepared(session).map_err(shell_gone)?;
        let line = script::line(&session.channel, if is_plain { COMMAND } else { RUN_FILE });
        let mut running = running;
        running.expect_echo(line.as_bytes());
        running.observe(self.observer.clone());
        let deadline = running.started + command.timeout;
        // Set before typing, so that it is found if this future is dropped.
        self.running = Some(running);
        let session = self.session().await?;
        session
            .terminal
            .type_line(&line)
            .await
            .map_err(shell_gone)?;
        match session
            .channel
            .report_within(INLINE_WAIT.min(command.timeout))
        {
            Some(report) => Ok(CommandEnd::Reported(report)),
            None => self.end(deadline).await,
        }
    }

    /// Follows the command until it ends or waits for input.
    async fn end(&mut self, deadline: Instant) -> Result<CommandEnd, DeviceError> {
        match self.next_event(deadline, LookFor::EndOrInput).await? {
            CommandEvent::Reported(report) => Ok(CommandEnd::Reported(report)),
            CommandEvent::Ended(status) => {
                self.mark_lost().await;
                let signal = status.signal().map(|signal| 128 + signal);
                Ok(CommandEnd::Lost {
                    code: status.code().or(signal),
                })
            }
            CommandEvent::Waiting(kind) => Ok(CommandEnd::Waiting(kind)),
            CommandEvent::TimeOver => self.stop().await,
        }
    }

    async fn next_event(
        &mut self,
        deadline: Instant,
        look_for: LookFor,
    ) -> Result<CommandEvent, DeviceError> {
        let (Some(session), Some(running)) = (&mut self.session, &mut self.running) else {
            return Err(shell_gone(io::ErrorKind::NotFound.into()));
        };
        running
            .next_event(session, deadline, look_for)
            .await
            .map_err(shell_gone)
    }

    /// Kills the running command and its descendants: SIGTERM, then SIGKILL. bash is interrupted,
    /// too, so that it does not continue with the rest of a list. If that fails, bash is killed.
    async fn stop(&mut self) -> Result<CommandEnd, DeviceError> {
        let mut signal = Signal::TERM;
        for round in 0..=MAX_KILLS {
            let (Some(session), Some(running)) = (&self.session, &self.running) else {
                break;
            };
            let since = running.since;
            session.interrupt();
            processes::signal(&session.started_since(since), signal);
            let pause = if round == 0 { GRACE_PERIOD } else { KILL_PAUSE };
            match self
                .next_event(Instant::now() + pause, LookFor::End)
                .await?
            {
                CommandEvent::Reported(report) => {
                    if let Some(session) = &self.session {
                        // Background processes of it that ignored SIGTERM.
                        processes::signal(&session.started_since(since), Signal::KILL);
                    }
                    return Ok(CommandEnd::Stopped {
                        signal,
                        report: Some(report),
                    });
                }
                CommandEvent::Ended(_) => break,
                CommandEvent::TimeOver | CommandEvent::Waiting(_) => signal = Signal::KILL,
            }
        }
        self.mark_lost().await;
        Ok(CommandEnd::Stopped {
            signal,
            report: None,
        })
    }

    /// Kills what is left of an unusable bash.
    async fn mark_lost(&mut self) {
        if let Some(mut session) = self.session.take() {
            self.kill_notice = session.kill_notice();
            self.jobs.mark_lost(&self.kill_notice);
            match session.end().await {
                Ok(undone) => {
                    let notice = self.undone_notice(undone);
                    self.kill_notice.push_str(&notice);
                }
                Err(error) => tracing::warn!(%error, "a lost shell did not end in time"),
            }
        }
    }

    /// Kills a command that still runs before the next one; returns the notice about it.
    ///
    /// # Errors
    /// If this or a changed file required a new shell: the next command was written for the folder
    /// and variables of the old one, and could do harm elsewhere.
    async fn end_previous(&mut self) -> Result<String, DeviceError> {
        let mut before = String::new();
        let mut is_new = false;
        if self.running.is_some() {
            self.stop().await?;
            before.push_str("[the previous command was still running and was ended]\n");
            match (self.running.take(), self.session.is_some()) {
                (Some(running), true) => self.detach(running),
                (_, true) => {}
                (_, false) => {
                    before.push_str(&self.replace().await);
                    is_new = true;
                }
            }
        }
        before.push_str(&self.background_output.take());
        let session = self.session.as_ref();
        if session.is_some_and(ShellSession::may_have_changed) {
            // What a background program left before it ended is not the user's.
            before.push_str(&self.protection_notice());
        }
        if let Some(notice) = self.protect_changed_files().await {
            before.push_str(&notice);
            is_new = true;
        }
        if is_new {
            return Err(DeviceError::Refused {
                message: format!(
                    "{before}The command was not executed; adapt it and send it again."
                ),
            });
        }
        Ok(before)
    }

    /// Starts a new shell if others created or replaced protected files: the sandbox of this one
    /// does not protect them. Returns the notice about it.
    async fn protect_changed_files(&mut self) -> Option<String> {
        let changed = self.session.as_ref()?.accept_changes();
        let path = changed
            .first()?
            .to_string_lossy()
            .escape_debug()
            .to_string();
        self.mark_lost().await;
        let replaced = self.replace().await;
        Some(format!(
            "[{path} is new, or another program changed or removed it, so the shell was restarted to protect it]\n{replaced}"
        ))
    }

    /// Undoes what commands created at protected paths, and returns the notice about it.
    fn protection_notice(&mut self) -> String {
        let session = self.session.as_mut();
        let undone = session.map_or_else(Vec::new, ShellSession::undo_changes);
        self.undone_notice(undone)
    }

    fn undone_notice(&mut self, undone: Vec<Undone>) -> String {
        let mut notice = String::new();
        for one in undone.iter().take(MAX_UNDONE_SHOWN) {
            notice.push_str(&format!("[{one}]\n"));
        }
        if let Some(more) = undone
            .len()
            .checked_sub(MAX_UNDONE_SHOWN)
            .filter(|more| *more > 0)
        {
            notice.push_str(&format!(
                "[the same holds for {more} more paths; the log names them]\n"
            ));
        }
        self.undone.extend(undone);
        notice
    }

    /// The result of a command, or the error.
    async fn finish(
        &mut self,
        end: Result<CommandEnd, DeviceError>,
        before: String,
    ) -> Result<CommandOutput, DeviceError> {
        match end {
            Ok(end) => Ok(self.result(end, before).await),
            // An invalid command leaves the shell as it is.
            Err(error @ (DeviceError::Refused { .. } | DeviceError::Unavailable { .. })) => {
                Err(error)
            }
            // The terminal was closed, or bash was lost without another event.
            Err(error) => {
                tracing::warn!(%error, "the shell was lost");
                self.mark_lost().await;
                Ok(self.result(CommandEnd::Lost { code: None }, before).await)
            }
        }
    }

    /// The result of a command; starts a new bash if the old one was lost.
    async fn result(&mut self, end: CommandEnd, before: String) -> CommandOutput {
        let mut prompt = String::new();
        let (mut out, mut err, duration) = match &mut self.running {
            Some(running) => {
                running.drain(self.session.as_ref().map(|session| &session.terminal));
                prompt = running.prompt();
                let [out, err] = running.captured();
                (out, err, running.started.elapsed())
            }
            None => Default::default(),
        };
        if let Some(session) = &self.session {
            session.command_ended();
        }
        let lost = self.session.is_none();
        if !matches!(end, CommandEnd::Waiting(_))
            && let Some(running) = self.running.take()
            && !lost
        {
            self.detach(running);
        }
        let session = self.session.as_ref();
        let refusal = session.map(|session| session.refusal_notice([&err.text, &out.text]));
        err.text = before + &err.text + &refusal.unwrap_or_default();
        // Part of a pipeline or of a job: its end need not be the command's.
        err.text.push_str(&self.kill_notice());
        err.text.push_str(&self.protection_notice());
        if lost {
            err.text.push_str(&self.replace().await);
        }
        let mut awaiting = None;
        let (outcome, exit_code, signal) = match end {
            CommandEnd::Reported(report) => {
                self.cwd = Some(report.cwd);
                (outcome(report.code), Some(report.code), None)
            }
            CommandEnd::Lost { code } => (code.map_or(ShellOutcome::Error, outcome), code, None),
            CommandEnd::Stopped { signal, report } => {
                self.cwd = report.map(|report| report.cwd).or_else(|| self.cwd.take());
                (ShellOutcome::Timeout, None, Some(signal.as_raw()))
            }
            CommandEnd::Waiting(kind) => {
                awaiting = Some(InputRequest { kind, prompt });
                (ShellOutcome::AwaitingInput, None, None)
            }
        };
        CommandOutput {
            stdout: std::mem::take(&mut out.text),
            stderr: std::mem::take(&mut err.text),
            exit_code,
            signal,
            outcome,
            truncated_bytes: out.truncated_bytes + err.truncated_bytes,
            duration_ms: u64::try_from(duration.as_millis()).ok(),
            awaiting,
        }
    }

    /// The notice about processes that were killed for their resource use.
    fn kill_notice(&mut self) -> String {
        let before = std::mem::take(&mut self.kill_notice);
        match &mut self.session {
            Some(session) => before + &session.kill_notice(),
            None => before,
        }
    }

    /// Adds such a notice to a job's report.
    fn with_kill_notice(
        &mut self,
        job: &str,
        reported: KillCounts,
        mut output: CommandOutput,
    ) -> CommandOutput {
        if let Some(session) = &self.session {
            let refusal = session.refusal_notice([&output.stderr, &output.stdout]);
            output.stderr.push_str(&refusal);
        }
        output.stderr.push_str(&self.protection_notice());
        if let Some(session) = &self.session {
            output.stderr.push_str(&session.kill_notice_since(reported));
            self.jobs.set_reported(job, session.ended());
        }
        output
    }

    /// Detaches a finished command; open outputs are read in the background.
    fn detach(&mut self, running: RunningCommand) {
        if let (Some(outputs), Some(session)) = (
            running.detach(&mut self.background_output),
            &mut self.session,
        ) {
            session.channel.give_back(outputs);
        }
    }

    /// Starts a new bash and returns the notice about it.
    async fn replace(&mut self) -> String {
        const GONE: &str = "variables, functions and background jobs are gone";
        match self.start_session().await {
            Ok(()) => {
                let cwd = self.cwd.as_deref().unwrap_or("/");
                format!("[the shell ended; a new one was started in {cwd}: {GONE}]\n")
            }
            Err(error) => format!("[the shell ended: {GONE}; failed to {error}]\n"),
        }
    }

    /// Ends the shell and every process that it started.
    ///
    /// # Errors
    /// When something could not be ended.
    pub async fn close(mut self) -> Result<(), DeviceError> {
        let ended = match self.session.take() {
            Some(session) => session.end().await.map_err(shell_gone),
            None => Ok(Vec::new()),
        };
        let last = ended.as_deref().unwrap_or_default();
        for one in self.undone.iter().chain(last) {
            tracing::warn!("in the workspace, {one}");
        }
        ended.map(drop)
    }
}

#[async_trait]
impl Shell for Bash {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let before = self.end_previous().await?;
        let end = self.execute(command).await;
        self.finish(end, before).await
    }

    async fn send(&mut self, input: &ShellInput) -> Result<CommandOutput, DeviceError> {
        if let Some(job) = &input.job {
            let reported = self.jobs.reported(job);
            let output = self.jobs.send(job, input, &self.spools).await?;
            return Ok(self.with_kill_notice(job, reported, output));
        }
        let end = self.answer(input).await;
        self.finish(end, String::new()).await
    }

    fn hides_input(&self, job: Option<&str>) -> bool {
        match job {
            Some(job) => self.jobs.hides_input(job),
            None => self.hides_typed_input(),
        }
    }

    async fn start(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let before = self.end_previous().await?;
        let mut output = self.start_job(command).await?;
        output.stderr.insert_str(0, &before);
        Ok(output)
    }

    async fn jobs(&mut self) -> Result<Vec<ShellJob>, DeviceError> {
        Ok(self.jobs.list())
    }

    async fn read(&mut self, job: &str, max: usize) -> Result<CommandOutput, DeviceError> {
        let reported = self.jobs.reported(job);
        let output = self.jobs.read(job, max, &self.spools)?;
        Ok(self.with_kill_notice(job, reported, output))
    }

    async fn stop(&mut self, job: &str, max: usize) -> Result<CommandOutput, DeviceError> {
        let reported = self.jobs.reported(job);
        let output = self.jobs.stop(job, max, &self.spools).await?;
        Ok(self.with_kill_notice(job, reported, output))
    }

    async fn end_command(&mut self) -> Result<Option<CommandOutput>, DeviceError> {
        if self.running.is_none() {
            return Ok(None);
        }
        let end = self.stop().await;
        let output = self.finish(end, String::new()).await?;
        Ok(Some(CommandOutput {
            outcome: ShellOutcome::Cancelled,
            ..output
        }))
    }

    async fn restart(&mut self) -> Result<(), DeviceError> {
        self.running = None;
        self.background_output = BackgroundOutput::new();
        self.mark_lost().await;
        self.jobs.clear();
        self.start_session().await
    }

    fn observe_output(&mut self, observer: Arc<dyn OutputObserver>) {
        self.observer = Some(observer);
    }

    fn cwd(&self) -> Option<String> {
        self.cwd.clone()
    }

    fn is_sandboxed(&self) -> bool {
        matches!(self.isolation, Isolation::Sandbox(_) | Isolation::Docker(_))
    }

    fn bounds(&self) -> Option<String> {
        let group = self.session.as_ref()?.group.as_ref()?;
        Some(group.effective_limits().to_string())
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Self::close(*self).await
    }
}

fn spools(isolation: &Isolation) -> Result<Spools, DeviceError> {
    let made = match isolation {
        Isolation::Sandbox(sandbox) => Spools::new(
            &sandbox.output_dir,
            Some(sandbox::OUTPUT_DIR),
            sandbox::identity(sandbox)?,
        ),
        Isolation::Docker(docker) => {
            let owner = Some(docker.identity);
            Spools::new(&docker.output_dir, Some(sandbox::OUTPUT_DIR), owner)
        }
        Isolation::Host(host) => Spools::new(&host.output_dir, None, None),
    };
    made.map_err(|error| DeviceError::Unavailable {
        what: "the shell",
        message: format!("failed to create a folder for long outputs: {error}"),
    })
}

const fn outcome(code: i32) -> ShellOutcome {
    if code == 0 {
        ShellOutcome::Success
    } else {
        ShellOutcome::Error
    }
}

fn shell_gone(source: io::Error) -> DeviceError {
    DeviceError::Disconnected {
        device: "shell",
        source: Box::new(source),
    }
}
