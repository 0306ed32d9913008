//! `mcp install`: prints or writes the configuration with which a client starts this server.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser as _;
use similar::TextDiff;
use tempfile::NamedTempFile;

use super::mcp;
use crate::args::{McpFlags, McpInstallArguments};
use crate::error::CliError;
use crate::input;
use crate::mcp_client::{self, McpClient};
use crate::mcp_config;

/// Maximum size of a configuration that is edited.
const MAX_BYTES: u64 = 16 << 20;

pub(crate) fn install(arguments: &McpInstallArguments) -> Result<ExitCode, CliError> {
    let client = mcp_client::named(&arguments.client)
        .ok_or_else(|| CliError::usage(format!("unknown client `{}`", arguments.client)))?;
    let (is_written, flags) = flags(arguments)?;
    let file = (client.file)().ok_or_else(|| {
        CliError::usage(format!(
            "no home folder for the configuration of {}: set HOME",
            client.title
        ))
    })?;
    let program = std::env::current_exe()?;
    let program = text_of(&program)?;
    let mut words = vec!["mcp".to_owned()];
    words.extend(flags);
    let server = Server {
        client,
        name: &arguments.name,
        program: &program,
        arguments: &words,
    };
    match is_written {
        true => server.write(&file),
        false => server.print(&file),
    }
}

/// Flags that name a file or folder.
const PATH_FLAGS: [&str; 5] = [
    "--workspace",
    "--policy",
    "--record",
    "--memory-dir",
    "--tools-from",
];

/// Whether to write, and the checked flags of the server. Clients start it in folders of their own,
/// so paths become absolute.
fn flags(arguments: &McpInstallArguments) -> Result<(bool, Vec<String>), CliError> {
    let mut flags = arguments.flags.clone();
    let count = flags.len();
    flags.retain(|flag| flag != "--write");
    let is_written = arguments.write || flags.len() < count;
    let mut absolute = Vec::new();
    let mut is_path = false;
    for flag in flags {
        let named = PATH_FLAGS.iter().find_map(|name| {
            let path = flag.strip_prefix(name)?.strip_prefix('=')?;
            Some((*name, path))
        });
        absolute.push(match named {
            Some((name, path)) => format!("{name}={}", absolute_path(path)?),
            None if is_path => absolute_path(&flag)?,
            None => flag.clone(),
        });
        is_path = PATH_FLAGS.contains(&flag.as_str());
    }
    // What the server refuses must not be written for a client that shows no reason.
    let words = ["telechir mcp".to_owned()];
    let parsed = McpFlags::try_parse_from(words.iter().chain(&absolute));
    let parsed = parsed.map_err(|error| {
        let text = error.to_string();
        CliError::usage(text.trim_start_matches("error: ").trim_end())
    })?;
    let server = &parsed.server;
    // The session is open when the client starts the server, which reads its devices then.
    let has_session = server.session.is_some() && server.devices.is_empty();
    match has_session {
        true => mcp::check(server, has_session)?,
        false => drop(mcp::catalog(server, None)?),
    }
    Ok((is_written, absolute))
}

fn absolute_path(path: &str) -> Result<String, CliError> {
    let path = Path::new(path);
    let resolved = fs::canonicalize(path).or_else(|_| std::path::absolute(path))?;
    text_of(&resolved)
}

fn text_of(path: &Path) -> Result<String, CliError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        CliError::message(format!(
            "the path {} is not UTF-8, so that no configuration can contain it",
            path.display()
        ))
    })
}

/// The server as an entry of one client.
#[derive(Debug)]
struct Server<'a> {
    client: &'static McpClient,
    name: &'a str,
    program: &'a str,
    arguments: &'a [String],
}

impl Server<'_> {
    fn print(&self, file: &Path) -> Result<ExitCode, CliError> {
        let client = self.client;
        let entry = client.entry(self.program, self.arguments);
        let block = mcp_config::block(client.format, client.servers, self.name, &entry)
            .map_err(CliError::message)?;
        let mut text = String::new();
        let command = client.command_line(self.name, self.program, self.arguments);
        if let Some(command) = command {
            text.push_str(&format!("# {}: run\n{command}\n\n# or add ", client.title));
        } else {
            text.push_str(&format!("# {}: add ", client.title));
        }
        text.push_str(&format!("this to {}\n{block}", file.display()));
        if !client.note.is_empty() {
            text.push_str(&format!("\n# {}\n", client.note));
        }
        print(&text)
    }

    fn write(&self, file: &Path) -> Result<ExitCode, CliError> {
        // A link stays a link, for those who keep their configuration elsewhere.
        let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let before = read(file)?;
        let client = self.client;
        let entry = client.entry(self.program, self.arguments);
        let text = before.as_deref().unwrap_or_default();
        let after = mcp_config::with_server(client.format, text, client.servers, self.name, &entry)
            .map_err(|why| {
                CliError::message(format!("{}: {why}; nothing was written", file.display()))
            })?;
        if before.as_deref() == Some(after.as_str()) {
            return print(&format!("{} has this server already.\n", file.display()));
        }
        let name = file.display().to_string();
        let diff = TextDiff::from_lines(text, &after);
        let diff = diff.unified_diff().header(&name, &name).to_string();
        print(&diff)?;
        replace(file, before.as_deref(), &after)?;
        let note = match client.note {
            "" => String::new(),
            note => format!("{note}\n"),
        };
        print(&format!("Written to {name}.\n{note}"))
    }
}

/// The file's text; none if it does not exist.
fn read(file: &Path) -> Result<Option<String>, CliError> {
    let problem = |why: String| CliError::message(format!("{}: {why}", file.display()));
    let metadata = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(|error| problem(format!("failed to read it: {error}")))?,
    };
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(problem(format!(
            "expected a file of at most {MAX_BYTES} bytes; nothing was written"
        )));
    }
    let bytes = fs::read(file).map_err(|error| problem(format!("failed to read it: {error}")))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| problem("expected UTF-8; nothing was written".to_owned()))?;
    Ok(Some(text))
}

/// Replaces the file at once, so that a client never reads half of it.
fn replace(file: &Path, before: Option<&str>, after: &str) -> Result<(), CliError> {
    let problem = |error: std::io::Error| {
        CliError::message(format!("failed to write {}: {error}", file.display()))
    };
    let folder = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    fs::create_dir_all(&folder).map_err(problem)?;
    let mut new = NamedTempFile::new_in(&folder).map_err(problem)?;
    new.write_all(after.as_bytes()).map_err(problem)?;
    if let Ok(metadata) = fs::metadata(file) {
        new.as_file()
            .set_permissions(metadata.permissions())
            .map_err(problem)?;
    }
    new.as_file().sync_all().map_err(problem)?;
    // The client itself may have written meanwhile.
    if read(file)?.as_deref() != before {
        return Err(CliError::message(format!(
            "{} was changed meanwhile; nothing was written, try again",
            file.display()
        )));
    }
    new.persist(file).map_err(|error| problem(error.error))?;
    Ok(())
}

fn print(text: &str) -> Result<ExitCode, CliError> {
    input::write_text(text)?;
    Ok(ExitCode::SUCCESS)
}
