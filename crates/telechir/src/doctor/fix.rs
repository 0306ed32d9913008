//! Commands that fix a component: packages named in errors, and kernel settings for user namespaces.

use std::fs;
use std::path::Path;

use telechir_process::{find_program, is_root, package_of};

use super::finding::CheckFailure;

/// Kernel settings that block user namespaces: file, blocking value, command that allows them.
const SWITCHES: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];
/// Parts of programs' error messages that mean a missing namespace.
const NO_NAMESPACE: [&str; 6] = [
    "namespace",
    "No usable sandbox",
    "uid map",
    "uid_map",
    "unshare failed",
    "clone() failure",
];

/// A failure with this cause. Its packages are those named in the cause and those of missing
/// `programs`, so that one command installs all of them.
pub(super) fn explain(cause: &str, programs: &[&str]) -> CheckFailure {
    let mut failure = CheckFailure::broken(strip_log_prefixes(cause));
    let absent = programs
        .iter()
        .filter(|program| find_program(Path::new(program)).is_none())
        .filter_map(|program| package_of(program))
        .map(str::to_owned);
    for package in named_packages(cause).into_iter().chain(absent) {
        failure = failure.package(package);
    }
    if NO_NAMESPACE.iter().any(|text| cause.contains(text)) {
        for command in namespace_switches() {
            failure = failure.fix_command(command);
        }
    }
    failure
}

/// The commands that allow user namespaces, for each kernel setting that blocks them.
pub(super) fn namespace_switches() -> Vec<String> {
    SWITCHES
        .iter()
        .filter(|(file, forbids, _)| {
            fs::read_to_string(file).is_ok_and(|value| value.trim() == *forbids)
        })
        .map(|(_, _, command)| as_root(command))
        .collect()
}

/// The command that installs these packages; absent without packages or without `apt-get`.
pub(super) fn install(packages: &[String]) -> Option<String> {
    let can = !packages.is_empty() && find_program(Path::new("apt-get")).is_some();
    can.then(|| as_root(&format!("apt-get install {}", packages.join(" "))))
}

/// The command with `sudo` or `su` unless this process is root.
pub(super) fn as_root(command: &str) -> String {
    if is_root() {
        command.to_owned()
    } else if find_program(Path::new("sudo")).is_some() {
        format!("sudo {command}")
    } else {
        format!("su -c '{command}'")
    }
}

/// Chromium's log output without line prefixes and without messages of its crash reporter.
fn strip_log_prefixes(cause: &str) -> String {
    let mut pieces = cause.split(" [");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once("] ") {
            Some((head, _)) if head.contains("crashpad") => {}
            Some((head, message)) if head.contains(":FATAL:") || head.contains(":ERROR:") => {
                text = format!("{text} {message}");
            }
            _ => text = format!("{text} [{piece}"),
        }
    }
    text
}

/// Package names in device errors such as "install the package `xvfb`".
fn named_packages(cause: &str) -> Vec<String> {
    cause
        .split("the package `")
        .skip(1)
        .filter_map(|rest| rest.split_once('`'))
        .map(|(package, _)| package.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_an_error() {
        let cause = "start `Xvfb`: it was not found; install the package `xvfb`";
        assert_eq!(named_packages(cause), ["xvfb"]);
        assert_eq!(named_packages("it broke"), Vec::<String>::new());
    }

    #[test]
    fn log_prefixes_and_crash_reporter_lines_are_removed() {
        let log = "It said: No sandbox. [15:15:1120/1243:FATAL:content/zygote.cc:228] Zygote ended \
                   [1120/1243:ERROR:third_party/crashpad/file.cc:145] open /sys/cpu [sic]";
        assert_eq!(
            strip_log_prefixes(log),
            "It said: No sandbox. Zygote ended [sic]"
        );
        assert_eq!(
            strip_log_prefixes("an array [1, 2] of two"),
            "an array [1, 2] of two"
        );
    }

    #[test]
    fn no_packages_give_no_install_command() {
        assert_eq!(install(&[]), None);
    }
}
