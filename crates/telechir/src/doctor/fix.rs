//! What mends a part: the packages that an error names, and the switches of user namespaces.

use std::fs;
use std::path::Path;

use telechir_process::{find_program, is_root, package_of};

use super::finding::Trouble;

/// Switches of the kernel, the value that forbids, and what allows again.
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
/// How programs say that they got no namespace.
const NO_NAMESPACE: [&str; 6] = [
    "namespace",
    "No usable sandbox",
    "uid map",
    "uid_map",
    "unshare failed",
    "clone() failure",
];

/// A trouble with this cause. Packages are those that the cause names and those of the `programs`
/// that are not there, so that one command brings all of them.
pub(super) fn explain(cause: &str, programs: &[&str]) -> Trouble {
    let mut trouble = Trouble::broken(calm(cause));
    let absent = programs
        .iter()
        .filter(|program| find_program(Path::new(program)).is_none())
        .filter_map(|program| package_of(program))
        .map(str::to_owned);
    for package in named_packages(cause).into_iter().chain(absent) {
        trouble = trouble.package(package);
    }
    if NO_NAMESPACE.iter().any(|words| cause.contains(words)) {
        for command in namespace_switches() {
            trouble = trouble.command(command);
        }
    }
    trouble
}

/// What allows user namespaces again, where a switch of this kernel forbids them.
pub(super) fn namespace_switches() -> Vec<String> {
    SWITCHES
        .iter()
        .filter(|(file, forbids, _)| {
            fs::read_to_string(file).is_ok_and(|value| value.trim() == *forbids)
        })
        .map(|(_, _, command)| as_root(command))
        .collect()
}

/// The command that installs these packages; none when there are none, or no `apt-get`.
pub(super) fn install(packages: &[String]) -> Option<String> {
    let can = !packages.is_empty() && find_program(Path::new("apt-get")).is_some();
    can.then(|| as_root(&format!("apt-get install {}", packages.join(" "))))
}

/// A command as someone who may be no root types it.
pub(super) fn as_root(command: &str) -> String {
    if is_root() {
        command.to_owned()
    } else if find_program(Path::new("sudo")).is_some() {
        format!("sudo {command}")
    } else {
        format!("su -c '{command}'")
    }
}

/// Chromium's last words without the heads of its log's lines, and without what its reporter of
/// crashes says of itself.
fn calm(cause: &str) -> String {
    let mut pieces = cause.split(" [");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once("] ") {
            Some((head, _)) if head.contains("crashpad") => {}
            Some((head, said)) if head.contains(":FATAL:") || head.contains(":ERROR:") => {
                text = format!("{text} {said}");
            }
            _ => text = format!("{text} [{piece}"),
        }
    }
    text
}

/// Errors of devices say "install the package `xvfb`".
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
    fn a_log_is_read_for_what_it_says() {
        let log = "It said: No sandbox. [15:15:1120/1243:FATAL:content/zygote.cc:228] Zygote ended \
                   [1120/1243:ERROR:third_party/crashpad/file.cc:145] open /sys/cpu [sic]";
        assert_eq!(calm(log), "It said: No sandbox. Zygote ended [sic]");
        assert_eq!(calm("an array [1, 2] of two"), "an array [1, 2] of two");
    }

    #[test]
    fn without_packages_there_is_nothing_to_install() {
        assert_eq!(install(&[]), None);
    }
}
