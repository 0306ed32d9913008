//! How many pictures of which size a request may have.

use serde_json::Value;
use telechir_protocol::slots::length_of;

use super::decode_block::{Block, text};
use super::image::{self, ImageTier};
use super::media::missing;
use crate::EncodeError;

/// Above this number of pictures the sides of each are limited.
pub(super) const MAX_FULL_SIZE_IMAGES: usize = 20;
/// The longest side among many pictures.
pub(super) const MAX_SIDE_OF_MANY_PX: u32 = 2000;
/// The most pictures, where the model has the longest context.
const MAX_IMAGES: usize = 600;
/// The most bytes of a whole request; its pictures alone may not have more.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// A picture of a request.
struct RequestImage<'a> {
    block: &'a Block,
    location: String,
    /// Whether it answers a call of a toolset, where one too large is refused instead of shrunk.
    is_toolset_result: bool,
}

/// Checks the pictures of all messages. `tier` is that of the request's model, when it names one.
pub(super) fn check(messages: &[Value], tier: Option<ImageTier>) -> Result<(), EncodeError> {
    let images: Vec<RequestImage<'_>> = messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| images_of(message, &format!("messages[{at}]"), false))
        .collect();
    if images.len() > MAX_IMAGES {
        let count = images.len();
        return Err(missing(format!(
            "{MAX_IMAGES} pictures at most, and has {count}"
        )));
    }
    let is_many = images.len() > MAX_FULL_SIZE_IMAGES;
    let mut bytes = 0;
    for image in &images {
        let Some(data) = image.data() else {
            continue;
        };
        bytes += length_of(data);
        if let Some(problem) = image.problem(data, tier, is_many) {
            return Err(missing(format!(
                "the picture at {} {problem}; send it scaled",
                image.location
            )));
        }
    }
    if bytes > MAX_REQUEST_BYTES {
        return Err(missing(format!(
            "a request of {MAX_REQUEST_BYTES} bytes at most, and its pictures alone have {bytes}"
        )));
    }
    Ok(())
}

/// Whether a picture is too large for a request with many.
pub(super) fn has_oversized_image(messages: &[Value]) -> bool {
    let images = messages
        .iter()
        .flat_map(|message| images_of(message, "", false));
    images
        .filter_map(|image| image.data().and_then(image::size_of))
        .any(|size| size.width.max(size.height) > MAX_SIDE_OF_MANY_PX)
}

impl<'a> RequestImage<'a> {
    /// Its bytes as base64: their beginning, where a slot stands for the rest.
    fn data(&self) -> Option<&'a str> {
        text(self.block.get("source")?.as_object()?, "data")
    }

    fn problem(&self, data: &str, tier: Option<ImageTier>, is_many: bool) -> Option<String> {
        let size = image::size_of(data);
        if let Some(size) = size.filter(|_| is_many)
            && size.width.max(size.height) > MAX_SIDE_OF_MANY_PX
        {
            return Some(format!(
                "is {} by {}, and among more than {MAX_FULL_SIZE_IMAGES} no side may be over {MAX_SIDE_OF_MANY_PX}",
                size.width, size.height
            ));
        }
        let transformations = self.block.get("transformations");
        let may_shrink = transformations.and_then(|all| all.get("oversized_image"))
            == Some(&Value::from("downsize"));
        let tier = tier.filter(|_| self.is_toolset_result && !may_shrink);
        match tier {
            Some(tier) => image::problem(tier, data),
            None => image::hard_limit_problem(data),
        }
    }
}

/// The pictures of a message or result.
fn images_of<'a>(
    container: &'a Value,
    location: &str,
    is_toolset_result: bool,
) -> Vec<RequestImage<'a>> {
    let blocks = container.get("content").and_then(Value::as_array);
    let mut images = Vec::new();
    for (at, block) in blocks.into_iter().flatten().enumerate() {
        let location = format!("{location}.content[{at}]");
        let Some(members) = block.as_object() else {
            continue;
        };
        match text(members, "type") {
            Some("image") => images.push(RequestImage {
                block: members,
                location,
                is_toolset_result,
            }),
            Some("tool_result") => {
                let is_toolset_result = text(members, "toolset_name").is_some();
                images.extend(images_of(block, &location, is_toolset_result));
            }
            _ => {}
        }
    }
    images
}

/// Checks what the newer version of the interface took away: documents the model says, and
/// citations in what a person says.
pub(super) fn check_removed_features(messages: &[Value]) -> Result<(), EncodeError> {
    for (at, message) in messages.iter().enumerate() {
        let role = message
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let blocks = message.get("content").and_then(Value::as_array);
        for (block_at, block) in blocks.into_iter().flatten().enumerate() {
            let kind = block
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let is_cited = kind == "text" && block.get("citations").is_some_and(Value::is_array);
            let what = if is_cited { "citations" } else { kind };
            if matches!(
                (role, what),
                ("assistant", "document") | ("user", "citations")
            ) {
                return Err(missing(format!(
                    "messages[{at}].content[{block_at}] without {what}, which version 2026-10-21 \
                     of the interface refuses there"
                )));
            }
        }
    }
    Ok(())
}
