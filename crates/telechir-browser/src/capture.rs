//! The pixels of a page without a window.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use telechir_device::{DeviceError, Frame};
use telechir_protocol::Size;

use crate::error::{CdpError, refused};
use crate::page::Page;

/// Between two documents there is nothing to see, for a moment. A page that goes from one to the
/// next without an end is in one of them most of the time.
const ATTEMPTS: u32 = 20;

/// Asks for a picture in the fastest lossless form and unpacks it.
pub(crate) async fn capture(page: &Page) -> Result<Frame, DeviceError> {
    let params = json!({ "format": "png", "optimizeForSpeed": true });
    let mut attempts = 1;
    let answer = loop {
        match page.call("Page.captureScreenshot", params.clone()).await {
            Err(CdpError::Protocol { .. }) if attempts < ATTEMPTS => attempts += 1,
            answer => break answer?,
        }
        // A round trip, so that the next document has a moment to come.
        let _it_may_be_gone_too = page.evaluate("0").await;
    };
    let text = answer["data"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(text).map_err(|error| odd(&error))?;
    decode(&bytes)
}

fn decode(bytes: &[u8]) -> Result<Frame, DeviceError> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| odd(&error))?;
    let length = reader
        .output_buffer_size()
        .ok_or_else(|| refused("The picture is too large."))?;
    let mut pixels = vec![0; length];
    let info = reader
        .next_frame(&mut pixels)
        .map_err(|error| odd(&error))?;
    let size = Size::new(info.width, info.height);
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
    Frame::new(size, bgrx).ok_or_else(|| refused("The picture is not as large as it says."))
}

fn odd(error: &dyn std::fmt::Display) -> DeviceError {
    let message = format!("its picture cannot be read: {error}");
    CdpError::Protocol {
        method: "Page.captureScreenshot",
        message,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_keeps_its_colours() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().unwrap();
        writer
            .write_image_data(&[1, 2, 3, 255, 250, 251, 252, 255])
            .unwrap();
        drop(writer);
        let frame = decode(&bytes).unwrap();
        assert_eq!(frame.size(), Size::new(2, 1));
        assert_eq!(
            (frame.pixel(0, 0), frame.pixel(1, 0)),
            (Some([1, 2, 3]), Some([250, 251, 252]))
        );
    }

    #[test]
    fn what_is_no_picture_is_an_error() {
        assert!(decode(b"not a png").is_err());
    }
}
