//! Captures one screen and waits until it has settled.

use telechir_device::{DeviceError, Frame, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::Instant;

use crate::capture::ScreenCapture;
use crate::connection::Connection;
use crate::error::XError;
use crate::settle::{DamageWatch, SettleMode, Wait};

/// A connection with the state for captures and damage reports.
#[derive(Debug)]
pub(crate) struct ScreenView {
    pub(crate) connection: Connection,
    capturer: ScreenCapture,
    damage: DamageWatch,
}

impl ScreenView {
    pub(crate) async fn open(connection: Connection) -> Result<Self, DeviceError> {
        let capturer = ScreenCapture::new(&connection).await?;
        let damage = DamageWatch::new(&connection)
            .await?
            .ok_or_else(|| missing("DAMAGE"))?;
        Ok(Self {
            connection,
            capturer,
            damage,
        })
    }

    pub(crate) const fn size(&self) -> Size {
        self.capturer.size()
    }

    /// The current screen; the same pixel buffer as before if nothing changed.
    pub(crate) async fn capture(&mut self) -> Result<Frame, XError> {
        let connection = &self.connection;
        let pending = self.capturer.prepare(connection).await?;
        connection.drain()?;
        if let Some(at) = connection.take_damaged() {
            // Fetched before the pixels: later changes are reported again.
            self.damage.note_change(connection, at).await?;
        }
        if !self.damage.has_changed()
            && let Some(frame) = self.capturer.cached(&pending)
        {
            return Ok(frame);
        }
        let frame = self.capturer.capture(connection, pending).await?;
        // Only after success: a failed or cancelled capture returned no frame.
        self.damage.mark_captured();
        Ok(frame)
    }

    /// Prepares for an action: changes up to now are not its effects.
    pub(crate) async fn before_action(&mut self) -> Result<(), XError> {
        self.damage.before_action(&self.connection).await
    }

    /// Waits until the screen has settled. `acted` is the time of the latest action, absent if
    /// there was none since the last wait; `programs` are the processes started on the display,
    /// absent if other programs may run on it.
    pub(crate) async fn settle(
        &mut self,
        settle: Settle,
        acted: Option<Instant>,
        programs: Option<&[u32]>,
        mode: SettleMode,
    ) -> Result<Settled, XError> {
        let wait = Wait {
            settle,
            screen: self.capturer.size(),
            acted,
            programs,
            mode,
        };
        self.damage.settle(&self.connection, wait).await
    }
}

/// An error that the X server lacks a required extension.
pub(crate) fn missing(extension: &str) -> DeviceError {
    DeviceError::Unavailable {
        what: "the desktop",
        message: format!("the X server has no {extension} extension; use another X server"),
    }
}
