//! What no door of Bedrock but one takes: toolsets, pictures by their address, files that
//! another service holds. Contents of a history are put into forms that can be sent.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, DataContent, Media, Meta, TextContent};

use super::{MOST_BASE64, anthropic_bridge};
use crate::anthropic;
use crate::{EncodeError, Report};

/// Whether a door serves the toolsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toolsets {
    /// It does.
    Served,
    /// Their calls are written as those of the older tools.
    Refused,
}

/// Puts the contents of a history into forms that a door takes.
pub(super) fn contents(
    contents: &mut [Content],
    toolsets: Toolsets,
    place: &str,
    report: &mut Report,
) {
    for (at, content) in contents.iter_mut().enumerate() {
        let place = format!("{place}.contents[{at}]");
        if toolsets == Toolsets::Refused {
            anthropic_bridge::each_meta(content, &mut without_toolset);
        }
        images(content, &place, report);
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
        let place = result
            .call_id()
            .map_or_else(String::new, |id| format!("result {id}"));
        check(std::slice::from_ref(&content), dialect, &place)?;
        images(&mut content, &place, report);
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
    place: &str,
) -> Result<(), EncodeError> {
    for content in contents {
        match content {
            Content::Data(data) => size(data, dialect, place)?,
            Content::ComputerResult(result) => {
                let steps = result
                    .steps
                    .iter()
                    .filter_map(|step| step.screenshot.as_ref());
                for image in steps.chain(&result.screenshot) {
                    if let Media::Data(data) = image {
                        size(data, dialect, place)?;
                    }
                }
            }
            Content::FunctionResult(result) => check(&result.items, dialect, place)?,
            _ => {}
        }
    }
    Ok(())
}

fn size(data: &DataContent, dialect: &'static str, place: &str) -> Result<(), EncodeError> {
    let length = data.base64().map_or(0, str::len);
    let is_image = data
        .media_type()
        .is_some_and(|kind| kind.starts_with("image/"));
    if is_image && length > MOST_BASE64 {
        return Err(EncodeError::Missing {
            dialect,
            problem: format!(
                "{place} has a picture of {length} bytes of base64, more than {MOST_BASE64}; send it scaled"
            ),
        });
    }
    Ok(())
}

/// A call of a toolset's member is written anew, as one of the older tools.
fn without_toolset(meta: &mut Meta) {
    let says_toolset = |json: &Value| json.get("toolset_name").is_some();
    let is_member = meta.raw_representation.as_ref().is_some_and(|raw| {
        raw.dialect == anthropic::DIALECT
            && match raw.template() {
                Value::Array(run) => run.iter().any(says_toolset),
                one => says_toolset(one),
            }
    });
    if is_member {
        meta.raw_representation = None;
    }
    if let Some(Value::Object(theirs)) = meta.additional_properties.get_mut("anthropic") {
        theirs.shift_remove("toolset_name");
        if theirs.is_empty() {
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

fn images(content: &mut Content, place: &str, report: &mut Report) {
    match content {
        Content::ComputerResult(result) => {
            let held = result.screenshot.clone().map(Content::from);
            if let Some(note) = held.as_ref().and_then(note) {
                report.kept("a picture by its address", place, WHY, HOW);
                let said = result.text_output.take();
                result.text_output =
                    Some(said.map_or_else(|| note.clone(), |said| format!("{said}\n{note}")));
                result.screenshot = None;
                result.meta.raw_representation = None;
            }
            for step in &mut result.steps {
                let held: Option<Content> = step.screenshot.clone().map(Media::into);
                if held.as_ref().and_then(note).is_some() {
                    report.lost("a step's picture by its address", place, WHY);
                    step.screenshot = None;
                    result.meta.raw_representation = None;
                }
            }
        }
        Content::FunctionResult(result) => {
            let mut is_changed = false;
            for item in &mut result.items {
                is_changed |= replaced(item, place, report);
            }
            if is_changed {
                result.meta.raw_representation = None;
            }
        }
        other => {
            replaced(other, place, report);
        }
    }
}

fn replaced(content: &mut Content, place: &str, report: &mut Report) -> bool {
    let Some(note) = note(content) else {
        return false;
    };
    report.kept("a file by its address or name", place, WHY, HOW);
    *content = Content::Text(TextContent::new(note));
    true
}
