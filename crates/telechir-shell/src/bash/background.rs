//! Starting background jobs.

use std::time::Duration;

use telechir_device::{DeviceError, ShellCommand};
use telechir_protocol::{Command, CommandOutput, ShellOutcome};

use super::{Bash, gone};
use crate::jobs::Wires;
use crate::script;
use crate::session::Session;

/// bash only begins it.
const START: Duration = Duration::from_secs(20);

impl Bash {
    /// Starts a command in the background.
    pub(super) async fn begin_job(
        &mut self,
        command: &ShellCommand,
    ) -> Result<CommandOutput, DeviceError> {
        let run = script::run_job(command)?;
        let name = self.jobs.next()?;
        let session = self.session().await?;
        let exchange = &session.exchange;
        let mark = format!("{}/{name}", exchange.path().display());
        let prepared = || {
            exchange.write(&format!("{name}.run"), &run)?;
            exchange.write(&format!("{name}.main"), &script::lead_job(exchange, &name))?;
            let (terminal, tty) = session.open_terminal()?;
            Ok((exchange.job(&name)?, terminal, tty))
        };
        let ([out, err, end, go], terminal, tty) = prepared().map_err(gone)?;
        let start = script::start_job(exchange, &name, &mark, &tty);
        let start = ShellCommand {
            command: Command::Line(start),
            timeout: START,
            max_output_bytes: 4096,
            cwd: None,
            env: Vec::new(),
        };
        let ended = self.execute(&start).await;
        let mut output = self.finish(ended, String::new()).await?;
        if output.outcome != ShellOutcome::Success {
            return Ok(output);
        }
        let wires = Wires {
            terminal,
            out,
            err,
            end,
            go,
        };
        let told = self.session.as_ref().map(Session::ended);
        let (told, command) = (told.unwrap_or_default(), command.command.clone());
        let watch = (&self.spools, told);
        let added = self.jobs.add(name.clone(), command, mark, wires, watch);
        added.await.map_err(|error| DeviceError::Refused {
            message: format!("The job did not begin: {error}."),
        })?;
        output.stdout = format!("Started {name}.\n");
        output.exit_code = None;
        output.outcome = ShellOutcome::Running;
        Ok(output)
    }
}
