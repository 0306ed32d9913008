//! Secrets in the environment of telechir, as a shell on the host sees them.

use serde_json::{Value, json};

use crate::telechir::{Ran, Telechir};

const POLICY: &str = "[[shell]]\nname = \"the test's command\"\nshell = \"host\"\nwords = [\"env\"]\n\
                      verdict = \"allow\"\nreason = \"It prints variables.\"\n\
                      examples = { match = [\"env\"] }\n";
const SECRETS: [(&str, &str); 8] = [
    ("GITHUB_TOKEN", "leak-1"),
    ("AWS_SECRET_ACCESS_KEY", "leak-2"),
    ("DB_PASSWORD", "leak-3"),
    ("OPENAI_API_KEY", "leak-4"),
    ("DATABASE_URL", "postgres://user:leak-5@localhost/x"),
    ("https_proxy", "http://user:leak-6@127.0.0.1:1"),
    ("SSH_AUTH_SOCK", "/tmp/leak-7"),
    ("Lowercase_secret", "leak-8"),
];

/// The output of `env` in a shell on the host, started with secrets and these flags.
fn environment(flags: &[&str]) -> String {
    let telechir = Telechir::new();
    let policy = telechir.folder().join("host.toml");
    std::fs::write(&policy, POLICY).expect("a policy");
    let policy = policy.to_string_lossy().into_owned();
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell=host",
        "--policy",
        &policy,
    ];
    let mut command = telechir.command(&[&arguments[..], flags].concat());
    command
        .envs(SECRETS)
        .env("LC_TIME", "C")
        .env("EDITOR", "ed");
    let result = Ran::of(&mut command, &response()).json();
    telechir.assert_nothing_left();
    texts(&result)
}

/// A response that calls `env`.
fn response() -> String {
    let call = json!({"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "env"}});
    let message = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [call]});
    message.to_string()
}

/// All texts of a document, joined.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[test]
fn a_shell_on_the_host_gets_no_variable_that_can_hold_a_secret() {
    let seen = environment(&[]);
    assert!(!seen.contains("leak"), "{seen}");
    for name in ["PATH=/usr/bin:/bin", "LC_TIME=C", "EDITOR=ed", "HOME="] {
        assert!(seen.contains(name), "{name}: {seen}");
    }
}

#[test]
fn a_variable_that_the_operator_names_reaches_a_shell_on_the_host() {
    let seen = environment(&["--shell-env", "DB_PASSWORD"]);
    assert!(seen.contains("DB_PASSWORD=leak-3"), "{seen}");
    assert_eq!(seen.matches("leak").count(), 1, "{seen}");
}

#[test]
fn flags_of_another_shell_are_refused() {
    for (flags, fragment) in [
        (
            ["--shell=host", "--runtime=runsc"],
            "only a container has one",
        ),
        (
            ["--shell=docker", "--runtime=--privileged"],
            "name of an OCI runtime",
        ),
        (
            ["--shell", "--shell-env=GITHUB_TOKEN"],
            "only --shell=host gets variables",
        ),
    ] {
        let telechir = Telechir::new();
        let arguments = [&["exec", "--dialect", "anthropic-messages"], &flags[..]].concat();
        let ran = telechir.run(&arguments, &response());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(fragment), "{ran:?}");
    }
}
