//! bash without a sandbox, for someone who asked for it.

use std::os::fd::OwnedFd;

use telechir_process::{Spawn, Stdio};

use crate::config::Host;
use crate::control_channel::ControlChannel;

/// A variable that every process of one shell has.
const MARK: &str = "TELECHIR_SHELL";

/// It and its value, as they stand in an environment.
pub(crate) fn mark(channel: &ControlChannel) -> String {
    format!("{MARK}={}", channel.path().display())
}

/// Puts together the command that starts bash as ourselves.
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
