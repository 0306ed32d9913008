//! Encodes a frame for the model: scaled, labelled, encoded, in base64.
//!
//! `LastFrame` in `observe.rs` must compare everything that is drawn here, or an outdated
//! screenshot would be sent again.

use base64::Engine as _;
use telechir_device::{Frame, Mark, Viewport, draw};
use telechir_image::{Format, ImageError, encode_within, shrink};
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
    let (bytes, format) = match screenshot.png() {
        Some(png) if rule.format.is_none() && png.len() <= max_bytes => (png.to_vec(), Format::Png),
        _ => encode_within(&screenshot, &rule.formats(), max_bytes)?,
    };
    let base64 = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let media = DataContent::from_base64(format.media_type(), &base64);
    Ok((Media::Data(media), bytes))
}

#[cfg(test)]
mod tests {
    use telechir_device::{MarkKind, ScreenRegion, ScreenTarget};

    use super::*;

    const SIZE: Size = Size::new(64, 48);

    /// A frame that came as a PNG. Its bytes say which: only its pixels are ever decoded.
    fn page() -> Frame {
        let png = b"\x89PNG by the browser".repeat(400);
        Frame::packed(SIZE, png, |_| Some([9, 120, 200, 0].repeat(64 * 48)))
    }

    fn encoded(frame: &Frame, size: Size, rule: ScreenshotRule) -> (String, Vec<u8>) {
        let viewport = Viewport::new(SIZE, size);
        let (media, bytes) = encode_screenshot(frame, size, (&[], &viewport), rule).unwrap();
        let Media::Data(data) = media else {
            panic!("not inside the message")
        };
        let base64 = base64::engine::general_purpose::STANDARD.encode(&bytes);
        assert_eq!(data.base64(), Some(base64.as_str()));
        (data.media_type().unwrap().to_owned(), bytes)
    }

    const WEBP: ScreenshotRule = ScreenshotRule {
        accepts_webp: true,
        ..ScreenshotRule::native()
    };

    #[test]
    fn a_png_of_the_browser_is_sent_as_it_is() {
        for rule in [WEBP, ScreenshotRule::native()] {
            let (media_type, bytes) = encoded(&page(), SIZE, rule);
            assert_eq!(media_type, "image/png");
            assert_eq!(Some(&bytes[..]), page().png());
        }
    }

    #[test]
    fn a_png_of_the_browser_is_encoded_again_if_scaled_or_too_large_or_the_user_chose_a_format() {
        let length = page().png().unwrap().len();
        let too_large = |rule: ScreenshotRule| ScreenshotRule {
            max_bytes: Some(length - 1),
            ..rule
        };
        let chosen = ScreenshotRule {
            format: Some(Format::Png),
            ..WEBP
        };
        for (size, rule, expected) in [
            (Size::new(32, 24), WEBP, "image/webp"),
            (Size::new(32, 24), ScreenshotRule::native(), "image/png"),
            (SIZE, too_large(WEBP), "image/webp"),
            (SIZE, too_large(ScreenshotRule::native()), "image/png"),
            (SIZE, chosen, "image/png"),
        ] {
            let (media_type, bytes) = encoded(&page(), size, rule);
            assert_eq!(media_type, expected, "{rule:?}");
            assert!(bytes.len() < length, "{rule:?}");
        }
    }

    #[test]
    fn a_labelled_png_of_the_browser_is_encoded_again() {
        let mark = Mark {
            target: ScreenTarget::Element {
                id: "b1".to_owned(),
                frame: None,
            },
            region: ScreenRegion::of_screen(SIZE),
            kind: MarkKind::Press,
            line: String::new(),
        };
        let viewport = Viewport::new(SIZE, SIZE);
        let (_, bytes) = encode_screenshot(&page(), SIZE, (&[mark], &viewport), WEBP).unwrap();
        assert!(bytes.starts_with(b"RIFF"));
    }

    #[test]
    fn other_frames_are_webp_only_where_the_service_accepts_it() {
        let frame = Frame::new(SIZE, page().bgrx().to_vec()).unwrap();
        for (rule, expected) in [
            (WEBP, "image/webp"),
            (ScreenshotRule::native(), "image/png"),
        ] {
            assert_eq!(encoded(&frame, SIZE, rule).0, expected);
        }
    }
}
