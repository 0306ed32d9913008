//! Configuration of a shell: its isolation and limits.

use std::path::PathBuf;

use telechir_egress::Egress;
use telechir_process::Identity;
pub use telechir_process::confinement::{MissingFiles, ResourceLimits};

/// The isolation between commands and the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// bubblewrap, with access to the workspace only.
    Sandbox(Sandbox),
    /// A container of Docker or Podman.
    Docker(Docker),
    /// No isolation; requires an explicit choice of the operator.
    Host(Host),
}

/// A sandbox: read-only system, no home, and no network except through the egress proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// The writable folder, at the same path inside; also the home directory inside.
    pub workspace: PathBuf,
    /// User that commands run as; required for root, `None` otherwise.
    pub identity: Option<Identity>,
    /// Additional read-only paths, at the same location inside.
    pub read_only: Vec<PathBuf>,
    /// Additional writable paths, at the same location inside.
    pub writable: Vec<PathBuf>,
    /// Treatment of protected files of the workspace that do not exist.
    pub missing: MissingFiles,
    /// The egress proxy; `None` means no network.
    pub network: Option<Egress>,
    /// Additional environment variables inside; they override the defaults.
    pub env: Vec<(String, String)>,
    /// Resource limits of commands.
    pub limits: ResourceLimits,
    /// Folder for small session files; default `/dev/shm`, else `/tmp`.
    pub runtime_dir: PathBuf,
    /// Folder for files of long outputs; default `/tmp`.
    pub output_dir: PathBuf,
}

impl Sandbox {
    /// A sandbox around this workspace, which must exist, with default settings.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            identity: None,
            read_only: Vec::new(),
            writable: Vec::new(),
            missing: MissingFiles::Creatable,
            network: None,
            env: Vec::new(),
            limits: ResourceLimits::default(),
            runtime_dir: runtime_dir(),
            output_dir: PathBuf::from("/tmp"),
        }
    }
}

/// A container of an existing image, with access to the workspace only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Docker {
    /// The container engine's program, `docker` or `podman`.
    pub engine: String,
    /// The image, which must exist locally and contain bash and util-linux.
    pub image: String,
    /// The OCI runtime that isolates the container; absent means the engine's default.
    pub runtime: Option<ContainerRuntime>,
    /// The writable folder, at the same path inside; also the home directory inside.
    pub workspace: PathBuf,
    /// User that commands run as; never root.
    pub identity: Identity,
    /// Additional environment variables inside, besides `HOME`, `TERM` and `LANG`.
    pub env: Vec<(String, String)>,
    /// Environment of the engine's client program, such as `DOCKER_HOST`; not passed to the
    /// container.
    pub engine_env: Vec<(String, String)>,
    /// Resource limits of commands.
    pub limits: ResourceLimits,
    /// Folder for small session files; default `/dev/shm`, else `/tmp`.
    pub runtime_dir: PathBuf,
    /// Folder for files of long outputs; default `/tmp`.
    pub output_dir: PathBuf,
}

impl Docker {
    /// Image for callers that name only an engine.
    pub const IMAGE: &str = "debian:12-slim";

    /// A container of this image around this workspace, which must exist, with default settings.
    pub fn new(
        engine: impl Into<String>,
        image: impl Into<String>,
        workspace: impl Into<PathBuf>,
        identity: Identity,
    ) -> Self {
        Self {
            engine: engine.into(),
            image: image.into(),
            runtime: None,
            workspace: workspace.into(),
            identity,
            env: Vec::new(),
            engine_env: Vec::new(),
            limits: ResourceLimits::default(),
            runtime_dir: runtime_dir(),
            output_dir: PathBuf::from("/tmp"),
        }
    }
}

/// The name of an OCI runtime, as the engine's configuration has it, such as `runsc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRuntime(String);

impl ContainerRuntime {
    /// Parses a name: letters, digits, `.`, `_` and `-`, not an option and not a path.
    ///
    /// # Errors
    /// When the text is not such a name; the message says what is expected.
    pub fn parse(name: &str) -> Result<Self, String> {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts_well && name.len() <= 64 && name.chars().all(is_known) {
            Ok(Self(name.to_owned()))
        } else {
            Err("expected the name of an OCI runtime of the engine, such as runsc".to_owned())
        }
    }

    /// The name as passed to `--runtime` of the engine.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// No sandbox: commands run as the invoking user with all its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The initial working directory.
    pub workspace: PathBuf,
    /// The complete environment: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Folder for small session files; default `/dev/shm`, else `/tmp`.
    pub runtime_dir: PathBuf,
    /// Folder for files of long outputs; default `/tmp`.
    pub output_dir: PathBuf,
}

impl Host {
    /// An unsandboxed shell that starts in this folder.
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
