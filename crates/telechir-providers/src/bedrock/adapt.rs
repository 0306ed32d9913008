//! What no door of Bedrock but one takes: toolsets, pictures by their address, files that
//! another service holds. Contents of a history are put into forms that can be sent.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, DataContent, Media, Meta, TextContent};

use super::{MAX_IMAGE_BASE64_BYTES, anthropic_bridge};
use crate::anthropic;
use crate::{EncodeError, Report};

/// Whether a door serves the toolsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolsetSupport {
    /// It does.
    Supported,
    /// Their calls are written as those of the older tools.
    Unsupported,
}

/// Puts the contents of a history into forms that a door takes.
pub(super) fn contents(
    contents: &mut [Content],
    toolsets: ToolsetSupport,
    location: &str,
    report: &mut Report,
) {
    for (at, content) in contents.iter_mut().enumerate() {
        let location = format!("{location}.contents[{at}]");
        if toolsets == ToolsetSupport::Unsupported {
            anthropic_bridge::each_meta(content, &mut without_toolset);
        }
        images(content, &location, report);
    }
}

/// Puts the results of a turn into forms that every door takes.
pub(super) fn answers(
    turn: &AnsweredTurn,
    dialect: &'static str,
    report: &mut Report,
) -> Result<AnsweredTurn, EncodeError> {
    let mut results = Vec::new();
    for result in turn.results() {
        let mut content = result.clone().into_content();
        let location = result
            .call_id()
            .map_or_else(String::new, |id| format!("result {id}"));
        check(std::slice::from_ref(&content), dialect, &location)?;
        images(&mut content, &location, report);
        results.extend(anthropic_bridge::as_result(content));
    }
    // The results are those of the same calls.
    let again = turn.turn().clone().answer(results);
    Ok(again.unwrap_or_else(|_| turn.clone()))
}

/// No picture is larger than any door takes.
pub(super) fn check(
    contents: &[Content],
    dialect: &'static str,
    location: &str,
) -> Result<(), EncodeError> {
    for content in contents {
        match content {
            Content::Data(data) => size(data, dialect, location)?,
            Content::ComputerResult(result) => {
                let steps = result
                    .steps
                    .iter()
                    .filter_map(|step| step.screenshot.as_ref());
                for image in steps.chain(&result.screenshot) {
                    if let Media::Data(data) = image {
                        size(data, dialect, location)?;
                    }
                }
            }
            Content::FunctionResult(result) => check(&result.items, dialect, location)?,
            _ => {}
        }
    }
    Ok(())
}

fn size(data: &DataContent, dialect: &'static str, location: &str) -> Result<(), EncodeError> {
    let length = data.base64().map_or(0, str::len);
    let is_image = data
        .media_type()
        .is_some_and(|kind| kind.starts_with("image/"));
    if is_image && length > MAX_IMAGE_BASE64_BYTES {
        return Err(EncodeError::Missing {
            dialect,
            problem: format!(
                "{location} has a picture of {length} bytes of base64, more than {MAX_IMAGE_BASE64_BYTES}; send it scaled"
            ),
        });
    }
    Ok(())
}

/// A call of a toolset's member is written anew, as one of the older tools.
fn without_toolset(meta: &mut Meta) {
    let has_toolset = |json: &Value| json.get("toolset_name").is_some();
    let is_member = meta.raw_representation.as_ref().is_some_and(|raw| {
        raw.dialect == anthropic::DIALECT
            && match raw.template() {
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

/// What a picture that cannot be sent is replaced with.
fn note(media: &Content) -> Option<String> {
    match media {
        Content::Uri(uri) if !uri.uri.starts_with("s3://") => {
            Some(format!("[A file at {} could not be sent here.]", uri.uri))
        }
        Content::HostedFile(file) => Some(format!(
            "[A file that another service holds as {} could not be sent here.]",
            file.file_id
        )),
        _ => None,
    }
}

const WHY: &str = "pictures and files are sent as their bytes only";
const HOW: &str = "as a text that names it";

fn images(content: &mut Content, location: &str, report: &mut Report) {
    match content {
        Content::ComputerResult(result) => {
            let extra = result.screenshot.clone().map(Content::from);
            if let Some(note) = extra.as_ref().and_then(note) {
                report.kept("a picture by its address", location, WHY, HOW);
                let text = result.text_output.take();
                result.text_output =
                    Some(text.map_or_else(|| note.clone(), |text| format!("{text}\n{note}")));
                result.screenshot = None;
                result.meta.raw_representation = None;
            }
            for step in &mut result.steps {
                let extra: Option<Content> = step.screenshot.clone().map(Media::into);
                if extra.as_ref().and_then(note).is_some() {
                    report.lost("a step's picture by its address", location, WHY);
                    step.screenshot = None;
                    result.meta.raw_representation = None;
                }
            }
        }
        Content::FunctionResult(result) => {
            let mut is_changed = false;
            for item in &mut result.items {
                is_changed |= replaced(item, location, report);
            }
            if is_changed {
                result.meta.raw_representation = None;
            }
        }
        other => {
            replaced(other, location, report);
        }
    }
}

fn replaced(content: &mut Content, location: &str, report: &mut Report) -> bool {
    let Some(note) = note(content) else {
        return false;
    };
    report.kept("a file by its address or name", location, WHY, HOW);
    *content = Content::Text(TextContent::new(note));
    true
}
