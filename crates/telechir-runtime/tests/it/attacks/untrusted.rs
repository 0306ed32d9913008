//! What a page makes a model do in the same session, and after a crash.

use serde_json::{Map, Value};
use telechir_policy::{Policy, Question};
use telechir_protocol::{Content, FailureKind, ModelTurn, ShellResult, ToolResult, UnknownContent};
use telechir_runtime::{Answer, Approver, Journal, RunId, Session, SessionBuilder, SessionEvent};

use crate::fakes::{
    FakeScreen, Log, UNREADABLE, action_json, call, commands, in_shell, log_of, on_screen,
    open_policy, shell,
};

const RULES: &str = "
    [trusted]
    host = ['docs.example.com']

    [[shell]]
    after_untrusted = true
    verdict = 'deny'
    reason = 'A page may have asked for it.'
";

#[tokio::test]
async fn a_page_outside_of_the_trusted_set_tightens_the_session_for_good() {
    let folder = tempfile::tempdir().unwrap();
    for (url, is_tightened) in [
        ("https://docs.example.com/x", false),
        ("https://evil.example/", true),
    ] {
        let run = RunId::new(url);
        let open = || {
            let (builder, log) = shell(Policy::from_toml(RULES, "p.toml").unwrap());
            let mut screen = FakeScreen::new(&log);
            screen.url = Some(url.to_owned());
            let builder = builder.browser(Box::new(screen)).run(run.clone());
            let journal = Journal::open(folder.path()).unwrap();
            builder.journal(journal).build().unwrap()
        };
        let mut session = open();
        let before = in_shell(&mut session, commands("s1", &["ls"])).await;
        assert_eq!(before.error, None, "{url}");
        on_screen(&mut session, call("c1", &[action_json("screenshot")])).await;
        let after = in_shell(&mut session, commands("s2", &["ls"])).await;
        assert_eq!(after.error.is_some(), is_tightened, "{url}");
        session.close().await.unwrap();
        let mut continued = open();
        let later = in_shell(&mut continued, commands("s3", &["ls"])).await;
        assert_eq!(later.error.is_some(), is_tightened, "continued: {url}");
        continued.close().await.unwrap();
    }
}

/// What a provider searched or fetched for the model came in the response with the call.
#[tokio::test]
async fn what_a_model_read_at_its_provider_tightens_the_session_from_that_response_on() {
    let found = || Content::Other(UnknownContent::new("d", kind_of("web_search_call")));
    let in_answer = |id: &str| {
        let mut turn = ModelTurn::new(vec![Content::ShellCall(commands(id, &["ls"]))]).unwrap();
        turn.note_hosted_source(Some("the model's provider (groundingMetadata)".to_owned()));
        turn
    };
    let beside = |id: &str| {
        ModelTurn::new(vec![found(), Content::ShellCall(commands(id, &["ls"]))]).unwrap()
    };
    let nothing_else = |_: &str| ModelTurn::new(vec![found()]).unwrap();
    type Turn<'a> = &'a dyn Fn(&str) -> ModelTurn;
    let turns: [(&str, Turn<'_>); 3] = [
        ("the model's provider (groundingMetadata)", &in_answer),
        ("the model's provider (web_search_call)", &beside),
        ("the model's provider (web_search_call)", &nothing_else),
    ];
    for (expected, turn) in turns {
        let (builder, log) = shell(Policy::from_toml(RULES, "p.toml").unwrap());
        let mut session = builder.build().unwrap();
        let mut events = session.subscribe();
        let before = in_shell(&mut session, commands("s1", &["ls"])).await;
        assert_eq!(before.error, None);
        for id in ["s2", "s3"] {
            let answered = session.execute(turn(id)).await.unwrap();
            let is_denied = |result: &ToolResult| {
                matches!(result, ToolResult::Shell(ShellResult { error: Some(failure), .. })
                    if failure.kind == FailureKind::Denied)
            };
            assert!(answered.results().iter().all(is_denied), "{answered:?}");
        }
        let later = in_shell(&mut session, commands("s4", &["ls"])).await;
        assert_eq!(later.error.unwrap().kind, FailureKind::Denied);
        assert_eq!(log_of(&log), ["ls [30000 ms]"]);
        session.close().await.unwrap();
        let mut sources = Vec::new();
        while let Some(event) = events.next().await {
            if let SessionEvent::UntrustedContent { source } = &*event {
                sources.push(source.clone());
            }
        }
        assert_eq!(sources, [expected]);
    }
}

fn kind_of(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), kind.into())])
}

/// All commands of a call are judged before the first runs, and each further one again.
#[tokio::test]
async fn a_command_that_reads_untrusted_content_stops_the_next_one_of_its_call() {
    let rules = format!("{RULES}\n[[shell]]\nverdict = 'sandbox'\nreason = 'Commands run.'\n");
    let policy = Policy::from_toml(&rules, "p.toml").unwrap();
    for (first, is_stopped) in [("make", false), ("fetch", true)] {
        let (builder, log) = shell(policy.clone());
        let mut session = builder.build().unwrap();
        let result = in_shell(&mut session, commands("s1", &[first, "send"])).await;
        assert_eq!(result.error.is_some(), is_stopped, "{first}");
        let sent = log_of(&log).iter().any(|line| line.starts_with("send"));
        assert_eq!(sent, !is_stopped, "{first}");
        if let Some(failure) = result.error {
            assert_eq!(failure.kind, FailureKind::Denied);
            assert!(
                failure.message.contains("A page may have asked for it."),
                "{failure:?}"
            );
        }
    }
}

/// A command that is judged again counts with the parts that are still to come, not with those
/// that read the content.
#[tokio::test]
async fn a_command_that_read_untrusted_content_does_not_stop_one_that_may_follow() {
    let rules = "
        [[shell]]
        words = ['fetch']
        after_untrusted = true
        verdict = 'deny'
        reason = 'Once is enough.'
        [[shell]]
        verdict = 'sandbox'
        reason = 'Commands run.'
    ";
    let (builder, log) = shell(Policy::from_toml(rules, "p.toml").unwrap());
    let mut session = builder.build().unwrap();
    let result = in_shell(&mut session, commands("s1", &["fetch", "make", "fetch"])).await;
    let failure = result.error.unwrap();
    assert!(failure.message.contains("Once is enough."), "{failure:?}");
    assert_eq!(log_of(&log), ["fetch [30000 ms]", "make [30000 ms]"]);
}

/// Approves every question, and trusts what was read if told so.
struct Agreeing {
    trusts: bool,
    log: Log,
}

impl Approver for Agreeing {
    async fn decide(&mut self, question: &Question) -> Answer {
        self.log.lock().unwrap().push("asked".to_owned());
        let decision = match self.trusts {
            true => question.approve_and_trust(),
            false => question.approve(),
        };
        decision.into()
    }
}

#[tokio::test]
async fn only_an_approval_for_it_trusts_what_was_read() {
    let rules = "
        [[shell]]
        after_untrusted = true
        verdict = 'ask'
        reason = 'A page may have asked for it.'
        [[shell]]
        verdict = 'sandbox'
        reason = 'Commands run.'
    ";
    for (trusts, expected) in [
        (
            false,
            ["asked", "make [30000 ms]", "asked", "make [30000 ms]"].as_slice(),
        ),
        (true, &["asked", "make [30000 ms]", "make [30000 ms]"]),
    ] {
        let (builder, log) = shell(Policy::from_toml(rules, "p.toml").unwrap());
        let approver = Agreeing {
            trusts,
            log: Log::clone(&log),
        };
        let mut session = builder.approver(approver).build().unwrap();
        in_shell(&mut session, commands("s1", &["fetch"])).await;
        for id in ["s2", "s3"] {
            in_shell(&mut session, commands(id, &["make"])).await;
        }
        assert_eq!(log_of(&log)[1..], *expected);
    }
}

#[tokio::test]
async fn what_belongs_to_the_user_or_is_not_known_is_untrusted() {
    type Connect = fn(SessionBuilder, Box<FakeScreen>) -> SessionBuilder;
    let cases: [(Connect, &str, Option<&str>); 5] = [
        (
            |builder, screen| builder.existing_desktop(screen),
            "about:blank",
            Some("the windows of the existing display"),
        ),
        (
            |builder, screen| builder.desktop(screen),
            "about:blank",
            None,
        ),
        (
            |builder, screen| builder.existing_browser(screen),
            "about:blank",
            Some("the user's own browser"),
        ),
        (
            |builder, screen| builder.browser(screen),
            "about:blank",
            None,
        ),
        (
            |builder, screen| builder.browser(screen),
            UNREADABLE,
            Some("a page whose address is not known"),
        ),
    ];
    for (connect, url, expected) in cases {
        let mut screen = FakeScreen::new(&Log::default());
        screen.url = Some(url.to_owned());
        let builder = connect(Session::builder(open_policy()), Box::new(screen));
        let mut session = builder.build().unwrap();
        let mut events = session.subscribe();
        on_screen(&mut session, call("c1", &[action_json("screenshot")])).await;
        session.close().await.unwrap();
        let mut sources = Vec::new();
        while let Some(event) = events.next().await {
            if let SessionEvent::UntrustedContent { source } = &*event {
                sources.push(source.clone());
            }
        }
        assert_eq!(sources, Vec::from_iter(expected), "{url}");
    }
}
