//! `execute_computer_use`: another model that uses the screen of an MCP session.

use std::future::{Future, pending};

use serde_json::{Map, Value};
use telechir_agent::{
    Agent, AgentError, AgentSession, AgentSettings, ApiKey, EndReason, RunReport,
};
use telechir_protocol::{
    AnsweredTurn, ComputerUseTool, Content, Environment, ModelTurn, Size, Tool,
};
use telechir_providers::{Dialect, ImageLimit, RequestOptions, ToolOffer};
use telechir_runtime::{ConversationEntry, SessionEvent};
use telechir_tools::tool_step;

use crate::args::McpServerArguments;
use crate::counted::counted;
use crate::env::{self, ApiAccess};
use crate::error::CliError;
use crate::mcp_session::HostedSession;
use crate::service::{self, SERVICES, Service};

/// The models for computer use of the services that have one, by the service's name.
const MODELS: [(&str, &str); 3] = [
    ("anthropic", "claude-opus-5-5"),
    ("openai", "gpt-5.6-sol"),
    ("google", "gemini-3.8-flash"),
];
/// Turns in which a model may look before it plans.
const PLAN_STEPS: u32 = 5;

/// A model that can be given tasks.
pub(crate) struct TaskModel {
    dialect: Dialect,
    access: ApiAccess,
    model: String,
    tools: Vec<Tool>,
    screen: Size,
}

impl TaskModel {
    /// The model of these flags; none without a screen or an API key.
    ///
    /// # Errors
    /// For a provider that was named and cannot be used.
    pub(crate) fn of(arguments: &McpServerArguments) -> Result<Option<Self>, CliError> {
        let tools = tools(arguments);
        if tools.is_empty() {
            return Ok(None);
        }
        let service = match &arguments.task_provider {
            Some(name) => service::named(name),
            None => SERVICES.iter().find(|service| {
                let has_model = arguments.task_model.is_some() || model_of(service).is_some();
                has_model && env::key(service).is_ok()
            }),
        };
        let Some(service) = service else {
            return Ok(None);
        };
        let access = env::access(service, None).map_err(CliError::usage)?;
        let named = arguments.task_model.clone();
        let model = named.or_else(|| model_of(service).map(str::to_owned));
        let model = model.ok_or_else(|| {
            CliError::usage(format!(
                "--task-provider {}: name the model with --task-model",
                service.name
            ))
        })?;
        Ok(Some(Self {
            dialect: service.dialect(None).map_err(CliError::usage)?,
            access,
            model,
            tools,
            screen: arguments.devices.screen_size(),
        }))
    }

    /// The model's next steps; nothing is acted on.
    pub(crate) async fn plan(
        &self,
        instruction: &str,
        session: &mut HostedSession<'_>,
    ) -> Result<Map<String, Value>, String> {
        let agent = self.agent(PLAN_STEPS)?;
        let mut session = self.session(session);
        let planned = agent.plan(self.request(instruction)?, &mut session).await;
        let (report, contents) = planned.map_err(|error| format!("failed to {error}"))?;
        let steps: Vec<Value> = contents
            .iter()
            .filter_map(|content| {
                if let Content::ComputerCall(call) = content {
                    Some(&call.actions)
                } else {
                    None
                }
            })
            .flatten()
            .map(|action| tool_step(action, self.screen))
            .collect();
        let mut members = self.members(&report);
        members.insert("mode".to_owned(), "plan".into());
        members.insert("plan".to_owned(), steps.into());
        Ok(members)
    }

    /// Lets the model work until it is done.
    pub(crate) async fn work(
        &self,
        instruction: &str,
        max_steps: u32,
        session: &mut HostedSession<'_>,
    ) -> Result<Map<String, Value>, String> {
        let agent = self.agent(max_steps)?;
        let mut session = self.session(session);
        let finished = agent.run(self.request(instruction)?, &mut session).await;
        let report = finished.map_err(|error| format!("failed to {error}"))?;
        let mut members = self.members(&report);
        members.insert("mode".to_owned(), "execute".into());
        if report.reason == EndReason::Done {
            return Ok(members);
        }
        Err(format!(
            "The model did not finish the task ({}) after {}. Observe the screen before you \
             go on. Its last message: {}",
            reason_name(&report.reason),
            counted(report.steps, "step"),
            report.text
        ))
    }

    fn agent(&self, max_steps: u32) -> Result<Agent, String> {
        let key = ApiKey::new(&self.access.key)
            .ok_or("the API key contains invalid characters (space or newline)")?;
        let mut settings = AgentSettings::new(self.dialect, key);
        settings.base_url = Some(self.access.base_url.clone());
        settings.max_steps = max_steps;
        Agent::new(settings).map_err(|error| format!("failed to {error}"))
    }

    fn request(&self, instruction: &str) -> Result<RequestOptions, String> {
        let offer = ToolOffer {
            tools: self.tools.clone(),
            model: Some(self.model.clone()),
        };
        let declared = self.dialect.declare(&offer);
        let (declaration, _losses) = declared.map_err(|error| format!("failed to {error}"))?;
        Ok(RequestOptions {
            model: self.model.clone(),
            system: None,
            task: instruction.to_owned(),
            declaration,
            max_tokens: None,
            images: ImageLimit::default(),
            max_history_tokens: None,
        })
    }

    fn session<'a>(&self, session: &'a HostedSession<'a>) -> TaskSession<'a> {
        TaskSession {
            session,
            dialect: self.dialect,
        }
    }

    fn members(&self, report: &RunReport) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("model".to_owned(), self.model.clone().into());
        members.insert("stdout".to_owned(), report.text.clone().into());
        members.insert("steps".to_owned(), report.steps.into());
        members
    }
}

fn model_of(service: &Service) -> Option<&'static str> {
    let found = MODELS.iter().find(|(name, _)| *name == service.name);
    found.map(|(_, model)| *model)
}

/// The screens of the session as tools of the model.
fn tools(arguments: &McpServerArguments) -> Vec<Tool> {
    let devices = &arguments.devices;
    let size = devices.screen_size();
    let screen = |environment| {
        Tool::ComputerUse(ComputerUseTool {
            display_width: Some(size.width),
            display_height: Some(size.height),
            environment: Some(environment),
            ..ComputerUseTool::default()
        })
    };
    let desktop = devices.desktop.as_ref().map(|_| screen(Environment::Linux));
    let browser = devices
        .browser
        .as_ref()
        .map(|_| screen(Environment::Browser));
    desktop.into_iter().chain(browser).collect()
}

fn reason_name(reason: &EndReason) -> String {
    match reason {
        EndReason::Done => "done".to_owned(),
        EndReason::Refused { reason } => format!("it refused: {reason}"),
        EndReason::MaxTokens => "its response reached the token limit".to_owned(),
        EndReason::ContextExceeded => "the conversation exceeds its context".to_owned(),
        EndReason::StepLimit => "max_steps is too small".to_owned(),
        EndReason::SafetyCheck { message } => format!("a safety check was not approved: {message}"),
        EndReason::Planned | EndReason::Cancelled => "it was stopped".to_owned(),
        EndReason::Incomplete { reason } => reason.clone(),
    }
}

/// The session as the agent uses it.
struct TaskSession<'a> {
    session: &'a HostedSession<'a>,
    dialect: Dialect,
}

impl<'a> AgentSession for TaskSession<'a> {
    /// The recording of the MCP session has the calls; a task that ends early is not resumed.
    async fn record(&mut self, _entry: ConversationEntry) -> Result<(), AgentError> {
        Ok(())
    }

    /// Nothing is recorded here.
    async fn hidden_input(&mut self, _turn: &ModelTurn) -> Result<Vec<String>, AgentError> {
        Ok(Vec::new())
    }

    async fn execute(
        &mut self,
        turn: ModelTurn,
        _response: u64,
        _started: Option<u64>,
    ) -> Result<AnsweredTurn, AgentError> {
        let answered = self.session.execute(self.dialect, turn).await;
        answered.map_err(|message| AgentError::RemoteSession { message })
    }

    fn emit(&self, event: SessionEvent) {
        tracing::debug!(?event, "a task of another model");
    }

    fn emitter(&self) -> impl Fn(SessionEvent) + Send + Sync + use<'a> {
        |event| tracing::debug!(?event, "a task of another model")
    }

    async fn wait_for<T: Send>(&mut self, response: impl Future<Output = T> + Send) -> T {
        response.await
    }

    fn is_stopped(&self) -> bool {
        false
    }

    /// A stopped session answers every call as cancelled, from which the model learns it.
    fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<'a> {
        pending()
    }

    async fn finish_dropped_turn(&mut self) {}
}
