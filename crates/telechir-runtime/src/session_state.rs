//! What a session consists of, as the pipeline reads and changes it.

use std::time::{Duration, Instant};

use telechir_policy::Judge;

use crate::approver::BoxApprover;
use crate::execute::{EditorSlot, ScreenSlot, ShellSlot};
use crate::question_rate::QuestionRate;
use crate::recorder::Recorder;
use crate::{AutoScreenshot, DeviceKind, ScreenshotRule, SessionLimits};

/// The devices, the policy and the recording of a session.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) recorder: Recorder,
    pub(crate) judge: Judge,
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

    /// The kinds of device of the session.
    pub(crate) fn devices(&self) -> Vec<DeviceKind> {
        let screens = self.screens.iter().map(ScreenSlot::kind);
        screens
            .chain(self.shell.as_ref().map(|_| DeviceKind::Shell))
            .chain(self.editor.as_ref().map(|_| DeviceKind::Editor))
            .collect()
    }
}
