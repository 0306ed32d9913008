//! A screen's pixels as they were at one moment.

use std::sync::{Arc, OnceLock};

use telechir_protocol::Size;

use crate::ScreenRegion;

/// Pixels, four bytes each in the order blue, green, red, unused; rows from top to bottom
/// without padding.
///
/// Clones share the pixels, and a device that finds its screen unchanged gives the same ones
/// again: comparing those costs nothing.
#[derive(Clone)]
pub struct Frame {
    size: Size,
    pixels: Pixels,
}

#[derive(Clone)]
enum Pixels {
    Plain(Arc<Vec<u8>>),
    Packed(Arc<Packed>),
}

/// A PNG, and its pixels once somebody looked at them.
struct Packed {
    png: Vec<u8>,
    unpack: fn(&[u8]) -> Option<Vec<u8>>,
    bgrx: OnceLock<Vec<u8>>,
}

impl Frame {
    /// A frame of `size` whose bytes are `bgrx`; none when their number does not fit.
    pub fn new(size: Size, bgrx: Vec<u8>) -> Option<Self> {
        Self::shared(size, Arc::new(bgrx))
    }

    /// The same from memory that the device keeps, to fill it again when nobody else holds it.
    pub fn shared(size: Size, bgrx: Arc<Vec<u8>>) -> Option<Self> {
        (Some(bgrx.len()) == length(size)).then_some(Self {
            size,
            pixels: Pixels::Plain(bgrx),
        })
    }

    /// A frame that came as a PNG of `size`, eight bits each of red, green and blue. It is handed
    /// on as it came where a PNG is wanted, and unpacked when its pixels are. What `unpack` cannot
    /// read is black.
    pub fn packed(size: Size, png: Vec<u8>, unpack: fn(&[u8]) -> Option<Vec<u8>>) -> Self {
        let packed = Packed {
            png,
            unpack,
            bgrx: OnceLock::new(),
        };
        Self {
            size,
            pixels: Pixels::Packed(Arc::new(packed)),
        }
    }

    /// The PNG that it came as, when nothing was drawn on it since.
    pub fn png(&self) -> Option<&[u8]> {
        match &self.pixels {
            Pixels::Plain(_) => None,
            Pixels::Packed(packed) => Some(&packed.png),
        }
    }

    /// Whether it shows the same, as far as can be told without unpacking it: of two PNGs that
    /// differ it is not known.
    pub fn is_known_as(&self, other: &Self) -> bool {
        match (self.png(), other.png()) {
            (Some(one), Some(other)) => one == other,
            _ => self == other,
        }
    }

    /// Its size in pixels.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The bytes: blue, green, red, unused.
    pub fn bgrx(&self) -> &[u8] {
        match &self.pixels {
            Pixels::Plain(bgrx) => bgrx,
            Pixels::Packed(packed) => packed.bgrx.get_or_init(|| {
                let length = length(self.size).unwrap_or_default();
                let bgrx = (packed.unpack)(&packed.png).filter(|bgrx| bgrx.len() == length);
                bgrx.unwrap_or_else(|| vec![0; length])
            }),
        }
    }

    /// The bytes to draw on. Pixels that somebody else holds too are copied first.
    pub fn bgrx_mut(&mut self) -> &mut [u8] {
        if let Pixels::Packed(_) = self.pixels {
            self.pixels = Pixels::Plain(Arc::new(self.bgrx().to_vec()));
        }
        let Pixels::Plain(bgrx) = &mut self.pixels else {
            return &mut [];
        };
        Arc::make_mut(bgrx).as_mut_slice()
    }

    /// Red, green and blue of one pixel; none off the frame.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        if x >= self.size.width || y >= self.size.height {
            return None;
        }
        let at = (y as usize * self.size.width as usize + x as usize) * 4;
        let [blue, green, red] = *self.bgrx().get(at..at + 3)? else {
            return None;
        };
        Some([red, green, blue])
    }

    /// The bytes as red, green, blue without the unused one.
    pub fn to_rgb(&self) -> Vec<u8> {
        let bgrx = self.bgrx();
        let mut rgb = vec![0; bgrx.len() / 4 * 3];
        for (out, pixel) in rgb.chunks_exact_mut(3).zip(bgrx.chunks_exact(4)) {
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
        let (whole, row_bytes) = (self.bgrx(), size.width as usize * 4);
        let mut bgrx = Vec::with_capacity(row_bytes * size.height as usize);
        for row in 0..size.height {
            let start =
                ((origin.y() + row) as usize * self.size.width as usize + origin.x() as usize) * 4;
            bgrx.extend_from_slice(whole.get(start..start + row_bytes)?);
        }
        Self::new(size, bgrx)
    }
}

/// The number of bytes of so many pixels; none where they do not fit into memory.
fn length(size: Size) -> Option<usize> {
    let bytes = u64::from(size.width) * u64::from(size.height) * 4;
    usize::try_from(bytes).ok()
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        if self.size != other.size {
            return false;
        }
        match (&self.pixels, &other.pixels) {
            (Pixels::Plain(one), Pixels::Plain(other)) => one == other,
            (Pixels::Packed(one), Pixels::Packed(other)) if one.png == other.png => true,
            _ => self.bgrx() == other.bgrx(),
        }
    }
}

impl Eq for Frame {}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({}x{})", self.size.width, self.size.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size::new(1, 1);
    const RED: [u8; 4] = [0, 0, 255, 0];

    fn plain(bgrx: [u8; 4]) -> Frame {
        Frame::new(SIZE, bgrx.to_vec()).expect("one pixel")
    }

    /// The first of these bytes says how red it is.
    fn unpack(png: &[u8]) -> Option<Vec<u8>> {
        Some(vec![0, 0, *png.first()?, 0])
    }

    fn packed(png: &[u8]) -> Frame {
        Frame::packed(SIZE, png.to_vec(), unpack)
    }

    #[test]
    fn what_came_packed_is_handed_on_and_has_pixels() {
        let frame = packed(&[255, 1]);
        assert_eq!(frame.png(), Some(&[255, 1][..]));
        assert_eq!(frame.pixel(0, 0), Some([255, 0, 0]));
        assert_eq!(frame, plain(RED));
        assert_eq!(frame.to_rgb(), [255, 0, 0]);
    }

    #[test]
    fn what_is_drawn_on_is_not_what_came() {
        let mut frame = packed(&[255]);
        let kept = frame.clone();
        frame.bgrx_mut().copy_from_slice(&[9, 0, 0, 0]);
        assert_eq!(frame.png(), None);
        assert_eq!(frame.pixel(0, 0), Some([0, 0, 9]));
        assert_eq!(kept.pixel(0, 0), Some([255, 0, 0]));
    }

    #[test]
    fn the_same_is_known_without_unpacking() {
        let never = |_: &[u8]| unreachable!("it was unpacked");
        let one = |png: &[u8]| Frame::packed(SIZE, png.to_vec(), never);
        assert!(one(&[1]).is_known_as(&one(&[1])));
        assert_eq!(one(&[1]), one(&[1]));
        assert!(!one(&[1]).is_known_as(&one(&[2])));
        assert!(packed(&[255]).is_known_as(&plain(RED)));
        // Other bytes, the same pixels.
        assert!(!packed(&[255, 1]).is_known_as(&packed(&[255, 2])));
        assert_eq!(packed(&[255, 1]), packed(&[255, 2]));
    }

    #[test]
    fn what_cannot_be_unpacked_is_black() {
        assert_eq!(packed(&[]).bgrx(), [0; 4]);
    }
}
