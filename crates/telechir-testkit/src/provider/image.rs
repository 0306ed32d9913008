//! Is this picture one? Decoded whole, within a limit, and measured.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Bytes of pixels a picture may have before it is refused undecoded.
const MOST_PIXEL_BYTES: usize = 512 << 20;

/// A picture's size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Measured {
    pub(super) fn long_edge(self) -> u32 {
        self.width.max(self.height)
    }

    /// Squares of `side` pixels that cover it.
    pub(super) fn tiles(self, side: u32) -> u64 {
        u64::from(self.width.div_ceil(side)) * u64::from(self.height.div_ceil(side))
    }
}

/// Decodes base64 of a PNG to its last row.
pub(super) fn measure(media_type: &str, base64: &str) -> Result<Measured, String> {
    if media_type != "image/png" {
        return Err(format!(
            "this recorded model can look only into image/png, not {media_type}"
        ));
    }
    let bytes = STANDARD
        .decode(base64)
        .map_err(|error| format!("invalid base64 data: {error}"))?;
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_limits(png::Limits {
        bytes: MOST_PIXEL_BYTES,
    });
    let broken = |error: png::DecodingError| format!("could not process image: {error}");
    let mut reader = decoder.read_info().map_err(broken)?;
    let size = reader
        .output_buffer_size()
        .filter(|size| *size <= MOST_PIXEL_BYTES);
    let mut pixels = vec![0; size.ok_or("could not process image: it is too large")?];
    reader.next_frame(&mut pixels).map_err(broken)?;
    reader.finish().map_err(broken)?;
    let info = reader.info();
    Ok(Measured {
        width: info.width,
        height: info.height,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::provider) fn png_base64(width: u32, height: u32) -> String {
        STANDARD.encode(png(width, height))
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().expect("a header");
        writer
            .write_image_data(&vec![7; (width * height * 3) as usize])
            .expect("pixels");
        writer.finish().expect("an end");
        bytes
    }

    #[test]
    fn measures_a_whole_image_and_refuses_half_of_one() {
        let whole = png(40, 30);
        let measured = measure("image/png", &STANDARD.encode(&whole)).expect("a picture");
        assert_eq!((measured.long_edge(), measured.tiles(28)), (40, 4));
        measure("image/png", &STANDARD.encode(&whole[..whole.len() - 20])).expect_err("cut");
        measure("image/png", "not base64!").expect_err("no base64");
        measure("image/png", "").expect_err("empty");
    }
}
