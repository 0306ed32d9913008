//! A display as people look at it: captures through a connection of its own.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use telechir_device::{DeviceError, Frame, ScreenRegion, ScreenViewer};
use tokio::time::{sleep, timeout};
use x11rb::NONE;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::xfixes::{self, ConnectionExt as _};
use x11rb::protocol::xinput::{self, ConnectionExt as _};

use crate::address::Address;
use crate::authority::MagicCookie;
use crate::capture::ScreenCapture;
use crate::connection::Connection;
use crate::error::XError;
use crate::startup::{display_unavailable, refused};

/// A program that moves the pointer itself is not reported: the pointer is looked for this often, and
/// more often on a server that reports no motion.
const POINTER_INTERVAL: Duration = Duration::from_secs(1);
const UNREPORTED_POINTER_INTERVAL: Duration = Duration::from_millis(50);
/// The version of the input extension that reports motion also while a program has grabbed the pointer.
const XINPUT_VERSION: (u16, u16) = (2, 2);
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
    /// Whether the server reports when the pointer moves or gets another shape; absent until somebody
    /// waits for changes.
    reports_pointer: Option<bool>,
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
            reports_pointer: None,
        })
    }

    /// The same pixel buffer as before if nothing changed.
    async fn capture(&mut self) -> Result<Frame, XError> {
        let connection = &self.connection;
        // Before the pointer is fetched: later changes of it are another capture.
        connection.drain()?;
        connection.take_pointer_change();
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

    /// How long nothing may happen before the pointer is looked for.
    async fn pointer_interval(&mut self) -> Result<Duration, XError> {
        let is_reported = match self.reports_pointer {
            Some(is_reported) => is_reported,
            None => report_pointer(&self.connection).await?,
        };
        self.reports_pointer = Some(is_reported);
        Ok(match is_reported {
            true => POINTER_INTERVAL,
            false => UNREPORTED_POINTER_INTERVAL,
        })
    }

    /// Waits until the screen or the pointer changed, for this time or as long as the pointer may not be
    /// looked for.
    async fn until_changed(&mut self, limit: Duration) -> Result<(), XError> {
        let limit = limit.min(self.pointer_interval().await?);
        match timeout(limit, self.until_reported()).await {
            Ok(reported) => reported,
            Err(_) => Ok(()),
        }
    }

    async fn until_reported(&mut self) -> Result<(), XError> {
        loop {
            self.is_damaged |= self.connection.take_damaged().is_some();
            if self.is_damaged || self.connection.take_pointer_change() {
                return Ok(());
            }
            self.connection.next_event().await?;
        }
    }
}

/// Requests events of the pointer. False if the server has none.
async fn report_pointer(connection: &Connection) -> Result<bool, XError> {
    let has = |name| connection.has(name);
    if !has(xinput::X11_EXTENSION_NAME)? || !has(xfixes::X11_EXTENSION_NAME)? {
        return Ok(false);
    }
    let (x, root) = (connection.x(), connection.root());
    let (major, minor) = XINPUT_VERSION;
    let version = connection.reply(x.xinput_xi_query_version(major, minor)?);
    let version = version.await?;
    if (version.major_version, version.minor_version) < XINPUT_VERSION {
        return Ok(false);
    }
    let motion = xinput::EventMask {
        deviceid: xinput::Device::ALL_MASTER.into(),
        mask: vec![xinput::XIEventMask::RAW_MOTION],
    };
    let selected = x.xinput_xi_select_events(root, &[motion])?;
    connection.checked(selected).await?;
    let shape = xfixes::CursorNotifyMask::DISPLAY_CURSOR;
    let selected = x.xfixes_select_cursor_input(root, shape)?;
    connection.checked(selected).await?;
    Ok(true)
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
                if let Err(error) = open.until_changed(limit).await {
                    tracing::debug!(%error, "a view of the screen was lost");
                    self.open = None;
                }
            }
            Some(_) => sleep(limit.min(UNREPORTED_POINTER_INTERVAL)).await,
            None => {}
        }
    }

    fn rest(&mut self) {
        // Of the screen the server reports one change until a capture, but every motion of the pointer.
        let reports_pointer = self.open.as_ref().and_then(|open| open.reports_pointer);
        if reports_pointer == Some(true) {
            self.open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use telechir_process::{Identity, is_root};
    use telechir_testkit::gate::{Component, require};
    use x11rb::protocol::xproto::MOTION_NOTIFY_EVENT;
    use x11rb::protocol::xtest::ConnectionExt as _;

    use super::*;
    use crate::{DisplayOptions, PrivateDisplay};

    /// A pointer that moves and a screen that changes.
    #[tokio::test]
    async fn a_pointer_that_moves_is_reported() {
        require(Component::XServer);
        let folder = tempfile::tempdir().unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), mode).unwrap();
        let identity = is_root().then(|| Identity::unprivileged(3_830)).flatten();
        let options = DisplayOptions {
            window_manager: false,
            ..DisplayOptions::new(folder.path(), identity)
        };
        let display = PrivateDisplay::start(options).await.unwrap();
        let connect = || async { display.address().connect().await.unwrap() };
        let (other, mut open) = (connect().await, OpenViewer::new(connect().await).await);
        let open = open.as_mut().unwrap();
        for x in [10, 20, 30] {
            open.capture().await.unwrap();
            assert_eq!(open.pointer_interval().await.unwrap(), POINTER_INTERVAL);
            let (motion, root) = (MOTION_NOTIFY_EVENT, other.root());
            let x_test = other.x();
            let moved = x_test.xtest_fake_input(motion, 0, 0, root, x, 5, 0);
            other.checked(moved.unwrap()).await.unwrap();
            // Ends by the event alone: there is no damage, and nothing looks for the pointer.
            open.until_reported().await.unwrap();
            assert!(!open.is_damaged);
        }
        display.close().await.unwrap();
    }
}
