//! The thread that forks. A death signal is tied to the thread that created the child; this thread
//! lives as long as our process, while a runtime's worker may not.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::oneshot;

use crate::sys::exec::{Plan, block_signals, fork_exec};
use crate::{Child, SpawnError, SpawnStep};

type SpawnRequest = (Plan, oneshot::Sender<Result<Child, SpawnError>>);

static SPAWNER: OnceLock<Result<Sender<SpawnRequest>, i32>> = OnceLock::new();

type SpawnReply = oneshot::Receiver<Result<Child, SpawnError>>;

/// Starts a program on the spawner thread.
pub(crate) async fn start(plan: Plan) -> Result<Child, SpawnError> {
    let name = plan.name.clone();
    let answer = enqueue(plan)?.await;
    answer.map_err(|_| no_thread(name, libc::ESRCH))?
}

/// Like [`start`], for threads outside a runtime.
pub(crate) fn start_and_wait(plan: Plan) -> Result<Child, SpawnError> {
    let name = plan.name.clone();
    let answer = enqueue(plan)?.blocking_recv();
    answer.map_err(|_| no_thread(name, libc::ESRCH))?
}

fn enqueue(plan: Plan) -> Result<SpawnReply, SpawnError> {
    let name = plan.name.clone();
    let requests = match SPAWNER.get_or_init(spawner) {
        Ok(requests) => requests,
        Err(code) => return Err(no_thread(name, *code)),
    };
    let (reply, answer) = oneshot::channel();
    let sent = requests.send((plan, reply));
    sent.map_err(|_| no_thread(name, libc::ESRCH))?;
    Ok(answer)
}

fn no_thread(program: String, code: i32) -> SpawnError {
    SpawnError::System {
        program,
        step: SpawnStep::Thread,
        source: io::Error::from_raw_os_error(code),
    }
}

fn spawner() -> Result<Sender<SpawnRequest>, i32> {
    let (requests, queue) = channel::<SpawnRequest>();
    let run = move || {
        block_signals();
        for (plan, reply) in queue {
            // If the receiver is gone, the child is dropped here, which kills it.
            let _nobody_waits = reply.send(fork_exec(&plan));
        }
    };
    let thread = thread::Builder::new()
        .name("telechir-spawner".to_owned())
        .spawn(run);
    thread
        .map(|_| requests)
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EAGAIN))
}
