//! Encodes a frame for the model: scaled, labelled, encoded, in base64.
//!
//! `LastFrame` in `observe.rs` must compare everything that is drawn here, or an outdated
//! screenshot would be sent again.

use base64::Engine as _;
use telechir_device::{Frame, Mark, Viewport, draw};
use telechir_image::{ImageError, encode_within, shrink};
use telechir_protocol::{DataContent, Media, Size};

use crate::ScreenshotRule;

/// Encodes a frame at `size`, which is at most the frame's size, with labels on `marks`. Returns
/// the media for the message and the bytes for the journal.
pub(crate) fn encode_screenshot(
    frame: &Frame,
    size: Size,
    (marks, viewport): (&[Mark], &Viewport),
    rule: ScreenshotRule,
) -> Result<(Media, Vec<u8>), ImageError> {
    let mut screenshot = shrink(frame, size)?;
    if !marks.is_empty() {
        draw(&mut screenshot, marks, viewport);
    }
    let max_bytes = rule.max_bytes.unwrap_or(usize::MAX);
    let (bytes, format) = encode_within(&screenshot, rule.format, max_bytes)?;
    let base64 = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let media = DataContent::from_base64(format.media_type(), &base64);
    Ok((Media::Data(media), bytes))
}
