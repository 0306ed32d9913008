//! Verifies Chromium's own sandbox from outside, in `/proc`.

use std::fs;
use std::path::Path;

use super::finding::CheckFailure;

/// A process as listed in `/proc`.
#[derive(Debug)]
struct ProcEntry {
    pid: u32,
    parent: u32,
    line: String,
}

/// Verifies the renderer processes of the browser whose profile is in `folder`.
pub(super) fn sandbox(folder: &Path) -> Result<String, CheckFailure> {
    let renderers: Vec<u32> = processes_of(folder)
        .iter()
        .filter(|process| process.line.contains("--type=renderer"))
        .map(|process| process.pid)
        .collect();
    if renderers.is_empty() {
        return Err(CheckFailure::broken(
            "Chromium runs, but its renderer processes are not visible in /proc, so their sandbox cannot \
             be verified",
        ));
    }
    let own_depth = namespaces(&status("self"));
    for renderer in &renderers {
        let status = status(&renderer.to_string());
        verify(&status, own_depth).map_err(|what| {
            CheckFailure::broken(format!(
                "Chromium's sandbox is off: process {renderer} {what}"
            ))
        })?;
    }
    let number = renderers.len();
    Ok(format!("Chromium's own sandbox is on ({number} seen)"))
}

/// Whether the browser whose profile is in `folder` shares the machine's network namespace.
pub(super) fn shares_network(folder: &Path) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let own = namespace("self");
    let processes = processes_of(folder);
    // The screen is in the same folder, and bubblewrap itself stays outside.
    let is_chromium = |process: &&ProcEntry| {
        let flags = ["--user-data-dir=", "--type="];
        !process.line.starts_with("bwrap ") && flags.iter().any(|flag| process.line.contains(flag))
    };
    let mut chromium = processes.iter().filter(is_chromium);
    chromium.any(|process| namespace(&process.pid.to_string()) == own)
}

/// The processes of the browser whose profile is in `folder`.
fn processes_of(folder: &Path) -> Vec<ProcEntry> {
    let mut all = processes();
    let folder = folder.to_string_lossy();
    let mut tree: Vec<u32> = all
        .iter()
        .filter(|process| process.line.contains(&*folder) && !process.line.contains("--type="))
        .map(|process| process.pid)
        .collect();
    // Children may be listed before their parents, so repeat until no more are found.
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|process| tree.contains(&process.parent) && !tree.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            break;
        }
        tree.extend(more);
    }
    all.retain(|process| tree.contains(&process.pid));
    all
}

/// The first missing layer of the sandbox, if any. `own_depth` is the nesting depth of this
/// process's PID namespace.
fn verify(status: &str, own_depth: usize) -> Result<(), &'static str> {
    if field(status, "NoNewPrivs") != Some("1") {
        Err("may gain new privileges")
    } else if field(status, "Seccomp") != Some("2") {
        Err("has no system call filter")
    } else if namespaces(status) <= own_depth {
        Err("shares this machine's PID namespace")
    } else {
        Ok(())
    }
}

/// The nesting depth of a process's PID namespaces, seen from ours.
fn namespaces(status: &str) -> usize {
    field(status, "NSpid").map_or(0, |numbers| numbers.split_whitespace().count())
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim)
}

fn status(process: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default()
}

fn processes() -> Vec<ProcEntry> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let status = status(&pid.to_string());
            Some(ProcEntry {
                pid,
                parent: field(&status, "PPid")?.parse().ok()?,
                line: String::from_utf8_lossy(&line).replace('\0', " "),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFINED: &str = "Name:\tchromium\nNSpid:\t812\t9\nNoNewPrivs:\t1\nSeccomp:\t2\n";

    #[test]
    fn every_missing_layer_is_detected() {
        assert_eq!(verify(CONFINED, 1), Ok(()));
        for (layer, impact) in [
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("812\t9", "812"),
        ] {
            let status = CONFINED.replace(layer, impact);
            assert!(verify(&status, 1).is_err(), "{status}");
        }
        assert!(verify("", 1).is_err());
    }

    #[test]
    fn our_own_nesting_does_not_count_as_a_sandbox() {
        assert!(verify(CONFINED, 2).is_err());
    }
}
