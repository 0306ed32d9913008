//! Fork and exec.

use std::convert::Infallible;
use std::ffi::{CString, c_char};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;

use rustix::fs::Mode;
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Gid, Uid};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::cgroup::Door;
use crate::guardian::{self, Link};
use crate::spawn::Leads;
use crate::{Child, Identity, SpawnError, Step};

/// All that the child needs, in the form the system takes.
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
    pub(crate) leads: Leads,
    pub(crate) limits: Vec<(Resource, Rlimit)>,
    pub(crate) umask: Option<u32>,
    pub(crate) landlock: Option<OwnedFd>,
    pub(crate) groups: Vec<Door>,
    pub(crate) outlives: bool,
    /// Whether it gets no death signal.
    pub(crate) is_spared: bool,
    pub(crate) guardian: Option<Arc<Link>>,
}

type Failed = (Step, Errno);

/// Of `linux/sched.h`; libc has it in a number that is too small for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Keeps signals from the calling thread, so that none of our handlers runs in a child.
pub(crate) fn block_signals() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: `all` is initialised by `sigfillset`, and the mask of this thread alone is set.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
    }
}

/// Starts a program and returns when it runs.
pub(crate) fn fork_exec(plan: &Plan) -> Result<Child, SpawnError> {
    let failed = |(step, errno): Failed| SpawnError::System {
        program: plan.name.clone(),
        step,
        source: io::Error::from(errno),
    };
    let raised = raise(plan).map_err(|errno| failed((Step::Descriptors, errno)))?;
    let argv = pointers(&plan.argv);
    let env = pointers(&plan.env);
    let parent = rustix::process::getpid();

    let birth = plan.groups.iter().find_map(|door| door.birth.as_ref());
    // SAFETY: the child only runs `become_program`, which keeps to bare system calls on data
    // that was made before, and never returns here.
    let (pid, is_born_in_group) = unsafe { fork(birth) };
    if pid == 0 {
        let Err((step, errno)) =
            become_program(plan, &raised, &argv, &env, parent, is_born_in_group);
        report(&raised.writer, step, errno)
    }
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        let errno = io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EAGAIN);
        return Err(failed((Step::Fork, Errno::from_raw_os_error(errno))));
    };
    let Raised { reader, writer, .. } = raised;
    drop(writer);
    // Nobody reaps the child before `Child` does, so its number cannot have a new owner yet.
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| failed((Step::Fork, errno)));
    let child = Child::new(pid, pidfd?);
    if plan.guardian.is_some() {
        // It said so itself; this is for the next guardian, should that one die.
        guardian::started(pid.as_raw_nonzero().get());
    }
    let mut message = Vec::with_capacity(5);
    let _end_of_pipe = File::from(reader).read_to_end(&mut message);
    match message[..] {
        [step, a, b, c, d] => {
            let step = Step::from_byte(step).unwrap_or(Step::Execute);
            let errno = Errno::from_raw_os_error(i32::from_ne_bytes([a, b, c, d]));
            Err(failed((step, errno)))
        }
        _ => Ok(child),
    }
}

/// Forks, with the child in this control group from its first moment where the kernel does that;
/// the child's number, none in the child itself, and whether the child is in the group.
///
/// # Safety
/// The child must keep to bare system calls: its locks may be held by threads that it has not,
/// and not even those who wait for a fork were told.
unsafe fn fork(birth: Option<&OwnedFd>) -> (libc::pid_t, bool) {
    if let Some(group) = birth {
        // SAFETY: all zeros ask for nothing.
        let mut request: libc::clone_args = unsafe { std::mem::zeroed() };
        request.flags = CLONE_INTO_CGROUP;
        request.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
        request.cgroup = u64::from(group.as_raw_fd().cast_unsigned());
        // SAFETY: the request has this length, and memory is not shared with the child.
        let pid =
            unsafe { libc::syscall(libc::SYS_clone3, &raw const request, size_of_val(&request)) };
        if let Ok(pid @ 0..) = libc::pid_t::try_from(pid) {
            return (pid, true);
        }
        // Old kernels do not know it, and containers may refuse it.
    }
    // SAFETY: as our caller promises.
    (unsafe { libc::fork() }, false)
}

/// Duplicates whose numbers are above every number the child wants, so that none is overwritten.
struct Raised {
    fds: Vec<(RawFd, OwnedFd)>,
    landlock: Option<OwnedFd>,
    reader: OwnedFd,
    writer: OwnedFd,
}

fn raise(plan: &Plan) -> Result<Raised, Errno> {
    let floor = plan
        .fds
        .iter()
        .map(|(number, _)| number + 1)
        .max()
        .unwrap_or(3)
        .max(3);
    let up = |fd: BorrowedFd<'_>| fcntl_dupfd_cloexec(fd, floor);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let fds = plan
        .fds
        .iter()
        .map(|(number, fd)| Ok((*number, up(fd.as_fd())?)));
    let landlock = plan.landlock.as_ref().map(|ruleset| up(ruleset.as_fd()));
    Ok(Raised {
        fds: fds.collect::<Result<_, Errno>>()?,
        landlock: landlock.transpose()?,
        reader,
        writer: up(writer.as_fd())?,
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
fn become_program(
    plan: &Plan,
    raised: &Raised,
    argv: &[*const c_char],
    env: &[*const c_char],
    parent: Pid,
    is_born_in_group: bool,
) -> Result<Infallible, Failed> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    match plan.leads {
        Leads::Group => rustix::process::setpgid(None, None).map_err(at(Step::Session))?,
        Leads::Session | Leads::Terminal => {
            rustix::process::setsid().map_err(at(Step::Session))?;
        }
    }
    // From here on: should our parent be killed now, it cannot.
    if let Some(guardian) = &plan.guardian {
        guardian.forked(rustix::process::getpid().as_raw_nonzero().get());
    }
    for door in &plan.groups {
        if is_born_in_group && door.birth.is_some() {
            continue;
        }
        // Before the change of user, who may not, and before other descriptors take these
        // numbers. Our parent looks whether it worked.
        let _seen_by_parent = rustix::io::write(&door.members, b"0");
    }
    place(&raised.fds).map_err(at(Step::Place))?;
    if plan.leads == Leads::Terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()).map_err(at(Step::Terminal))?;
    }
    if let Some(mask) = plan.umask {
        rustix::process::umask(Mode::from_raw_mode(mask));
    }
    for (resource, limit) in &plan.limits {
        rustix::process::setrlimit(*resource, *limit).map_err(at(Step::Limit))?;
    }
    if let Some(identity) = plan.identity {
        drop_capabilities().map_err(at(Step::Capabilities))?;
        change_identity(identity).map_err(at(Step::Identity))?;
    }
    if let Some(cwd) = &plan.cwd {
        rustix::process::chdir(cwd.as_c_str()).map_err(at(Step::Folder))?;
    }
    if plan.no_new_privs {
        rustix::thread::set_no_new_privs(true).map_err(at(Step::Privileges))?;
    }
    if let Some(ruleset) = &raised.landlock {
        restrict(ruleset).map_err(at(Step::Landlock))?;
    }
    if !(plan.outlives || plan.is_spared) {
        die_with(parent).map_err(at(Step::DeathSignal))?;
    }
    Err((Step::Execute, execute(plan, argv, env)))
}

/// Comes after the change of user, which would clear the signal.
fn die_with(parent: Pid) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        // It died in between, and nobody reads the pipe.
        Err(Errno::SRCH)
    }
}

fn place(fds: &[(RawFd, OwnedFd)]) -> Result<(), Errno> {
    // SAFETY: marking every descriptor from 3 up to be closed by exec invalidates none of them.
    let swept = unsafe {
        libc::close_range(
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC.cast_signed(),
        )
    };
    check(swept)?;
    for (number, fd) in fds {
        // SAFETY: nothing in this process owns `number`: all that is still used was raised above it.
        check(unsafe { libc::dup2(fd.as_raw_fd(), *number) })?;
    }
    Ok(())
}

fn restrict(ruleset: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: takes a descriptor that is open, and no memory.
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
            // Past the last one that this kernel knows.
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
    // SAFETY: only dispositions and the mask of this one-threaded child are set, and both lists
    // end with a null pointer and point to strings that outlive the call.
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
    // SAFETY: the pointer is to this thread's own number.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// Tells the parent what failed, and ends the child.
fn report(writer: &OwnedFd, step: Step, errno: Errno) -> ! {
    let [a, b, c, d] = errno.raw_os_error().to_ne_bytes();
    let _parent_may_be_gone = rustix::io::write(writer, &[step as u8, a, b, c, d]);
    // SAFETY: ends the process at once, without handlers that belong to the parent.
    unsafe { libc::_exit(127) }
}
