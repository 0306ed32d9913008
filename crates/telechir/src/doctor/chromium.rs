//! Whether Chromium's own sandbox is on, seen from outside and not asked of Chromium.

use std::fs;
use std::path::Path;

use super::finding::Trouble;

/// A process as `/proc` tells of it.
#[derive(Debug)]
struct Process {
    pid: u32,
    parent: u32,
    line: String,
}

/// Looks at the processes that draw pages for the browser whose profile is in `folder`.
pub(super) fn sandbox(folder: &Path) -> Result<String, Trouble> {
    let all = processes();
    let folder = folder.to_string_lossy();
    let mut family: Vec<u32> = all
        .iter()
        .filter(|process| process.line.contains(&*folder) && !process.line.contains("--type="))
        .map(|process| process.pid)
        .collect();
    // Parents come before their children only by chance, so it is gone through until all are found.
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|process| family.contains(&process.parent) && !family.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            break;
        }
        family.extend(more);
    }
    let renderers: Vec<u32> = all
        .iter()
        .filter(|process| family.contains(&process.pid))
        .filter(|process| process.line.contains("--type=renderer"))
        .map(|process| process.pid)
        .collect();
    if renderers.is_empty() {
        return Err(Trouble::broken(
            "Chromium runs, but the processes that draw its pages cannot be seen in /proc, nor \
             whether they are confined",
        ));
    }
    let mine = namespaces(&status("self"));
    for renderer in &renderers {
        let status = status(&renderer.to_string());
        judge(&status, mine).map_err(|what| {
            Trouble::broken(format!(
                "Chromium's sandbox is off: process {renderer} {what}"
            ))
        })?;
    }
    let number = renderers.len();
    Ok(format!("Chromium's own sandbox is on ({number} seen)"))
}

/// What is missing of a confined process, given how deep we are in namespaces ourselves.
fn judge(status: &str, mine: usize) -> Result<(), &'static str> {
    if field(status, "NoNewPrivs") != Some("1") {
        Err("may gain new privileges")
    } else if field(status, "Seccomp") != Some("2") {
        Err("has no system call filter")
    } else if namespaces(status) <= mine {
        Err("sees the processes of this machine")
    } else {
        Ok(())
    }
}

/// In how many nested process namespaces a process has a number, seen from ours.
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

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let status = status(&pid.to_string());
            Some(Process {
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
    fn every_layer_is_missed() {
        assert_eq!(judge(CONFINED, 1), Ok(()));
        for (layer, without) in [
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("812\t9", "812"),
        ] {
            let status = CONFINED.replace(layer, without);
            assert!(judge(&status, 1).is_err(), "{status}");
        }
        assert!(judge("", 1).is_err());
    }

    #[test]
    fn a_nesting_of_our_own_is_no_sandbox() {
        assert!(judge(CONFINED, 2).is_err());
    }
}
