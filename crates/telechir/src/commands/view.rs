//! `view`: the live page for the sessions of this user, served on loopback until it is stopped.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use telechir_host::SessionPaths;
use telechir_host::tokens::{Role, TokenFile};
use telechir_server::http::{
    HttpSettings, McpEndpoint, OpenSessionLimits, SessionLauncher, SessionOptions, Shutdown,
    ViewTickets, serve as serve_http,
};

use super::serve::{MAX_IDLE_SECONDS, address, listen};
use super::tokens::token_file;
use crate::args::ViewArguments;
use crate::error::CliError;
use crate::input::write_text;
use crate::session::{Stopped, until_stopped};
use crate::session_host;
use crate::socket_folder::folder;

/// The name of the tokens that pages use; the process id follows.
const TOKEN_NAME: &str = "view-";

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
    let listener = listen(&arguments.listen, &[], None).await?;
    let (address, hosts) = address(&listener, &arguments.listen, &[])?;
    let tokens = token_file(arguments.token_file.as_deref())?;
    let token = PageToken::create(tokens.clone(), arguments.read_only)?;
    let tickets = ViewTickets::default();
    let ticket = tickets
        .create(token.bearer.clone())
        .map_err(CliError::message)?;
    let session = arguments.session.as_ref();
    let session = session.map(|name| format!("&session={name}"));
    write_text(&format!(
        "{address}/#ticket={ticket}{}\n",
        session.unwrap_or_default()
    ))?;
    let settings = HttpSettings {
        hosts,
        tokens,
        sockets: folder()?,
        limits: OpenSessionLimits {
            max: 0,
            max_per_owner: 0,
            min_free_bytes: 0,
            max_idle_seconds: MAX_IDLE_SECONDS,
        },
        catalog: None,
        recordings: None,
        mcp_endpoint: McpEndpoint::new,
        tickets,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let served = serve_http(
        listener,
        settings,
        Arc::new(NoLauncher),
        std::future::pending(),
        Shutdown {
            grace: Duration::ZERO,
        },
    );
    let stopped = until_stopped(served).await;
    drop(token);
    match stopped {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Stopped(number)) => Ok(ExitCode::from(128 + number)),
    }
}

/// The process whose page has the token with this name; none for a token that a user created, because
/// `telechir tokens new` refuses such names.
pub(super) fn process_of(name: &str) -> Option<u32> {
    name.strip_prefix(TOKEN_NAME)?.parse().ok()
}

/// The token that the page's requests stand for; dropping it revokes it.
struct PageToken {
    file: TokenFile,
    id: String,
    bearer: telechir_host::tokens::BearerToken,
}

impl PageToken {
    fn create(file: TokenFile, is_read_only: bool) -> Result<Self, CliError> {
        let failed = |e: telechir_host::tokens::TokenError| CliError::message(e.to_string());
        // Those of processes that were killed.
        for left in file.list().map_err(failed)? {
            let is_gone = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
            if process_of(&left.name).is_some_and(is_gone) {
                file.revoke(&left.id).map_err(failed)?;
            }
        }
        let role = match is_read_only {
            true => Role::Viewer,
            false => Role::Operator,
        };
        let name = format!("{TOKEN_NAME}{}", std::process::id());
        let (record, bearer) = file.create(role, &name).map_err(failed)?;
        Ok(Self {
            file,
            id: record.id,
            bearer,
        })
    }
}

impl Drop for PageToken {
    fn drop(&mut self) {
        if let Err(error) = self.file.revoke(&self.id) {
            tracing::warn!(%error, "the token of the live page was not revoked");
        }
    }
}

/// The page opens no sessions.
struct NoLauncher;

#[async_trait]
impl SessionLauncher for NoLauncher {
    fn devices(&self) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, _: &SessionOptions) -> Result<(), String> {
        Ok(())
    }

    async fn launch(&self, _: &SessionPaths, _: SessionOptions) -> Result<(), String> {
        Err("`telechir view` opens no sessions; `telechir serve` does".to_owned())
    }
}
