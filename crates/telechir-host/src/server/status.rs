//! The session's state as reported to clients, and when it counts as idle for too long.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use telechir_policy::Digest;
use tokio::time::{Instant, sleep_until};

use crate::approvals::StandingChoices;
use crate::tokens::TokenFile;
use crate::{SessionDescription, SessionState};

/// What a session host serves, apart from its devices.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// Names of the devices.
    pub devices: Vec<String>,
    /// The configuration as clients compare it with theirs.
    pub config: Value,
    /// Digest of the policy.
    pub policy: Digest,
    /// The time without a call after which the session is closed.
    pub idle_limit: Duration,
    /// How long a question stays open.
    pub approval_timeout: Duration,
    /// The user's choices for all sessions; absent if none count here.
    pub standing: Option<StandingChoices>,
    /// The tokens of the operators whose answers over HTTP count; without the file none does.
    pub tokens: Option<TokenFile>,
    /// Whether resent turns are answered from the recording, because the run has a name in it.
    pub is_resumed: bool,
}

/// The state of a session host.
#[derive(Debug)]
pub(super) struct SessionStatus {
    pub(super) name: String,
    settings: HostSettings,
    policy: Mutex<Digest>,
    started: Instant,
    started_ms: u64,
    state: Mutex<StateSince>,
}

#[derive(Clone, Copy, Debug)]
struct StateSince {
    state: SessionState,
    since: Instant,
    /// The session is not closed for idleness before this.
    extended_until: Instant,
}

impl SessionStatus {
    pub(super) fn new(name: String, settings: HostSettings) -> Self {
        let started = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        Self {
            name,
            policy: Mutex::new(settings.policy),
            settings,
            started,
            started_ms: u64::try_from(now.as_millis()).unwrap_or_default(),
            state: Mutex::new(StateSince {
                state: SessionState::Starting,
                since: started,
                extended_until: started,
            }),
        }
    }

    pub(super) fn settings(&self) -> &HostSettings {
        &self.settings
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.settings.is_resumed
    }

    pub(super) fn set_policy(&self, policy: Digest) {
        *self.policy.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    pub(super) fn set(&self, state: SessionState) {
        let mut current = self.lock();
        if current.state != state {
            (current.state, current.since) = (state, Instant::now());
        }
    }

    pub(super) fn state(&self) -> SessionState {
        self.lock().state
    }

    /// Revokes the tokens that are for this session alone, when it ends.
    pub(super) fn revoke_tokens(&self) {
        if let Some(tokens) = &self.settings.tokens
            && let Err(error) = tokens.revoke_session(&self.name)
        {
            tracing::warn!(%error, "the session's tokens are left");
        }
    }

    /// Moves the end for idleness to this time from now, unless it is later anyway.
    pub(super) fn extend(&self, time: Duration) {
        let mut current = self.lock();
        let until = Instant::now().checked_add(time);
        current.extended_until = until.unwrap_or(current.since).max(current.extended_until);
    }

    /// Waits until the session was idle for too long.
    pub(super) async fn idle_too_long(&self) {
        // The end may move while this waits.
        while self.idle_end() > Instant::now() {
            sleep_until(self.idle_end()).await;
        }
    }

    fn idle_end(&self) -> Instant {
        let current = *self.lock();
        (current.since + self.settings.idle_limit).max(current.extended_until)
    }

    pub(super) fn describe(&self, waiting: usize) -> SessionDescription {
        let current = *self.lock();
        let is_idle = current.state == SessionState::Idle;
        let left = self.idle_end().saturating_duration_since(Instant::now());
        let idle = match current.state {
            SessionState::Idle => current.since.elapsed(),
            SessionState::Starting
            | SessionState::Busy
            | SessionState::Closing
            | SessionState::Gone => Duration::ZERO,
        };
        SessionDescription {
            name: self.name.clone(),
            pid: std::process::id(),
            state: current.state,
            devices: self.settings.devices.clone(),
            age_seconds: self.started.elapsed().as_secs(),
            started_ms: self.started_ms,
            idle_seconds: idle.as_secs(),
            idle_limit_seconds: self.settings.idle_limit.as_secs(),
            closes_in_seconds: is_idle.then_some(left.as_secs()),
            waiting,
            running: None,
            control: None,
            config: self.settings.config.clone(),
            policy: *self.policy.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn lock(&self) -> MutexGuard<'_, StateSince> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{Role, TokenOptions};

    fn status(idle_limit: Duration) -> SessionStatus {
        with_tokens(idle_limit, None)
    }

    fn with_tokens(idle_limit: Duration, tokens: Option<TokenFile>) -> SessionStatus {
        let settings = HostSettings {
            approval_timeout: Duration::from_secs(300),
            standing: None,
            tokens,
            devices: Vec::new(),
            config: Value::Null,
            policy: Digest::of_json(&Value::Null),
            idle_limit,
            is_resumed: false,
        };
        SessionStatus::new("a".to_owned(), settings)
    }

    #[test]
    fn the_end_of_a_session_revokes_its_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("own/tokens.json"));
        let of = |session: Option<&str>| {
            let options = TokenOptions {
                expires_in: None,
                session: session.map(str::to_owned),
            };
            file.create_with(Role::Agent, "a", options).unwrap().0
        };
        let (_own, other, all) = (of(Some("a")), of(Some("b")), of(None));
        with_tokens(Duration::from_secs(100), Some(file.clone())).revoke_tokens();
        assert_eq!(file.list().unwrap(), [other, all]);
    }

    #[test]
    fn an_extension_moves_the_idle_end_but_never_forward() {
        let second = Duration::from_secs(1);
        let status = status(100 * second);
        let before = status.idle_end();
        status.extend(20 * second);
        assert_eq!(status.idle_end(), before);
        status.extend(200 * second);
        let later = status.idle_end();
        assert!(later > before + 90 * second);
        status.extend(150 * second);
        assert_eq!(status.idle_end(), later);
        status.extend(Duration::MAX);
        assert_eq!(status.idle_end(), later, "a time without an end is ignored");
    }
}
