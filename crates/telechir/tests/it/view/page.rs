//! The page in Chromium: watched sessions, and questions answered by mouse and keyboard.

use std::fs;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::ticket;
use crate::exec::member;
use crate::serve::client::{Client, Server};
use crate::sessions::{SessionFixture, bash};

/// Asks before `touch`.
const ASKING: &str = "
[[shell]]
words = ['touch']
verdict = 'ask'
reason = \"New \\u202efiles are asked about.\"

[[edit]]
paths = ['**']
verdict = 'allow'
reason = 'Files are free.'
";
/// For the browser that a test drives.
const BROWSING: &str = "
[[url]]
host = ['127.0.0.1']
verdict = 'allow'
reason = 'The live page.'

[[computer]]
actions = ['javascript']
verdict = 'allow'
reason = 'A test.'
";
/// The session of that browser.
const BROWSER: &str = "eyes";

/// A session with a page that people look at.
pub(super) const SCREEN: &str = "screen";

/// A server whose sessions ask, a session of it, and a browser with the live page.
pub(super) struct PageFixture {
    pub(super) server: Server,
    pub(super) agent: Client,
    pub(super) id: String,
}

impl PageFixture {
    pub(super) fn open(role: &str, more: &[&str]) -> Self {
        Self::with_server(SessionFixture::new(), &["--shell"], role, more)
    }

    /// A page of a server with other flags.
    pub(super) fn with_server(
        sessions: SessionFixture,
        server: &[&str],
        role: &str,
        more: &[&str],
    ) -> Self {
        require(Component::Sandbox);
        require(Component::Chromium);
        fs::write(sessions.file("policy.toml"), ASKING).expect("a policy");
        fs::write(sessions.file("browsing.toml"), BROWSING).expect("a policy");
        let server = Server::in_folder(sessions, server);
        let agent = server.client("agent");
        let id = agent.open(&json!({"name": "count \u{202e}files"}));
        let fixture = Self { server, agent, id };
        let policy = format!(
            "--policy={}",
            fixture.server.sessions.file("browsing.toml").display()
        );
        let flags = [&["--browser", "--headless", &policy], more].concat();
        let ticket = ticket(&fixture.server.client(role));
        let url = format!("http://{}/#ticket={ticket}", fixture.server.address);
        fixture.browse(&flags, "navigate", json!({ "url": url }));
        fixture
    }

    /// Executes an action of the browser and returns the texts of its result.
    pub(super) fn browse(&self, flags: &[&str], name: &str, input: Value) -> String {
        self.browse_in(BROWSER, flags, name, input)
    }

    /// Shows the session [`SCREEN`] and waits for its screen.
    pub(super) fn show_screen(&self) {
        self.script(&format!("location.hash = '#/sessions/{SCREEN}'"));
        self.wait("document.querySelector('.session canvas')?.width", "600");
    }

    /// Starts the session [`SCREEN`] with a blank page.
    pub(super) fn start_screen(&self) {
        let policy = self.server.sessions.file("browsing.toml");
        let policy = format!("--policy={}", policy.display());
        let flags = ["--browser", "--headless", "--display=600x400", &policy];
        self.browse_in(SCREEN, &flags, "screenshot", json!({}));
    }

    pub(super) fn browse_in(
        &self,
        session: &str,
        flags: &[&str],
        name: &str,
        input: Value,
    ) -> String {
        let call = member("toolu_1", "browser", name, input);
        let message = json!({"type": "message", "role": "assistant", "model": "m",
            "stop_reason": "tool_use", "content": [call]});
        let reply = self
            .server
            .sessions
            .exec(session, flags, &message.to_string())
            .json();
        assert_ne!(reply[0]["is_error"], true, "{name}: {reply}");
        let blocks = reply[0]["content"].as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| block["text"].as_str());
        texts.chain(reply[0]["content"].as_str()).collect()
    }

    /// The value of an expression in the page.
    pub(super) fn script(&self, expression: &str) -> String {
        self.browse(&[], "javascript_exec", json!({ "text": expression }))
    }

    /// Waits until the expression's value contains a text.
    #[track_caller]
    pub(super) fn wait(&self, expression: &str, text: &str) {
        assert_eventually_blocking!(self.script(expression), |value| value.contains(text));
    }

    /// Clicks the middle of an element as a person does.
    pub(super) fn click(&self, selector: &str) {
        self.point(selector, "left_click");
    }

    /// Does something with the pointer in the middle of an element.
    fn point(&self, selector: &str, name: &str) {
        let middle = format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect(); \
             return JSON.stringify({{type: 'coordinate', x: Math.round(box.x + box.width / 2), \
             y: Math.round(box.y + box.height / 2)}}) }})()"
        );
        let text = self.script(&middle);
        let json = text.find('{').zip(text.rfind('}'));
        let (start, end) = json.expect("a point");
        let target: Value =
            serde_json::from_str(&text[start..=end].replace("\\\"", "\"")).expect("a point");
        self.browse(&[], name, json!({ "target": target }));
    }

    /// Requests a command, and returns where its results are or will be.
    pub(super) fn request(&self, call: &str, command: &str) -> String {
        let turn = format!("/v1/sessions/{}/anthropic-messages", self.id);
        let response = bash(command).replace("toolu_1", call);
        let headers = ["Prefer: respond-async"];
        let accepted = self
            .agent
            .request_with(&headers, "POST", &turn, Some(&response));
        if accepted.status == 200 {
            // A command that nobody is asked about may end at once.
            let turn = accepted.json()["turn"].as_str().expect("an id").to_owned();
            return format!("/v1/sessions/{}/turns/{turn}", self.id);
        }
        assert_eq!(accepted.status, 202, "{accepted:?}");
        accepted.header("location").expect("an address").to_owned()
    }

    fn results(&self, location: &str) -> String {
        let ended = self
            .agent
            .request_with(&["Prefer: wait=30"], "GET", location, None);
        assert_eq!(ended.status, 200, "{ended:?}");
        ended.json()["results"].to_string()
    }
}

const ALLOW: &str = ".question .bar button:first-child";
const DENY: &str = ".question .bar button:last-child";
pub(super) const QUESTION: &str = "document.querySelector('#question').innerText";

#[test]
fn a_person_allows_what_a_script_cannot() {
    let page = PageFixture::open("operator", &[]);
    // The ticket is gone from the address, and hidden characters of names are visible.
    page.wait(
        "document.querySelector('main').innerText",
        "count U+202Efiles",
    );
    assert!(!page.script("location.href").contains("ticket"));

    let allowed = page.request("q1", "touch one && echo made one");
    page.wait(QUESTION, "touch one");
    page.wait("document.title", "(1)");
    // Scripts cannot answer, and nothing counts right after the page came into view.
    page.wait(
        &format!("document.querySelector('{ALLOW}').disabled"),
        "false",
    );
    let early = format!(
        "dispatchEvent(new Event('focus')); document.querySelector('{ALLOW}').click(); \
         document.querySelector('{ALLOW}').disabled"
    );
    assert!(page.script(&early).contains("true"));
    page.wait(
        &format!("document.querySelector('{ALLOW}').disabled"),
        "false",
    );
    page.script(&format!("document.querySelector('{ALLOW}').click()"));
    assert!(
        page.script(QUESTION).contains("touch one"),
        "it still waits"
    );
    page.click(ALLOW);
    assert!(page.results(&allowed).contains("made one"));
}

#[test]
fn what_moves_the_answers_disarms_them() {
    let page = PageFixture::open("operator", &[]);
    let waiting = page.request("m1", "touch one && echo made one");
    page.wait(QUESTION, "touch one");
    let is_disabled = format!("document.querySelector('{ALLOW}').disabled");
    page.wait(&is_disabled, "false");
    for moved in [
        "document.querySelector('header').style.minHeight = '9rem'",
        "document.querySelector('#status').textContent = 'x '.repeat(9999)",
        "document.body.style.zoom = '90%'",
        "document.querySelector('#status').textContent = document.body.style.zoom = ''",
    ] {
        page.wait(&is_disabled, "false");
        let next_image = format!(
            "await new Promise((seen) => {{ {moved}; requestAnimationFrame(() => seen({is_disabled})) }})"
        );
        assert!(page.script(&next_image).contains("true"), "{moved}");
    }
    // They count again where they are now.
    page.wait(&is_disabled, "false");
    page.click(ALLOW);
    assert!(page.results(&waiting).contains("made one"));
}

#[test]
fn the_first_answer_counts_for_all_who_look_and_texts_are_never_html() {
    let page = PageFixture::open("operator", &[]);
    let markup = "<img src=x onerror='document.title=1'>";
    let allowed = page.request("h1", &format!("touch h && echo \"made h {markup}\""));
    page.wait(QUESTION, "<img src=x onerror=");
    // Somebody else answers first.
    let operator = page.server.client("operator");
    let question = operator.get("/v1/approvals")["approvals"][0].clone();
    let answer = json!({"decision": "approve", "digest": question["digest"]});
    let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
    let answered = operator.request("POST", &path, Some(&answer.to_string()));
    assert_eq!(answered.status, 204, "{answered:?}");
    assert!(page.results(&allowed).contains("made h"));
    page.wait("document.querySelector('#question').children.length", "0");
    page.wait("document.title", "telechir");
    page.script(&format!("location.hash = '#/sessions/{}'", page.id));
    let calls = "document.querySelector('.calls').innerText";
    page.wait(calls, "approved by operator/test");
    page.wait(calls, "Output");
    page.script("document.querySelectorAll('details').forEach((one) => one.open = true)");
    page.wait(calls, "made h <img src=x");
    let made = "[document.querySelectorAll('main img').length, document.title].join()";
    assert!(page.script(made).contains("0,telechir"));
}

#[test]
fn a_denial_has_a_reason_and_is_in_the_timeline() {
    let page = PageFixture::open("operator", &[]);
    let denied = page.request("q2", "touch 'sa\u{202e}fe'");
    page.wait(QUESTION, "\\u{202e}");
    assert!(
        !page.script(QUESTION).contains('\u{202e}'),
        "no hidden character"
    );
    page.wait(
        &format!("document.querySelector('{DENY}').disabled"),
        "false",
    );
    page.click("#reason");
    page.browse(&[], "type", json!({"text": "use two instead"}));
    page.click(DENY);
    let results = page.results(&denied);
    assert!(
        results.contains("The user denied this: use two instead."),
        "{results}"
    );

    let ran = page.request("q3", "printf %05d 42");
    page.results(&ran);
    page.script(&format!("location.hash = '#/sessions/{}'", page.id));
    page.wait(
        "document.querySelector('.calls').innerText",
        "printf %05d 42",
    );
    // Hidden characters are visible in headings and tooltips, too.
    page.wait(
        "document.querySelector('main h1').innerText",
        "count U+202Efiles",
    );
    let hints = "[...document.querySelectorAll('.calls [title]')].map((one) => one.title).join()";
    page.wait(hints, "New ");
    assert!(!page.script(hints).contains('\u{202e}'));
    page.wait(
        "document.querySelector('.calls').innerText",
        "denied by operator/test",
    );
    page.script("document.querySelectorAll('details').forEach((one) => one.open = true)");
    page.wait("document.querySelector('.calls').innerText", "00042");
}

#[test]
fn the_timeline_of_a_session_that_continues_a_recording_goes_on() {
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recordings").display());
    let page = PageFixture::with_server(sessions, &["--shell", &record], "viewer", &[]);
    let open = || {
        let key = ["Idempotency-Key: page"];
        let opened = page
            .agent
            .request_with(&key, "POST", "/v1/sessions", Some("{}"));
        assert_eq!(opened.status, 201, "{opened:?}");
        opened.json()["id"].as_str().expect("an id").to_owned()
    };
    let id = open();
    let call = |name: &str| {
        let response = bash(&format!("echo {name}")).replace("toolu_1", name);
        let turn = format!("/v1/sessions/{id}/anthropic-messages");
        page.agent.post(&turn, &response);
    };
    call("earlier");
    let path = format!("/v1/sessions/{id}");
    assert_eq!(page.agent.request("DELETE", &path, None).status, 204);
    assert_eq!(open(), id);
    page.script(&format!("location.hash = '#/sessions/{id}'"));
    let calls = "document.querySelector('.calls').innerText";
    page.wait(calls, "echo earlier");
    call("later");
    page.wait(calls, "echo later");
}

#[test]
fn a_key_allows_calls_of_a_shape_for_the_session() {
    let page = PageFixture::open("operator", &[]);
    let first = page.request("s1", "touch three");
    page.wait(QUESTION, "For this session would allow: touch three");
    page.wait(
        &format!("document.querySelector('{ALLOW}').disabled"),
        "false",
    );
    page.browse(&[], "key", json!({"text": "s"}));
    page.results(&first);
    // The same command needs no other answer.
    let second = page.request("s2", "touch three");
    page.results(&second);

    // What is long shows its beginning and end; all of it before it can be allowed.
    let long = (0..80)
        .map(|n| format!("touch line-{n}"))
        .collect::<Vec<_>>()
        .join("\n");
    let third = page.request("s3", &long);
    page.wait(QUESTION, "line-79");
    let shown = page.script(QUESTION);
    assert!(
        shown.contains("line-0") && !shown.contains("line-40"),
        "{shown}"
    );
    page.wait(
        &format!("document.querySelector('{DENY}').disabled"),
        "false",
    );
    let may_allow = page.script(&format!("document.querySelector('{ALLOW}').disabled"));
    assert!(may_allow.contains("true"), "{may_allow}");
    page.click("#question pre + button");
    page.wait(QUESTION, "line-40");
    page.wait(
        &format!("document.querySelector('{ALLOW}').disabled"),
        "false",
    );
    page.browse(&[], "key", json!({"text": "d"}));
    assert!(page.results(&third).contains("denied"));
}

#[test]
fn a_viewer_sees_the_screen_and_no_question_on_a_narrow_page() {
    let page = PageFixture::open("viewer", &["--display=420x800"]);
    let waiting = page.request("v1", "touch four");
    page.start_screen();
    page.wait("document.querySelector('main').innerText", SCREEN);
    page.wait("document.querySelector('.card img')?.naturalWidth", "320");
    page.show_screen();
    page.wait("document.querySelector('.calls').innerText", "Screenshot");
    let overflow = "document.documentElement.scrollWidth <= innerWidth";
    assert!(page.script(overflow).contains("true"), "nothing is cut off");
    assert!(
        page.script("document.querySelector('#question').children.length")
            .contains('0')
    );
    let open = page.server.client("operator").get("/v1/approvals");
    assert_eq!(open["approvals"].as_array().map(Vec::len), Some(1));
    let cancel = format!("/v1/sessions/{}/cancel", page.id);
    page.agent.request("POST", &cancel, Some("{}"));
    drop(waiting);
}

/// Motion of the page under the pointer, for a person with this preference.
fn motion(preference: &str) -> String {
    let page = PageFixture::open("viewer", &[&format!("--reduced-motion={preference}")]);
    page.wait("document.querySelectorAll('.card').length", "2");
    page.point(".card", "mouse_move");
    let card = "document.querySelector('.card')";
    page.wait(&format!("{card}.matches(':hover')"), "true");
    page.script(&format!(
        "getComputedStyle({card}).transitionDuration + ' ' + \
         [...document.querySelectorAll('*')].map((one) => getComputedStyle(one))\
         .filter((one) => one.animationName !== 'none' || parseFloat(one.transitionDuration) > 0)\
         .length"
    ))
}

#[test]
fn nothing_moves_for_a_person_who_prefers_no_motion() {
    let moves = motion("no-preference");
    assert!(moves.contains("0.15s 1"), "{moves}");
    let still = motion("reduce");
    assert!(still.contains("0s 0"), "{still}");
}

#[test]
fn the_page_draws_what_changes_on_a_screen() {
    let page = PageFixture::open("viewer", &[]);
    page.start_screen();
    page.show_screen();
    let pixel = "document.querySelector('.session canvas').getContext('2d')\
                 .getImageData(300, 200, 1, 1).data.join()";
    for colour in ["200, 30, 40", "10, 120, 230"] {
        let paint = format!("document.body.style.background = 'rgb({colour})'; 'painted'");
        page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": paint }));
        page.wait(pixel, &colour.replace(' ', ""));
    }
    // A recorded screenshot is shown instead, until the present is wanted again.
    let shown = "[...document.querySelectorAll('.session img, .session canvas')]\
                 .filter((one) => !one.hidden).map((one) => one.localName).join()";
    page.script("document.querySelector('.call button').click()");
    page.wait(shown, "img");
    page.script(
        "[...document.querySelectorAll('button')]\
         .find((one) => one.textContent === 'Back to now').click()",
    );
    page.wait(shown, "canvas");
}
