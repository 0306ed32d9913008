//! `view`: the live page for the sessions of this user, served on loopback until it is stopped.

use std::process::ExitCode;

use telechir_host::tokens::Role;
use url::form_urlencoded::byte_serialize;

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
    // The page reads it with `URLSearchParams`.
    let recording = recording.map(|id| {
        let encoded: String = byte_serialize(id.as_bytes()).collect();
        format!("&recording={encoded}")
    });
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
