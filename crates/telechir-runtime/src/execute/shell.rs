//! The session's shell. Every function that acts on it requires a permission.

use std::sync::Arc;
use std::time::Duration;

use telechir_device::{
    DeviceError, Shell, ShellCommand, ShellInput, ShellJob, Typed, UntilStopped,
};
use telechir_policy::{Permitted, ShellProposal, ShellTask, summarize_command};
use telechir_protocol::{Chord, CommandOutput, ShellAction, ShellOutcome};

use super::{no_permission, or_stopped, within};
use crate::{NewestOutput, SessionLimits};

/// The session's shell and its state.
#[derive(Debug)]
pub(crate) struct ShellSlot {
    shell: Box<dyn Shell>,
    /// For people who look at it.
    pub(crate) output: NewestOutput,
    /// Whether aliases, functions or variables may have changed the meaning of commands.
    pub(crate) is_tainted: bool,
    /// The shell's last error, once it is gone.
    pub(crate) lost: Option<String>,
}

impl ShellSlot {
    pub(crate) fn new(mut shell: Box<dyn Shell>) -> Self {
        let output = NewestOutput::default();
        shell.observe_output(Arc::new(output.clone()));
        Self {
            shell,
            output,
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

    /// Runs one of the permitted commands, unless the kill switch stops the session.
    pub(crate) async fn run(
        &mut self,
        permit: &Permitted<ShellProposal>,
        step: usize,
        command_limits: CommandLimits,
        stop: UntilStopped,
    ) -> Result<CommandOutput, DeviceError> {
        let command = command(permit, step, command_limits)?;
        let limit = command_limits.timeout + command_limits.limits.action_timeout;
        let _until_it_ends = self.output.start();
        let shell = &mut self.shell;
        let run = async {
            match &permit.proposal().task {
                ShellTask::Start(_) => {
                    within("start the command", limit, shell.start(&command)).await
                }
                ShellTask::Run(_) => within("end the command", limit, shell.run(&command)).await,
                ShellTask::Restart
                | ShellTask::Send { .. }
                | ShellTask::ReadJobs(_)
                | ShellTask::Stop(_) => Err(no_permission()),
            }
        };
        let ran = or_stopped(stop, run).await;
        self.finish_or_cancel(ran, &command_limits.limits).await
    }

    /// Whether the terminal would not echo input now.
    pub(crate) fn hides_input(&self, job: Option<&str>) -> bool {
        self.shell.hides_input(job)
    }

    /// Performs a permitted task other than a command or a restart, unless the kill switch stops
    /// the session.
    pub(crate) async fn control(
        &mut self,
        permit: &Permitted<ShellProposal>,
        command_limits: CommandLimits,
        stop: UntilStopped,
    ) -> Result<CommandOutput, DeviceError> {
        let _until_it_ends = self.output.resume();
        let done = or_stopped(stop, control(self.shell.as_mut(), permit, command_limits)).await;
        self.finish_or_cancel(done, &command_limits.limits).await
    }

    /// The output of a task; one that the kill switch stopped is ended and reported as cancelled.
    async fn finish_or_cancel(
        &mut self,
        done: Option<Result<CommandOutput, DeviceError>>,
        limits: &SessionLimits,
    ) -> Result<CommandOutput, DeviceError> {
        if let Some(done) = done {
            return self.note_loss(done);
        }
        let ended = self.end_command(limits).await?;
        Ok(ended.unwrap_or_else(|| CommandOutput {
            outcome: ShellOutcome::Cancelled,
            ..CommandOutput::default()
        }))
    }

    /// Ends the foreground command; its last output, if one was running.
    pub(crate) async fn end_command(
        &mut self,
        limits: &SessionLimits,
    ) -> Result<Option<CommandOutput>, DeviceError> {
        let ended = within(
            "end the command",
            limits.action_timeout,
            self.shell.end_command(),
        )
        .await;
        self.note_loss(ended)
    }

    /// Restarts the shell, if that is permitted.
    pub(crate) async fn restart(
        &mut self,
        permit: &Permitted<ShellProposal>,
        limits: &SessionLimits,
    ) -> Result<(), DeviceError> {
        if permit.proposal().task != ShellTask::Restart {
            return Err(no_permission());
        }
        let restarted = within(
            "restart the shell",
            limits.action_timeout,
            self.shell.restart(),
        )
        .await;
        if restarted.is_ok() {
            self.is_tainted = false;
            self.lost = None;
        }
        self.note_loss(restarted)
    }

    pub(crate) async fn close(self, limit: Duration) -> Result<(), String> {
        within("close", limit, self.shell.close())
            .await
            .map_err(|error| error.to_string())
    }

    fn note_loss<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error @ DeviceError::Disconnected { .. }) = &result {
            self.lost = Some(error.to_string());
        }
        result
    }
}

/// Limits on a command's time and output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandLimits {
    pub(crate) timeout: Duration,
    pub(crate) max_output_bytes: usize,
    pub(crate) limits: SessionLimits,
}

async fn control(
    shell: &mut dyn Shell,
    permit: &Permitted<ShellProposal>,
    command_limits: CommandLimits,
) -> Result<CommandOutput, DeviceError> {
    let CommandLimits {
        timeout,
        max_output_bytes,
        limits,
    } = command_limits;
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
                timeout + limits.action_timeout,
                shell.send(&input),
            )
            .await
        }
        ShellTask::ReadJobs(ShellAction::Read(job)) => {
            let read = shell.read(job, max_output_bytes);
            within("read the job", limits.action_timeout, read).await
        }
        ShellTask::ReadJobs(_) => {
            let jobs = within("list the jobs", limits.action_timeout, shell.jobs()).await;
            jobs.map(|jobs| job_table(&jobs))
        }
        ShellTask::Stop(job) => {
            let stopped = shell.stop(job, max_output_bytes);
            within("stop the job", limits.action_timeout, stopped).await
        }
        ShellTask::Run(_) | ShellTask::Start(_) | ShellTask::Restart => Err(no_permission()),
    }
}

/// One of the permitted commands, as the shell expects it.
fn command(
    permit: &Permitted<ShellProposal>,
    step: usize,
    command_limits: CommandLimits,
) -> Result<ShellCommand, DeviceError> {
    let proposal = permit.proposal();
    let (ShellTask::Run(commands) | ShellTask::Start(commands)) = &proposal.task else {
        return Err(no_permission());
    };
    let env = proposal.env.iter().map(|(name, value)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), text)
    });
    Ok(ShellCommand {
        command: commands.get(step).ok_or_else(no_permission)?.clone(),
        timeout: command_limits.timeout,
        max_output_bytes: command_limits.max_output_bytes,
        cwd: proposal.cwd.clone(),
        env: env.collect(),
    })
}

/// The input that an action types.
fn typed(input: &ShellAction) -> Result<Typed, DeviceError> {
    match input {
        ShellAction::SendText(text) => Ok(Typed::Text(text.clone())),
        ShellAction::SendKey(key) => {
            let chord = Chord::parse(key).ok_or_else(|| DeviceError::Refused {
                message: "Unknown key; use a name such as enter or ctrl+c.".to_owned(),
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
        | ShellAction::Other(_) => Err(no_permission()),
    }
}

/// The jobs as a table for the model.
fn job_table(jobs: &[ShellJob]) -> CommandOutput {
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
