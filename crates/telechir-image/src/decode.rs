//! Decodes a PNG, a WebP or a JPEG of somebody else.

use std::io::Cursor;

use telechir_device::Frame;
use telechir_protocol::Size;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::ImageError;

/// More pixels than any screen has: the claim of a file is not trusted beyond this.
const MAX_PIXELS: u64 = 1 << 27;

/// The last chunk of every PNG, which is empty.
const IEND_CHUNK: &[u8] = b"\0\0\0\0IEND\xae\x42\x60\x82";

/// Whether these bytes begin as a PNG, a WebP or a JPEG does.
pub fn is_image(bytes: &[u8]) -> bool {
    kind(bytes).is_some()
}

/// Decodes an image. Transparency is dropped; an opaque PNG is passed on as it is where a PNG is
/// needed.
///
/// # Errors
/// If it is none of the formats, is damaged or cut off, or has more pixels than any screen.
pub fn decode(bytes: Vec<u8>) -> Result<Frame, ImageError> {
    let decoded = match kind(&bytes) {
        Some(ImageKind::Png) => png_frame(bytes),
        Some(ImageKind::Webp) => webp_frame(&bytes),
        Some(ImageKind::Jpeg) => jpeg_frame(&bytes),
        None => Err("it is no PNG, WebP or JPEG".to_owned()),
    };
    decoded.map_err(|message| ImageError::Decode { message })
}

#[derive(Clone, Copy)]
enum ImageKind {
    Png,
    Webp,
    Jpeg,
}

fn kind(bytes: &[u8]) -> Option<ImageKind> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(ImageKind::Png);
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some(ImageKind::Jpeg);
    }
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    is_webp.then_some(ImageKind::Webp)
}

fn png_frame(bytes: Vec<u8>) -> Result<Frame, String> {
    let reader = png::Decoder::new(Cursor::new(&bytes)).read_info();
    let reader = reader.map_err(|error| error.to_string())?;
    let info = reader.info();
    let size = checked(info.width, info.height)?;
    let is_opaque_rgb = info.color_type == png::ColorType::Rgb
        && info.bit_depth == png::BitDepth::Eight
        && info.trns.is_none();
    drop(reader);
    if !bytes.ends_with(IEND_CHUNK) {
        return Err("it is cut off".to_owned());
    }
    let pixels = png_pixels(&bytes).map_err(|error| error.to_string())?;
    match is_opaque_rgb {
        true => Ok(Frame::packed(size, bytes, |png| png_pixels(png).ok())),
        false => framed(size, pixels),
    }
}

/// The pixels as BGRX.
fn png_pixels(png: &[u8]) -> Result<Vec<u8>, png::DecodingError> {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut pixels)?;
    pixels.truncate(info.buffer_size());
    Ok(bgrx(&pixels, info.color_type.samples()))
}

fn webp_frame(bytes: &[u8]) -> Result<Frame, String> {
    let mut decoder =
        image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions();
    let size = checked(width, height)?;
    let samples = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = vec![0; decoder.output_buffer_size().unwrap_or_default()];
    let read = decoder.read_image(&mut pixels);
    read.map_err(|error| error.to_string())?;
    framed(size, bgrx(&pixels, samples))
}

fn jpeg_frame(bytes: &[u8]) -> Result<Frame, String> {
    let options = DecoderOptions::new_safe()
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let read = decoder.decode_headers();
    read.map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let size = checked(side(width), side(height))?;
    let pixels = decoder.decode().map_err(|error| error.to_string())?;
    framed(size, bgrx(&pixels, 3))
}

fn checked(width: u32, height: u32) -> Result<Size, String> {
    let pixels = u64::from(width) * u64::from(height);
    match pixels {
        0 => Err("it has no pixels".to_owned()),
        1..=MAX_PIXELS => Ok(Size::new(width, height)),
        _ => Err(format!("{width}x{height} exceeds the size of any screen")),
    }
}

fn framed(size: Size, bgrx: Vec<u8>) -> Result<Frame, String> {
    Frame::new(size, bgrx).ok_or_else(|| "its data does not match its size".to_owned())
}

fn bgrx(pixels: &[u8], samples: usize) -> Vec<u8> {
    let pixels = pixels.chunks_exact(samples);
    let mut bgrx = vec![0; pixels.len() * 4];
    for (to, from) in bgrx.chunks_exact_mut(4).zip(pixels) {
        match *from {
            [red, green, blue, ..] => to[..3].copy_from_slice(&[blue, green, red]),
            [gray, ..] => to[..3].fill(gray),
            [] => {}
        }
    }
    bgrx
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, encode};

    fn frame() -> Frame {
        let pixels = (0..64 * 48).flat_map(|at: u32| {
            let value = u8::try_from(at * 7 % 251).unwrap();
            [value, 255 - value, value / 2, 0]
        });
        Frame::new(Size::new(64, 48), pixels.collect()).unwrap()
    }

    #[test]
    fn lossless_formats_come_back_unchanged() {
        for format in [Format::Png, Format::Webp] {
            let decoded = decode(encode(&frame(), format).unwrap()).unwrap();
            assert_eq!(decoded, frame(), "{format:?}");
        }
    }

    #[test]
    fn a_jpeg_comes_back_alike() {
        let grey = Frame::new(Size::new(33, 17), [90, 120, 150, 0].repeat(33 * 17)).unwrap();
        let jpeg = encode(&grey, Format::Jpeg { quality: 95 }).unwrap();
        let decoded = decode(jpeg).unwrap();
        assert_eq!(decoded.size(), grey.size());
        for (found, wanted) in decoded.bgrx().iter().zip(grey.bgrx()) {
            assert!(found.abs_diff(*wanted) <= 4, "{found} for {wanted}");
        }
    }

    #[test]
    fn what_is_no_complete_image_is_an_error() {
        for format in Format::ALL {
            let mut half = encode(&frame(), format).unwrap();
            half.truncate(half.len() / 2);
            assert!(decode(half).is_err(), "{format:?}");
        }
        assert!(decode(b"<html>busy</html>".to_vec()).is_err());
        assert!(decode(Vec::new()).is_err());
    }
}
