//! `run --provider`: missing keys and endpoints are reported before anything starts.

use crate::telechir::{Ran, Telechir};

/// A run that fails before it starts, because its display does not exist.
fn run(provider: &str, more: &[&str], variables: &[(&str, &str)]) -> Ran {
    let telechir = Telechir::new();
    let mut arguments = vec![
        "run",
        "task",
        "--provider",
        provider,
        "--model",
        "m",
        "--shell",
    ];
    arguments.extend(more);
    let mut command = telechir.command(&arguments);
    Ran::of(command.envs(variables.iter().copied()), "")
}

#[test]
fn a_missing_key_is_named_with_its_variable() {
    for (provider, variable) in [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("google", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("bedrock", "AWS_BEARER_TOKEN_BEDROCK"),
        ("mistral", "MISTRAL_API_KEY"),
        ("functions", "FUNCTIONS_API_KEY or OPENAI_API_KEY"),
    ] {
        run(provider, &[], &[]).fails(2, &[provider, variable]);
    }
}

#[test]
fn a_missing_region_or_endpoint_is_named() {
    let bedrock = run("bedrock", &[], &[("AWS_BEARER_TOKEN_BEDROCK", "k")]);
    bedrock.fails(2, &["AWS_REGION", "--base-url"]);
    let odd = [
        ("AWS_BEARER_TOKEN_BEDROCK", "k"),
        ("AWS_REGION", "a.evil/b"),
    ];
    run("bedrock", &[], &odd).fails(2, &["invalid region"]);
    let functions = run("functions", &[], &[("FUNCTIONS_API_KEY", "k")]);
    functions.fails(2, &["--base-url", "FUNCTIONS_BASE_URL"]);
}

#[test]
fn an_unsupported_dialect_is_refused() {
    let ran = run(
        "anthropic",
        &["--dialect", "openai-responses"],
        &[("ANTHROPIC_API_KEY", "k")],
    );
    ran.fails(
        2,
        &["anthropic does not support openai-responses; expected one of anthropic-messages"],
    );
}
