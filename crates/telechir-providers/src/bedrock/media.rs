//! Formats of images and documents by media type, and legal document names.

const IMAGES: [(&str, &str); 4] = [
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

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
