//! Programs of a display, each in a confinement of its own: what they see, and that it holds
//! before they run.

use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{PidfdFlags, pidfd_open};
use telechir_device::DeviceError;
use telechir_egress::{Egress, Serving};
use telechir_process::confinement::{
    Confinement, ConfinementError, Limits, Protected, Told, gone, verify_inside,
};
use telechir_process::{Cgroup, Child, Identity, SpawnError, package_of};
use tokio::time::timeout;

use super::programs::{causes, first_line, pipe, within};
use super::{failed, files, unavailable};
use crate::address::socket_path;

/// Where programs find their fonts, themes and settings, beside what every program needs.
const SYSTEM: [&str; 15] = [
    "/etc/X11",
    "/etc/dbus-1",
    "/etc/default/locale",
    "/etc/fonts",
    "/etc/gnome",
    "/etc/gtk-2.0",
    "/etc/gtk-3.0",
    "/etc/gtk-4.0",
    "/etc/libreoffice",
    "/etc/mailcap",
    "/etc/pango",
    "/etc/timezone",
    "/etc/vim",
    "/etc/xdg",
    "/var/cache/fontconfig",
];
const READY: RawFd = Confinement::FIRST_FREE_FD;
const GO: RawFd = READY + 1;
/// A descriptor that a program may be given.
pub(super) const GIVEN: RawFd = GO + 1;
/// How long the last processes inside may take to be gone after a kill.
const LAST: Duration = Duration::from_secs(5);

/// What a program gets beside its confinement.
#[derive(Debug)]
pub(super) enum Given {
    Nothing,
    /// A descriptor that it finds as [`GIVEN`].
    Descriptor(OwnedFd),
    /// Where its standard error goes.
    StandardError(OwnedFd),
}

/// What the programs of one display share.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) identity: Option<Identity>,
    pub(super) number: u16,
    pub(super) folder: &'a Path,
    pub(super) workspace: &'a Path,
    /// What is read-only in the workspace, when that is not the home.
    pub(super) protected: Option<&'a Protected>,
    /// What bounds all of them together.
    pub(super) group: &'a Cgroup,
    pub(super) environment: &'a [(String, String)],
    pub(super) network: Option<&'a Egress>,
}

impl Surroundings<'_> {
    /// The one place that decides what a program on the display may touch.
    fn confinement(&self) -> Result<Confinement, ConfinementError> {
        let within = |name: &str| self.folder.join(name);
        let mut confinement = Confinement::new(self.identity, &Limits::default())?;
        for path in SYSTEM {
            confinement = confinement.read_only_where_present(path);
        }
        for name in files::ETC {
            confinement = confinement.read_only(within(name), Path::new("/etc").join(name));
        }
        for path in [
            socket_path(self.number),
            files::authority(self.folder),
            within("openbox.xml"),
        ] {
            confinement = confinement.read_only(&path, &path);
        }
        for path in [within("home"), within("run")] {
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

    /// Starts a program, when it was seen that its confinement holds.
    pub(super) async fn start(
        &self,
        program: &str,
        args: &[&str],
        given: Given,
    ) -> Result<Confined, DeviceError> {
        let (ready, told_ready) = pipe()?;
        let (go, heard) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map(|(reading, writing)| (writing, reading))
            .map_err(|errno| failed("make a pipe", &errno))?;
        let gate = gate(&given);
        let command = ["bash", "--noprofile", "--norc", "-c", &gate, program];
        let (mut spawn, told) = self
            .confinement()
            .map_err(|error| refused(&error))?
            .command(command.iter().chain(args))
            .map_err(|error| failed("make the confinement of applications", &error))?;
        spawn = spawn.fd(READY, ready).fd(GO, heard).cgroup(self.group);
        if let Given::Descriptor(fd) | Given::StandardError(fd) = given {
            spawn = spawn.fd(GIVEN, fd);
        }
        let child = super::programs::spawn(spawn).await?;
        let said = within("a confined program", first_line(told_ready)).await?;
        match said.trim() {
            "ready" => {}
            "absent" => {
                let error = SpawnError::NotFound {
                    program: program.to_owned(),
                    package: package_of(program),
                };
                return Err(unavailable(&format!("failed to {}", causes(&error))));
            }
            _ => return Err(refused(&told.complaint())),
        }
        let first = told.first_process();
        let first = first.ok_or_else(|| refused(&told.complaint()))?;
        verify_inside(first).map_err(|error| refused(&error))?;
        if self.group.bounds().hold() && !self.group.has(first) {
            tracing::warn!(program, "a program is not in the group that bounds it");
        }
        let network = self
            .network
            .map(|egress| egress.serve_inside(first, self.identity));
        let network = network
            .transpose()
            .map_err(|error| failed("open an application's way to the network", &error))?;
        let first = pidfd_open(first, PidfdFlags::empty())
            .map_err(|errno| failed("watch over a program", &errno))?;
        rustix::io::write(&go, b"go\n").map_err(|errno| failed("start a program", &errno))?;
        Ok(Confined {
            child,
            first,
            _told: told,
            _network: network,
        })
    }
}

/// What runs first inside: it says that all is in place, waits until that was looked at from
/// outside, and becomes the program.
fn gate(given: &Given) -> String {
    let errors = match given {
        Given::Nothing | Given::Descriptor(_) => "2>/dev/null".to_owned(),
        Given::StandardError(_) => format!("2>&{GIVEN} {GIVEN}>&-"),
    };
    format!(
        "{}type -P -- \"$0\" >/dev/null || {{ echo absent >&{READY}; exit 127; }}\n\
         echo ready >&{READY}\n\
         read -r go <&{GO} && [[ $go == go ]] || exit 125\n\
         exec -- \"$0\" \"$@\" {READY}>&- {GO}<&- {errors}",
        Limits::default().script()
    )
}

/// A program in its confinement. When it is dropped, it is killed with all it started.
#[derive(Debug)]
pub(super) struct Confined {
    child: Child,
    first: OwnedFd,
    _told: Told,
    _network: Option<Serving>,
}

impl Confined {
    pub(super) const fn child(&self) -> &Child {
        &self.child
    }

    /// Ends it with all it started and waits until nothing of it is left.
    pub(super) async fn end(self, grace: Duration) -> io::Result<ExitStatus> {
        let status = self.child.end(grace).await?;
        match timeout(LAST, gone(self.first.as_fd())).await {
            Ok(outcome) => outcome.map(|()| status),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// That there is no confinement, and so no program.
fn refused(error: &ConfinementError) -> DeviceError {
    unavailable(&format!(
        "its applications are confined or not started: {error}"
    ))
}
