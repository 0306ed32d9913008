//! Seeing one screen: its pixels, and whether they still change.

use telechir_device::{DeviceError, Frame, Settle, Settled};
use telechir_protocol::Size;

use crate::capture::Camera;
use crate::connection::Connection;
use crate::error::XError;
use crate::settle::DamageWatch;

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

    pub(crate) async fn capture(&mut self) -> Result<Frame, XError> {
        self.camera.capture(&self.connection).await
    }

    pub(crate) async fn settle(&mut self, settle: Settle) -> Result<Settled, XError> {
        self.damage.settle(&self.connection, settle).await
    }
}

/// The X server lacks an extension that we cannot do without.
pub(crate) fn missing(extension: &str) -> DeviceError {
    DeviceError::Unavailable {
        what: "the desktop",
        message: format!("the X server has no {extension} extension; use another X server"),
    }
}
