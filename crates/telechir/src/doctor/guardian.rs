//! Whether the guardian kills programs that a session leaves running.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use telechir_process::{Signal, Spawn};
use tokio::time::timeout;

use super::finding::{CheckFailure, CheckResult, Observation};
use super::fix::explain;
use super::users;
use crate::error::chain;

/// The guardian's documented limit.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Leaves a program running at the end of a session and expects that the guardian kills it.
pub(super) async fn check() -> CheckResult {
    let folder = users::folder().await?;
    let started = Spawn::new("sleep")
        .arg("1000")
        .identity(folder.identity())
        .new_session()
        .cwd("/")
        .spawn()
        .await;
    let left = match started {
        Ok(left) => left,
        Err(error) => {
            users::remove(folder)?;
            return Err(explain(&format!("failed to {}", chain(&error)), &[]));
        }
    };
    let started = Instant::now();
    users::remove(folder)?;
    let ended = timeout(KILL_TIMEOUT, left.wait()).await;
    let took = started.elapsed().as_millis();
    match ended {
        Ok(Ok(status)) if status.signal() == Some(Signal::KILL.as_raw()) => Ok(Observation::new(
            format!("a program left running by a session was killed after {took} ms"),
        )),
        Ok(Ok(status)) => Err(CheckFailure::broken(format!(
            "a program left running by a session exited by itself with {status}"
        ))),
        Ok(Err(error)) => Err(CheckFailure::broken(error.to_string())),
        Err(_) => Err(CheckFailure::broken(format!(
            "a program left running by a session was still running after {} s",
            KILL_TIMEOUT.as_secs()
        ))),
    }
}
