//! A persistent bash, sandboxed by default: input goes to its terminal, outputs come from pipes,
//! and the end of a command is an event that bash reports.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use telechir_device::{Shell, ShellCommand};
//! use telechir_process::{Identity, is_root};
//! use telechir_protocol::Command;
//! use telechir_shell::{Bash, Isolation, Sandbox};
//!
//! let mut sandbox = Sandbox::new("/home/me/project");
//! sandbox.identity = is_root().then(|| Identity::unprivileged(0)).flatten();
//! let mut shell = Bash::start(Isolation::Sandbox(sandbox)).await?;
//! let command = ShellCommand {
//!     command: Command::Line("cargo test".to_owned()),
//!     timeout: Duration::from_secs(60),
//!     max_output_bytes: 64 * 1024,
//!     cwd: None,
//!     env: Vec::new(),
//! };
//! let output = shell.run(&command).await?;
//! println!("{:?}: {}", output.outcome, output.stdout);
//! shell.close().await?;
//! # Ok(())
//! # }
//! ```

mod background_output;
mod bash;
mod capture;
mod config;
mod control_channel;
mod disk_guard;
mod docker;
mod editor;
mod host;
mod input_wait;
mod jobs;
mod keys;
mod output;
mod processes;
mod prompt;
mod running;
mod sandbox;
mod script;
mod session;
mod socket_guard;
mod spool;
mod terminal;

pub use bash::Bash;
pub use config::{
    ContainerRuntime, Docker, Host, Isolation, MissingFiles, ResourceLimits, Sandbox,
};
pub use editor::FileEditor;
