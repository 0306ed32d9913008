//! A screen and a shell that log their actions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use telechir_device::{
    ActionReport, Computer, DeviceError, Frame, ScreenAction, Settle, Settled, Shell, ShellCommand,
};
use telechir_protocol::{ActionKind, CommandOutput, ShellOutcome, Size};

/// Actions of the devices, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionLog(Arc<Mutex<Vec<String>>>);

impl ActionLog {
    pub(crate) fn write(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A screen that fails one kind of action and never completes another.
#[derive(Debug)]
pub(crate) struct RecordingScreen {
    pub(crate) actions: ActionLog,
    pub(crate) fails_at: Option<ActionKind>,
    pub(crate) hangs_at: Option<ActionKind>,
}

#[async_trait]
impl Computer for RecordingScreen {
    fn size(&self) -> Size {
        Size::new(64, 48)
    }

    fn supports(&self, _kind: &ActionKind) -> bool {
        true
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        Ok(Frame::new(self.size(), vec![0x7f; 64 * 48 * 4]).unwrap())
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        self.actions.write(action.kind().name());
        if self.hangs_at == Some(action.kind()) {
            std::future::pending::<()>().await;
        }
        if self.fails_at == Some(action.kind()) {
            return Err(DeviceError::Refused {
                message: "It does not go.".to_owned(),
            });
        }
        Ok(ActionReport::delivered())
    }

    async fn settle(&mut self, _settle: Settle) -> Result<Settled, DeviceError> {
        Ok(Settled {
            unsettled: None,
            waited: Duration::ZERO,
            animated_region: None,
        })
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// A shell that prints each command, and a random word that no script contains.
#[derive(Debug)]
pub(crate) struct RecordingShell {
    pub(crate) actions: ActionLog,
    pub(crate) word: String,
}

#[async_trait]
impl Shell for RecordingShell {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let line = command.command.to_line();
        self.actions.write(&line);
        let stdout = format!("ran {line}; the word is {}.\n", self.word);
        Ok(CommandOutput {
            stdout,
            exit_code: Some(0),
            outcome: ShellOutcome::Success,
            ..CommandOutput::default()
        })
    }

    async fn restart(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn cwd(&self) -> Option<String> {
        Some("/work".to_owned())
    }

    fn is_sandboxed(&self) -> bool {
        true
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }
}
