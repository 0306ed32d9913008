//! The pixels of a page without a window.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use telechir_device::{DeviceError, Frame};
use telechir_protocol::Size;

use crate::error::CdpError;
use crate::cdp_session::Page;

/// Between two documents there is nothing to see, for a moment. A page that goes from one to the
/// next without an end is in one of them most of the time.
const ATTEMPTS: u32 = 20;

/// The last chunk of every PNG, which holds nothing.
const END: &[u8] = b"\0\0\0\0IEND\xae\x42\x60\x82";
/// A larger picture than any page has; what a service far away says of one is not believed.
const MOST_PIXELS: u64 = 1 << 27;

/// Asks for a picture in the fastest lossless form. It stays packed until somebody looks at its pixels.
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
    frame_of(answer["data"].as_str().unwrap_or_default())
}

/// The frame behind a picture as the protocol has it.
pub(crate) fn frame_of(text: &str) -> Result<Frame, DeviceError> {
    frame(STANDARD.decode(text).map_err(|error| odd(&error))?)
}

fn frame(png: Vec<u8>) -> Result<Frame, DeviceError> {
    let reader = png::Decoder::new(Cursor::new(&png)).read_info();
    let reader = reader.map_err(|error| odd(&error))?;
    let info = reader.info();
    let size = Size::new(info.width, info.height);
    if u64::from(size.width) * u64::from(size.height) > MOST_PIXELS {
        return Err(odd(&"it says that it is larger than any page"));
    }
    if !png.ends_with(END) {
        return Err(odd(&"it has no end"));
    }
    // Models are given nothing that could be seen through.
    let has_only_colours = info.color_type == png::ColorType::Rgb
        && info.bit_depth == png::BitDepth::Eight
        && info.trns.is_none();
    if has_only_colours {
        drop(reader);
        return Ok(Frame::packed(size, png, |png| decode(png).ok()));
    }
    let bgrx = decode(&png).map_err(|error| odd(&error))?;
    Frame::new(size, bgrx).ok_or_else(|| odd(&"it is not as large as it says"))
}

/// Its pixels, as frames have them.
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
    fn a_screenshot_keeps_its_colours_and_is_handed_on_as_it_came() {
        let png = one_row(png::ColorType::Rgb, &[1, 2, 3, 250, 251, 252]);
        let seen = frame(png.clone()).unwrap();
        assert_eq!(seen.size(), Size::new(2, 1));
        assert_eq!(seen.png(), Some(&png[..]));
        assert_eq!(
            (seen.pixel(0, 0), seen.pixel(1, 0)),
            (Some([1, 2, 3]), Some([250, 251, 252]))
        );
    }

    #[test]
    fn what_could_be_seen_through_is_not_handed_on() {
        let png = one_row(png::ColorType::Rgba, &[1, 2, 3, 9, 250, 251, 252, 255]);
        let seen = frame(png).unwrap();
        assert_eq!(seen.png(), None);
        assert_eq!(
            (seen.pixel(0, 0), seen.pixel(1, 0)),
            (Some([1, 2, 3]), Some([250, 251, 252]))
        );
    }

    #[test]
    fn what_is_no_whole_screenshot_is_an_error() {
        assert!(frame(b"not a png".to_vec()).is_err());
        let mut half = one_row(png::ColorType::Rgb, &[1, 2, 3, 250, 251, 252]);
        half.pop();
        assert!(frame(half).is_err());
    }
}
