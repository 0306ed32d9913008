//! A display as people look at it: captures through a connection of its own.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use telechir_device::{DeviceError, Frame, ScreenRegion, ScreenViewer};
use tokio::time::{sleep, timeout};
use x11rb::NONE;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};

use crate::address::Address;
use crate::authority::MagicCookie;
use crate::capture::ScreenCapture;
use crate::connection::Connection;
use crate::error::XError;
use crate::startup::{display_unavailable, refused};

/// A program can hold the server for itself, and people look again soon.
const CAPTURE_TIMEOUT: Duration = Duration::from_secs(3);

/// How to connect to a display once more.
#[derive(Clone, Debug)]
pub(crate) enum DisplayAddress {
    /// A server that was started here, with its cookie.
    Private { number: u16, cookie: MagicCookie },
    /// A server of somebody else, with the file of its cookie.
    Existing {
        name: String,
        address: Address,
        xauthority: Option<PathBuf>,
    },
}

impl DisplayAddress {
    pub(crate) async fn connect(&self) -> Result<Connection, DeviceError> {
        match self {
            Self::Private { number, cookie } => {
                let connection =
                    Connection::open(&Address::local(*number), Some(cookie.as_bytes())).await;
                connection.map_err(|error| refused(&format!(":{number}"), &error))
            }
            Self::Existing {
                name,
                address,
                xauthority,
            } => {
                let cookie = match xauthority {
                    Some(path) => MagicCookie::read(path, address.number()).map_err(|error| {
                        display_unavailable(name, &format!("{}: {error}", path.display()))
                    })?,
                    None => None,
                };
                let cookie = cookie.as_ref().map(MagicCookie::as_bytes);
                let connection = Connection::open(address, cookie).await;
                connection.map_err(|error| refused(name, &error))
            }
        }
    }
}

/// Captures a display, or the part of it that a session sees.
#[derive(Debug)]
pub(crate) struct XViewer {
    display: DisplayAddress,
    visible_part: Option<ScreenRegion>,
    /// Absent before the first capture and after a failed one.
    open: Option<OpenViewer>,
}

#[derive(Debug)]
struct OpenViewer {
    connection: Connection,
    capturer: ScreenCapture,
    /// Absent if the server does not report damage.
    damage: Option<damage::Damage>,
    /// Whether the screen changed since the last capture.
    is_damaged: bool,
}

impl OpenViewer {
    async fn new(connection: Connection) -> Result<Self, XError> {
        let capturer = ScreenCapture::new(&connection).await?;
        let mut damage = None;
        if connection.has(damage::X11_EXTENSION_NAME)? {
            let x = connection.x();
            connection.reply(x.damage_query_version(1, 1)?).await?;
            let id = x.generate_id()?;
            // One event until the damage is subtracted: nothing is sent while nobody captures.
            let created = x.damage_create(id, connection.root(), ReportLevel::NON_EMPTY)?;
            connection.checked(created).await?;
            damage = Some(id);
        }
        Ok(Self {
            connection,
            capturer,
            damage,
            is_damaged: true,
        })
    }

    /// The same pixel buffer as before if nothing changed.
    async fn capture(&mut self) -> Result<Frame, XError> {
        let connection = &self.connection;
        let pending = self.capturer.prepare(connection).await?;
        connection.drain()?;
        self.is_damaged |= connection.take_damaged().is_some() || self.damage.is_none();
        if !self.is_damaged
            && let Some(frame) = self.capturer.cached(&pending)
        {
            return Ok(frame);
        }
        if let Some(damage) = self.damage {
            // Before the pixels are fetched: later changes are reported again.
            connection.x().damage_subtract(damage, NONE, NONE)?;
        }
        let frame = self.capturer.capture(connection, pending).await?;
        self.is_damaged = false;
        Ok(frame)
    }

    async fn until_damaged(&mut self) -> Result<(), XError> {
        loop {
            self.is_damaged |= self.connection.take_damaged().is_some();
            if self.is_damaged {
                return Ok(());
            }
            self.connection.next_event().await?;
        }
    }
}

impl XViewer {
    pub(crate) const fn new(display: DisplayAddress, visible_part: Option<ScreenRegion>) -> Self {
        Self {
            display,
            visible_part,
            open: None,
        }
    }

    async fn opened(&mut self) -> Result<OpenViewer, DeviceError> {
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        let connection = self.display.connect().await?;
        Ok(OpenViewer::new(connection).await?)
    }
}

#[async_trait]
impl ScreenViewer for XViewer {
    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let captured = timeout(CAPTURE_TIMEOUT, async {
            let mut open = self.opened().await?;
            let frame = open.capture().await?;
            // Only after success: another capture connects again.
            self.open = Some(open);
            Ok::<_, DeviceError>(frame)
        });
        let frame = captured.await.map_err(|_| DeviceError::Unavailable {
            what: "a view of the screen",
            message: "the X server does not answer".to_owned(),
        })??;
        match self.visible_part {
            None => Ok(frame),
            Some(part) => frame.crop(part).ok_or_else(|| DeviceError::Unavailable {
                what: "a view of the screen",
                message: "the screen has become smaller than the monitor".to_owned(),
            }),
        }
    }

    async fn until_changed(&mut self, limit: Duration) {
        match &mut self.open {
            Some(open) if open.damage.is_some() => {
                if let Ok(Err(error)) = timeout(limit, open.until_damaged()).await {
                    tracing::debug!(%error, "a view of the screen was lost");
                    self.open = None;
                }
            }
            Some(_) => sleep(limit).await,
            None => {}
        }
    }

    fn rest(&mut self) {
        // The server reports the next change, and no further ones until a capture.
    }
}
