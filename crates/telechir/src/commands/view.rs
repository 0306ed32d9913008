//! `view`: the live page for the sessions of this user, served on loopback until it is stopped.

use std::process::ExitCode;

use telechir_host::tokens::Role;

use crate::args::ViewArguments;
use crate::error::CliError;
use crate::input::write_text;
use crate::live_page::{LivePage, PageOptions};
use crate::recording_folder::ViewedRecordings;
use crate::session::{Stopped, until_stopped};
use crate::session_host;

pub(crate) async fn view(arguments: ViewArguments) -> Result<ExitCode, CliError> {
    if let Some(name) = &arguments.session {
        let paths = session_host::paths(name)?;
        let found = telechir_host::find(&paths).await;
        if !matches!(found, Ok(telechir_host::Probe::Alive(_))) {
            return Err(CliError::message(format!(
                "no session named {name} is open; run `telechir sessions list`"
            )));
        }
    }
    let recordings = ViewedRecordings::default();
    let recording = arguments.recording.as_deref();
    let recording = recording.map(|folder| recordings.add(folder)).transpose()?;
    let session = arguments.session.map(|name| format!("&session={name}"));
    let recording = recording.map(|id| format!("&recording={}", percent_encoded(&id)));
    let page = LivePage::open(PageOptions {
        listen: arguments.listen,
        token_file: arguments.token_file.as_deref(),
        role: match arguments.read_only {
            true => Role::Viewer,
            false => Role::Operator,
        },
        shows: session.or(recording).unwrap_or_default(),
        recordings,
    });
    let page = page.await?;
    write_text(&format!("{}\n", page.url))?;
    match until_stopped(page.serve()).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Stopped(number)) => Ok(ExitCode::from(128 + number)),
    }
}

/// A text as a value in an address (RFC 3986, 2.1).
fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encoded).collect()
}
