//! A screen for a window: Xvfb and a window manager, captured with plain X11 requests. Shares no
//! code with sessions, so it can prove that a page's pixels match the screen's.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use async_trait::async_trait;
use rustix::pipe::{PipeFlags, pipe_with};
use telechir_device::{DeviceError, Frame, Screen, Settle, Settled};
use telechir_process::{Child, Spawn};
use telechir_protocol::{Size, UnsettledReason};
use telechir_testkit::gate::{Component, require};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep, timeout};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};
use x11rb::rust_connection::RustConnection;

use crate::common::{SIZE, options};

/// A private X11 display.
#[derive(Debug)]
pub(crate) struct TestScreen {
    connection: RustConnection,
    display: String,
    _manager: Child,
    _server: Child,
}

impl TestScreen {
    pub(crate) async fn open() -> Self {
        require(Component::XServer);
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let Size { width, height } = SIZE;
        let screen = format!("{width}x{height}x24");
        let server = Spawn::new("Xvfb")
            .args([
                "-displayfd",
                "3",
                "-screen",
                "0",
                &screen,
                "-nolisten",
                "tcp",
                "-ac",
            ])
            .fd(3, writer)
            .spawn()
            .await
            .unwrap();
        let display = format!(":{}", first_line(reader).await);
        let manager = Spawn::new("openbox")
            .env("DISPLAY", &display)
            .env("HOME", "/tmp")
            .identity(options().identity)
            .spawn()
            .await
            .unwrap();
        let (connection, _) = x11rb::connect(Some(&display)).unwrap();
        let screen = Self {
            connection,
            display,
            _manager: manager,
            _server: server,
        };
        screen.wait_for_the_manager().await;
        screen
    }

    async fn wait_for_the_manager(&self) {
        let root = self.connection.setup().roots[0].root;
        let atom = self
            .connection
            .intern_atom(false, b"_NET_SUPPORTING_WM_CHECK")
            .unwrap()
            .reply()
            .unwrap()
            .atom;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            let found = self
                .connection
                .get_property(false, root, atom, 33_u32, 0, 1)
                .unwrap()
                .reply()
                .unwrap();
            if found.length > 0 {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the window manager did not start");
    }

    fn grab(&self) -> Frame {
        let root = self.connection.setup().roots[0].root;
        let (width, height) = (
            u16::try_from(SIZE.width).unwrap(),
            u16::try_from(SIZE.height).unwrap(),
        );
        let image = self
            .connection
            .get_image(ImageFormat::Z_PIXMAP, root, 0, 0, width, height, !0);
        Frame::new(SIZE, image.unwrap().reply().unwrap().data).unwrap()
    }
}

async fn first_line(pipe: OwnedFd) -> String {
    let _still_open = pipe.as_fd();
    let mut pipe = Receiver::from_owned_fd(pipe).unwrap();
    let mut text = String::new();
    while !text.ends_with('\n') {
        let mut byte = [0];
        timeout(Duration::from_secs(10), pipe.read_exact(&mut byte))
            .await
            .unwrap()
            .unwrap();
        text.push(char::from(byte[0]));
    }
    text.trim().to_owned()
}

#[async_trait]
impl Screen for TestScreen {
    fn size(&self) -> Size {
        SIZE
    }

    fn environment(&self) -> Vec<(String, String)> {
        vec![("DISPLAY".to_owned(), self.display.clone())]
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        Ok(self.grab())
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let start = Instant::now();
        let (mut last, mut since) = (self.grab(), start);
        while start.elapsed() < settle.ceiling {
            if since.elapsed() >= settle.quiet {
                return Ok(Settled {
                    unsettled: None,
                    waited: start.elapsed(),
                    animated_region: None,
                });
            }
            sleep(Duration::from_millis(10)).await;
            let now = self.grab();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        Ok(Settled {
            unsettled: Some(UnsettledReason::StillChanging),
            waited: start.elapsed(),
            animated_region: None,
        })
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }
}
