//! Runs a small system program and collects its output.

use std::os::fd::OwnedFd;

use telechir_process::{Spawn, Stdio};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use crate::error::chain;

/// Maximum bytes of output read from each stream.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// A program's output and whether it succeeded.
#[derive(Debug)]
pub(super) struct ProgramOutput {
    pub(super) is_success: bool,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs a program; dropping this kills it. The error is the reason why it did not start.
pub(super) async fn run(spawn: Spawn) -> Result<ProgramOutput, String> {
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
    Ok(ProgramOutput {
        is_success: status.success(),
        out,
        err,
    })
}

async fn text(pipe: Option<OwnedFd>) -> String {
    let mut bytes = Vec::new();
    if let Some(Ok(pipe)) = pipe.map(Receiver::from_owned_fd) {
        let _partial_output_suffices = pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
