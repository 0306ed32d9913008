//! Reports results whose images are in a format that the target service is not known to accept.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a result with images"
)]

use telechir_protocol::{CallId, Content, DataContent, Media, Message};

use crate::Report;
use crate::codec::Codec;
use crate::duplicate_ids::is_own;

/// Reports the WebP images in results of other dialects. They are sent as they are: most services
/// that name no formats accept WebP, and nothing here can decode an image.
pub(crate) fn report_webp(codec: &Codec, messages: &[Message], report: &mut Report) {
    if codec.screenshots.accepts_webp {
        return;
    }
    for message in messages {
        let contents = message.contents.iter();
        for content in contents.filter(|content| !is_own(message, content, codec.raw_dialect)) {
            if let Some(call_id) = result_with_webp(content) {
                report.preserved(
                    "WebP image",
                    call_id.map_or_else(|| "result".to_owned(), |id| format!("call {id}")),
                    format!("{} is not known to accept WebP in results", codec.name),
                    "unchanged",
                );
            }
        }
    }
}

/// The call of a result with a WebP image.
fn result_with_webp(content: &Content) -> Option<Option<&CallId>> {
    let is_webp = |data: &DataContent| data.media_type() == Some("image/webp");
    match content {
        Content::ComputerResult(result) => {
            let steps = result.steps.iter().map(|step| &step.screenshot);
            let mut screenshots = steps.chain([&result.screenshot]).flatten();
            let has_webp =
                screenshots.any(|media| matches!(media, Media::Data(data) if is_webp(data)));
            has_webp.then_some(Some(&result.call_id))
        }
        Content::FunctionResult(result) => {
            let mut items = result.items.iter();
            let has_webp = items.any(|item| matches!(item, Content::Data(data) if is_webp(data)));
            has_webp.then_some(result.call_id.as_ref())
        }
        _ => None,
    }
}
