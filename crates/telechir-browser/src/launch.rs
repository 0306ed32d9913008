//! Starts Chromium with a profile and a pipe for CDP.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::json;
use telechir_device::DeviceError;
use telechir_egress::Egress;
use telechir_process::confinement::explain_bwrap_error;
use telechir_process::{Spawn, Stdio, is_root};
use tokio::time::timeout;
use tracing::warn;

use crate::attachment::Reachable;
use crate::client::{CdpClient, ClientTasks, Transport};
use crate::error::CdpError;
use crate::event_router::{EventRouter, TabSource};
use crate::memory::MemoryLimit;
use crate::options::{self, ChromiumSandbox, Options, OwnNetwork, Surface};
use crate::setup::Setup;
use crate::tab_registry::TabRegistry;

mod flags;
mod network;
mod policies;
mod process;
mod profile;
mod stderr;

use network::{Network, ServedProxy};
use process::ChromiumProcess;
use profile::ProfileDir;
use stderr::Tail;

/// Where distributions install Chromium's headless shell: the same engine without windows, faster
/// to start and with less memory per page.
const HEADLESS_SHELL_PATHS: [&str; 3] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
    "/usr/bin/chromium-headless-shell",
];
/// Substrings of the names of such programs.
const HEADLESS_SHELL_NAMES: [&str; 2] = ["headless-shell", "headless_shell"];
/// Where distributions install Chromium. The programs come before wrappers that add flags.
const CHROMIUM_PATHS: [&str; 9] = [
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/run/current-system/sw/bin/chromium",
];
/// A search path without programs: links such as `mailto:` would start one outside the sandbox.
const NO_PROGRAMS_PATH: &str = "/nonexistent";
/// A cold start on a loaded machine takes seconds.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The Chromium behind a browser, by ownership.
#[derive(Debug)]
pub(crate) enum Chromium {
    /// Started for this browser; terminated with it.
    Started {
        process: ChromiumProcess,
        _tasks: ClientTasks,
        _proxy: ServedProxy,
    },
    /// Somebody else's, for the duration of the connection.
    Attached {
        _tasks: ClientTasks,
        /// How to connect again.
        attachment: Box<Reachable>,
    },
    /// Owned by another browser.
    Shared,
}

impl Chromium {
    /// The memory limit, if telechir sets one.
    pub(crate) const fn memory(&self) -> Option<&MemoryLimit> {
        match self {
            Self::Started { process, .. } => Some(process.memory()),
            Self::Attached { .. } | Self::Shared => None,
        }
    }
}

/// A Chromium that answers CDP commands.
#[derive(Debug)]
pub(crate) struct LaunchedChromium {
    pub(crate) client: CdpClient,
    pub(crate) router: Arc<EventRouter>,
    pub(crate) registry: Arc<TabRegistry>,
    pub(crate) setup: Setup,
    /// Chromium's own user agent.
    pub(crate) agent: Arc<str>,
    pub(crate) chromium: Chromium,
    /// Why it shares the machine's network namespace, if it has an egress proxy and does.
    pub(crate) shares_network: Option<String>,
}

/// Starts Chromium and waits until it answers.
pub(crate) async fn launch(
    surface: &mut Surface,
    options: &Options,
) -> Result<LaunchedChromium, DeviceError> {
    let program = find(surface, options)?;
    if is_root() && options.identity.is_none_or(|identity| identity.uid == 0) {
        return Err(unavailable(
            "it must not run as root; configure an unprivileged user",
        ));
    }
    if options.sandbox == ChromiumSandbox::Off {
        warn!("Chromium runs without its sandbox, as configured");
    }
    let is_headless_shell = is_headless_shell(&program);
    if is_headless_shell && matches!(surface, Surface::Window(_)) {
        return Err(unavailable(format!(
            "{} cannot open windows",
            program.display()
        )));
    }
    let shares_network = match (&options.egress, options.own_network) {
        (Some(egress), OwnNetwork::IfPossible | OwnNetwork::Required) => {
            match start_in_namespace(&program, surface, options, egress).await? {
                Ok(launched) => return Ok(launched),
                Err(reason) if options.own_network == OwnNetwork::Required => {
                    return Err(unavailable(format!("isolate its network: {reason}")));
                }
                Err(reason) => {
                    warn!(
                        reason,
                        "Chromium has no network namespace of its own: only its flags send its \
                         requests through the proxy, and it may ask whether to open a program"
                    );
                    Some(reason)
                }
            }
        }
        (Some(_), OwnNetwork::Off) => Some("it is configured so".to_owned()),
        (None, _) => None,
    };
    let profile = create_profile(options)?;
    let network = Network::on_a_port(options)
        .await
        .map_err(|error| unavailable(format!("open its proxy port: {error}")))?;
    let launched = start(&program, surface, options, profile, network).await;
    let launched = launched.map_err(|failed| unavailable(failed.to_string()))?;
    Ok(LaunchedChromium {
        shares_network,
        ..launched
    })
}

/// Starts Chromium in a network namespace of its own; the inner error is the reason why this machine
/// has none for it.
async fn start_in_namespace(
    program: &Path,
    surface: &mut Surface,
    options: &Options,
    egress: &Egress,
) -> Result<Result<LaunchedChromium, String>, DeviceError> {
    let profile = create_profile(options)?;
    let network = Network::in_namespace(egress, program, &profile, &options.emulation.credentials)
        .map_err(|error| unavailable(format!("write its policies: {error}")))?;
    match start(program, surface, options, profile, network).await {
        Ok(launched) => Ok(Ok(launched)),
        Err(failed) => match failed.namespace_failure() {
            Some(reason) => Ok(Err(reason)),
            None => Err(unavailable(failed.to_string())),
        },
    }
}

fn create_profile(options: &Options) -> Result<ProfileDir, DeviceError> {
    ProfileDir::create(options)
        .map_err(|error| unavailable(format!("create its profile folder: {error}")))
}

/// Why Chromium did not start.
#[derive(Debug, thiserror::Error)]
enum StartFailure {
    /// Its namespace could not be created, or served.
    #[error("isolate its network: {why}{}", suffix(stderr))]
    Namespace { why: String, stderr: String },
    /// It did not answer.
    #[error("{why}{}", suffix(stderr))]
    Chromium { why: String, stderr: String },
}

fn suffix(stderr: &str) -> String {
    match stderr {
        "" => String::new(),
        stderr => format!("; stderr: {stderr}"),
    }
}

impl StartFailure {
    fn without_stderr(why: impl Into<String>) -> Self {
        Self::Chromium {
            why: why.into(),
            stderr: String::new(),
        }
    }

    /// The reason, if Chromium might start in the machine's namespace.
    fn namespace_failure(&self) -> Option<String> {
        match self {
            Self::Namespace { why, stderr } if stderr.contains("bwrap: ") => {
                Some(format!("{why}: {}", explain_bwrap_error(stderr)))
            }
            Self::Namespace { .. } => Some(self.to_string()),
            // Where a program in a namespace may not create another one, Chromium's sandbox cannot
            // start.
            Self::Chromium { stderr, .. } => stderr.contains("sandbox").then(|| self.to_string()),
        }
    }
}

/// Starts Chromium with a profile and waits until it answers.
async fn start(
    program: &Path,
    surface: &mut Surface,
    options: &Options,
    profile: ProfileDir,
    network: Network,
) -> Result<LaunchedChromium, StartFailure> {
    let failed = StartFailure::without_stderr;
    let setup = Setup::for_surface(surface, options, is_headless_shell(program))
        .map_err(|error| failed(chain(&error)))?;
    let ((chromium_input, output), (input, chromium_output)) = pipes().map_err(failed)?;
    let flags = flags::of(surface, options, &setup, network.proxy().as_deref());
    let spawn = command(program, flags, surface, options, &profile)
        .fd(3, chromium_input)
        .fd(4, chromium_output);
    let group = MemoryLimit::group(options);
    let spawn = spawn.cgroup(&group);
    let (spawn, waiting) = match &network {
        Network::Namespace { policies, .. } => {
            let wrapped = network::wrap(spawn, program, policies, surface, options);
            let (spawn, waiting) = wrapped.map_err(|why| StartFailure::Namespace {
                why,
                stderr: String::new(),
            })?;
            (spawn, Some(waiting))
        }
        Network::Open(_) | Network::Port { .. } => (spawn, None),
    };
    let mut child = spawn.spawn().await.map_err(|error| failed(chain(&error)))?;
    let memory = MemoryLimit::of(group, child.pid());
    let tail = Tail::follow(child.take_stderr(), memory.clone());
    let proxy = match (network, waiting) {
        (Network::Namespace { egress, .. }, Some(waiting)) => {
            let inside = ServedProxy::inside(&egress, waiting, options.identity);
            match timeout(START_TIMEOUT, inside).await {
                Ok(Ok(proxy)) => proxy,
                Ok(Err(why)) => {
                    let stderr = tail.text().await;
                    return Err(StartFailure::Namespace { why, stderr });
                }
                Err(_) => return Err(failed("bubblewrap did not answer".to_owned())),
            }
        }
        (network, _) => ServedProxy::of(network),
    };

    let registry = Arc::new(TabRegistry::new(setup.clone()).with_memory(Some(memory.clone())));
    let router = Arc::new(EventRouter::new(TabSource::AutoAttach));
    router.register(None, &registry);
    let events = Arc::clone(&router);
    let transport = Transport::Pipes { input, output };
    let (client, tasks) = CdpClient::start(transport, move |client, event| {
        events.dispatch(client, &event)
    })
    .map_err(|error| failed(format!("open its pipe: {error}")))?;
    let process = ChromiumProcess::start(child, profile, memory, client.clone());

    let agent = match handshake(&client).await {
        Ok(agent) => agent,
        Err(error) => {
            return Err(StartFailure::Chromium {
                why: error.to_string(),
                stderr: tail.text().await,
            });
        }
    };
    Ok(LaunchedChromium {
        client,
        router,
        registry,
        setup,
        agent,
        chromium: Chromium::Started {
            process,
            _tasks: tasks,
            _proxy: proxy,
        },
        shares_network: None,
    })
}

/// The path of Chromium's headless shell, if installed. It is used without a window and without a
/// persistent profile.
pub fn headless_shell_program() -> Option<PathBuf> {
    first_of(&HEADLESS_SHELL_PATHS)
}

fn first_of(paths: &[&str]) -> Option<PathBuf> {
    let mut paths = paths.iter().map(PathBuf::from);
    paths.find(|path| path.is_file())
}

/// Whether a program is Chromium's headless shell.
fn is_headless_shell(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| HEADLESS_SHELL_NAMES.iter().any(|part| name.contains(part)))
}

/// The first Chromium program found for this surface.
fn find(surface: &Surface, options: &Options) -> Result<PathBuf, DeviceError> {
    let is_fresh = options.profile == options::Profile::Fresh;
    let shell = match surface {
        // A persistent profile may be used with a window later: one program for both.
        Surface::Headless(_) if is_fresh => headless_shell_program(),
        Surface::Headless(_) | Surface::Window(_) => None,
    };
    match &options.program {
        Some(program) if program.is_file() => Ok(program.clone()),
        Some(program) => Err(unavailable(format!(
            "no such program: {}",
            program.display()
        ))),
        None => shell
            .or_else(|| first_of(&CHROMIUM_PATHS))
            .ok_or_else(|| unavailable("it was not found; install the package `chromium`")),
    }
}

type Pipe = (OwnedFd, OwnedFd);

fn pipes() -> Result<(Pipe, Pipe), String> {
    let make = || pipe_with(PipeFlags::CLOEXEC).map_err(|error| format!("create a pipe: {error}"));
    Ok((make()?, make()?))
}

/// The command line and environment of Chromium, without its pipe and its limits.
fn command(
    program: &Path,
    flags: Vec<String>,
    // Exclusive: a shared reference to a screen is not `Send`.
    surface: &mut Surface,
    options: &Options,
    profile: &ProfileDir,
) -> Spawn {
    let search_path = if is_script(program) {
        "/usr/local/bin:/usr/bin:/bin"
    } else {
        NO_PROGRAMS_PATH
    };
    let mut spawn = Spawn::new(program)
        .args(flags)
        .args(profile.flags())
        .arg("about:blank")
        .envs(profile.environment())
        .env("PATH", search_path)
        .env("LANG", "C.UTF-8")
        .envs(options.emulation.environment())
        // Without this, Chromium looks for a D-Bus session bus, or starts one.
        .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
        // Without these, an info bar complains about missing API keys.
        .envs(
            [
                "GOOGLE_API_KEY",
                "GOOGLE_DEFAULT_CLIENT_ID",
                "GOOGLE_DEFAULT_CLIENT_SECRET",
            ]
            .map(|name| (name, "no")),
        )
        .cwd(profile.folder())
        .identity(options.identity)
        .umask(0o077)
        .stderr(Stdio::Piped);
    if let Surface::Window(screen) = surface {
        spawn = spawn.envs(screen.environment());
    }
    if profile.is_persistent() {
        spawn = spawn.graceful();
    }
    spawn
}

/// A wrapper script needs the search path.
fn is_script(program: &Path) -> bool {
    let mut prefix = [0; 2];
    let read = File::open(program).and_then(|mut file| file.read_exact(&mut prefix));
    read.is_ok() && prefix == *b"#!"
}

/// Enables events and automatic attachment; returns Chromium's user agent.
async fn handshake(client: &CdpClient) -> Result<Arc<str>, CdpError> {
    let pages = json!([{ "type": "page", "exclude": false }, { "exclude": true }]);
    let version = client
        .call(None, "Browser.getVersion", json!({}), START_TIMEOUT)
        .await?;
    client
        .call(
            None,
            "Target.setDiscoverTargets",
            json!({ "discover": true, "filter": pages }),
            START_TIMEOUT,
        )
        .await?;
    client
        .call(
            None,
            "Browser.setDownloadBehavior",
            json!({ "behavior": "deny", "eventsEnabled": true }),
            START_TIMEOUT,
        )
        .await?;
    let attach = json!({
        "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pages,
    });
    client
        .call(None, "Target.setAutoAttach", attach, START_TIMEOUT)
        .await?;
    Ok(version["userAgent"].as_str().unwrap_or_default().into())
}

fn unavailable(message: impl Into<String>) -> DeviceError {
    DeviceError::Unavailable {
        what: "Chromium",
        message: message.into(),
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
