//! Answers as results of the protocol.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use telechir_protocol::Media;
use telechir_tools::ToolAnswer;

/// The result. One with a screenshot has no structured content: some clients drop the screenshot
/// beside it, others the text.
pub(super) fn of(answer: &ToolAnswer, is_structured: bool) -> CallToolResult {
    let mut blocks = vec![ContentBlock::text(answer.text())];
    let image = answer.screenshot.as_ref().filter(|_| !is_structured);
    blocks.extend(image.and_then(block));
    let mut result = if answer.status.is_error() {
        CallToolResult::error(blocks)
    } else {
        CallToolResult::success(blocks)
    };
    if is_structured {
        result.structured_content = Some(Value::Object(answer.members.clone()));
    }
    result
}

fn block(media: &Media) -> Option<ContentBlock> {
    match media {
        Media::Data(data) => {
            let media_type = data.media_type().unwrap_or("image/png");
            Some(ContentBlock::image(data.base64()?, media_type))
        }
        Media::Uri(_) | Media::HostedFile(_) => None,
    }
}
