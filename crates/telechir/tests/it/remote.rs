//! `--remote`: a browser at a service, for one call and for a session, against doubles of the
//! services with a real Chromium behind them.

use std::fs;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::remote::{
    ADDRESS_SECRET, Face, KEY, LIVE_VIEW_SECRET, RemoteDouble, ServiceFault, Verb,
};
use tokio::runtime::Runtime;

use crate::attached::{ALLOW_ACTIONS, AttachedFixture};
use crate::exec::{anthropic, member};
use crate::mcp::{Client, MODERN};
use crate::passwords::holding;
use crate::runs::model::{Model, message, responses};
use crate::serve::client::Server;
use crate::telechir::Ran;

mod endings;
mod extending;
mod live_view;
mod policy;

/// A service, the Chromium behind it, and a telechir that uses it.
struct RemoteFixture {
    fixture: AttachedFixture,
    double: RemoteDouble,
    face: Face,
    runtime: Runtime,
}

impl RemoteFixture {
    fn new(face: Face) -> Self {
        let fixture = AttachedFixture::new();
        let runtime = Runtime::new().expect("a runtime");
        let double = runtime.block_on(RemoteDouble::start(face, Some(&fixture.socket)));
        Self {
            fixture,
            double: double.expect("a double"),
            face,
            runtime,
        }
    }

    /// Another service in front of the same Chromium.
    fn become_another(&mut self, face: Face) {
        let socket = Some(self.fixture.socket.as_str());
        let double = self.runtime.block_on(RemoteDouble::start(face, socket));
        self.double = double.expect("a double");
        self.face = face;
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.fixture.command(arguments);
        command.envs(self.double.environment());
        command
    }

    /// The command that clicks on the page and reads it, in a browser of the service.
    fn clicking(&self, rules: &str, more: &[&str]) -> (std::process::Command, String) {
        let policy = self.fixture.telechir.folder().join("policy.toml");
        let page = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'A test.'\n";
        fs::write(&policy, format!("{page}{rules}")).expect("a policy");
        let policy = format!("--policy={}", policy.display());
        let browser = format!("--browser={}", self.fixture.url);
        let remote = format!("--remote={}", self.face.name());
        let is_given = more.iter().any(|flag| flag.starts_with("--remote="));
        let remote = (!is_given).then_some(remote.as_str());
        let exec = ["exec", "--dialect", "anthropic-messages", &browser, &policy];
        let arguments: Vec<&str> = exec
            .into_iter()
            .chain(remote)
            .chain(more.to_vec())
            .collect();
        let click = json!({ "target": { "type": "coordinate", "x": 10, "y": 10 } });
        let calls = [
            member("toolu_1", "browser", "left_click", click),
            member("toolu_2", "browser", "get_page_text", json!({})),
        ];
        (self.command(&arguments), anthropic(&calls))
    }

    fn click(&self, more: &[&str]) -> Ran {
        let (mut command, input) = self.clicking("", more);
        Ran::of(&mut command, &input)
    }

    /// The entries of what is rented.
    fn entries(&self) -> usize {
        let folder = self.fixture.telechir.folder();
        let entries = fs::read_dir(folder.join(".local/state/telechir/rented"));
        let paths = entries.into_iter().flatten().flatten();
        let is_entry = |path: &std::path::Path| path.extension().is_some_and(|end| end == "json");
        paths.filter(|entry| is_entry(&entry.path())).count()
    }

    fn sessions(&self) -> Value {
        Ran::of(&mut self.command(&["sessions", "list", "--json"]), "").json()
    }

    fn close(&self, name: &str) {
        Ran::of(&mut self.command(&["sessions", "close", name]), "");
    }
}

#[track_caller]
fn assert_read_hello(ran: &Ran) {
    let answers = ran.json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    assert!(answers[1].to_string().contains("hello"), "{answers}");
}

#[test]
fn a_browser_of_every_service_is_rented_driven_and_released() {
    let mut remote = RemoteFixture::new(Face::Steel);
    for face in Face::ALL {
        if face != remote.face {
            remote.become_another(face);
        }
        let ran = remote.click(&[]);
        assert_read_hello(&ran);
        let sessions = remote.double.sessions();
        assert_eq!(sessions.len(), 1, "{face:?}");
        assert_eq!(sessions[0].releases, 1, "{face:?}");
        assert_eq!(remote.double.running(), 0, "{face:?}");
        assert_eq!(remote.double.handshakes(), 1, "{face:?}");
        assert_eq!(remote.entries(), 0, "{face:?}");
    }
}

#[test]
fn do_run_and_mcp_rent_and_release_as_exec_does() {
    let remote = RemoteFixture::new(Face::Steel);
    let (_policy, _) = remote.clicking("", &[]);
    let policy = remote.fixture.telechir.folder().join("policy.toml");
    let policy = format!("--policy={}", policy.display());
    let browser = format!("--browser={}", remote.fixture.url);
    let flags = [browser.as_str(), "--remote=steel", &policy];

    let read = [&["do"], &flags[..], &["read"]].concat();
    let read = Ran::of(&mut remote.command(&read), "");
    assert!(read.stdout.contains("hello"), "{read:?}");
    assert_eq!(remote.double.running(), 1);
    Ran::of(&mut remote.command(&["do", "close"]), "");
    assert_eq!(remote.double.running(), 0, "after `do`");

    let model = Model::start(|request| match responses(request) {
        0 => {
            let call = member("t1", "browser", "get_page_text", json!({}));
            let response = serde_json::from_str(&anthropic(&[call]));
            (200, response.expect("JSON"))
        }
        _ => message("It says hello."),
    });
    let base_url = model.base_url();
    let to_model = [
        "--provider=anthropic",
        "--model=claude-opus-5-5",
        "--base-url",
    ];
    let run = [
        &["run", "Read it."],
        &flags[..],
        &to_model[..],
        &[&base_url],
    ]
    .concat();
    let mut run = remote.command(&run);
    let run = Ran::of(run.env("ANTHROPIC_API_KEY", "sk-ant-0123456789"), "");
    assert_eq!(run.stdout, "It says hello.\n", "{run:?}");
    let requests = Value::from(model.requests()).to_string();
    assert!(requests.contains("hello"), "{requests}");
    for secret in [KEY, ADDRESS_SECRET, LIVE_VIEW_SECRET] {
        assert!(!requests.contains(secret), "the model was sent {secret}");
    }
    assert_eq!(remote.double.running(), 0, "after `run`");

    let variables = remote.double.environment();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let mut client = Client::start_with(MODERN, &flags, &variables);
    let page = client.call("execute_browser", &json!({ "action": "snapshot" }));
    assert!(page.to_string().contains("hello"), "{page}");
    assert_eq!(remote.double.running(), 1);
    client.leave();
    assert_eventually_blocking!(remote.double.running(), |running| *running == 0);
    assert_eq!(remote.double.sessions().len(), 3);
}

#[test]
fn keys_addresses_and_links_are_in_no_output_and_no_file() {
    let remote = RemoteFixture::new(Face::Steel);
    let record = remote.fixture.telechir.folder().join("record");
    let recorded = format!("--record={}", record.display());
    let flags = [recorded.as_str(), "-vv"];
    let ran = remote.click(&flags);
    assert_read_hello(&ran);
    let mut outputs = ran.stdout + &ran.stderr;
    let ran = remote.click(&[&flags[..], &["--session=canary"]].concat());
    assert_read_hello(&ran);
    outputs += &(ran.stdout + &ran.stderr);
    assert_eq!(remote.entries(), 1, "while it is rented");
    let listed = remote.sessions();
    assert_eq!(listed[0]["rented"]["service"], "steel", "{listed}");
    let left = listed[0]["rented"]["seconds_left"].as_u64();
    assert!(left.is_some_and(|left| left > 600), "{listed}");
    let table = Ran::of(&mut remote.command(&["sessions", "list"]), "");
    assert!(table.stdout.contains("at steel, 1"), "{}", table.stdout);
    assert!(
        table.stdout.contains("billed by the minute"),
        "{}",
        table.stdout
    );
    outputs += &(listed.to_string() + &table.stdout);
    for line in remote.fixture.telechir.command_lines() {
        outputs += &line;
    }
    for secret in [KEY, ADDRESS_SECRET, LIVE_VIEW_SECRET] {
        assert!(!outputs.contains(secret), "{secret} is in {outputs}");
        let (mut found, mut count) = (Vec::new(), 0);
        let folder = remote.fixture.telechir.folder();
        holding(folder, secret.as_bytes(), &mut found, &mut count);
        assert!(count > 0, "nothing was recorded");
        assert_eq!(found, Vec::<String>::new(), "{secret}");
    }
    remote.close("canary");
    assert_eq!(remote.double.running(), 0);
    let audit = Ran::of(
        &mut remote.command(&["audit", "verify", &record.display().to_string()]),
        "",
    );
    assert_eq!(audit.code, Some(0), "{audit:?}");
    let html = record.join("report.html").display().to_string();
    let out = format!("--out={html}");
    let record = record.display().to_string();
    let report = Ran::of(&mut remote.command(&["report", &record, &out]), "");
    assert_eq!(report.code, Some(0), "{report:?}");
    let html = fs::read_to_string(html).expect("a report");
    for step in ["requested", "opened", "released"] {
        assert!(html.contains(&format!(": {step}")), "{step} is not in it");
    }
    for secret in [KEY, ADDRESS_SECRET, LIVE_VIEW_SECRET] {
        assert!(!html.contains(secret), "{secret}");
    }
}

#[test]
fn what_a_killed_process_rented_is_released_by_the_next_start() {
    let remote = RemoteFixture::new(Face::Steel);
    // Between the request and its answer.
    remote.double.fail(Verb::Create, ServiceFault::Silence);
    let (mut command, input) = remote.clicking("", &[]);
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("a write");
    drop(stdin);
    assert_eventually_blocking!(remote.double.running(), |running| *running == 1);
    child.kill().expect("a running child");
    child.wait().expect("an exit status");
    assert_eq!(remote.entries(), 1);
    // While it is used.
    assert_read_hello(&remote.click(&["--session=work"]));
    assert_eq!(remote.double.running(), 1, "the first one was released");
    let pid = remote.sessions()[0]["pid"].as_i64().expect("a number");
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id"));
    kill_process(pid.expect("a process"), Signal::KILL).expect("a running program");
    // Any start releases it, whatever it needs itself.
    assert_eventually_blocking!(
        {
            let exec = ["exec", "--dialect", "neutral", "--shell=host"];
            let call = json!([{"type": "shell_call", "call_id": "s1", "commands": ["true"]}]);
            Ran::of(&mut remote.command(&exec), &call.to_string());
            remote.double.running()
        },
        |running| *running == 0
    );
    assert_eq!(remote.entries(), 0);
    let sessions = remote.double.sessions();
    assert_eq!(sessions.len(), 2);
    assert!(sessions.iter().all(|session| session.releases == 1));
}

#[test]
fn a_cut_connection_is_replaced_and_an_ended_session_is_reported() {
    let remote = RemoteFixture::new(Face::Browserbase);
    let session = ["--session=work"];
    assert_read_hello(&remote.click(&session));
    remote.double.cut();
    let cut = remote.click(&session);
    let answers = cut.json();
    assert!(
        answers[0].to_string().contains("refs are stale"),
        "{answers}"
    );
    assert_eq!(remote.double.handshakes(), 2, "with an address of its own");
    assert_read_hello(&remote.click(&session));
    let id = remote.double.sessions()[0].id.clone();
    remote.double.end(&id, "timeout");
    for _ in 0..2 {
        let answers = remote.click(&session).json();
        let text = answers[0].to_string();
        assert!(text.contains("Browserbase has ended (COMPLETED)"), "{text}");
    }
    remote.close("work");
    assert_eq!(remote.double.sessions().len(), 1);
    assert_eq!(remote.entries(), 0);
}

#[test]
fn what_cannot_be_rented_is_one_message_and_nothing_is_left() {
    let remote = RemoteFixture::new(Face::Steel);
    let body = "{\"message\":\"pay first\"}".to_owned();
    remote
        .double
        .fail(Verb::Create, ServiceFault::Status(402, body));
    remote
        .click(&[])
        .fails(1, &["--remote: Steel", "pay first"]);
    let session = ["--session=work"];
    remote
        .double
        .fail(Verb::Create, ServiceFault::Status(401, String::new()));
    let refused = remote.click(&session);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("STEEL_API_KEY"), "{refused:?}");
    let before = remote.double.requests().len();
    remote
        .click(&["--remote-label=a=b", "--remote-timeout=100000"])
        .fails(
            2,
            &[
                "--remote-label: steel",
                "--remote-timeout",
                "nothing was opened",
            ],
        );
    remote
        .click(&["--max-rented=0"])
        .fails(1, &["--max-rented or the policy allows 0"]);
    remote
        .click(&["--max-rented-minutes=14"])
        .fails(1, &["for 900 s: 840 s are left of the 14 minutes"]);
    let (mut command, input) = remote.clicking("[rented]\nminutes = 10\n", &[]);
    Ran::of(&mut command, &input).fails(1, &["600 s are left of the 10 minutes"]);
    assert_eq!(remote.double.requests().len(), before, "nothing was asked");
    // It was rented, but the browser cannot be reached.
    remote.double.fail(
        Verb::Connect,
        ServiceFault::Status(429, "too many".to_owned()),
    );
    let unreachable = remote.click(&[]);
    assert!(unreachable.stderr.contains("429"), "{unreachable:?}");
    assert_eq!(remote.double.sessions().len(), 1);
    assert_eq!(remote.double.running(), 0);
    assert_eq!(remote.entries(), 0);
}

#[test]
fn somebodys_session_needs_approval_and_runs_on() {
    let remote = RemoteFixture::new(Face::Kernel);
    let id = remote.double.create();
    let attach = format!("--remote=kernel:{id}");
    let denied = remote.click(&[&attach]);
    assert_eq!(denied.code, Some(1), "no approval was given: {denied:?}");
    assert!(denied.stderr.contains("the user's own"), "{denied:?}");
    let (mut command, input) = remote.clicking(ALLOW_ACTIONS, &[&attach]);
    assert_read_hello(&Ran::of(&mut command, &input));
    assert_eq!(remote.double.running(), 1);
    assert_eq!(remote.double.sessions()[0].releases, 0);
}

/// A response with a command.
fn command(id: &str, text: &str) -> String {
    anthropic(&[crate::exec::bash(id, text)])
}

#[test]
fn a_shell_at_a_service_is_rented_used_and_released() {
    let remote = RemoteFixture::new(Face::AgentCore);
    let record = remote.fixture.telechir.folder().join("record");
    let recorded = format!("--record={}", record.display());
    let policy = remote.fixture.telechir.permissive_policy();
    let policy = format!("--policy={policy}");
    let exec = [
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell=agentcore",
    ];
    let once = [&exec[..], &[&policy, &recorded, "-vv"]].concat();
    let text = "x=41; echo $((x + 1)); pwd; exit 3";
    let ran = Ran::of(&mut remote.command(&once), &command("t1", text));
    let answers = ran.json();
    let shown = answers[0].to_string();
    assert!(
        shown.contains("42") && shown.contains("interpreter-"),
        "{answers}"
    );
    assert_eq!(remote.double.running(), 0);
    assert_eq!(remote.double.sessions()[0].releases, 1);
    assert_eq!(remote.entries(), 0);
    assert!(!(ran.stdout + &ran.stderr).contains(KEY));
    let (mut found, mut count) = (Vec::new(), 0);
    holding(&record, KEY.as_bytes(), &mut found, &mut count);
    assert_eq!((found, count > 0), (Vec::new(), true));
    // Across calls, and released with the session.
    let in_session = [&exec[..], &[&policy, "--session=work"]].concat();
    for (id, text, expected) in [
        ("t1", "cd /; kept=yes", ""),
        ("t2", "echo $kept in $PWD", "yes in /"),
    ] {
        let ran = Ran::of(&mut remote.command(&in_session), &command(id, text));
        assert!(ran.json()[0].to_string().contains(expected), "{ran:?}");
    }
    assert_eq!(remote.double.running(), 1);
    let listed = remote.sessions();
    let service = &listed[0]["rented"]["service"];
    assert_eq!(*service, "agentcore-code-interpreter", "{listed}");
    remote.close("work");
    assert_eq!(remote.double.running(), 0);
    // Limits hold for both.
    let limited = [&exec[..], &["--max-rented-minutes=1"]].concat();
    let ran = Ran::of(&mut remote.command(&limited), &command("t1", "true"));
    ran.fails(1, &["of the 1 minutes"]);
    let unused = ["exec", "--dialect", "neutral", "--shell", "--max-rented=1"];
    Ran::of(&mut remote.command(&unused), "[]").fails(2, &["nothing is rented"]);
    assert_eq!(remote.double.sessions().len(), 2);
}

#[test]
fn a_client_chooses_what_the_flags_leave_to_it() {
    let remote = RemoteFixture::new(Face::Steel);
    let variables = remote.double.environment();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let flags = ["--browser", "--remote=steel"];
    let choice =
        json!({ "action": "open", "context_id": "shop", "persist": false, "proxy_country": "DE" });
    let mut client = Client::start_with(MODERN, &flags, &variables);
    let refused = client.call("browser_session", &choice);
    assert!(
        refused.to_string().contains("--remote-choices"),
        "{refused}"
    );
    client.leave();
    assert_eq!(remote.double.sessions().len(), 0);

    let mut client = Client::start_with(
        MODERN,
        &[&flags[..], &["--remote-choices"]].concat(),
        &variables,
    );
    client.call("browser_session", &choice);
    let look = json!({ "action": "snapshot" });
    client.call("execute_browser", &look);
    let creation = remote.double.sessions()[0].creation.clone();
    assert_eq!(creation["profileId"], "shop", "{creation}");
    assert_eq!(creation["persistProfile"], false, "{creation}");
    assert_eq!(creation["useProxy"]["geolocation"]["country"], "DE");
    let status = client.call("browser_session", &json!({ "action": "status" }));
    let status = status.to_string();
    for part in ["steel", "shop", "ends_in_seconds", "service_session"] {
        assert!(status.contains(part), "{part}: {status}");
    }
    for secret in [KEY, ADDRESS_SECRET, LIVE_VIEW_SECRET] {
        assert!(!status.contains(secret), "{secret}");
    }
    // What runs stays as it is, until it is closed.
    let other = json!({ "action": "open", "context_id": "bank" });
    let refused = client.call("browser_session", &other).to_string();
    assert!(refused.contains("close the session first"), "{refused}");
    client.call("browser_session", &json!({ "action": "close" }));
    assert_eventually_blocking!(remote.double.running(), |running| *running == 0);
    client.call("browser_session", &other);
    client.call("execute_browser", &look);
    let creation = remote.double.sessions()[1].creation.clone();
    assert_eq!(creation["profileId"], "bank", "{creation}");
    assert_eq!(creation["persistProfile"], true, "{creation}");
    client.leave();
    assert_eventually_blocking!(remote.double.running(), |running| *running == 0);
}

#[test]
fn a_session_over_http_rents_its_browser_as_its_client_chooses() {
    let remote = RemoteFixture::new(Face::Steel);
    let flags = [
        "--browser",
        "--remote=steel",
        "--remote-choices",
        "--remote-timeout=600",
    ];
    let server = Server::with_variables(&flags, remote.double.environment());
    let agent = server.client("agent");
    for (choice, problem) in [
        (json!({ "timeout_seconds": 601 }), "1 to 600"),
        (json!({ "persist": false }), "context"),
        (json!({ "country": "DE", "proxy": false }), "proxy"),
        (json!({ "session": "s1" }), "session"),
    ] {
        let body = json!({ "devices": ["browser"], "remote": choice }).to_string();
        let refused = agent.request("POST", "/v1/sessions", Some(&body));
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.body.contains(problem), "{refused:?}");
    }
    assert_eq!(remote.double.sessions().len(), 0);
    let choice = json!({ "context": "shop", "timeout_seconds": 60, "proxy": true });
    let id = agent.open(&json!({ "devices": ["browser"], "remote": choice }));
    let creation = remote.double.sessions()[0].creation.clone();
    assert_eq!(creation["profileId"], "shop", "{creation}");
    assert_eq!(creation["persistProfile"], true, "{creation}");
    assert_eq!(creation["timeout"], 60_000, "{creation}");
    assert_eq!(creation["useProxy"], true, "{creation}");
    let described = agent.get(&format!("/v1/sessions/{id}")).to_string();
    let output = described + &server.log();
    for secret in [KEY, ADDRESS_SECRET, LIVE_VIEW_SECRET] {
        assert!(!output.contains(secret), "{secret}");
    }
    server.assert_closes(&agent, &id);
    assert_eq!(remote.double.running(), 0);
}

/// The service would let it run on while it is connected.
#[test]
fn a_browser_without_an_end_of_its_own_is_released_when_no_more_may_be_rented() {
    let remote = RemoteFixture::new(Face::Kernel);
    let folder = remote.fixture.telechir.folder();
    let folder = folder.join(".local/state/telechir/rented");
    fs::create_dir_all(&folder).expect("a folder");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("a time").as_secs();
    // Of ten minutes, 23 seconds are left.
    let used = json!({
        "mark": "m-1", "service": "kernel", "from": now - 577, "until": now,
    });
    fs::write(folder.join("usage.jsonl"), used.to_string()).expect("a file");
    let flags = [
        "--session=work",
        "--remote-timeout=20",
        "--max-rented-minutes=10",
    ];
    assert_read_hello(&remote.click(&flags));
    assert_eq!(remote.double.running(), 1);
    assert_eventually_blocking!(remote.double.running(), |running| *running == 0);
    assert_eq!(remote.double.sessions()[0].releases, 1);
    let answers = remote.click(&["--session=work"]).json();
    assert!(
        answers[0]
            .to_string()
            .contains("no more time may be rented"),
        "{answers}"
    );
    remote.close("work");
    assert_eq!(remote.entries(), 0);
    remote
        .click(&["--remote-timeout=20", "--max-rented-minutes=10"])
        .fails(1, &["s are left of the 10 minutes"]);
}
