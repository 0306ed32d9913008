//! The file of `serve --config`: flags by their names, as TOML. A flag of the command line wins.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::ValueRange;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use toml::de::{DeTable, DeValue};

use super::{Cli, CliCommand, ServeArguments, ServeCommand, ServeFlags};
use crate::error::CliError;

/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Flags that a file cannot have.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "verbose"];

/// A flag of the file, as on the command line.
struct FileFlag {
    /// The name of the flag.
    key: String,
    /// Where it is: `FILE:LINE`.
    position: String,
    arguments: Vec<String>,
}

/// Why a command line cannot be used.
#[derive(Debug)]
pub(super) enum ParseFailure {
    CommandLine(clap::Error),
    /// The message has the line of the file.
    File(CliError),
}

impl From<clap::Error> for ParseFailure {
    fn from(error: clap::Error) -> Self {
        Self::CommandLine(error)
    }
}

impl From<CliError> for ParseFailure {
    fn from(error: CliError) -> Self {
        Self::File(error)
    }
}

/// Parses the command line, with the flags of `--config` in it.
pub(super) fn parse(arguments: Vec<OsString>) -> Result<Cli, ParseFailure> {
    let matches = Cli::command().try_get_matches_from(&arguments)?;
    let serve = serve_matches(&matches);
    let file = serve.and_then(|(_, given)| given.get_one::<PathBuf>("config"));
    let (Some((depth, given)), Some(file)) = (serve, file) else {
        return Ok(Cli::from_arg_matches(&matches)?);
    };
    let cli = Cli::command();
    let command = cli.find_subcommand("serve").unwrap_or(&cli);
    let mut flags = read(file, command)?;
    flags.retain(|flag| {
        let id = flag.key.replace('-', "_");
        given.value_source(&id) != Some(ValueSource::CommandLine)
    });
    // After the names of the subcommands, before the flags of the command line.
    let (names, rest) = split_at_subcommand(arguments, depth);
    let of_file = flags.iter().flat_map(|flag| &flag.arguments);
    let all = names
        .into_iter()
        .chain(of_file.map(OsString::from))
        .chain(rest);
    let matches = Cli::command().try_get_matches_from(all);
    let matches = matches.map_err(|error| in_file(error, &flags))?;
    Ok(Cli::from_arg_matches(&matches)?)
}

/// The flags of a server with this configuration.
///
/// # Errors
/// If the file cannot be used; the message has the line.
pub(crate) fn serve_flags(file: &Path) -> Result<ServeFlags, CliError> {
    let mut config = OsString::from("--config=");
    config.push(file);
    let arguments = ["telechir".into(), "serve".into(), "check".into(), config];
    let parsed = parse(arguments.into()).map_err(|failure| match failure {
        ParseFailure::File(error) => error,
        ParseFailure::CommandLine(error) => error.exit(),
    })?;
    let CliCommand::Serve(ServeArguments {
        command: Some(ServeCommand::Check(flags)),
        ..
    }) = parsed.command
    else {
        let problem = "--config: expected the configuration of a server";
        return Err(CliError::usage(problem));
    };
    Ok(*flags)
}

/// The matches of `serve` or `serve check`, and how many names of subcommands come before.
fn serve_matches(matches: &ArgMatches) -> Option<(usize, &ArgMatches)> {
    let (_, serve) = matches.subcommand().filter(|(name, _)| *name == "serve")?;
    Some(match serve.subcommand() {
        Some((_, check)) => (2, check),
        None => (1, serve),
    })
}

/// Splits the arguments after the name of the last subcommand.
fn split_at_subcommand(arguments: Vec<OsString>, depth: usize) -> (Vec<OsString>, Vec<OsString>) {
    let names = ["serve", "check"];
    let mut found = 0;
    let end = arguments.iter().position(|argument| {
        found += usize::from(names.get(found).is_some_and(|name| argument == *name));
        found == depth
    });
    let mut names = arguments;
    let rest = names.split_off(end.map_or(names.len(), |end| end + 1));
    (names, rest)
}

/// The flags of a file in their order.
fn read(file: &Path, command: &Command) -> Result<Vec<FileFlag>, CliError> {
    let name = file.display();
    let failed =
        |e: &dyn std::fmt::Display| CliError::usage(format!("failed to read --config {name}: {e}"));
    let bytes = fs::metadata(file).map_err(|e| failed(&e))?.len();
    if bytes > MAX_BYTES {
        return Err(failed(&format!(
            "it has {bytes} bytes; the maximum is {MAX_BYTES}"
        )));
    }
    let text = fs::read_to_string(file).map_err(|e| failed(&e))?;
    let table = DeTable::parse(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(&text, span.start));
        CliError::usage(format!("{name}:{line}: {}", error.message()))
    })?;
    let mut flags = Vec::new();
    for (key, value) in table.get_ref() {
        let start = key.span().start;
        let position = format!("{name}:{}", line(&text, start));
        let key: &str = key.get_ref();
        let problem = |what: String| CliError::usage(format!("{position}: {what}"));
        let argument = argument(command, key).map_err(problem)?;
        let arguments = values(argument, key, value.get_ref()).map_err(problem)?;
        flags.push((
            start,
            FileFlag {
                key: key.to_owned(),
                position: position.clone(),
                arguments,
            },
        ));
    }
    flags.sort_by_key(|(start, _)| *start);
    Ok(flags.into_iter().map(|(_, flag)| flag).collect())
}

fn line(text: &str, at: usize) -> usize {
    text.as_bytes()
        .iter()
        .take(at)
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

/// The flag that a key names.
fn argument<'a>(command: &'a Command, key: &str) -> Result<&'a Arg, String> {
    let flags = || {
        let flags = command.get_arguments();
        let named = flags.filter_map(|flag| Some((flag.get_long()?, flag)));
        named.filter(|(name, _)| !NOT_IN_FILES.contains(name))
    };
    let found = flags().find(|(name, _)| *name == key);
    found.map(|(_, flag)| flag).ok_or_else(|| {
        let near = flags().filter(|(name, _)| distance(name, key) <= 1 + key.len() / 4);
        let near = near.min_by_key(|(name, _)| distance(name, key));
        let near = near.map(|(name, _)| format!("did you mean `{name}`? "));
        format!(
            "unknown key `{}`; {}expected the name of a flag of `telechir serve` without `--`",
            key.escape_debug(),
            near.unwrap_or_default()
        )
    })
}

/// The smallest number of insertions, removals and replacements that make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.bytes().enumerate() {
            let changed = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

/// A flag with the values that the file has, as on the command line.
fn values(flag: &Arg, key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let is_switch = matches!(flag.get_action(), ArgAction::SetTrue);
    let is_list =
        matches!(flag.get_action(), ArgAction::Append) || flag.get_value_delimiter().is_some();
    let is_optional = flag.get_num_args() == Some(ValueRange::new(0..=1));
    let expected = match (is_switch, is_list, is_optional) {
        (true, _, _) => "true or false",
        (_, true, _) => "a value or a list of values",
        (_, _, true) => "true, false or a value",
        _ => "a value",
    };
    let wrong = |found: &str| format!("`{key}`: expected {expected}, found {found}");
    let with = |value: &str| format!("--{key}={value}");
    if let DeValue::Boolean(is_on) = value
        && (is_switch || is_optional)
    {
        return Ok(is_on.then(|| format!("--{key}")).into_iter().collect());
    }
    if let DeValue::Array(items) = value
        && is_list
    {
        let texts = items.iter().map(|item| {
            let item = item.get_ref();
            scalar(item).map(with).ok_or_else(|| wrong(item.type_str()))
        });
        return texts.collect();
    }
    let text = scalar(value).filter(|_| !is_switch);
    let text = text.ok_or_else(|| wrong(value.type_str()))?;
    Ok(vec![with(text)])
}

fn scalar<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::String(text) => Some(text),
        DeValue::Integer(number) => Some(number.as_str()),
        DeValue::Float(number) => Some(number.as_str()),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// An error about the flags, with the place in the file if it is about one of it.
fn in_file(error: clap::Error, flags: &[FileFlag]) -> CliError {
    let about = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(about)) => about.clone(),
        Some(ContextValue::Strings(about)) => about.join(" "),
        _ => String::new(),
    };
    let mut names = about.split([' ', '=', '[']);
    let flag = names.find_map(|name| {
        let name = name.strip_prefix("--")?;
        flags.iter().find(|flag| flag.key == name)
    });
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = text.split("\n\n").next().unwrap_or(text);
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    let position = flag.map(|flag| format!("{}: ", flag.position));
    CliError::usage(format!("{}{text}", position.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(file: &str, more: &[&str]) -> Result<Cli, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        fs::write(&path, file).unwrap();
        let config = format!("--config={}", path.display());
        let arguments = ["telechir", "serve", &config];
        let arguments = arguments.iter().chain(more).map(OsString::from).collect();
        parse(arguments).map_err(|failure| match failure {
            ParseFailure::File(e) => e.text().replace(&path.display().to_string(), "FILE"),
            ParseFailure::CommandLine(e) => e.to_string(),
        })
    }

    fn serve(file: &str, more: &[&str]) -> ServeFlags {
        let command = parsed(file, more).unwrap().command;
        let CliCommand::Serve(arguments) = command else {
            panic!("{command:?}");
        };
        arguments.flags
    }

    #[test]
    fn a_file_has_the_names_of_the_flags() {
        let file = "listen = '127.0.0.1:9000'\nshell = true\nbrowser = 'https://a.example/'\n\
                    headless = true\neditor = false\nmax-sessions = 3\nhost = ['a', 'b:1']\n\
                    behind-proxy = '10.0.0.1'\nscale = 1.5\nshell-env = []\n";
        let flags = serve(file, &[]);
        assert_eq!(flags.listen, "127.0.0.1:9000".parse().unwrap());
        assert_eq!(flags.devices.shell.as_deref(), Some("sandbox"));
        assert_eq!(flags.devices.browser.as_deref(), Some("https://a.example/"));
        assert!(flags.devices.headless && !flags.devices.editor);
        assert_eq!(
            (flags.max_sessions, flags.host),
            (3, vec!["a".to_owned(), "b:1".to_owned()])
        );
        assert_eq!(flags.behind_proxy.len(), 1);
    }

    #[test]
    fn a_flag_of_the_command_line_wins() {
        let file = "listen = '127.0.0.1:9000'\nmax-sessions = 3\nhost = ['a']\nshell = 'host'\n";
        let flags = serve(file, &["--max-sessions", "5", "--host=c", "--shell"]);
        assert_eq!((flags.max_sessions, flags.host), (5, vec!["c".to_owned()]));
        assert_eq!(flags.devices.shell.as_deref(), Some("sandbox"));
        assert_eq!(flags.listen, "127.0.0.1:9000".parse().unwrap());
    }

    #[test]
    fn an_error_has_the_line_and_what_is_expected() {
        for (file, fragments) in [
            (
                "\nmax_sessions = 3",
                &["FILE:2:", "unknown key `max_sessions`", "`max-sessions`"][..],
            ),
            (
                "a = 1",
                &["FILE:1:", "unknown key `a`", "a flag of `telechir serve`"],
            ),
            ("config = 'x'", &["FILE:1:", "unknown key `config`"]),
            ("[serve]\nshell = true", &["FILE:1:", "unknown key `serve`"]),
            ("\n\nshell = 3\nshell = 4", &["FILE:4:", "duplicate key"]),
            ("shell = ", &["FILE:1:"]),
            (
                "headless = 'yes'",
                &["FILE:1:", "`headless`", "true or false", "string"],
            ),
            (
                "listen = true",
                &["FILE:1:", "`listen`", "expected a value", "boolean"],
            ),
            (
                "host = [['a']]",
                &["FILE:1:", "`host`", "a list of values", "array"],
            ),
            (
                "shell = true\nmax-sessions = 0",
                &["FILE:2:", "--max-sessions", "0 is not in"],
            ),
            (
                "shell = 'moon'",
                &["FILE:1:", "--shell", "expected sandbox"],
            ),
            ("headless = true", &["--browser"]),
        ] {
            let problem = parsed(file, &[]).unwrap_err();
            for fragment in fragments {
                assert!(problem.contains(fragment), "{file}: {problem}");
            }
            assert_eq!(problem.lines().count(), 1, "{problem}");
        }
    }
}
