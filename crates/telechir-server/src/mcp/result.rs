//! Answers as results of the protocol.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::Value;
use telechir_protocol::Media;
use telechir_tools::{ToolAnswer, ToolStatus};

use super::calls::{CALL_ID, NeededApproval};

/// What the policy decided, in `_meta` of a result: `ask` or `deny`.
const VERDICT: &str = "telechir/verdict";
/// What is known about the effect, in `_meta` of a result: `none`, `delivered` or `confirmed`.
const EFFECT: &str = "telechir/effect";

/// What a client's program can read beside an answer, which its model does not see.
pub(super) fn meta(
    answer: &ToolAnswer,
    needed_approval: NeededApproval,
    id: Option<&str>,
) -> MetaObject {
    let mut meta = MetaObject::new();
    let verdict = match needed_approval {
        NeededApproval(true) => Some("ask"),
        NeededApproval(false) => (answer.status == ToolStatus::Denied).then_some("deny"),
    };
    let effect = answer.effect.map(|effect| effect.name());
    for (name, value) in [(CALL_ID, id), (VERDICT, verdict), (EFFECT, effect)] {
        if let Some(value) = value {
            meta.insert(name.to_owned(), value.into());
        }
    }
    meta
}

/// The result. One with a screenshot has no structured content: some clients drop the screenshot
/// beside it, others the text. One without has the same JSON as text, for clients that show only
/// that.
pub(super) fn of(
    answer: &ToolAnswer,
    may_have_screenshot: bool,
    links: Vec<Resource>,
    meta: MetaObject,
) -> CallToolResult {
    let screenshot = answer.screenshot.as_ref().filter(|_| may_have_screenshot);
    let screenshot = screenshot.and_then(block);
    let is_structured = screenshot.is_none();
    let mut blocks = vec![ContentBlock::text(answer.text())];
    blocks.extend(screenshot);
    blocks.extend(links.into_iter().map(ContentBlock::resource_link));
    let mut result = match answer.is_error {
        true => CallToolResult::error(blocks),
        false => CallToolResult::success(blocks),
    };
    if is_structured {
        result.structured_content = Some(Value::Object(answer.members.clone()));
    }
    result.meta = (!meta.is_empty()).then_some(meta);
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
