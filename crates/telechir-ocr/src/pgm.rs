//! Encodes a frame as tesseract reads it best: in grey and twice as large.

use telechir_device::Frame;

/// Enlargement factor: screen fonts are smaller than tesseract's training data.
pub(crate) const SCALE: u32 = 2;

/// Encodes the frame as a portable grey map (PGM).
pub(crate) fn encode_pgm(frame: &Frame) -> Vec<u8> {
    let size = frame.size();
    let (width, height) = (size.width as usize, size.height as usize);
    let scale = SCALE as usize;
    let mut bytes = format!("P5\n{} {}\n255\n", width * scale, height * scale).into_bytes();
    bytes.reserve(width * height * scale * scale);
    for row in frame.bgrx().chunks_exact((width * 4).max(4)) {
        let line: Vec<u8> = row.chunks_exact(4).map(grey).collect();
        let wide: Vec<u8> = (0..width * scale).map(|x| interpolate(&line, x)).collect();
        for _ in 0..scale {
            bytes.extend_from_slice(&wide);
        }
    }
    bytes
}

/// Luma of a BGRX pixel (ITU-R BT.601 weights).
fn grey(pixel: &[u8]) -> u8 {
    let [blue, green, red, ..] = *pixel else {
        return 0;
    };
    let sum = u32::from(red) * 77 + u32::from(green) * 150 + u32::from(blue) * 29;
    u8::try_from(sum >> 8).unwrap_or(u8::MAX)
}

/// The pixel at `x` of the enlarged line: every second one is the mean of its neighbours.
fn interpolate(line: &[u8], x: usize) -> u8 {
    let at = x / SCALE as usize;
    let here = line[at];
    let next = line.get(at + 1).copied().unwrap_or(here);
    if x.is_multiple_of(SCALE as usize) {
        here
    } else {
        here.midpoint(next)
    }
}

#[cfg(test)]
mod tests {
    use telechir_protocol::Size;

    use super::*;

    #[test]
    fn each_pixel_becomes_four() {
        let pixels = [[0, 0, 0, 0], [255, 255, 255, 0]].concat();
        let frame = Frame::new(Size::new(2, 1), pixels).unwrap();
        let expected = [
            b"P5\n4 2\n255\n".as_slice(),
            &[0, 127, 255, 255, 0, 127, 255, 255],
        ];
        assert_eq!(encode_pgm(&frame), expected.concat());
    }
}
