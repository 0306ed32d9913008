//! Asks Git about a repository: its configuration, and the paths in its index. Runs nothing that
//! the repository names.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Stat, fstat, lstat, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};

use super::mount::resolve_lexically;
use crate::sys::home;
use crate::tree::Owner;
use crate::{find_program, is_root};

/// Time limit for an answer: a configuration can include a pipe that nobody writes to.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer; an index of a million paths is smaller.
const MAX_ANSWER_BYTES: u64 = 256 << 20;
/// Maximum size of a configuration that is read for [`parse`].
pub(super) const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// The home of users without one.
const NO_HOME: &str = "/nonexistent";
/// Variables that would make Git ask another repository, or write files.
const REMOVED_VARIABLES: [&str; 14] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_TRACE",
    "GIT_TRACE_SETUP",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
];

/// A key of a configuration and its value.
pub(super) type Setting = (String, String);

/// One value of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigEntry {
    /// The file that contains it, if it is in a file.
    pub(super) origin: Option<PathBuf>,
    /// In lower case, except for the name of a subsection.
    pub(super) key: String,
    pub(super) value: String,
}

impl ConfigEntry {
    pub(super) fn setting(&self) -> Setting {
        (self.key.clone(), self.value.clone())
    }
}

/// Whether Git is installed; otherwise nobody runs it here.
pub(super) fn is_installed() -> bool {
    find_program(Path::new("git")).is_some()
}

/// Whether Git accepts a folder as a repository, or would with the files of another folder.
pub(super) fn is_repository(folder: &Path) -> bool {
    let exists = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    exists("HEAD") && (exists("commondir") || (exists("objects") && exists("refs")))
}

/// Checks that no file which Git reads to the end in each repository is a device or a pipe: Git would
/// read `/dev/zero` until its memory is full.
fn check_ends(repository: &Path) -> io::Result<()> {
    for name in ["HEAD", "commondir", "config", "config.worktree"] {
        let path = repository.join(name);
        match fs::metadata(&path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                let problem = format!("{} is no regular file", path.display());
                return Err(io::Error::other(problem));
            }
            // What is missing has no end to wait for, and Git says so itself.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// A user who works with Git in the workspace, outside of the sandbox. The configuration and the
/// home folder of that user count.
#[derive(Debug)]
pub(super) struct GitUser {
    pub(super) home: Option<PathBuf>,
    /// Absent for the user of this process, whose environment counts, too.
    other: Option<Owner>,
}

impl GitUser {
    /// The user of this process.
    pub(super) fn current() -> Self {
        Self {
            home: std::env::home_dir(),
            other: None,
        }
    }

    /// Another user, by whom root runs Git.
    pub(super) fn other(user: Owner) -> Self {
        Self {
            home: home::of_user(user.uid),
            other: Some(user),
        }
    }

    /// The complete configuration that this user's Git would use in a repository: the system's and
    /// the user's, too, with all included files. Without a repository, only these.
    pub(super) fn configuration(&self, repository: Option<&Path>) -> io::Result<Vec<ConfigEntry>> {
        if let Some(repository) = repository {
            check_ends(repository)?;
        }
        let mut entries = match &self.other {
            // What that user can read, root may be denied on a network file system.
            Some(user) => {
                let mut command = self.list();
                command.uid(user.uid).gid(user.gid);
                with_origins(&answer(command, None)?)
            }
            None if repository.is_none() => with_origins(&answer(self.list(), None)?),
            None => Vec::new(),
        };
        match repository {
            Some(repository) if is_repository(repository) => {
                // The files belong to the session's user meanwhile.
                let mut command = self.list();
                command.env("GIT_DIR", repository);
                entries.extend(with_origins(&answer(command, None)?));
            }
            // A command may complete it.
            Some(incomplete) if incomplete.join("config").is_file() => {
                entries.extend(self.included(&incomplete.join("config"))?);
            }
            Some(_) | None => {}
        }
        Ok(entries)
    }

    /// The configuration in a file and in those that it includes.
    pub(super) fn included(&self, file: &Path) -> io::Result<Vec<ConfigEntry>> {
        let mut command = self.list();
        command.arg("--file").arg(file);
        Ok(with_origins(&answer(command, None)?))
    }

    /// The path that Git means for this user, relative to this folder.
    pub(super) fn expand(&self, path: &str, folder: &Path) -> PathBuf {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let home = match first.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(name) => home::of_name(name),
            None => None,
        };
        match home {
            Some(home) => resolve_lexically(&home, Path::new(rest)),
            None => resolve_lexically(folder, Path::new(path)),
        }
    }

    fn list(&self) -> Command {
        let mut command = git(["config", "--show-origin", "--includes", "--list", "-z"]);
        if self.other.is_some() {
            clear_environment(&mut command);
            command.env(
                "HOME",
                self.home.as_deref().unwrap_or_else(|| NO_HOME.as_ref()),
            );
        }
        command
    }
}

fn with_origins(answer: &[u8]) -> Vec<ConfigEntry> {
    let mut fields = answer.split(|byte| *byte == 0);
    let mut entries = Vec::new();
    while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
        let file = origin.strip_prefix(b"file:");
        let file = file.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        entries.push(config_entry(entry, file));
    }
    entries
}

/// The values in the text of a configuration, without included files.
pub(super) fn parse(text: &[u8], workspace: &OwnedFd) -> io::Result<Vec<ConfigEntry>> {
    let mut command = git(["config", "--file", "-", "--no-includes", "--list", "-z"]);
    run_as_owner(&mut command, &fstat(workspace)?);
    let answer = answer(command, Some(text))?;
    let entries = answer.split(|byte| *byte == 0);
    let entries = entries.filter(|entry| !entry.is_empty());
    Ok(entries.map(|entry| config_entry(entry, None)).collect())
}

/// The paths in the index of a repository.
pub(super) fn index_paths(repository: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut command = git(["ls-files", "-z", "--full-name"]);
    command
        .env("GIT_DIR", repository)
        .env("GIT_WORK_TREE", "/")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        // Stronger than the repository's own values.
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .env("GIT_CONFIG_VALUE_0", "false")
        .env("GIT_CONFIG_KEY_1", "core.hooksPath")
        .env("GIT_CONFIG_VALUE_1", "/dev/null");
    run_as_owner(&mut command, &lstat(repository)?);
    let answer = answer(command, None)?;
    let paths = answer.split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Ok(paths.map(<[u8]>::to_vec).collect())
}

fn config_entry(entry: &[u8], origin: Option<PathBuf>) -> ConfigEntry {
    let mut halves = entry.splitn(2, |byte| *byte == b'\n');
    let mut half = || String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
    ConfigEntry {
        origin,
        key: half(),
        value: half(),
    }
}

/// Describes a call of Git with the caller's environment, which names the user's configuration.
#[expect(
    clippy::disallowed_methods,
    reason = "the answer is awaited here for a few milliseconds, and nothing outlives the call"
)]
fn git<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir("/");
    for variable in REMOVED_VARIABLES {
        command.env_remove(variable);
    }
    command
}

/// Leaves nothing of our environment, which names our own configuration, but the search path.
fn clear_environment(command: &mut Command) {
    command.env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
}

/// As root, runs Git as the owner of the files that it reads: a command could have prepared them.
fn run_as_owner(command: &mut Command, found: &Stat) {
    if is_root() {
        command.uid(found.st_uid).gid(found.st_gid);
        command.env("HOME", NO_HOME);
        command.env_remove("XDG_CONFIG_HOME");
    }
}

/// Runs a command with this input and returns its standard output.
fn answer(mut command: Command, input: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC)?;
    command.stdout(Stdio::from(write_end));
    command.stderr(Stdio::null());
    command.stdin(match input {
        Some(input) => Stdio::from(in_memory(input)?),
        None => Stdio::null(),
    });
    let mut child = command.spawn()?;
    // Closes our copies of its descriptors, so that the answer ends.
    drop(command);
    let answered = read_until_end(read_end, MAX_ANSWER_BYTES);
    if answered.is_err() {
        let _may_have_exited = child.kill();
    }
    let status = child.wait()?;
    let answer = answered?;
    if status.success() {
        Ok(answer)
    } else {
        Err(io::Error::other(format!("git failed ({status})")))
    }
}

/// A file in memory with this text, to be read from its beginning. A pipe could be full.
fn in_memory(text: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("configuration", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file)
}

fn read_until_end(read_end: OwnedFd, max_bytes: u64) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut file = File::from(read_end);
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut fds = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(answer);
        }
        answer.extend_from_slice(&buffer[..read]);
        if answer.len() as u64 > max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_that_git_uses() {
        let user = GitUser {
            home: Some("/home/me".into()),
            other: None,
        };
        let root = home::of_user(0).expect("an account");
        let folder = Path::new("/w/sub");
        for (path, expected) in [
            ("../hooks", PathBuf::from("/w/hooks")),
            ("/hooks", PathBuf::from("/hooks")),
            ("~/hooks", PathBuf::from("/home/me/hooks")),
            ("~root/hooks", root.join("hooks")),
            ("~no such user/x", PathBuf::from("/w/sub/~no such user/x")),
        ] {
            assert_eq!(user.expand(path, folder), expected, "{path}");
        }
    }

    #[test]
    fn a_repository_has_a_head_and_its_own_data_or_that_of_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        for (number, (names, expected)) in [
            (&["HEAD", "objects", "refs"][..], true),
            (&["HEAD", "commondir"], true),
            (&["HEAD", "objects"], false),
            (&["HEAD", "refs"], false),
            (&["objects", "refs", "commondir"], false),
        ]
        .into_iter()
        .enumerate()
        {
            let at = folder.path().join(number.to_string());
            fs::create_dir(&at).unwrap();
            for name in names {
                fs::write(at.join(name), "").unwrap();
            }
            assert_eq!(is_repository(&at), expected, "{names:?}");
        }
    }

    #[test]
    fn the_paths_of_an_index_are_those_that_were_added() {
        let folder = tempfile::tempdir().unwrap();
        let worktree = folder.path().to_str().unwrap();
        let run = |arguments| answer(git::<4>(arguments), None).unwrap();
        run(["-C", worktree, "init", "--quiet"]);
        fs::create_dir(folder.path().join("sub")).unwrap();
        for name in ["one", "sub/two"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let repository = folder.path().join(".git");
        assert_eq!(index_paths(&repository).unwrap(), [b""; 0]);
        run(["-C", worktree, "add", "."]);
        assert_eq!(index_paths(&repository).unwrap(), [&b"one"[..], b"sub/two"]);
        let root = crate::tree::open_folder(folder.path()).unwrap();
        let danger = super::super::dangers::in_index(&root, folder.path(), Path::new(".git"));
        assert_eq!(danger, None);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a command that says how it was started"
    )]
    fn root_runs_git_as_the_owner_of_the_files_without_a_home() {
        let mut found = lstat("/").unwrap();
        (found.st_uid, found.st_gid) = (65534, 65533);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $(id -u) $(id -g) $HOME $XDG_CONFIG_HOME"]);
        command.env("HOME", "/root").env("XDG_CONFIG_HOME", "/etc");
        run_as_owner(&mut command, &found);
        let output = String::from_utf8(answer(command, None).unwrap()).unwrap();
        let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
        let expected = match is_root() {
            true => format!("65534 65533 {NO_HOME}\n"),
            false => format!("{} {} /root /etc\n", user.as_raw(), group.as_raw()),
        };
        assert_eq!(output, expected);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a command that says how it was started"
    )]
    fn of_our_environment_only_the_search_path_stays() {
        let mut command = Command::new("/usr/bin/env");
        command
            .env("HOME", "/root")
            .env("GIT_CONFIG_GLOBAL", "/etc/x");
        clear_environment(&mut command);
        let output = String::from_utf8(answer(command, None).unwrap()).unwrap();
        let path = std::env::var("PATH").unwrap();
        assert_eq!(output, format!("PATH={path}\n"));
    }

    #[test]
    fn an_answer_has_at_most_its_maximum_size() {
        let answered = |length: usize| {
            let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let mut write_end = File::from(write_end);
            write_end.write_all(&vec![b'a'; length]).unwrap();
            drop(write_end);
            read_until_end(read_end, 1000).map(|answer| answer.len())
        };
        assert_eq!(answered(1000).unwrap(), 1000);
        for length in [1001, 1002] {
            let error = answered(length).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        }
    }
}
