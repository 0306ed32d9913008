//! Which version of bubblewrap is installed, and who keeps mount points free of links.

use std::path::Path;

use telechir_process::{Spawn, find_program};

use super::finding::{CheckFailure, CheckResult, Observation};
use super::program::run;

/// The first version that follows no link out of the sandbox when it creates a mount point
/// (CVE-2026-87766).
const MENDED: [u32; 2] = [0, 12];

/// Asks bubblewrap for its version. Sandboxes are equally safe with all of them.
pub(super) async fn check() -> CheckResult {
    if find_program(Path::new("bwrap")).is_none() {
        return Err(CheckFailure::missing("`bwrap` was not found").package("bubblewrap"));
    }
    let output = run(Spawn::new("bwrap").arg("--version")).await;
    let output = output.map_err(CheckFailure::broken)?;
    let text = output.out.trim();
    match version(text) {
        Some(version) => Ok(Observation::new(format!("{text}: {}", guard(version)))),
        None => Err(CheckFailure::broken(format!(
            "`bwrap --version` printed no version: {text}{}",
            output.err
        ))),
    }
}

/// What keeps mount points free of links.
fn guard(version: [u32; 2]) -> &'static str {
    if version >= MENDED {
        "it follows no links at mount points, and telechir checks that as well"
    } else {
        "safe, although versions before 0.12.0 follow links at mount points (CVE-2026-87766): \
         telechir's check refuses mount points with links"
    }
}

/// Major and minor version.
fn version(text: &str) -> Option<[u32; 2]> {
    let mut numbers = text.strip_prefix("bubblewrap ")?.split('.');
    Some([numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides_who_checks_mount_points() {
        let alone = |text| version(text).map(|version| guard(version).contains("telechir's check"));
        assert_eq!(alone("bubblewrap 0.8.0"), Some(true));
        assert_eq!(alone("bubblewrap 0.11.2"), Some(true));
        assert_eq!(alone("bubblewrap 0.12.0"), Some(false));
        assert_eq!(alone("bubblewrap 1.0.0"), Some(false));
        assert_eq!(alone("bwrap"), None);
    }
}
