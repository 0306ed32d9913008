//! What a session consists of, as the pipeline reads and changes it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use telechir_policy::{ContentTrust, Judge, Policy, ShellReach};

use crate::approver::BoxApprover;
use crate::execute::{EditorSlot, ScreenSlot, ShellSlot};
use crate::question_rate::QuestionRate;
use crate::recorder::Recorder;
use crate::{
    AutoScreenshot, ControlLease, DeviceKind, JournalError, ScreenshotRule, SessionEvent,
    SessionLimits,
};

/// Holds the policy that replaces a session's policy before its next judgement. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct PolicySlot(Arc<Mutex<Option<Policy>>>);

impl PolicySlot {
    /// Sets the policy; a later one replaces one that was not taken.
    pub fn set(&self, policy: Policy) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(policy);
    }

    fn take(&self) -> Option<Policy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The devices, the policy and the recording of a session.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) recorder: Recorder,
    pub(crate) judge: Judge,
    /// The policy that replaces the present one.
    pub(crate) next_policy: PolicySlot,
    /// Whether untrusted content was read; shared with the proxies of the devices.
    pub(crate) trust: ContentTrust,
    /// Whether subscribers know that untrusted content was read.
    pub(crate) is_untrusted_announced: bool,
    /// What the commands of the shell can reach.
    pub(crate) shell_reach: ShellReach,
    pub(crate) approver: BoxApprover,
    pub(crate) question_rate: QuestionRate,
    pub(crate) screens: Vec<ScreenSlot>,
    /// Whether a person has control instead of the calls.
    pub(crate) control: ControlLease,
    pub(crate) shell: Option<ShellSlot>,
    pub(crate) editor: Option<EditorSlot>,
    pub(crate) auto_screenshot: AutoScreenshot,
    pub(crate) screenshot: ScreenshotRule,
    pub(crate) marks: Option<usize>,
    pub(crate) limits: SessionLimits,
    pub(crate) started_at: Instant,
    /// Number of screenshots taken, from which the next one gets its name.
    pub(crate) screenshots: u64,
    /// Number of calls that other programs made, from which the next one gets its id.
    pub(crate) devtools_calls: u64,
    /// Number of the next turn; none before the first turn has ended.
    pub(crate) next_turn: Option<u64>,
    /// True while a turn is executed; stays true if the turn is dropped.
    pub(crate) is_in_turn: bool,
    /// Reason of the kill switch, once it was pressed.
    pub(crate) stopped: Option<&'static str>,
}

impl SessionState {
    /// Time since the session started, by which policies count rates.
    pub(crate) fn now(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// Takes the policy that replaces the present one, if there is one.
    pub(crate) fn apply_policy(&mut self) {
        if let Some(policy) = self.next_policy.take() {
            let digest = policy.digest();
            self.judge.set_policy(policy);
            self.recorder
                .emit(SessionEvent::PolicyReloaded { policy: digest });
        }
    }

    /// Announces that untrusted content was read, once.
    pub(crate) fn announce_untrusted(&mut self) {
        if let (false, Some(source)) = (self.is_untrusted_announced, self.trust.untrusted_source())
        {
            self.is_untrusted_announced = true;
            self.recorder
                .emit(SessionEvent::UntrustedContent { source });
        }
    }

    /// Continues as untrusted if an earlier part of this run was.
    pub(crate) async fn continue_untrusted(&mut self) -> Result<(), JournalError> {
        let recorder = &self.recorder;
        if let Some(source) = recorder.journal.untrusted_source(&recorder.run).await? {
            self.trust.note_untrusted(&source);
            self.is_untrusted_announced = true;
        }
        Ok(())
    }

    /// Trusts everything that was read so far, as the user decided.
    pub(crate) fn restore_trust(&mut self, call_id: telechir_protocol::CallId) {
        self.announce_untrusted();
        self.trust.restore();
        self.is_untrusted_announced = false;
        self.recorder.emit(SessionEvent::ContentTrusted { call_id });
    }

    /// The kinds of device of the session.
    pub(crate) fn devices(&self) -> Vec<DeviceKind> {
        let screens = self.screens.iter().map(ScreenSlot::kind);
        screens
            .chain(self.shell.as_ref().map(|_| DeviceKind::Shell))
            .chain(self.editor.as_ref().map(|_| DeviceKind::Editor))
            .collect()
    }
}
