//! What a shell on Windows would be: which bash, how its paths are said, what it is started with.
//!
//! Nothing here runs on Windows, and no executor uses it yet. These are pure functions over a
//! [`Machine`] that is described to them, so that they can be tested anywhere.

mod paths;

pub use paths::{to_posix, to_windows};

/// A variable that names the bash to take; what it names is taken or refused, never passed over.
pub const OVERRIDE: &str = "TELECHIR_BASH";
/// Keeps Git Bash from rewriting arguments that look like paths, such as `/c` of `cmd /c` or the
/// `/` of a URL.
pub const NO_CONVERSION: (&str, &str) = ("MSYS_NO_PATHCONV", "1");

/// Below a folder of programs.
const IN_PROGRAMS: &str = r"Git\bin\bash.exe";
/// Below a folder of scoop.
const IN_SCOOP: &str = r"apps\git\current\bin\bash.exe";
/// From the folder of a `git.exe` to its bash: it is in `cmd`, `bin` or `mingw64\bin`.
const BESIDE_GIT: [&str; 2] = [r"..\bin\bash.exe", r"..\..\bin\bash.exe"];

/// A machine with Windows, as far as the choice of a shell needs it.
pub trait Machine {
    /// A variable of the environment; Windows does not tell their cases apart.
    fn variable(&self, name: &str) -> Option<String>;

    /// Whether there is a file at this path.
    fn is_file(&self, path: &str) -> bool;
}

/// What commands would be given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowsShell {
    /// The bash of Git for Windows, by its path.
    GitBash(String),
    /// The system's own, by its path.
    Cmd(String),
}

/// Why there is no shell. Texts read after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoShell {
    /// The variable names what is not there.
    #[error("use {path}, which {OVERRIDE} names: there is no such file")]
    NotThere {
        /// What it names.
        path: String,
    },
    /// The variable names the bash of another system.
    #[error(
        "use {path}, which {OVERRIDE} names: it is the bash of the Windows Subsystem for Linux, \
         which has other files and other programs; name the bash.exe of Git for Windows"
    )]
    OfLinux {
        /// What it names.
        path: String,
    },
}

/// A program with what it is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program's path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables on top of the environment.
    pub env: Vec<(String, String)>,
}

impl WindowsShell {
    /// The shell to take: what [`OVERRIDE`] names, else Git's bash where it is usually installed or
    /// where the search path leads to it, else `cmd.exe`. Never the bash of the Windows Subsystem
    /// for Linux, which stands first in many search paths.
    ///
    /// # Errors
    /// When the variable names something that cannot be taken.
    pub fn find(machine: &impl Machine) -> Result<Self, NoShell> {
        if let Some(path) = machine.variable(OVERRIDE).filter(|path| !path.is_empty()) {
            let path = unquoted(&path);
            return match path {
                path if is_of_linux(&path) => Err(NoShell::OfLinux { path }),
                path if machine.is_file(&path) => Ok(Self::GitBash(path)),
                path => Err(NoShell::NotThere { path }),
            };
        }
        let mut usual = installed(machine).into_iter().chain(on_path(machine));
        if let Some(bash) = usual.find(|path| !is_of_linux(path) && machine.is_file(path)) {
            return Ok(Self::GitBash(bash));
        }
        let named = machine.variable("ComSpec").filter(|path| !path.is_empty());
        Ok(Self::Cmd(named.unwrap_or_else(|| "cmd.exe".to_owned())))
    }

    /// How a command is given to it.
    pub fn invocation(&self, command: &str) -> Invocation {
        match self {
            Self::GitBash(program) => Invocation {
                program: program.clone(),
                args: vec!["-c".to_owned(), command.to_owned()],
                env: vec![(NO_CONVERSION.0.to_owned(), NO_CONVERSION.1.to_owned())],
            },
            Self::Cmd(program) => Invocation {
                program: program.clone(),
                // Without what a registry key has every cmd run first; the rest as it stands.
                args: ["/d", "/s", "/c", command].map(str::to_owned).to_vec(),
                env: Vec::new(),
            },
        }
    }
}

/// Where installers put it.
fn installed(machine: &impl Machine) -> Vec<String> {
    let below = |variable: &str, folder: &str| {
        let root = machine.variable(variable).filter(|root| !root.is_empty());
        root.map(|root| join(&root, folder))
    };
    let programs = ["ProgramW6432", "ProgramFiles", "ProgramFiles(x86)"];
    let programs = programs.iter().map(|name| below(name, IN_PROGRAMS));
    let of_user = below("LocalAppData", &format!(r"Programs\{IN_PROGRAMS}"));
    let scoop = [
        below("SCOOP", IN_SCOOP),
        below("UserProfile", &format!(r"scoop\{IN_SCOOP}")),
        below("SCOOP_GLOBAL", IN_SCOOP),
        below("ProgramData", &format!(r"scoop\{IN_SCOOP}")),
    ];
    programs.chain([of_user]).chain(scoop).flatten().collect()
}

/// Where the search path leads: beside a `git.exe`, or a bash that stands in it.
fn on_path(machine: &impl Machine) -> Vec<String> {
    let path = machine.variable("Path").unwrap_or_default();
    let folders = path.split(';').map(unquoted).filter(|one| !one.is_empty());
    let candidates = |folder: String| {
        let has_git = machine.is_file(&join(&folder, "git.exe"));
        let beside = BESIDE_GIT.iter().filter(move |_| has_git);
        let beside = beside.map(|way| paths::normal(&join(&folder, way)));
        let beside: Vec<String> = beside.collect();
        beside.into_iter().chain([join(&folder, "bash.exe")])
    };
    folders.flat_map(candidates).collect()
}

/// Whether a bash belongs to the Windows Subsystem for Linux: it is a program of the system, or a
/// stand-in of the store.
fn is_of_linux(path: &str) -> bool {
    let path = paths::normal(path).to_lowercase();
    let in_system = ["system32", "syswow64", "sysnative"].iter().any(|folder| {
        let parts: Vec<&str> = path.split('\\').collect();
        matches!(parts[..], [.., "windows" | "winnt", parent, _] if parent == *folder)
    });
    in_system || path.contains(r"\microsoft\windowsapps\")
}

/// People quote paths with spaces in variables, where nothing takes the quotes away.
fn unquoted(path: &str) -> String {
    path.trim().trim_matches('"').to_owned()
}

fn join(folder: &str, name: &str) -> String {
    format!("{}\\{name}", folder.trim_end_matches(['\\', '/']))
}

#[cfg(test)]
mod tests;
