//! Media types in the forms that providers use: `audio/mpeg`, `mp3`, the first bytes of the data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Fields that hold the media type of the data beside them.
pub(crate) const FIELDS: [&str; 5] = [
    "media_type",
    "mimeType",
    "mime_type",
    "format",
    "output_format",
];

/// Other names of a format, after its type without `x-` and `vnd.`.
const ALIASES: [(&str, &str); 18] = [
    ("audio/mpeg", "mp3"),
    ("audio/mpga", "mp3"),
    ("mpga", "mp3"),
    ("wave", "wav"),
    ("jpg", "jpeg"),
    ("plain", "txt"),
    ("text", "txt"),
    ("markdown", "md"),
    ("htm", "html"),
    ("msword", "doc"),
    (
        "openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    ("ms-excel", "xls"),
    ("openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("quicktime", "mov"),
    ("matroska", "mkv"),
    ("3gpp", "three_gp"),
    ("ms-wmv", "wmv"),
    ("octet-stream", ""),
];

/// The name of a media type that all its forms share; empty if it says nothing.
pub(crate) fn canonical(media_type: &str) -> String {
    let lower = media_type.trim().to_lowercase();
    let complete = lower.split([';', ',']).next().unwrap_or_default();
    let alias = |name: &str| {
        let found = ALIASES.iter().find(|(alias, _)| *alias == name);
        found.map(|(_, canonical)| (*canonical).to_owned())
    };
    let subtype = complete.rsplit('/').next().unwrap_or_default();
    let subtype = subtype
        .strip_prefix("x-")
        .or_else(|| subtype.strip_prefix("vnd."))
        .unwrap_or(subtype);
    // `image/svg+xml`
    let subtype = subtype.split('+').next().unwrap_or_default();
    if subtype == "*" {
        return String::new();
    }
    alias(complete)
        .or_else(|| alias(subtype))
        .unwrap_or_else(|| subtype.to_owned())
}

/// Formats that the providers' documents name.
const KNOWN: [&str; 22] = [
    "csv", "doc", "docx", "flac", "gif", "html", "jpeg", "json", "md", "mkv", "mov", "mp3", "mp4",
    "ogg", "opus", "pcm16", "pdf", "png", "txt", "wav", "webm", "webp",
];

/// Whether the text names a format of images, documents, sounds or videos.
pub(crate) fn is_known(media_type: &str) -> bool {
    KNOWN.contains(&canonical(media_type).as_str())
}

/// The type in a `data:` URL.
pub(crate) fn of_url(url: &str) -> Option<&str> {
    let media_type = url.strip_prefix("data:")?.split([';', ',']).next()?;
    Some(media_type).filter(|media_type| !media_type.is_empty())
}

/// Whether the first bytes of data in base64, or its URL, show the media type.
pub(crate) fn is_shown(data: &str, media_type: &str) -> bool {
    let canonical = canonical(media_type);
    if let Some(named) = of_url(data) {
        return self::canonical(named) == canonical;
    }
    shown(data).contains(&canonical.as_str())
}

/// The types that data in base64 may have by its first bytes.
fn shown(base64: &str) -> &'static [&'static str] {
    let end = base64.len().min(16) / 4 * 4;
    let start = base64.get(..end).unwrap_or_default();
    let Ok(bytes) = STANDARD.decode(start) else {
        return &[];
    };
    match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => &["png"],
        [0xFF, 0xD8, ..] => &["jpeg"],
        [b'G', b'I', b'F', b'8', ..] => &["gif"],
        [b'%', b'P', b'D', b'F', ..] => &["pdf"],
        [b'R', b'I', b'F', b'F', _, _, _, _, kind @ ..] => match kind {
            b"WEBP" => &["webp"],
            b"WAVE" => &["wav"],
            _ => &[],
        },
        [b'I', b'D', b'3', ..] | [0xFF, 0xE0..=0xFF, ..] => &["mp3"],
        [b'O', b'g', b'g', b'S', ..] => &["ogg", "opus"],
        [b'f', b'L', b'a', b'C', ..] => &["flac"],
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => &["mp4", "m4a", "mov"],
        [0x1A, 0x45, 0xDF, 0xA3, ..] => &["webm", "mkv"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{canonical, is_shown};

    #[test]
    fn the_forms_of_one_type_have_one_name() {
        for (one, other) in [
            ("audio/mpeg", "mp3"),
            ("audio/x-wav", "wav"),
            ("IMAGE/JPEG", "jpg"),
            ("text/plain; charset=utf-8", "txt"),
            ("video/quicktime", "mov"),
        ] {
            assert_eq!(canonical(one), canonical(other));
        }
        assert_ne!(canonical("video/mpeg"), canonical("audio/mpeg"));
        assert_eq!(canonical("image/*"), "");
    }

    #[test]
    fn only_data_that_begins_like_its_type_shows_it() {
        assert!(is_shown("iVBORw0KGgoAAAANSUhEUg==", "image/png"));
        assert!(is_shown("UklGRiQAAABXQVZFZm10IA==", "audio/wav"));
        assert!(!is_shown("UklGRiQAAABXQVZFZm10IA==", "image/webp"));
        assert!(!is_shown("AAAAAAAAAAAAAAAAAAAAAA==", "audio/aiff"));
        assert!(is_shown("data:audio/x-wav;base64,AAAA", "audio/wav"));
    }
}
