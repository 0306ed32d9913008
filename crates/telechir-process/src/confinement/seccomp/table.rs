//! The committed tables of system calls, one for each architecture.

use std::io;

#[cfg(target_arch = "x86_64")]
const TABLE: &str = include_str!("x86_64.txt");
#[cfg(target_arch = "aarch64")]
const TABLE: &str = include_str!("aarch64.txt");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("a sandbox needs a table of this architecture's system calls");

/// The answer to a listed system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Allowed for all arguments.
    Allowed,
    /// Allowed, except for arguments that the filter refuses.
    Checked,
    /// Fails with `EPERM`.
    Refused,
}

/// One line of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SystemCall {
    pub(super) number: i64,
    pub(super) name: &'static str,
    pub(super) answer: Answer,
}

/// All listed calls of the architecture that this program was built for.
pub(super) fn of_this_architecture() -> io::Result<Vec<SystemCall>> {
    parse(TABLE)
}

fn parse(table: &'static str) -> io::Result<Vec<SystemCall>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let calls = lines.map(|line| {
        call(line).ok_or_else(|| io::Error::other(format!("not a system call: `{line}`")))
    });
    calls.collect()
}

fn call(line: &'static str) -> Option<SystemCall> {
    let mut fields = line.split(' ');
    let (number, name) = (fields.next()?.parse().ok()?, fields.next()?);
    let answer = match fields.next()? {
        "allowed" => Answer::Allowed,
        "checked" => Answer::Checked,
        "refused" => Answer::Refused,
        _ => return None,
    };
    Some(SystemCall {
        number,
        name,
        answer,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL: [(&str, &str); 2] = [
        ("x86_64", include_str!("x86_64.txt")),
        ("aarch64", include_str!("aarch64.txt")),
    ];

    #[test]
    fn each_table_is_sorted_and_lists_each_call_once() {
        for (architecture, table) in ALL {
            let calls = parse(table).unwrap();
            assert!(calls.is_sorted_by(|a, b| a.number < b.number));
            let names: BTreeSet<&str> = calls.iter().map(|call| call.name).collect();
            assert_eq!(names.len(), calls.len(), "{architecture}");
        }
    }

    #[test]
    fn both_architectures_give_the_same_answers() {
        let [one, two] = ALL.map(|(_, table)| parse(table).unwrap());
        for call in &one {
            let other = two.iter().find(|other| other.name == call.name);
            assert!(
                other.is_none_or(|other| other.answer == call.answer),
                "{call:?}"
            );
        }
    }

    #[test]
    fn numbers_are_those_of_the_kernel() {
        let calls = of_this_architecture().unwrap();
        for (name, number) in [
            ("openat", libc::SYS_openat),
            ("ptrace", libc::SYS_ptrace),
            ("mount_setattr", libc::SYS_mount_setattr),
            ("mseal", libc::SYS_mseal),
        ] {
            let found = calls.iter().find(|call| call.name == name);
            assert_eq!(found.map(|call| call.number), Some(number), "{name}");
        }
    }

    #[test]
    fn calls_whose_arguments_are_in_memory_are_not_listed() {
        for (architecture, table) in ALL {
            let calls = parse(table).unwrap();
            for name in ["openat2", "clone3", "io_uring_setup", "open_tree_attr"] {
                assert!(
                    calls.iter().all(|call| call.name != name),
                    "{architecture}: {name}"
                );
            }
        }
    }
}
