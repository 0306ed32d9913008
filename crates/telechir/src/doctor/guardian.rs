//! Whether a session's guardian ends what the session leaves running.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use telechir_process::{Signal, Spawn};
use tokio::time::timeout;

use super::finding::{Checked, Seen, Trouble};
use super::fix::explain;
use super::users;
use crate::error::chain;

/// What it promises.
const PROMISED: Duration = Duration::from_secs(2);

/// Leaves a program running at the end of a session, and sees it killed by somebody else.
pub(super) async fn check() -> Checked {
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
    let began = Instant::now();
    users::remove(folder)?;
    let ended = timeout(PROMISED, left.wait()).await;
    let took = began.elapsed().as_millis();
    match ended {
        Ok(Ok(status)) if status.signal() == Some(Signal::KILL.as_raw()) => Ok(Seen::new(format!(
            "a program that a session left running was ended in {took} ms"
        ))),
        Ok(Ok(status)) => Err(Trouble::broken(format!(
            "a program that a session left running ended by itself, with {status}"
        ))),
        Ok(Err(error)) => Err(Trouble::broken(error.to_string())),
        Err(_) => Err(Trouble::broken(format!(
            "a program that a session left running still ran after {} s",
            PROMISED.as_secs()
        ))),
    }
}
