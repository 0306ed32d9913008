//! The screen's pixels: by shared memory where the server can, over the socket where it cannot.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::pread;
use telechir_device::Frame;
use telechir_protocol::Size;
use x11rb::connection::Connection as _;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};

use crate::connection::Connection;
use crate::cursor::Cursor;
use crate::error::XError;

const ALL_PLANES: u32 = u32::MAX;

/// Takes pictures of one screen, with one segment of shared memory for life.
#[derive(Debug)]
pub(crate) struct Camera {
    size: Size,
    memory: Option<Memory>,
    sees_cursor: bool,
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
        })
    }

    /// The size the screen had when it was last looked at.
    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// The pixels as they are now, with the pointer.
    pub(crate) async fn capture(&mut self, connection: &Connection) -> Result<Frame, XError> {
        // A screen that a person resizes while we look: look again, but not for ever.
        for _ in 0..3 {
            match self.attempt(connection).await {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) | Err(XError::Refused(_)) => self.measure(connection).await?,
                Err(error) => return Err(error),
            }
        }
        Err(XError::Impossible(
            "the screen keeps changing its size; try again".to_owned(),
        ))
    }

    /// None when the screen has another size than we thought.
    async fn attempt(&self, connection: &Connection) -> Result<Option<Frame>, XError> {
        let x = connection.x();
        let (width, height) = (dimension(self.size.width)?, dimension(self.size.height)?);
        let geometry = x.get_geometry(connection.root())?;
        let cursor = match self.sees_cursor {
            true => Some(x.xfixes_get_cursor_image()?),
            false => None,
        };
        let mut bgrx = match &self.memory {
            Some(memory) => memory.grab(connection, width, height, self.bytes()).await?,
            None => {
                let format = ImageFormat::Z_PIXMAP;
                let root = connection.root();
                let image = x.get_image(format, root, 0, 0, width, height, ALL_PLANES)?;
                connection.reply(image).await?.data
            }
        };
        let geometry = connection.reply(geometry).await?;
        if (geometry.width, geometry.height) != (width, height) {
            return Ok(None);
        }
        if let Some(cursor) = cursor {
            let reply = connection.reply(cursor).await?;
            Cursor::new(&reply).draw(&mut bgrx, usize::from(width));
        }
        Ok(Frame::new(self.size, bgrx))
    }

    async fn measure(&mut self, connection: &Connection) -> Result<(), XError> {
        let size = screen_size(connection).await?;
        if size != self.size {
            if let Some(old) = self.memory.take() {
                connection.x().shm_detach(old.segment)?;
            }
            self.memory = Memory::share(connection, size).await?;
            self.size = size;
        }
        Ok(())
    }

    const fn bytes(&self) -> usize {
        bytes(self.size)
    }
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

    async fn grab(
        &self,
        connection: &Connection,
        width: u16,
        height: u16,
        bytes: usize,
    ) -> Result<Vec<u8>, XError> {
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
        connection.reply(image).await?;
        self.read(bytes)
    }

    fn read(&self, bytes: usize) -> Result<Vec<u8>, XError> {
        let mut frame = vec![0; bytes];
        let mut done = 0;
        while done < bytes {
            match pread(&self.file, &mut frame[done..], done as u64) {
                Ok(0) => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
        }
        Ok(frame)
    }
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
