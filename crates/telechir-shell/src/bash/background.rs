//! Starts background jobs.

use std::time::Duration;

use telechir_device::{DeviceError, ShellCommand};
use telechir_protocol::{Command, CommandOutput, ShellOutcome};

use super::{Bash, shell_gone};
use crate::jobs::JobPipes;
use crate::script;
use crate::session::ShellSession;

/// Time limit for bash to start the job, not for the job itself.
const START_TIMEOUT: Duration = Duration::from_secs(20);

impl Bash {
    /// Starts a command in the background.
    pub(super) async fn start_job(
        &mut self,
        command: &ShellCommand,
    ) -> Result<CommandOutput, DeviceError> {
        let run = script::run_job(command)?;
        let name = self.jobs.next()?;
        let session = self.session().await?;
        let channel = &session.channel;
        let mark = format!("{}/{name}", channel.path().display());
        let prepared = || {
            channel.write(&format!("{name}.run"), &run)?;
            channel.write(&format!("{name}.main"), &script::lead_job(channel, &name))?;
            let (terminal, tty) = session.open_terminal()?;
            Ok((channel.job(&name)?, terminal, tty))
        };
        let ([out, err, end, go], terminal, tty) = prepared().map_err(shell_gone)?;
        let start = script::start_job(channel, &name, &mark, &tty);
        let start = ShellCommand {
            command: Command::Line(start),
            timeout: START_TIMEOUT,
            max_output_bytes: 4096,
            cwd: None,
            env: Vec::new(),
        };
        let ended = self.execute(&start).await;
        let mut output = self.finish(ended, String::new()).await?;
        if output.outcome != ShellOutcome::Success {
            return Ok(output);
        }
        let pipes = JobPipes {
            terminal,
            out,
            err,
            end,
            go,
        };
        let reported = self.session.as_ref().map(ShellSession::ended);
        let (reported, command) = (reported.unwrap_or_default(), command.command.clone());
        let watch = (&self.spools, reported);
        let added = self.jobs.add(name.clone(), command, mark, pipes, watch);
        added.await.map_err(|error| DeviceError::Refused {
            message: format!("The job did not start: {error}."),
        })?;
        output.stdout = format!("Started {name}.\n");
        output.exit_code = None;
        output.outcome = ShellOutcome::Running;
        Ok(output)
    }
}
