//! The one thread that forks. A child's death signal is tied to the thread that made it, and this
//! one lives as long as our process does; a runtime's worker may not.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::oneshot;

use crate::sys::exec::{Plan, block_signals, fork_exec};
use crate::{Child, SpawnError, Step};

type Job = (Plan, oneshot::Sender<Result<Child, SpawnError>>);

static SPAWNER: OnceLock<Result<Sender<Job>, i32>> = OnceLock::new();

/// Has the spawner thread start what `plan` says.
pub(crate) async fn start(plan: Plan) -> Result<Child, SpawnError> {
    let no_thread = |program: String, code: i32| SpawnError::System {
        program,
        step: Step::Thread,
        source: io::Error::from_raw_os_error(code),
    };
    let name = plan.name.clone();
    let jobs = SPAWNER
        .get_or_init(spawner)
        .as_ref()
        .map_err(|code| no_thread(name.clone(), *code))?;
    let (reply, answer) = oneshot::channel();
    let gone = || no_thread(name.clone(), libc::ESRCH);
    jobs.send((plan, reply)).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn spawner() -> Result<Sender<Job>, i32> {
    let (jobs, queue) = channel::<Job>();
    let run = move || {
        block_signals();
        for (plan, reply) in queue {
            // When nobody waits any more, the child is dropped here, and with it ended.
            let _nobody_waits = reply.send(fork_exec(&plan));
        }
    };
    let thread = thread::Builder::new()
        .name("telechir-spawner".to_owned())
        .spawn(run);
    thread
        .map(|_| jobs)
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EAGAIN))
}
