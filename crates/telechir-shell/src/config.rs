//! Where commands run and what they may use.

use std::path::PathBuf;

use telechir_egress::Egress;
use telechir_process::Identity;
pub use telechir_process::confinement::{Limits, Missing};

/// What stands between commands and the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// bubblewrap: the workspace and nothing else.
    Sandbox(Sandbox),
    /// A container of Docker or Podman, for those who have an engine.
    Docker(Docker),
    /// Nothing. Only for someone who asked for it in so many words.
    Host(Host),
}

/// A sandbox: the system is read-only, home is absent, there is no network but what is let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// The one folder that is written to, at the same path inside; also the home there.
    pub workspace: PathBuf,
    /// Whom commands run as. Root must say one; an ordinary user leaves it out.
    pub identity: Option<Identity>,
    /// Further paths that can be read, at the same place inside.
    pub read_only: Vec<PathBuf>,
    /// Further paths that can be written to.
    pub writable: Vec<PathBuf>,
    /// What becomes of protected files of the workspace that are not there.
    pub missing: Missing,
    /// The way to the network; absent means that there is none.
    pub network: Option<Egress>,
    /// Variables on top of the few that are always set.
    pub env: Vec<(String, String)>,
    /// What commands may use.
    pub limits: Limits,
    /// Where our own small files go; in memory by preference.
    pub runtime_dir: PathBuf,
    /// Where long outputs go; on disk by preference.
    pub output_dir: PathBuf,
}

impl Sandbox {
    /// A sandbox around this workspace, which must exist.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            identity: None,
            read_only: Vec::new(),
            writable: Vec::new(),
            missing: Missing::MayBeMade,
            network: None,
            env: Vec::new(),
            limits: Limits::default(),
            runtime_dir: runtime_dir(),
            output_dir: PathBuf::from("/tmp"),
        }
    }
}

/// A container: an image of yours, with the workspace and nothing else of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Docker {
    /// The engine's program, `docker` or `podman`.
    pub engine: String,
    /// The image, which must be there already and hold bash and util-linux.
    pub image: String,
    /// The one folder that is written to, at the same path inside; also the home there.
    pub workspace: PathBuf,
    /// Whom commands run as; never root.
    pub identity: Identity,
    /// Variables on top of the few that are always set.
    pub env: Vec<(String, String)>,
    /// The environment of the engine's own program, which tells it where its engine is. None of
    /// it reaches the container.
    pub engine_env: Vec<(String, String)>,
    /// What commands may use.
    pub limits: Limits,
    /// Where our own small files go; in memory by preference.
    pub runtime_dir: PathBuf,
    /// Where long outputs go; on disk by preference.
    pub output_dir: PathBuf,
}

impl Docker {
    /// The image where none is named.
    pub const IMAGE: &str = "debian:12-slim";

    /// A container of this image around this workspace, which must exist.
    pub fn new(
        engine: impl Into<String>,
        image: impl Into<String>,
        workspace: impl Into<PathBuf>,
        identity: Identity,
    ) -> Self {
        Self {
            engine: engine.into(),
            image: image.into(),
            workspace: workspace.into(),
            identity,
            env: Vec::new(),
            engine_env: Vec::new(),
            limits: Limits::default(),
            runtime_dir: runtime_dir(),
            output_dir: PathBuf::from("/tmp"),
        }
    }
}

/// No sandbox: commands run as the invoking user and can do all that user can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The folder to begin in.
    pub workspace: PathBuf,
    /// The environment, whole: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Where our own small files go; in memory by preference.
    pub runtime_dir: PathBuf,
    /// Where long outputs go; on disk by preference.
    pub output_dir: PathBuf,
}

impl Host {
    /// Commands begin in this folder.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            env: Vec::new(),
            runtime_dir: runtime_dir(),
            output_dir: PathBuf::from("/tmp"),
        }
    }
}

fn runtime_dir() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        PathBuf::from("/tmp")
    }
}
