//! Either sort of display, for those who do not care which.

use std::path::PathBuf;

use telechir_device::DeviceError;
use telechir_process::Child;

use crate::connection::Connection;
use crate::existing::ExistingDisplay;
use crate::private::{PrivateDisplay, Said};

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

    /// Whether applications can be started on it.
    pub(crate) const fn starts_programs(&self) -> bool {
        match self {
            Self::Private(_) => true,
            Self::Existing(display) => display.starts_programs(),
        }
    }

    /// Starts an application: its process and what it says on its standard error.
    pub(crate) async fn start_application(
        &mut self,
        program: &str,
        args: &[&str],
    ) -> Result<(&Child, &Said), DeviceError> {
        match self {
            Self::Private(display) => {
                let started = display.start_application(program, args).await?;
                Ok((started.child(), &started.said))
            }
            Self::Existing(display) => {
                let (child, said) = display.start_application(program, args).await?;
                Ok((child, said))
            }
        }
    }

    /// Where the entries of its applications are, and its programs.
    pub(crate) fn applications(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/games";
        const DATA: &str = "/usr/local/share:/usr/share";
        let (path, data, home) = match self {
            // What a program there could write is not read by us.
            Self::Private(_) => (PATH, DATA, None),
            Self::Existing(display) => (
                display.variable("PATH").unwrap_or(PATH),
                display.variable("XDG_DATA_DIRS").unwrap_or(DATA),
                display.variable("HOME"),
            ),
        };
        let own = home.map(|home| PathBuf::from(home).join(".local/share/applications"));
        let shared = data
            .split(':')
            .map(|folder| PathBuf::from(folder).join("applications"));
        (
            own.into_iter().chain(shared).collect(),
            path.split(':').map(PathBuf::from).collect(),
        )
    }

    pub(crate) const fn private(&mut self) -> Option<&mut PrivateDisplay> {
        match self {
            Self::Private(display) => Some(display),
            Self::Existing(_) => None,
        }
    }

    /// The processes that were started on it, and that hold all that they started; none when
    /// others start programs there too.
    pub(crate) fn programs(&self) -> Option<Vec<u32>> {
        match self {
            Self::Private(display) => Some(display.programs()),
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
