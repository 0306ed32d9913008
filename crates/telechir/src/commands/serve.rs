//! `serve`: the HTTP API; its sessions live in session hosts.

pub(crate) mod check;

use std::fs::{File, Permissions};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use telechir_host::{SessionPaths, launch};
use telechir_server::http::{
    ContextStore, HttpSettings, Listener, McpEndpoint, OpenSessionLimits, RecordingStore,
    RemoteChoice, ServerTls, SessionLauncher, SessionOptions, Shutdown, ViewTickets,
    serve as serve_http,
};
use telechir_tools::{Capabilities, ToolCatalog, ToolSelection};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::tokens::token_file;
use crate::args::{
    DeviceArguments, ListenAddress, Monitors, ServeArguments, ServeCommand, ServeFlags,
};
use crate::context_store::Contexts;
use crate::env;
use crate::error::CliError;
use crate::log::print_note;
use crate::recording_folder::ServedRecordings;
use crate::remote;
use crate::secrets::Secrets;
use crate::session_config::GivenFlags;
use crate::session_host::{DEFAULT_IDLE_SECONDS, host_program};
use crate::socket_folder::folder;

pub(crate) async fn serve(arguments: ServeArguments) -> Result<ExitCode, CliError> {
    match arguments.command {
        Some(ServeCommand::Check(flags)) => check::report(&flags).await,
        None => run(arguments.flags).await,
    }
}

async fn run(flags: ServeFlags) -> Result<ExitCode, CliError> {
    check::flags(&flags)?;
    check::exposure(&flags)?;
    // A policy or a token that cannot be read must not be noticed with the first call.
    check::policy(&flags)?;
    let tokens = token_file(flags.token_file.as_deref())?;
    let known = tokens
        .list()
        .map_err(|e| CliError::message(e.to_string()))?;
    // Sessions get them from here, not from their environment.
    let secrets = remote::secrets_of(&flags.devices)?;
    remote::release_left_by_environment().await;
    let tls = tls(&flags)?;
    raise_open_files();
    let listener = listen(&flags.listen, &flags.behind_proxy, tls.clone()).await?;
    let (address, hosts) = address(&listener, &flags.listen, &flags.host)?;
    if known.is_empty() {
        print_note(
            "there are no tokens, so nobody can use the server; create one: telechir tokens new agent",
        );
    }
    for warning in check::warnings(&flags) {
        print_note(&warning);
    }
    print_note(&format!("serving the HTTP API on {address}"));
    let settings = HttpSettings {
        hosts,
        tokens: tokens.clone(),
        sockets: folder()?,
        limits: limits(&flags),
        catalog: catalog(&flags.devices),
        recordings: recordings(&flags)?,
        mcp_endpoint: McpEndpoint::new,
        tickets: ViewTickets::default(),
        cdp_gateway: flags.cdp_gateway,
        is_https: flags.tls_cert.is_some() || !flags.behind_proxy.is_empty(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let socket = match &flags.listen {
        ListenAddress::Unix(path) => Some(SocketFile::open(path)?),
        ListenAddress::Tcp(_) => None,
    };
    let shutdown = Shutdown {
        grace: Duration::from_secs(flags.shutdown_timeout),
    };
    let launcher = Arc::new(Launcher {
        flags: GivenFlags::new(&flags.devices, &flags.safety, flags.idle_timeout)?,
        contexts: contexts(&flags)?,
        secrets,
        arguments: flags,
        token_file: tokens.path().to_string_lossy().into_owned(),
    });
    let (stop, stopped) = oneshot::channel();
    let stopped = async {
        let _or_dropped = stopped.await;
    };
    let served = serve_http(listener, settings, launcher, stopped, shutdown);
    let number = until_signal(served, stop, tls).await?;
    if let Some(socket) = socket {
        socket.remove();
    }
    Ok(match number {
        0 => ExitCode::SUCCESS,
        number => ExitCode::from(128 + number),
    })
}

/// Lets this process open as many files as its streams need: each has two, a client's and a session's.
fn raise_open_files() {
    const OPEN_FILES: u64 = 8_192;
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit on open files was not raised");
    }
}

/// Serves until a signal. The first one ends the server when its requests have ended, the second at
/// once. A hang-up reads the certificate again, if there is one. Returns the number of the first signal.
async fn until_signal(
    served: impl Future<Output = ()>,
    stop: oneshot::Sender<()>,
    tls: Option<ServerTls>,
) -> Result<u8, CliError> {
    let mut served = pin!(served);
    let mut signals = Signals::new()?;
    let mut stop = Some(stop);
    let mut first = 0;
    loop {
        // Both arms are cancel-safe.
        tokio::select! {
            () = &mut served => return Ok(first),
            number = signals.next() => match (&tls, number) {
                (Some(tls), HANG_UP) => print_note(&match tls.reload() {
                    Ok(()) => "the certificate was read again".to_owned(),
                    Err(why) => format!("the earlier certificate stays in use: {why}"),
                }),
                (_, number) => match stop.take() {
                    Some(stop) => {
                        first = number;
                        print_note("stopping when running requests have ended; sessions go on");
                        let _or_ended = stop.send(());
                    }
                    None => return Ok(first),
                },
            },
        }
    }
}

/// The number of the signal that a closed terminal sends.
const HANG_UP: u8 = 1;

/// The signals that end a server.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Self, CliError> {
        let failed = |e: io::Error| CliError::message(format!("failed to catch signals: {e}"));
        let of = |kind: SignalKind| signal(kind).map_err(failed);
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hang_up: of(SignalKind::hangup())?,
        })
    }

    /// The number of the next signal. Cancel-safe.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
            _ = self.hang_up.recv() => HANG_UP,
        }
    }
}

fn tls(flags: &ServeFlags) -> Result<Option<ServerTls>, CliError> {
    let files = flags.tls_cert.as_ref().zip(flags.tls_key.as_ref());
    let loaded = files.map(|(cert, key)| ServerTls::load(cert, key));
    loaded.transpose().map_err(CliError::message)
}

fn limits(flags: &ServeFlags) -> OpenSessionLimits {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    OpenSessionLimits {
        max: count(flags.max_sessions),
        max_per_owner: flags.max_sessions_per_owner.map_or(usize::MAX, count),
        min_free_bytes: flags.min_free_memory.saturating_mul(1 << 20),
        max_idle_seconds: flags.max_idle_timeout.unwrap_or(MAX_IDLE_SECONDS),
    }
}

/// The longest time without a call: a year.
pub(crate) const MAX_IDLE_SECONDS: u64 = 31_536_000;

/// The folder with a recording for each session.
fn recordings(flags: &ServeFlags) -> Result<Option<Arc<dyn RecordingStore>>, CliError> {
    let Some(folder) = &flags.safety.record else {
        return Ok(None);
    };
    let folder = std::path::absolute(folder)?;
    Ok(Some(Arc::new(ServedRecordings(folder))))
}

/// The tools for clients of the Model Context Protocol; none if the devices have none.
fn catalog(devices: &DeviceArguments) -> Option<ToolCatalog> {
    let is_private = devices.desktop.as_deref().is_none_or(str::is_empty);
    let is_private = is_private && !devices.has_attached_browser();
    let has = Capabilities {
        desktop: devices.desktop.is_some(),
        browser: devices.browser.is_some(),
        shell: devices.shell.is_some(),
        model: false,
        screen: is_private.then(|| devices.screen_size()),
    };
    ToolCatalog::new(has, &ToolSelection::default()).ok()
}

/// Starts sessions with the flags of the server.
struct Launcher {
    flags: GivenFlags,
    /// None if sessions have no browser of their own.
    contexts: Option<Arc<Contexts>>,
    arguments: ServeFlags,
    token_file: String,
    /// The values of the variables that the flags name.
    secrets: Secrets,
}

#[async_trait]
impl SessionLauncher for Launcher {
    fn devices(&self) -> Vec<String> {
        self.arguments.devices.names()
    }

    fn check(&self, options: &SessionOptions) -> Result<(), String> {
        let monitors = monitors(options)?;
        self.check_record(options.record)?;
        if let Some(text) = &options.policy {
            let read = crate::policy::read_own(text);
            read.map_err(|error| format!("`policy`: {}", error.text()))?;
        }
        if let Some(choice) = &options.remote {
            self.chosen(options, monitors.as_ref(), choice)?;
        }
        Ok(())
    }

    fn contexts(&self) -> Option<Arc<dyn ContextStore>> {
        let contexts = self.contexts.clone()?;
        Some(contexts)
    }

    async fn launch(&self, paths: &SessionPaths, options: SessionOptions) -> Result<(), String> {
        let id = paths.name.to_string();
        let mut flags = self.flags.clone();
        flags.retain_devices(&options.devices);
        if let Some(monitors) = monitors(&options)? {
            flags.set("display", monitors.to_string().into());
        }
        if let Some(profile) = &options.profile {
            flags.set("profile", profile.as_str().into());
            flags.set("no_persist", false.into());
        }
        if let Some(choice) = &options.remote {
            let monitors = monitors(&options)?;
            for (member, value) in self.chosen(&options, monitors.as_ref(), choice)? {
                flags.set(member, value);
            }
        }
        if let Some(seconds) = options.idle_seconds {
            flags.set("idle_timeout", seconds.into());
        }
        if let Some(policy) = options.policy {
            flags.set("session_policy", policy.into());
        }
        let is_recorded = !self.arguments.record_on_request || options.record == Some(true);
        if !is_recorded {
            flags.set("record", Value::Null);
        } else if let Some(record) = &self.arguments.safety.record {
            // One session writes a recording.
            let record = std::path::absolute(record).map_err(|e| e.to_string())?;
            flags.set("record", record.join(&id).to_string_lossy().into());
        }
        // Calls are known again by their ids.
        flags.set("run", id.into());
        flags.set("token_file", Value::String(self.token_file.clone()));
        flags.set("http", options.http);
        let mut config = flags.into_config(DEFAULT_IDLE_SECONDS);
        self.secrets.add_to(&mut config);
        let program = host_program(paths, &self.arguments.devices.shell_env);
        let launched = launch(paths, program, &config).await;
        launched.map_err(|error| error.to_string())
    }
}

impl Launcher {
    /// Whether a client may decide so about the recording of its session.
    fn check_record(&self, wanted: Option<bool>) -> Result<(), String> {
        let is_possible = self.arguments.safety.record.is_some();
        match wanted {
            Some(true) if !is_possible => Err(
                "`record`: this server keeps no recordings; it was started without --record"
                    .to_owned(),
            ),
            Some(false) if is_possible && !self.arguments.record_on_request => Err(
                "`record`: this server records every session; it was started without \
                 --record-on-request"
                    .to_owned(),
            ),
            Some(_) | None => Ok(()),
        }
    }

    /// The flags of a session whose client chooses something of its browser at a service.
    fn chosen(
        &self,
        options: &SessionOptions,
        monitors: Option<&Monitors>,
        choice: &RemoteChoice,
    ) -> Result<Vec<(&'static str, Value)>, String> {
        if !options.devices.iter().any(|device| device == "browser") {
            return Err("`remote`: this session has no browser".to_owned());
        }
        let devices = &self.arguments.devices;
        let first = monitors.and_then(|monitors| monitors.sizes().first().copied());
        let size = first.unwrap_or_else(|| devices.browser_size());
        let chosen = devices.page.remote.chosen(choice, size);
        chosen.map_err(|why| format!("`remote`: {why}"))
    }
}

/// The contexts for sessions that start a browser.
fn contexts(flags: &ServeFlags) -> Result<Option<Arc<Contexts>>, CliError> {
    let page = &flags.devices.page;
    let is_started = flags.devices.browser.is_some()
        && page.attach.cdp.is_none()
        && page.remote.remote.is_none();
    is_started
        .then(|| Ok(Arc::new(Contexts::of(env::profiles()?))))
        .transpose()
}

fn monitors(options: &SessionOptions) -> Result<Option<Monitors>, String> {
    let monitors = options.display.as_deref().map(Monitors::parse);
    monitors
        .transpose()
        .map_err(|why| format!("`display`: {why}"))
}

pub(crate) async fn listen(
    listen: &ListenAddress,
    behind_proxy: &[IpAddr],
    tls: Option<ServerTls>,
) -> Result<Listener, CliError> {
    let failed =
        |what: &str, e: io::Error| CliError::message(format!("failed to listen on {what}: {e}"));
    match listen {
        ListenAddress::Tcp(address) => {
            let listener = TcpListener::bind(address).await;
            let listener = listener.map_err(|e| failed(&address.to_string(), e))?;
            Ok(Listener::Tcp {
                listener,
                proxies: behind_proxy.to_vec(),
                tls,
            })
        }
        ListenAddress::Unix(path) => {
            let listener = listen_on_socket(path).await;
            listener
                .map(Listener::Unix)
                .map_err(|e| failed(&path.display().to_string(), e))
        }
    }
}

/// The file of a socket on which a server listens.
struct SocketFile {
    path: PathBuf,
    /// While it is open, no other file has its inode.
    file: File,
}

impl SocketFile {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self {
            path: path.to_owned(),
            file: file.into(),
        })
    }

    /// Removes the file, unless the next server has put its own there.
    fn remove(self) {
        let is_own = || {
            let (own, found) = (
                self.file.metadata()?,
                std::fs::symlink_metadata(&self.path)?,
            );
            io::Result::Ok((own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        if is_own().unwrap_or(false) {
            let _best_effort = std::fs::remove_file(&self.path);
        }
    }
}

/// Listens on a socket with mode 0600; replaces the socket of a server that is gone.
async fn listen_on_socket(path: &Path) -> io::Result<UnixListener> {
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        if !metadata.file_type().is_socket() {
            return Err(io::Error::other("the file exists and is not a socket"));
        }
        if UnixStream::connect(path).await.is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        std::fs::remove_file(path)?;
    }
    let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default();
    // Nobody else connects before the mode is set: the socket is bound in a private folder.
    let private = tempfile::tempdir_in(folder.unwrap_or_else(|| Path::new(".")))?;
    let bound = private.path().join(name);
    let listener = UnixListener::bind(&bound)?;
    std::fs::set_permissions(&bound, Permissions::from_mode(0o600))?;
    std::fs::rename(&bound, path)?;
    Ok(listener)
}

/// The address for people, and the values of `Host` that are served.
pub(crate) fn address(
    listener: &Listener,
    listen: &ListenAddress,
    names: &[String],
) -> Result<(String, Vec<String>), CliError> {
    let mut hosts: Vec<String> = names.iter().map(|host| host.to_ascii_lowercase()).collect();
    let address = match listener {
        Listener::Tcp { listener, tls, .. } => {
            let address = listener
                .local_addr()
                .map_err(|e| CliError::message(format!("failed to read the address: {e}")))?;
            let (scheme, port) = match tls {
                Some(_) => ("https", 443),
                None => ("http", 80),
            };
            hosts.extend(own_hosts(address, port));
            format!("{scheme}://{address}")
        }
        Listener::Unix(_) => {
            hosts.push("localhost".to_owned());
            match listen {
                ListenAddress::Unix(path) => format!("unix:{}", path.display()),
                ListenAddress::Tcp(address) => address.to_string(),
            }
        }
    };
    Ok((address, hosts))
}

fn own_hosts(address: SocketAddr, default_port: u16) -> Vec<String> {
    let port = address.port();
    let mut names = vec![match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }];
    if address.ip().is_loopback() {
        names.push("localhost".to_owned());
    }
    let with_port = names.iter().map(|name| format!("{name}:{port}"));
    let without = names.iter().filter(|_| port == default_port).cloned();
    with_port.chain(without).collect()
}
