//! Either sort of display, for those who do not care which.

use telechir_device::DeviceError;

use crate::connection::Connection;
use crate::existing::ExistingDisplay;
use crate::private::PrivateDisplay;

/// A display of our own, or one that was there before us.
#[derive(Debug)]
pub(crate) enum Display {
    Private(Box<PrivateDisplay>),
    Existing(ExistingDisplay),
}

impl Display {
    pub(crate) async fn connect(&self) -> Result<Connection, DeviceError> {
        match self {
            Self::Private(display) => display.connect().await,
            Self::Existing(display) => display.open().await,
        }
    }

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        match self {
            Self::Private(display) => display.environment(),
            Self::Existing(display) => display.environment(),
        }
    }

    pub(crate) const fn private(&mut self) -> Option<&mut PrivateDisplay> {
        match self {
            Self::Private(display) => Some(display),
            Self::Existing(_) => None,
        }
    }

    /// Whether somebody goes on using it after us.
    pub(crate) const fn outlives_us(&self) -> bool {
        matches!(self, Self::Existing(_))
    }

    pub(crate) async fn close(self) -> Result<(), DeviceError> {
        match self {
            Self::Private(display) => display.close().await,
            Self::Existing(_) => Ok(()),
        }
    }
}
