//! Seccomp filters with the system calls that a sandbox refuses, as files for bubblewrap.
//!
//! Only calls of the native architecture are allowed. Calls without a use inside fail with `EPERM`;
//! `clone3` (whose flags a filter cannot read) and io_uring (which hides calls) fail with `ENOSYS`,
//! so that programs fall back to older calls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Calls that fail with `EPERM` for all arguments.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Ways past paths.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    // The kernel's keys, programs, modules and self.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    // The machine's clock and name.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Calls that fail with `ENOSYS`, as on a kernel without them.
const UNKNOWN: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

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

/// Creates both filters, each in a file that bubblewrap reads.
pub(super) fn filters() -> io::Result<[OwnedFd; 2]> {
    let refused = compile(refused().map_err(io::Error::other)?, libc::EPERM)?;
    let unknown = UNKNOWN.iter().map(|number| (*number, Vec::new())).collect();
    let unknown = compile(unknown, libc::ENOSYS)?;
    Ok([to_file(&refused)?, to_file(&unknown)?])
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused() -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    let mut clone = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let with_flag = SeccompCmpOp::MaskedEq(flag);
        clone.push(rule(vec![condition(
            0,
            SeccompCmpArgLen::Qword,
            with_flag,
            flag,
        )?])?);
    }
    rules.insert(libc::SYS_clone, clone);
    let other_families = FAMILIES.iter().map(|family| {
        condition(
            0,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Ne,
            u64::from(family.cast_unsigned()),
        )
    });
    rules.insert(
        libc::SYS_socket,
        vec![rule(other_families.collect::<Result<_, _>>()?)?],
    );
    // The kernel reads only the lower half of the request, so the filter does, too.
    let injections = TERMINAL_INJECTIONS.iter().map(|request| {
        rule(vec![condition(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            *request,
        )?])
    });
    rules.insert(libc::SYS_ioctl, injections.collect::<Result<_, _>>()?);
    Ok(rules)
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions)
}

fn compile(rules: Rules, errno: libc::c_int) -> io::Result<BpfProgram> {
    let target = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, target);
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
