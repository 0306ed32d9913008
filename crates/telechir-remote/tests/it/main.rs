//! The client of every service against a double of it.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::Size;
use telechir_remote::{
    AccountLimits, ContextUse, RemoteService, RemoteSession, RentalMark, RentalPlan, SERVICES,
    ServiceAccount, ServiceError, ServiceErrorKind, StoredContext,
};
use telechir_testkit::remote::{
    ADDRESS_SECRET, Face, KEY, LIVE_VIEW_SECRET, RemoteDouble, ServiceFault, Verb,
};

fn plan() -> RentalPlan {
    RentalPlan {
        size: Size::new(1280, 800),
        timeout: Duration::from_secs(900),
        region: None,
        proxy: None,
        context: None,
        hosts: None,
        labels: BTreeMap::new(),
    }
}

fn account_with(double: &RemoteDouble, face: Face, limits: AccountLimits) -> Arc<ServiceAccount> {
    let variables = double.environment();
    let service = RemoteService::named(face.name()).expect("a service");
    let account = ServiceAccount::new(service, None, limits, |name| {
        let mut found = variables.iter().filter(|(known, _)| *known == name);
        found.next().map(|(_, value)| value.clone())
    });
    Arc::new(account.expect("an account"))
}

fn account(double: &RemoteDouble, face: Face) -> Arc<ServiceAccount> {
    account_with(double, face, AccountLimits::default())
}

async fn double(face: Face) -> RemoteDouble {
    RemoteDouble::start(face, None).await.expect("a double")
}

async fn open(double: &RemoteDouble, face: Face) -> Result<RemoteSession, ServiceError> {
    RemoteSession::open(account(double, face), &plan(), &RentalMark::unique()).await
}

fn creations(double: &RemoteDouble) -> usize {
    let requests = double.requests();
    requests
        .iter()
        .filter(|(verb, _)| *verb == Verb::Create)
        .count()
}

#[tokio::test]
async fn every_service_rents_reaches_and_releases() {
    assert_eq!(SERVICES.len(), Face::ALL.len());
    for face in Face::ALL {
        let double = double(face).await;
        let session = open(&double, face)
            .await
            .unwrap_or_else(|error| panic!("{face:?}: {error}"));
        assert_eq!(double.running(), 1, "{face:?}");
        let first = session
            .dial()
            .await
            .unwrap_or_else(|error| panic!("{face:?}: {error}"));
        let second = session
            .dial()
            .await
            .unwrap_or_else(|error| panic!("{face:?}: {error}"));
        let is_signed = face == Face::AgentCore;
        assert_eq!(first.url == second.url, is_signed, "{face:?}: made afresh");
        assert_eq!(first.headers.len(), if is_signed { 2 } else { 0 });
        let shown = format!("{session:?} {first:?} {:?}", session.account());
        for secret in [KEY, ADDRESS_SECRET, LIVE_VIEW_SECRET] {
            assert!(!shown.contains(secret), "{shown}");
        }
        session
            .release()
            .await
            .unwrap_or_else(|error| panic!("{face:?}: {error}"));
        assert_eq!(double.running(), 0, "{face:?}");
        let ended = session.dial().await.expect_err("it has ended");
        assert_eq!(ended.kind, ServiceErrorKind::Gone, "{face:?}: {ended}");
        session.release().await.expect("a second release");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_creates_no_second_session() {
    for face in Face::ALL {
        for fault in [
            ServiceFault::CutAfter,
            ServiceFault::StatusAfter(500),
            ServiceFault::StatusAfter(504),
            ServiceFault::Garbage,
        ] {
            let double = double(face).await;
            double.fail(Verb::Create, fault.clone());
            let opened = open(&double, face).await;
            assert_eq!(double.sessions().len(), 1, "{face:?} {fault:?}");
            if face == Face::Hyperbrowser {
                let error = opened.expect_err("it cannot be looked up").to_string();
                assert!(error.contains("one may run"), "{error}");
                continue;
            }
            let session = opened.expect("the one that was created");
            session.release().await.expect("a release");
            assert_eq!(double.running(), 0, "{face:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_request_without_effect_is_made_once_more() {
    for face in Face::ALL {
        for fault in [
            ServiceFault::CutBefore,
            ServiceFault::Status(503, "{}".to_owned()),
        ] {
            let double = double(face).await;
            double.fail(Verb::Create, fault);
            let opened = open(&double, face).await;
            let expected = if face == Face::Hyperbrowser { 1 } else { 2 };
            assert_eq!(creations(&double), expected, "{face:?}");
            assert_eq!(opened.is_ok(), expected == 2, "{face:?}");
        }
    }
}

#[tokio::test]
async fn each_refusal_is_one_clear_message_and_leaves_nothing_rented() {
    let reason = format!("no {KEY} at http://x/{ADDRESS_SECRET}");
    for face in Face::ALL {
        for (status, kind, word) in [
            (400, ServiceErrorKind::Invalid, "does not accept"),
            (401, ServiceErrorKind::Unauthorized, "check it"),
            (403, ServiceErrorKind::Unauthorized, "expired"),
            (402, ServiceErrorKind::Quota, "balance"),
            (409, ServiceErrorKind::Busy, "in use"),
            (429, ServiceErrorKind::Quota, "limit"),
        ] {
            let double = double(face).await;
            let body = json!({ "message": reason }).to_string();
            double.fail(Verb::Create, ServiceFault::Status(status, body));
            let error = open(&double, face).await.expect_err("refused");
            let text = error.to_string();
            assert_eq!(error.kind, kind, "{face:?} {status}: {text}");
            assert!(text.contains(word) && text.contains("no …"), "{text}");
            assert!(!text.contains(KEY), "{text}");
            assert!(!text.contains(ADDRESS_SECRET), "{text}");
            assert_eq!(creations(&double), 1, "{face:?} {status}");
            assert_eq!(double.sessions().len(), 0);
        }
    }
}

#[tokio::test]
async fn a_limit_names_its_end_and_a_release_waits_for_it() {
    let face = Face::Steel;
    let double = double(face).await;
    double.fail(Verb::Create, ServiceFault::Later(429, 7));
    let error = open(&double, face).await.expect_err("refused");
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    let session = open(&double, face).await.expect("a session");
    double.fail(Verb::Release, ServiceFault::Later(429, 0));
    double.fail(Verb::Release, ServiceFault::CutBefore);
    session.release().await.expect("the third one");
    assert_eq!(double.running(), 0);
}

#[tokio::test]
async fn silence_ends_with_the_limit_and_the_session_is_found() {
    for face in [Face::Steel, Face::Browserbase] {
        let double = double(face).await;
        double.fail(Verb::Create, ServiceFault::Silence);
        let limits = AccountLimits {
            answer: Duration::from_millis(300),
            ..AccountLimits::default()
        };
        let account = account_with(&double, face, limits);
        // On a slow machine another answer may be late, too.
        let mark = RentalMark::unique();
        let opened = RemoteSession::open(Arc::clone(&account), &plan(), &mark).await;
        if opened.is_err() {
            let patient = self::account(&double, face);
            let found = RemoteSession::release_marked(&patient, &mark, None, None).await;
            assert!(found.expect("an answer"), "{face:?}");
        } else {
            assert_eq!(double.sessions().len(), 1, "{face:?}");
        }
    }
}

#[tokio::test]
async fn what_a_killed_process_opened_is_found_by_its_mark() {
    for face in Face::ALL {
        let double = double(face).await;
        let account = account(&double, face);
        let mark = RentalMark::unique();
        let creation = RemoteSession::creation(&account, &plan(), &mark);
        let session = RemoteSession::open(Arc::clone(&account), &plan(), &mark).await;
        drop(session.expect("a session"));
        double.create();
        let released = RemoteSession::release_marked(&account, &mark, None, Some(&creation)).await;
        if face == Face::Hyperbrowser {
            let error = released.expect_err("unknown").to_string();
            assert!(error.contains("console"), "{error}");
            continue;
        }
        assert!(released.expect("an answer"), "{face:?}");
        assert_eq!(double.running(), 1, "{face:?}: somebody else's runs on");
    }
}

#[tokio::test]
async fn a_session_is_attached_to_while_it_runs() {
    for face in Face::ALL {
        let double = double(face).await;
        let id = double.create();
        let account = account(&double, face);
        let session = RemoteSession::attach(Arc::clone(&account), &id).await;
        let session = session.unwrap_or_else(|error| panic!("{face:?}: {error}"));
        assert!(!session.is_ours() && session.id() == id);
        session.dial().await.expect("an address");
        double.end(&id, "timeout");
        for wrong in [id.as_str(), "unknown"] {
            let error = RemoteSession::attach(Arc::clone(&account), wrong).await;
            let error = error.expect_err("it has ended");
            assert_eq!(error.kind, ServiceErrorKind::Gone, "{face:?}: {error}");
        }
    }
}

#[tokio::test]
async fn time_is_extended_where_it_can_be_and_else_announced() {
    for face in Face::ALL {
        let double = double(face).await;
        let short = RentalPlan {
            timeout: Duration::from_secs(1),
            ..plan()
        };
        let session =
            RemoteSession::open(account(&double, face), &short, &RentalMark::unique()).await;
        let session = session.expect("a session");
        assert_eq!(
            session.keep_time(|| true).await,
            None,
            "{face:?}: at the start"
        );
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let notice = session.keep_time(|| true).await;
        let again = session.keep_time(|| true).await;
        let extensions = double.sessions()[0].extensions.clone();
        match face {
            Face::BrowserEngine => {
                assert_eq!(extensions, [json!({ "timeout": 1 })]);
                assert_eq!(notice, None);
            }
            Face::Hyperbrowser => {
                assert_eq!(extensions, [json!({ "durationMinutes": 1 })]);
                assert_eq!(notice, None);
            }
            // Its time is that of being idle.
            Face::Kernel => assert_eq!((notice, session.time_left()), (None, None)),
            Face::Steel | Face::Browserbase | Face::AgentCore => {
                let notice = notice.expect("a warning");
                assert!(notice.contains("ends in 0 s"), "{notice}");
                assert_eq!(again, None, "it is reason once");
            }
        }
    }
}

#[tokio::test]
async fn a_time_that_may_not_be_extended_is_announced() {
    let face = Face::BrowserEngine;
    let double = double(face).await;
    let short = RentalPlan {
        timeout: Duration::from_secs(1),
        ..plan()
    };
    let session = RemoteSession::open(account(&double, face), &short, &RentalMark::unique()).await;
    let session = session.expect("a session");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let notice = session.keep_time(|| false).await.expect("a warning");
    assert!(notice.contains("ends in 0 s"), "{notice}");
    let unasked = || -> bool { unreachable!("it was refused once") };
    session.keep_time(unasked).await;
    assert_eq!(double.sessions()[0].extensions, Vec::<Value>::new());
}

#[tokio::test]
async fn a_context_is_saved_before_the_release_unless_it_is_read_only() {
    for (use_, is_saved) in [(ContextUse::Persist, true), (ContextUse::ReadOnly, false)] {
        let double = double(Face::AgentCore).await;
        let plan = RentalPlan {
            context: Some(StoredContext {
                id: "profile-abcdefghij".to_owned(),
                use_,
            }),
            ..plan()
        };
        let account = account(&double, Face::AgentCore);
        let session = RemoteSession::open(account, &plan, &RentalMark::unique()).await;
        session
            .expect("a session")
            .release()
            .await
            .expect("a release");
        let session = double.sessions().remove(0);
        assert_eq!(session.is_saved, is_saved);
        assert!(session.ended.is_some());
    }
}

#[tokio::test]
async fn a_wrong_clock_is_set_by_the_services_own() {
    let face = Face::AgentCore;
    let double = double(face).await;
    double.freeze_clock();
    let session = open(&double, face).await.expect("a session");
    assert_eq!(creations(&double), 2, "the first signature was refused");
    let dial = session.dial().await.expect("an address");
    let mut dates = dial.headers.iter().filter(|(name, _)| name == "x-amz-date");
    let date = dates.next().map(|(_, value)| value.as_str());
    assert!(
        date.is_some_and(|date| date.starts_with("20261122T13")),
        "{date:?}"
    );
    session.release().await.expect("a release");
    assert_eq!(double.running(), 0);
}

#[tokio::test]
async fn a_key_that_is_missing_or_unusable_is_named_without_its_value() {
    let face = Face::Steel;
    let service = RemoteService::named(face.name()).expect("a service");
    for (key, base, expected) in [
        (None, None, "STEEL_API_KEY is not set"),
        (Some("a b"), None, "characters that keys do not have"),
        (Some(KEY), Some("http://example.com"), "clear text"),
    ] {
        let error =
            ServiceAccount::new(service, None, AccountLimits::default(), |name| match name {
                "STEEL_API_KEY" => key.map(str::to_owned),
                _ => base.map(str::to_owned),
            });
        let error = error.expect_err("refused");
        assert_eq!(error.kind, ServiceErrorKind::Configuration);
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains("a b"), "{text}");
    }
}
