//! Keeps all traffic of one Chromium to the session's egress proxy.

use std::io;
use std::path::{Path, PathBuf};

use telechir_egress::{Admission, Egress, Serving};
use telechir_process::confinement::{NetworkNamespace, WaitingProgram};
use telechir_process::{Identity, Spawn};
use tokio::net::TcpListener;

use super::policies;
use super::profile::ProfileDir;
use crate::emulation::HttpCredentials;
use crate::options::{self, Options, Surface};

/// Folders with sockets of resolvers and other services of the machine: systemd-resolved, Avahi,
/// nscd, D-Bus and SSSD answer from any network namespace.
const SERVICE_FOLDERS: [&str; 2] = ["/run", "/var/lib/sss"];

/// What programs need of such a folder: NixOS keeps programs and graphics drivers there.
const PROGRAM_FOLDERS: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// How a Chromium that is about to start reaches the network.
#[derive(Debug)]
pub(super) enum Network {
    /// Without limits, or through somebody else's proxy.
    Open(Option<String>),
    /// In a namespace whose loopback interface has the egress proxy alone.
    Namespace { egress: Egress, policies: PathBuf },
    /// In the machine's namespace, through a port there that serves its user only.
    Port { proxy: String, serving: Serving },
}

/// The proxy of a running browser; it is served until this is dropped.
#[derive(Debug)]
pub(crate) struct ServedProxy {
    _serving: Option<Serving>,
}

impl Network {
    /// In a namespace of its own. Policies for Chromium are written to its private folder.
    pub(super) fn in_namespace(
        egress: &Egress,
        program: &Path,
        profile: &ProfileDir,
        credentials: &[HttpCredentials],
    ) -> io::Result<Self> {
        let policies = policies::write(program, &profile.folder(), credentials)?;
        Ok(Self::Namespace {
            egress: egress.clone(),
            policies,
        })
    }

    /// In the machine's namespace. The proxy serves the browser's user only: the session's user
    /// runs no other programs, and whoever can run programs as that user needs no proxy.
    pub(super) async fn on_a_port(options: &Options) -> io::Result<Self> {
        let Some(egress) = &options.egress else {
            return Ok(Self::Open(options.proxy.clone()));
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = format!("http://{}", listener.local_addr()?);
        let user = options.identity.unwrap_or_else(Identity::current).uid;
        let serving = egress.serve(listener, Admission::User(user));
        Ok(Self::Port { proxy, serving })
    }

    /// The URL of the proxy, as Chromium sees it.
    pub(super) fn proxy(&self) -> Option<String> {
        match self {
            Self::Open(proxy) => proxy.clone(),
            Self::Namespace { .. } => Some(Egress::proxy_inside()),
            Self::Port { proxy, .. } => Some(proxy.clone()),
        }
    }
}

impl ServedProxy {
    /// For a browser that has been started and has no namespace to wait for.
    pub(super) fn of(network: Network) -> Self {
        let _serving = match network {
            Network::Port { serving, .. } => Some(serving),
            Network::Open(_) | Network::Namespace { .. } => None,
        };
        Self { _serving }
    }

    /// Serves the namespace of a waiting browser, and lets it start.
    pub(super) async fn inside(
        egress: &Egress,
        waiting: WaitingProgram,
        identity: Option<Identity>,
    ) -> Result<Self, String> {
        let process = waiting.ready().await.map_err(|error| error.to_string())?;
        let served = egress.serve_inside(process, identity);
        let serving = served.map_err(|error| format!("failed to listen inside: {error}"))?;
        waiting.start().map_err(|error| error.to_string())?;
        Ok(Self {
            _serving: Some(serving),
        })
    }
}

/// Starts a browser in a namespace of its own, where it waits; an error is a reason.
pub(super) fn wrap(
    spawn: Spawn,
    program: &Path,
    policies: &Path,
    surface: &mut Surface,
    options: &Options,
) -> Result<(Spawn, WaitingProgram), String> {
    let mut visible: Vec<PathBuf> = PROGRAM_FOLDERS.iter().map(PathBuf::from).collect();
    visible.extend([options.temp_dir.clone(), program.to_owned()]);
    if let options::Profile::Persistent(profile) = &options.profile {
        visible.push(profile.clone());
    }
    if let Surface::Window(screen) = surface {
        let values = screen.environment();
        visible.extend(values.into_iter().map(|(_, value)| PathBuf::from(value)));
    }
    let visible: Vec<&Path> = visible.iter().map(PathBuf::as_path).collect();
    let mut namespace = NetworkNamespace::new().map_err(|error| error.to_string())?;
    for folder in SERVICE_FOLDERS {
        namespace = namespace.without_folder(Path::new(folder), &visible);
    }
    let at = policies::folder(program);
    let namespace = namespace.with_folder(policies, Path::new(at));
    let namespace =
        namespace.map_err(|error| format!("failed to show its policies in {at}: {error}"))?;
    let wrapped = namespace.wrap(spawn);
    wrapped.map_err(|error| format!("failed to create a pipe: {error}"))
}
