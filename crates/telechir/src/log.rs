//! The log, and lines for the operator, which all have one format.

use std::io::Write as _;
use std::sync::OnceLock;

use clap::ValueEnum;
use serde_json::json;
use tracing_subscriber::EnvFilter;

/// The format of the log, which is set once.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object in each line.
    Json,
}

/// Logs to stderr what the filter lets through.
pub(crate) fn start(filter: EnvFilter, format: LogFormat) {
    let _set_once = FORMAT.set(format);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.with_target(false).without_time().init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Prints a line for the operator on stderr, whatever the log's level is, in the log's format.
pub(crate) fn print_note(text: &str) {
    let line = match FORMAT.get() {
        Some(LogFormat::Json) => json!({"level": "NOTE", "message": text}).to_string(),
        Some(LogFormat::Text) | None => format!("telechir: {text}"),
    };
    let _best_effort = writeln!(std::io::stderr(), "{line}");
}
