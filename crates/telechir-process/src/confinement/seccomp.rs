//! Seccomp filters with an answer to every system call in a sandbox, as files for bubblewrap.
//!
//! The table of the architecture lists the calls that programs may make. Calls without a use inside
//! fail with `EPERM`, and so do some arguments of others. A call that is not listed fails with
//! `ENOSYS`, as on a kernel without it, so that programs fall back to older calls: all calls of
//! later kernels; `clone3` and `openat2`, whose flags and modes a filter cannot read; and io_uring,
//! which hides calls. Only calls of the native architecture are allowed.

mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use table::{Answer, SystemCall};

/// Flags of `clone` that create a namespace.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Allowed socket families: they stay in the network namespace, unlike vsock and others.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// `ioctl` requests that insert text into a terminal's input.
const TERMINAL_INJECTIONS: [libc::Ioctl; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Mode bits that run a file as its owner or group. A file with one of them in the workspace gives
/// its owner's rights to every user outside.
const SET_ID_BITS: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Flags with which the kernel reads the mode of `open`; `O_TMPFILE` includes `O_DIRECTORY`.
const CREATION_FLAGS: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// Creates both filters, each in a file that bubblewrap reads: the refused calls, and the listed
/// ones. If both refuse a call, the second decides on the error number.
pub(super) fn filters() -> io::Result<[OwnedFd; 2]> {
    let calls = table::of_this_architecture()?;
    let refused = refused(&calls)?;
    let refused = compile(
        refused,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
    )?;
    let listed = calls.iter().map(|call| (call.number, Vec::new())).collect();
    let listed = compile(
        listed,
        SeccompAction::Errno(libc::ENOSYS.cast_unsigned()),
        SeccompAction::Allow,
    )?;
    Ok([to_file(&refused)?, to_file(&listed)?])
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The rules that refuse a call; a call without conditions is refused for all arguments.
fn refused(calls: &[SystemCall]) -> io::Result<Rules> {
    let mut rules = Rules::new();
    for call in calls {
        let conditions = match call.answer {
            Answer::Allowed => continue,
            Answer::Refused => Vec::new(),
            Answer::Checked => refused_arguments(call.name).map_err(io::Error::other)?,
        };
        rules.insert(call.number, conditions);
    }
    Ok(rules)
}

/// The arguments with which a call is refused; each rule alone suffices.
fn refused_arguments(call: &str) -> Result<Vec<SeccompRule>, BackendError> {
    match call {
        "clone" => NAMESPACES
            .iter()
            .map(|flag| rule([has_bits(0, flag.cast_unsigned())]))
            .collect(),
        "socket" => {
            let others = FAMILIES.map(|family| differs(0, family.cast_unsigned()));
            Ok(vec![rule(others)?])
        }
        // The kernel reads only the lower half of the request, so the filter does, too.
        "ioctl" => TERMINAL_INJECTIONS
            .iter()
            .map(|request| rule([condition(1, SeccompCmpOp::Eq, *request)]))
            .collect(),
        "chmod" | "fchmod" | "creat" | "mknod" => modes(1),
        "fchmodat" | "fchmodat2" | "mknodat" => modes(2),
        "open" => modes_at_creation(1, 2),
        "openat" => modes_at_creation(2, 3),
        // Without conditions, the call is refused for all arguments.
        _ => Ok(Vec::new()),
    }
}

/// Refuses modes with a set-id bit in this argument.
fn modes(mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = SET_ID_BITS.iter().map(|bit| rule([has_bits(mode, *bit)]));
    rules.collect()
}

/// Refuses modes with a set-id bit, if the flags create a file; other calls pass no mode.
fn modes_at_creation(flags: u8, mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = Vec::new();
    for creates in CREATION_FLAGS {
        for bit in SET_ID_BITS {
            let creates = has_bits(flags, creates.cast_unsigned());
            rules.push(rule([creates, has_bits(mode, bit)])?);
        }
    }
    Ok(rules)
}

type Condition = Result<SeccompCondition, BackendError>;

fn has_bits(argument: u8, bits: u32) -> Condition {
    let bits = u64::from(bits);
    condition(argument, SeccompCmpOp::MaskedEq(bits), bits)
}

fn differs(argument: u8, value: u32) -> Condition {
    condition(argument, SeccompCmpOp::Ne, u64::from(value))
}

/// A condition on the lower half of an argument: the kernel's modes, flags of files, families and
/// requests have 32 bits.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn rule<const N: usize>(conditions: [Condition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

fn compile(rules: Rules, others: SeccompAction, matched: SeccompAction) -> io::Result<BpfProgram> {
    let target = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, others, matched, target);
    let filter = filter.map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    Ok(without_x32(program))
}

/// Refuses the x32 ABI of x86-64 kernels, whose call numbers the rules do not list.
fn without_x32(program: BpfProgram) -> BpfProgram {
    if cfg!(not(target_arch = "x86_64")) {
        return program;
    }
    const X32_BIT: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS, of offset 0.
    const JUMP_IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ERRNO: u32 = 0x0005_0000; // SECCOMP_RET_ERRNO
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut guarded = vec![
        instruction(LOAD_NUMBER, 0, 0, 0),
        instruction(JUMP_IF_AT_LEAST, 0, 1, X32_BIT),
        instruction(RETURN, 0, 0, ERRNO | libc::ENOSYS.cast_unsigned()),
    ];
    guarded.extend(program);
    guarded
}

fn to_file(program: &BpfProgram) -> io::Result<OwnedFd> {
    let mut bytes = Vec::with_capacity(size_of_val(program.as_slice()));
    for instruction in program {
        bytes.extend(instruction.code.to_ne_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_ne_bytes());
    }
    let mut file = File::from(memfd_create("telechir-seccomp", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_checked_call_has_refused_arguments() {
        for call in table::of_this_architecture().unwrap() {
            let conditions = refused_arguments(call.name).unwrap();
            let is_checked = call.answer == Answer::Checked;
            assert_eq!(!conditions.is_empty(), is_checked, "{}", call.name);
        }
    }

    #[test]
    fn a_refused_call_has_no_conditions_and_an_allowed_one_no_rule() {
        let calls = table::of_this_architecture().unwrap();
        let rules = refused(&calls).unwrap();
        for call in &calls {
            let conditions = rules.get(&call.number).map(Vec::len);
            match call.answer {
                Answer::Allowed => assert_eq!(conditions, None, "{}", call.name),
                Answer::Refused => assert_eq!(conditions, Some(0), "{}", call.name),
                Answer::Checked => assert!(conditions > Some(0), "{}", call.name),
            }
        }
    }

    #[test]
    fn a_filter_begins_with_the_refusal_of_other_call_numbers() {
        let program = compile(Rules::new(), SeccompAction::Allow, SeccompAction::Trap).unwrap();
        assert!(!program.is_empty());
        let guarded = without_x32(program.clone());
        let added = if cfg!(target_arch = "x86_64") { 3 } else { 0 };
        assert_eq!(guarded.len(), program.len() + added);
        let ends_alike = guarded.iter().rev().zip(program.iter().rev());
        assert!(
            ends_alike
                .into_iter()
                .all(|(one, other)| one.code == other.code && one.k == other.k)
        );
    }

    #[test]
    fn a_mode_is_read_with_the_flags_that_create_a_file() {
        // `O_DIRECTORY` alone, which `O_TMPFILE` includes, creates nothing.
        assert_eq!(CREATION_FLAGS, [libc::O_CREAT, 0o20_000_000]);
        assert_eq!(modes_at_creation(1, 2).unwrap().len(), 4);
    }
}
