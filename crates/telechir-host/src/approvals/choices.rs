//! The choices of the user that count in all sessions: a file that nobody else can write to.
//!
//! A choice counts only where the policy asks: it can tighten, and never permits what the policy denies.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use telechir_policy::{ApprovalShape, Question};
use telechir_process::{make_private_dir, make_private_file};

use crate::user_file::{self, Forbidden};

/// Version of the format. A newer one is an error.
const VERSION: u32 = 1;
/// Maximum number of choices in a file.
const MAX_CHOICES: usize = 1024;
/// Maximum length of a file in bytes. A longer one is only made shorter.
const MAX_BYTES: usize = 1 << 20;
/// Maximum length of a file whose choices are listed or revoked.
const MAX_LISTED_BYTES: usize = 64 << 20;

/// What was chosen for calls of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StandingDecision {
    /// Calls of this shape are approved without a question.
    Allow,
    /// Calls that contain this shape are denied without a question.
    Deny,
}

/// A choice of the user that counts until it is revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingChoice {
    /// Names it in `approvals revoke`.
    pub number: u64,
    /// Whether calls of the shape are approved or denied.
    pub decision: StandingDecision,
    /// The calls that it is about.
    pub shape: ApprovalShape,
    /// The devices for which an approval counts, as flags; a denial counts for all.
    pub devices: String,
    /// At which terminal it was chosen, escaped.
    pub by: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// The file of the user's choices.
#[derive(Clone, Debug)]
pub struct ChoiceFile {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    last_number: u64,
    choices: Vec<StandingChoice>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            version: VERSION,
            last_number: 0,
            choices: Vec::new(),
        }
    }
}

impl ChoiceFile {
    /// The file with this path, which may be missing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The choices, the oldest first.
    ///
    /// # Errors
    /// With a sentence that names the file, if it is invalid or others can write to it.
    pub fn choices(&self) -> Result<Vec<StandingChoice>, String> {
        Ok(self.read(MAX_LISTED_BYTES)?.0.choices)
    }

    /// Adds a choice, which replaces one for the same calls. Returns its number.
    ///
    /// # Errors
    /// With a sentence that names the file, if it cannot be read or written, or is full.
    pub fn add(
        &self,
        decision: StandingDecision,
        shape: ApprovalShape,
        devices: &str,
        by: &str,
    ) -> Result<u64, String> {
        self.change(|contents| {
            let is_same = |choice: &StandingChoice| {
                choice.shape == shape && choice.devices == devices && choice.decision == decision
            };
            contents.choices.retain(|choice| !is_same(choice));
            if contents.choices.len() >= MAX_CHOICES {
                return Err(format!(
                    "it has {MAX_CHOICES} choices already; revoke some with `telechir approvals revoke`"
                ));
            }
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            contents.last_number += 1;
            contents.choices.push(StandingChoice {
                number: contents.last_number,
                decision,
                shape: shape.clone(),
                devices: devices.to_owned(),
                by: by.to_owned(),
                at: since.map_or(0, |since| since.as_secs()),
            });
            Ok(contents.last_number)
        })
    }

    /// Removes the choice with this number. False if there is none.
    ///
    /// # Errors
    /// With a sentence that names the file, if it cannot be read or written.
    pub fn revoke(&self, number: u64) -> Result<bool, String> {
        if self.choices()?.iter().all(|choice| choice.number != number) {
            return Ok(false);
        }
        self.change(|contents| {
            let before = contents.choices.len();
            contents.choices.retain(|choice| choice.number != number);
            Ok(contents.choices.len() < before)
        })
    }

    /// The choice for a question in a session with these devices. A denial wins.
    ///
    /// # Errors
    /// With a sentence that names the file, if it is invalid or longer than 1 MiB, or others can write
    /// to it.
    pub(super) fn find(
        &self,
        question: &Question,
        devices: &str,
    ) -> Result<Option<StandingChoice>, String> {
        let choices = self.read(MAX_BYTES)?.0.choices;
        let denies = |choice: &&StandingChoice| {
            choice.decision == StandingDecision::Deny && question.contained.contain(&choice.shape)
        };
        let allows = |choice: &&StandingChoice| {
            choice.decision == StandingDecision::Allow
                && choice.devices == devices
                && question
                    .session_shape()
                    .is_some_and(|shape| choice.shape.covers(shape))
        };
        let denial = choices.iter().find(denies);
        Ok(denial.or_else(|| choices.iter().find(allows)).cloned())
    }

    fn problem(&self, what: impl std::fmt::Display) -> String {
        format!(
            "the file of remembered choices {} cannot be used: {what}; mend or remove it",
            self.path.display()
        )
    }

    /// The contents and their length in bytes.
    fn read(&self, max_bytes: usize) -> Result<(Contents, usize), String> {
        let text = match self.read_text(max_bytes) {
            Ok(None) => return Ok((Contents::default(), 0)),
            Ok(Some(text)) => text,
            Err(error) => return Err(self.problem(error)),
        };
        let contents: Contents = serde_json::from_str(&text).map_err(|e| self.problem(e))?;
        match contents.version {
            VERSION => Ok((contents, text.len())),
            other => Err(self.problem(format_args!("expected version {VERSION}, found {other}"))),
        }
    }

    /// The text of the file; none if it is missing.
    fn read_text(&self, max_bytes: usize) -> io::Result<Option<String>> {
        let Some(file) = user_file::open(&self.path, Forbidden::Write)? else {
            return Ok(None);
        };
        let mut text = String::new();
        file.take(max_bytes as u64 + 1).read_to_string(&mut text)?;
        match text.len() > max_bytes {
            true => Err(io::Error::other(format!(
                "it has more than {max_bytes} bytes; revoke some choices with `telechir approvals revoke`"
            ))),
            false => Ok(Some(text)),
        }
    }

    /// Changes the contents while no other process does.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Contents) -> Result<T, String>,
    ) -> Result<T, String> {
        let _lock = self.lock().map_err(|e| self.problem(e))?;
        let (mut contents, length) = self.read(MAX_LISTED_BYTES)?;
        let changed = change(&mut contents).map_err(|e| self.problem(e))?;
        let text = serde_json::to_vec_pretty(&contents).map_err(|e| self.problem(e))?;
        if text.len() > MAX_BYTES && text.len() >= length {
            return Err(self.problem(format_args!(
                "with this choice it would have more than {MAX_BYTES} bytes; revoke some with \
                 `telechir approvals revoke`"
            )));
        }
        self.write(&text).map_err(|e| self.problem(e))?;
        Ok(changed)
    }

    fn lock(&self) -> io::Result<File> {
        let folder = self.path.parent();
        let folder = folder.ok_or_else(|| io::Error::other("it has no folder"))?;
        match make_private_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => user_file::check_folder(&self.path)?,
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).mode(0o600);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let lock = options.open(self.path.with_extension("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    }

    /// Replaces the file as a whole.
    fn write(&self, text: &[u8]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = make_private_file(&new)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use telechir_policy::ApproveAt;

    use super::super::queue::tests::{contained, question};
    use super::*;

    const DEVICES: &str = "--shell";

    fn file() -> (ChoiceFile, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (
            ChoiceFile::new(folder.path().join("own/choices.json")),
            folder,
        )
    }

    fn shape(command: &str) -> ApprovalShape {
        question("c", command).shape.unwrap()
    }

    fn found(file: &ChoiceFile, question: &Question) -> Option<StandingDecision> {
        let found = file.find(question, DEVICES).unwrap();
        found.map(|choice| choice.decision)
    }

    #[test]
    fn choices_last_until_they_are_revoked() {
        use StandingDecision::{Allow, Deny};
        let (file, _folder) = file();
        assert_eq!(found(&file, &question("c1", "make")), None);
        assert_eq!(file.add(Allow, shape("make"), DEVICES, "me"), Ok(1));
        assert_eq!(file.add(Deny, shape("rm a"), DEVICES, "me"), Ok(2));
        let again = ChoiceFile::new(file.path());
        assert_eq!(found(&again, &question("c2", "make")), Some(Allow));
        assert_eq!(found(&again, &question("c3", "rm a")), Some(Deny));
        assert_eq!(found(&again, &question("c4", "rm b")), None);
        assert_eq!(again.revoke(1), Ok(true));
        assert_eq!(again.revoke(1), Ok(false));
        assert_eq!(found(&file, &question("c5", "make")), None);
        // Numbers are never used again.
        assert_eq!(file.add(Allow, shape("make"), DEVICES, "me"), Ok(3));
        assert_eq!(file.add(Allow, shape("make"), DEVICES, "me"), Ok(4));
        assert_eq!(file.choices().unwrap().len(), 2, "the same choice once");
    }

    #[test]
    fn an_approval_counts_for_the_same_devices_and_a_denial_everywhere() {
        let (file, _folder) = file();
        file.add(StandingDecision::Allow, shape("make"), "--shell=host", "me")
            .unwrap();
        file.add(StandingDecision::Deny, shape("rm a"), "--shell=host", "me")
            .unwrap();
        assert_eq!(found(&file, &question("c1", "make")), None);
        let denied = found(&file, &question("c2", "rm a"));
        assert_eq!(denied, Some(StandingDecision::Deny));
    }

    #[test]
    fn a_question_of_its_own_each_time_is_denied_but_never_approved() {
        let (file, _folder) = file();
        file.add(StandingDecision::Allow, shape("make"), DEVICES, "me")
            .unwrap();
        file.add(StandingDecision::Deny, shape("rm a"), DEVICES, "me")
            .unwrap();
        let special = |command: &str| {
            let plain = || question("c", command);
            [
                Question {
                    has_hidden_characters: true,
                    ..plain()
                },
                Question {
                    untrusted_source: Some("a page".to_owned()),
                    ..plain()
                },
                Question {
                    approve: ApproveAt::Page,
                    ..plain()
                },
            ]
        };
        for (allowed, denied) in special("make").iter().zip(&special("rm a")) {
            assert_eq!(found(&file, allowed), None);
            assert_eq!(found(&file, denied), Some(StandingDecision::Deny));
        }
    }

    #[test]
    fn a_denial_holds_for_every_call_with_the_denied_part() {
        let (file, _folder) = file();
        file.add(StandingDecision::Deny, shape("rm a"), DEVICES, "me")
            .unwrap();
        file.add(StandingDecision::Allow, shape("make"), DEVICES, "me")
            .unwrap();
        let compound = |line: &str| Question {
            shape: None,
            contained: contained(line),
            ..question("c", line)
        };
        let denied = Some(StandingDecision::Deny);
        assert_eq!(found(&file, &compound("make && rm a")), denied);
        assert_eq!(found(&file, &compound("echo $(sh -c 'rm a')")), denied);
        // Parts that were approved do not approve a call that has more.
        assert_eq!(found(&file, &compound("make && rm b")), None);
    }

    #[test]
    fn a_denial_wins_and_does_not_depend_on_the_reasons() {
        let (file, _folder) = file();
        file.add(StandingDecision::Allow, shape("make"), DEVICES, "me")
            .unwrap();
        file.add(StandingDecision::Deny, shape("make"), DEVICES, "me")
            .unwrap();
        let mut other = question("c1", "make");
        assert_eq!(found(&file, &other), Some(StandingDecision::Deny));
        other.shape.as_mut().unwrap().reasons = vec!["Another one.".to_owned()];
        assert_eq!(found(&file, &other), Some(StandingDecision::Deny));
        assert_eq!(file.revoke(2), Ok(true));
        assert_eq!(found(&file, &other), None, "asked for another reason");
    }

    #[test]
    fn nothing_counts_that_others_could_have_written() {
        let (file, _folder) = file();
        file.add(StandingDecision::Allow, shape("make"), DEVICES, "me")
            .unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(file.path()), 0o600);
        assert_eq!(mode(file.path().parent().unwrap()), 0o700);
        let chmod = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let folder = file.path().parent().unwrap();
        for path in [file.path(), folder, folder.parent().unwrap()] {
            let before = mode(path);
            chmod(path, 0o777);
            let problem = file.choices().unwrap_err();
            assert!(problem.contains("changed by other users"), "{problem}");
            assert!(problem.contains(path.to_str().unwrap()), "{problem}");
            assert!(file.find(&question("c1", "make"), DEVICES).is_err());
            assert!(file.revoke(1).is_err());
            let added = file.add(StandingDecision::Deny, shape("rm a"), DEVICES, "me");
            assert!(added.is_err());
            chmod(path, before);
        }
        assert_eq!(file.choices().unwrap().len(), 1);
    }

    #[test]
    fn no_choice_makes_the_file_too_long_for_the_others() {
        let (file, _folder) = file();
        let add = |command: &str| {
            let shape = ApprovalShape {
                parts: vec![command.to_owned()],
                ..shape("make")
            };
            file.add(StandingDecision::Deny, shape, DEVICES, "me")
        };
        assert_eq!(add("rm a"), Ok(1));
        assert_eq!(add(&"x".repeat(MAX_BYTES / 2)), Ok(2));
        let refused = add(&"y".repeat(MAX_BYTES / 2)).unwrap_err();
        assert!(refused.contains("approvals revoke"), "{refused}");
        let denied = Some(StandingDecision::Deny);
        assert_eq!(found(&file, &question("c1", "rm a")), denied);
        assert_eq!(file.choices().unwrap().len(), 2);
        assert_eq!(file.revoke(2), Ok(true));
        assert_eq!(add(&"y".repeat(MAX_BYTES / 2)), Ok(3));
    }

    #[test]
    fn choices_of_a_file_that_is_too_long_can_be_revoked() {
        let (file, _folder) = file();
        for command in ["rm a", "rm b", "rm c"] {
            file.add(StandingDecision::Deny, shape(command), DEVICES, "me")
                .unwrap();
        }
        let text = fs::read_to_string(file.path()).unwrap();
        for command in ["rm b", "rm c"] {
            assert!(text.contains(command), "{text}");
        }
        let long = |command| format!("{command}{}", "x".repeat(MAX_BYTES));
        let text = text.replace("rm b", &long("rm b"));
        fs::write(file.path(), text.replace("rm c", &long("rm c"))).unwrap();
        assert!(file.find(&question("c1", "rm a"), DEVICES).is_err());
        assert_eq!(file.revoke(2), Ok(true), "also while it is long");
        assert_eq!(file.revoke(3), Ok(true));
        let denied = Some(StandingDecision::Deny);
        assert_eq!(found(&file, &question("c2", "rm a")), denied);
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_it_and_stays_as_it_is() {
        let (file, _folder) = file();
        make_private_dir(file.path().parent().unwrap()).unwrap();
        for text in [
            "",
            "{",
            r#"{"version":2,"last_number":0,"choices":[]}"#,
            r#"{"version":1,"last_number":0,"choices":[],"more":1}"#,
            r#"{"version":1,"last_number":0,"choices":[{"number":1}]}"#,
        ] {
            fs::write(file.path(), text).unwrap();
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
            let problem = file.find(&question("c", "make"), DEVICES).unwrap_err();
            assert!(problem.contains(file.path().to_str().unwrap()), "{problem}");
            let added = file.add(StandingDecision::Allow, shape("make"), DEVICES, "me");
            assert!(added.is_err(), "{text}");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
        }
        fs::remove_file(file.path()).unwrap();
        let other = file.path().with_file_name("other");
        fs::write(&other, "{}").unwrap();
        std::os::unix::fs::symlink(&other, file.path()).unwrap();
        assert!(file.choices().is_err(), "a link");
    }
}
