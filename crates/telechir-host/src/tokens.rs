//! The tokens of the HTTP API: who may use a server, and which answers to questions are an operator's.
//!
//! The file has hashes, never a token. Servers and session hosts read it for each request, so that a
//! revoked token counts nowhere from then on.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::user_file::{self, Forbidden};

/// Every token begins with this, so that secret scanners can recognise it.
const PREFIX: &str = "tch";
/// Random bytes of a token.
const SECRET_BYTES: usize = 32;
/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Maximum length of the file in bytes: several thousand tokens. A longer one is only made shorter.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Maximum length of a file whose tokens are listed or revoked.
const MAX_LISTED_BYTES: usize = 64 << 20;
/// Digits of a hash by which a token is listed and revoked.
const ID_DIGITS: usize = 12;

/// What the owner of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Open sessions and execute calls in them. Never answers a question.
    Agent,
    /// Read what sessions do.
    Viewer,
    /// Everything, answers to questions included.
    Operator,
}

impl Role {
    /// Every role, in the order in which help texts list them.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Viewer, Self::Operator];

    /// The name in commands, tokens and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let role = Self::ALL.into_iter().find(|role| role.name() == text);
        role.ok_or_else(|| {
            format!("unknown role `{text}`; expected one of agent, viewer, operator")
        })
    }
}

/// A token as it is sent. Not printable by accident: its `Debug` text has only its length.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BearerToken(String);

impl BearerToken {
    /// Wraps what a client sent.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to print it once or to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self) -> blake3::Hash {
        blake3::hash(self.0.as_bytes())
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BearerToken({} bytes)", self.0.len())
    }
}

/// What the file has of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRecord {
    /// Names the token in lists; not secret.
    pub id: String,
    /// What its owner may do.
    pub role: Role,
    /// Its owner. Tokens with the same role and name are the same principal, so that one can replace
    /// the other.
    pub name: String,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// When it stops being accepted, in seconds since 1970; absent for one that is until revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The session that it is for; absent for one that is for all sessions of its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// BLAKE3 hash of the token in hexadecimal digits.
    hash: String,
}

/// How long a token is accepted and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenOptions {
    /// The time for which it is accepted; absent for one that is until revoked.
    pub expires_in: Option<Duration>,
    /// The session that it is for; absent for one that is for all sessions of its owner.
    pub session: Option<String>,
}

impl TokenRecord {
    /// Whether it is accepted at this time, in seconds since 1970.
    pub fn is_accepted(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// Role and name: whom sessions belong to.
    pub fn principal(&self) -> String {
        format!("{}/{}", self.role, self.name)
    }
}

/// The file could not be used.
#[derive(Debug, Error)]
#[error("failed to {action} the tokens in {}: {reason}", path.display())]
pub struct TokenError {
    action: &'static str,
    path: PathBuf,
    reason: String,
}

/// The file of a user's tokens.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    tokens: Vec<TokenRecord>,
}

impl TokenFile {
    /// The file with this path, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { path }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All tokens, the oldest first; none if there is no file.
    ///
    /// # Errors
    /// When the file is not private, or not one of tokens.
    pub fn list(&self) -> Result<Vec<TokenRecord>, TokenError> {
        self.list_within(MAX_LISTED_BYTES)
    }

    fn list_within(&self, max_bytes: usize) -> Result<Vec<TokenRecord>, TokenError> {
        let read = self.read(max_bytes);
        let (document, _) = read.map_err(|e| self.failed("read", &e))?;
        Ok(document.tokens)
    }

    /// The record of a token that a client sent. The time this takes does not depend on how much of
    /// a hash is the same.
    ///
    /// # Errors
    /// Like [`Self::list`], and when the file is longer than 1 MiB.
    pub fn find(&self, token: &BearerToken) -> Result<Option<TokenRecord>, TokenError> {
        let hash = token.hash();
        let now = now();
        let mut found = None;
        for record in self
            .list_within(MAX_FILE_BYTES)?
            .into_iter()
            .filter(|record| record.is_accepted(now))
        {
            // The comparison of hashes takes constant time.
            if blake3::Hash::from_hex(&record.hash).is_ok_and(|known| known == hash) {
                found = Some(record);
            }
        }
        Ok(found)
    }

    /// Creates a token. It is returned once and not stored.
    ///
    /// # Errors
    /// When the name is not valid, or the file cannot be written or has no room.
    pub fn create(&self, role: Role, name: &str) -> Result<(TokenRecord, BearerToken), TokenError> {
        self.create_with(role, name, TokenOptions::default())
    }

    /// Like [`Self::create`], for a time or a session. Removes tokens that have expired, and those
    /// that were for the same session: it has one token.
    ///
    /// # Errors
    /// Like [`Self::create`].
    pub fn create_with(
        &self,
        role: Role,
        name: &str,
        options: TokenOptions,
    ) -> Result<(TokenRecord, BearerToken), TokenError> {
        if !is_name(name) {
            let problem = format!(
                "expected a name of 1 to {MAX_NAME_BYTES} letters, digits, `.`, `_` or `-`, found \
                 `{}`",
                name.escape_debug()
            );
            return Err(self.failed("create", &io::Error::other(problem)));
        }
        let created =
            new_token(role, name, options, now()).map_err(|e| self.failed("create", &e))?;
        let added = created.0.clone();
        self.change(|tokens| {
            let is_replaced =
                |old: &TokenRecord| added.session.is_some() && old.session == added.session;
            tokens.retain(|old| old.is_accepted(added.created) && !is_replaced(old));
            tokens.push(added);
        })
        .map_err(|e| self.failed("write", &e))?;
        Ok(created)
    }

    /// Replaces the token with this id by a new one with its role, name and session; the old one is
    /// accepted for `grace`. None if there is no token with this id that is accepted.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn rotate(
        &self,
        id: &str,
        grace: Duration,
        expires_in: Option<Duration>,
    ) -> Result<Option<(TokenRecord, BearerToken)>, TokenError> {
        let now = now();
        let mut rotated = Ok(None);
        self.change(|tokens| {
            let is_old = |record: &&mut TokenRecord| record.id == id && record.is_accepted(now);
            let Some(old) = tokens.iter_mut().find(is_old) else {
                return;
            };
            let session = old.session.clone();
            let options = TokenOptions {
                expires_in,
                session,
            };
            let created = new_token(old.role, &old.name, options, now);
            if let Ok((record, _)) = &created {
                let end = now.saturating_add(grace.as_secs());
                old.expires = Some(old.expires.map_or(end, |expires| expires.min(end)));
                tokens.retain(|record| record.is_accepted(now));
                tokens.push(record.clone());
            }
            rotated = created.map(Some);
        })
        .map_err(|e| self.failed("write", &e))?;
        rotated.map_err(|e| self.failed("create", &e))
    }

    /// Revokes the tokens that are for this session alone.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn revoke_session(&self, session: &str) -> Result<(), TokenError> {
        let is_of_session = |record: &TokenRecord| record.session.as_deref() == Some(session);
        if !self.list()?.iter().any(is_of_session) {
            return Ok(());
        }
        self.change(|tokens| tokens.retain(|record| !is_of_session(record)))
            .map_err(|e| self.failed("write", &e))
    }

    /// Revokes the tokens of sessions that are not open any more.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn retain_sessions(&self, is_open: impl Fn(&str) -> bool) -> Result<(), TokenError> {
        let is_gone =
            |record: &TokenRecord| record.session.as_deref().is_some_and(|name| !is_open(name));
        if !self.list()?.iter().any(is_gone) {
            return Ok(());
        }
        self.change(|tokens| tokens.retain(|record| !is_gone(record)))
            .map_err(|e| self.failed("write", &e))
    }

    /// Revokes the token with this id. False if there is none.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn revoke(&self, id: &str) -> Result<bool, TokenError> {
        let mut is_revoked = false;
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|record| record.id != id);
            is_revoked = tokens.len() < before;
        })
        .map_err(|e| self.failed("write", &e))?;
        Ok(is_revoked)
    }

    fn failed(&self, action: &'static str, error: &io::Error) -> TokenError {
        TokenError {
            action,
            path: self.path.clone(),
            reason: error.to_string(),
        }
    }

    /// The file's contents and length in bytes.
    fn read(&self, max_bytes: usize) -> io::Result<(Document, usize)> {
        let Some(file) = user_file::open(&self.path, Forbidden::All)? else {
            return Ok((Document::default(), 0));
        };
        let mut text = Vec::new();
        file.take(max_bytes as u64 + 1).read_to_end(&mut text)?;
        if text.len() > max_bytes {
            return Err(io::Error::other(format!(
                "it is longer than {max_bytes} bytes; revoke unused tokens"
            )));
        }
        Ok((serde_json::from_slice(&text)?, text.len()))
    }

    /// Changes the file as one step, beside other processes that do the same. It becomes no longer
    /// than what is read for each request.
    fn change(&self, change: impl FnOnce(&mut Vec<TokenRecord>)) -> io::Result<()> {
        let folder = self
            .path
            .parent()
            .filter(|path| !path.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        user_file::check_folder(&self.path)?;
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(lock)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let (mut document, length) = self.read(MAX_LISTED_BYTES)?;
        change(&mut document.tokens);
        let mut text = serde_json::to_vec_pretty(&document)?;
        text.push(b'\n');
        if text.len() > MAX_FILE_BYTES && text.len() >= length {
            return Err(io::Error::other(format!(
                "it would be longer than {MAX_FILE_BYTES} bytes; revoke unused tokens"
            )));
        }
        // Temporary files have mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        File::open(folder)?.sync_all()
    }
}

fn new_token(
    role: Role,
    name: &str,
    options: TokenOptions,
    created: u64,
) -> io::Result<(TokenRecord, BearerToken)> {
    let mut secret = [0; SECRET_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut secret));
    read.map_err(|e| io::Error::other(format!("the system has no random numbers: {e}")))?;
    let secret = URL_SAFE_NO_PAD.encode(secret);
    let token = BearerToken::new(format!("{PREFIX}_{role}_{secret}"));
    let hash = token.hash().to_hex().to_string();
    let expires = options.expires_in;
    let record = TokenRecord {
        id: hash.chars().take(ID_DIGITS).collect(),
        role,
        name: name.to_owned(),
        created,
        expires: expires.map(|time| created.saturating_add(time.as_secs())),
        session: options.session,
        hash,
    };
    Ok((record, token))
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn file() -> (tempfile::TempDir, TokenFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("state/tokens.json"));
        (folder, file)
    }

    #[test]
    fn a_token_is_found_until_it_is_revoked() {
        let (_folder, file) = file();
        assert_eq!(file.list().unwrap(), []);
        let (agent, token) = file.create(Role::Agent, "ci").unwrap();
        let (operator, other) = file.create(Role::Operator, "me").unwrap();
        assert!(
            token.reveal().starts_with("tch_agent_"),
            "{}",
            token.reveal()
        );
        assert_eq!(token.reveal().len(), "tch_agent_".len() + 43);
        assert_eq!(file.find(&token).unwrap(), Some(agent.clone()));
        assert_eq!(file.find(&other).unwrap(), Some(operator.clone()));
        let forged = BearerToken::new(token.reveal().replace("agent", "operator"));
        assert_eq!(file.find(&forged).unwrap(), None, "the role is part of it");
        assert!(file.revoke(&agent.id).unwrap());
        assert!(!file.revoke(&agent.id).unwrap());
        assert_eq!(file.find(&token).unwrap(), None);
        assert_eq!(file.list().unwrap(), [operator]);
    }

    #[test]
    fn an_expired_token_is_not_found() {
        let (_folder, file) = file();
        let options = |seconds| TokenOptions {
            expires_in: Some(Duration::from_secs(seconds)),
            session: None,
        };
        let (_, over) = file.create_with(Role::Agent, "a", options(0)).unwrap();
        assert_eq!(file.find(&over).unwrap(), None);
        let (later, token) = file.create_with(Role::Agent, "a", options(3600)).unwrap();
        assert_eq!(later.expires, Some(later.created + 3600));
        assert_eq!(file.find(&token).unwrap(), Some(later.clone()));
        assert_eq!(file.list().unwrap(), [later], "the first is removed");
    }

    #[test]
    fn both_tokens_are_found_during_a_rotation() {
        let (_folder, file) = file();
        let (old, token) = file.create(Role::Operator, "me").unwrap();
        let hour = Duration::from_secs(3600);
        let (new, other) = file.rotate(&old.id, hour, None).unwrap().unwrap();
        assert_eq!((new.role, new.name.as_str()), (Role::Operator, "me"));
        assert_eq!(file.find(&other).unwrap(), Some(new.clone()));
        let found = file.find(&token).unwrap().unwrap();
        assert_eq!(
            (found.id.as_str(), found.expires),
            (old.id.as_str(), Some(new.created + 3600))
        );
        // A longer time does not make it longer.
        file.rotate(&old.id, hour * 9, None).unwrap().unwrap();
        let again = file.find(&token).unwrap().unwrap();
        assert!(again.expires <= Some(new.created + 3601), "{again:?}");
        file.rotate(&new.id, Duration::ZERO, None).unwrap().unwrap();
        assert_eq!(file.find(&other).unwrap(), None);
        assert_eq!(file.rotate(&new.id, hour, None).unwrap(), None);
    }

    fn of_session(file: &TokenFile, session: &str) -> (TokenRecord, BearerToken) {
        let options = TokenOptions {
            expires_in: None,
            session: Some(session.to_owned()),
        };
        file.create_with(Role::Agent, "a", options).unwrap()
    }

    #[test]
    fn the_token_of_a_session_replaces_its_earlier_one() {
        let (_folder, file) = file();
        let (own, _) = file.create(Role::Agent, "a").unwrap();
        let (other, _) = of_session(&file, "other");
        let (_, first) = of_session(&file, "one");
        let (second, token) = of_session(&file, "one");
        assert_eq!(file.find(&first).unwrap(), None);
        assert_eq!(file.find(&token).unwrap(), Some(second.clone()));
        assert_eq!(file.list().unwrap(), [own, other, second]);
    }

    #[test]
    fn the_tokens_of_a_session_are_revoked_together() {
        let (_folder, file) = file();
        let (one, _) = of_session(&file, "one");
        let (other, _) = of_session(&file, "other");
        // Two, as long as the old one is accepted.
        let hour = Duration::from_secs(3600);
        file.rotate(&one.id, hour, None).unwrap().unwrap();
        assert_eq!(file.list().unwrap().len(), 3);
        file.revoke_session("one").unwrap();
        file.revoke_session("none").unwrap();
        assert_eq!(file.list().unwrap(), [other]);
    }

    #[test]
    fn the_tokens_of_sessions_that_are_gone_are_revoked() {
        let (_folder, file) = file();
        let (own, _) = file.create(Role::Agent, "a").unwrap();
        let (open, _) = of_session(&file, "open");
        of_session(&file, "gone");
        file.retain_sessions(|session| session == "open").unwrap();
        assert_eq!(file.list().unwrap(), [own, open]);
    }

    /// Writes records of sessions, which take about this many bytes in the file.
    fn fill(file: &TokenFile, bytes: usize) -> Vec<TokenRecord> {
        let (first, _) = of_session(file, "0");
        let tokens = vec![first.clone(); 100];
        let record_bytes = serde_json::to_vec_pretty(&Document { tokens })
            .unwrap()
            .len()
            / 100;
        let tokens: Vec<_> = (0..=bytes / record_bytes)
            .map(|number| TokenRecord {
                id: format!("{number:012}"),
                session: Some(number.to_string()),
                ..first.clone()
            })
            .collect();
        let document = Document { tokens };
        fs::write(file.path(), serde_json::to_vec_pretty(&document).unwrap()).unwrap();
        document.tokens
    }

    #[test]
    fn no_token_makes_the_file_too_long_for_the_others() {
        let (_folder, file) = file();
        let filled = fill(&file, MAX_FILE_BYTES * 9 / 10).len();
        let (_, operator) = file.create(Role::Operator, "me").unwrap();
        let mut added = 0;
        let refused = loop {
            let options = TokenOptions {
                expires_in: None,
                session: Some(format!("{}-{added}", "x".repeat(10_000))),
            };
            match file.create_with(Role::Agent, "a", options) {
                Ok(_) => added += 1,
                Err(refused) => break refused.to_string(),
            }
            assert!(added < 20, "the file stays short");
        };
        assert!(added > 0, "there was room");
        assert!(refused.contains("revoke unused tokens"), "{refused}");
        assert_eq!(file.list().unwrap().len(), filled + 1 + added);
        assert!(file.find(&operator).unwrap().is_some());
        file.retain_sessions(|_| false).unwrap();
        assert!(file.find(&operator).unwrap().is_some());
        of_session(&file, "there is room again");
    }

    #[test]
    fn tokens_of_a_file_that_is_too_long_can_be_listed_and_revoked() {
        let (_folder, file) = file();
        let filled = fill(&file, MAX_FILE_BYTES * 11 / 10);
        let token = BearerToken::new("tch_agent_x");
        let refused = file.find(&token).unwrap_err().to_string();
        assert!(refused.contains("revoke unused tokens"), "{refused}");
        assert!(file.create(Role::Operator, "me").is_err());
        assert_eq!(file.list().unwrap().len(), filled.len());
        assert!(file.revoke(&filled[1].id).unwrap(), "also while it is long");
        file.revoke_session("0").unwrap();
        file.retain_sessions(|session| session.len() < 3).unwrap();
        assert_eq!(file.list().unwrap().len(), 98);
        assert_eq!(file.find(&token).unwrap(), None);
        file.create(Role::Operator, "me").unwrap();
    }

    #[test]
    fn the_file_is_private_and_has_no_token() {
        let (_folder, file) = file();
        let (_, token) = file.create(Role::Viewer, "wall").unwrap();
        let mode = fs::metadata(file.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
        let text = fs::read_to_string(file.path()).unwrap();
        let secret = token.reveal().rsplit('_').next().unwrap();
        assert!(!text.contains(secret), "{text}");
        assert!(!format!("{token:?}").contains(secret));
    }

    #[test]
    fn a_file_that_others_can_read_or_choose_is_refused() {
        let (folder, file) = file();
        file.create(Role::Agent, "a").unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let error = file.list().unwrap_err().to_string();
        assert!(error.contains("chmod go-rwx"), "{error}");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let link = TokenFile::new(folder.path().join("link"));
        symlink(file.path(), link.path()).unwrap();
        assert!(link.list().is_err());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = file.list().unwrap_err().to_string();
        assert!(error.contains("chmod go-w"), "{error}");
        assert!(file.create(Role::Operator, "b").is_err());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(file.path(), "{\"tokens\": [], \"more\": 1}").unwrap();
        assert!(file.list().is_err(), "an unknown member");
    }

    #[test]
    fn names_are_restricted() {
        let (_folder, file) = file();
        for name in ["", "a b", "a/b", "é", &"x".repeat(65)] {
            let error = file.create(Role::Agent, name).unwrap_err().to_string();
            assert!(error.contains("expected a name"), "{name}: {error}");
        }
        assert_eq!(file.list().unwrap(), []);
    }
}
