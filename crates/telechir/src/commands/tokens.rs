//! `tokens`: creates, lists and revokes the tokens of the HTTP API.

use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use telechir_host::tokens::{TokenFile, TokenOptions, TokenRecord};

use super::sessions::duration;
use crate::args::{TokensArguments, TokensCommand};
use crate::env;
use crate::error::CliError;
use crate::input::{write_json, write_text};
use crate::live_page::process_of;

pub(crate) fn tokens(arguments: &TokensArguments) -> Result<ExitCode, CliError> {
    let file = token_file(arguments.token_file.as_deref())?;
    match &arguments.command {
        TokensCommand::New {
            role,
            name,
            expires_in,
        } => {
            if process_of(name).is_some() {
                return Err(CliError::message(format!(
                    "the name {name} is for a page of `telechir view`, which ends with its process; \
                     choose another one"
                )));
            }
            let options = TokenOptions {
                expires_in: *expires_in,
                session: None,
            };
            let (_, token) = file.create_with(*role, name, options).map_err(failed)?;
            write_text(&format!("{}\n", token.reveal()))?;
        }
        TokensCommand::Rotate {
            id,
            grace,
            expires_in,
        } => {
            let rotated = file.rotate(id, *grace, *expires_in).map_err(failed)?;
            let (_, token) = rotated.ok_or_else(|| unknown(id))?;
            write_text(&format!("{}\n", token.reveal()))?;
        }
        TokensCommand::List { json } => {
            let records = file.list().map_err(failed)?;
            match json {
                true => {
                    let rows: Vec<Value> = records.iter().map(row).collect();
                    write_json(&rows, true)?;
                }
                false => write_text(&table(&records))?,
            }
        }
        TokensCommand::Revoke { id } => {
            if !file.revoke(id).map_err(failed)? {
                return Err(unknown(id));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The file that a flag names, or the user's own.
pub(crate) fn token_file(given: Option<&Path>) -> Result<TokenFile, CliError> {
    let path = given.map(Path::to_owned).or_else(env::token_file);
    let path = path.ok_or_else(|| {
        CliError::message("no folder for tokens: set HOME or XDG_STATE_HOME, or pass --token-file")
    })?;
    let path = std::path::absolute(&path).unwrap_or(path);
    Ok(TokenFile::new(path))
}

fn unknown(id: &str) -> CliError {
    CliError::message(format!(
        "no token has the id {id}; run `telechir tokens list`"
    ))
}

fn failed(error: telechir_host::tokens::TokenError) -> CliError {
    CliError::message(error.to_string())
}

fn row(record: &TokenRecord) -> Value {
    json!({
        "id": record.id,
        "role": record.role.name(),
        "name": record.name,
        "created": record.created,
        "expires": record.expires,
        "session": record.session,
    })
}

fn table(records: &[TokenRecord]) -> String {
    if records.is_empty() {
        return "no tokens; create one: telechir tokens new agent\n".to_owned();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    let mut text = format!(
        "{:<12}  {:<8}  {:>10}  {:>10}  {}\n",
        "ID", "ROLE", "AGE", "EXPIRES IN", "NAME"
    );
    for record in records {
        let age = duration(now.saturating_sub(record.created));
        let end = match record.expires {
            None => "-".to_owned(),
            Some(end) if end <= now => "expired".to_owned(),
            Some(end) => duration(end - now),
        };
        let (id, role, name) = (&record.id, record.role.name(), &record.name);
        let session = record.session.as_ref();
        let session = session.map(|session| format!(" (session {session})"));
        let session = session.unwrap_or_default();
        text.push_str(&format!(
            "{id:<12}  {role:<8}  {age:>10}  {end:>10}  {name}{session}\n"
        ));
    }
    text
}
