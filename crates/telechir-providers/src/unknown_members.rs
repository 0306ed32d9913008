//! Members of contents that no dialect knows: those that a dialect does not write are reported.

use telechir_protocol::{Content, Message};

use crate::Report;

/// Reports the unknown members of all contents that the dialect has not reported itself.
pub(crate) fn report(dialect: &str, messages: &[Message], report: &mut Report) {
    let mut lost = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let location = format!("messages[{at}]");
        find(
            &message.contents,
            &format!("{location}.contents"),
            &mut lost,
        );
    }
    for (name, location) in lost {
        let is_named = |what: &str| {
            what.split(|c: char| c != '_' && !c.is_alphanumeric())
                .any(|word| word == name)
        };
        if !report.losses.iter().any(|loss| is_named(&loss.what)) {
            report.lost(name, location, format!("{dialect} has no such member"));
        }
    }
}

/// The unknown members of contents and of the contents inside them, with their locations.
fn find<'a>(contents: &'a [Content], list: &str, lost: &mut Vec<(&'a str, String)>) {
    for (at, content) in contents.iter().enumerate() {
        let location = format!("{list}[{at}]");
        let meta = content.meta();
        for (name, value) in meta.into_iter().flat_map(|meta| meta.extra.iter()) {
            if !value.is_null() {
                lost.push((name, location.clone()));
            }
        }
        for (name, inner) in nested(content) {
            find(inner, &format!("{location}.{name}"), lost);
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content contains contents"
)]
fn nested(content: &Content) -> Vec<(&'static str, &[Content])> {
    match content {
        Content::FunctionResult(result) => vec![("items", &result.items)],
        Content::CommandCall(call)
        | Content::CommandResult(call)
        | Content::ImageGenerationCall(call)
        | Content::ImageGenerationResult(call) => {
            vec![("inputs", &call.inputs), ("results", &call.results)]
        }
        _ => Vec::new(),
    }
}
