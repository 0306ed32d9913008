//! Formats of images, documents, sounds and videos by media type, and legal document names.

use crate::service_rules::IMAGES;

const DOCUMENTS: [(&str, &str); 9] = [
    ("pdf", "application/pdf"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("xls", "application/vnd.ms-excel"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("html", "text/html"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
];

/// Each with the type that other providers use. A format with the type of another one is left out,
/// so that its blocks stay as they are.
const SOUNDS: [(&str, &str); 10] = [
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/opus"),
    ("m4a", "audio/m4a"),
    ("mp4", "audio/mp4"),
    ("webm", "audio/webm"),
    ("mkv", "audio/x-matroska"),
];

/// Other types of the same formats.
const SOUND_ALIASES: [(&str, &str); 6] = [
    ("mp3", "audio/mp3"),
    ("mp3", "audio/mpga"),
    ("wav", "audio/x-wav"),
    ("wav", "audio/wave"),
    ("flac", "audio/x-flac"),
    ("m4a", "audio/x-m4a"),
];

const VIDEOS: [(&str, &str); 8] = [
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("mkv", "video/x-matroska"),
    ("webm", "video/webm"),
    ("flv", "video/x-flv"),
    ("mpeg", "video/mpeg"),
    ("wmv", "video/x-ms-wmv"),
    ("three_gp", "video/3gpp"),
];

/// The media type of a block named `audio` or `video`.
pub(super) fn recording_type(block: &str, format: &str) -> Option<&'static str> {
    match block {
        "audio" => second(&SOUNDS, format),
        "video" => second(&VIDEOS, format),
        _ => None,
    }
}

/// The block's name and the format of a sound or a video; none if it is unsupported.
pub(super) fn recording_format(media_type: &str) -> Option<(&'static str, &'static str)> {
    let sound = first(&SOUNDS, media_type).or_else(|| first(&SOUND_ALIASES, media_type));
    let video = || first(&VIDEOS, media_type).map(|format| ("video", format));
    sound.map(|format| ("audio", format)).or_else(video)
}

fn second(table: &[(&'static str, &'static str)], first: &str) -> Option<&'static str> {
    let found = table.iter().find(|(name, _)| *name == first)?;
    Some(found.1)
}

fn first(table: &[(&'static str, &'static str)], second: &str) -> Option<&'static str> {
    let found = table.iter().find(|(_, kind)| *kind == second)?;
    Some(found.0)
}

/// The media type of an image format.
pub(super) fn image_type(format: &str) -> Option<&'static str> {
    second(&IMAGES, format)
}

/// The format of an image; none if it is unsupported.
pub(super) fn image_format(media_type: &str) -> Option<&'static str> {
    first(&IMAGES, media_type)
}

/// The media type of a document format.
pub(super) fn document_type(format: &str) -> Option<&'static str> {
    second(&DOCUMENTS, format)
}

/// The format of a document; none if it is unsupported.
pub(super) fn document_format(media_type: &str) -> Option<&'static str> {
    first(&DOCUMENTS, media_type)
}

/// A document's name with legal characters only: letters, digits, single spaces, hyphens, and
/// round and square brackets.
pub(super) fn document_name(name: &str) -> String {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || "-()[]".contains(c);
    let spaced: String = name
        .chars()
        .map(|c| if is_taken(c) { c } else { ' ' })
        .take(200)
        .collect();
    let parts: Vec<&str> = spaced.split_whitespace().collect();
    if parts.is_empty() {
        "document".to_owned()
    } else {
        parts.join(" ")
    }
}
