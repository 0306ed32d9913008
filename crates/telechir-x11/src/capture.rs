//! The screen's pixels: by shared memory where the server can, over the socket where it cannot.

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
use crate::focus::or_gone;

const ALL_PLANES: u32 = u32::MAX;

/// Takes pictures of one screen, with one segment of shared memory for life.
#[derive(Debug)]
pub(crate) struct Camera {
    size: Size,
    memory: Option<Memory>,
    sees_cursor: bool,
    /// The newest picture.
    shown: Option<Shown>,
    /// The pixels of the one before, to be filled again once nobody looks at them any more:
    /// fresh memory costs as much time as all the rest of a capture.
    retired: Option<Arc<Vec<u8>>>,
}

/// A picture and the pointer in it.
#[derive(Debug)]
struct Shown {
    pixels: Arc<Vec<u8>>,
    cursor: Option<GetCursorImageReply>,
}

/// Memory that the server writes frames into and we read them from.
///
/// It is read with `pread` and never mapped: the one copy that a frame needs anyway is made by
/// the kernel, nobody can pull the memory away under us, and no `unsafe` is needed.
#[derive(Debug)]
struct Memory {
    segment: shm::Seg,
    file: OwnedFd,
}

impl Camera {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let sees_cursor = connection.has(x11rb::protocol::xfixes::X11_EXTENSION_NAME)?;
        if sees_cursor {
            // Cursor pictures came with version 2, regions (for damage) with version 2, too.
            connection
                .reply(connection.x().xfixes_query_version(5, 0)?)
                .await?;
        }
        let size = screen_size(connection).await?;
        let memory = Memory::share(connection, size).await?;
        Ok(Self {
            size,
            memory,
            sees_cursor,
            shown: None,
            retired: None,
        })
    }

    /// The size the screen had when it was last looked at.
    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// The pointer as it is now, and whether the screen still has the size we know. The answer
    /// comes after the reports of all changes made so far.
    pub(crate) async fn glance(&self, connection: &Connection) -> Result<Glance, XError> {
        let x = connection.x();
        let geometry = x.get_geometry(connection.root())?;
        let cursor = match self.sees_cursor {
            true => Some(x.xfixes_get_cursor_image()?),
            false => None,
        };
        let geometry = connection.reply(geometry).await?;
        let size = Size::new(geometry.width.into(), geometry.height.into());
        let cursor = match cursor {
            // The pointer of a program that ended under it is not told; then none is drawn.
            Some(cursor) => or_gone(connection.reply(cursor).await)?,
            None => None,
        };
        Ok(Glance {
            cursor,
            has_size: size == self.size,
        })
    }

    /// The newest picture again, when the pointer in it is as it was.
    pub(crate) fn again(&self, glance: &Glance) -> Option<Frame> {
        let shown = self.shown.as_ref()?;
        let is_same =
            glance.has_size && is_same_cursor(shown.cursor.as_ref(), glance.cursor.as_ref());
        is_same.then(|| Frame::shared(self.size, Arc::clone(&shown.pixels)))?
    }

    /// The pixels as they are now, with the pointer.
    pub(crate) async fn capture(
        &mut self,
        connection: &Connection,
        mut glance: Glance,
    ) -> Result<Frame, XError> {
        // A screen that a person resizes while we look: look again, but not for ever.
        for _ in 0..3 {
            if glance.has_size {
                match self.grab(connection).await {
                    Ok(pixels) => return self.develop(pixels, glance.cursor),
                    Err(XError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            self.measure(connection).await?;
            glance = self.glance(connection).await?;
        }
        Err(XError::Impossible(
            "the screen keeps changing its size; try again".to_owned(),
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
        // Whoever still looks at the old ones keeps them.
        if Arc::get_mut(&mut pixels).is_none_or(|old| old.len() != bytes(self.size)) {
            pixels = Arc::new(vec![0; bytes(self.size)]);
        }
        if let Some(room) = Arc::get_mut(&mut pixels) {
            memory.read(room)?;
        }
        Ok(pixels)
    }

    /// Adds the pointer, and keeps the picture to be compared with the next.
    fn develop(
        &mut self,
        mut pixels: Arc<Vec<u8>>,
        cursor: Option<GetCursorImageReply>,
    ) -> Result<Frame, XError> {
        if let Some(cursor) = &cursor {
            let row = self.size.width as usize;
            let room = Arc::make_mut(&mut pixels).as_mut_slice();
            Cursor::new(cursor).draw(room, row);
        }
        let old = self.shown.take().map(|shown| shown.pixels);
        let (pixels, retired) = match old {
            // The same memory for the same pixels: whoever kept them knows at once.
            Some(old) if old == pixels => (old, Some(pixels)),
            old => (pixels, old),
        };
        self.retired = retired;
        let frame = Frame::shared(self.size, Arc::clone(&pixels));
        self.shown = Some(Shown { pixels, cursor });
        frame.ok_or_else(|| XError::Impossible("the X server gave too few pixels".to_owned()))
    }

    async fn measure(&mut self, connection: &Connection) -> Result<(), XError> {
        let size = screen_size(connection).await?;
        if size != self.size {
            if let Some(old) = self.memory.take() {
                connection.x().shm_detach(old.segment)?;
            }
            self.memory = Memory::share(connection, size).await?;
            self.size = size;
            (self.shown, self.retired) = (None, None);
        }
        Ok(())
    }
}

/// What is asked for before every picture.
#[derive(Debug)]
pub(crate) struct Glance {
    cursor: Option<GetCursorImageReply>,
    has_size: bool,
}

impl Memory {
    /// None where the server cannot take descriptors: another host, or no MIT-SHM 1.2.
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

    /// Fills `frame` with what the server wrote last.
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

/// Whether a pointer looks the same in the same place. The serial number says which picture it
/// is, and never comes again.
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
    u16::try_from(pixels)
        .map_err(|_| XError::Impossible(format!("{pixels} pixels are more than X11 can count")))
}
