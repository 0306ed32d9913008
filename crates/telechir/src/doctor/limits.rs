//! Whether a control group can limit all programs of a session together.

use telechir_process::{Cgroup, Spawn, is_root};
use telechir_shell::Limits;

use super::finding::{CheckFailure, CheckResult, Observation};
use super::fix::explain;
use crate::error::chain;

/// Puts a program into a control group as every session does, and verifies its membership.
pub(super) async fn check() -> CheckResult {
    let mut group = Cgroup::new(&Limits::default());
    let started = Spawn::new("sleep").arg("10").cgroup(&group).spawn().await;
    let program = started.map_err(|error| explain(&format!("failed to {}", chain(&error)), &[]))?;
    if group.bounds().hold() {
        group.prove(program.pid());
    }
    let bounds = group.bounds();
    if bounds.hold() {
        return Ok(Observation::new(bounds.to_string()));
    }
    let mut failure =
        CheckFailure::broken(format!("no common limit, because of {}", bounds.why_not()));
    if !is_root() {
        // systemd delegates a control group to the user.
        failure = failure.fix_command("systemd-run --user --scope -p Delegate=yes telechir doctor");
    }
    Ok(Observation::degraded(bounds.held(), failure))
}

/// Whether this process can create control groups.
pub(super) fn can_be_had() -> bool {
    Cgroup::new(&Limits::default()).bounds().hold()
}
