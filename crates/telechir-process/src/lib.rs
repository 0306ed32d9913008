//! Starts programs as another user with exactly the given environment and descriptors, and kills
//! them with all their descendants.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use telechir_process::{Identity, Spawn, Stdio, is_root};
//!
//! let identity = is_root().then(|| Identity::unprivileged(0)).flatten();
//! let mut child = Spawn::new("sleep")
//!     .arg("1000")
//!     .env("LANG", "C.UTF-8")
//!     .identity(identity)
//!     .stdout(Stdio::Piped)
//!     .spawn()
//!     .await?;
//! let stdout = child.take_stdout();
//! child.end(Duration::from_secs(1)).await?;
//! # drop(stdout);
//! # Ok(())
//! # }
//! ```

mod cgroup;
mod child;
pub mod confinement;
mod connect;
mod error;
pub mod guardian;
mod identity;
mod private_folder;
mod program;
mod spawn;
mod spawner;
mod sys;
pub mod tree;

pub use rustix::process::{Pid, Resource, Rlimit, Signal};

pub use cgroup::{Cgroup, EffectiveLimits};
pub use child::Child;
pub use connect::connect_as;
pub use error::{SpawnError, SpawnStep};
pub use identity::{Identity, is_root};
pub use private_folder::{
    PrivateFolder, is_plain_name, is_private_dir, let_read, make_private_dir, make_private_file,
};
pub use program::{find_program, package_of};
pub use spawn::{Spawn, Stdio};
pub use sys::landlock::landlock_abi;
pub use sys::peer::peer_process;
pub use sys::readiness::Readiness;
