//! Dialogs of a page wait for an answer by the next action, block nothing, and are reported.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use telechir_browser::{Browser, Options};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::Action;

use crate::common::{
    SETTLE, click, go, headless, headless_with, key, launched_with, notices_until, options, page,
    perform, read, script, scripted, text_of, title, write,
};
use crate::server::{Answer, Server};

/// A page whose title is the answer to the question that a click asks.
fn asking(question: &str) -> String {
    page(&format!(
        "<title>asks</title><body onclick=\"document.title = 'got ' + {question}\">"
    ))
}

/// Options with which a wait for a reply that does not come is told from a busy machine.
fn patient() -> Options {
    Options {
        reply_timeout: Duration::from_secs(60),
        ..options()
    }
}

/// Clicks the page and returns what the result says beside the action's own text.
async fn ask(browser: &mut Browser, question: &str) -> String {
    go(browser, &asking(question)).await.unwrap();
    perform(browser, click(10, 10)).await.unwrap();
    notes(browser).await
}

/// What a result says beside the action's own text, before the model's next turn.
async fn notes(browser: &mut Browser) -> String {
    let notes = browser.page_context().await.unwrap().notes;
    browser.begin_turn();
    notes.unwrap_or_default()
}

fn answer(accept: bool, text: Option<&str>) -> Action {
    Action::AnswerDialog {
        accept,
        text: text.map(str::to_owned),
    }
}

#[tokio::test]
async fn the_next_action_answers_a_dialog() {
    let mut browser = headless_with(patient()).await;
    for (question, shown, action, result) in [
        (
            "alert('one')",
            "alert: \"one\"",
            answer(true, None),
            "got undefined",
        ),
        (
            "confirm('two')",
            "(confirm): \"two\"",
            answer(true, None),
            "got true",
        ),
        (
            "confirm('two')",
            "(confirm): \"two\"",
            answer(false, None),
            "got false",
        ),
        (
            "confirm('two')",
            "(confirm): \"two\"",
            key("Enter"),
            "got true",
        ),
        (
            "confirm('two')",
            "(confirm): \"two\"",
            key("Escape"),
            "got false",
        ),
        (
            "prompt('three', 'Ada')",
            "(prompt): \"three\", default \"Ada\"",
            answer(true, Some("Grace")),
            "got Grace",
        ),
        (
            "prompt('three', 'Ada')",
            "\"Ada\"",
            answer(true, None),
            "got Ada",
        ),
        (
            "prompt('three', 'Ada')",
            "\"Ada\"",
            answer(false, None),
            "got null",
        ),
        (
            "prompt('three', 'Ada')",
            "\"Ada\"",
            write("Alan\n"),
            "got Alan",
        ),
    ] {
        let start = Instant::now();
        let message = ask(&mut browser, question).await;
        assert!(message.contains(shown), "{message}");
        perform(&mut browser, action).await.unwrap();
        browser.settle(SETTLE).await.unwrap();
        assert_eq!(title(&mut browser).await, result);
        assert!(start.elapsed() < patient().reply_timeout, "{question}");
    }
}

#[tokio::test]
async fn text_typed_into_a_prompt_is_its_answer() {
    let mut browser = headless().await;
    ask(&mut browser, "prompt('Name?', 'Ada')").await;
    perform(&mut browser, write("Gra")).await.unwrap();
    perform(&mut browser, write("ce")).await.unwrap();
    let message = notes(&mut browser).await;
    assert!(message.contains("text \"Grace\""), "{message}");
    perform(&mut browser, key("Enter")).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert_eq!(title(&mut browser).await, "got Grace");
}

#[tokio::test]
async fn another_action_cancels_a_dialog_that_was_reported() {
    let mut browser = headless().await;
    ask(&mut browser, "confirm('sure?')").await;
    perform(
        &mut browser,
        Action::ScrollTo {
            at: crate::common::at(1, 1),
            tab: None,
        },
    )
    .await
    .unwrap_err();
    let message = notes(&mut browser).await;
    assert!(
        message.contains("\"sure?\" was answered with Cancel"),
        "{message}"
    );
    assert_eq!(title(&mut browser).await, "got false");
    let none = perform(&mut browser, answer(true, None)).await.unwrap_err();
    assert!(
        none.to_string().contains("No page shows a dialog"),
        "{none}"
    );
}

/// Whoever chose the second action did not know the question.
#[tokio::test]
async fn an_action_is_refused_until_the_dialog_was_reported() {
    let mut browser = headless().await;
    for blind in [key("Enter"), click(20, 20), write("yes\n")] {
        go(&mut browser, &asking("confirm('delete?')"))
            .await
            .unwrap();
        perform(&mut browser, click(10, 10)).await.unwrap();
        let refused = perform(&mut browser, blind).await.unwrap_err();
        assert!(refused.to_string().contains("\"delete?\""), "{refused}");
        let message = notes(&mut browser).await;
        assert!(message.contains("(confirm): \"delete?\""), "{message}");
        perform(&mut browser, answer(true, None)).await.unwrap();
        browser.settle(SETTLE).await.unwrap();
        assert_eq!(title(&mut browser).await, "got true");
    }
}

#[tokio::test]
async fn everything_that_reads_the_page_fails_with_the_dialog() {
    for mut browser in [
        headless_with(patient()).await,
        launched_with(patient()).await,
    ] {
        ask(&mut browser, "prompt('Name?', 'Ada')").await;
        let start = Instant::now();
        let expected = "(prompt): \"Name?\", default \"Ada\"";
        for reading in [
            json!({"action": "read_page"}),
            json!({"action": "page_text"}),
            json!({"action": "find", "query": "name"}),
            json!({"action": "wait_for", "text": "Name"}),
            json!({"action": "read_console"}),
        ] {
            let action = serde_json::from_value(reading.clone()).unwrap();
            let refused = perform(&mut browser, action).await.unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains(expected), "{reading}: {refused}");
        }
        let tabs = text_of(&mut browser, Action::ListTabs).await;
        assert!(tabs.contains("tab_1 (in front)"), "{tabs}");
        assert!(notes(&mut browser).await.contains(expected));
        assert!(browser.settle(SETTLE).await.unwrap().is_settled());
        match browser.capture().await {
            Ok(frame) => assert_eq!(frame.size(), crate::common::SIZE),
            Err(error) => assert!(error.to_string().contains(expected), "{error}"),
        }
        assert!(
            start.elapsed() < patient().reply_timeout,
            "{:?}",
            start.elapsed()
        );
        perform(&mut browser, answer(true, None)).await.unwrap();
    }
}

#[tokio::test]
async fn a_dialog_of_a_timer_waits_too() {
    let mut browser = headless().await;
    let later = page(
        "<title>asks</title><body onclick=\"setTimeout(() => document.title = 'got ' + confirm('now?'), 300)\">",
    );
    go(&mut browser, &later).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    notices_until(&mut browser, "(confirm): \"now?\"").await;
    perform(&mut browser, answer(true, None)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert_eq!(title(&mut browser).await, "got true");
}

#[tokio::test]
async fn a_beforeunload_prompt_is_answered() {
    let mut browser = headless().await;
    let stays = page(
        "<title>unsaved</title><script>onbeforeunload = event => event.preventDefault()</script>",
    );
    let next = page("<title>next</title>");
    go(&mut browser, &stays).await.unwrap();
    // Pages may show this prompt only after user input.
    perform(&mut browser, click(10, 10)).await.unwrap();
    go(&mut browser, &next).await.unwrap();
    let message = notes(&mut browser).await;
    assert!(message.contains("beforeunload"), "{message}");
    perform(&mut browser, answer(false, None)).await.unwrap();
    assert_eq!(title(&mut browser).await, "unsaved");

    go(&mut browser, &next).await.unwrap();
    notes(&mut browser).await;
    perform(&mut browser, answer(true, None)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert_eq!(title(&mut browser).await, "next");

    // Another navigation means to leave.
    go(&mut browser, &stays).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    go(&mut browser, &next).await.unwrap();
    notes(&mut browser).await;
    go(&mut browser, &page("<title>last</title>"))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "last");
}

#[tokio::test]
async fn the_effects_of_a_click_are_reported_after_its_dialog() {
    let mut browser = headless().await;
    let confirms = "<title>asks</title><button onclick=\"if (confirm('add?')) list.innerHTML = '<li>new entry'\">Add</button><ul id=list></ul>";
    go(&mut browser, &page(confirms)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let button = crate::common::ref_of(&all, "\"Add\"");
    perform(&mut browser, crate::common::click_on(button))
        .await
        .unwrap();
    let message = notes(&mut browser).await;
    assert!(!message.contains("After the click"), "{message}");
    perform(&mut browser, answer(true, None)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let message = notes(&mut browser).await;
    assert!(
        message.contains("After the click") && message.contains("new entry"),
        "{message}"
    );
}

#[tokio::test]
async fn closing_the_browser_does_not_wait_for_an_answer() {
    let mut browser = launched_with(patient()).await;
    ask(&mut browser, "confirm('sure?')").await;
    let start = Instant::now();
    browser.close().await.unwrap();
    assert!(
        start.elapsed() < patient().reply_timeout,
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_tab_with_a_dialog_can_be_closed() {
    let mut browser = headless().await;
    ask(&mut browser, "confirm('sure?')").await;
    let close = Action::CloseTab {
        tab: "tab_1".to_owned(),
    };
    perform(&mut browser, close).await.unwrap();
    let tabs = browser.page_context().await.unwrap().tabs;
    let names: Vec<&str> = tabs.iter().map(|tab| tab.tab_id.as_str()).collect();
    assert_eq!(names, ["tab_2"]);
    let none: Result<_, DeviceError> = perform(&mut browser, answer(true, None)).await;
    none.unwrap_err();
}

#[tokio::test]
async fn an_answer_does_not_count_for_a_dialog_that_no_result_has_named() {
    let mut browser = headless().await;
    let questions = page(
        "<title>asks</title><button onclick=\"confirm('news?'); document.title = 'got ' + confirm('pay?')\">Ask</button>",
    );
    go(&mut browser, &questions).await.unwrap();
    let all = read(&mut browser, "full").await;
    let button = crate::common::ref_of(&all, "\"Ask\"");
    perform(&mut browser, crate::common::click_on(button))
        .await
        .unwrap();
    notices_until(&mut browser, "\"news?\"").await;
    perform(&mut browser, answer(true, None)).await.unwrap();
    // The next dialog is open, and no result names it.
    browser.settle(SETTLE).await.unwrap();
    let refused = perform(&mut browser, answer(true, None)).await.unwrap_err();
    assert!(refused.to_string().contains("\"pay?\""), "{refused}");
    // A result of the same turn names it: the model chose its next action before.
    let named = browser.page_context().await.unwrap().notes;
    assert!(named.is_some_and(|named| named.contains("\"pay?\"")));
    for blind in [answer(true, None), key("Enter"), click(10, 10)] {
        let refused = perform(&mut browser, blind).await.unwrap_err();
        assert!(refused.to_string().contains("\"pay?\""), "{refused}");
    }
    browser.begin_turn();
    perform(&mut browser, answer(false, None)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert_eq!(title(&mut browser).await, "got false");
}

/// How far the pages of the next test are: 1 when the first one runs, 2 when the other one asks.
static TURN: AtomicUsize = AtomicUsize::new(0);

#[tokio::test]
async fn a_dialog_of_another_tab_does_not_end_an_action() {
    let server = Server::start(|path| {
        let set = |turn| {
            TURN.store(turn, Ordering::Relaxed);
            Answer::page("")
        };
        Some(match path {
            "/runs" => set(1),
            "/asks" => set(2),
            "/turn" => Answer::page(&TURN.load(Ordering::Relaxed).to_string()),
            "/other" => Answer::page(
                "<title>other</title><script>(async () => {\
                 while (await (await fetch('/turn')).text() !== '1') await 0;\
                 const asks = new XMLHttpRequest(); asks.open('GET', '/asks', false); asks.send();\
                 confirm('other?') })()</script>",
            ),
            _ => Answer::page("<title>first</title>"),
        })
    })
    .await;
    let mut browser = scripted().await;
    go(&mut browser, &server.url("/first")).await.unwrap();
    // Of another site, so that the tabs do not share a process.
    let url = Some(server.url("/other").replace("127.0.0.1", "localhost"));
    perform(&mut browser, Action::NewTab { url }).await.unwrap();
    let tab = "tab_1".to_owned();
    perform(&mut browser, Action::SwitchTab { tab })
        .await
        .unwrap();
    // It goes on for longer than an action does that a dialog stops.
    let done = script(
        &mut browser,
        "await (async () => { await fetch('/runs');\
         while (await (await fetch('/turn')).text() !== '2') await 0;\
         await new Promise(done => setTimeout(done, 800)); return 'done' })()",
    )
    .await;
    assert_eq!(done, "done");
    let message = notices_until(&mut browser, "\"other?\"").await.0;
    assert!(message.contains("tab_2 shows a dialog"), "{message}");
}

/// Whether the page that never loads in the next test is requested.
static IS_LOADING: AtomicBool = AtomicBool::new(false);

#[tokio::test]
async fn a_read_or_load_that_a_dialog_stops_is_an_error() {
    let mut browser = scripted().await;
    go(&mut browser, &page("<title>asks</title>"))
        .await
        .unwrap();
    let question = Action::Javascript {
        script: "confirm('sure?')".to_owned(),
        tab: None,
    };
    let stopped = perform(&mut browser, question)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        stopped.contains("Not completed") && stopped.contains("\"sure?\""),
        "{stopped}"
    );
    let message = notes(&mut browser).await;
    assert!(message.contains("(confirm): \"sure?\""), "{message}");
    perform(&mut browser, answer(true, None)).await.unwrap();

    // The old page asks while the server of the next one is silent.
    let server = Server::start(|path| match path {
        "/silent" => {
            IS_LOADING.store(true, Ordering::Relaxed);
            None
        }
        "/loading" => {
            let is_loading = IS_LOADING.load(Ordering::Relaxed);
            Some(Answer::page(&is_loading.to_string()))
        }
        _ => Some(Answer::page(
            "<title>asks</title><script>const ask = () => {\
             const loading = () => fetch('/loading').then(a => a.text()).catch(String);\
             const check = answer => answer === 'true' ? confirm('stay?') : loading().then(check);\
             loading().then(check) }</script>",
        )),
    })
    .await;
    go(&mut browser, &server.url("/")).await.unwrap();
    script(&mut browser, "ask()").await;
    let stopped = go(&mut browser, &server.url("/silent")).await;
    let stopped = stopped.unwrap_err().to_string();
    assert!(
        stopped.contains("Not completed") && stopped.contains("\"stay?\""),
        "{stopped}"
    );
}
