//! bash without a sandbox, for operators who chose this.

use std::os::fd::OwnedFd;

use telechir_process::{Spawn, Stdio};

use crate::config::Host;
use crate::control_channel::ControlChannel;

/// Environment variable that marks every process of a shell.
const MARK: &str = "TELECHIR_SHELL";

/// The variable with its value, as in an environment block.
pub(crate) fn mark(channel: &ControlChannel) -> String {
    format!("{MARK}={}", channel.path().display())
}

/// Describes the command that starts bash as our own user.
pub(crate) fn prepare(host: &Host, channel: &ControlChannel, terminal: OwnedFd) -> Spawn {
    let home = host.workspace.as_os_str();
    Spawn::new("bash")
        .args([
            "--noprofile",
            "--rcfile",
            &channel.inside("startup"),
            "--noediting",
            "+H",
            "-i",
        ])
        .env(
            "PATH",
            "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        )
        .env("HOME", home)
        .env("TERM", "dumb")
        .env("LANG", "C.UTF-8")
        .envs(host.env.iter().map(|(name, value)| (name, value)))
        .env(MARK, channel.path())
        .cwd(&host.workspace)
        .controlling_terminal()
        .no_new_privs(false)
        .stdin(Stdio::Fd(terminal))
}
