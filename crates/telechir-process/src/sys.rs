//! What has no safe form: the one module here that needs `unsafe`.
//!
//! The argument for [`exec`]: between `fork` and `execve` the child of a process with threads may
//! only do what is safe in a signal handler. Everything that allocates is prepared in
//! [`exec::Plan`] before; the child makes bare system calls, writes the number of a failed one
//! into a pipe, and exits. [`inside`] does the same without a program. The argument for [`watch`]: it owns what it registers and never gives
//! it away.
#![expect(
    unsafe_code,
    reason = "fork, execve, dup2, prctl, setns and registering a descriptor"
)]

pub(crate) mod exec;
pub(crate) mod kill_uid;
pub(crate) mod landlock;
pub(crate) mod netns_socket;
pub(crate) mod readiness;
