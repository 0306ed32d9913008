//! Captures the pixels of the screen: through shared memory if the server supports it, else over
//! the socket.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::pread;
use telechir_device::Frame;
use telechir_protocol::Size;
use x11rb::connection::Connection as _;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, GetCursorImageReply};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};

use crate::connection::Connection;
use crate::cursor::Cursor;
use crate::error::XError;
use crate::focus::ignore_destroyed;

const ALL_PLANES: u32 = u32::MAX;

/// Captures one screen; reuses one shared memory segment.
#[derive(Debug)]
pub(crate) struct ScreenCapture {
    size: Size,
    memory: Option<SharedMemory>,
    has_cursor_images: bool,
    /// The latest frame, returned again while nothing changes.
    last_frame: Option<CachedFrame>,
    /// Buffer of the previous frame, reused once no frame refers to it: allocating a new buffer
    /// takes as long as the rest of a capture.
    retired: Option<Arc<Vec<u8>>>,
}

/// A captured frame and the pointer drawn into it.
#[derive(Debug)]
struct CachedFrame {
    pixels: Arc<Vec<u8>>,
    cursor: Option<GetCursorImageReply>,
}

/// Memory that the server writes frames into.
///
/// The memory is read with `pread` and never mapped: the kernel makes the one copy that a frame
/// needs, truncation by the server cannot cause a fault, and no `unsafe` is needed.
#[derive(Debug)]
struct SharedMemory {
    segment: shm::Seg,
    file: OwnedFd,
}

impl ScreenCapture {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let has_cursor_images = connection.has(x11rb::protocol::xfixes::X11_EXTENSION_NAME)?;
        if has_cursor_images {
            // Version 2 introduced cursor images and regions (needed for damage).
            connection
                .reply(connection.x().xfixes_query_version(5, 0)?)
                .await?;
        }
        let size = screen_size(connection).await?;
        let memory = SharedMemory::share(connection, size).await?;
        Ok(Self {
            size,
            memory,
            has_cursor_images,
            last_frame: None,
            retired: None,
        })
    }

    /// Size of the screen at the latest capture.
    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// Requests the pointer image and the screen size. The reply arrives after the damage events of
    /// all earlier changes.
    pub(crate) async fn prepare(&self, connection: &Connection) -> Result<PendingCapture, XError> {
        let x = connection.x();
        let geometry = x.get_geometry(connection.root())?;
        let cursor = match self.has_cursor_images {
            true => Some(x.xfixes_get_cursor_image()?),
            false => None,
        };
        let geometry = connection.reply(geometry).await?;
        let size = Size::new(geometry.width.into(), geometry.height.into());
        let cursor = match cursor {
            // If the client that set the cursor has exited, the server reports an error; no pointer
            // is drawn.
            Some(cursor) => ignore_destroyed(connection.reply(cursor).await)?,
            None => None,
        };
        Ok(PendingCapture {
            cursor,
            is_same_size: size == self.size,
        })
    }

    /// The latest frame, if the pointer in it has not changed.
    pub(crate) fn cached(&self, pending: &PendingCapture) -> Option<Frame> {
        let last_frame = self.last_frame.as_ref()?;
        let is_same = pending.is_same_size
            && is_same_cursor(last_frame.cursor.as_ref(), pending.cursor.as_ref());
        is_same.then(|| Frame::shared(self.size, Arc::clone(&last_frame.pixels)))?
    }

    /// Captures the current pixels and draws the pointer.
    pub(crate) async fn capture(
        &mut self,
        connection: &Connection,
        mut pending: PendingCapture,
    ) -> Result<Frame, XError> {
        // The screen may be resized during a capture: retry, at most three times.
        for _ in 0..3 {
            if pending.is_same_size {
                match self.grab(connection).await {
                    Ok(pixels) => return self.finish_frame(pixels, pending.cursor),
                    Err(XError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            self.update_size(connection).await?;
            pending = self.prepare(connection).await?;
        }
        Err(XError::Impossible(
            "the screen keeps changing size; try again".to_owned(),
        ))
    }

    async fn grab(&mut self, connection: &Connection) -> Result<Arc<Vec<u8>>, XError> {
        let (width, height) = (dimension(self.size.width)?, dimension(self.size.height)?);
        let Some(memory) = &self.memory else {
            let root = connection.root();
            let format = ImageFormat::Z_PIXMAP;
            let x = connection.x();
            let image = x.get_image(format, root, 0, 0, width, height, ALL_PLANES)?;
            return Ok(Arc::new(connection.reply(image).await?.data));
        };
        memory.grab(connection, width, height).await?;
        let mut pixels = self.retired.take().unwrap_or_default();
        // Frames that still refer to the buffer keep it.
        if Arc::get_mut(&mut pixels).is_none_or(|old| old.len() != bytes(self.size)) {
            pixels = Arc::new(vec![0; bytes(self.size)]);
        }
        if let Some(buffer) = Arc::get_mut(&mut pixels) {
            memory.read(buffer)?;
        }
        Ok(pixels)
    }

    /// Draws the pointer and caches the frame for comparison with the next one.
    fn finish_frame(
        &mut self,
        mut pixels: Arc<Vec<u8>>,
        cursor: Option<GetCursorImageReply>,
    ) -> Result<Frame, XError> {
        if let Some(cursor) = &cursor {
            let row = self.size.width as usize;
            let buffer = Arc::make_mut(&mut pixels).as_mut_slice();
            Cursor::new(cursor).draw(buffer, row);
        }
        let old = self.last_frame.take().map(|last_frame| last_frame.pixels);
        let (pixels, retired) = match old {
            // Equal pixels share one buffer, so that callers detect equality by pointer.
            Some(old) if old == pixels => (old, Some(pixels)),
            old => (pixels, old),
        };
        self.retired = retired;
        let frame = Frame::shared(self.size, Arc::clone(&pixels));
        self.last_frame = Some(CachedFrame { pixels, cursor });
        frame.ok_or_else(|| XError::Impossible("the X server returned too few pixels".to_owned()))
    }

    async fn update_size(&mut self, connection: &Connection) -> Result<(), XError> {
        let size = screen_size(connection).await?;
        if size != self.size {
            if let Some(old) = self.memory.take() {
                connection.x().shm_detach(old.segment)?;
            }
            self.memory = SharedMemory::share(connection, size).await?;
            self.size = size;
            (self.last_frame, self.retired) = (None, None);
        }
        Ok(())
    }
}

/// The replies that precede every capture.
#[derive(Debug)]
pub(crate) struct PendingCapture {
    cursor: Option<GetCursorImageReply>,
    is_same_size: bool,
}

impl SharedMemory {
    /// `None` if the server cannot receive file descriptors: it is remote or lacks MIT-SHM 1.2.
    async fn share(connection: &Connection, size: Size) -> Result<Option<Self>, XError> {
        if !connection.is_local() || !connection.has(shm::X11_EXTENSION_NAME)? {
            return Ok(None);
        }
        let x = connection.x();
        let version = connection.reply(x.shm_query_version()?).await?;
        if (version.major_version, version.minor_version) < (1, 2) {
            return Ok(None);
        }
        let file = memfd_create("telechir-screen", MemfdFlags::CLOEXEC)
            .and_then(|file| ftruncate(&file, bytes(size) as u64).map(|()| file))
            .map_err(std::io::Error::from)?;
        let segment = x.generate_id()?;
        let attach = x.shm_attach_fd(segment, file.try_clone()?, false)?;
        match connection.checked(attach).await {
            Ok(()) => Ok(Some(Self { segment, file })),
            Err(XError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn grab(&self, connection: &Connection, width: u16, height: u16) -> Result<(), XError> {
        let format = ImageFormat::Z_PIXMAP.into();
        let root = connection.root();
        let x = connection.x();
        let image = x.shm_get_image(
            root,
            0,
            0,
            width,
            height,
            ALL_PLANES,
            format,
            self.segment,
            0,
        )?;
        connection.reply(image).await.map(drop)
    }

    /// Copies the pixels that the server wrote last into `frame`.
    fn read(&self, frame: &mut [u8]) -> Result<(), XError> {
        let mut done = 0;
        while done < frame.len() {
            match pread(&self.file, &mut frame[done..], done as u64) {
                Ok(0) => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
        }
        Ok(())
    }
}

/// Whether the pointer has the same image at the same point. Cursor serial numbers identify the
/// image and are never reused.
fn is_same_cursor(a: Option<&GetCursorImageReply>, b: Option<&GetCursorImageReply>) -> bool {
    let key = |cursor: &GetCursorImageReply| (cursor.x, cursor.y, cursor.cursor_serial);
    a.map(key) == b.map(key)
}

async fn screen_size(connection: &Connection) -> Result<Size, XError> {
    let root = connection.x().get_geometry(connection.root())?;
    let geometry = connection.reply(root).await?;
    Ok(Size::new(geometry.width.into(), geometry.height.into()))
}

const fn bytes(size: Size) -> usize {
    size.width as usize * size.height as usize * 4
}

fn dimension(pixels: u32) -> Result<u16, XError> {
    u16::try_from(pixels).map_err(|_| {
        XError::Impossible(format!(
            "{pixels} pixels exceed the coordinate range of X11"
        ))
    })
}
