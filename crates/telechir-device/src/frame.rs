//! A screen's pixels as they were at one moment.

use std::sync::Arc;

use telechir_protocol::Size;

use crate::ScreenRegion;

/// Pixels, four bytes each in the order blue, green, red, unused; rows from top to bottom
/// without padding.
///
/// Clones share the pixels, and a device that finds its screen unchanged gives the same ones
/// again: comparing those costs nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    size: Size,
    bgrx: Arc<Vec<u8>>,
}

impl Frame {
    /// A frame of `size` whose bytes are `bgrx`; none when their number does not fit.
    pub fn new(size: Size, bgrx: Vec<u8>) -> Option<Self> {
        Self::shared(size, Arc::new(bgrx))
    }

    /// The same from memory that the device keeps, to fill it again when nobody else holds it.
    pub fn shared(size: Size, bgrx: Arc<Vec<u8>>) -> Option<Self> {
        let expected = u64::from(size.width) * u64::from(size.height) * 4;
        (u64::try_from(bgrx.len()).ok()? == expected).then_some(Self { size, bgrx })
    }

    /// Its size in pixels.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The bytes: blue, green, red, unused.
    pub fn bgrx(&self) -> &[u8] {
        &self.bgrx
    }

    /// The bytes to draw on. Pixels that somebody else holds too are copied first.
    pub fn bgrx_mut(&mut self) -> &mut [u8] {
        Arc::make_mut(&mut self.bgrx).as_mut_slice()
    }

    /// Red, green and blue of one pixel; none off the frame.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        if x >= self.size.width || y >= self.size.height {
            return None;
        }
        let at = (y as usize * self.size.width as usize + x as usize) * 4;
        let [blue, green, red] = *self.bgrx.get(at..at + 3)? else {
            return None;
        };
        Some([red, green, blue])
    }

    /// The bytes as red, green, blue without the unused one.
    pub fn to_rgb(&self) -> Vec<u8> {
        let mut rgb = vec![0; self.bgrx.len() / 4 * 3];
        for (out, pixel) in rgb.chunks_exact_mut(3).zip(self.bgrx.chunks_exact(4)) {
            out.copy_from_slice(&[pixel[2], pixel[1], pixel[0]]);
        }
        rgb
    }

    /// The part of the frame inside `region`; none when it sticks out.
    pub fn crop(&self, region: ScreenRegion) -> Option<Self> {
        let (origin, size) = (region.origin(), region.size());
        if origin.x() + size.width > self.size.width || origin.y() + size.height > self.size.height
        {
            return None;
        }
        let row_bytes = size.width as usize * 4;
        let mut bgrx = Vec::with_capacity(row_bytes * size.height as usize);
        for row in 0..size.height {
            let start =
                ((origin.y() + row) as usize * self.size.width as usize + origin.x() as usize) * 4;
            bgrx.extend_from_slice(self.bgrx.get(start..start + row_bytes)?);
        }
        Self::new(size, bgrx)
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({}x{})", self.size.width, self.size.height)
    }
}
