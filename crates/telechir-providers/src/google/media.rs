//! Images and files, as base64 with a media type or as a URL.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, HostedCall, Media, Size};

use crate::codec::ScreenshotRules;
use crate::json::{hosted_output, media};
use crate::{Report, ScreenshotWhen};

/// Converts URL-safe base64 to the standard alphabet, which all other dialects accept.
pub(super) fn standard(base64: &str) -> Cow<'_, str> {
    if base64.bytes().any(|byte| matches!(byte, b'-' | b'_')) {
        Cow::Owned(base64.replace('-', "+").replace('_', "/"))
    } else {
        Cow::Borrowed(base64)
    }
}

/// The property for the resolution at which the model sees an image, in the words of interactions.
pub(crate) const RESOLUTION: &str = "resolution";

const LEVEL_PREFIX: &str = "MEDIA_RESOLUTION_";
const LEVELS: [&str; 4] = ["low", "medium", "high", "ultra_high"];

/// The level of a part's `mediaResolution`; none if that holds anything else.
pub(super) fn resolution(part: &Map<String, Value>) -> Option<&'static str> {
    let resolution = part.get("mediaResolution")?.as_object()?;
    let level = resolution.get("level").filter(|_| resolution.len() == 1)?;
    let level = level.as_str()?.strip_prefix(LEVEL_PREFIX)?;
    LEVELS
        .into_iter()
        .find(|known| known.to_uppercase() == level)
}

/// A part's `mediaResolution` for a level.
pub(super) fn media_resolution(level: &str) -> Value {
    json!({"level": format!("{LEVEL_PREFIX}{}", level.to_uppercase())})
}

/// Whether this is a level that both APIs have.
pub(super) fn is_level(level: &str) -> bool {
    LEVELS.contains(&level)
}

/// The code of a call, or what code printed. An image or file in it is lost; the outcomes of
/// Google's own dialects are fields.
pub(super) fn hosted_text(
    call: &HostedCall,
    location: &str,
    report: &mut Report,
) -> Option<String> {
    let id = call.call_id.as_ref().map_or("", |id| id.as_str());
    let contents: Vec<&Content> = call.inputs.iter().chain(&call.results).collect();
    for media in contents.iter().filter_map(|content| media(content)) {
        let what = match &media {
            Media::Data(data) => format!("file of type {}", data.media_type().unwrap_or("unknown")),
            Media::Uri(uri) => format!("file {}", uri.uri),
            Media::HostedFile(file) => format!("file {}", file.file_id),
        };
        let why = "code that Google runs returns only text";
        let location = match id {
            "" => location.to_owned(),
            id => format!("hosted code {id}"),
        };
        report.lost(what, location, why);
    }
    let is_own = |code: &str| code.starts_with("OUTCOME_") || code == IS_ERROR;
    let texts = hosted_output(&contents, &is_own);
    let mut printed = contents.iter();
    let has_text = printed.any(|content| matches!(content, Content::Text(_)));
    (has_text || !texts.is_empty()).then(|| texts.join("\n"))
}

/// The code of an error that only repeats the field of the same name in a result.
pub(super) const IS_ERROR: &str = "is_error";

/// The size of a screenshot, read from its image data.
pub(super) fn size_of(media: &Media) -> Option<Size> {
    let Media::Data(data) = media else {
        return None;
    };
    crate::image_size::size_of(&standard(data.base64()?))
}

/// Maximum base64 characters of one image. A request is limited to 20 MB, which includes the
/// conversation's other images.
const MAX_IMAGE_BASE64: usize = 7 * 1024 * 1024;

/// The screenshots of both APIs.
pub(super) const SCREENSHOTS: ScreenshotRules = ScreenshotRules {
    size: screenshot_size,
    max_base64: MAX_IMAGE_BASE64,
    // Only PNG and JPEG are known to work in the parts of a `functionResponse`, and only PNG in a
    // `function_result`.
    accepts_webp: false,
    // Every result of a computer call needs a screenshot.
    when: ScreenshotWhen::EveryCall,
};

/// The size to which a screenshot is scaled. Coordinates do not depend on it; a larger image costs
/// more without showing more.
fn screenshot_size(_model: Option<&str>, size: Size) -> Size {
    const MAX_SIDE_PX: u32 = 3072;
    let longest = size.width.max(size.height);
    if longest <= MAX_SIDE_PX {
        return size;
    }
    let scaled = |side: u32| {
        let scaled = u64::from(side) * u64::from(MAX_SIDE_PX) / u64::from(longest);
        u32::try_from(scaled).unwrap_or(MAX_SIDE_PX).max(1)
    };
    Size::new(scaled(size.width), scaled(size.height))
}
