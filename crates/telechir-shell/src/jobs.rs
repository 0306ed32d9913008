//! Background jobs: each has its own terminal and is read continuously.

mod output;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{PidfdFlags, pidfd_open};
use telechir_device::{DeviceError, ShellInput, ShellJob};
use telechir_process::confinement::wait_for_exit;
use telechir_process::{Pid, Readiness, Signal};
use telechir_protocol::{Command, CommandOutput, InputRequest, ShellOutcome};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::bash::input;
use crate::input_wait;
use crate::processes;
use crate::running::StreamKind;
use crate::session::KillCounts;
use crate::spool::Spools;
use crate::terminal::Pty;
use output::{JobEnd, SharedOutput};

/// Maximum number of running jobs.
const MAX_RUNNING: usize = 32;
/// Maximum number of listed jobs; the oldest finished one is removed first.
const MAX_REMEMBERED: usize = 64;
/// Time limit for a job to report its start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to watch for the reaction to input, and the time without output that ends it.
const REACTION_TIMEOUT: Duration = Duration::from_secs(2);
const QUIET_PERIOD: Duration = Duration::from_millis(150);
/// Time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_millis(500);
const KILL_PAUSE: Duration = Duration::from_millis(20);
const MAX_KILLS: u32 = 100;

/// The background jobs of a shell, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: Vec<BackgroundJob>,
    number: u64,
}

/// The terminal and pipes of a new job.
#[derive(Debug)]
pub(crate) struct JobPipes {
    pub(crate) terminal: Pty,
    pub(crate) out: OwnedFd,
    pub(crate) err: OwnedFd,
    /// Reports the start and the exit code.
    pub(crate) end: OwnedFd,
    /// Carries the start signal.
    pub(crate) go: OwnedFd,
}

#[derive(Debug)]
struct BackgroundJob {
    name: String,
    command: Command,
    /// Environment entry that marks its processes.
    mark: String,
    leader: Pid,
    started: Instant,
    ended: Option<Instant>,
    terminal: Pty,
    outputs: [Arc<Readiness>; 2],
    log: SharedOutput,
    input_wait: input_wait::InputWaitDetector,
    has_open_line: bool,
    /// Kills that its reports have mentioned.
    reported: KillCounts,
    /// Pending notice about the loss of its shell.
    loss_notice: String,
    /// Kept open, because a pipe without any open end loses its content.
    _go: OwnedFd,
    _readers: JoinSet<()>,
}

impl Jobs {
    /// Returns the name of the next job.
    ///
    /// # Errors
    /// If too many jobs run.
    pub(crate) fn next(&mut self) -> Result<String, DeviceError> {
        let running = self.jobs.iter().filter(|job| job.log.end().is_none());
        if running.count() >= MAX_RUNNING {
            let message = format!("{MAX_RUNNING} background jobs are running; stop one first.");
            return Err(DeviceError::Refused { message });
        }
        self.number += 1;
        Ok(format!("job{}", self.number))
    }

    /// Adds a started job, once it reports its start.
    pub(crate) async fn add(
        &mut self,
        name: String,
        command: Command,
        mark: String,
        pipes: JobPipes,
        (spools, reported): (&Spools, KillCounts),
    ) -> io::Result<()> {
        let end = Readiness::reading(pipes.end)?;
        let started_signal = timeout(START_TIMEOUT, output::read_fields(&end, 1)).await;
        started_signal.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let leader = pipes.terminal.leader()?;
        let leader_fd = pidfd_open(leader, PidfdFlags::empty())?;
        rustix::io::write(&pipes.go, b"\n")?;
        let terminal = pipes.terminal;
        let outputs = [pipes.out, pipes.err].map(Readiness::reading);
        let [out, err] = outputs;
        let outputs = [Arc::new(out?), Arc::new(err?)];
        let log = SharedOutput::new(spools);
        let mut readers = JoinSet::new();
        for (output, kind) in outputs.iter().zip([StreamKind::Out, StreamKind::Err]) {
            let (output, log) = (Arc::clone(output), log.clone());
            readers.spawn(async move {
                while let Ok(1..) = output.read(|fd| log.read(fd, kind)).await {}
            });
        }
        let (listener, terminal_log) = (terminal.listen()?, log.clone());
        readers.spawn(async move {
            let mut buffer = vec![0; 4096];
            while let Ok(read @ 1..) = listener.read(&mut buffer).await {
                terminal_log.push(&buffer[..read], StreamKind::Terminal);
            }
        });
        let end_log = log.clone();
        readers.spawn(async move {
            let ended = tokio::select! {
                biased;
                code = output::read_fields(&end, 1) => code.ok().and_then(|code| code.parse().ok()),
                _exited = wait_for_exit(leader_fd.as_fd()) => output::read_exit_code(&end),
            };
            end_log.set_end(ended.map_or(JobEnd::Killed, JobEnd::Code));
        });
        if self.jobs.len() >= MAX_REMEMBERED
            && let Some(oldest) = self.jobs.iter().position(|job| job.log.end().is_some())
        {
            self.jobs.remove(oldest);
        }
        self.jobs.push(BackgroundJob {
            name,
            command,
            mark,
            leader,
            started: Instant::now(),
            ended: None,
            terminal,
            outputs,
            log,
            input_wait: input_wait::InputWaitDetector::default(),
            has_open_line: false,
            reported,
            loss_notice: String::new(),
            _go: pipes.go,
            _readers: readers,
        });
        Ok(())
    }

    /// The current state of all jobs.
    pub(crate) fn list(&mut self) -> Vec<ShellJob> {
        self.jobs.iter_mut().map(BackgroundJob::describe).collect()
    }

    /// Marks all jobs as killed with their shell; `why` is the notice, if the reason is known.
    pub(crate) fn mark_lost(&mut self, why: &str) {
        for job in &mut self.jobs {
            if job.log.end().is_none() {
                why.clone_into(&mut job.loss_notice);
            }
            job.log.set_end(JobEnd::Killed);
            // The next shell counts from zero.
            job.reported = KillCounts::default();
        }
    }

    /// Kills that a job's reports have mentioned.
    pub(crate) fn reported(&self, name: &str) -> KillCounts {
        let job = self.jobs.iter().find(|job| job.name == name);
        job.map(|job| job.reported).unwrap_or_default()
    }

    /// Records that a job's report mentions these kills.
    pub(crate) fn set_reported(&mut self, name: &str, reported: KillCounts) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.name == name) {
            job.reported = reported;
        }
    }

    /// Removes all jobs.
    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
    }

    /// Whether the job's terminal hides typed input.
    pub(crate) fn hides_input(&self, name: &str) -> bool {
        let job = self.jobs.iter().find(|job| job.name == name);
        job.is_some_and(|job| {
            let modes = job.terminal.modes_now();
            modes.map_or(true, |modes| !modes.has_echo)
        })
    }

    /// The output of a job since the last read.
    ///
    /// # Errors
    /// If there is no such job.
    pub(crate) fn read(
        &mut self,
        name: &str,
        max: usize,
        spools: &Spools,
    ) -> Result<CommandOutput, DeviceError> {
        let job = self.job(name)?;
        let outcome = job.outcome();
        Ok(job.take(outcome, max, spools))
    }

    /// Types into a job and returns its reaction.
    ///
    /// # Errors
    /// If there is no such job, it has ended, or the input cannot be typed.
    pub(crate) async fn send(
        &mut self,
        name: &str,
        input: &ShellInput,
        spools: &Spools,
    ) -> Result<CommandOutput, DeviceError> {
        let job = self.job(name)?;
        if job.log.end().is_some() {
            let message = format!("The job `{name}` has ended.");
            return Err(DeviceError::Refused { message });
        }
        job.answer(input).await?;
        let outcome = job.outcome();
        Ok(job.take(outcome, input.max_output_bytes, spools))
    }

    /// Kills a job with its descendants; returns its last output.
    ///
    /// # Errors
    /// If there is no such job.
    pub(crate) async fn stop(
        &mut self,
        name: &str,
        max: usize,
        spools: &Spools,
    ) -> Result<CommandOutput, DeviceError> {
        let job = self.job(name)?;
        let was_over = job.log.end().is_some();
        let signal = job.end().await;
        let mut outcome = job.outcome();
        if !was_over {
            outcome = (ShellOutcome::Cancelled, None, None);
        }
        let mut output = job.take(outcome, max, spools);
        if !was_over {
            output.signal = Some(signal.as_raw());
        }
        self.jobs.retain(|job| job.name != name);
        Ok(output)
    }

    fn job(&mut self, name: &str) -> Result<&mut BackgroundJob, DeviceError> {
        let existing: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
        let existing = if existing.is_empty() {
            "no job exists".to_owned()
        } else {
            format!("existing jobs: {}", existing.join(", "))
        };
        let message = format!("There is no background job `{name}`; {existing}.");
        let job = self.jobs.iter_mut().find(|job| job.name == name);
        job.ok_or(DeviceError::Refused { message })
    }
}

type JobStatus = (ShellOutcome, Option<i32>, Option<InputRequest>);

impl BackgroundJob {
    /// Its current state, after reading the available output.
    fn outcome(&mut self) -> JobStatus {
        let end = self.log.end();
        self.drain();
        match end {
            Some(JobEnd::Code(0)) => (ShellOutcome::Success, Some(0), None),
            Some(JobEnd::Code(code)) => (ShellOutcome::Error, Some(code), None),
            Some(JobEnd::Killed) => (ShellOutcome::Cancelled, None, None),
            None => match self.input_wait.check(&self.terminal) {
                Some(kind) => {
                    // The prompt may have been printed just now.
                    self.drain();
                    let prompt = self.log.prompt();
                    let awaiting = Some(InputRequest { kind, prompt });
                    (ShellOutcome::AwaitingInput, None, awaiting)
                }
                None => (ShellOutcome::Running, None, None),
            },
        }
    }

    fn drain(&self) {
        for (output, kind) in self.outputs.iter().zip([StreamKind::Out, StreamKind::Err]) {
            self.log.drain(output.as_fd(), kind);
        }
    }

    fn describe(&mut self) -> ShellJob {
        let (outcome, exit_code, _) = self.outcome();
        ShellJob {
            name: self.name.clone(),
            command: self.command.clone(),
            ran: self.elapsed(),
            outcome,
            exit_code,
        }
    }

    fn elapsed(&mut self) -> Duration {
        if self.ended.is_none() {
            self.ended = self.log.end().map(|_| Instant::now());
        }
        let until = self.ended.unwrap_or_else(Instant::now);
        until.duration_since(self.started)
    }

    fn take(&mut self, outcome: JobStatus, max: usize, spools: &Spools) -> CommandOutput {
        let [out, mut err] = self.log.take(max, spools);
        err.text.push_str(&std::mem::take(&mut self.loss_notice));
        let (outcome, exit_code, awaiting) = outcome;
        CommandOutput {
            stdout: out.text,
            stderr: err.text,
            exit_code,
            outcome,
            truncated_bytes: out.truncated_bytes + err.truncated_bytes,
            duration_ms: u64::try_from(self.elapsed().as_millis()).ok(),
            awaiting,
            ..CommandOutput::default()
        }
    }

    /// Types, and waits for the job's reaction.
    async fn answer(&mut self, input: &ShellInput) -> Result<(), DeviceError> {
        let failed = |source: io::Error| DeviceError::Disconnected {
            device: "shell",
            source: Box::new(source),
        };
        let modes = self.terminal.modes_now().map_err(failed)?;
        let bytes = input::bytes(&input.typed, modes, self.has_open_line)?;
        self.has_open_line = input::has_unfinished_line(&input.typed);
        self.log.expect_echo(input::echo(&input.typed, modes));
        let limit = input.timeout.min(REACTION_TIMEOUT);
        let since = Instant::now();
        match bytes {
            None => {
                let foreground = self.terminal.foreground().map_err(failed)?;
                input_wait::interrupt(foreground);
            }
            Some(bytes) => {
                if let Ok(sent) = timeout(limit, self.terminal.send(&bytes)).await {
                    sent.map_err(failed)?;
                }
            }
        }
        while since.elapsed() < limit && self.log.end().is_none() {
            if timeout(QUIET_PERIOD, self.log.changed()).await.is_err()
                && (self.log.output_since(since) || self.input_wait.check(&self.terminal).is_some())
            {
                break;
            }
        }
        Ok(())
    }

    /// Kills all its processes: SIGTERM, then SIGKILL. Returns the last signal.
    async fn end(&self) -> Signal {
        let mut signal = Signal::TERM;
        let requested_at = Instant::now();
        for _ in 0..MAX_KILLS {
            let left = processes::job_processes(self.leader, &self.mark);
            if left.is_empty() {
                break;
            }
            if requested_at.elapsed() >= GRACE_PERIOD {
                signal = Signal::KILL;
            }
            // SIGTERM is sent only at the start.
            if signal == Signal::KILL || requested_at.elapsed() < KILL_PAUSE {
                processes::signal(&left, signal);
            }
            sleep(KILL_PAUSE).await;
        }
        self.log.set_end(JobEnd::Killed);
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_job_is_refused_with_the_existing_ones() {
        let mut jobs = Jobs::default();
        let error = jobs
            .job("job7")
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("`job7`; no job exists")));
        assert_eq!(jobs.next().ok().as_deref(), Some("job1"));
        assert_eq!(jobs.next().ok().as_deref(), Some("job2"));
    }
}
