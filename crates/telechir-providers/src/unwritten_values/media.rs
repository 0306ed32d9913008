//! Reports media types that a translation did not write.

use telechir_protocol::{Content, DataContent, HostedFileContent, Media, Message, UriContent};

use super::raw_of;
use crate::nested_contents::nested;
use crate::written_values::WrittenValues;
use crate::{Loss, Report, media_types};

/// Data, an address or a file of another dialect with its location.
pub(super) struct ForeignMedia<'a> {
    media: MediaRef<'a>,
    location: String,
}

#[derive(Clone, Copy)]
enum MediaRef<'a> {
    Data(&'a DataContent),
    Uri(&'a UriContent),
    File(&'a HostedFileContent),
}

impl<'a> MediaRef<'a> {
    fn of_screenshot(media: &'a Media) -> Self {
        match media {
            Media::Data(data) => Self::Data(data),
            Media::Uri(uri) => Self::Uri(uri),
            Media::HostedFile(file) => Self::File(file),
        }
    }

    /// The media type, if the document has the content without it and nothing shows it.
    fn missing_type(self, written: &WrittenValues<'_>) -> Option<&'a str> {
        match self {
            Self::Data(data) => {
                let (media_type, base64) = data.media_type().zip(data.base64())?;
                let is_missing = !written.has_media_type(media_type)
                    && !media_types::is_shown(base64, media_type)
                    && written.has_data(&data.uri);
                is_missing.then_some(media_type)
            }
            Self::Uri(uri) => missing_beside(&uri.uri, uri.media_type.as_deref(), written),
            Self::File(file) => missing_beside(&file.file_id, file.media_type.as_deref(), written),
        }
    }
}

/// The media type of an address or id, if the document has only the address or id.
fn missing_beside<'a>(
    address: &str,
    media_type: Option<&'a str>,
    written: &WrittenValues<'_>,
) -> Option<&'a str> {
    let media_type = media_type?;
    let is_missing = written.has_text(address) && !written.has_type_of_address(address, media_type);
    is_missing.then_some(media_type)
}

/// The media of messages of other dialects.
pub(super) fn foreign<'a>(messages: &'a [Message], own: &str) -> Vec<ForeignMedia<'a>> {
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let around = message.meta.raw_representation.as_ref();
        if around.is_none_or(|raw| raw.dialect != own) {
            let location = format!("messages[{at}].contents");
            add_media(&message.contents, own, &location, &mut found);
        }
    }
    found
}

fn add_media<'a>(
    contents: &'a [Content],
    own: &str,
    list: &str,
    found: &mut Vec<ForeignMedia<'a>>,
) {
    for (at, content) in contents.iter().enumerate() {
        if raw_of(content).is_some_and(|raw| raw.dialect == own) {
            continue;
        }
        let location = format!("{list}[{at}]");
        let media = if let Content::Data(data) = content {
            Some(MediaRef::Data(data))
        } else if let Content::Uri(uri) = content {
            Some(MediaRef::Uri(uri))
        } else if let Content::HostedFile(file) = content {
            Some(MediaRef::File(file))
        } else if let Content::ComputerResult(result) = content {
            result.screenshot.as_ref().map(MediaRef::of_screenshot)
        } else {
            None
        };
        for (name, inner) in nested(content) {
            add_media(inner, own, &format!("{location}.{name}"), found);
        }
        found.extend(media.map(|media| ForeignMedia { media, location }));
    }
}

/// Reports the media type of data or of an address that was written without it and does not show
/// it.
pub(super) fn report_types(
    foreign: &[ForeignMedia<'_>],
    written: &WrittenValues<'_>,
    report: &mut Report,
) {
    for ForeignMedia { media, location } in foreign {
        let Some(media_type) = media.missing_type(written) else {
            continue;
        };
        let what = format!("media type `{media_type}`");
        let is_named = |loss: &Loss| loss.location == *location && loss.what.contains(media_type);
        if !report.losses.iter().any(is_named) {
            let why = "the part of this dialect has no field for it";
            report.lost(what, location, why);
        }
    }
}
