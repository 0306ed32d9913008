//! What a page makes a model do in the same session, and after a crash.

use telechir_policy::Policy;
use telechir_protocol::FailureKind;
use telechir_runtime::{Journal, RunId};

use crate::fakes::{FakeScreen, action_json, call, commands, in_shell, log_of, on_screen, shell};

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
