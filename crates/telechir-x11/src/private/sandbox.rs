//! Sandboxed programs of a display: what they can access, verified before they run.

use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{PidfdFlags, pidfd_open};
use telechir_device::DeviceError;
use telechir_egress::{Egress, Serving};
use telechir_process::confinement::{
    Confinement, ConfinementError, Protected, ResourceLimits, SandboxInfo, verify_inside,
    wait_for_exit,
};
use telechir_process::{Cgroup, Child, Identity, SpawnError, package_of};
use tokio::time::timeout;

use super::files;
use crate::address::socket_path;
use crate::startup::{self, causes, failed, first_line, pipe, unavailable, with_start_timeout};

/// System files for fonts, themes and settings, in addition to the base set of every sandbox. GIMP
/// does not start without the defaults of its package. Folders with policies, such as those of Firefox
/// and ImageMagick, are absent, since policies may contain secrets.
const SYSTEM_PATHS: [&str; 19] = [
    "/etc/X11",
    "/etc/dbus-1",
    "/etc/default/locale",
    "/etc/firefox-esr/firefox-esr.js",
    "/etc/fonts",
    "/etc/gimp",
    "/etc/gnome",
    "/etc/gtk-2.0",
    "/etc/gtk-3.0",
    "/etc/gtk-4.0",
    "/etc/libreoffice",
    "/etc/mailcap",
    "/etc/mime.types",
    "/etc/pango",
    "/etc/papersize",
    "/etc/timezone",
    "/etc/vim",
    "/etc/xdg",
    "/var/cache/fontconfig",
];
const READY_PIPE_FD: RawFd = Confinement::FIRST_FREE_FD;
const GO_FD: RawFd = READY_PIPE_FD + 1;
/// An extra descriptor passed to a program.
pub(super) const EXTRA_FD: RawFd = GO_FD + 1;
/// How long processes in the sandbox may take to disappear after a kill.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Descriptors passed to a program in addition to those of the sandbox.
#[derive(Debug)]
pub(super) enum InheritedFds {
    Nothing,
    /// Passed as [`EXTRA_FD`].
    Descriptor(OwnedFd),
    /// Becomes the standard error of the program.
    StandardError(OwnedFd),
}

/// What the programs of one display share.
#[derive(Debug)]
pub(super) struct LaunchContext<'a> {
    pub(super) identity: Option<Identity>,
    pub(super) number: u16,
    pub(super) folder: &'a Path,
    pub(super) workspace: &'a Path,
    /// Read-only files in the workspace; absent if the workspace is the home.
    pub(super) protected: Option<&'a Protected>,
    /// The cgroup that limits all programs together.
    pub(super) group: &'a Cgroup,
    pub(super) environment: &'a [(String, String)],
    pub(super) network: Option<&'a Egress>,
}

impl LaunchContext<'_> {
    /// Defines everything that a program on the display can access.
    fn confinement(&self) -> Result<Confinement, ConfinementError> {
        let path_of = |name: &str| self.folder.join(name);
        let mut confinement = Confinement::new(self.identity, &ResourceLimits::default())?;
        for path in SYSTEM_PATHS {
            confinement = confinement.read_only_where_present(path);
        }
        for name in files::ETC {
            confinement = confinement.read_only(path_of(name), Path::new("/etc").join(name));
        }
        for path in [
            socket_path(self.number),
            files::authority(self.folder),
            path_of("openbox.xml"),
        ] {
            confinement = confinement.read_only(&path, &path);
        }
        for path in [path_of("home"), path_of("run")] {
            confinement = confinement.writable(path);
        }
        if let Some(protected) = self.protected {
            confinement = confinement.workspace(protected);
        }
        let proxy = self.network.map(|_| Egress::environment());
        for (name, value) in self.environment.iter().chain(proxy.iter().flatten()) {
            confinement = confinement.env(name, value);
        }
        Ok(confinement.cwd(self.workspace))
    }

    /// Starts a program after verifying from outside that its sandbox holds.
    pub(super) async fn start(
        &self,
        program: &str,
        args: &[&str],
        inherited: InheritedFds,
    ) -> Result<SandboxedProgram, DeviceError> {
        let (ready_write, ready_read) = pipe()?;
        let (go_write, go_read) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map(|(read_end, write_end)| (write_end, read_end))
            .map_err(|errno| failed("create a pipe", &errno))?;
        let gate = gate(&inherited);
        let command = ["bash", "--noprofile", "--norc", "-c", &gate, program];
        let (mut spawn, info) = self
            .confinement()
            .map_err(|error| refused(&error))?
            .command(command.iter().chain(args))
            .map_err(|error| failed("create the sandbox of applications", &error))?;
        spawn = spawn
            .fd(READY_PIPE_FD, ready_write)
            .fd(GO_FD, go_read)
            .cgroup(self.group);
        if let InheritedFds::Descriptor(fd) | InheritedFds::StandardError(fd) = inherited {
            spawn = spawn.fd(EXTRA_FD, fd);
        }
        let child = startup::spawn(spawn).await?;
        let status = with_start_timeout("a sandboxed program", first_line(ready_read)).await?;
        match status.trim() {
            "ready" => {}
            "absent" => {
                let error = SpawnError::NotFound {
                    program: program.to_owned(),
                    package: package_of(program),
                };
                return Err(unavailable(&format!("failed to {}", causes(&error))));
            }
            _ => return Err(refused(&info.failure())),
        }
        let first = info.first_process();
        let first = first.ok_or_else(|| refused(&info.failure()))?;
        verify_inside(first).map_err(|error| refused(&error))?;
        info.verify_mounts(first).map_err(|error| refused(&error))?;
        if self.group.effective_limits().limits_totals() && !self.group.contains(first) {
            tracing::warn!(program, "a program is outside the cgroup that limits it");
        }
        let serving = self
            .network
            .map(|egress| egress.serve_inside(first, self.identity));
        let serving = serving
            .transpose()
            .map_err(|error| failed("connect an application to the egress proxy", &error))?;
        let first = pidfd_open(first, PidfdFlags::empty())
            .map_err(|errno| failed("open a pidfd of a program", &errno))?;
        rustix::io::write(&go_write, b"go\n").map_err(|errno| failed("start a program", &errno))?;
        Ok(SandboxedProgram {
            child,
            first,
            _info: info,
            _network: serving,
        })
    }
}

/// The first script inside the sandbox: reports "ready", waits for the verification and executes
/// the program.
fn gate(inherited: &InheritedFds) -> String {
    let errors = match inherited {
        InheritedFds::Nothing | InheritedFds::Descriptor(_) => "2>/dev/null".to_owned(),
        InheritedFds::StandardError(_) => format!("2>&{EXTRA_FD} {EXTRA_FD}>&-"),
    };
    format!(
        "{}type -P -- \"$0\" >/dev/null || {{ echo absent >&{READY_PIPE_FD}; exit 127; }}\n\
         echo ready >&{READY_PIPE_FD}\n\
         read -r go <&{GO_FD} && [[ $go == go ]] || exit 125\n\
         exec -- \"$0\" \"$@\" {READY_PIPE_FD}>&- {GO_FD}<&- {errors}",
        ResourceLimits::default().script()
    )
}

/// A sandboxed program. Dropping it kills the program and all its descendants.
#[derive(Debug)]
pub(super) struct SandboxedProgram {
    child: Child,
    first: OwnedFd,
    _info: SandboxInfo,
    _network: Option<Serving>,
}

impl SandboxedProgram {
    pub(super) const fn child(&self) -> &Child {
        &self.child
    }

    /// Stops the program and all its descendants and waits until they are gone.
    pub(super) async fn end(self, grace: Duration) -> io::Result<ExitStatus> {
        let status = self.child.end(grace).await?;
        match timeout(KILL_TIMEOUT, wait_for_exit(self.first.as_fd())).await {
            Ok(outcome) => outcome.map(|()| status),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// An error that the sandbox failed, so the program was not started.
fn refused(error: &ConfinementError) -> DeviceError {
    unavailable(&format!(
        "failed to sandbox a program, so it was not started: {error}"
    ))
}
