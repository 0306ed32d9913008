//! What a session left in its guardian's care, and the messages that say so. Both sides keep it:
//! the guardian to act on it, we to tell it to another guardian when the first one died.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::link::FORKED;
use super::processes;

const BEGIN: u8 = b'b';
const STARTED: u8 = b's';
const ENDED: u8 = b'q';
const OWNS: u8 = b'f';
const UNOWNS: u8 = b'g';
const GROUP: u8 = b'c';
const UNGROUP: u8 = b'd';
const NOTE: u8 = b'n';
const UNNOTE: u8 = b'm';

/// All that a guardian looks after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ward {
    /// Ours alone; names of folders and the marker of processes hold it.
    pub(super) token: String,
    /// Our process.
    pub(super) owner: i32,
    /// The session's own user.
    pub(super) uid: Option<u32>,
    /// Where its folders are.
    pub(super) roots: Vec<PathBuf>,
    /// Leaders of groups that we started and did not reap, with when they began: a number alone
    /// may have another owner by the time it matters.
    pub(super) leaders: BTreeMap<i32, u64>,
    /// Files outside of its folders, by name.
    pub(super) files: BTreeMap<PathBuf, File>,
    /// Folders of control groups: all in them is killed, whoever it is.
    pub(super) groups: BTreeSet<PathBuf>,
    /// For whom the guardian was started by, such as displays to release keys on.
    pub(super) notes: BTreeMap<String, String>,
}

/// A file that is removed only while it is this very one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Another file, which is whose the first one is, such as the socket of a display.
    pub(super) companion: PathBuf,
}

/// One thing that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A child says so of itself, and nothing more.
    Forked(i32),
    Started(i32, u64),
    Ended(i32),
    Owns(PathBuf, File),
    Unowns(PathBuf),
    Group(PathBuf),
    Ungroup(PathBuf),
    Note(String, String),
    Unnote(String),
}

impl Ward {
    /// The names of the session's folders begin so.
    pub(super) fn prefix(&self) -> String {
        format!("telechir-{}-", self.token)
    }

    /// Says all of it.
    pub(super) fn messages(&self) -> Vec<Vec<u8>> {
        let uid = self.uid.map(|uid| uid.to_string()).unwrap_or_default();
        let owner = self.owner.to_string();
        let mut begin: Vec<&[u8]> = vec![self.token.as_bytes(), owner.as_bytes(), uid.as_bytes()];
        begin.extend(self.roots.iter().map(|root| bytes(root)));
        let leaders = self.leaders.iter();
        let leaders = leaders.map(|(pid, began)| Change::Started(*pid, *began));
        let files = self.files.iter();
        let files = files.map(|(path, file)| Change::Owns(path.clone(), file.clone()));
        let groups = self.groups.iter();
        let groups = groups.map(|folder| Change::Group(folder.clone()));
        let notes = self.notes.iter();
        let notes = notes.map(|(key, value)| Change::Note(key.clone(), value.clone()));
        let changes = leaders.chain(files).chain(groups).chain(notes);
        std::iter::once(joined(BEGIN, &begin))
            .chain(changes.map(|change| change.message()))
            .collect()
    }

    /// What the first message says.
    pub(super) fn begin(message: &[u8]) -> Option<Self> {
        let fields = split(message.strip_prefix(&[BEGIN])?);
        let text = |at: usize| std::str::from_utf8(fields.get(at)?).ok();
        let token = text(0)?;
        let plain = token.len() >= 8 && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Some(Self {
            // Too short a name would match the folders of others.
            token: plain.then(|| token.to_owned())?,
            owner: text(1)?.parse().ok()?,
            uid: text(2)?.parse().ok(),
            roots: fields.iter().skip(3).map(|field| path(field)).collect(),
            ..Self::default()
        })
    }

    /// Takes in a change.
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Forked(pid) => self
                .leaders
                .extend(processes::began(pid).map(|at| (pid, at))),
            Change::Started(pid, began) => self.leaders.extend([(pid, began)]),
            Change::Ended(pid) => drop(self.leaders.remove(&pid)),
            Change::Owns(path, file) => drop(self.files.insert(path, file)),
            Change::Unowns(path) => drop(self.files.remove(&path)),
            // A folder with another name is not ours.
            Change::Group(path) => {
                let name = path.file_name().map(|name| name.to_string_lossy());
                if name.is_some_and(|name| name.starts_with(&self.prefix())) {
                    self.groups.insert(path);
                }
            }
            Change::Ungroup(path) => drop(self.groups.remove(&path)),
            Change::Note(key, value) => drop(self.notes.insert(key, value)),
            Change::Unnote(key) => drop(self.notes.remove(&key)),
        }
    }
}

impl Change {
    pub(super) fn message(&self) -> Vec<u8> {
        match self {
            Self::Forked(pid) => [&[FORKED], &pid.to_ne_bytes()[..]].concat(),
            Self::Started(pid, began) => {
                let (pid, began) = (pid.to_string(), began.to_string());
                joined(STARTED, &[pid.as_bytes(), began.as_bytes()])
            }
            Self::Ended(pid) => [&[ENDED], &pid.to_ne_bytes()[..]].concat(),
            Self::Owns(path, file) => {
                let (device, inode) = (file.device.to_string(), file.inode.to_string());
                let numbers = [device.as_bytes(), inode.as_bytes()];
                let [device, inode] = numbers;
                joined(OWNS, &[bytes(path), device, inode, bytes(&file.companion)])
            }
            Self::Unowns(path) => joined(UNOWNS, &[bytes(path)]),
            Self::Group(path) => joined(GROUP, &[bytes(path)]),
            Self::Ungroup(path) => joined(UNGROUP, &[bytes(path)]),
            Self::Note(key, value) => joined(NOTE, &[key.as_bytes(), value.as_bytes()]),
            Self::Unnote(key) => joined(UNNOTE, &[key.as_bytes()]),
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
            OWNS => {
                let file = File {
                    device: text(1)?.parse().ok()?,
                    inode: text(2)?.parse().ok()?,
                    companion: path(field(3)?),
                };
                Self::Owns(path(field(0)?), file)
            }
            UNOWNS => Self::Unowns(path(field(0)?)),
            GROUP => Self::Group(path(field(0)?)),
            UNGROUP => Self::Ungroup(path(field(0)?)),
            NOTE => Self::Note(text(0)?, text(1)?),
            UNNOTE => Self::Unnote(text(0)?),
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

    fn ward() -> Ward {
        Ward {
            token: "0123456789abcdef".to_owned(),
            owner: 42,
            uid: Some(61_000),
            roots: vec!["/tmp".into(), "/dev/shm".into()],
            ..Ward::default()
        }
    }

    #[test]
    fn another_guardian_is_told_the_same() {
        let mut told = ward();
        let file = File {
            device: 1,
            inode: u64::MAX,
            companion: "/tmp/.X11-unix/X7".into(),
        };
        told.apply(Change::Started(10, 5));
        told.apply(Change::Started(256, u64::MAX));
        told.apply(Change::Ended(10));
        let us = i32::try_from(std::process::id()).unwrap();
        told.apply(Change::Forked(us));
        assert!(told.leaders.contains_key(&us));
        told.apply(Change::Owns("/tmp/.X7-lock".into(), file));
        let group = PathBuf::from("/sys/fs/cgroup/telechir-0123456789abcdef-1");
        told.apply(Change::Group("/sys/fs/cgroup/of-others".into()));
        told.apply(Change::Group(group.clone()));
        assert_eq!(told.groups, BTreeSet::from([group]));
        told.apply(Change::Note("display".to_owned(), ":0".to_owned()));
        let messages = told.messages();
        let mut heard = Ward::begin(&messages[0]).unwrap();
        for message in &messages[1..] {
            heard.apply(Change::parse(message).unwrap());
        }
        assert_eq!(heard, told);
    }

    #[test]
    fn a_session_without_a_user_of_its_own_has_none() {
        let ward = Ward {
            uid: None,
            ..ward()
        };
        assert_eq!(Ward::begin(&ward.messages()[0]), Some(ward));
    }

    #[test]
    fn a_name_that_fits_the_folders_of_others_is_refused() {
        for token in ["", "a", "*", "../../../etc"] {
            let ward = Ward {
                token: token.to_owned(),
                ..ward()
            };
            assert_eq!(Ward::begin(&ward.messages()[0]), None, "{token}");
        }
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        for message in [
            &b""[..],
            b"p",
            b"p12345",
            b"z",
            b"f/tmp/a\0x",
            b"nkey",
            b"s1",
        ] {
            assert_eq!(Change::parse(message), None, "{message:?}");
        }
    }
}
