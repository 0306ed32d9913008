//! Commands of other programs to a browser: each is judged, recorded and answered like a call.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use telechir_device::{DevtoolsEvent, DevtoolsSource};
use telechir_policy::{Policy, Question};
use telechir_protocol::{Action, Failure, FailureKind};
use telechir_runtime::{
    ActionEffect, Answer, Approver, ControlLease, DevtoolsChannel, DevtoolsCommand,
    DevtoolsCommands, DevtoolsEvents, DevtoolsGrants, DevtoolsReply, DevtoolsScope, Journal,
    JournalRecord, RecordKind, Session, SessionBuilder, SessionEvent, read,
};

use crate::fakes::{
    FakeApprover, FakeScreen, Log, action_json, commands, in_shell, log_of, on_screen, open_policy,
    shell,
};

/// A browser's protocol that logs what it gets.
#[derive(Clone, Debug)]
pub(crate) struct FakeDevtools {
    log: Log,
    /// Why nothing is opened or sent.
    refuses: Option<&'static str>,
}

#[async_trait]
impl DevtoolsSource for FakeDevtools {
    async fn open(&self) -> Result<DevtoolsChannel, telechir_device::DeviceError> {
        self.log.lock().unwrap().push("open".to_owned());
        match self.refuses {
            Some(message) => Err(telechir_device::DeviceError::Refused {
                message: message.to_owned(),
            }),
            None => Ok(DevtoolsChannel {
                commands: Arc::new(self.clone()),
                events: Box::new(self.clone()),
                context: "the context".to_owned(),
                world: "a world".to_owned(),
            }),
        }
    }
}

#[async_trait]
impl DevtoolsEvents for FakeDevtools {
    async fn next(&mut self) -> Option<DevtoolsEvent> {
        None
    }
}

#[async_trait]
impl DevtoolsCommands for FakeDevtools {
    async fn send(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<DevtoolsReply, String> {
        let session = session.unwrap_or("browser");
        let line = format!("{session} {method} {params}");
        self.log.lock().unwrap().push(line);
        match self.refuses {
            Some(message) => Err(message.to_owned()),
            None => Ok(Box::pin(async { Ok(json!({})) })),
        }
    }
}

/// A session whose browser is its second screen, and what its protocol got.
struct Driven {
    session: Session,
    devtools: FakeDevtools,
    grants: DevtoolsGrants,
}

impl Driven {
    fn new(policy: Policy, more: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Self {
        let devtools = FakeDevtools {
            log: Log::default(),
            refuses: None,
        };
        Self::with(devtools, policy, more)
    }

    fn with(
        devtools: FakeDevtools,
        policy: Policy,
        more: impl FnOnce(SessionBuilder) -> SessionBuilder,
    ) -> Self {
        let browser = FakeScreen {
            devtools: Some(devtools.clone()),
            ..FakeScreen::new(&Log::default())
        };
        let (builder, _) = shell(policy);
        let builder = builder
            .desktop(Box::new(FakeScreen::new(&Log::default())))
            .browser(Box::new(browser));
        Self {
            session: more(builder).build().unwrap(),
            devtools,
            grants: DevtoolsGrants::default(),
        }
    }

    async fn open(&mut self, actions: &[Action]) -> Result<DevtoolsChannel, Failure> {
        let opened = self.session.open_devtools(actions.to_vec(), &self.grants);
        opened.await.unwrap()
    }

    async fn send(&mut self, command: DevtoolsCommand) -> Result<DevtoolsReply, Failure> {
        let sent = self
            .session
            .send_devtools(command, &self.devtools, &self.grants);
        sent.await.unwrap()
    }

    async fn sends(&mut self, command: DevtoolsCommand) {
        drop(self.send(command).await.unwrap());
    }

    fn got(&self) -> Vec<String> {
        log_of(&self.devtools.log)
    }
}

fn same(builder: SessionBuilder) -> SessionBuilder {
    builder
}

fn action(value: Value) -> Action {
    serde_json::from_value(value).unwrap()
}

fn command(method: &str, action: Action) -> DevtoolsCommand {
    DevtoolsCommand {
        session: Some("p1".to_owned()),
        method: method.to_owned(),
        params: json!({"a": 1}),
        action,
        scope: DevtoolsScope::Once,
        urls: Vec::new(),
    }
}

fn navigate(url: &str) -> DevtoolsCommand {
    let action = action(json!({"action": "navigate", "url": url}));
    command("Page.navigate", action)
}

fn script(text: &str) -> DevtoolsCommand {
    let every = action(json!({"action": "javascript", "script": "every script"}));
    DevtoolsCommand {
        scope: DevtoolsScope::Scripts(text.to_owned()),
        ..command("Runtime.evaluate", every)
    }
}

fn rules(text: &str) -> Policy {
    let open = "[[computer]]\nverdict = 'allow'\nreason = 'Test.'\n[[url]]\nverdict = 'allow'\nreason = 'Test.'\n[[shell]]\nverdict = 'sandbox'\nreason = 'Test.'\n";
    Policy::from_toml(&format!("{text}\n{open}"), "test").unwrap()
}

fn kind_of<T>(outcome: Result<T, Failure>) -> Option<FailureKind> {
    outcome.err().map(|failure| failure.kind)
}

fn rows(rows: &[JournalRecord], kind: RecordKind) -> Vec<&Value> {
    let rows = rows.iter().filter(|row| row.kind == kind);
    rows.map(|row| &row.body).collect()
}

#[tokio::test]
async fn the_protocol_is_opened_if_the_policy_permits_what_is_not_judged_later() {
    let screenshot = [action(action_json("screenshot"))];
    let mut driven = Driven::new(open_policy(), same);
    let channel = driven.open(&screenshot).await.unwrap();
    assert_eq!(channel.context, "the context");
    let denying = "[[computer]]\nactions = ['screenshot']\nverdict = 'deny'\nreason = 'No.'\n";
    let mut driven = Driven::new(rules(denying), same);
    assert_eq!(
        kind_of(driven.open(&screenshot).await),
        Some(FailureKind::Denied)
    );
    assert!(driven.got().is_empty());
    let refusing = FakeDevtools {
        log: Log::default(),
        refuses: Some("it is gone"),
    };
    let mut driven = Driven::with(refusing, open_policy(), same);
    let failure = driven.open(&screenshot).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Device);
    assert!(failure.message.contains("it is gone"), "{failure:?}");
}

#[tokio::test]
async fn a_session_without_a_browser_refuses_programs() {
    let (builder, _) = shell(open_policy());
    let screen = FakeScreen::new(&Log::default());
    let mut session = builder.desktop(Box::new(screen)).build().unwrap();
    let opened = session
        .open_devtools(Vec::new(), &DevtoolsGrants::default())
        .await
        .unwrap();
    let devtools = FakeDevtools {
        log: Log::default(),
        refuses: None,
    };
    let grants = DevtoolsGrants::default();
    let sent = session
        .send_devtools(navigate("http://8.8.8.8/"), &devtools, &grants)
        .await
        .unwrap();
    for failure in [opened.unwrap_err(), sent.err().unwrap()] {
        assert_eq!(failure.kind, FailureKind::Unsupported);
        assert!(failure.message.contains("no browser"), "{failure:?}");
    }
    assert!(log_of(&devtools.log).is_empty());
}

#[tokio::test]
async fn a_command_is_sent_with_the_address_that_was_permitted() {
    let mut driven = Driven::new(open_policy(), same);
    let tab = |url: Value| {
        let action = action(json!({"action": "new_tab", "url": url}));
        DevtoolsCommand {
            session: None,
            ..command("Target.createTarget", action)
        }
    };
    for command in [
        navigate("HTTP://8.8.8.8:80/a/../b"),
        tab("http://0x8080808/".into()),
        tab(Value::Null),
    ] {
        driven.sends(command).await;
    }
    let click = action(json!({"action": "click", "coordinate": [1, 1]}));
    driven.sends(command("Input.x", click)).await;
    assert_eq!(
        driven.got(),
        [
            r#"p1 Page.navigate {"a":1,"url":"http://8.8.8.8/b"}"#,
            r#"browser Target.createTarget {"a":1,"url":"http://8.8.8.8/"}"#,
            r#"browser Target.createTarget {"a":1}"#,
            r#"p1 Input.x {"a":1}"#,
        ]
    );
}

#[tokio::test]
async fn what_is_denied_unknown_or_refused_is_not_done() {
    let mut driven = Driven::new(open_policy(), same);
    let private = driven.send(navigate("http://127.0.0.1/")).await;
    assert_eq!(kind_of(private), Some(FailureKind::Denied));
    let unknown = action(json!({"action": "open_app", "name": "x"}));
    let unknown = driven.send(command("X.y", unknown)).await.err().unwrap();
    assert_eq!(unknown.kind, FailureKind::Unsupported);
    assert!(unknown.message.contains("open_app"), "{unknown:?}");
    assert!(driven.got().is_empty());
    let refusing = FakeDevtools {
        log: Log::default(),
        refuses: Some("it did not go out"),
    };
    let mut driven = Driven::with(refusing, open_policy(), same);
    let failure = driven
        .send(navigate("http://8.8.8.8/"))
        .await
        .err()
        .unwrap();
    assert_eq!(failure.kind, FailureKind::Device);
    assert!(failure.message.contains("it did not go out"), "{failure:?}");
}

#[tokio::test]
async fn one_approval_holds_for_the_scripts_of_a_program_until_the_policy_changes() {
    let asking = "[[computer]]\nactions = ['javascript']\nverdict = 'ask'\nreason = 'It acts.'\n";
    let approver = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    let questions = Arc::clone(&approver.questions);
    let mut driven = Driven::new(rules(asking), |builder| builder.approver(approver));
    for text in ["one()", "two()", "three()"] {
        driven.sends(script(text)).await;
    }
    assert_eq!(questions.lock().unwrap().len(), 1);
    // Another program is asked about by itself.
    driven.grants = DevtoolsGrants::default();
    driven.sends(script("four()")).await;
    assert_eq!(questions.lock().unwrap().len(), 2);
    // Other commands of the program are not covered.
    let page = action(json!({"action": "javascript", "script": "x"}));
    driven.sends(command("Page.x", page)).await;
    assert_eq!(questions.lock().unwrap().len(), 3);
    let other = asking.replace("It acts.", "Another reason.");
    driven.session.policy_slot().set(rules(&other));
    driven.sends(script("five()")).await;
    assert_eq!(questions.lock().unwrap().len(), 4);
    let denying = asking.replace("'ask'", "'deny'");
    driven.session.policy_slot().set(rules(&denying));
    let denied = driven.send(script("six()")).await;
    assert_eq!(kind_of(denied), Some(FailureKind::Denied));
    assert_eq!(driven.got().len(), 6);
}

#[tokio::test]
async fn a_script_that_is_denied_leaves_what_lasts_to_be_judged() {
    let mut driven = Driven::new(rules(""), same);
    driven.sends(script("setInterval(act)")).await;
    driven.session.check_devtools(&driven.grants).await.unwrap();
    let denying =
        "[[computer]]\nactions = ['javascript']\nverdict = 'deny'\nreason = 'No scripts.'\n";
    driven.session.policy_slot().set(rules(denying));
    for text in ["one()", "two()"] {
        let denied = driven.send(script(text)).await;
        assert_eq!(kind_of(denied), Some(FailureKind::Denied));
    }
    let why = driven.session.check_devtools(&driven.grants).await;
    let why = why.unwrap_err();
    assert!(why.contains("No scripts"), "{why}");
}

#[tokio::test]
async fn what_lasts_counts_once_for_its_kind_and_calls_have_ids_of_their_own() {
    let mut driven = Driven::new(open_policy(), same);
    let lasting = |name: &str| DevtoolsCommand {
        scope: DevtoolsScope::Lasting,
        ..command("X.enable", action(action_json(name)))
    };
    for _ in 0..20 {
        driven.sends(lasting("screenshot")).await;
        driven.sends(lasting("cursor_position")).await;
    }
    let shown = format!("{:?}", driven.grants);
    assert_eq!(shown.matches("ScreenProposal {").count(), 2, "{shown}");
    // Another program at the same time.
    driven.grants = DevtoolsGrants::default();
    driven.sends(lasting("screenshot")).await;
    let shown = format!("{:?}", driven.grants);
    assert!(shown.contains("-41\""), "{shown}");
}

#[tokio::test]
async fn a_limit_counts_every_script() {
    let limited = "[[computer]]\nactions = ['javascript']\nverdict = 'allow'\nreason = 'Some.'\nlimit = { count = 2, then = 'deny' }\n";
    let mut driven = Driven::new(Policy::from_toml(limited, "test").unwrap(), same);
    for text in ["one()", "two()"] {
        driven.sends(script(text)).await;
    }
    let third = driven.send(script("three()")).await;
    assert_eq!(kind_of(third), Some(FailureKind::Denied));
    assert_eq!(driven.got().len(), 2);
}

#[tokio::test]
async fn pages_that_a_program_can_read_tighten_the_session_at_once() {
    let trusting = "[trusted]\nhost = ['good.example']\n[[computer]]\nactions = ['click']\nafter_untrusted = true\nverdict = 'deny'\nreason = 'A page may have asked for it.'\n";
    for (urls, is_tightened) in [
        (vec!["https://good.example/", "about:blank", ""], false),
        (
            vec!["https://good.example/", "https://evil.example/x"],
            true,
        ),
        (vec!["data:text/html,x"], true),
    ] {
        let mut driven = Driven::new(rules(trusting), same);
        let mut events = driven.session.subscribe();
        let click = || DevtoolsCommand {
            urls: urls.iter().map(|&url| url.to_owned()).collect(),
            ..command(
                "Input.x",
                action(json!({"action": "click", "coordinate": [1, 1]})),
            )
        };
        let sent = driven.send(click()).await;
        assert_eq!(sent.is_err(), is_tightened, "{urls:?}");
        driven.session.close().await.unwrap();
        let mut sources = Vec::new();
        while let Some(event) = events.next().await {
            if let SessionEvent::UntrustedContent { source } = &*event {
                sources.push(source.clone());
            }
        }
        let expected = match (is_tightened, urls.len()) {
            (false, _) => None,
            (true, 1) => Some("a page of a page without a host"),
            (true, _) => Some("a page of evil.example"),
        };
        assert_eq!(sources, Vec::from_iter(expected));
    }
}

/// Approves every question, and trusts what was read.
struct Trusting;

impl Approver for Trusting {
    async fn decide(&mut self, question: &Question) -> Answer {
        question.approve_and_trust().into()
    }
}

#[tokio::test]
async fn a_page_that_is_still_open_after_a_person_trusted_it_counts_again() {
    let asking = "[trusted]\nhost = ['good.example']\n[[computer]]\nactions = ['click']\nafter_untrusted = true\nverdict = 'ask'\nreason = 'A page may have asked for it.'\n[[shell]]\nafter_untrusted = true\nverdict = 'deny'\nreason = 'A page may have asked for it.'\n";
    for (url, is_denied) in [
        ("https://good.example/", false),
        ("https://evil.example/", true),
    ] {
        let mut driven = Driven::new(rules(asking), |builder| builder.approver(Trusting));
        let click = action(json!({"action": "click", "coordinate": [1, 1]}));
        let click = DevtoolsCommand {
            urls: vec![url.to_owned()],
            ..command("Input.x", click)
        };
        driven.sends(click).await;
        let later = in_shell(&mut driven.session, commands("s1", &["ls"])).await;
        assert_eq!(later.error.is_some(), is_denied, "{url}");
    }
}

#[tokio::test]
async fn a_person_who_has_control_stops_commands() {
    let mut driven = Driven::new(open_policy(), same);
    let lease = ControlLease::default();
    driven.session.set_control(lease.clone());
    lease.take();
    let refused = driven.send(navigate("http://8.8.8.8/")).await;
    assert_eq!(kind_of(refused), Some(FailureKind::Cancelled));
    assert!(driven.got().is_empty());
    lease.give_back();
    driven.sends(navigate("http://8.8.8.8/")).await;
    assert_eq!(driven.got().len(), 1);
}

#[tokio::test]
async fn each_command_is_a_turn_of_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    let mut driven = Driven::new(open_policy(), |builder| builder.journal(journal));
    let mut events = driven.session.subscribe();
    driven
        .open(&[action(action_json("screenshot"))])
        .await
        .unwrap();
    let long = "é".repeat(3000);
    for text in ["one()", &long] {
        driven.sends(script(text)).await;
    }
    driven
        .send(navigate("http://127.0.0.1/"))
        .await
        .err()
        .unwrap();
    // Calls of the model go on behind them.
    on_screen(
        &mut driven.session,
        crate::fakes::call("c1", &[action_json("screenshot")]),
    )
    .await;
    in_shell(&mut driven.session, commands("s1", &["ls"])).await;
    driven.session.close().await.unwrap();
    let recorded = read(folder.path()).unwrap();
    let intents = rows(&recorded, RecordKind::Intent);
    let of_program: Vec<&Value> = intents
        .iter()
        .filter(|intent| intent.to_string().contains("devtools"))
        .copied()
        .collect();
    let all: Vec<String> = of_program.iter().map(|intent| intent.to_string()).collect();
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all[0].contains(r#""devtools":"open""#), "{all:?}");
    assert!(
        all[1].contains(r#""devtools":"Runtime.evaluate""#),
        "{all:?}"
    );
    assert!(
        all[1].contains(r#""text":"one()""#) && all[1].contains("every script"),
        "{all:?}"
    );
    let shown = format!(r#""text":"{}""#, "é".repeat(2000));
    assert!(all[2].contains(&shown), "{}", all[2]);
    let digest = |intent: &str| {
        intent
            .split(r#""digest":""#)
            .nth(1)
            .map(|rest| rest[..64].to_owned())
    };
    assert_ne!(digest(&all[1]), digest(&all[2]));
    let calls = rows(&recorded, RecordKind::Call);
    let ids = calls.iter().map(|call| call["call_id"].as_str().unwrap());
    let counts: Vec<&str> = ids.map(|id| id.rsplit('-').next().unwrap()).collect();
    assert_eq!(counts, ["1", "2", "3", "4", "c1", "s1"], "{calls:?}");
    let answers = rows(&recorded, RecordKind::Answer);
    assert_eq!(answers.len(), 6);
    let failed = answers.iter().filter(|answer| answer["error"].is_object());
    assert_eq!(failed.count(), 1, "{answers:?}");
    let mut finished = Vec::new();
    let mut summaries = Vec::new();
    while let Some(event) = events.next().await {
        match &*event {
            SessionEvent::ActionStarted { summary, .. } => summaries.push(summary.clone()),
            SessionEvent::ActionFinished { effect, .. } => finished.push(*effect),
            _ => {}
        }
    }
    assert_eq!(summaries[0], "the DevTools protocol for another program");
    assert_eq!(finished[..3], [ActionEffect::Delivered; 3]);
}
