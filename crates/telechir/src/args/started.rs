//! The commands that programs start: clients of MCP, and telechir itself. A parser of their own spares them
//! the flags of all others, which take time and memory in each of these processes.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use super::{Cli, CliCommand, McpArguments, SessionHostArguments};
use crate::log::LogFormat;

/// Flags that every command has.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// Increase log verbosity on stderr (-vv for debug). Typed text and screenshots never appear
    /// above debug level.
    #[arg(long, short, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,

    /// Format of the log on stderr. Neither has tokens, typed text or screenshots.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        global = true
    )]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Parser)]
#[command(name = "telechir", version)]
struct StartedCli {
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    command: StartedCommand,
}

#[derive(Debug, Subcommand)]
enum StartedCommand {
    Mcp(Box<McpArguments>),
    SessionHost(SessionHostArguments),
    Guardian,
}

/// The command line of such a command; none for others, for help texts and for mistakes, which the parser
/// of all commands explains.
pub(super) fn parse(arguments: &[OsString]) -> Option<Cli> {
    let first = arguments.get(1)?.to_str()?;
    if !["mcp", "session-host", "guardian"].contains(&first) {
        return None;
    }
    let started = StartedCli::try_parse_from(arguments).ok()?;
    Some(Cli {
        log: started.log,
        command: match started.command {
            StartedCommand::Mcp(arguments) => CliCommand::Mcp(*arguments),
            StartedCommand::SessionHost(arguments) => CliCommand::SessionHost(arguments),
            StartedCommand::Guardian => CliCommand::Guardian,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parsers_read_the_same() {
        for line in [
            "mcp --desktop --browser=https://example.com/ --shell -vv --tools wait,execute_cli",
            "mcp --log-format=json --session work --approval-wait 5",
            "mcp install claude --write --name a --shell --workspace /w",
            "session-host work --sockets=/run",
            "guardian",
            "guardian -v",
        ] {
            let words = std::iter::once("telechir").chain(line.split(' '));
            let words: Vec<OsString> = words.map(OsString::from).collect();
            let started = parse(&words).expect(line);
            let complete = Cli::try_parse_from(&words).expect(line);
            assert_eq!(format!("{started:?}"), format!("{complete:?}"));
        }
        for line in [
            "exec --dialect neutral",
            "mcp --help",
            "mcp --shel",
            "--version",
        ] {
            let words = std::iter::once("telechir").chain(line.split(' '));
            let words: Vec<OsString> = words.map(OsString::from).collect();
            assert!(parse(&words).is_none(), "{line}");
        }
    }
}
