//! Decodes an image completely, within a memory limit, and measures it.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Maximum decoded size; larger images are rejected undecoded.
const MAX_PIXEL_BYTES: usize = 512 << 20;

/// An image's size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImageSize {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl ImageSize {
    pub(super) fn long_edge(self) -> u32 {
        self.width.max(self.height)
    }

    /// Number of squares of `side` pixels that cover the image.
    pub(super) fn tiles(self, side: u32) -> u64 {
        u64::from(self.width.div_ceil(side)) * u64::from(self.height.div_ceil(side))
    }
}

/// Decodes a base64 PNG or WebP to its last row.
pub(super) fn measure(media_type: &str, base64: &str) -> Result<ImageSize, String> {
    let bytes = STANDARD
        .decode(base64)
        .map_err(|error| format!("invalid base64 data: {error}"))?;
    match media_type {
        "image/png" => measure_png(bytes),
        "image/webp" => measure_webp(bytes),
        _ => Err(format!(
            "this recorded model can look only into image/png and image/webp, not {media_type}"
        )),
    }
}

fn measure_webp(bytes: Vec<u8>) -> Result<ImageSize, String> {
    let broken = |error: image_webp::DecodingError| format!("could not process image: {error}");
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(broken)?;
    decoder.set_memory_limit(MAX_PIXEL_BYTES);
    let size = decoder
        .output_buffer_size()
        .filter(|size| *size <= MAX_PIXEL_BYTES);
    let mut pixels = vec![0; size.ok_or("could not process image: it is too large")?];
    decoder.read_image(&mut pixels).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    Ok(ImageSize { width, height })
}

fn measure_png(bytes: Vec<u8>) -> Result<ImageSize, String> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_limits(png::Limits {
        bytes: MAX_PIXEL_BYTES,
    });
    let broken = |error: png::DecodingError| format!("could not process image: {error}");
    let mut reader = decoder.read_info().map_err(broken)?;
    let size = reader
        .output_buffer_size()
        .filter(|size| *size <= MAX_PIXEL_BYTES);
    let mut pixels = vec![0; size.ok_or("could not process image: it is too large")?];
    reader.next_frame(&mut pixels).map_err(broken)?;
    reader.finish().map_err(broken)?;
    let info = reader.info();
    Ok(ImageSize {
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
    fn measures_a_complete_image_and_rejects_a_truncated_one() {
        let complete = png(40, 30);
        let measured = measure("image/png", &STANDARD.encode(&complete)).expect("an image");
        assert_eq!((measured.long_edge(), measured.tiles(28)), (40, 4));
        measure(
            "image/png",
            &STANDARD.encode(&complete[..complete.len() - 20]),
        )
        .expect_err("cut");
        let mut webp = Vec::new();
        let encoder = image_webp::WebPEncoder::new(&mut webp);
        let pixels = vec![7; 40 * 30 * 3];
        encoder
            .encode(&pixels, 40, 30, image_webp::ColorType::Rgb8)
            .expect("a WebP");
        let again = measure("image/webp", &STANDARD.encode(&webp)).expect("an image");
        assert_eq!(again, measured);
        let cut = STANDARD.encode(&webp[..webp.len() - 8]);
        measure("image/webp", &cut).expect_err("cut");
        measure("image/gif", &STANDARD.encode(&complete)).expect_err("another format");
        measure("image/png", "not base64!").expect_err("no base64");
        measure("image/png", "").expect_err("empty");
    }
}
