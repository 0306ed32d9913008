//! Runs that are continued from their recording. The recorded model validates every request, so the
//! rebuilt conversation must be the one that it had.

use std::path::Path;

use serde_json::{Value, json};
use telechir_agent::{
    Agent, AgentError, AgentSettings, ApiKey, EndReason, ResumeMessage, RunReport,
};
use telechir_providers::ImageLimit;
use telechir_runtime::{Journal, RecordKind, RecordedConversation, RunId, Session, read};
use telechir_testkit::provider::{ModelServer, Script, ServedPage};

use crate::devices::{ActionLog, RecordingScreen, RecordingShell};
use crate::run::{opening, policy, target};
use crate::{anthropic, bedrock, functions, google, openai};

const RUN: &str = "the-run";
const DIALECTS: [&str; 9] = [
    "anthropic-messages",
    "openai-responses",
    "bedrock-converse",
    "google-generate-content",
    "google-interactions",
    "functions",
    "functions-inline",
    "mistral-chat",
    "mistral-conversations",
];

/// A model, and a recording to which each part of the run has a session of its own.
struct Resumed {
    server: ModelServer,
    script: Script,
    folder: tempfile::TempDir,
    actions: ActionLog,
    secrets: Vec<String>,
    max_history_tokens: Option<u64>,
}

impl Resumed {
    async fn new(dialect: &str, turns: Value) -> Self {
        let script = json!({"dialect": dialect, "turns": turns}).to_string();
        let script = Script::from_json(&script).unwrap();
        let server = ModelServer::start(script.clone(), ServedPage::default(), Vec::new());
        Self {
            server: server.await.unwrap(),
            script,
            folder: tempfile::tempdir().unwrap(),
            actions: ActionLog::default(),
            secrets: Vec::new(),
            max_history_tokens: None,
        }
    }

    fn recording(&self) -> &Path {
        self.folder.path()
    }

    fn recorded(&self) -> RecordedConversation {
        RecordedConversation::read(self.recording(), RUN).unwrap()
    }

    fn agent(&self, max_steps: u32) -> Agent {
        let (dialect, ..) = target(self.script.provider);
        let mut settings = AgentSettings::new(dialect, ApiKey::new("test-key").unwrap());
        settings.base_url = Some(self.server.base_url());
        settings.max_steps = max_steps;
        settings.secrets.clone_from(&self.secrets);
        Agent::new(settings).unwrap()
    }

    fn session(&self) -> Session {
        let (_, _, observe) = target(self.script.provider);
        let screen = RecordingScreen {
            actions: self.actions.clone(),
            fails_at: None,
            hangs_at: None,
        };
        let shell = RecordingShell {
            actions: self.actions.clone(),
            word: "owl".to_owned(),
        };
        Session::builder(policy())
            .desktop(Box::new(screen))
            .shell(Box::new(shell))
            .auto_screenshot(observe)
            .journal(Journal::open(self.recording()).unwrap())
            .run(RunId::new(RUN))
            .build()
            .unwrap()
    }

    async fn start(&self, max_steps: u32) -> RunReport {
        let (dialect, model, _) = target(self.script.provider);
        let mut session = self.session();
        let mut options = opening(dialect, model, ImageLimit::default());
        options.max_history_tokens = self.max_history_tokens;
        let finished = self.agent(max_steps).run(options, &mut session).await;
        session.close().await.unwrap();
        finished.unwrap()
    }

    async fn resume(&self, task: Option<&str>) -> Result<RunReport, AgentError> {
        self.resume_within(20, task).await
    }

    async fn resume_within(
        &self,
        max_steps: u32,
        task: Option<&str>,
    ) -> Result<RunReport, AgentError> {
        let (dialect, model, _) = target(self.script.provider);
        let recorded = self.recorded();
        let mut session = self.session();
        let message = ResumeMessage {
            task: task.map(str::to_owned),
            note: "The run was interrupted.".to_owned(),
        };
        let options = opening(dialect, model, ImageLimit::default());
        let agent = self.agent(max_steps);
        let finished = agent.resume(&recorded, options, message, &mut session);
        let finished = finished.await;
        session.close().await.unwrap();
        finished
    }

    /// Everything in the recording, as text.
    fn rows(&self) -> String {
        let rows = read(self.recording()).unwrap();
        rows.iter().map(|row| row.body.to_string()).collect()
    }
}

/// A command, a last message, another command and another last message.
fn turns(dialect: &str) -> Value {
    let turns: [Value; 4] = match dialect {
        "anthropic-messages" | "bedrock-messages" => [
            json!([
                anthropic::call("t1", "screenshot", json!({})),
                anthropic::bash("t2", "show one")
            ]),
            json!([anthropic::text("Done.")]),
            json!([anthropic::bash("t3", "show two")]),
            json!([anthropic::text("Done again.")]),
        ],
        "openai-responses" => [
            json!([
                openai::computer("c1", json!([{"type": "screenshot"}])),
                openai::shell("s1", json!(["show one"]))
            ]),
            json!([openai::message("final_answer", "Done.")]),
            json!([openai::shell("s2", json!(["show two"]))]),
            json!([openai::message("final_answer", "Done again.")]),
        ],
        "bedrock-converse" => [
            json!([
                bedrock::computer("tooluse_1", json!({"action": "screenshot"})),
                bedrock::bash("tooluse_2", "show one")
            ]),
            json!([bedrock::text("Done.")]),
            json!([bedrock::bash("tooluse_3", "show two")]),
            json!([bedrock::text("Done again.")]),
        ],
        "google-generate-content" | "google-interactions" => [
            google::call(dialect, "c1", "shell", json!({"command": "show one"})).into(),
            json!([google::text(dialect, "Done.")]),
            google::call(dialect, "c2", "shell", json!({"command": "show two"})).into(),
            json!([google::text(dialect, "Done again.")]),
        ],
        _ => {
            let shell = |command: &str| json!({"command": command});
            let look = json!({"action": "screenshot"});
            let first = [
                ("aaaaaaaa1", "computer", look),
                ("aaaaaaaa2", "shell", shell("show one")),
            ];
            [
                functions::content(dialect, "", &first),
                functions::content(dialect, "Done.", &[]),
                functions::content(dialect, "", &[("aaaaaaaa3", "shell", shell("show two"))]),
                functions::content(dialect, "Done again.", &[]),
            ]
        }
    };
    turns.into_iter().map(|turn| json!({"say": turn})).collect()
}

#[tokio::test]
async fn a_run_continues_after_results_and_after_its_end_in_every_dialect() {
    for dialect in DIALECTS {
        let run = Resumed::new(dialect, turns(dialect)).await;
        assert_eq!(run.start(1).await.reason, EndReason::StepLimit, "{dialect}");
        let finished = run.resume(None).await;
        assert_eq!(run.server.report().rejections, [], "{dialect}");
        let finished = finished.unwrap();
        assert_eq!(
            (finished.reason, &*finished.text),
            (EndReason::Done, "Done.")
        );
        let finished = run.resume(Some("Now the second one.")).await;
        assert_eq!(run.server.report().rejections, [], "{dialect}");
        let finished = finished.unwrap();
        assert_eq!(
            (finished.reason, finished.steps, &*finished.text),
            (EndReason::Done, 1, "Done again."),
            "{dialect}"
        );
        assert_eq!(run.actions.lines(), ["show one", "show two"], "{dialect}");
        assert!(run.server.report().is_clean(), "{dialect}");
    }
}

#[tokio::test]
async fn a_long_conversation_loses_complete_turns_in_every_dialect() {
    for dialect in DIALECTS {
        let all = turns(dialect);
        let (first, last) = (all[0].clone(), all[1].clone());
        let mut long: Vec<Value> = (0..8)
            .map(|turn| {
                let ids = [("t1", "t2"), ("c1", "s1"), ("tooluse_1", "tooluse_2")];
                let mut text = first.to_string();
                for (one, other) in ids.into_iter().chain([("aaaaaaaa1", "aaaaaaaa2")]) {
                    text = text.replace(&format!("{one}\""), &format!("{one}{turn}\""));
                    text = text.replace(&format!("{other}\""), &format!("{other}{turn}\""));
                }
                let text = text
                    .replace("aaaaaaaa1", "aaaaaaa1")
                    .replace("aaaaaaaa2", "aaaaaaa2");
                serde_json::from_str(&text).unwrap()
            })
            .collect();
        long.push(last);
        let mut run = Resumed::new(dialect, long.into()).await;
        run.max_history_tokens = Some(300);
        let finished = run.start(20).await;
        assert_eq!(run.server.report().rejections, [], "{dialect}");
        assert_eq!((finished.reason, finished.steps), (EndReason::Done, 8));
        let shortened = run.server.report().shortened;
        assert!(shortened > 0, "{dialect}");
    }
}

#[tokio::test]
async fn a_run_that_reached_its_limit_continues_with_the_same_limit() {
    let turns = json!([
        {"say": [anthropic::bash("t1", "show one")]},
        {"say": [anthropic::bash("t2", "show two")]},
        {"say": [anthropic::text("Done.")]},
    ]);
    let run = Resumed::new("anthropic-messages", turns).await;
    assert_eq!(run.start(1).await.reason, EndReason::StepLimit);
    let second = run.resume_within(1, None).await.unwrap();
    assert_eq!((second.reason, second.steps), (EndReason::StepLimit, 1));
    assert_eq!(run.actions.lines(), ["show one", "show two"]);
    let third = run.resume_within(1, None).await.unwrap();
    assert_eq!((third.reason, &*third.text), (EndReason::Done, "Done."));
    assert!(run.server.report().is_clean());
}

#[tokio::test]
async fn a_finished_run_needs_a_further_task() {
    let turns = json!([{"say": [anthropic::text("Done.")]}]);
    let run = Resumed::new("anthropic-messages", turns).await;
    run.start(20).await;
    let error = run.resume(None).await.unwrap_err().to_string();
    assert!(error.contains("give another task"), "{error}");
}

#[tokio::test]
async fn the_recording_has_the_task_and_the_words_but_no_secret() {
    let mut run = Resumed::new(
        "anthropic-messages",
        json!([
            {"say": [anthropic::text("I use hunter2-secret and test-key."), anthropic::bash("t1", "show one")]},
            {"say": [anthropic::text("All seen.")]},
        ]),
    )
    .await;
    run.secrets = vec!["hunter2-secret".to_owned()];
    run.start(20).await;
    let rows = run.rows();
    for there in ["Do it.", "I use (hidden) and (hidden).", "All seen."] {
        assert!(rows.contains(there), "{there} in {rows}");
    }
    let conversation = read(run.recording()).unwrap().into_iter();
    let conversation = conversation.filter(|row| row.kind == RecordKind::Conversation);
    assert_eq!(conversation.count(), 4);
    assert!(
        !rows.contains("hunter2") && !rows.contains("test-key"),
        "{rows}"
    );
}

#[tokio::test]
async fn an_unknown_run_is_an_error_with_the_known_ones() {
    let turns = json!([{"say": [anthropic::text("Done.")]}]);
    let run = Resumed::new("anthropic-messages", turns).await;
    run.start(20).await;
    let error = RecordedConversation::read(run.recording(), "other").unwrap_err();
    assert!(error.to_string().contains("the runs the-run"), "{error}");
}
