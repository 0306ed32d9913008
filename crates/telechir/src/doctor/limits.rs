//! Whether what a session may use up is bounded for all its programs together.

use telechir_process::{Cgroup, Spawn, is_root};
use telechir_shell::Limits;

use super::finding::{Checked, Seen, Trouble};
use super::fix::explain;
use crate::error::chain;

/// Puts a program into a group as every session does, and looks whether it is in it.
pub(super) async fn check() -> Checked {
    let mut group = Cgroup::new(&Limits::default());
    let started = Spawn::new("sleep").arg("10").cgroup(&group).spawn().await;
    let program = started.map_err(|error| explain(&format!("failed to {}", chain(&error)), &[]))?;
    if group.bounds().hold() {
        group.prove(program.pid());
    }
    let bounds = group.bounds();
    if bounds.hold() {
        return Ok(Seen::new(bounds.to_string()));
    }
    let mut trouble = Trouble::broken(format!("not all together, because of {}", bounds.why_not()));
    if !is_root() {
        // What systemd gives to a user to divide.
        trouble = trouble.command("systemd-run --user --scope -p Delegate=yes telechir doctor");
    }
    Ok(Seen::but(bounds.held(), trouble))
}

/// Whether a group of ours can be had at all.
pub(super) fn can_be_had() -> bool {
    Cgroup::new(&Limits::default()).bounds().hold()
}
