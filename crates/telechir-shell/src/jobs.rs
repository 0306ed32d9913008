//! Background jobs: each with a terminal of its own, read on all the time.

mod output;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{PidfdFlags, pidfd_open};
use telechir_device::{DeviceError, ShellInput, ShellJob};
use telechir_process::confinement::gone;
use telechir_process::{Pid, Readiness, Signal};
use telechir_protocol::{Command, CommandOutput, InputRequest, ShellOutcome};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::bash::input;
use crate::input_wait;
use crate::processes;
use crate::session::Ended as Spent;
use crate::spool::Spools;
use crate::terminal::Terminal;
use output::{Ended, Shared, Voice};

/// Jobs that may run at once.
const MOST: usize = 32;
/// Jobs that are remembered; the oldest that ended goes first.
const KEPT: usize = 64;
/// How long a job is given to begin.
const BEGIN: Duration = Duration::from_secs(10);
/// How long what follows an answer is watched, at most, and without a word.
const AFTER: Duration = Duration::from_secs(2);
const QUIET: Duration = Duration::from_millis(150);
/// After the request to end, so long until the kill.
const GRACE: Duration = Duration::from_millis(500);
const KILL_PAUSE: Duration = Duration::from_millis(20);
const KILLS: u32 = 100;

/// The jobs of a shell, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: Vec<Job>,
    number: u64,
}

/// What a new job is watched by.
#[derive(Debug)]
pub(crate) struct Wires {
    pub(crate) terminal: Terminal,
    pub(crate) out: OwnedFd,
    pub(crate) err: OwnedFd,
    /// Where it says that it began, and how it ended.
    pub(crate) end: OwnedFd,
    /// Where it is told to go on.
    pub(crate) go: OwnedFd,
}

#[derive(Debug)]
struct Job {
    name: String,
    command: Command,
    /// The variable that all its processes have.
    mark: String,
    leader: Pid,
    started: Instant,
    ended: Option<Instant>,
    terminal: Terminal,
    outputs: [Arc<Readiness>; 2],
    heard: Shared,
    watcher: input_wait::Watcher,
    has_open_line: bool,
    /// What was told in its reports of processes that were ended for what they used up.
    told: Spent,
    /// Why it went with its shell, until that is told.
    lost: String,
    /// A pipe that nobody holds forgets what is in it.
    _go: OwnedFd,
    _readers: JoinSet<()>,
}

impl Jobs {
    /// The next job's name.
    ///
    /// # Errors
    /// When too many run.
    pub(crate) fn next(&mut self) -> Result<String, DeviceError> {
        let running = self.jobs.iter().filter(|job| job.heard.end().is_none());
        if running.count() >= MOST {
            let message = format!("{MOST} background jobs run already; stop one first.");
            return Err(DeviceError::Refused { message });
        }
        self.number += 1;
        Ok(format!("job{}", self.number))
    }

    /// Takes over a job that was started, once it says that it began.
    pub(crate) async fn add(
        &mut self,
        name: String,
        command: Command,
        mark: String,
        wires: Wires,
        (spools, told): (&Spools, Spent),
    ) -> io::Result<()> {
        let end = Readiness::reading(wires.end)?;
        let begun = timeout(BEGIN, output::words(&end, 1)).await;
        begun.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let leader = wires.terminal.leader()?;
        let leader_fd = pidfd_open(leader, PidfdFlags::empty())?;
        rustix::io::write(&wires.go, b"\n")?;
        let terminal = wires.terminal;
        let outputs = [wires.out, wires.err].map(Readiness::reading);
        let [out, err] = outputs;
        let outputs = [Arc::new(out?), Arc::new(err?)];
        let heard = Shared::new(spools);
        let mut readers = JoinSet::new();
        for (output, voice) in outputs.iter().zip([Voice::Out, Voice::Err]) {
            let (output, heard) = (Arc::clone(output), heard.clone());
            readers.spawn(async move {
                while let Ok(1..) = output.read(|fd| heard.read(fd, voice)).await {}
            });
        }
        let (said, hearer) = (terminal.listen()?, heard.clone());
        readers.spawn(async move {
            let mut buffer = vec![0; 4096];
            while let Ok(read @ 1..) = said.read(&mut buffer).await {
                hearer.hear(&buffer[..read], Voice::Terminal);
            }
        });
        let watched = heard.clone();
        readers.spawn(async move {
            let ended = tokio::select! {
                biased;
                code = output::words(&end, 1) => code.ok().and_then(|code| code.parse().ok()),
                _gone = gone(leader_fd.as_fd()) => output::last_word(&end),
            };
            watched.end_with(ended.map_or(Ended::Killed, Ended::Code));
        });
        if self.jobs.len() >= KEPT
            && let Some(place) = self.jobs.iter().position(|job| job.heard.end().is_some())
        {
            self.jobs.remove(place);
        }
        self.jobs.push(Job {
            name,
            command,
            mark,
            leader,
            started: Instant::now(),
            ended: None,
            terminal,
            outputs,
            heard,
            watcher: input_wait::Watcher::default(),
            has_open_line: false,
            told,
            lost: String::new(),
            _go: wires.go,
            _readers: readers,
        });
        Ok(())
    }

    /// All of them as they are now.
    pub(crate) fn list(&mut self) -> Vec<ShellJob> {
        self.jobs.iter_mut().map(Job::describe).collect()
    }

    /// The shell was lost, and they with it; why, where that is known.
    pub(crate) fn lose(&mut self, why: &str) {
        for job in &mut self.jobs {
            if job.heard.end().is_none() {
                why.clone_into(&mut job.lost);
            }
            job.heard.end_with(Ended::Killed);
            // They are counted anew by the next shell.
            job.told = Spent::default();
        }
    }

    /// What was told in a job's reports of processes that were ended for what they used up.
    pub(crate) fn told(&self, name: &str) -> Spent {
        let job = self.jobs.iter().find(|job| job.name == name);
        job.map(|job| job.told).unwrap_or_default()
    }

    /// Notes that this was told.
    pub(crate) fn tell(&mut self, name: &str, told: Spent) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.name == name) {
            job.told = told;
        }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
    }

    /// Whether the job's terminal does not show what is typed into it.
    pub(crate) fn hides_input(&self, name: &str) -> bool {
        let job = self.jobs.iter().find(|job| job.name == name);
        job.is_some_and(|job| {
            let modes = job.terminal.modes_now();
            modes.map_or(true, |modes| !modes.has_echo)
        })
    }

    /// What a job printed since the last time.
    ///
    /// # Errors
    /// When there is none of this name.
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

    /// Types into a job and says what follows.
    ///
    /// # Errors
    /// When there is none of this name, it ended, or it cannot be typed.
    pub(crate) async fn send(
        &mut self,
        name: &str,
        input: &ShellInput,
        spools: &Spools,
    ) -> Result<CommandOutput, DeviceError> {
        let job = self.job(name)?;
        if job.heard.end().is_some() {
            let message = format!("The job `{name}` has ended.");
            return Err(DeviceError::Refused { message });
        }
        job.answer(input).await?;
        let outcome = job.outcome();
        Ok(job.take(outcome, input.max_output_bytes, spools))
    }

    /// Ends a job with all it started; its last words.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) async fn stop(
        &mut self,
        name: &str,
        max: usize,
        spools: &Spools,
    ) -> Result<CommandOutput, DeviceError> {
        let job = self.job(name)?;
        let was_over = job.heard.end().is_some();
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

    fn job(&mut self, name: &str) -> Result<&mut Job, DeviceError> {
        let names: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
        let names = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        let message = format!("There is no background job `{name}`; {names}.");
        let job = self.jobs.iter_mut().find(|job| job.name == name);
        job.ok_or(DeviceError::Refused { message })
    }
}

type Outcome = (ShellOutcome, Option<i32>, Option<InputRequest>);

impl Job {
    /// What became of it by now. What it said before is heard first.
    fn outcome(&mut self) -> Outcome {
        let end = self.heard.end();
        self.drain();
        match end {
            Some(Ended::Code(0)) => (ShellOutcome::Success, Some(0), None),
            Some(Ended::Code(code)) => (ShellOutcome::Error, Some(code), None),
            Some(Ended::Killed) => (ShellOutcome::Cancelled, None, None),
            None => match self.watcher.look(&self.terminal) {
                Some(kind) => {
                    // It may have asked just now.
                    self.drain();
                    let prompt = self.heard.prompt();
                    let awaiting = Some(InputRequest { kind, prompt });
                    (ShellOutcome::AwaitingInput, None, awaiting)
                }
                None => (ShellOutcome::Running, None, None),
            },
        }
    }

    fn drain(&self) {
        for (output, voice) in self.outputs.iter().zip([Voice::Out, Voice::Err]) {
            self.heard.drain(output.as_fd(), voice);
        }
    }

    fn describe(&mut self) -> ShellJob {
        let (outcome, exit_code, _) = self.outcome();
        ShellJob {
            name: self.name.clone(),
            command: self.command.clone(),
            ran: self.ran(),
            outcome,
            exit_code,
        }
    }

    fn ran(&mut self) -> Duration {
        if self.ended.is_none() {
            self.ended = self.heard.end().map(|_| Instant::now());
        }
        let until = self.ended.unwrap_or_else(Instant::now);
        until.duration_since(self.started)
    }

    fn take(&mut self, outcome: Outcome, max: usize, spools: &Spools) -> CommandOutput {
        let [out, mut err] = self.heard.take(max, spools);
        err.text.push_str(&std::mem::take(&mut self.lost));
        let (outcome, exit_code, awaiting) = outcome;
        CommandOutput {
            stdout: out.text,
            stderr: err.text,
            exit_code,
            outcome,
            truncated_bytes: out.truncated_bytes + err.truncated_bytes,
            duration_ms: u64::try_from(self.ran().as_millis()).ok(),
            awaiting,
            ..CommandOutput::default()
        }
    }

    /// Types, and waits until the job said what it has to say to that.
    async fn answer(&mut self, input: &ShellInput) -> Result<(), DeviceError> {
        let failed = |source: io::Error| DeviceError::Disconnected {
            device: "shell",
            source: Box::new(source),
        };
        let modes = self.terminal.modes_now().map_err(failed)?;
        let bytes = input::bytes(&input.typed, modes, self.has_open_line)?;
        self.has_open_line = input::is_open(&input.typed);
        self.heard.expect_echo(input::echo(&input.typed, modes));
        let limit = input.timeout.min(AFTER);
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
        while since.elapsed() < limit && self.heard.end().is_none() {
            if timeout(QUIET, self.heard.word()).await.is_err()
                && (self.heard.spoke_since(since) || self.watcher.look(&self.terminal).is_some())
            {
                break;
            }
        }
        Ok(())
    }

    /// Ends all of it: a request, then kills. The signal that ended it.
    async fn end(&self) -> Signal {
        let mut signal = Signal::TERM;
        let asked = Instant::now();
        for _ in 0..KILLS {
            let left = processes::of_job(self.leader, &self.mark);
            if left.is_empty() {
                break;
            }
            if asked.elapsed() >= GRACE {
                signal = Signal::KILL;
            }
            // The request is made once.
            if signal == Signal::KILL || asked.elapsed() < KILL_PAUSE {
                processes::signal(&left, signal);
            }
            sleep(KILL_PAUSE).await;
        }
        self.heard.end_with(Ended::Killed);
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_not_there_is_said_with_those_that_are() {
        let mut jobs = Jobs::default();
        let error = jobs
            .job("job7")
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("`job7`; there is none")));
        assert_eq!(jobs.next().ok().as_deref(), Some("job1"));
        assert_eq!(jobs.next().ok().as_deref(), Some("job2"));
    }
}
