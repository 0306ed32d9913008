//! The shell that the engine sees: one bash, begun anew whenever it was lost.

mod background;
pub(crate) mod input;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use telechir_device::{DeviceError, Shell, ShellCommand, ShellInput, ShellJob};
use telechir_process::Signal;
use telechir_protocol::{CommandOutput, InputRequest, InputRequestKind, ShellOutcome};
use tokio::time::Instant;

use crate::background_output::Late;
use crate::config::Isolation;
use crate::control_channel::{COMMAND, Report};
use crate::jobs::Jobs;
use crate::running::{Event, LookFor, Running};
use crate::session::{Ended, Session};
use crate::spool::Spools;
use crate::{processes, sandbox, script};

/// After the request to end, so long until the kill.
const GRACE: Duration = Duration::from_millis(500);
/// Kills are repeated so often, and so quickly, for what comes after what was killed.
const KILLS: u32 = 20;
/// So long the end of a command is waited for on the spot.
const MOMENT: Duration = Duration::from_micros(300);
/// The file of what holds for one command only.
const RUN: &str = "run";
const KILL_PAUSE: Duration = Duration::from_millis(100);

/// A persistent bash.
///
/// Folder, variables, functions and jobs last from command to command. When bash is lost (`exit`,
/// `exec`, a kill) a new one is begun in the workspace, and the output says so. In a sandbox no
/// process outlives it; on the host, one that left its parent, its session and its environment can.
///
/// A command that is seen to wait for input is told at once, and ended when the next one comes.
/// So is one whose `run` was dropped.
#[derive(Debug)]
pub struct Bash {
    isolation: Isolation,
    session: Option<Session>,
    running: Option<Running>,
    late: Late,
    jobs: Jobs,
    spools: Spools,
    cwd: Option<String>,
    /// Why processes of a shell that was lost were ended.
    note: String,
}

/// How a command ended, or that it has not.
#[derive(Debug)]
enum End {
    Reported(Report),
    Lost {
        code: Option<i32>,
    },
    Stopped {
        signal: Signal,
        report: Option<Report>,
    },
    Waiting(InputRequestKind),
}

impl Bash {
    /// Starts a bash.
    ///
    /// # Errors
    /// When it, or the sandbox, cannot be had: [`DeviceError::Unavailable`] says why and what to
    /// do. There is never less isolation than was asked for.
    pub async fn start(isolation: Isolation) -> Result<Self, DeviceError> {
        let mut bash = Self {
            spools: spools(&isolation)?,
            jobs: Jobs::default(),
            isolation,
            session: None,
            running: None,
            late: Late::new(),
            cwd: None,
            note: String::new(),
        };
        bash.begin().await?;
        Ok(bash)
    }

    async fn begin(&mut self) -> Result<(), DeviceError> {
        let session = Session::start(&self.isolation, &self.spools).await?;
        self.cwd = Some(session.cwd.clone());
        self.session = Some(session);
        Ok(())
    }

    /// The session, begun anew when there is none.
    async fn session(&mut self) -> Result<&mut Session, DeviceError> {
        if self.session.is_none() {
            self.begin().await?;
        }
        self.session
            .as_mut()
            .ok_or_else(|| gone(io::ErrorKind::NotFound.into()))
    }

    /// Runs one command and says how it ended; the session is gone when it was lost.
    async fn execute(&mut self, command: &ShellCommand) -> Result<End, DeviceError> {
        let text = script::text(&command.command)?;
        let session = self.session().await?;
        let is_plain = command.cwd.is_none() && command.env.is_empty();
        let run = script::run(&session.exchange, command)?;
        let max = command.max_output_bytes;
        let spools = self.spools.clone();
        let session = self.session().await?;
        let prepared = |session: &mut Session| {
            session.exchange.clear();
            let running = Running::new(session.exchange.next()?, max, &spools);
            session.exchange.write_command(&text)?;
            if !is_plain {
                session.exchange.write(RUN, &run)?;
            }
            Ok(running)
        };
        let running = prepared(session).map_err(gone)?;
        let line = script::line(&session.exchange, if is_plain { COMMAND } else { RUN });
        let mut running = running;
        running.expect_echo(line.as_bytes());
        let deadline = running.started + command.timeout;
        // Before it is typed: whoever drops this must find it.
        self.running = Some(running);
        let session = self.session().await?;
        session.terminal.type_line(&line).await.map_err(gone)?;
        match session.exchange.report_within(MOMENT.min(command.timeout)) {
            Some(report) => Ok(End::Reported(report)),
            None => self.end(deadline).await,
        }
    }

    /// Follows the command to its end, or until it waits.
    async fn end(&mut self, deadline: Instant) -> Result<End, DeviceError> {
        match self.follow(deadline, LookFor::EndOrInput).await? {
            Event::Reported(report) => Ok(End::Reported(report)),
            Event::Ended(status) => {
                self.lose().await;
                let signal = status.signal().map(|signal| 128 + signal);
                Ok(End::Lost {
                    code: status.code().or(signal),
                })
            }
            Event::Waiting(kind) => Ok(End::Waiting(kind)),
            Event::TimeOver => self.stop().await,
        }
    }

    async fn follow(&mut self, deadline: Instant, look_for: LookFor) -> Result<Event, DeviceError> {
        let (Some(session), Some(running)) = (&mut self.session, &mut self.running) else {
            return Err(gone(io::ErrorKind::NotFound.into()));
        };
        running
            .follow(session, deadline, look_for)
            .await
            .map_err(gone)
    }

    /// Ends the running command and all it began: a request, then kills. bash is interrupted with
    /// it, so that it does not go on with the rest. When that does not help, bash goes too.
    async fn stop(&mut self) -> Result<End, DeviceError> {
        let mut signal = Signal::TERM;
        for round in 0..=KILLS {
            let (Some(session), Some(running)) = (&self.session, &self.running) else {
                break;
            };
            let since = running.since;
            session.interrupt();
            processes::signal(&session.begun(since), signal);
            let pause = if round == 0 { GRACE } else { KILL_PAUSE };
            match self.follow(Instant::now() + pause, LookFor::End).await? {
                Event::Reported(report) => {
                    if let Some(session) = &self.session {
                        // What it left in the background and did not heed the request.
                        processes::signal(&session.begun(since), Signal::KILL);
                    }
                    return Ok(End::Stopped {
                        signal,
                        report: Some(report),
                    });
                }
                Event::Ended(_) => break,
                Event::TimeOver | Event::Waiting(_) => signal = Signal::KILL,
            }
        }
        self.lose().await;
        Ok(End::Stopped {
            signal,
            report: None,
        })
    }

    /// Ends what is left of a bash that cannot be used any more.
    async fn lose(&mut self) {
        if let Some(mut session) = self.session.take() {
            self.note = session.note();
            self.jobs.lose(&self.note);
            if let Err(error) = session.end().await {
                tracing::warn!(%error, "a lost shell did not end in time");
            }
        }
    }

    /// Ends the command that still runs, before another; what is to be said about it.
    async fn make_way(&mut self) -> Result<String, DeviceError> {
        let mut before = String::new();
        if self.running.is_some() {
            self.stop().await?;
            before.push_str("[the command before was still running and was ended]\n");
            match (self.running.take(), self.session.is_some()) {
                (Some(running), true) => self.leave(running),
                (_, true) => {}
                (_, false) => before.push_str(&self.replace().await),
            }
        }
        before.push_str(&self.late.take());
        Ok(before)
    }

    /// The result of a command, or why there is none.
    async fn finish(
        &mut self,
        end: Result<End, DeviceError>,
        before: String,
    ) -> Result<CommandOutput, DeviceError> {
        match end {
            Ok(end) => Ok(self.result(end, before).await),
            // What was wrong with the command itself leaves the shell as it is.
            Err(error @ (DeviceError::Refused { .. } | DeviceError::Unavailable { .. })) => {
                Err(error)
            }
            // Its terminal was closed, or bash was lost in a way that nothing else told.
            Err(error) => {
                tracing::warn!(%error, "the shell was lost");
                self.lose().await;
                Ok(self.result(End::Lost { code: None }, before).await)
            }
        }
    }

    /// The result of a command, and a new bash when the old one was lost.
    async fn result(&mut self, end: End, before: String) -> CommandOutput {
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
        let lost = self.session.is_none();
        if !matches!(end, End::Waiting(_))
            && let Some(running) = self.running.take()
            && !lost
        {
            self.leave(running);
        }
        err.text = before + &err.text;
        // A part of a pipeline, or a job: its end need not be the command's.
        err.text.push_str(&self.note());
        if lost {
            err.text.push_str(&self.replace().await);
        }
        let mut awaiting = None;
        let (outcome, exit_code, signal) = match end {
            End::Reported(report) => {
                self.cwd = Some(report.cwd);
                (outcome(report.code), Some(report.code), None)
            }
            End::Lost { code } => (code.map_or(ShellOutcome::Error, outcome), code, None),
            End::Stopped { signal, report } => {
                self.cwd = report.map(|report| report.cwd).or_else(|| self.cwd.take());
                (ShellOutcome::Timeout, None, Some(signal.as_raw()))
            }
            End::Waiting(kind) => {
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

    /// What is to be said of processes that were ended for what they used up.
    fn note(&mut self) -> String {
        let before = std::mem::take(&mut self.note);
        match &mut self.session {
            Some(session) => before + &session.note(),
            None => before,
        }
    }

    /// The same at the end of a job's report.
    fn with_note(&mut self, job: &str, told: Ended, mut output: CommandOutput) -> CommandOutput {
        if let Some(session) = &self.session {
            output.stderr.push_str(&session.note_since(told));
            self.jobs.tell(job, session.ended());
        }
        output
    }

    /// Parts with a command that is over.
    fn leave(&mut self, running: Running) {
        if let (Some(outputs), Some(session)) = (running.leave(&mut self.late), &mut self.session) {
            session.exchange.give_back(outputs);
        }
    }

    /// Begins a new bash and says what that means.
    async fn replace(&mut self) -> String {
        const GONE: &str = "variables, functions and background jobs are gone";
        match self.begin().await {
            Ok(()) => {
                let cwd = self.cwd.as_deref().unwrap_or("/");
                format!("[the shell ended; a new one was started in {cwd}: {GONE}]\n")
            }
            Err(error) => format!("[the shell ended: {GONE}; failed to {error}]\n"),
        }
    }
}

impl Shell for Bash {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let before = self.make_way().await?;
        let end = self.execute(command).await;
        self.finish(end, before).await
    }

    async fn send(&mut self, input: &ShellInput) -> Result<CommandOutput, DeviceError> {
        if let Some(job) = &input.job {
            let told = self.jobs.told(job);
            let output = self.jobs.send(job, input, &self.spools).await?;
            return Ok(self.with_note(job, told, output));
        }
        let end = self.answer(input).await;
        self.finish(end, String::new()).await
    }

    fn hides_input(&self, job: Option<&str>) -> bool {
        match job {
            Some(job) => self.jobs.hides_input(job),
            None => self.hides(),
        }
    }

    async fn start(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let before = self.make_way().await?;
        let mut output = self.begin_job(command).await?;
        output.stderr.insert_str(0, &before);
        Ok(output)
    }

    async fn jobs(&mut self) -> Result<Vec<ShellJob>, DeviceError> {
        Ok(self.jobs.list())
    }

    async fn read(&mut self, job: &str, max: usize) -> Result<CommandOutput, DeviceError> {
        let told = self.jobs.told(job);
        let output = self.jobs.read(job, max, &self.spools)?;
        Ok(self.with_note(job, told, output))
    }

    async fn stop(&mut self, job: &str, max: usize) -> Result<CommandOutput, DeviceError> {
        let told = self.jobs.told(job);
        let output = self.jobs.stop(job, max, &self.spools).await?;
        Ok(self.with_note(job, told, output))
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
        self.late = Late::new();
        self.lose().await;
        self.jobs.clear();
        self.begin().await
    }

    fn cwd(&self) -> Option<String> {
        self.cwd.clone()
    }

    fn is_sandboxed(&self) -> bool {
        matches!(self.isolation, Isolation::Sandbox(_) | Isolation::Docker(_))
    }

    fn bounds(&self) -> Option<String> {
        let group = self.session.as_ref()?.group.as_ref()?;
        Some(group.bounds().to_string())
    }

    async fn close(mut self) -> Result<(), DeviceError> {
        match self.session.take() {
            Some(session) => session.end().await.map_err(gone),
            None => Ok(()),
        }
    }
}

fn spools(isolation: &Isolation) -> Result<Spools, DeviceError> {
    let made = match isolation {
        Isolation::Sandbox(sandbox) => Spools::new(
            &sandbox.output_dir,
            Some(sandbox::OUTPUTS),
            sandbox::identity(sandbox)?,
        ),
        Isolation::Docker(docker) => {
            let owner = Some(docker.identity);
            Spools::new(&docker.output_dir, Some(sandbox::OUTPUTS), owner)
        }
        Isolation::Host(host) => Spools::new(&host.output_dir, None, None),
    };
    made.map_err(|error| DeviceError::Unavailable {
        what: "the shell",
        message: format!("could not make a folder for long outputs: {error}"),
    })
}

const fn outcome(code: i32) -> ShellOutcome {
    if code == 0 {
        ShellOutcome::Success
    } else {
        ShellOutcome::Error
    }
}

fn gone(source: io::Error) -> DeviceError {
    DeviceError::Disconnected {
        device: "shell",
        source: Box::new(source),
    }
}
