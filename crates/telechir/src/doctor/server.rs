//! What a server with a configuration needs, as checks.

use super::finding::{CheckFailure, CheckSpec, Finding, Observation, run_check};
use super::{DoctorReport, MachineInfo, QUICK, spec};
use crate::args::ServeFlags;
use crate::commands::serve::check::{Checked, all};

/// The checks of `serve check`, with what they are called here.
const CHECKS: [(&str, CheckSpec); 7] = [
    ("sessions", of("server-sessions", STOPS)),
    ("policy", of("server-policy", STOPS)),
    ("exposure", of("server-exposure", STOPS)),
    ("tls", of("server-tls", STOPS)),
    ("address", of("server-address", STOPS)),
    ("tokens", of("server-tokens", "every request is refused")),
    (
        "recordings",
        of("server-recordings", "no session can be opened"),
    ),
];
const STOPS: &str = "the server does not start";

const fn of(id: &'static str, impact: &'static str) -> CheckSpec {
    spec(id, QUICK, impact)
}

/// Checks a server instead of the devices; it is ready if nothing is broken.
pub(crate) async fn check_server(
    machine: MachineInfo,
    flags: &ServeFlags,
    mut report: impl FnMut(&Finding),
) -> DoctorReport {
    let mut checks = Vec::new();
    for Checked { name, result } in all(flags).await {
        let Some((_, spec)) = CHECKS.iter().find(|(known, _)| *known == name) else {
            continue;
        };
        let result = match result {
            Ok(found) => Ok(Observation::new(found)),
            Err(error) => Err(CheckFailure::broken(error.text())),
        };
        let finding = run_check(spec, async { result }).await;
        report(&finding);
        checks.push(finding);
    }
    let ready = checks.iter().all(|finding| finding.state.is_usable());
    DoctorReport {
        ready,
        ..DoctorReport::new(machine, checks)
    }
}
