//! A shell in the session of a code interpreter: each command is one request, in whose script the state
//! of the command before is loaded.

mod output;
mod script;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use telechir_device::{DeviceEnd, DeviceError, OutputObserver, Shell, ShellCommand, ShellJob};
use telechir_protocol::{Command, CommandOutput, ShellOutcome};
use telechir_providers::{
    InterpreterAnswer, InterpreterCall, InterpreterError, InterpreterTaskState,
};
use tokio::time::Instant;

use output::bounded;
use script::{CommandUse, Wrapped};

/// The device in messages.
const DEVICE: &str = "shell of the code interpreter";
/// Time for the service itself, beside that of the command.
const SERVICE_TIME: Duration = Duration::from_secs(60);
/// Time to end a command.
const END_TIME: Duration = Duration::from_secs(30);
/// Jobs at a time.
const MAX_JOBS: usize = 16;

/// Why a request has no usable answer. Texts are sentences' ends without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvokeFailure {
    /// The session has ended: nothing more can be run in it.
    Ended(String),
    /// The service refused; the command was not run.
    NotRun(String),
    /// There is no answer: whether the command was run is unknown.
    Unknown(String),
}

/// The session of an interpreter.
#[async_trait]
pub trait InterpreterSession: Send + Sync + fmt::Debug {
    /// Sends a request with this body, once, and returns the event stream of its answer.
    ///
    /// # Errors
    /// If there is no complete answer within the limit.
    async fn invoke(&self, body: &Value, limit: Duration) -> Result<Vec<u8>, InvokeFailure>;

    /// What the model should know after a command, such as that the session ends soon.
    async fn after_command(&self) -> Option<String>;

    /// Ends the session at its service.
    ///
    /// # Errors
    /// With the reason, if it may run on.
    async fn end(&self) -> Result<(), String>;
}

/// A shell in the session of a code interpreter.
///
/// Folder, variables, functions and aliases last from command to command. Nothing can be typed into a
/// command: the service has no terminal.
#[derive(Debug)]
pub struct InterpreterShell {
    session: Arc<dyn InterpreterSession>,
    /// Where the state between commands is, below the folder of temporary files; a new shell has
    /// another one.
    folder: String,
    generation: u32,
    cwd: Option<String>,
    /// The mark of a command that was dropped, or is not known to have ended.
    may_run: Option<String>,
    jobs: Vec<Job>,
    observer: Option<Arc<dyn OutputObserver>>,
}

#[derive(Debug)]
struct Job {
    name: String,
    task: String,
    command: Command,
    started: Instant,
    /// How much of its outputs was returned.
    returned: [usize; 2],
    outcome: ShellOutcome,
    exit_code: Option<i32>,
}

impl InterpreterShell {
    /// A shell in this session; `name` has letters and digits and tells its folder from others.
    ///
    /// # Errors
    /// If the session runs no commands.
    pub async fn start(
        session: Arc<dyn InterpreterSession>,
        name: &str,
    ) -> Result<Self, DeviceError> {
        let mut shell = Self {
            session,
            folder: format!(".telechir-{name}"),
            generation: 0,
            cwd: None,
            may_run: None,
            jobs: Vec::new(),
            observer: None,
        };
        shell.first_command().await?;
        Ok(shell)
    }

    /// Finds out where the shell is, and whether there is a bash.
    async fn first_command(&mut self) -> Result<(), DeviceError> {
        let first = ShellCommand {
            command: Command::Line(":".to_owned()),
            timeout: END_TIME,
            max_output_bytes: 4096,
            cwd: None,
            env: Vec::new(),
        };
        let output = self.run(&first).await?;
        match output.exit_code {
            Some(0) => Ok(()),
            _ => Err(DeviceError::Unavailable {
                what: "a shell in the code interpreter",
                message: format!(
                    "its first command failed, so it has no bash or no timeout: {}",
                    output.stderr.trim()
                ),
            }),
        }
    }

    fn state_folder(&self) -> String {
        format!("{}-{}", self.folder, self.generation)
    }

    async fn ask(
        &mut self,
        call: InterpreterCall<'_>,
        limit: Duration,
    ) -> Result<InterpreterAnswer, DeviceError> {
        let sent = self.session.invoke(&call.to_json(), limit).await;
        let stream = sent.map_err(failed)?;
        InterpreterAnswer::read(&stream).map_err(|error| match error {
            InterpreterError::Exception { name, message } => {
                exception(&name, &format!("{name}: {message}"))
            }
            InterpreterError::Unreadable(problem) => {
                tracing::warn!(problem, "an answer of the code interpreter cannot be read");
                unknown("The answer of the service cannot be read")
            }
        })
    }

    /// Ends a command that may run on, with its descendants.
    async fn end_running(&mut self) -> Result<(), DeviceError> {
        let Some(mark) = &self.may_run else {
            return Ok(());
        };
        let end = script::end_command(&self.state_folder(), mark);
        self.ask(InterpreterCall::Execute(&end), END_TIME).await?;
        self.may_run = None;
        Ok(())
    }

    fn wrapped(&self, command: &ShellCommand, state: CommandUse) -> Result<Wrapped, DeviceError> {
        let folder = self.state_folder();
        Wrapped::new(&folder, command, state).map_err(|message| DeviceError::Refused { message })
    }

    fn job(&mut self, name: &str) -> Result<usize, DeviceError> {
        let found = self.jobs.iter().position(|job| job.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
            let known = match names.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there are {}", names.join(", ")),
            };
            DeviceError::Refused {
                message: format!("There is no job {name:?}: {known}."),
            }
        })
    }

    /// The new output of a job, from an answer about its task.
    fn new_output(
        &mut self,
        index: usize,
        answer: &InterpreterAnswer,
        max_output_bytes: usize,
    ) -> CommandOutput {
        let job = &mut self.jobs[index];
        let ended = match answer.state {
            Some(InterpreterTaskState::Running) => None,
            Some(InterpreterTaskState::Completed) | None => Some(match answer.exit_code {
                Some(0) | None => ShellOutcome::Success,
                Some(_) => ShellOutcome::Error,
            }),
            Some(InterpreterTaskState::Cancelled) => Some(ShellOutcome::Cancelled),
            Some(InterpreterTaskState::Failed) => Some(ShellOutcome::Error),
        };
        if let Some(ended) = ended {
            job.outcome = ended;
            job.exit_code = answer.exit_code;
        }
        let new = |text: &str, returned: &mut usize| {
            // The service returns everything so far.
            let new = text.get(*returned..).unwrap_or(text).to_owned();
            *returned = text.len();
            new
        };
        let (stderr, _) = script::without_trailer(&answer.stderr, "");
        let stdout = new(&answer.stdout, &mut job.returned[0]);
        let stderr = new(stderr, &mut job.returned[1]);
        let (stdout, stderr, truncated_bytes) = bounded(&stdout, &stderr, max_output_bytes);
        CommandOutput {
            stdout,
            stderr,
            exit_code: job.exit_code,
            outcome: job.outcome.clone(),
            truncated_bytes,
            ..CommandOutput::default()
        }
    }
}

#[async_trait]
impl Shell for InterpreterShell {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        self.end_running().await?;
        let wrapped = self.wrapped(command, CommandUse::of(command))?;
        self.may_run = Some(wrapped.mark.clone());
        let call = InterpreterCall::Execute(&wrapped.text);
        let limit = command.timeout + SERVICE_TIME;
        let answer = match self.ask(call, limit).await {
            Ok(answer) => answer,
            Err(error) => {
                // What was refused does not run.
                if !is_effect_unknown(&error) {
                    self.may_run = None;
                }
                return Err(error);
            }
        };
        self.may_run = None;
        let (stderr, folder) = script::without_trailer(&answer.stderr, &wrapped.mark);
        if command.cwd.is_none() {
            self.cwd = folder.map(str::to_owned).or_else(|| self.cwd.take());
        }
        if let Some(observer) = &self.observer {
            observer.output(answer.stdout.as_bytes());
            observer.output(stderr.as_bytes());
        }
        let is_ended = wrapped.is_ended_by_timeout(&answer);
        let outcome = match answer.exit_code {
            _ if is_ended => ShellOutcome::Timeout,
            Some(0) => ShellOutcome::Success,
            Some(_) | None => ShellOutcome::Error,
        };
        // Without an exit code nothing was run, and the texts say why.
        let stderr = match answer.exit_code {
            None if answer.stdout.is_empty() && stderr.is_empty() => answer.text.as_str(),
            _ => stderr,
        };
        let notice = self.session.after_command().await;
        let (stdout, mut stderr, truncated_bytes) =
            bounded(&answer.stdout, stderr, command.max_output_bytes);
        if let Some(notice) = notice {
            stderr.push_str(&format!("[{notice}]\n"));
        }
        Ok(CommandOutput {
            stdout,
            stderr,
            exit_code: answer.exit_code.filter(|_| !is_ended),
            outcome,
            truncated_bytes,
            duration_ms: answer.duration_ms,
            ..CommandOutput::default()
        })
    }

    async fn start(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        if self.jobs.len() >= MAX_JOBS {
            let message = format!("There are {MAX_JOBS} jobs; stop one first.");
            return Err(DeviceError::Refused { message });
        }
        let wrapped = self.wrapped(command, CommandUse::Job)?;
        let call = InterpreterCall::Start(&wrapped.text);
        let answer = self.ask(call, SERVICE_TIME).await?;
        let Some(task) = answer.task else {
            let reason = answer.text.trim();
            let message = format!("The service started no task: {reason}");
            return Err(DeviceError::Refused { message });
        };
        let last = self
            .jobs
            .iter()
            .filter_map(|job| job.name[3..].parse::<u32>().ok());
        let name = format!("job{}", last.max().unwrap_or_default() + 1);
        let stdout = format!("Started {name}.\n");
        self.jobs.push(Job {
            name,
            task,
            command: command.command.clone(),
            started: Instant::now(),
            returned: [0, 0],
            outcome: ShellOutcome::Running,
            exit_code: None,
        });
        Ok(CommandOutput {
            stdout,
            outcome: ShellOutcome::Running,
            ..CommandOutput::default()
        })
    }

    async fn jobs(&mut self) -> Result<Vec<ShellJob>, DeviceError> {
        for index in 0..self.jobs.len() {
            if self.jobs[index].outcome == ShellOutcome::Running {
                let task = self.jobs[index].task.clone();
                let answer = self.ask(InterpreterCall::Task(&task), SERVICE_TIME).await?;
                let job = &mut self.jobs[index];
                let returned = job.returned;
                self.new_output(index, &answer, 0);
                // Nothing of it was returned to the model.
                self.jobs[index].returned = returned;
            }
        }
        let jobs = self.jobs.iter();
        let described = jobs.map(|job| ShellJob {
            name: job.name.clone(),
            command: job.command.clone(),
            ran: job.started.elapsed(),
            outcome: job.outcome.clone(),
            exit_code: job.exit_code,
        });
        Ok(described.collect())
    }

    async fn read(
        &mut self,
        job: &str,
        max_output_bytes: usize,
    ) -> Result<CommandOutput, DeviceError> {
        let index = self.job(job)?;
        let task = self.jobs[index].task.clone();
        let answer = self.ask(InterpreterCall::Task(&task), SERVICE_TIME).await?;
        Ok(self.new_output(index, &answer, max_output_bytes))
    }

    async fn stop(
        &mut self,
        job: &str,
        max_output_bytes: usize,
    ) -> Result<CommandOutput, DeviceError> {
        let index = self.job(job)?;
        let task = self.jobs[index].task.clone();
        self.ask(InterpreterCall::Stop(&task), END_TIME).await?;
        let answer = self.ask(InterpreterCall::Task(&task), SERVICE_TIME).await?;
        let mut output = self.new_output(index, &answer, max_output_bytes);
        if output.outcome == ShellOutcome::Running {
            output.outcome = ShellOutcome::Cancelled;
        }
        self.jobs.remove(index);
        Ok(output)
    }

    async fn end_command(&mut self) -> Result<Option<CommandOutput>, DeviceError> {
        if self.may_run.is_none() {
            return Ok(None);
        }
        self.end_running().await?;
        Ok(Some(CommandOutput {
            outcome: ShellOutcome::Cancelled,
            ..CommandOutput::default()
        }))
    }

    async fn restart(&mut self) -> Result<(), DeviceError> {
        self.end_running().await?;
        // One that cannot be stopped stays listed.
        while let Some(task) = self.jobs.last().map(|job| job.task.clone()) {
            self.ask(InterpreterCall::Stop(&task), END_TIME).await?;
            self.jobs.pop();
        }
        self.generation += 1;
        self.cwd = None;
        self.first_command().await
    }

    fn observe_output(&mut self, observer: Arc<dyn OutputObserver>) {
        self.observer = Some(observer);
    }

    fn cwd(&self) -> Option<String> {
        self.cwd.clone()
    }

    /// A machine of the service's own, which has nothing of this one.
    fn is_sandboxed(&self) -> bool {
        true
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        let ended = self.session.end().await;
        ended.map_err(|message| DeviceError::Unavailable {
            what: "the end of the code interpreter's session",
            message,
        })
    }
}

fn failed(failure: InvokeFailure) -> DeviceError {
    match failure {
        InvokeFailure::Ended(reason) => gone(reason),
        InvokeFailure::NotRun(message) => DeviceError::Refused {
            message: format!("The command was not run: {message}."),
        },
        InvokeFailure::Unknown(message) => {
            tracing::warn!(message, "a command of the code interpreter has no answer");
            unknown("The service did not answer")
        }
    }
}

/// What an exception in the stream of an answer means.
fn exception(name: &str, text: &str) -> DeviceError {
    match name {
        "resourceNotFoundException" => gone(text.to_owned()),
        "internalServerException" => unknown("The service reported an error of its own"),
        _ => DeviceError::Refused {
            message: format!("The command was not run: {text}."),
        },
    }
}

fn gone(reason: String) -> DeviceError {
    DeviceError::Disconnected {
        device: DEVICE,
        source: Box::new(DeviceEnd { reason }),
    }
}

fn unknown(remedy: &'static str) -> DeviceError {
    DeviceError::Reconnected {
        device: DEVICE,
        is_effect_unknown: true,
        remedy,
    }
}

fn is_effect_unknown(error: &DeviceError) -> bool {
    matches!(
        error,
        DeviceError::Reconnected {
            is_effect_unknown: true,
            ..
        }
    )
}
