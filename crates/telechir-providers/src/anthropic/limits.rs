//! Limits on the number and size of images in a request.

use serde_json::Value;

use super::image::{self, ImageTier};
use super::media::missing;
use crate::EncodeError;
use crate::image_size;
use crate::json::{Fields as Block, text};
use crate::service_rules::NEWEST_ANTHROPIC_VERSION;

/// Number of images above which the sides of each are limited.
pub(super) const MAX_FULL_SIZE_IMAGES: usize = 20;
/// Longest side of each image in a request with many images, in pixels.
pub(super) const MAX_SIDE_OF_MANY_PX: u32 = 2000;
/// Maximum number of images for the models with the longest context.
const MAX_IMAGES: usize = 600;
/// Maximum size of a request in bytes; checked for its images only.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// An image in a request.
struct RequestImage<'a> {
    block: &'a Block,
    location: String,
    /// Whether it is in a toolset's result, where an image too large is rejected, not shrunk.
    is_toolset_result: bool,
}

/// Checks the images of all messages. `tier` is that of the request's model, if it names one.
pub(super) fn check(messages: &[Value], tier: Option<ImageTier>) -> Result<(), EncodeError> {
    let images: Vec<RequestImage<'_>> = messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| images_of(message, &format!("messages[{at}]"), false))
        .collect();
    if images.len() > MAX_IMAGES {
        let count = images.len();
        return Err(missing(format!(
            "expected at most {MAX_IMAGES} images, found {count}"
        )));
    }
    let is_many = images.len() > MAX_FULL_SIZE_IMAGES;
    let mut bytes = 0;
    for image in &images {
        let Some(data) = image.data() else {
            continue;
        };
        bytes += data.len();
        if let Some(problem) = image.problem(data, tier, is_many) {
            return Err(missing(format!(
                "the image at {} {problem}; scale it down",
                image.location
            )));
        }
    }
    if bytes > MAX_REQUEST_BYTES {
        return Err(missing(format!(
            "expected at most {MAX_REQUEST_BYTES} bytes in a request; its images alone have {bytes}"
        )));
    }
    Ok(())
}

/// Whether an image is too large for a request with many images.
pub(super) fn has_oversized_image(messages: &[Value]) -> bool {
    let images = messages
        .iter()
        .flat_map(|message| images_of(message, "", false));
    images
        .filter_map(|image| image.data().and_then(image_size::size_of))
        .any(|size| size.width.max(size.height) > MAX_SIDE_OF_MANY_PX)
}

impl<'a> RequestImage<'a> {
    /// The image in base64.
    fn data(&self) -> Option<&'a str> {
        text(self.block.get("source")?.as_object()?, "data")
    }

    fn problem(&self, data: &str, tier: Option<ImageTier>, is_many: bool) -> Option<String> {
        let size = image_size::size_of(data);
        if let Some(size) = size.filter(|_| is_many)
            && size.width.max(size.height) > MAX_SIDE_OF_MANY_PX
        {
            return Some(format!(
                "is {} by {}, with a side over {MAX_SIDE_OF_MANY_PX} in a request with more than {MAX_FULL_SIZE_IMAGES} images",
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

/// The images in a message or result.
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

/// Checks for features that the newest API version removed: documents in assistant messages, and
/// citations in user messages.
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
                    "remove {what} from messages[{at}].content[{block_at}]; API version \
                     {NEWEST_ANTHROPIC_VERSION} rejects it there"
                )));
            }
        }
    }
    Ok(())
}
