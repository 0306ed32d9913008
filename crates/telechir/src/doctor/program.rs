//! Runs a small program of the system to its end and takes what it says.

use std::os::fd::OwnedFd;

use telechir_process::{Spawn, Stdio};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use crate::error::chain;

/// More than this nobody needs to hear.
const MOST: u64 = 64 << 10;

/// What a program said and whether it ended well.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) is_success: bool,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs it; dropping this ends it. The error is the reason why it did not start.
pub(super) async fn run(spawn: Spawn) -> Result<Said, String> {
    let spawn = spawn.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    let spawn = spawn.env("LANG", "C.UTF-8");
    let mut child = spawn
        .stdout(Stdio::Piped)
        .stderr(Stdio::Piped)
        .spawn()
        .await
        .map_err(|error| format!("failed to {}", chain(&error)))?;
    let (out, err) = tokio::join!(text(child.take_stdout()), text(child.take_stderr()));
    let status = child.wait().await.map_err(|error| error.to_string())?;
    Ok(Said {
        is_success: status.success(),
        out,
        err,
    })
}

async fn text(pipe: Option<OwnedFd>) -> String {
    let mut bytes = Vec::new();
    if let Some(Ok(pipe)) = pipe.map(Receiver::from_owned_fd) {
        let _what_came_so_far_will_do = pipe.take(MOST).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
