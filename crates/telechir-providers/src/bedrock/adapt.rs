//! Adapts contents to what Bedrock accepts: no images by URL except, in Converse, in S3, no files
//! stored at other services and, except in `bedrock-messages`, no toolsets.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, DataContent, Media, Meta, TextContent};

use super::{MAX_IMAGE_BASE64_BYTES, anthropic_bridge};
use crate::anthropic;
use crate::content_text;
use crate::{EncodeError, Report};

/// Whether an API supports the toolsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolsetSupport {
    /// Calls of toolset members are encoded as such.
    Supported,
    /// Calls of toolset members are encoded as calls of the legacy tools.
    Unsupported,
}

/// Whether an API reads files from S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum S3Support {
    /// Files in S3 are encoded as their addresses.
    Supported,
    /// Files in S3 are replaced by a text, as those at other addresses.
    Unsupported,
}

/// Adapts the contents of a history to what an API accepts.
pub(super) fn adapt_contents(
    contents: &mut [Content],
    (toolsets, s3): (ToolsetSupport, S3Support),
    location: &str,
    report: &mut Report,
) {
    for (at, content) in contents.iter_mut().enumerate() {
        let location = format!("{location}.contents[{at}]");
        if toolsets == ToolsetSupport::Unsupported {
            anthropic_bridge::each_meta(content, &mut without_toolset);
        }
        replace_unsendable_media(content, s3, &location, report);
    }
}

/// Adapts the results of a turn to what an API accepts.
pub(super) fn adapt_results(
    turn: &AnsweredTurn,
    s3: S3Support,
    dialect: &'static str,
    report: &mut Report,
) -> Result<AnsweredTurn, EncodeError> {
    let mut results = Vec::new();
    for result in turn.results() {
        let mut content = result.clone().into_content();
        let location = result
            .call_id()
            .map_or_else(String::new, |id| format!("result {id}"));
        check_image_sizes(std::slice::from_ref(&content), dialect, &location)?;
        replace_unsendable_media(&mut content, s3, &location, report);
        results.extend(anthropic_bridge::as_result(content));
    }
    // The results still belong to the same calls.
    let again = turn.turn().clone().answer(results);
    Ok(again.unwrap_or_else(|_| turn.clone()))
}

/// Checks that every image is within the size limit of all APIs.
pub(super) fn check_image_sizes(
    contents: &[Content],
    dialect: &'static str,
    location: &str,
) -> Result<(), EncodeError> {
    for content in contents {
        match content {
            Content::Data(data) => check_image_size(data, dialect, location)?,
            Content::ComputerResult(result) => {
                let steps = result
                    .steps
                    .iter()
                    .filter_map(|step| step.screenshot.as_ref());
                for image in steps.chain(&result.screenshot) {
                    if let Media::Data(data) = image {
                        check_image_size(data, dialect, location)?;
                    }
                }
            }
            Content::FunctionResult(result) => check_image_sizes(&result.items, dialect, location)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_image_size(
    data: &DataContent,
    dialect: &'static str,
    location: &str,
) -> Result<(), EncodeError> {
    let length = data.base64().map_or(0, str::len);
    let is_image = data
        .media_type()
        .is_some_and(|kind| kind.starts_with("image/"));
    if is_image && length > MAX_IMAGE_BASE64_BYTES {
        let problem = format!(
            "{location} has an image of {length} bytes of base64, more than {MAX_IMAGE_BASE64_BYTES}; scale it down"
        );
        return Err(EncodeError::missing(dialect, problem));
    }
    Ok(())
}

/// Drops the raw JSON of a toolset member's call, so that it is encoded as a legacy tool's call.
fn without_toolset(meta: &mut Meta) {
    let has_toolset = |json: &Value| json.get("toolset_name").is_some();
    let is_member = meta.raw_representation.as_ref().is_some_and(|raw| {
        raw.dialect == anthropic::DIALECT
            && match raw.json() {
                Value::Array(run) => run.iter().any(has_toolset),
                one => has_toolset(one),
            }
    });
    if is_member {
        meta.raw_representation = None;
    }
    if let Some(Value::Object(fields)) = meta.additional_properties.get_mut("anthropic") {
        fields.shift_remove("toolset_name");
        if fields.is_empty() {
            meta.additional_properties.shift_remove("anthropic");
        }
    }
}

/// The text that replaces an image or file that cannot be sent; none if it can be sent.
fn replacement_text(media: &Content, s3: S3Support) -> Option<String> {
    match media {
        Content::Uri(uri) if s3 == S3Support::Unsupported || !uri.uri.starts_with("s3://") => {
            Some(format!("[A file at {} could not be sent.]", uri.uri))
        }
        Content::HostedFile(file) => Some(format!(
            "[A file that another service stores as {} could not be sent.]",
            file.file_id
        )),
        _ => None,
    }
}

const WHY: &str = "only the bytes of images and files can be sent";
const HOW: &str = "as a text that names it";

fn replace_unsendable_media(
    content: &mut Content,
    s3: S3Support,
    location: &str,
    report: &mut Report,
) {
    match content {
        Content::ComputerResult(result) => {
            let extra = result.screenshot.clone().map(Content::from);
            let text = extra.as_ref().and_then(|media| replacement_text(media, s3));
            if let Some(replacement_text) = text {
                let label = extra.as_ref().map(content_text::label);
                report.preserved(label.unwrap_or_default(), location, WHY, HOW);
                let text = result.text_output.take();
                result.text_output = Some(text.map_or_else(
                    || replacement_text.clone(),
                    |text| format!("{text}\n{replacement_text}"),
                ));
                result.screenshot = None;
                result.meta.raw_representation = None;
            }
            for step in &mut result.steps {
                let extra: Option<Content> = step.screenshot.clone().map(Media::into);
                if let Some(image) = extra.filter(|image| replacement_text(image, s3).is_some()) {
                    report.lost(content_text::label(&image), location, WHY);
                    step.screenshot = None;
                    result.meta.raw_representation = None;
                }
            }
        }
        Content::FunctionResult(result) => {
            let mut is_changed = false;
            for item in &mut result.items {
                is_changed |= replace_media(item, s3, location, report);
            }
            if is_changed {
                result.meta.raw_representation = None;
            }
        }
        other => {
            replace_media(other, s3, location, report);
        }
    }
}

fn replace_media(
    content: &mut Content,
    s3: S3Support,
    location: &str,
    report: &mut Report,
) -> bool {
    let Some(replacement_text) = replacement_text(content, s3) else {
        return false;
    };
    report.preserved(content_text::label(content), location, WHY, HOW);
    let mut text = TextContent::new(replacement_text);
    let properties = content.meta().map(|meta| &meta.additional_properties);
    let properties = properties.and_then(|all| all.get(anthropic::PROVIDER)?.as_object());
    for (name, value) in properties.into_iter().flatten() {
        match name.as_str() {
            "cache_control" => text
                .meta
                .set_property(anthropic::PROVIDER, name, value.clone()),
            _ => report.lost(format!("`{name}` of a file"), location, WHY),
        }
    }
    *content = Content::Text(text);
    true
}
