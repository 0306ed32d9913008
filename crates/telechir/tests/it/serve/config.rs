//! `serve --config` and `serve check`: the file's names, what wins, and what is wrong in it.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use super::client::Server;
use crate::sessions::SessionFixture;
use crate::telechir::Ran;

/// A folder with this file as `serve.toml`, and the flag that names it.
fn with_file(text: &str) -> (SessionFixture, String) {
    let sessions = SessionFixture::new();
    let path = sessions.file("serve.toml");
    fs::write(&path, text).expect("a file");
    (sessions, format!("--config={}", path.display()))
}

fn run(sessions: &SessionFixture, arguments: &[&str]) -> Ran {
    Ran::of(&mut sessions.command(arguments), "")
}

#[test]
fn a_server_has_the_flags_of_its_file() {
    require(Component::Sandbox);
    let (sessions, config) = with_file("shell = true\nmax-sessions = 1\nmax-idle-timeout = 60\n");
    let server = Server::in_folder(sessions, &[&config]);
    let agent = server.client("agent");
    let long = agent.request("POST", "/v1/sessions", Some("{\"idle_seconds\": 61}"));
    long.is_problem(422, "unreadable");
    let id = agent.open(&json!({"idle_seconds": 60}));
    agent
        .request("POST", "/v1/sessions", Some("{}"))
        .is_problem(429, "too-many");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_flag_wins_over_the_file() {
    let (sessions, config) =
        with_file("shell = 'host'\nmax-sessions = 1\nlisten = '192.0.2.1:1'\n");
    let check = run(
        &sessions,
        &[
            "serve",
            "check",
            &config,
            "--shell",
            "--listen=127.0.0.1:0",
            "--max-sessions",
            "7",
        ],
    );
    assert!(
        check.stdout.contains("at most 7: --shell=sandbox"),
        "{check:?}"
    );
    assert!(check.stdout.contains("127.0.0.1:0"), "{check:?}");
}

#[test]
fn a_wrong_key_is_one_error_with_its_line() {
    for (text, fragments) in [
        (
            "shell = true\nmax_sessions = 3\n",
            &[
                "serve.toml:2: ",
                "`max_sessions`",
                "did you mean `max-sessions`",
            ][..],
        ),
        (
            "shell = true\n\nheadless = 3\n",
            &["serve.toml:3: ", "`headless`", "true or false", "integer"],
        ),
        ("shell = [\n", &["serve.toml:"]),
        (
            "shell = true\nlisten = 'here'\n",
            &["serve.toml:2: ", "--listen", "127.0.0.1:7878"],
        ),
    ] {
        let (sessions, config) = with_file(text);
        for arguments in [&["serve", &config][..], &["serve", "check", &config]] {
            run(&sessions, arguments).fails(2, fragments);
        }
    }
    let sessions = SessionFixture::new();
    run(&sessions, &["serve", "--config=/missing/serve.toml"]).fails(2, &["/missing/serve.toml"]);
}

#[test]
fn a_check_names_everything_that_is_in_the_way() {
    let sessions = SessionFixture::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let tokens = sessions.file("tokens.json");
    fs::write(&tokens, "{\"tokens\": []}").expect("a file");
    fs::set_permissions(&tokens, Permissions::from_mode(0o644)).expect("permissions");
    let key = sessions.file("key.pem");
    fs::write(&key, include_str!("tls_files/first.key")).expect("a file");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("permissions");
    let cert = sessions.file("cert.pem");
    fs::write(&cert, include_str!("tls_files/first.pem")).expect("a file");
    let file = format!(
        "listen = '{address}'\ntoken-file = '{}'\ntls-cert = '{}'\ntls-key = '{}'\n\
         policy = '/missing.toml'\nrecord = '{}/recordings'\n",
        tokens.display(),
        cert.display(),
        key.display(),
        cert.display(),
    );
    let path = sessions.file("serve.toml");
    fs::write(&path, file).expect("a file");
    let config = format!("--config={}", path.display());
    let ran = run(&sessions, &["serve", "check", &config]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let problems: Vec<&str> = ran.stderr.lines().collect();
    for (name, fragment) in [
        ("sessions", "no device"),
        ("policy", "/missing.toml"),
        ("tls", "mode 0644"),
        ("address", "failed to listen"),
        ("tokens", "chmod go-rwx"),
        ("recordings", "failed to write"),
    ] {
        let start = format!("telechir: {name}: ");
        let line = problems.iter().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.contains(fragment)),
            "{name}: {ran:?}"
        );
    }
    assert_eq!(problems.len(), 6, "{ran:?}");

    let doctor = run(&sessions, &["doctor", "--json", &config]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let report: Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    assert_eq!(report["ready"], false);
    let states = report["checks"].as_array().expect("checks").iter();
    let states = states.map(|check| (check["id"].as_str(), check["state"].as_str()));
    let broken: Vec<_> = states
        .filter(|(_, state)| *state == Some("broken"))
        .collect();
    assert_eq!(broken.len(), 6, "{report}");
}

#[test]
fn a_check_without_problems_prints_what_would_be_served() {
    let sessions = SessionFixture::new();
    let token = run(&sessions, &["tokens", "new", "agent"]);
    assert_eq!(token.code, Some(0), "{token:?}");
    let record = format!("--record={}", sessions.file("recordings").display());
    let arguments = ["serve", "check", "--shell", "--listen=127.0.0.1:0", &record];
    let ran = run(&sessions, &arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    for fragment in [
        "at most 16: --shell=sandbox",
        "127.0.0.1:0",
        "this machine",
        "1 agent, 0 viewer",
        "recordings",
    ] {
        assert!(ran.stdout.contains(fragment), "{fragment}: {ran:?}");
    }
    assert!(!sessions.file("recordings").exists(), "nothing is created");
    let file = sessions.file("serve.toml");
    fs::write(&file, "shell = true\nlisten = '127.0.0.1:0'\n").expect("a file");
    let config = format!("--config={}", file.display());
    let doctor = run(&sessions, &["doctor", &config]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    assert!(doctor.stdout.contains("server-tokens"), "{doctor:?}");
    let refused = run(
        &sessions,
        &["serve", "check", "--shell", "--listen=0.0.0.0:0"],
    );
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for fragment in ["exposure: ", "--tls-cert", "--behind-proxy"] {
        assert!(refused.stderr.contains(fragment), "{refused:?}");
    }
}

/// Every flag and key of the files in `deploy/` exists.
#[test]
fn the_files_for_deployment_use_flags_that_exist() {
    let sessions = SessionFixture::new();
    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    let config = format!("--config={deploy}/serve.toml");
    let checked = run(&sessions, &["serve", "check", &config]);
    assert_ne!(checked.code, Some(2), "{checked:?}");
    let mut commands = 0;
    for entry in fs::read_dir(deploy).expect("the folder").flatten() {
        let path = entry.path();
        let text = fs::read_to_string(&path).expect("text");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for words in lines.filter_map(command_words) {
            commands += 1;
            let names: Vec<&str> = words.iter().map(String::as_str).collect();
            let names = names.iter().take_while(|word| !word.starts_with('-'));
            let mut help: Vec<&str> = names.copied().collect();
            help.push("--help");
            let help = run(&sessions, &help);
            assert_eq!(help.code, Some(0), "{}: {words:?}", path.display());
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().expect("a name");
                let is_known = help
                    .stdout
                    .split([' ', '\n', '[', '='])
                    .any(|word| word.trim_end_matches('.') == flag);
                assert!(is_known, "{}: {flag} in {words:?}", path.display());
            }
        }
    }
    assert!(commands >= 3, "{commands} commands were found");
}

/// The arguments of `telechir` in a line of a unit or container file.
fn command_words(line: &str) -> Option<Vec<String>> {
    let is_command = ["Exec", "ENTRYPOINT", "CMD", "HEALTHCHECK"];
    if !is_command.iter().any(|start| line.starts_with(start)) {
        return None;
    }
    let words = line
        .split([' ', '"', ',', '[', ']'])
        .filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| !word.ends_with("/telechir") && *word != "telechir");
    words.next()?;
    Some(words.map(str::to_owned).collect())
}
