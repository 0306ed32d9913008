//! Reads the size of an image from its header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use telechir_protocol::Size;

/// The size of a PNG, JPEG, GIF or WebP from its header; none if it has no valid one.
pub(crate) fn size_of(base64: &str) -> Option<Size> {
    // Enough for leading headers; in a JPEG the header may follow long comments.
    let head = base64.get(..64).unwrap_or(base64);
    let start = STANDARD.decode(head.get(..head.len() / 4 * 4)?).ok()?;
    match start.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => Some(Size::new(be_u32(&start, 16)?, be_u32(&start, 20)?)),
        [b'G', b'I', b'F', ..] => Some(Size::new(le_u16(&start, 6)?, le_u16(&start, 8)?)),
        [b'R', b'I', b'F', b'F', ..] => webp(&start),
        [0xFF, 0xD8, ..] => jpeg(&STANDARD.decode(base64).ok()?),
        _ => None,
    }
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn be_u16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(
        bytes.get(at..at + 2)?.try_into().ok()?,
    )))
}

fn le_u16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(
        bytes.get(at..at + 2)?.try_into().ok()?,
    )))
}

fn le_u24(bytes: &[u8], at: usize) -> Option<u32> {
    Some(le_u16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16)
}

fn webp(bytes: &[u8]) -> Option<Size> {
    match bytes.get(12..16)? {
        b"VP8X" => Some(Size::new(le_u24(bytes, 24)? + 1, le_u24(bytes, 27)? + 1)),
        b"VP8L" => {
            let packed = le_u24(bytes, 21)? | u32::from(*bytes.get(24)?) << 24;
            Some(Size::new(
                (packed & 0x3FFF) + 1,
                (packed >> 14 & 0x3FFF) + 1,
            ))
        }
        b"VP8 " => Some(Size::new(
            le_u16(bytes, 26)? & 0x3FFF,
            le_u16(bytes, 28)? & 0x3FFF,
        )),
        _ => None,
    }
}

/// The size of a JPEG, from its first start-of-frame marker.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1).filter(|_| bytes.get(at) == Some(&0xFF))?;
        match marker {
            0xFF => at += 1,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return Some(Size::new(be_u16(bytes, at + 7)?, be_u16(bytes, at + 5)?));
            }
            0x01 | 0xD0..=0xD8 => at += 2,
            _ => at += 2 + usize::try_from(be_u16(bytes, at + 2)?).ok()?,
        }
    }
}

#[cfg(test)]
mod tests {
    use telechir_protocol::Size;

    use super::size_of;

    #[test]
    fn reads_the_size_from_the_image_itself() {
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAEUlEQVR42mNwaDiAFTEMpAQAAdFIAedY0+sAAAAASUVORK5CYII=";
        assert_eq!(size_of(png), Some(Size::new(8, 6)));
        assert_eq!(
            size_of("R0lGODlhAwAFAIAAAP///wAAACwAAAAAAwAFAAACA4SPBQA7"),
            Some(Size::new(3, 5))
        );
        assert_eq!(size_of("/9j/wAALCAAQACABAREA/9k="), Some(Size::new(32, 16)));
        assert_eq!(size_of("Qk0="), None);
        assert_eq!(size_of(""), None);
    }
}
