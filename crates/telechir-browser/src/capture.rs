//! Screenshots of pages without a window.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use telechir_device::{DeviceError, Frame};
use telechir_protocol::Size;

use crate::cdp_session::CdpSession;
use crate::error::CdpError;

/// Between two documents a capture fails for a moment. A page that navigates constantly is in such
/// a moment most of the time.
const MAX_ATTEMPTS: u32 = 20;

/// The last chunk of every PNG, which is empty.
const IEND_CHUNK: &[u8] = b"\0\0\0\0IEND\xae\x42\x60\x82";
/// More pixels than any page has: the claim of a remote browser is not trusted beyond this.
const MAX_PIXELS: u64 = 1 << 27;

/// Captures in the fastest lossless format. The PNG is decoded only when the pixels are needed.
pub(crate) async fn capture(page: &CdpSession) -> Result<Frame, DeviceError> {
    let params = json!({ "format": "png", "optimizeForSpeed": true });
    let mut attempts = 1;
    let answer = loop {
        match page.call("Page.captureScreenshot", params.clone()).await {
            Err(CdpError::Protocol { .. }) if attempts < MAX_ATTEMPTS => attempts += 1,
            answer => break answer?,
        }
        // A round trip gives the next document time to load.
        let _it_may_be_gone_too = page.evaluate("0").await;
    };
    frame_of(answer["data"].as_str().unwrap_or_default())
}

/// Decodes a base64 PNG from a CDP message.
pub(crate) fn frame_of(text: &str) -> Result<Frame, DeviceError> {
    frame(STANDARD.decode(text).map_err(|error| unreadable(&error))?)
}

fn frame(png: Vec<u8>) -> Result<Frame, DeviceError> {
    let reader = png::Decoder::new(Cursor::new(&png)).read_info();
    let reader = reader.map_err(|error| unreadable(&error))?;
    let info = reader.info();
    let size = Size::new(info.width, info.height);
    if u64::from(size.width) * u64::from(size.height) > MAX_PIXELS {
        return Err(unreadable(&"its size exceeds that of any page"));
    }
    if !png.ends_with(IEND_CHUNK) {
        return Err(unreadable(&"it is truncated"));
    }
    // Only opaque images are passed through.
    let is_opaque_rgb = info.color_type == png::ColorType::Rgb
        && info.bit_depth == png::BitDepth::Eight
        && info.trns.is_none();
    if is_opaque_rgb {
        drop(reader);
        return Ok(Frame::packed(size, png, |png| decode(png).ok()));
    }
    let bgrx = decode(&png).map_err(|error| unreadable(&error))?;
    Frame::new(size, bgrx).ok_or_else(|| unreadable(&"its data does not match its size"))
}

/// The pixels as BGRX.
fn decode(png: &[u8]) -> Result<Vec<u8>, png::DecodingError> {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut pixels)?;
    let samples = info.color_type.samples();
    let pixels = pixels[..info.buffer_size()].chunks_exact(samples);
    let mut bgrx = vec![0; pixels.len() * 4];
    for (to, from) in bgrx.chunks_exact_mut(4).zip(pixels) {
        match *from {
            [red, green, blue, ..] => to[..3].copy_from_slice(&[blue, green, red]),
            [gray, ..] => to[..3].fill(gray),
            [] => {}
        }
    }
    Ok(bgrx)
}

fn unreadable(error: &dyn std::fmt::Display) -> DeviceError {
    let message = format!("invalid screenshot: {error}");
    CdpError::Protocol {
        method: "Page.captureScreenshot",
        message,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_row(color: png::ColorType, pixels: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(color);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(pixels).unwrap();
        drop(writer);
        bytes
    }

    #[test]
    fn opaque_pngs_pass_through_unchanged() {
        let png = one_row(png::ColorType::Rgb, &[1, 2, 3, 250, 251, 252]);
        let decoded = frame(png.clone()).unwrap();
        assert_eq!(decoded.size(), Size::new(2, 1));
        assert_eq!(decoded.png(), Some(&png[..]));
        assert_eq!(
            (decoded.pixel(0, 0), decoded.pixel(1, 0)),
            (Some([1, 2, 3]), Some([250, 251, 252]))
        );
    }

    #[test]
    fn transparent_pngs_are_decoded() {
        let png = one_row(png::ColorType::Rgba, &[1, 2, 3, 9, 250, 251, 252, 255]);
        let decoded = frame(png).unwrap();
        assert_eq!(decoded.png(), None);
        assert_eq!(
            (decoded.pixel(0, 0), decoded.pixel(1, 0)),
            (Some([1, 2, 3]), Some([250, 251, 252]))
        );
    }

    #[test]
    fn an_incomplete_screenshot_is_an_error() {
        assert!(frame(b"not a png".to_vec()).is_err());
        let mut half = one_row(png::ColorType::Rgb, &[1, 2, 3, 250, 251, 252]);
        half.pop();
        assert!(frame(half).is_err());
    }
}
