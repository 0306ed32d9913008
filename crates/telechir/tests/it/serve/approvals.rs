//! Questions over HTTP: operators answer them, agents never do.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};
use telechir_host::approvals::{AnswerScope, OperatorAnswer};
use telechir_host::tokens::BearerToken;
use telechir_policy::Decision;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::client::{Answer, Client, Server};
use super::events::Events;
use super::{bash_with_id, shell, turn_path};
use crate::session_clients::{connect, runtime};
use crate::sessions::SessionFixture;

/// Asks before `touch` and allows everything else in the sandbox.
pub(super) const POLICY: &str = "
[[shell]]
words = ['touch']
verdict = 'ask'
reason = 'New files are asked about.'
";

/// A server whose policy asks before `touch`, with a session and its opener.
fn asking() -> (Server, Client, String) {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--shell"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    (server, agent, id)
}

/// Requests a call that needs an approval, and returns where its results will be.
fn request(agent: &Client, id: &str, call: &str) -> String {
    let response = bash_with_id(call, &format!("touch {call} && echo made {call}"));
    let headers = ["Prefer: respond-async"];
    let accepted = agent.request_with(&headers, "POST", &turn_path(id), Some(&response));
    assert_eq!(accepted.status, 202, "{accepted:?}");
    accepted.header("location").expect("an address").to_owned()
}

pub(super) fn question(operator: &Client) -> Value {
    let list = || operator.get("/v1/approvals")["approvals"].clone();
    assert_eventually_blocking!(list(), |open| open.as_array().is_some_and(|o| o.len() == 1));
    list()[0].clone()
}

pub(super) fn answer(client: &Client, question: &Value, body: &Value) -> Answer {
    let id = question["id"].as_str().expect("an id");
    let path = format!("/v1/approvals/{id}");
    client.request("POST", &path, Some(&body.to_string()))
}

/// The turn, once its state says that it waits for an answer.
fn awaiting_approval(agent: &Client, location: &str) -> Value {
    let turn = || agent.request("GET", location, None).json();
    assert_eventually_blocking!(turn(), |turn| turn["state"] == "awaiting_approval")
}

fn results(agent: &Client, location: &str) -> Value {
    let ended = agent.request_with(&["Prefer: wait=30"], "GET", location, None);
    assert_eq!(ended.status, 200, "{ended:?}");
    ended.json()["results"].clone()
}

#[test]
fn an_operator_approves_exactly_what_was_read() {
    let (server, agent, id) = asking();
    let operator = server.client("operator");
    let location = request(&agent, &id, "a1");
    let question = question(&operator);
    assert_eq!(question["session"], *id);
    assert!(
        question["lines"].to_string().contains("touch a1"),
        "{question}"
    );
    let pending = awaiting_approval(&agent, &location);
    assert_eq!(pending["approval"], question["id"]);

    let digest = question["digest"].as_str().expect("a digest");
    let wrong = format!("{}{}", &digest[1..], &digest[..1]);
    let approve = |digest: &str| json!({"decision": "approve", "digest": digest});
    answer(&operator, &question, &approve(&wrong)).is_problem(409, "answer-refused");
    for body in [
        json!({"decision": "approve"}),
        json!({"decision": "maybe", "digest": digest}),
        json!({"decision": "deny", "digest": digest}),
        json!({"decision": "approve", "digest": digest, "scope": "always"}),
        json!({"decision": "approve", "digest": "x"}),
    ] {
        answer(&operator, &question, &body).is_problem(422, "unreadable");
    }
    let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
    let by_get = operator.get(&path);
    assert_eq!(by_get["id"], question["id"], "reading answers nothing");
    let approved = answer(&operator, &question, &approve(digest));
    assert_eq!(approved.status, 204, "{approved:?}");
    let results = results(&agent, &location);
    assert!(results.to_string().contains("made a1"), "{results}");
    answer(&operator, &question, &approve(digest)).is_problem(404, "not-found");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_response_sent_again_while_its_question_is_open_joins_it() {
    let (server, agent, id) = asking();
    let operator = server.client("operator");
    for is_approved in [true, false] {
        let call = if is_approved { "j1" } else { "j2" };
        let response = bash_with_id(call, "touch made && echo made >> count; cat count");
        let first = agent.start(&[], &turn_path(&id), &response);
        let question = question(&operator);
        let again = |headers: &[&str]| {
            let accepted = agent.request_with(headers, "POST", &turn_path(&id), Some(&response));
            assert_eq!(accepted.status, 202, "{accepted:?}");
            accepted.header("location").expect("an address").to_owned()
        };
        let location = again(&["Prefer: respond-async"]);
        let keyed = again(&["Prefer: respond-async", "Idempotency-Key: mine"]);
        assert_eq!(location, keyed, "one turn");
        let state = || agent.request("GET", &location, None).json();
        assert_eventually_blocking!(state(), |state| state["approval"] == question["id"]);
        assert_eq!(self::question(&operator)["id"], question["id"]);
        let mut joined = Events::of_turn(&agent, &id, &response);
        let body = match is_approved {
            true => json!({"decision": "approve", "digest": question["digest"]}),
            false => json!({"decision": "deny", "digest": question["digest"], "reason": "no"}),
        };
        let answered = answer(&operator, &question, &body);
        assert_eq!(answered.status, 204, "{answered:?}");
        let text = results(&agent, &location).to_string();
        assert_eq!(
            text.contains("The user denied this: no."),
            !is_approved,
            "{text}"
        );
        let first = super::client::read(first);
        assert_eq!(first.status, 200, "{first:?}");
        assert_eq!(first.json(), joined.answer());
    }
    let count = shell(&agent, &id, "wc -l < count");
    assert!(count.contains("\"1"), "executed once: {count}");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let (server, agent, id) = asking();
    let operator = server.client("operator");
    let location = request(&agent, &id, "d1");
    let question = question(&operator);
    let denial = json!({"decision": "deny", "digest": question["digest"], "reason": "use b"});
    let denied = answer(&operator, &question, &denial);
    assert_eq!(denied.status, 204, "{denied:?}");
    let results = results(&agent, &location).to_string();
    assert!(
        results.contains("The user denied this: use b."),
        "{results}"
    );
    let events = agent.stream(&[], &format!("/v1/sessions/{id}/events?from=1"));
    let mut events = super::events(events);
    let answered = events.find(|(_, event)| event["event"] == "question_answered");
    let (_, answered) = answered.expect("an event");
    assert_eq!(answered["origin"]["way"], "http", "{answered}");
    assert_eq!(answered["origin"]["by"], "operator/test", "{answered}");
    server.assert_closes(&agent, &id);
}

#[test]
fn an_agent_never_answers_a_question() {
    let (server, agent, id) = asking();
    let operator = server.client("operator");
    let location = request(&agent, &id, "n1");
    let question = question(&operator);
    let approve = json!({"decision": "approve", "digest": question["digest"]});
    for role in ["agent", "viewer"] {
        let client = server.client(role);
        let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
        client
            .request("GET", "/v1/approvals", None)
            .is_problem(403, "forbidden");
        client
            .request("GET", &path, None)
            .is_problem(403, "forbidden");
        answer(&client, &question, &approve).is_problem(403, "forbidden");
    }
    // The session host checks the token itself: whoever reaches its socket needs an operator's.
    let code = question["id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("a code");
    let digest = serde_json::from_value(question["digest"].clone()).expect("a digest");
    for token in [server.token("agent", "test"), String::new()] {
        let answer = OperatorAnswer {
            decision: Decision::Approve {
                digest,
                trusts_content: false,
            },
            scope: AnswerScope::Once,
            digest,
            token: BearerToken::new(token),
        };
        let refused = runtime().block_on(async {
            let client = connect(&server.sessions, &id).await;
            client.answer_as_operator(&code, answer).await
        });
        let error = refused.expect_err("not an operator").to_string();
        assert!(error.contains("no valid token of an operator"), "{error}");
    }
    awaiting_approval(&agent, &location);
    let cancel = format!("/v1/sessions/{id}/cancel");
    assert_eq!(agent.request("POST", &cancel, Some("{}")).status, 204);
    server.assert_closes(&agent, &id);
}

/// A session host that answers the greeting as the real one does, and loses every connection then.
/// Returns its socket, which is listed before those of sessions over HTTP.
fn failing_host(real: &Path) -> PathBuf {
    let socket = real.with_file_name("failing");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let real = real.to_owned();
    thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let mut host = UnixStream::connect(&real).expect("a connection");
            let mut answers = host.try_clone().expect("a descriptor");
            let mut greeted = client.try_clone().expect("a descriptor");
            thread::spawn(move || io::copy(&mut answers, &mut greeted));
            let mut part = [0; 4096];
            let length = client.read(&mut part).expect("a greeting");
            host.write_all(&part[..length]).expect("it is passed on");
            // A request, or the end of a client that only wanted to know whether it is there.
            let _either = client.read(&mut part);
            let _it_may_be_gone = client.shutdown(Shutdown::Both);
            let _it_may_be_gone = host.shutdown(Shutdown::Both);
        }
    });
    socket
}

#[test]
fn a_session_that_fails_hides_no_question() {
    let (server, agent, id) = asking();
    let operator = server.client("operator");
    let location = request(&agent, &id, "f1");
    let question = question(&operator);
    let socket = failing_host(&server.sessions.file(&format!("run/telechir/{id}")));
    assert_eq!(
        self::question(&operator)["id"],
        question["id"],
        "it is listed"
    );
    let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
    assert_eq!(operator.get(&path)["id"], question["id"]);
    let approve = json!({"decision": "approve", "digest": question["digest"]});
    let approved = answer(&operator, &question, &approve);
    assert_eq!(approved.status, 204, "{approved:?}");
    fs::remove_file(socket).expect("no socket");
    assert!(results(&agent, &location).to_string().contains("made f1"));
    server.assert_closes(&agent, &id);
}

#[test]
fn a_question_outlives_a_server_that_is_killed() {
    let (mut server, agent, id) = asking();
    let location = request(&agent, &id, "s1");
    let before = question(&server.client("operator"));
    server.kill_and_restart();
    let operator = server.client("operator");
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    let after = question(&operator);
    assert_eq!(after["digest"], before["digest"]);
    let approve = json!({"decision": "approve", "digest": after["digest"]});
    assert_eq!(answer(&operator, &after, &approve).status, 204);
    let results = results(&agent, &location).to_string();
    assert!(results.contains("made s1"), "{results}");
    server.assert_closes(&agent, &id);
}
