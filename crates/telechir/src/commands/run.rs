//! `run`: the agent loop, with its progress on the terminal.

use std::process::ExitCode;

use telechir_agent::{Agent, AgentSettings, ApiKey, Canceller, EndReason, RunReport};
use telechir_providers::{Dialect, ImageLimit, RequestOptions, ToolOffer};

use crate::args::RunArguments;
use crate::env::{self, ApiAccess};
use crate::error::CliError;
use crate::progress::Progress;
use crate::service::{self, Service};
use crate::session::{self, LiveSession, Stopped};

pub(crate) async fn run(arguments: RunArguments) -> Result<ExitCode, CliError> {
    let devices = &arguments.devices;
    if devices.is_empty() {
        return Err(CliError::usage(
            "no device: give --desktop, --browser, --shell or --editor",
        ));
    }
    let service = service(&arguments.provider)?;
    let access = env::access(service, arguments.base_url.clone()).map_err(CliError::usage)?;
    let dialect = service
        .dialect(arguments.dialect)
        .map_err(CliError::usage)?;
    let policy = crate::policy::load(&arguments.safety)?;
    let (canceller, signal) = Canceller::new();
    let agent = agent(dialect, access, arguments.max_steps)?.cancelled_by(signal);
    let mut open = session::open(
        devices,
        &arguments.safety,
        policy,
        dialect,
        Some(&arguments.model),
    )
    .await?;
    let progress = Progress::start(open.session.subscribe());
    let outcome = session::until_stopped(work(&agent, &arguments, dialect, &mut open)).await;
    canceller.cancel();
    let closed = open.close().await;
    progress.finish().await;
    match outcome {
        Err(Stopped(number)) => Err(CliError::signal(number)),
        Ok(finished) => {
            let finished = finished?;
            closed?;
            conclude(&finished)
        }
    }
}

async fn work(
    agent: &Agent,
    arguments: &RunArguments,
    dialect: Dialect,
    open: &mut LiveSession,
) -> Result<RunReport, CliError> {
    if let Some(url) = arguments.devices.first_page() {
        open.navigate(url).await?;
    }
    let offer = ToolOffer {
        tools: open.tools.clone(),
        model: Some(arguments.model.clone()),
    };
    let (declaration, report) = dialect.declare(&offer)?;
    for loss in &report.losses {
        tracing::info!(
            what = loss.what,
            why = loss.why,
            "the dialect cannot declare this tool option"
        );
    }
    let opening = RequestOptions {
        model: arguments.model.clone(),
        system: None,
        task: arguments.task.clone(),
        declaration,
        max_tokens: None,
        images: ImageLimit::default(),
    };
    Ok(agent.run(opening, &mut open.session).await?)
}

fn agent(dialect: Dialect, access: ApiAccess, max_steps: u32) -> Result<Agent, CliError> {
    let key = ApiKey::new(&access.key)
        .ok_or_else(|| CliError::usage(format!(
            "the API key for {dialect} contains invalid characters (space or newline); set the variable again",
            dialect = dialect.name()
        )))?;
    let mut settings = AgentSettings::new(dialect, key);
    settings.base_url = Some(access.base_url);
    settings.max_steps = max_steps;
    Ok(Agent::new(settings)?)
}

fn service(name: &str) -> Result<&'static Service, CliError> {
    service::named(name).ok_or_else(|| CliError::usage(format!("unknown provider `{name}`")))
}

/// Success only if the model reports that the task is done.
fn conclude(finished: &RunReport) -> Result<ExitCode, CliError> {
    let steps = finished.steps;
    let problem = match &finished.reason {
        EndReason::Done => return Ok(ExitCode::SUCCESS),
        EndReason::Refused { reason } => format!("the model refused: {reason}"),
        EndReason::MaxTokens => {
            "the model's response was cut off at its token limit; its calls were not executed"
                .to_owned()
        }
        EndReason::ContextExceeded => {
            "the conversation exceeds the model's context window".to_owned()
        }
        EndReason::StepLimit => {
            format!("the model needs more than {steps} steps; raise --max-steps")
        }
        EndReason::SafetyCheck { message } => {
            format!("the provider's safety check was not acknowledged: {message}")
        }
        EndReason::Planned | EndReason::Cancelled => "the run was stopped".to_owned(),
        EndReason::Incomplete { reason } => format!("the provider ended the run: {reason}"),
    };
    Err(CliError::message(format!(
        "{problem} (after {steps} steps)"
    )))
}
