//! One run with one script, and assertions on its outcome.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use telechir_agent::{Agent, AgentError, AgentSettings, ApiKey, CancelSignal, RunReport};
use telechir_policy::Policy;
use telechir_protocol::{ActionKind, ComputerUseTool, Environment, ShellTool, Tool};
use telechir_providers::{Dialect, ImageLimit, RequestOptions, ToolOffer};
use telechir_runtime::{AutoScreenshot, Session, SessionEvent};
use telechir_testkit::provider::{ModelServer, PlayReport, Provider, Script, ServedPage};

use crate::devices::{ActionLog, RecordingScreen, RecordingShell};

/// The word that the shell prints, which no script contains.
pub(crate) const WORD: &str = "zebra-7Q";

/// A run with the settings that tests change.
#[derive(Debug)]
pub(crate) struct TestRun {
    pub(crate) script: Script,
    pub(crate) fails_at: Option<ActionKind>,
    pub(crate) hangs_at: Option<ActionKind>,
    pub(crate) max_steps: u32,
    pub(crate) cancel: Option<CancelSignal>,
    pub(crate) actions: ActionLog,
    pub(crate) session_has_shell: bool,
    pub(crate) screenshots: ImageLimit,
    /// Whether responses are streamed.
    pub(crate) is_streamed: bool,
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct TestOutcome {
    pub(crate) finished: Result<RunReport, AgentError>,
    pub(crate) actions: Vec<String>,
    pub(crate) report: PlayReport,
    pub(crate) events: Vec<SessionEvent>,
    /// The text that arrived piece by piece.
    pub(crate) streamed_text: String,
}

impl TestRun {
    pub(crate) fn new(dialect: &str, turns: Value) -> Self {
        let script = serde_json::json!({"dialect": dialect, "turns": turns}).to_string();
        let (max_steps, actions) = (20, ActionLog::default());
        let script = Script::from_json(&script).unwrap();
        Self {
            script,
            fails_at: None,
            hangs_at: None,
            max_steps,
            cancel: None,
            actions,
            session_has_shell: true,
            screenshots: ImageLimit::default(),
            is_streamed: false,
        }
    }

    pub(crate) fn anthropic(turns: Value) -> Self {
        Self::new("anthropic-messages", turns)
    }

    pub(crate) fn openai(turns: Value) -> Self {
        Self::new("openai-responses", turns)
    }

    pub(crate) async fn execute(self) -> TestOutcome {
        let (dialect, model, observe) = target(self.script.provider);
        let server = ModelServer::start(self.script, ServedPage::default(), Vec::new())
            .await
            .unwrap();
        let mut settings = AgentSettings::new(dialect, ApiKey::new("test-key").unwrap());
        settings.base_url = Some(server.base_url());
        settings.max_steps = self.max_steps;
        let mut agent = Agent::new(settings).unwrap();
        if let Some(signal) = self.cancel {
            agent = agent.cancelled_by(signal);
        }
        let streamed_text = Arc::new(Mutex::new(String::new()));
        if self.is_streamed {
            let text = Arc::clone(&streamed_text);
            agent = agent.stream_text_to(move |piece| text.lock().unwrap().push_str(piece));
        }
        let screen = RecordingScreen {
            actions: self.actions.clone(),
            fails_at: self.fails_at,
            hangs_at: self.hangs_at,
        };
        let mut builder = Session::builder(policy())
            .desktop(Box::new(screen))
            .auto_screenshot(observe);
        if self.session_has_shell {
            let shell = RecordingShell {
                actions: self.actions.clone(),
                word: WORD.to_owned(),
            };
            builder = builder.shell(Box::new(shell));
        }
        let mut session = builder.build().unwrap();
        let mut reader = session.subscribe();
        let finished = agent
            .run(opening(dialect, model, self.screenshots), &mut session)
            .await;
        session.close().await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = reader.next().await {
            events.push((*event).clone());
        }
        TestOutcome {
            finished,
            actions: self.actions.lines(),
            report: server.report(),
            events,
            streamed_text: streamed_text.lock().unwrap().clone(),
        }
    }
}

impl TestOutcome {
    /// The report of a run, asserting that no request was rejected and every turn was played.
    #[track_caller]
    pub(crate) fn clean(self) -> RunReport {
        assert_eq!(self.report.rejections, []);
        assert!(self.report.is_clean(), "{:?}", self.report);
        self.finished.unwrap()
    }
}

/// The dialect, the model and the screenshots that a provider expects.
pub(crate) fn target(provider: Provider) -> (Dialect, &'static str, AutoScreenshot) {
    match provider {
        Provider::Anthropic => (
            Dialect::AnthropicMessages,
            "claude-opus-5-5",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::Converse => (
            Dialect::BedrockConverse,
            "us.anthropic.claude-opus-4-6-v1:0",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::BedrockMessages => (
            Dialect::BedrockMessages,
            "us.anthropic.claude-opus-5-5-v1:0",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::BedrockInvoke => (
            Dialect::BedrockInvoke,
            "us.anthropic.claude-opus-4-6-v1:0",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::Openai => (
            Dialect::OpenaiResponses,
            "gpt-5.6-sol",
            AutoScreenshot::EveryCall,
        ),
        Provider::Google => (
            Dialect::GoogleGenerateContent,
            "gemini-3.8-flash",
            AutoScreenshot::EveryCall,
        ),
        Provider::GoogleSteps => (
            Dialect::GoogleInteractions,
            "gemini-3.8-flash",
            AutoScreenshot::EveryCall,
        ),
        Provider::Functions => (
            Dialect::Functions,
            "some-model",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::FunctionsInline => (
            Dialect::FunctionsInline,
            "some-model",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::MistralChat => (
            Dialect::MistralChat,
            "mistral-medium-latest",
            AutoScreenshot::LastOfBatch,
        ),
        Provider::MistralConversations => (
            Dialect::MistralConversations,
            "mistral-medium-latest",
            AutoScreenshot::LastOfBatch,
        ),
    }
}

pub(crate) fn opening(dialect: Dialect, model: &str, screenshots: ImageLimit) -> RequestOptions {
    let screen = ComputerUseTool {
        display_width: Some(64),
        display_height: Some(48),
        environment: Some(Environment::Linux),
        ..ComputerUseTool::default()
    };
    let tools = vec![Tool::ComputerUse(screen), Tool::Shell(ShellTool::default())];
    let offer = ToolOffer {
        tools,
        model: Some(model.to_owned()),
    };
    let (declaration, _) = dialect.declare(&offer).unwrap();
    RequestOptions {
        model: model.to_owned(),
        task: "Do it.".to_owned(),
        declaration,
        images: screenshots,
        ..RequestOptions::default()
    }
}

pub(crate) fn policy() -> Policy {
    let text = r#"
        [[shell]]
        words = ["show"]
        verdict = "sandbox"
        reason = "The test's own command."
    "#;
    Policy::from_toml(text, "test.toml").unwrap()
}
