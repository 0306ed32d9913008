//! The session's shell: what acts on it takes the permission for it.

use std::time::Duration;

use telechir_device::{
    BoxShell, DeviceError, Shell as _, ShellCommand, ShellInput, ShellJob, Typed, UntilStopped,
};
use telechir_policy::{Permitted, ShellProposal, ShellTask, summarize_command};
use telechir_protocol::{Chord, CommandOutput, ShellAction, ShellOutcome};

use super::{unless, unpermitted, within};
use crate::Limits;

/// The shell of the session with what is known of it.
#[derive(Debug)]
pub(crate) struct ShellSlot {
    shell: BoxShell,
    /// Whether words may mean something else by now.
    pub(crate) is_tainted: bool,
    /// What it said when it went away.
    pub(crate) lost: Option<String>,
}

impl ShellSlot {
    pub(crate) fn new(shell: BoxShell) -> Self {
        Self {
            shell,
            is_tainted: false,
            lost: None,
        }
    }

    pub(crate) fn is_sandboxed(&self) -> bool {
        self.shell.is_sandboxed()
    }

    pub(crate) fn bounds(&self) -> Option<String> {
        self.shell.bounds()
    }

    pub(crate) fn cwd(&self) -> Option<String> {
        self.shell.cwd()
    }

    /// Runs one of the permitted commands, until a person stops the session.
    pub(crate) async fn run(
        &mut self,
        permit: &Permitted<ShellProposal>,
        step: usize,
        bounds: Bounds,
        stop: UntilStopped,
    ) -> Result<CommandOutput, DeviceError> {
        let command = command(permit, step, bounds)?;
        let limit = bounds.timeout + bounds.limits.action;
        let shell = &mut self.shell;
        let run = async {
            match &permit.proposal().task {
                ShellTask::Start(_) => {
                    within("start the command", limit, shell.start(&command)).await
                }
                ShellTask::Run(_) => within("end the command", limit, shell.run(&command)).await,
                ShellTask::Restart
                | ShellTask::Send { .. }
                | ShellTask::Look(_)
                | ShellTask::Stop(_) => Err(unpermitted()),
            }
        };
        let ran = unless(stop, run).await;
        self.seen_through(ran, &bounds.limits).await
    }

    /// Whether what is typed now would not be shown.
    pub(crate) fn hides_input(&self, job: Option<&str>) -> bool {
        self.shell.hides_input(job)
    }

    /// Does what is permitted beside running commands and starting anew, until a person stops the
    /// session.
    pub(crate) async fn attend(
        &mut self,
        permit: &Permitted<ShellProposal>,
        bounds: Bounds,
        stop: UntilStopped,
    ) -> Result<CommandOutput, DeviceError> {
        let done = unless(stop, attend(&mut self.shell, permit, bounds)).await;
        self.seen_through(done, &bounds.limits).await
    }

    /// What was done; what a person stopped is ended, and said to be cancelled.
    async fn seen_through(
        &mut self,
        done: Option<Result<CommandOutput, DeviceError>>,
        limits: &Limits,
    ) -> Result<CommandOutput, DeviceError> {
        if let Some(done) = done {
            return self.note(done);
        }
        let ended = self.end_command(limits).await?;
        Ok(ended.unwrap_or_else(|| CommandOutput {
            outcome: ShellOutcome::Cancelled,
            ..CommandOutput::default()
        }))
    }

    /// Ends what still runs in front; its last output, if anything did.
    pub(crate) async fn end_command(
        &mut self,
        limits: &Limits,
    ) -> Result<Option<CommandOutput>, DeviceError> {
        let ended = within("end the command", limits.action, self.shell.end_command()).await;
        self.note(ended)
    }

    /// Starts the shell anew, when that is permitted.
    pub(crate) async fn restart(
        &mut self,
        permit: &Permitted<ShellProposal>,
        limits: &Limits,
    ) -> Result<(), DeviceError> {
        if permit.proposal().task != ShellTask::Restart {
            return Err(unpermitted());
        }
        let restarted = within("restart the shell", limits.action, self.shell.restart()).await;
        if restarted.is_ok() {
            self.is_tainted = false;
            self.lost = None;
        }
        self.note(restarted)
    }

    pub(crate) async fn close(self, limit: Duration) -> Result<(), String> {
        within("close", limit, self.shell.close())
            .await
            .map_err(|error| error.to_string())
    }

    fn note<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error @ DeviceError::Disconnected { .. }) = &result {
            self.lost = Some(error.to_string());
        }
        result
    }
}

/// What a command may use up before it is ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) timeout: Duration,
    pub(crate) max_output_bytes: usize,
    pub(crate) limits: Limits,
}

async fn attend(
    shell: &mut BoxShell,
    permit: &Permitted<ShellProposal>,
    bounds: Bounds,
) -> Result<CommandOutput, DeviceError> {
    let Bounds {
        timeout,
        max_output_bytes,
        limits,
    } = bounds;
    match &permit.proposal().task {
        ShellTask::Send { input, job, .. } => {
            let input = ShellInput {
                job: job.clone(),
                typed: typed(input)?,
                timeout,
                max_output_bytes,
            };
            within(
                "send the input",
                timeout + limits.action,
                shell.send(&input),
            )
            .await
        }
        ShellTask::Look(ShellAction::Read(job)) => {
            let read = shell.read(job, max_output_bytes);
            within("read the job", limits.action, read).await
        }
        ShellTask::Look(_) => {
            let jobs = within("list the jobs", limits.action, shell.jobs()).await;
            jobs.map(|jobs| listed(&jobs))
        }
        ShellTask::Stop(job) => {
            let stopped = shell.stop(job, max_output_bytes);
            within("stop the job", limits.action, stopped).await
        }
        ShellTask::Run(_) | ShellTask::Start(_) | ShellTask::Restart => Err(unpermitted()),
    }
}

/// One of the permitted commands, as the shell takes it.
fn command(
    permit: &Permitted<ShellProposal>,
    step: usize,
    bounds: Bounds,
) -> Result<ShellCommand, DeviceError> {
    let proposal = permit.proposal();
    let (ShellTask::Run(commands) | ShellTask::Start(commands)) = &proposal.task else {
        return Err(unpermitted());
    };
    let env = proposal.env.iter().map(|(name, value)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), text)
    });
    Ok(ShellCommand {
        command: commands.get(step).ok_or_else(unpermitted)?.clone(),
        timeout: bounds.timeout,
        max_output_bytes: bounds.max_output_bytes,
        cwd: proposal.cwd.clone(),
        env: env.collect(),
    })
}

/// What an action types.
fn typed(input: &ShellAction) -> Result<Typed, DeviceError> {
    match input {
        ShellAction::SendText(text) => Ok(Typed::Text(text.clone())),
        ShellAction::SendKey(key) => {
            let chord = Chord::parse(key).ok_or_else(|| DeviceError::Refused {
                message: "The key has no name; say one such as enter or ctrl+c.".to_owned(),
            })?;
            Ok(Typed::Key(chord))
        }
        ShellAction::CloseInput => Ok(Typed::End),
        ShellAction::Interrupt => Ok(Typed::Interrupt),
        ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Read(_)
        | ShellAction::Stop(_)
        | ShellAction::Other(_) => Err(unpermitted()),
    }
}

/// The jobs as a table for the model.
fn listed(jobs: &[ShellJob]) -> CommandOutput {
    let line = |job: &ShellJob| {
        let state = match (&job.outcome, job.exit_code) {
            (ShellOutcome::Running, _) => "running".to_owned(),
            (ShellOutcome::AwaitingInput, _) => "waits for input".to_owned(),
            (ShellOutcome::Cancelled, _) => "stopped".to_owned(),
            (_, Some(code)) => format!("ended with exit code {code}"),
            (_, None) => "ended".to_owned(),
        };
        let seconds = job.ran.as_secs();
        let command = summarize_command(&job.command);
        format!("{}: {state}, {seconds} s, {command}\n", job.name)
    };
    let stdout = if jobs.is_empty() {
        "There are no background jobs.\n".to_owned()
    } else {
        jobs.iter().map(line).collect()
    };
    CommandOutput {
        stdout,
        ..CommandOutput::default()
    }
}
