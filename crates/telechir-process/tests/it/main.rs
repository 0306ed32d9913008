//! Real processes, seen from outside.
#![expect(clippy::unwrap_used, reason = "a test fails where its setup fails")]

mod attacks;
mod descriptors;
mod guardian;
mod identity;
mod network_namespace;
mod termination;

use std::fs::File;
use std::os::fd::OwnedFd;

use telechir_process::{Child, Spawn, Stdio};
use telechir_testkit::eventually::PATIENCE;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

/// Reads a pipe until its last writer closes it.
async fn read_all(reader: OwnedFd) -> String {
    let mut text = Vec::new();
    let mut reader = pipe::Receiver::from_owned_fd(reader).unwrap();
    timeout(PATIENCE, reader.read_to_end(&mut text))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(text).unwrap()
}

/// Runs a program; returns its output and exit code.
async fn output(spawn: Spawn) -> (String, Option<i32>) {
    let mut child = spawn.stdout(Stdio::Piped).spawn().await.unwrap();
    let text = read_all(child.take_stdout().unwrap()).await;
    let status = timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    (text, status.code())
}

/// A shell that runs `script`.
fn sh(script: &str) -> Spawn {
    Spawn::new("sh").arg("-c").arg(script)
}

/// A pipe whose reader sees end-of-file when every process with the writer has exited.
fn lifeline() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap()
}

/// Reads the line with which a child reports that it is ready.
async fn read_line(child: &mut Child) -> String {
    let mut stdout = pipe::Receiver::from_owned_fd(child.take_stdout().unwrap()).unwrap();
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push(char::from(
            timeout(PATIENCE, stdout.read_u8()).await.unwrap().unwrap(),
        ));
    }
    line.trim_end().to_owned()
}

/// Opens our own descriptor again, as an independent one.
fn reopen(number: u32) -> OwnedFd {
    File::options()
        .write(true)
        .open(format!("/proc/self/fd/{number}"))
        .unwrap()
        .into()
}
