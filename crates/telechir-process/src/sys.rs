//! System calls without a safe wrapper; the only module of this crate with `unsafe` code.
//!
//! Soundness of [`exec`]: between `fork` and `execve` the child of a multi-threaded process may
//! only make async-signal-safe calls. Everything that allocates is prepared in [`exec::Plan`]
//! before; the child makes bare system calls, writes the error number of a failed one into a
//! pipe, and exits. [`netns_socket`] and [`cover`] do the same without `execve`. Soundness of [`readiness`]:
//! it owns the descriptor that it registers and never gives it away.
#![expect(
    unsafe_code,
    reason = "fork, execve, dup2, prctl, setns, accounts, registering a descriptor, and the
              process at the other end of a socket"
)]

pub(crate) mod cover;
pub(crate) mod exec;
pub(crate) mod home;
pub(crate) mod kill_uid;
pub(crate) mod landlock;
pub(crate) mod netns_socket;
pub(crate) mod peer;
pub(crate) mod readiness;
