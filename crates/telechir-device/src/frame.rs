//! A snapshot of a screen's pixels.

use std::sync::{Arc, OnceLock};

use telechir_protocol::Size;

use crate::ScreenRegion;

/// Pixels of four bytes each in the order blue, green, red, unused; rows from top to bottom without
/// padding.
///
/// Clones share the pixels, and a device whose screen is unchanged returns the same ones again, so
/// comparing those is free.
#[derive(Clone)]
pub struct Frame {
    size: Size,
    pixels: Pixels,
}

#[derive(Clone)]
enum Pixels {
    Plain(Arc<Vec<u8>>),
    PngPixels(Arc<PngPixels>),
}

/// A PNG, and its pixels once they were needed.
struct PngPixels {
    png: Vec<u8>,
    unpack: fn(&[u8]) -> Option<Vec<u8>>,
    bgrx: OnceLock<Vec<u8>>,
}

impl Frame {
    /// Creates a frame of `size` from `bgrx`; none if the length does not match.
    pub fn new(size: Size, bgrx: Vec<u8>) -> Option<Self> {
        Self::shared(size, Arc::new(bgrx))
    }

    /// Creates a frame from memory that the device reuses once nobody else shares it.
    pub fn shared(size: Size, bgrx: Arc<Vec<u8>>) -> Option<Self> {
        (Some(bgrx.len()) == length(size)).then_some(Self {
            size,
            pixels: Pixels::Plain(bgrx),
        })
    }

    /// Creates a frame from a PNG of `size` with 8-bit red, green and blue. It is passed on
    /// unchanged where a PNG is needed, and decoded when its pixels are. A PNG that `unpack` cannot
    /// decode is black.
    pub fn packed(size: Size, png: Vec<u8>, unpack: fn(&[u8]) -> Option<Vec<u8>>) -> Self {
        let packed = PngPixels {
            png,
            unpack,
            bgrx: OnceLock::new(),
        };
        Self {
            size,
            pixels: Pixels::PngPixels(Arc::new(packed)),
        }
    }

    /// The original PNG, unless something was drawn on the frame.
    pub fn png(&self) -> Option<&[u8]> {
        match &self.pixels {
            Pixels::Plain(_) => None,
            Pixels::PngPixels(packed) => Some(&packed.png),
        }
    }

    /// Whether both show the same, as far as is known without decoding: two different PNGs may have
    /// equal pixels.
    pub fn is_known_equal(&self, other: &Self) -> bool {
        match (self.png(), other.png()) {
            (Some(one), Some(other)) => one == other,
            _ => self == other,
        }
    }

    /// Width and height in pixels, as given at creation.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The bytes: blue, green, red, unused.
    pub fn bgrx(&self) -> &[u8] {
        match &self.pixels {
            Pixels::Plain(bgrx) => bgrx,
            Pixels::PngPixels(packed) => packed.bgrx.get_or_init(|| {
                let length = length(self.size).unwrap_or_default();
                let bgrx = (packed.unpack)(&packed.png).filter(|bgrx| bgrx.len() == length);
                bgrx.unwrap_or_else(|| vec![0; length])
            }),
        }
    }

    /// The bytes to draw on. Shared pixels are copied first.
    pub fn bgrx_mut(&mut self) -> &mut [u8] {
        if let Pixels::PngPixels(_) = self.pixels {
            self.pixels = Pixels::Plain(Arc::new(self.bgrx().to_vec()));
        }
        let Pixels::Plain(bgrx) = &mut self.pixels else {
            return &mut [];
        };
        Arc::make_mut(bgrx).as_mut_slice()
    }

    /// Red, green and blue of one pixel; none outside the frame.
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

    /// The part of the frame inside `region`; none if the region extends beyond it.
    pub fn crop(&self, region: ScreenRegion) -> Option<Self> {
        let (origin, size) = (region.origin(), region.size());
        if origin.x() + size.width > self.size.width || origin.y() + size.height > self.size.height
        {
            return None;
        }
        let (pixels, row_bytes) = (self.bgrx(), size.width as usize * 4);
        let mut bgrx = Vec::with_capacity(row_bytes * size.height as usize);
        for row in 0..size.height {
            let start =
                ((origin.y() + row) as usize * self.size.width as usize + origin.x() as usize) * 4;
            bgrx.extend_from_slice(pixels.get(start..start + row_bytes)?);
        }
        Self::new(size, bgrx)
    }
}

/// The number of bytes of a frame; none if it exceeds the address space.
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
            (Pixels::PngPixels(one), Pixels::PngPixels(other)) if one.png == other.png => true,
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

    /// The first byte is the amount of red.
    fn unpack(png: &[u8]) -> Option<Vec<u8>> {
        Some(vec![0, 0, *png.first()?, 0])
    }

    fn packed(png: &[u8]) -> Frame {
        Frame::packed(SIZE, png.to_vec(), unpack)
    }

    #[test]
    fn a_png_frame_stays_png_and_has_pixels() {
        let frame = packed(&[255, 1]);
        assert_eq!(frame.png(), Some(&[255, 1][..]));
        assert_eq!(frame.pixel(0, 0), Some([255, 0, 0]));
        assert_eq!(frame, plain(RED));
        assert_eq!(frame.to_rgb(), [255, 0, 0]);
    }

    #[test]
    fn drawing_discards_the_png() {
        let mut frame = packed(&[255]);
        let shared = frame.clone();
        frame.bgrx_mut().copy_from_slice(&[9, 0, 0, 0]);
        assert_eq!(frame.png(), None);
        assert_eq!(frame.pixel(0, 0), Some([0, 0, 9]));
        assert_eq!(shared.pixel(0, 0), Some([255, 0, 0]));
    }

    #[test]
    fn equal_pngs_are_known_without_decoding() {
        let never = |_: &[u8]| unreachable!("the PNG was decoded");
        let one = |png: &[u8]| Frame::packed(SIZE, png.to_vec(), never);
        assert!(one(&[1]).is_known_equal(&one(&[1])));
        assert_eq!(one(&[1]), one(&[1]));
        assert!(!one(&[1]).is_known_equal(&one(&[2])));
        assert!(packed(&[255]).is_known_equal(&plain(RED)));
        // Different bytes, equal pixels.
        assert!(!packed(&[255, 1]).is_known_equal(&packed(&[255, 2])));
        assert_eq!(packed(&[255, 1]), packed(&[255, 2]));
    }

    #[test]
    fn an_invalid_png_frame_is_black() {
        assert_eq!(packed(&[]).bgrx(), [0; 4]);
    }
}
