//! Whether a command waits for someone to type.

use std::fs;

use telechir_process::Pid;

use crate::processes;

#[cfg(target_arch = "x86_64")]
const READ: &str = "0";
#[cfg(not(target_arch = "x86_64"))]
const READ: &str = "63";

/// Whether a process of the foreground group is inside a read of a terminal. Certain when true;
/// a program that waits in another way, such as one with a line editor, is not seen.
pub(crate) fn reads_terminal(foreground: Pid) -> bool {
    let group = foreground.as_raw_nonzero().get();
    let of_group = |process: &processes::Process| process.group == group;
    processes::all()
        .into_values()
        .filter(of_group)
        .any(|process| is_reading(process.pid))
}

fn is_reading(pid: i32) -> bool {
    let Ok(call) = fs::read_to_string(format!("/proc/{pid}/syscall")) else {
        return false;
    };
    let mut words = call.split_ascii_whitespace();
    if words.next() != Some(READ) {
        return false;
    }
    let number = words
        .next()
        .and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let Some(number) = number else { return false };
    let Ok(file) = fs::read_link(format!("/proc/{pid}/fd/{number}")) else {
        return false;
    };
    file.starts_with("/dev/pts") || file == std::path::Path::new("/dev/tty")
}
