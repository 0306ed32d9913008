//! bash inside bubblewrap: what it is given, and proof that it holds.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use telechir_device::DeviceError;
use telechir_egress::{Egress, Serving};
use telechir_process::confinement::{
    self, Account, Confinement, ConfinementError, Protected, Told,
};
use telechir_process::{Cgroup, Identity, Pid, Spawn, Stdio, is_root};

use crate::config::Sandbox;
use crate::control_channel::ControlChannel;
use crate::script;
use crate::spool::Spools;

/// Where the exchange is inside.
pub(crate) const CHANNEL_DIR: &str = "/run/telechir";
/// Where long outputs are inside.
pub(crate) const OUTPUT_DIR: &str = "/run/telechir-output";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
const USER_NAME: &str = "telechir";

/// What is needed to start and watch one sandbox.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) spawn: Spawn,
    pub(crate) info: Told,
    pub(crate) protected: Protected,
    pub(crate) group: Cgroup,
}

/// Whom commands run as.
///
/// # Errors
/// When we are root and no other user is named.
pub(crate) fn identity(sandbox: &Sandbox) -> Result<Option<Identity>, DeviceError> {
    match sandbox.identity {
        Some(identity) if identity.uid == 0 => Err(unavailable("commands must not run as root")),
        None if is_root() => Err(unavailable(
            "started as root, it needs an unprivileged user to run as",
        )),
        identity => Ok(identity),
    }
}

/// The workspace as it is named inside and out.
///
/// # Errors
/// When it cannot be one.
pub(crate) fn workspace(sandbox: &Sandbox) -> Result<PathBuf, DeviceError> {
    let checked = confinement::workspace(&sandbox.workspace, sandbox.identity);
    checked.map_err(|error| workspace_error(&error))
}

/// The host shell would have the same workspace: it is no way out of this.
fn workspace_error(error: &ConfinementError) -> DeviceError {
    DeviceError::Unavailable {
        what: "the sandboxed shell",
        message: error.to_string(),
    }
}

/// Puts together the command that starts bash in a sandbox.
///
/// # Errors
/// When a part of it cannot be made.
pub(crate) fn prepare(
    sandbox: &Sandbox,
    workspace: &Path,
    channel: &ControlChannel,
    spools: &Spools,
    terminal: OwnedFd,
) -> Result<Prepared, DeviceError> {
    let confinement =
        Confinement::new(sandbox.identity, &sandbox.limits).map_err(unavailable_because)?;
    let could_not =
        |what: &str, error: io::Error| unavailable(&format!("could not {what}: {error}"));
    write_files(channel, workspace).map_err(|error| could_not("write its files", error))?;
    let protected = Protected::find(workspace, sandbox.missing);
    let protected = protected.map_err(|error| workspace_error(&error))?;
    let confinement = mounts(confinement, sandbox, channel, spools).workspace(&protected);
    let group = Cgroup::new(&sandbox.limits);
    // It becomes bash, so that bubblewrap itself tells how bash ended.
    let bash_command =
        format!("setsid --ctty bash --noprofile --rcfile {CHANNEL_DIR}/startup --noediting +H -i");
    let (spawn, info) = variables(confinement, sandbox, workspace)
        .command(bash_command.split_ascii_whitespace())
        .map_err(|error| could_not("make its system call filter", error))?;
    Ok(Prepared {
        spawn: spawn.stdin(Stdio::Fd(terminal)).cgroup(&group),
        info,
        protected,
        group,
    })
}

fn mounts(
    mut confinement: Confinement,
    sandbox: &Sandbox,
    channel: &ControlChannel,
    spools: &Spools,
) -> Confinement {
    confinement = confinement
        .read_only(channel.path(), CHANNEL_DIR)
        .read_only(spools.folder(), OUTPUT_DIR);
    for name in ["passwd", "group", "hosts"] {
        confinement =
            confinement.read_only(channel.path().join(name), Path::new("/etc").join(name));
    }
    for path in &sandbox.read_only {
        confinement = confinement.read_only(path, path);
    }
    for path in &sandbox.writable {
        confinement = confinement.writable(path);
    }
    confinement
}

fn variables(confinement: Confinement, sandbox: &Sandbox, workspace: &Path) -> Confinement {
    let home = workspace.to_string_lossy();
    let fixed = [
        ("PATH", PATH),
        ("HOME", &home),
        ("USER", USER_NAME),
        ("LOGNAME", USER_NAME),
        ("SHELL", "/bin/bash"),
        ("TERM", "dumb"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
    ];
    let network = match &sandbox.network {
        Some(_) => Egress::environment(),
        None => Vec::new(),
    };
    let extra_env = network
        .iter()
        .chain(&sandbox.env)
        .map(|(name, value)| (name.as_str(), value.as_str()));
    fixed
        .into_iter()
        .chain(extra_env)
        .fold(confinement.cwd(workspace), |confinement, (name, value)| {
            confinement.env(name, value)
        })
}

/// What bash reads when it starts: it holds itself and all it starts to the limits.
pub(crate) fn startup(sandbox: &Sandbox, channel: &ControlChannel) -> String {
    sandbox.limits.script() + &script::startup(channel)
}

fn write_files(channel: &ControlChannel, workspace: &Path) -> io::Result<()> {
    let account = Account {
        name: USER_NAME,
        identity: channel.owner(),
        home: &workspace.to_string_lossy(),
    };
    channel.write("passwd", &account.passwd())?;
    channel.write("group", &account.group())?;
    channel.write("hosts", Account::hosts())
}

/// Opens the way to the network, where the sandbox has one, to what is confined with this process.
///
/// # Errors
/// When it cannot be opened: a shell without it would only look broken.
pub(crate) fn serve_network(
    sandbox: &Sandbox,
    bash_command: Pid,
) -> Result<Option<Serving>, DeviceError> {
    let open = |egress: &Egress| {
        let served = egress.serve_inside(bash_command, sandbox.identity);
        served.map_err(|error| {
            unavailable(&format!("could not open its way to the network: {error}"))
        })
    };
    sandbox.network.as_ref().map(open).transpose()
}

/// Looks from outside at a bash that was started, whether the sandbox is what it should be.
///
/// # Errors
/// When a layer is missing.
pub(crate) fn verify(shell: Pid) -> Result<(), DeviceError> {
    confinement::verify(shell).map_err(unavailable_because)
}

/// That no sandbox can be had, why, and what else there is.
pub(crate) fn unavailable(why: &str) -> DeviceError {
    let message =
        format!("{why}. To run commands without a sandbox, ask for the host shell: --shell=host");
    DeviceError::Unavailable {
        what: "the sandboxed shell",
        message,
    }
}

/// The same with the words of what is in the way.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands where an error is taken over"
)]
pub(crate) fn unavailable_because(error: ConfinementError) -> DeviceError {
    unavailable(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_outside_fails_verification() {
        assert!(verify(rustix::process::getpid()).is_err());
        let error = verify(Pid::INIT).map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("it does not hold")));
    }

    #[test]
    fn a_refusal_names_the_fix_and_the_alternative() {
        let text = unavailable_because(confinement::explain_bwrap_error(
            "bwrap: No permissions to create new namespace\n",
        ))
        .to_string();
        for part in [
            "No permissions",
            "user namespaces may be switched off",
            "ask for the host shell",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let text = unavailable_because(confinement::explain_bwrap_error(
            "bwrap: Can't find source path /x: Permission denied",
        ))
        .to_string();
        assert!(
            !text.contains("switched off") && text.contains("/x"),
            "{text}"
        );
    }
}
