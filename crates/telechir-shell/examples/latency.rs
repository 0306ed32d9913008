//! Measures how long a start and trivial commands take: `cargo run --example latency [host]`.
#![expect(clippy::print_stdout, reason = "its whole purpose is to print")]

use std::time::{Duration, Instant};

use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_process::{Identity, am_root};
use telechir_protocol::Command;
use telechir_shell::{Bash, Host, Isolation, Sandbox};

const ROUNDS: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir_in("/tmp")?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode)?;
    let identity = am_root().then(|| Identity::unprivileged(3_860)).flatten();
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
    let ended = Instant::now();
    shell.close().await?;
    println!("close            {:>9.1} µs", micros(ended.elapsed()));
    Ok(())
}

async fn measure(shell: &mut Bash, line: &str) -> Result<(), DeviceError> {
    let command = ShellCommand {
        command: Command::Line(line.to_owned()),
        timeout: Duration::from_secs(10),
        max_output_bytes: 64 * 1024,
        cwd: None,
        env: Vec::new(),
    };
    let mut took = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        shell.run(&command).await?;
        took.push(started.elapsed());
    }
    took.sort();
    println!(
        "{line:<16} {:>9.1} µs median, {:.1} least",
        micros(took[ROUNDS / 2]),
        micros(took[0])
    );
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
