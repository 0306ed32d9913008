//! Real processes, seen from outside.
#![expect(clippy::unwrap_used, reason = "a test stops where its ground is gone")]

mod descriptors;
mod guardian;
mod identity;
mod termination;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use telechir_process::{Child, Spawn, Stdio};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

/// Long enough for a busy machine, short enough to see a hang.
const CEILING: Duration = Duration::from_secs(20);

/// Everything that comes out of a pipe until its last writer is gone.
async fn read_all(reader: OwnedFd) -> String {
    let mut text = Vec::new();
    let mut reader = pipe::Receiver::from_owned_fd(reader).unwrap();
    timeout(CEILING, reader.read_to_end(&mut text))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(text).unwrap()
}

/// What a program prints, and how it ends.
async fn output(spawn: Spawn) -> (String, Option<i32>) {
    let mut child = spawn.stdout(Stdio::Piped).spawn().await.unwrap();
    let text = read_all(child.take_stdout().unwrap()).await;
    let status = timeout(CEILING, child.wait()).await.unwrap().unwrap();
    (text, status.code())
}

/// A shell that runs `script`.
fn sh(script: &str) -> Spawn {
    Spawn::new("sh").arg("-c").arg(script)
}

/// A pipe whose reader ends when every holder of the writer is gone.
fn lifeline() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap()
}

/// Reads one line that a child wrote when it was ready.
async fn read_line(child: &mut Child) -> String {
    let mut stdout = pipe::Receiver::from_owned_fd(child.take_stdout().unwrap()).unwrap();
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push(char::from(
            timeout(CEILING, stdout.read_u8()).await.unwrap().unwrap(),
        ));
    }
    line.trim_end().to_owned()
}

/// Our own descriptor of that number, as another owner's.
fn reopen(number: u32) -> OwnedFd {
    File::options()
        .write(true)
        .open(format!("/proc/self/fd/{number}"))
        .unwrap()
        .into()
}
