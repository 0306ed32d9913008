//! The live page on loopback that a command serves: its token, its ticket and its address.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use telechir_host::SessionPaths;
use telechir_host::tokens::{BearerToken, Role, TokenError, TokenFile};
use telechir_server::http::{
    HttpSettings, Listener, McpEndpoint, OpenSessionLimits, SessionLauncher, SessionOptions,
    Shutdown, ViewTickets, serve as serve_http,
};
use tokio::task::{AbortHandle, spawn};

use crate::args::ListenAddress;
use crate::call_approver::{OneCall, SessionVisibility};
use crate::commands::serve::{MAX_IDLE_SECONDS, address, listen};
use crate::commands::tokens::token_file;
use crate::error::CliError;
use crate::log::print_note;
use crate::recording_folder::ViewedRecordings;
use crate::socket_folder::folder;

/// The name of the tokens that pages use; the process id follows.
const TOKEN_NAME: &str = "view-";

/// What a page may do, and what it shows.
#[derive(Debug)]
pub(crate) struct PageOptions<'a> {
    pub(crate) listen: ListenAddress,
    /// The file with the page's token; absent for the user's own.
    pub(crate) token_file: Option<&'a Path>,
    pub(crate) role: Role,
    /// The member of the address that names what is shown first, such as `&session=work`.
    pub(crate) shows: String,
    pub(crate) recordings: ViewedRecordings,
}

impl PageOptions<'_> {
    /// The page of a session that a command runs, on any port.
    pub(crate) fn of_session(role: Role, session: &str) -> Self {
        PageOptions {
            listen: ListenAddress::Tcp(([127, 0, 0, 1], 0).into()),
            token_file: None,
            role,
            shows: format!("&session={session}"),
            recordings: ViewedRecordings::default(),
        }
    }
}

/// The live page of a command, if there is to be one.
///
/// # Errors
/// As [`serve_beside_command`].
pub(crate) async fn page_of(caller: OneCall) -> Result<Option<PageInBackground>, CliError> {
    match caller.visibility {
        SessionVisibility::ForPage => serve_beside_command(&caller.name()).await.map(Some),
        SessionVisibility::WithQuestions | SessionVisibility::IfPossible => Ok(None),
    }
}

/// Serves the live page of a command's session. What is no terminal may be read by another program, which
/// must not answer questions.
///
/// # Errors
/// If the page cannot listen, or have a token.
pub(crate) async fn serve_beside_command(session: &str) -> Result<PageInBackground, CliError> {
    let is_terminal = io::stderr().is_terminal();
    let role = match is_terminal {
        true => Role::Operator,
        false => Role::Viewer,
    };
    let page = LivePage::open(PageOptions::of_session(role, session)).await?;
    print_note(&match is_terminal {
        true => format!("live page: {}", page.url),
        false => format!(
            "live page, read-only: {}; to answer questions and take over, run on a terminal: telechir \
             view {session}",
            page.url
        ),
    });
    Ok(page.serve_beside())
}

/// A page that listens. Dropping it revokes its token.
pub(crate) struct LivePage {
    /// Opens the page once, within a minute.
    pub(crate) url: String,
    listener: Listener,
    settings: HttpSettings,
    token: PageToken,
}

impl LivePage {
    /// Listens, and creates a token and a ticket.
    ///
    /// # Errors
    /// If the address is taken, or the tokens cannot be changed.
    pub(crate) async fn open(options: PageOptions<'_>) -> Result<Self, CliError> {
        let listener = listen(&options.listen, &[], None).await?;
        let (address, hosts) = address(&listener, &options.listen, &[])?;
        let tokens = token_file(options.token_file)?;
        let token = PageToken::create(tokens.clone(), options.role)?;
        let tickets = ViewTickets::default();
        let ticket = tickets.create(token.bearer.clone());
        let ticket = ticket.map_err(CliError::message)?;
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
            recordings: Some(Arc::new(options.recordings)),
            mcp_endpoint: McpEndpoint::new,
            tickets,
            cdp_gateway: false,
            is_https: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Ok(Self {
            url: format!("{address}/#ticket={ticket}{}", options.shows),
            listener,
            settings,
            token,
        })
    }

    /// Serves the page until this is dropped.
    pub(crate) async fn serve(self) {
        let _revoked_on_drop = self.token;
        serve(self.listener, self.settings).await;
    }

    /// Serves the page beside other work, until what this returns is dropped. Must be called inside the
    /// async runtime.
    pub(crate) fn serve_beside(self) -> PageInBackground {
        let serving = spawn(serve(self.listener, self.settings));
        PageInBackground {
            serving: serving.abort_handle(),
            _revoked_on_drop: self.token,
        }
    }
}

/// A page that is served; dropping it ends the page.
pub(crate) struct PageInBackground {
    serving: AbortHandle,
    _revoked_on_drop: PageToken,
}

impl Drop for PageInBackground {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: Listener, settings: HttpSettings) {
    let shutdown = Shutdown {
        grace: Duration::ZERO,
    };
    let launcher = Arc::new(NoLauncher);
    serve_http(
        listener,
        settings,
        launcher,
        std::future::pending(),
        shutdown,
    )
    .await;
}

/// The process whose page has the token with this name; none for a token that a user created, because
/// `telechir tokens new` refuses such names.
pub(crate) fn process_of(name: &str) -> Option<u32> {
    name.strip_prefix(TOKEN_NAME)?.parse().ok()
}

/// The token that the page's requests stand for; dropping it revokes it.
struct PageToken {
    file: TokenFile,
    id: String,
    bearer: BearerToken,
}

impl PageToken {
    fn create(file: TokenFile, role: Role) -> Result<Self, CliError> {
        let failed = |e: TokenError| CliError::message(e.to_string());
        // Those of processes that were killed.
        for left in file.list().map_err(failed)? {
            let is_gone = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
            if process_of(&left.name).is_some_and(is_gone) {
                file.revoke(&left.id).map_err(failed)?;
            }
        }
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
        Err("a live page opens no sessions; `telechir serve` does".to_owned())
    }
}
