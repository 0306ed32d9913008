//! Network access of a session's devices: what the policy allows, and what the recording contains.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;
use telechir_testkit::gate::{Component, require};

use crate::exec::{anthropic, bash, member};
use crate::telechir::Telechir;

/// Serves a page with this body on a local port until the test ends.
pub(crate) fn page(body: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _its_first_bytes = stream.read(&mut [0; 4096]);
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            );
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// The HTML report of a recording.
fn report(telechir: &Telechir, recording: &str) -> String {
    let page = telechir.folder().join("report.html");
    let made = telechir.run(&["report", recording, "--out", &page.to_string_lossy()], "");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    std::fs::read_to_string(page).expect("a page")
}

#[test]
fn a_shell_reaches_only_allowed_hosts_and_refusals_are_recorded() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let (named, other) = (page("hello".to_owned()), page("other".to_owned()));
    let policy = telechir.permissive_policy();
    let rules = std::fs::read_to_string(&policy).expect("the policy");
    let rule = format!(
        "[[network]]\nname = 'the page'\nfrom = ['shell']\nhost = ['127.0.0.1']\nport = [{named}]\n\
         verdict = 'allow'\nreason = 'The page of the test.'\n"
    );
    std::fs::write(&policy, rules + &rule).expect("a policy");
    let recording = telechir.folder().join("recording");
    let recording = recording.to_str().expect("a path");
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell",
        "--policy",
        &policy,
        "--record",
        recording,
    ];
    let get = |port: u16| format!("curl -sS --noproxy '' http://127.0.0.1:{port}/?secret");
    let calls = [bash("toolu_1", &get(named)), bash("toolu_2", &get(other))];
    let ran = telechir.run(&arguments, &anthropic(&calls));
    let answers = ran.json().to_string();
    assert!(answers.contains("hello"), "{answers}");
    assert!(
        answers.contains("telechir refused this connection"),
        "{answers}"
    );
    let html = report(&telechir, recording);
    assert!(
        html.contains(&format!("shell: no access to 127.0.0.1:{other}")),
        "{html}"
    );
    let verified = telechir.run(&["audit", "verify", recording], "");
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

#[test]
fn a_page_reaches_only_hosts_the_policy_allows() {
    require(Component::Chromium);
    let telechir = Telechir::new();
    let other = page("other".to_owned());
    let body = format!(
        "<title>waits</title><script>fetch('http://127.0.0.1:{other}/', {{ mode: 'no-cors' }})\
         .finally(() => document.title = 'tried')</script>"
    );
    let named = page(body);
    let policy = telechir.folder().join("policy.toml");
    let rule = format!(
        "[[url]]\nhost = ['127.0.0.1']\nport = [{named}]\nverdict = 'allow'\nreason = 'A test.'\n"
    );
    std::fs::write(&policy, rule).expect("a policy");
    let recording = telechir.folder().join("recording");
    let recording = recording.to_str().expect("a path");
    let flag = format!("--browser=http://127.0.0.1:{named}/");
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        &flag,
        "--headless",
        "--policy",
        &policy.to_string_lossy(),
        "--record",
        recording,
    ];
    let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    let ran = telechir.run(&arguments, &response);
    assert_ne!(ran.json()[0]["is_error"], true, "{}", ran.stdout);
    let html = report(&telechir, recording);
    assert!(
        html.contains(&format!("browser: no access to 127.0.0.1:{other}")),
        "{html}"
    );
    assert!(
        !html.contains("127.0.0.1:9"),
        "Chromium's own requests are not reported: {html}"
    );
}

#[test]
fn another_url_scheme_needs_a_rule_that_names_it() {
    require(Component::Chromium);
    let telechir = Telechir::new();
    let policy = telechir.folder().join("policy.toml");
    let open = |rule: &str| {
        std::fs::write(&policy, rule).expect("a policy");
        let arguments = [
            "exec",
            "--dialect",
            "anthropic-messages",
            "--browser=data:text/html,<title>written</title>",
            "--headless",
            "--policy",
            &policy.to_string_lossy(),
        ];
        let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
        telechir.run(&arguments, &response)
    };
    let everything = open("[[url]]\nverdict = 'allow'\nreason = 'Everything of the web.'\n");
    everything.fails(1, &["data:"]);
    let named = open("[[url]]\nscheme = ['data']\nverdict = 'allow'\nreason = 'Named.'\n");
    assert_ne!(named.json()[0]["is_error"], true, "{}", named.stdout);
}
