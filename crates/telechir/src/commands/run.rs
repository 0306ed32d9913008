//! `run`: the agent loop, with its progress on the terminal.

use std::process::ExitCode;

use telechir_agent::{Agent, AgentSettings, ApiKey, Canceller, EndReason, RunReport};
use telechir_providers::{Dialect, ImageLimit, RequestOptions, ToolOffer};

use crate::args::RunArguments;
use crate::env::{self, Access};
use crate::error::Failure;
use crate::progress::Progress;
use crate::service::{self, Service};
use crate::session::{self, Open, Stopped};

pub(crate) async fn run(arguments: RunArguments) -> Result<ExitCode, Failure> {
    let devices = &arguments.devices;
    if devices.is_empty() {
        return Err(Failure::usage(
            "the model has nothing to work with: give --desktop, --browser, --shell or --editor",
        ));
    }
    let service = service(&arguments.provider)?;
    let access = env::access(service, arguments.base_url.clone()).map_err(Failure::usage)?;
    let dialect = service.dialect(arguments.dialect).map_err(Failure::usage)?;
    let policy = crate::policy::load(arguments.safety.policy.as_deref())?;
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
        Err(Stopped(number)) => Err(Failure::signal(number)),
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
    open: &mut Open,
) -> Result<RunReport, Failure> {
    if let Some(url) = arguments.devices.opening_page() {
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
            "the dialect cannot declare this"
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

fn agent(dialect: Dialect, access: Access, max_steps: u32) -> Result<Agent, Failure> {
    let key = ApiKey::new(&access.key)
        .ok_or_else(|| Failure::usage(format!(
            "the key for {dialect} holds a space, a line's end or something else that no key has; set its variable anew",
            dialect = dialect.name()
        )))?;
    let mut settings = AgentSettings::new(dialect, key);
    settings.base_url = Some(access.base_url);
    settings.max_steps = max_steps;
    Ok(Agent::new(settings)?)
}

fn service(name: &str) -> Result<&'static Service, Failure> {
    service::named(name).ok_or_else(|| Failure::usage(format!("no provider is called `{name}`")))
}

/// Only a model that says it is done ends a run well.
fn conclude(finished: &RunReport) -> Result<ExitCode, Failure> {
    let steps = finished.steps;
    let problem = match &finished.reason {
        EndReason::Done => return Ok(ExitCode::SUCCESS),
        EndReason::Refused { reason } => format!("the model refused: {reason}"),
        EndReason::MaxTokens => {
            "an answer of the model was cut off; its calls were not carried out".to_owned()
        }
        EndReason::ContextExceeded => {
            "the conversation became longer than the model can read".to_owned()
        }
        EndReason::StepLimit => {
            format!("the model wanted more than {steps} steps; --max-steps allows more")
        }
        EndReason::SafetyCheck { message } => {
            format!("nobody acknowledged the provider's safety check: {message}")
        }
        EndReason::Cancelled => "the run was stopped".to_owned(),
        EndReason::Incomplete { reason } => format!("the provider ended the run: {reason}"),
    };
    Err(Failure::message(format!("{problem} (after {steps} steps)")))
}
