//! `run`: the agent loop. The model's last message goes to stdout, its progress to stderr.

mod in_session;

use std::io::{self, Write as _};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use telechir_agent::{
    Agent, AgentError, AgentSettings, ApiKey, Canceller, EndReason, ResumeMessage, RunReport,
};
use telechir_providers::{Declaration, Dialect, RequestOptions, ToolOffer};
use telechir_runtime::{
    ActionEffect, DeviceKind, JournalError, RecordedConversation, RecordedEntry, SessionEvent,
};

use tokio::time::timeout;

use crate::args::{DeviceArguments, RunArguments, SafetyArguments};
use crate::call_approver::{OneCall, SessionVisibility};
use crate::counted::counted;
use crate::env::{self, ApiAccess};
use crate::error::{CliError, chain};
use crate::input::write_text;
use crate::json_events::JsonEvents;
use crate::live_page::page_of;
use crate::progress::Progress;
use crate::secrets::Secrets;
use crate::service::{self, Service};
use crate::session::{self, LiveSession, Stopped};
use crate::session_config::GivenFlags;
use crate::session_events::{RunEvents, SessionEvents};
use crate::system_prompt::{Machine, ProgramNetwork, SystemTexts};

/// How long the end of a stopped run may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) async fn run(mut arguments: RunArguments) -> Result<ExitCode, CliError> {
    check_texts(&arguments)?;
    if let Some(name) = arguments.session.clone() {
        return in_session::run(arguments, name).await;
    }
    let recorded = recorded(&mut arguments)?;
    if arguments.devices.is_empty() {
        take_recorded_flags(&mut arguments, recorded.as_ref())?;
    }
    let model = ModelChoice::of(&arguments, recorded.as_ref())?;
    let texts = SystemTexts::read(&arguments.conversation)?;
    let policy = crate::policy::load(&arguments.safety)?;
    let work = Work {
        texts,
        network: ProgramNetwork::of(&policy),
        recorded,
        arguments: &arguments,
        model: &model,
    };
    let (canceller, signal) = Canceller::new();
    let agent = model.agent(&arguments)?.cancelled_by(signal);
    let caller = OneCall {
        command: "run",
        wait: Duration::from_secs(arguments.approval_wait),
        visibility: match arguments.conversation.view {
            true => SessionVisibility::ForPage,
            false => SessionVisibility::IfPossible,
        },
    };
    let mut open = session::open(
        &arguments.devices,
        &arguments.safety,
        policy,
        model.dialect,
        Some(&model.name),
        caller,
    )
    .await?;
    let page = match page_of(caller).await {
        Ok(page) => page,
        Err(error) => {
            open.close().await?;
            return Err(error);
        }
    };
    let message = open.message.clone();
    let to_page = move |piece: &str| {
        if let Some(message) = &message {
            message.push_message(piece);
        }
    };
    let (agent, [text, json_text]) = arguments.conversation.stream_text(agent, to_page);
    let subscribe = || SessionEvents::Own(open.session.subscribe());
    let progress = Progress::start(RunEvents::new(subscribe(), text));
    let is_json = arguments.conversation.json;
    let json = is_json.then(|| RunEvents::new(subscribe(), json_text));
    let json = json.map(JsonEvents::start);
    let events = subscribe();
    let outcome = {
        let mut work = pin!(work.finish(&agent, &mut open));
        let outcome = session::until_stopped(&mut work).await;
        canceller.cancel();
        if outcome.is_err() {
            // The agent reports the end of the task. A person who has control is not waited for.
            let _end = timeout(CANCEL_TIMEOUT, work).await;
        }
        outcome
    };
    let closed = open.close().await;
    progress.finish().await;
    drop(page);
    match outcome {
        Err(Stopped(number)) => {
            if let Some(json) = json {
                json.finish_soon().await;
            }
            Err(interrupted(number, events).await)
        }
        Ok(finished) => {
            if let Some(json) = json
                && let Err(Stopped(number)) = json.finish().await
            {
                return Err(CliError::signal(number));
            }
            let finished = finished?;
            closed?;
            conclude(&finished, is_json)
        }
    }
}

/// Completes the flags by those of the recorded run.
fn take_recorded_flags(
    arguments: &mut RunArguments,
    recorded: Option<&RecordedConversation>,
) -> Result<(), CliError> {
    const NO_DEVICE: &str = "no device: give --desktop, --browser, --shell or --editor";
    let recorded = recorded.ok_or_else(|| CliError::usage(NO_DEVICE))?;
    let flags = recorded.session.as_ref().ok_or_else(|| {
        CliError::usage(format!(
            "{NO_DEVICE}; the recording does not have the run's own"
        ))
    })?;
    let given = GivenFlags::new(&arguments.devices, &arguments.safety, None)?;
    let flags = given.with_recorded(flags);
    let _best_effort = writeln!(io::stderr(), "telechir: flags of the run: {flags}");
    (arguments.devices, arguments.safety) = flags.read()?;
    Ok(())
}

/// Rejects texts that cannot work before anything starts.
fn check_texts(arguments: &RunArguments) -> Result<(), CliError> {
    let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    if is_blank(&arguments.task) {
        return Err(CliError::usage(
            "the task is empty: write what the model should do, in quotes",
        ));
    }
    if is_blank(&arguments.model) {
        return Err(CliError::usage(
            "--model is empty: expected the model's name, as the provider spells it",
        ));
    }
    Ok(())
}

/// The conversation that `--resume` continues.
fn recorded(arguments: &mut RunArguments) -> Result<Option<RecordedConversation>, CliError> {
    let SafetyArguments { record, run, .. } = &mut arguments.safety;
    let Some(folder) = record else {
        return Ok(None);
    };
    if let Some(name) = &arguments.conversation.resume {
        let recorded = RecordedConversation::read(&*folder, name)?;
        *run = Some(name.clone());
        return Ok(Some(recorded));
    }
    let Some(name) = run else {
        return Ok(None);
    };
    match RecordedConversation::read(&*folder, name) {
        Ok(_) => Err(CliError::usage(format!(
            "--run {name}: the recording has this run already; continue it with --resume {name}, or \
             choose another name"
        ))),
        Err(JournalError::NoConversation { .. } | JournalError::Absent { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The model and how it is reached.
struct ModelChoice {
    service: &'static Service,
    dialect: Dialect,
    name: String,
    access: ApiAccess,
}

impl ModelChoice {
    fn of(
        arguments: &RunArguments,
        recorded: Option<&RecordedConversation>,
    ) -> Result<Self, CliError> {
        let given = arguments.provider.clone();
        let provider = given.or_else(|| recorded.map(|run| run.provider.clone()));
        let provider = provider.unwrap_or_default();
        let service = service::named(&provider)
            .ok_or_else(|| CliError::usage(format!("unknown provider `{provider}`")))?;
        let dialect = match recorded {
            // Its responses are this dialect's JSON.
            Some(run) => Some(run.dialect.parse::<Dialect>()?),
            None => arguments.dialect,
        };
        let given = arguments.model.clone();
        let name = given.or_else(|| recorded.map(|run| run.model.clone()));
        Ok(Self {
            service,
            dialect: service.dialect(dialect).map_err(CliError::usage)?,
            name: name.unwrap_or_default(),
            access: env::access(service, arguments.base_url.clone()).map_err(CliError::usage)?,
        })
    }

    fn agent(&self, arguments: &RunArguments) -> Result<Agent, CliError> {
        let dialect = self.dialect.name();
        let key = ApiKey::new(&self.access.key)
            .ok_or_else(|| CliError::usage(format!(
                "the API key for {dialect} contains invalid characters (space or newline); set the variable again"
            )))?;
        let mut settings = AgentSettings::new(self.dialect, key);
        settings.base_url = Some(self.access.base_url.clone());
        settings.max_steps = arguments.max_steps;
        settings.provider = self.service.name.to_owned();
        settings.session = GivenFlags::for_recording(&arguments.devices, &arguments.safety)?;
        let names = arguments.devices.page.secret_names();
        settings.secrets = match &arguments.session {
            None => Secrets::from_environment(names)?.values(),
            // The session has them already, perhaps from another environment.
            Some(_) => Secrets::that_are_set(names).values(),
        };
        Agent::new(settings).map_err(|error| {
            let from = self.access.from;
            CliError::usage(format!("{from}: failed to {}", chain(&error)))
        })
    }

    /// An error of the loop, with what the user can do about it.
    fn explain(&self, error: &AgentError, is_streamed: bool) -> CliError {
        let cause = if let AgentError::GaveUp { last, .. } = error {
            last
        } else {
            error
        };
        let status = if let AgentError::Refused { status, .. } = cause {
            *status
        } else {
            0
        };
        let hint = match status {
            404 => format!(
                "; check --model {} and the base URL ({})",
                self.name, self.access.from
            ),
            401 | 403 => format!("; check {}", self.service.keys.join(" or ")),
            _ => String::new(),
        };
        let is_no_response = matches!(
            cause,
            AgentError::NotAResponse { .. } | AgentError::Decode(_) | AgentError::Stream(_)
        );
        let is_refused = matches!(status, 400 | 404 | 405 | 422 | 501);
        let has_no_streams = is_streamed && (is_no_response || is_refused);
        let hint = match has_no_streams {
            true => format!("{hint}; if the service has no streams, add --stream never"),
            false => hint,
        };
        CliError::message(format!("failed to {}{hint}", chain(error)))
    }
}

/// What happens while the session is open.
struct Work<'a> {
    arguments: &'a RunArguments,
    model: &'a ModelChoice,
    texts: SystemTexts,
    network: ProgramNetwork,
    recorded: Option<RecordedConversation>,
}

impl Work<'_> {
    async fn finish(self, agent: &Agent, open: &mut LiveSession) -> Result<RunReport, CliError> {
        let devices = &self.arguments.devices;
        if let Some(url) = devices.first_page() {
            open.navigate(url).await?;
        }
        let model = self.model;
        let offer = ToolOffer {
            tools: open.tools.clone(),
            model: Some(model.name.clone()),
        };
        let declaration = declare(model.dialect, &offer)?;
        let machine = Machine {
            devices,
            desktop: open.session.screenshot_size(DeviceKind::Desktop),
            browser: open.session.screenshot_size(DeviceKind::Browser),
            workspace: open.workspace(),
            network: self.network,
            tools: serde_json::to_string(&declaration.tools)?,
        };
        let task = self.arguments.task.clone();
        let mut options = request_options(self.arguments, model, declaration);
        let mut session = open.for_agent();
        let ended = match &self.recorded {
            None => {
                options.system = self.texts.instructions(&machine);
                options.task = task.unwrap_or_default();
                agent.run(options, &mut session).await
            }
            Some(recorded) => {
                options.system.clone_from(&recorded.system);
                options.task = first_message(recorded);
                let note = note(devices);
                let message = ResumeMessage { task, note };
                agent.resume(recorded, options, message, &mut session).await
            }
        };
        // Its devices do not end under the hands of a person.
        open.until_given_back().await;
        let is_streamed = self.arguments.conversation.is_streamed();
        ended.map_err(|error| model.explain(&error, is_streamed))
    }
}

/// The tools in the dialect's own form.
fn declare(dialect: Dialect, offer: &ToolOffer) -> Result<Declaration, CliError> {
    let (declaration, report) = dialect.declare(offer)?;
    for loss in &report.losses {
        tracing::info!(
            what = loss.what,
            why = loss.why,
            "the dialect cannot declare this tool option"
        );
    }
    Ok(declaration)
}

/// What every request has, without system instructions and task.
fn request_options(
    arguments: &RunArguments,
    model: &ModelChoice,
    declaration: Declaration,
) -> RequestOptions {
    RequestOptions {
        model: model.name.clone(),
        declaration,
        images: arguments.conversation.images(),
        max_history_tokens: arguments.conversation.max_history_tokens,
        ..RequestOptions::default()
    }
}

fn first_message(recorded: &RecordedConversation) -> String {
    match recorded.entries.first() {
        Some(RecordedEntry::Message(text)) => text.clone(),
        Some(RecordedEntry::Response(_)) | None => String::new(),
    }
}

/// What a resumed model must know: its earlier devices are gone.
fn note(devices: &DeviceArguments) -> String {
    let files = match devices.workspace.is_some() {
        true => "Files in the workspace are as they were left.",
        false => "The workspace is new and empty.",
    };
    format!(
        "[telechir was interrupted and continues this run. The session was started anew: programs, \
         windows, pages and the shell's state are gone. {files} Look before you go on.]"
    )
}

/// The message about a signal; names the action that it ended.
async fn interrupted(number: u8, events: SessionEvents) -> CliError {
    match last_cancelled(events).await {
        Some(action) => CliError::stopped(
            number,
            format!("stopped by a signal after {action}; keys were released and processes ended"),
        ),
        None => CliError::signal(number),
    }
}

/// The last action that was cancelled, with its duration; the session, or the task in it, has ended.
async fn last_cancelled(mut events: SessionEvents) -> Option<String> {
    let mut last = None;
    while let Some(event) = events.next().await {
        if matches!(*event, SessionEvent::SessionClosed { .. }) {
            break;
        }
        if let SessionEvent::ActionFinished {
            summary,
            effect: ActionEffect::Cancelled,
            ms,
            ..
        } = &*event
        {
            last = Some(format!(
                "{}.{} s of `{summary}`",
                ms / 1000,
                ms % 1000 / 100
            ));
        }
    }
    last
}

/// Success only if the model reports that the task is done.
fn conclude(finished: &RunReport, is_json: bool) -> Result<ExitCode, CliError> {
    let steps = finished.steps;
    let problem = match &finished.reason {
        EndReason::Done => {
            if !is_json {
                write_text(&format!("{}\n", finished.text.trim_end()))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        EndReason::Refused { reason } => format!("the model refused: {reason}"),
        EndReason::MaxTokens => {
            "the model's response was cut off at its token limit; its calls were not executed"
                .to_owned()
        }
        EndReason::ContextExceeded => {
            "the conversation exceeds the model's context window".to_owned()
        }
        EndReason::StepLimit => "the model had not finished at the limit of --max-steps".to_owned(),
        EndReason::SafetyCheck { message } => {
            format!("the provider's safety check was not acknowledged: {message}")
        }
        EndReason::Planned | EndReason::Cancelled => "the run was stopped".to_owned(),
        EndReason::Incomplete { reason } => format!("the provider ended the run: {reason}"),
    };
    Err(CliError::message(format!(
        "{problem} (after {})",
        counted(steps, "step")
    )))
}
