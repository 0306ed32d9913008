//! How starting a program fails.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a program was not started. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("start `{program}`: it was not found{}", install(.package))]
    NotFound {
        /// What was asked for.
        program: String,
        /// The package that brings it, where known.
        package: Option<&'static str>,
    },
    /// An argument, a variable or a path holds a zero byte.
    #[error("start `{program}`: {what} holds a zero byte")]
    ZeroByte {
        /// What was asked for.
        program: String,
        /// Which part of the request.
        what: &'static str,
    },
    /// Another identity was asked for, but only root can give one.
    #[error("start `{program}` as user {uid}: only root can; leave the identity out")]
    NotRoot {
        /// What was asked for.
        program: String,
        /// The user asked for.
        uid: u32,
    },
    /// The folder to start in is not there.
    #[error("start `{program}` in {}: no such folder", cwd.display())]
    NoFolder {
        /// What was asked for.
        program: String,
        /// The folder.
        cwd: PathBuf,
    },
    /// The system refused one of the steps.
    #[error("start `{program}`: could not {step}")]
    System {
        /// What was asked for.
        program: String,
        /// The step.
        step: Step,
        /// The system's word for it.
        #[source]
        source: io::Error,
    },
}

fn install(package: &Option<&'static str>) -> String {
    package.map_or_else(
        || "; install it, or look whether its name is right".to_owned(),
        |package| format!("; install the package `{package}`"),
    )
}

/// The steps between a request and a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Make pipes and duplicates of descriptors.
    Descriptors,
    /// Start the thread that starts programs.
    Thread,
    /// Make the process.
    Fork,
    /// Lead a session or a group of its own.
    Session,
    /// Put descriptors in their places and close the others.
    Place,
    /// Take the controlling terminal.
    Terminal,
    /// Set a resource limit.
    Limit,
    /// Drop capabilities.
    Capabilities,
    /// Change user and group.
    Identity,
    /// Enter the folder.
    Folder,
    /// Give up new privileges.
    Privileges,
    /// Hold it to Landlock rules.
    Landlock,
    /// Tie its life to ours.
    DeathSignal,
    /// Run the program.
    Execute,
}

impl Step {
    const ALL: [Self; 14] = [
        Self::Descriptors,
        Self::Thread,
        Self::Fork,
        Self::Session,
        Self::Place,
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

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "make its descriptors",
            Self::Thread => "start the thread that starts programs",
            Self::Fork => "make the process",
            Self::Session => "give it a session of its own",
            Self::Place => "place its descriptors",
            Self::Terminal => "give it its terminal",
            Self::Limit => "limit its resources",
            Self::Capabilities => "drop its capabilities",
            Self::Identity => "change its user",
            Self::Folder => "enter its folder",
            Self::Privileges => "take away new privileges",
            Self::Landlock => "hold it to Landlock rules",
            Self::DeathSignal => "tie its life to ours",
            Self::Execute => "run it",
        })
    }
}
