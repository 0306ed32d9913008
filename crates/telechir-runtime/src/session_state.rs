//! What a session consists of, as the pipeline reads and changes it.

use std::time::{Duration, Instant};

use telechir_policy::{ContentTrust, Judge, ShellReach};

use crate::approver::BoxApprover;
use crate::execute::{EditorSlot, ScreenSlot, ShellSlot};
use crate::question_rate::QuestionRate;
use crate::recorder::Recorder;
use crate::{
    AutoScreenshot, DeviceKind, JournalError, ScreenshotRule, SessionEvent, SessionLimits,
};

/// The devices, the policy and the recording of a session.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) recorder: Recorder,
    pub(crate) judge: Judge,
    /// Whether untrusted content was read; shared with the proxies of the devices.
    pub(crate) trust: ContentTrust,
    /// Whether subscribers know that untrusted content was read.
    pub(crate) is_untrusted_announced: bool,
    /// What the commands of the shell can reach.
    pub(crate) shell_reach: ShellReach,
    pub(crate) approver: BoxApprover,
    pub(crate) question_rate: QuestionRate,
    pub(crate) screens: Vec<ScreenSlot>,
    pub(crate) shell: Option<ShellSlot>,
    pub(crate) editor: Option<EditorSlot>,
    pub(crate) auto_screenshot: AutoScreenshot,
    pub(crate) screenshot: ScreenshotRule,
    pub(crate) marks: Option<usize>,
    pub(crate) limits: SessionLimits,
    pub(crate) started_at: Instant,
    /// Number of screenshots taken, from which the next one gets its name.
    pub(crate) screenshots: u64,
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
