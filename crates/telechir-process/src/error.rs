//! Errors of starting a program.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a program was not started. Messages complete "failed to".
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The program was not found in the system's folders.
    #[error("start `{program}`: it was not found{}", install(.package))]
    NotFound {
        /// The program as the caller named it: a name or a path.
        program: String,
        /// The Debian package that contains it, if known.
        package: Option<&'static str>,
    },
    /// An argument, variable or path contains a zero byte.
    #[error("start `{program}`: {what} contains a zero byte")]
    ZeroByte {
        /// The program as the caller named it: a name or a path.
        program: String,
        /// The affected part of the request, such as "an argument".
        what: &'static str,
    },
    /// Another user was requested without being root.
    #[error(
        "start `{program}` as user {uid}: this needs root; omit the identity to run it as yourself"
    )]
    NotRoot {
        /// The program as the caller named it: a name or a path.
        program: String,
        /// The requested user id.
        uid: u32,
    },
    /// The working directory does not exist.
    #[error("start `{program}` in {}: no such folder", cwd.display())]
    NoFolder {
        /// The program as the caller named it: a name or a path.
        program: String,
        /// The requested working directory.
        cwd: PathBuf,
    },
    /// A system call failed.
    #[error("start `{program}`: could not {step}")]
    System {
        /// The program as the caller named it: a name or a path.
        program: String,
        /// The step that failed.
        step: SpawnStep,
        /// The error of the system call.
        #[source]
        source: io::Error,
    },
}

fn install(package: &Option<&'static str>) -> String {
    package.map_or_else(
        || "; install it or check its name".to_owned(),
        |package| format!("; install the package `{package}`"),
    )
}

/// Steps between a request and a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SpawnStep {
    /// Create pipes and duplicate descriptors.
    Descriptors,
    /// Start the thread that starts programs.
    Thread,
    /// Create the process and its pidfd.
    Fork,
    /// Create a session or a process group.
    Session,
    /// Install the requested descriptors and close all others.
    InstallFds,
    /// Take the controlling terminal.
    Terminal,
    /// Set a resource limit.
    Limit,
    /// Drop capabilities before the change of user.
    Capabilities,
    /// Change user and group.
    Identity,
    /// Change to the working directory.
    Folder,
    /// Set `no_new_privs`, which disables setuid programs.
    Privileges,
    /// Apply a Landlock ruleset.
    Landlock,
    /// Set the parent death signal.
    DeathSignal,
    /// Execute the program, which replaces the child process.
    Execute,
}

impl SpawnStep {
    const ALL: [Self; 14] = [
        Self::Descriptors,
        Self::Thread,
        Self::Fork,
        Self::Session,
        Self::InstallFds,
        Self::Terminal,
        Self::Limit,
        Self::Capabilities,
        Self::Identity,
        Self::Folder,
        Self::Privileges,
        Self::Landlock,
        Self::DeathSignal,
        Self::Execute,
    ];

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == byte)
    }
}

impl fmt::Display for SpawnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "create its descriptors",
            Self::Thread => "start the thread that starts programs",
            Self::Fork => "create the process",
            Self::Session => "create its session",
            Self::InstallFds => "install its descriptors",
            Self::Terminal => "set its controlling terminal",
            Self::Limit => "set its resource limits",
            Self::Capabilities => "drop its capabilities",
            Self::Identity => "change its user",
            Self::Folder => "change to its working directory",
            Self::Privileges => "set no_new_privs",
            Self::Landlock => "apply Landlock rules",
            Self::DeathSignal => "set its death signal",
            Self::Execute => "execute it",
        })
    }
}
