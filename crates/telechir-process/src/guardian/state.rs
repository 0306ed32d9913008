//! The state that a guardian cleans up, and the messages that transfer it. Both sides keep it: the
//! guardian for the cleanup, the session for a new guardian when the first one exits.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::link::FORKED;
use super::processes;
use crate::Identity;
use crate::tree::Owner;

const INITIAL_STATE: u8 = b'b';
const STARTED: u8 = b's';
const ENDED: u8 = b'q';
const ADD_FILE: u8 = b'f';
const REMOVE_FILE: u8 = b'g';
const ADD_CGROUP: u8 = b'c';
const REMOVE_CGROUP: u8 = b'd';
const ADD_TREE: u8 = b't';
const SET_HINT: u8 = b'n';
const CLEAR_HINT: u8 = b'm';

/// Everything that a guardian cleans up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CleanupState {
    /// Unique token of the session; part of folder names and of the process marker.
    pub(super) token: String,
    /// Pid of the process that owns the session.
    pub(super) owner: i32,
    /// The session's user, if it has one of its own.
    pub(super) uid: Option<u32>,
    /// Folders that contain the session's folders.
    pub(super) roots: Vec<PathBuf>,
    /// Process group leaders that we started and have not reaped, with their start times: a pid
    /// alone may be reused.
    pub(super) leaders: BTreeMap<i32, u64>,
    /// Files outside the session's folders, by path.
    pub(super) files: BTreeMap<PathBuf, OwnedFile>,
    /// Folders of cgroups, whose members are all killed.
    pub(super) cgroups: BTreeSet<PathBuf>,
    /// Folders whose files belong to the session's user until the end, by path.
    pub(super) trees: BTreeMap<PathBuf, BorrowedTree>,
    /// Hints for the caller's cleanup function, such as displays to release keys on.
    pub(super) hints: BTreeMap<String, String>,
}

/// Identity of a registered file: it is removed only if device, inode and size still match, because
/// the user may have written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnedFile {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Of a regular file; 0 for a folder.
    pub(super) bytes: u64,
    /// A file that belongs to the first one, such as a display's socket.
    pub(super) companion: PathBuf,
}

/// Identity of a folder that was given to the session's user, and its owner before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BorrowedTree {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) session: Identity,
    pub(super) owner: Owner,
}

/// A change of [`CleanupState`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CleanupChange {
    /// Sent by the child itself, without a start time.
    Forked(i32),
    Started(i32, u64),
    Ended(i32),
    AddFile(PathBuf, OwnedFile),
    RemoveFile(PathBuf),
    AddCgroup(PathBuf),
    RemoveCgroup(PathBuf),
    AddTree(PathBuf, BorrowedTree),
    SetHint(String, String),
    ClearHint(String),
}

impl CleanupState {
    /// Prefix of the names of the session's folders.
    pub(super) fn prefix(&self) -> String {
        format!("telechir-{}-", self.token)
    }

    /// Messages that transfer the complete state.
    pub(super) fn messages(&self) -> Vec<Vec<u8>> {
        let uid = self.uid.map(|uid| uid.to_string()).unwrap_or_default();
        let owner = self.owner.to_string();
        let mut parse_initial: Vec<&[u8]> =
            vec![self.token.as_bytes(), owner.as_bytes(), uid.as_bytes()];
        parse_initial.extend(self.roots.iter().map(|root| bytes(root)));
        let leaders = self.leaders.iter();
        let leaders = leaders.map(|(pid, start_time)| CleanupChange::Started(*pid, *start_time));
        let files = self.files.iter();
        let files = files.map(|(path, file)| CleanupChange::AddFile(path.clone(), file.clone()));
        let cgroups = self.cgroups.iter();
        let cgroups = cgroups.map(|folder| CleanupChange::AddCgroup(folder.clone()));
        let trees = self.trees.iter();
        let trees = trees.map(|(path, tree)| CleanupChange::AddTree(path.clone(), *tree));
        let hints = self.hints.iter();
        let hints = hints.map(|(key, value)| CleanupChange::SetHint(key.clone(), value.clone()));
        let changes = leaders
            .chain(files)
            .chain(cgroups)
            .chain(trees)
            .chain(hints);
        std::iter::once(joined(INITIAL_STATE, &parse_initial))
            .chain(changes.map(|change| change.message()))
            .collect()
    }

    /// Parses the first message.
    pub(super) fn parse_initial(message: &[u8]) -> Option<Self> {
        let fields = split(message.strip_prefix(&[INITIAL_STATE])?);
        let text = |at: usize| std::str::from_utf8(fields.get(at)?).ok();
        let token = text(0)?;
        let plain = token.len() >= 8 && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Some(Self {
            // A shorter token could match the folders of other sessions.
            token: plain.then(|| token.to_owned())?,
            owner: text(1)?.parse().ok()?,
            uid: text(2)?.parse().ok(),
            roots: fields.iter().skip(3).map(|field| path(field)).collect(),
            ..Self::default()
        })
    }

    /// Applies a change.
    pub(super) fn apply(&mut self, change: CleanupChange) {
        match change {
            CleanupChange::Forked(pid) => self
                .leaders
                .extend(processes::start_time(pid).map(|at| (pid, at))),
            CleanupChange::Started(pid, start_time) => self.leaders.extend([(pid, start_time)]),
            CleanupChange::Ended(pid) => drop(self.leaders.remove(&pid)),
            CleanupChange::AddFile(path, file) => drop(self.files.insert(path, file)),
            CleanupChange::RemoveFile(path) => drop(self.files.remove(&path)),
            // Other names do not belong to this session.
            CleanupChange::AddCgroup(path) => {
                let name = path.file_name().map(|name| name.to_string_lossy());
                if name.is_some_and(|name| name.starts_with(&self.prefix())) {
                    self.cgroups.insert(path);
                }
            }
            CleanupChange::RemoveCgroup(path) => drop(self.cgroups.remove(&path)),
            CleanupChange::AddTree(path, tree) => drop(self.trees.insert(path, tree)),
            CleanupChange::SetHint(key, value) => drop(self.hints.insert(key, value)),
            CleanupChange::ClearHint(key) => drop(self.hints.remove(&key)),
        }
    }
}

impl CleanupChange {
    pub(super) fn message(&self) -> Vec<u8> {
        match self {
            Self::Forked(pid) => [&[FORKED], &pid.to_ne_bytes()[..]].concat(),
            Self::Started(pid, start_time) => {
                let (pid, start_time) = (pid.to_string(), start_time.to_string());
                joined(STARTED, &[pid.as_bytes(), start_time.as_bytes()])
            }
            Self::Ended(pid) => [&[ENDED], &pid.to_ne_bytes()[..]].concat(),
            Self::AddFile(path, file) => {
                let numbers = [file.device, file.inode, file.bytes];
                let numbers = numbers.map(|number| number.to_string());
                let [device, inode, size] = numbers.each_ref().map(String::as_bytes);
                joined(
                    ADD_FILE,
                    &[bytes(path), device, inode, size, bytes(&file.companion)],
                )
            }
            Self::RemoveFile(path) => joined(REMOVE_FILE, &[bytes(path)]),
            Self::AddCgroup(path) => joined(ADD_CGROUP, &[bytes(path)]),
            Self::RemoveCgroup(path) => joined(REMOVE_CGROUP, &[bytes(path)]),
            Self::AddTree(path, tree) => {
                let [user, owner] = [
                    [tree.session.uid, tree.session.gid],
                    [tree.owner.uid, tree.owner.gid],
                ];
                let numbers = [tree.device, tree.inode].into_iter();
                let numbers = numbers.chain(user.into_iter().chain(owner).map(u64::from));
                let texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
                let mut fields = vec![bytes(path)];
                fields.extend(texts.iter().map(String::as_bytes));
                joined(ADD_TREE, &fields)
            }
            Self::SetHint(key, value) => joined(SET_HINT, &[key.as_bytes(), value.as_bytes()]),
            Self::ClearHint(key) => joined(CLEAR_HINT, &[key.as_bytes()]),
        }
    }

    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let (kind, rest) = message.split_first()?;
        let fields = split(rest);
        let field = |at: usize| fields.get(at).copied();
        let text = |at: usize| Some(std::str::from_utf8(field(at)?).ok()?.to_owned());
        let pid = || Some(i32::from_ne_bytes(rest.try_into().ok()?));
        Some(match *kind {
            FORKED => Self::Forked(pid()?),
            STARTED => Self::Started(text(0)?.parse().ok()?, text(1)?.parse().ok()?),
            ENDED => Self::Ended(pid()?),
            ADD_FILE => {
                let file = OwnedFile {
                    device: text(1)?.parse().ok()?,
                    inode: text(2)?.parse().ok()?,
                    bytes: text(3)?.parse().ok()?,
                    companion: path(field(4)?),
                };
                Self::AddFile(path(field(0)?), file)
            }
            REMOVE_FILE => Self::RemoveFile(path(field(0)?)),
            ADD_CGROUP => Self::AddCgroup(path(field(0)?)),
            REMOVE_CGROUP => Self::RemoveCgroup(path(field(0)?)),
            ADD_TREE => {
                let id = |at: usize| text(at)?.parse::<u32>().ok();
                let tree = BorrowedTree {
                    device: text(1)?.parse().ok()?,
                    inode: text(2)?.parse().ok()?,
                    session: Identity {
                        uid: id(3)?,
                        gid: id(4)?,
                    },
                    owner: Owner {
                        uid: id(5)?,
                        gid: id(6)?,
                    },
                };
                Self::AddTree(path(field(0)?), tree)
            }
            SET_HINT => Self::SetHint(text(0)?, text(1)?),
            CLEAR_HINT => Self::ClearHint(text(0)?),
            _ => return None,
        })
    }
}

fn joined(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(fields.join(&0));
    message
}

fn split(fields: &[u8]) -> Vec<&[u8]> {
    fields.split(|byte| *byte == 0).collect()
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> CleanupState {
        CleanupState {
            token: "0123456789abcdef".to_owned(),
            owner: 42,
            uid: Some(61_000),
            roots: vec!["/tmp".into(), "/dev/shm".into()],
            ..CleanupState::default()
        }
    }

    #[test]
    fn messages_transfer_the_complete_state() {
        let mut original = state();
        let file = OwnedFile {
            device: 1,
            inode: u64::MAX,
            bytes: 11,
            companion: "/tmp/.X11-unix/X7".into(),
        };
        original.apply(CleanupChange::Started(10, 5));
        original.apply(CleanupChange::Started(256, u64::MAX));
        original.apply(CleanupChange::Ended(10));
        let own_pid = i32::try_from(std::process::id()).unwrap();
        original.apply(CleanupChange::Forked(own_pid));
        assert!(original.leaders.contains_key(&own_pid));
        original.apply(CleanupChange::AddFile("/tmp/.X7-lock".into(), file));
        let group = PathBuf::from("/sys/fs/cgroup/telechir-0123456789abcdef-1");
        original.apply(CleanupChange::AddCgroup("/sys/fs/cgroup/of-others".into()));
        original.apply(CleanupChange::AddCgroup(group.clone()));
        assert_eq!(original.cgroups, BTreeSet::from([group]));
        let tree = BorrowedTree {
            device: 7,
            inode: 8,
            session: Identity {
                uid: 61_000,
                gid: 61_000,
            },
            owner: Owner { uid: 0, gid: 100 },
        };
        original.apply(CleanupChange::AddTree("/srv/work".into(), tree));
        original.apply(CleanupChange::SetHint(
            "display".to_owned(),
            ":0".to_owned(),
        ));
        let messages = original.messages();
        let mut parsed = CleanupState::parse_initial(&messages[0]).unwrap();
        for message in &messages[1..] {
            parsed.apply(CleanupChange::parse(message).unwrap());
        }
        assert_eq!(parsed, original);
    }

    #[test]
    fn a_session_without_a_user_has_no_uid() {
        let state = CleanupState {
            uid: None,
            ..state()
        };
        assert_eq!(
            CleanupState::parse_initial(&state.messages()[0]),
            Some(state)
        );
    }

    #[test]
    fn a_token_that_matches_other_folders_is_refused() {
        for token in ["", "a", "*", "../../../etc"] {
            let state = CleanupState {
                token: token.to_owned(),
                ..state()
            };
            assert_eq!(
                CleanupState::parse_initial(&state.messages()[0]),
                None,
                "{token}"
            );
        }
    }

    #[test]
    fn malformed_messages_are_ignored() {
        for message in [
            &b""[..],
            b"p",
            b"p12345",
            b"z",
            b"f/tmp/a\0x",
            b"nkey",
            b"s1",
        ] {
            assert_eq!(CleanupChange::parse(message), None, "{message:?}");
        }
    }
}
