//! Whether a control group can limit all programs of a session together.

use std::path::Path;

use telechir_process::{Cgroup, Spawn, is_root};
use telechir_shell::ResourceLimits;

use super::finding::{CheckFailure, CheckResult, Observation};
use super::fix::explain;
use crate::error::chain;

/// Starts a program in a control group of its own.
const DELEGATE: &str = "systemd-run --user --scope -p Delegate=yes";

/// Whether systemd runs services of this user.
fn has_user_manager() -> bool {
    let uid = rustix::process::geteuid().as_raw();
    !is_root() && Path::new(&format!("/run/user/{uid}/systemd")).is_dir()
}

/// Puts a program into a control group as every session does, and verifies its membership.
pub(super) async fn check() -> CheckResult {
    let mut group = Cgroup::new(&ResourceLimits::default());
    let started = Spawn::new("sleep").arg("10").cgroup(&group).spawn().await;
    let program = started.map_err(|error| explain(&format!("failed to {}", chain(&error)), &[]))?;
    if group.effective_limits().limits_totals() {
        group.verify_member(program.pid());
    }
    let bounds = group.effective_limits();
    if bounds.limits_totals() {
        return Ok(Observation::new(bounds.to_string()));
    }
    let reasons = bounds.unavailable_reasons();
    let mut failure = CheckFailure::broken(if has_user_manager() {
        format!(
            "no common limit, because of {reasons}; start every telechir by `{DELEGATE} telechir …`"
        )
    } else {
        format!("no common limit, because of {reasons}")
    });
    if has_user_manager() {
        // systemd delegates a control group to the user.
        failure = failure.fix_command(format!("{DELEGATE} telechir doctor"));
    }
    Ok(Observation::degraded(bounds.summary(), failure))
}

/// Whether this process can create control groups.
pub(super) fn can_be_had() -> bool {
    Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals()
}
