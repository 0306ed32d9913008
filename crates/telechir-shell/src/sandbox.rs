//! bash in a bubblewrap sandbox: its description, and its verification.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use telechir_device::DeviceError;
use telechir_egress::{Egress, Serving};
use telechir_process::confinement::{
    self, Account, Confinement, ConfinementError, Protected, SandboxInfo, Sockets,
};
use telechir_process::{Cgroup, Identity, Pid, Spawn, Stdio, is_root};

use crate::config::Sandbox;
use crate::control_channel::ControlChannel;
use crate::script;
use crate::spool::Spools;

/// Path of the session folder inside.
pub(crate) const CHANNEL_DIR: &str = "/run/telechir";
/// Path of the folder with long outputs inside.
pub(crate) const OUTPUT_DIR: &str = "/run/telechir-output";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
const USER_NAME: &str = "telechir";
/// Session files for Git inside: the placeholders, and the configuration that names their list.
const IGNORE_FILE: &str = "gitignore";
const GIT_CONFIG_FILE: &str = "gitconfig";

/// Everything needed to start and monitor a sandbox.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) spawn: Spawn,
    pub(crate) info: SandboxInfo,
    pub(crate) protected: Protected,
    pub(crate) group: Cgroup,
}

/// The user that commands run as.
///
/// # Errors
/// If we are root and no other user is configured.
pub(crate) fn identity(sandbox: &Sandbox) -> Result<Option<Identity>, DeviceError> {
    match sandbox.identity {
        Some(identity) if identity.uid == 0 => Err(unavailable("commands must not run as root")),
        None if is_root() => Err(unavailable(
            "telechir runs as root; choose an unprivileged user to run it as",
        )),
        identity => Ok(identity),
    }
}

/// The canonical path of the workspace, inside and outside.
///
/// # Errors
/// If the folder cannot be a workspace.
pub(crate) fn workspace(sandbox: &Sandbox) -> Result<PathBuf, DeviceError> {
    let checked = confinement::workspace(&sandbox.workspace, sandbox.identity);
    checked.map_err(|error| workspace_error(&error))
}

/// An error about the workspace. It does not suggest the host shell, which has the same workspace.
fn workspace_error(error: &ConfinementError) -> DeviceError {
    DeviceError::Unavailable {
        what: "the sandboxed shell",
        message: error.to_string(),
    }
}

/// Describes the command that starts bash in a sandbox.
///
/// # Errors
/// If the workspace, the sandbox or a session file cannot be prepared.
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
        |what: &str, error: io::Error| unavailable(&format!("failed to {what}: {error}"));
    write_files(channel, workspace).map_err(|error| could_not("write its files", error))?;
    let protected = Protected::find(workspace, sandbox.missing);
    let protected = protected.map_err(|error| workspace_error(&error))?;
    let mut confinement = mounts(confinement, sandbox, channel, spools).workspace(&protected);
    let ignored = protected.ignore_patterns();
    if !ignored.is_empty() {
        let config = ignore_placeholders(channel, &ignored);
        let config = config.map_err(|error| could_not("write its files", error))?;
        confinement = confinement.env("GIT_CONFIG_SYSTEM", config);
    }
    let group = Cgroup::new(&sandbox.limits);
    // `setsid` is replaced by bash, so that bubblewrap itself reports bash's exit.
    let bash_command =
        format!("setsid --ctty bash --noprofile --rcfile {CHANNEL_DIR}/startup --noediting +H -i");
    let (spawn, info) = variables(confinement, sandbox, workspace)
        .command(bash_command.split_ascii_whitespace())
        .map_err(|error| could_not("describe its mounts and filters", error))?;
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
    for path in sandbox.read_only.iter().chain(&sandbox.writable) {
        let sockets = Sockets::find(path);
        warn_of_unsearched(&sockets);
        confinement = confinement.without_sockets(&sockets);
    }
    confinement
}

/// Logs that some folders of a mount were not searched for sockets.
pub(crate) fn warn_of_unsearched(sockets: &Sockets) {
    if let Some(stopped) = &sockets.stopped {
        tracing::warn!(at = %stopped.display(), "sockets from here on may be reachable: not all folders were searched");
    }
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

/// bash's startup script: it limits itself and its descendants first.
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

/// Writes a configuration by which Git inside ignores these files; returns its path inside.
fn ignore_placeholders(channel: &ControlChannel, patterns: &str) -> io::Result<String> {
    channel.write(IGNORE_FILE, patterns)?;
    let config = format!("[core]\n\texcludesFile = {CHANNEL_DIR}/{IGNORE_FILE}\n");
    channel.write(GIT_CONFIG_FILE, &config)?;
    Ok(format!("{CHANNEL_DIR}/{GIT_CONFIG_FILE}"))
}

/// Serves the egress proxy to the sandbox with this first process, if it has one.
///
/// # Errors
/// If serving fails: a shell without its network would only look broken.
pub(crate) fn serve_network(
    sandbox: &Sandbox,
    bash_command: Pid,
) -> Result<Option<Serving>, DeviceError> {
    let open = |egress: &Egress| {
        let served = egress.serve_inside(bash_command, sandbox.identity);
        served.map_err(|error| unavailable(&format!("failed to serve its egress proxy: {error}")))
    };
    sandbox.network.as_ref().map(open).transpose()
}

/// Verifies from outside that bash is sandboxed.
///
/// # Errors
/// If a layer of the sandbox is missing.
pub(crate) fn verify(shell: Pid) -> Result<(), DeviceError> {
    confinement::verify(shell).map_err(unavailable_because)
}

/// Verifies from outside that the mounts inside of the workspace are where they belong.
///
/// # Errors
/// If a folder was exchanged while the sandbox started.
pub(crate) fn verify_mounts(info: Option<&SandboxInfo>, first: Pid) -> Result<(), DeviceError> {
    let verified = info.map_or(Ok(()), |info| info.verify_mounts(first));
    verified.map_err(|error| workspace_error(&error))
}

/// An error with the reason why no sandbox is available, and the alternative.
pub(crate) fn unavailable(why: &str) -> DeviceError {
    let message =
        format!("{why}. To run commands without a sandbox, choose the host shell: --shell=host");
    DeviceError::Unavailable {
        what: "the sandboxed shell",
        message,
    }
}

/// Like [`unavailable`], with the reason of the sandbox.
#[expect(
    clippy::needless_pass_by_value,
    reason = "used as a function in `map_err`"
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
        assert!(error.is_err_and(|text| text.contains("the sandbox is incomplete")));
    }

    #[test]
    fn a_refusal_names_the_fix_and_the_alternative() {
        let text = unavailable_because(confinement::explain_bwrap_error(
            "bwrap: No permissions to create new namespace\n",
        ))
        .to_string();
        for part in [
            "No permissions",
            "user namespaces may be disabled",
            "choose the host shell",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let text = unavailable_because(confinement::explain_bwrap_error(
            "bwrap: Can't find source path /x: Permission denied",
        ))
        .to_string();
        assert!(!text.contains("disabled") && text.contains("/x"), "{text}");
    }
}
