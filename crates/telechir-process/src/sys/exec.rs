//! Fork and exec.

use std::convert::Infallible;
use std::ffi::{CString, c_char};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Gid, Uid};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::cgroup::CgroupHandle;
use crate::guardian::{self, GuardianSocket};
use crate::{Child, Identity, SpawnError, SpawnStep};

/// What the child becomes the leader of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leader {
    Group,
    Session,
    Terminal,
}

/// Everything that the child needs, in the form of the system calls.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) path: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
    pub(crate) cwd: Option<CString>,
    pub(crate) fds: Vec<(RawFd, OwnedFd)>,
    pub(crate) identity: Option<Identity>,
    pub(crate) no_new_privs: bool,
    pub(crate) leader: Leader,
    pub(crate) limits: Vec<(Resource, Rlimit)>,
    pub(crate) umask: Option<u32>,
    pub(crate) landlock: Option<OwnedFd>,
    pub(crate) cgroups: Vec<CgroupHandle>,
    pub(crate) is_first_victim: bool,
    pub(crate) is_detached: bool,
    /// Whether the program gets no death signal.
    pub(crate) has_no_death_signal: bool,
    pub(crate) guardian: Option<Arc<GuardianSocket>>,
}

type StepFailure = (SpawnStep, Errno);

/// OOM score of programs that are killed before all others, of at most 1000.
const FIRST_VICTIM_SCORE: &[u8] = b"900";

/// From `linux/sched.h`; libc's constant has a type that is too small for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Blocks all signals in the calling thread, so that no handler of ours runs in a child.
pub(crate) fn block_signals() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: `all` is initialised by `sigfillset`, and the mask of this thread alone is set.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
    }
}

/// Starts a program; returns after `execve` succeeded or a step failed.
pub(crate) fn fork_exec(plan: &Plan) -> Result<Child, SpawnError> {
    let failed = |(step, errno): StepFailure| SpawnError::System {
        program: plan.name.clone(),
        step,
        source: io::Error::from(errno),
    };
    let relocated = relocate_fds(plan).map_err(|errno| failed((SpawnStep::Descriptors, errno)))?;
    let argv = pointers(&plan.argv);
    let env = pointers(&plan.env);
    let parent = rustix::process::getpid();

    let clone_into_fd = plan
        .cgroups
        .iter()
        .find_map(|handle| handle.clone_into_fd.as_ref());
    // SAFETY: the child only runs `exec_child`, which makes bare system calls on data prepared
    // before, and never returns here.
    let (pid, is_cloned_into_cgroup) = unsafe { fork(clone_into_fd) };
    if pid == 0 {
        let Err((step, errno)) =
            exec_child(plan, &relocated, &argv, &env, parent, is_cloned_into_cgroup);
        report(&relocated.writer, step, errno)
    }
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        let errno = io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EAGAIN);
        return Err(failed((SpawnStep::Fork, Errno::from_raw_os_error(errno))));
    };
    let RelocatedFds { reader, writer, .. } = relocated;
    drop(writer);
    // Only `Child` reaps the process, so its pid cannot be reused yet.
    let pidfd =
        pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| failed((SpawnStep::Fork, errno)));
    let child = Child::new(pid, pidfd?);
    if plan.guardian.is_some() {
        // The child reported itself; this is for the next guardian, if the current one exits.
        guardian::process_started(pid.as_raw_nonzero().get());
    }
    let mut message = Vec::with_capacity(5);
    let _end_of_pipe = File::from(reader).read_to_end(&mut message);
    match message[..] {
        [step, a, b, c, d] => {
            let step = SpawnStep::from_byte(step).unwrap_or(SpawnStep::Execute);
            let errno = Errno::from_raw_os_error(i32::from_ne_bytes([a, b, c, d]));
            Err(failed((step, errno)))
        }
        _ => Ok(child.detached(plan.is_detached)),
    }
}

/// Forks; with `clone_into_fd` the child starts in that cgroup, if the kernel supports it. Returns
/// the child's pid (0 in the child itself) and whether the child is in the cgroup.
///
/// # Safety
/// The child must make only bare system calls: other threads may hold locks, and `atfork`
/// handlers do not run.
unsafe fn fork(clone_into_fd: Option<&OwnedFd>) -> (libc::pid_t, bool) {
    if let Some(group) = clone_into_fd {
        // SAFETY: an all-zero `clone_args` is valid.
        let mut request: libc::clone_args = unsafe { std::mem::zeroed() };
        request.flags = CLONE_INTO_CGROUP;
        request.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
        request.cgroup = u64::from(group.as_raw_fd().cast_unsigned());
        // SAFETY: the size is that of the request, and memory is not shared with the child.
        let pid =
            unsafe { libc::syscall(libc::SYS_clone3, &raw const request, size_of_val(&request)) };
        if let Ok(pid @ 0..) = libc::pid_t::try_from(pid) {
            return (pid, true);
        }
        // Old kernels do not have it, and container runtimes may block it.
    }
    // SAFETY: the caller guarantees the same.
    (unsafe { libc::fork() }, false)
}

/// Duplicates with numbers above all that the child needs, so that none is overwritten.
struct RelocatedFds {
    fds: Vec<(RawFd, OwnedFd)>,
    landlock: Option<OwnedFd>,
    reader: OwnedFd,
    writer: OwnedFd,
}

fn relocate_fds(plan: &Plan) -> Result<RelocatedFds, Errno> {
    let floor = plan
        .fds
        .iter()
        .map(|(number, _)| number + 1)
        .max()
        .unwrap_or(3)
        .max(3);
    let above_floor = |fd: BorrowedFd<'_>| fcntl_dupfd_cloexec(fd, floor);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let fds = plan
        .fds
        .iter()
        .map(|(number, fd)| Ok((*number, above_floor(fd.as_fd())?)));
    let landlock = plan
        .landlock
        .as_ref()
        .map(|ruleset| above_floor(ruleset.as_fd()));
    Ok(RelocatedFds {
        fds: fds.collect::<Result<_, Errno>>()?,
        landlock: landlock.transpose()?,
        reader,
        writer: above_floor(writer.as_fd())?,
    })
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([ptr::null()])
        .collect()
}

/// Runs in the child. No allocation, no lock, no panic.
fn exec_child(
    plan: &Plan,
    relocated: &RelocatedFds,
    argv: &[*const c_char],
    env: &[*const c_char],
    parent: Pid,
    is_cloned_into_cgroup: bool,
) -> Result<Infallible, StepFailure> {
    let step_error = |step: SpawnStep| move |errno: Errno| (step, errno);
    match plan.leader {
        Leader::Group => {
            rustix::process::setpgid(None, None).map_err(step_error(SpawnStep::Session))?
        }
        Leader::Session | Leader::Terminal => {
            rustix::process::setsid().map_err(step_error(SpawnStep::Session))?;
        }
    }
    // Reported before anything else, so that the child is known even if its parent is killed now.
    if let Some(guardian) = &plan.guardian {
        guardian.report_fork(rustix::process::getpid().as_raw_nonzero().get());
    }
    for handle in &plan.cgroups {
        if is_cloned_into_cgroup && handle.clone_into_fd.is_some() {
            continue;
        }
        // Before changing the user, who may not join, and before other descriptors are installed
        // under these numbers. The parent checks whether it worked.
        let _checked_by_parent = rustix::io::write(&handle.procs_fd, b"0");
    }
    if plan.is_first_victim {
        // Before changing the user: a score set by root cannot be lowered by others. It fails if
        // our own score is higher already.
        let _is_higher = set_oom_score();
    }
    install_fds(&relocated.fds).map_err(step_error(SpawnStep::InstallFds))?;
    if plan.leader == Leader::Terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())
            .map_err(step_error(SpawnStep::Terminal))?;
    }
    if let Some(mask) = plan.umask {
        rustix::process::umask(Mode::from_raw_mode(mask));
    }
    for (resource, limit) in &plan.limits {
        rustix::process::setrlimit(*resource, *limit).map_err(step_error(SpawnStep::Limit))?;
    }
    if let Some(identity) = plan.identity {
        drop_capabilities().map_err(step_error(SpawnStep::Capabilities))?;
        change_identity(identity).map_err(step_error(SpawnStep::Identity))?;
    }
    if let Some(cwd) = &plan.cwd {
        rustix::process::chdir(cwd.as_c_str()).map_err(step_error(SpawnStep::Folder))?;
    }
    if plan.no_new_privs {
        rustix::thread::set_no_new_privs(true).map_err(step_error(SpawnStep::Privileges))?;
    }
    if let Some(ruleset) = &relocated.landlock {
        apply_landlock(ruleset).map_err(step_error(SpawnStep::Landlock))?;
    }
    if !(plan.is_detached || plan.has_no_death_signal) {
        set_death_signal(parent).map_err(step_error(SpawnStep::DeathSignal))?;
    }
    Err((SpawnStep::Execute, execute(plan, argv, env)))
}

fn set_oom_score() -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let score = rustix::fs::open(c"/proc/self/oom_score_adj", flags, Mode::empty())?;
    rustix::io::write(&score, FIRST_VICTIM_SCORE).map(|_| ())
}

/// Must follow the change of user, which clears the death signal.
fn set_death_signal(parent: Pid) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        // The parent died in between; the pipe has no reader.
        Err(Errno::SRCH)
    }
}

fn install_fds(fds: &[(RawFd, OwnedFd)]) -> Result<(), Errno> {
    // SAFETY: setting close-on-exec on every descriptor from 3 up invalidates none of them.
    let marked = unsafe {
        libc::close_range(
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC.cast_signed(),
        )
    };
    check(marked)?;
    for (number, fd) in fds {
        // SAFETY: nothing owns `number` in this process: all used descriptors were moved above it.
        check(unsafe { libc::dup2(fd.as_raw_fd(), *number) })?;
    }
    Ok(())
}

fn apply_landlock(ruleset: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: takes an open descriptor and no memory.
    let restricted =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    if restricted < 0 {
        Err(last_errno())
    } else {
        Ok(())
    }
}

fn drop_capabilities() -> Result<(), Errno> {
    for capability in 0..64_u8 {
        // SAFETY: takes numbers only.
        let dropped = unsafe {
            libc::prctl(
                libc::PR_CAPBSET_DROP,
                libc::c_ulong::from(capability),
                0,
                0,
                0,
            )
        };
        match check(dropped) {
            Ok(()) => {}
            // Above the last capability of this kernel.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    rustix::thread::clear_ambient_capability_set()
}

pub(super) fn change_identity(identity: Identity) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

fn execute(plan: &Plan, argv: &[*const c_char], env: &[*const c_char]) -> Errno {
    // SAFETY: only the dispositions and the mask of this single-threaded child change, and both
    // lists end with a null pointer and point to strings that outlive the call.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        libc::execve(plan.path.as_ptr(), argv.as_ptr(), env.as_ptr());
    }
    last_errno()
}

fn check(returned: libc::c_int) -> Result<(), Errno> {
    if returned < 0 {
        Err(last_errno())
    } else {
        Ok(())
    }
}

pub(super) fn last_errno() -> Errno {
    // SAFETY: the pointer refers to this thread's own `errno`.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// Reports a failed step to the parent and exits.
fn report(writer: &OwnedFd, step: SpawnStep, errno: Errno) -> ! {
    let [a, b, c, d] = errno.raw_os_error().to_ne_bytes();
    let _parent_may_be_gone = rustix::io::write(writer, &[step as u8, a, b, c, d]);
    // SAFETY: exits immediately, without running exit handlers of the parent.
    unsafe { libc::_exit(127) }
}
