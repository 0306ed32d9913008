//! Seeing one screen: its pixels, and whether they still change.

use telechir_device::{DeviceError, Frame, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::Instant;

use crate::capture::Camera;
use crate::connection::Connection;
use crate::error::XError;
use crate::settle::{DamageWatch, Patience, Wait};

/// A connection with what it takes to look at the screen.
#[derive(Debug)]
pub(crate) struct Eyes {
    pub(crate) connection: Connection,
    camera: Camera,
    damage: DamageWatch,
}

impl Eyes {
    pub(crate) async fn open(connection: Connection) -> Result<Self, DeviceError> {
        let camera = Camera::new(&connection).await?;
        let damage = DamageWatch::new(&connection)
            .await?
            .ok_or_else(|| missing("DAMAGE"))?;
        Ok(Self {
            connection,
            camera,
            damage,
        })
    }

    pub(crate) const fn size(&self) -> Size {
        self.camera.size()
    }

    /// The screen as it is now; the same pixels as before when nothing changed.
    pub(crate) async fn capture(&mut self) -> Result<Frame, XError> {
        let connection = &self.connection;
        let glance = self.camera.glance(connection).await?;
        connection.drain()?;
        if let Some(at) = connection.take_damaged() {
            // Asked for before the pixels: what changes after them is reported again.
            self.damage.note(connection, at).await?;
        }
        if !self.damage.has_news()
            && let Some(frame) = self.camera.again(&glance)
        {
            return Ok(frame);
        }
        let frame = self.camera.capture(connection, glance).await?;
        // Only now: a capture that failed or was dropped has shown nobody anything.
        self.damage.was_seen();
        Ok(frame)
    }

    /// Something is about to be done to the screen.
    pub(crate) async fn before(&mut self) -> Result<(), XError> {
        self.damage.before(&self.connection).await
    }

    /// Waits until the screen is still. `acted` is when something was last done to it, none when
    /// nothing was since the last wait; `programs` are the processes that were started on it, none when
    /// others may start some too.
    pub(crate) async fn settle(
        &mut self,
        settle: Settle,
        acted: Option<Instant>,
        programs: Option<&[u32]>,
        patience: Patience,
    ) -> Result<Settled, XError> {
        let wait = Wait {
            settle,
            screen: self.camera.size(),
            acted,
            programs,
            patience,
        };
        self.damage.settle(&self.connection, wait).await
    }
}

/// The X server lacks an extension that we cannot do without.
pub(crate) fn missing(extension: &str) -> DeviceError {
    DeviceError::Unavailable {
        what: "the desktop",
        message: format!("the X server has no {extension} extension; use another X server"),
    }
}
