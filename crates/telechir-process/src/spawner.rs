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

type Answer = oneshot::Receiver<Result<Child, SpawnError>>;

/// Has the spawner thread start what `plan` says.
pub(crate) async fn start(plan: Plan) -> Result<Child, SpawnError> {
    let name = plan.name.clone();
    let answer = order(plan)?.await;
    answer.map_err(|_| no_thread(name, libc::ESRCH))?
}

/// The same for a thread of no runtime.
pub(crate) fn start_and_wait(plan: Plan) -> Result<Child, SpawnError> {
    let name = plan.name.clone();
    let answer = order(plan)?.blocking_recv();
    answer.map_err(|_| no_thread(name, libc::ESRCH))?
}

fn order(plan: Plan) -> Result<Answer, SpawnError> {
    let name = plan.name.clone();
    let jobs = match SPAWNER.get_or_init(spawner) {
        Ok(jobs) => jobs,
        Err(code) => return Err(no_thread(name, *code)),
    };
    let (reply, answer) = oneshot::channel();
    let ordered = jobs.send((plan, reply));
    ordered.map_err(|_| no_thread(name, libc::ESRCH))?;
    Ok(answer)
}

fn no_thread(program: String, code: i32) -> SpawnError {
    SpawnError::System {
        program,
        step: Step::Thread,
        source: io::Error::from_raw_os_error(code),
    }
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
