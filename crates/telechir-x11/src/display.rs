//! A private or an existing display, for code that handles both alike.

use std::path::PathBuf;

use telechir_device::DeviceError;
use telechir_process::Child;

use crate::connection::Connection;
use crate::existing::ExistingDisplay;
use crate::private::PrivateDisplay;
use crate::stderr_tail::StderrTail;
use crate::viewer::DisplayAddress;

/// A private display or one that was running before.
#[derive(Debug)]
pub(crate) enum XDisplay {
    Private(Box<PrivateDisplay>),
    Existing(ExistingDisplay),
}

impl XDisplay {
    pub(crate) async fn connect(&self) -> Result<Connection, DeviceError> {
        self.address().connect().await
    }

    /// How to connect to the display.
    pub(crate) fn address(&self) -> DisplayAddress {
        match self {
            Self::Private(display) => display.address(),
            Self::Existing(display) => display.address(),
        }
    }

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        match self {
            Self::Private(display) => display.environment(),
            Self::Existing(display) => display.environment(),
        }
    }

    /// Whether applications can be started on this display.
    pub(crate) const fn starts_programs(&self) -> bool {
        match self {
            Self::Private(_) => true,
            Self::Existing(display) => display.starts_programs(),
        }
    }

    /// Starts an application; returns its process and the tail of its standard error.
    pub(crate) async fn start_application(
        &mut self,
        program: &str,
        args: &[&str],
    ) -> Result<(&Child, &StderrTail), DeviceError> {
        match self {
            Self::Private(display) => {
                let started = display.start_application(program, args).await?;
                Ok((started.child(), &started.stderr))
            }
            Self::Existing(display) => {
                let (child, stderr) = display.start_application(program, args).await?;
                Ok((child, stderr))
            }
        }
    }

    /// The folders with desktop entries and the folders with programs.
    pub(crate) fn applications(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/games";
        const DATA: &str = "/usr/local/share:/usr/share";
        let (path, data, home) = match self {
            // Folders that confined programs can write to are not searched.
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

    /// Host processes that contain every program on the display; `None` if other programs run there
    /// too.
    pub(crate) fn programs(&self) -> Option<Vec<u32>> {
        match self {
            Self::Private(display) => Some(display.programs()),
            Self::Existing(_) => None,
        }
    }

    /// Sentences about programs that were ended since the last call.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        match self {
            Self::Private(display) => display.take_notices(),
            Self::Existing(_) => Vec::new(),
        }
    }

    /// Whether the display stays in use after this process ends.
    pub(crate) const fn is_detached(&self) -> bool {
        matches!(self, Self::Existing(_))
    }

    pub(crate) async fn close(self) -> Result<(), DeviceError> {
        match self {
            Self::Private(display) => display.close().await,
            Self::Existing(_) => Ok(()),
        }
    }
}
