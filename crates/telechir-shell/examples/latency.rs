//! Measures the time of a start and of trivial commands: `cargo run --example latency [host]`.
#![expect(clippy::print_stdout, reason = "it is a command-line tool")]

use std::time::{Duration, Instant};

use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_process::{Identity, Spawn, is_root};
use telechir_protocol::Command;
use telechir_shell::{Bash, Host, Isolation, Sandbox};

const ROUNDS: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir_in("/tmp")?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode)?;
    let identity = is_root().then(|| Identity::unprivileged(3_860)).flatten();
    let isolation = if std::env::args().nth(1).as_deref() == Some("host") {
        Isolation::Host(Host::new(folder.path()))
    } else {
        Isolation::Sandbox(Sandbox {
            identity,
            ..Sandbox::new(folder.path())
        })
    };
    let started = Instant::now();
    let mut shell = Bash::start(isolation).await?;
    println!("start            {:>9.1} µs", micros(started.elapsed()));
    for line in ["true", "echo hi", "/bin/true", "ls /usr | wc -l"] {
        measure(&mut shell, line).await?;
    }
    disturbed(&mut shell).await?;
    let ended = Instant::now();
    shell.close().await?;
    println!("close            {:>9.1} µs", micros(ended.elapsed()));
    Ok(())
}

fn command(line: &str) -> ShellCommand {
    ShellCommand {
        command: Command::Line(line.to_owned()),
        timeout: Duration::from_secs(10),
        max_output_bytes: 64 * 1024,
        cwd: None,
        env: Vec::new(),
    }
}

/// Runs each command after another program has run, as in real use.
async fn disturbed(shell: &mut Bash) -> Result<(), Box<dyn std::error::Error>> {
    let command = command("true");
    let mut took = Vec::with_capacity(ROUNDS / 10);
    for _ in 0..ROUNDS / 10 {
        let other = Spawn::new("bash").args(["-c", "true"]).spawn().await?;
        other.end(Duration::from_secs(10)).await?;
        let started = Instant::now();
        shell.run(&command).await?;
        took.push(started.elapsed());
    }
    print("true, disturbed", took);
    Ok(())
}

async fn measure(shell: &mut Bash, line: &str) -> Result<(), DeviceError> {
    let command = command(line);
    let mut took = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        shell.run(&command).await?;
        took.push(started.elapsed());
    }
    print(line, took);
    Ok(())
}

fn print(what: &str, mut took: Vec<Duration>) {
    took.sort();
    println!(
        "{what:<16} {:>9.1} µs median, {:.1} minimum",
        micros(took[took.len() / 2]),
        micros(took[0])
    );
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
