//! Reads the command line, and explains the mistake that clap cannot know: a value without `=`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use super::serve_config::{self, ParseFailure};
use super::started;

/// Flags whose value is optional and needs `=`, with the beginnings of their usual values.
const OPTIONAL_VALUES: [(&str, &[&str]); 4] = [
    ("--desktop", &[":"]),
    ("--browser", &["http://", "https://", "about:", "file:"]),
    (
        "--shell",
        &["sandbox", "host", "docker", "podman", "agentcore"],
    ),
    ("--marks", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
];

const INTERNAL_COMMANDS: [&str; 2] = ["session-host", "guardian"];

/// The command line, or the exit code after its help text or its mistake was printed.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, ExitCode> {
    if let Some(started) = started::parse(&arguments) {
        return Ok(started);
    }
    let words = arguments.iter().skip(1);
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    serve_config::parse(arguments).map_err(|failure| match failure {
        ParseFailure::CommandLine(error) => print(error, &words),
        ParseFailure::File(error) => error.report(),
    })
}

fn print(mut error: clap::Error, words: &[String]) -> ExitCode {
    hide_internal_commands(&mut error);
    if may_be_value(error.kind())
        && let Some((flag, value)) = separated_value(words, &error)
    {
        let tip = match is_action(&error, words, &value) {
            true => {
                // The list has them, and the one that is written alike may mean something else.
                error.remove(ContextKind::SuggestedSubcommand);
                actions()
            }
            false => format!("the value of {flag} is optional and needs `=`: {flag}={value}"),
        };
        let tips = vec![StyledStr::from(tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    let printed = error.print();
    match (printed, u8::try_from(error.exit_code())) {
        (Ok(()), Ok(code)) => ExitCode::from(code),
        (Ok(()) | Err(_), _) => ExitCode::FAILURE,
    }
}

/// Whether a word where none belongs can be the reason of such an error.
fn may_be_value(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand
    )
}

/// The first flag that is followed by what is meant as its value: the word that clap refuses, or one
/// that looks like a value.
fn separated_value(words: &[String], error: &clap::Error) -> Option<(&'static str, String)> {
    let refused = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    let refused: Vec<String> = refused
        .into_iter()
        .filter_map(|kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        })
        .collect();
    words.windows(2).find_map(|pair| {
        let (flag, beginnings) = OPTIONAL_VALUES.iter().find(|(flag, _)| *flag == pair[0])?;
        let value = &pair[1];
        let is_meant =
            refused.contains(value) || beginnings.iter().any(|begin| value.starts_with(begin));
        (is_meant && !value.starts_with('-')).then(|| (*flag, value.clone()))
    })
}

/// Removes the commands that telechir itself starts from the suggestions.
fn hide_internal_commands(error: &mut clap::Error) {
    let kind = ContextKind::SuggestedSubcommand;
    let Some(ContextValue::Strings(names)) = error.get(kind) else {
        return;
    };
    let mut names = names.clone();
    names.retain(|name| !INTERNAL_COMMANDS.contains(&name.as_str()));
    error.insert(kind, ContextValue::Strings(names));
}

/// Whether this word, which `do` refuses after a flag, is meant as its action rather than as the flag's
/// value: it is written as actions are, and not as the flag's usual values.
fn is_action(error: &clap::Error, words: &[String], word: &str) -> bool {
    let is_usual = |beginnings: &[&str]| beginnings.iter().any(|begin| word.starts_with(begin));
    let is_name = |character: char| character.is_ascii_lowercase() || "-_".contains(character);
    error.kind() == ErrorKind::InvalidSubcommand
        && words.iter().any(|word| word == "do")
        && word.chars().all(is_name)
        && !OPTIONAL_VALUES.iter().any(|(_, usual)| is_usual(usual))
}

/// The names of the actions of `do`, in lines.
fn actions() -> String {
    const MAX_COLUMNS: usize = 72;
    let command = Cli::command();
    let actions = command.find_subcommand("do").into_iter();
    let names = actions.flat_map(clap::Command::get_subcommands);
    let names: Vec<&str> = names.map(clap::Command::get_name).collect();
    let text = format!("the actions are {}", names.join(", "));
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= MAX_COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n       ")
}
