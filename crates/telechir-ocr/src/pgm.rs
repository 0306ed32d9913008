//! A frame as tesseract reads it best: grey, twice as large.

use telechir_device::Frame;

/// How much larger: letters of a screen are smaller than what it was taught with.
pub(crate) const SCALE: u32 = 2;

/// A portable grey map of the frame.
pub(crate) fn enlarged(frame: &Frame) -> Vec<u8> {
    let size = frame.size();
    let (width, height) = (size.width as usize, size.height as usize);
    let scale = SCALE as usize;
    let mut bytes = format!("P5\n{} {}\n255\n", width * scale, height * scale).into_bytes();
    bytes.reserve(width * height * scale * scale);
    for row in frame.bgrx().chunks_exact((width * 4).max(4)) {
        let line: Vec<u8> = row.chunks_exact(4).map(grey).collect();
        let wide: Vec<u8> = (0..width * scale).map(|x| between(&line, x)).collect();
        for _ in 0..scale {
            bytes.extend_from_slice(&wide);
        }
    }
    bytes
}

/// How bright a pixel is, as eyes see colours.
fn grey(pixel: &[u8]) -> u8 {
    let [blue, green, red, ..] = *pixel else {
        return 0;
    };
    let sum = u32::from(red) * 77 + u32::from(green) * 150 + u32::from(blue) * 29;
    u8::try_from(sum >> 8).unwrap_or(u8::MAX)
}

/// The pixel at `x` of the line made wider: each second one is halfway between its neighbours.
fn between(line: &[u8], x: usize) -> u8 {
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
        assert_eq!(enlarged(&frame), expected.concat());
    }
}
