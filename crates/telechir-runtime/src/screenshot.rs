//! A frame as a model gets it: scaled, numbered, encoded, in base64.
//!
//! Whatever is drawn must be part of what `Kept` in `observe.rs` compares, or a picture without
//! it would be sent again.

use base64::Engine as _;
use telechir_device::{Frame, Mark, Viewport, draw};
use telechir_image::{Format, ImageError, encode, encode_within, shrink};
use telechir_protocol::{DataContent, Media, Size};

use crate::ScreenshotRule;

/// A frame as the PNG that a model gets of it, in its own size.
///
/// # Errors
/// When it cannot be encoded.
pub fn png(frame: &Frame) -> Result<Vec<u8>, ImageError> {
    encode(frame, Format::Png)
}

/// The picture of a frame at `size`, which is not larger than the frame, with numbers on what is
/// marked: for the message, and its bytes for the journal.
pub(crate) fn develop(
    frame: &Frame,
    size: Size,
    (marks, viewport): (&[Mark], &Viewport),
    rule: ScreenshotRule,
) -> Result<(Media, Vec<u8>), ImageError> {
    let mut screenshot = shrink(frame, size)?;
    if !marks.is_empty() {
        draw(&mut screenshot, marks, viewport);
    }
    let most = rule.max_bytes.unwrap_or(usize::MAX);
    let (bytes, format) = encode_within(&screenshot, rule.format, most)?;
    let base64 = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let media = DataContent::from_base64(format.media_type(), &base64);
    Ok((Media::Data(media), bytes))
}
