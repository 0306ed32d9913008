//! Reasoning: the readable summary, and the encrypted body, which must be returned unchanged.

use telechir_protocol::{Content, ReasoningContent};

use crate::json::{list, owned, text};
use crate::openai::item::{Item, keep, raw};

/// Reasoning fields without a neutral equivalent.
pub(in crate::openai) const REASONING_FIELDS: [&str; 3] = ["summary", "content", "status"];

pub(super) fn read(item: &Item) -> Content {
    let text = reasoning_text(item);
    let mut meta = raw(item);
    keep(&mut meta, item, &REASONING_FIELDS);
    Content::Reasoning(ReasoningContent {
        text,
        item_id: owned(item, "id"),
        protected_data: owned(item, "encrypted_content"),
        meta,
    })
}

/// The text of the summary, or of the reasoning itself if there is no summary.
pub(in crate::openai) fn reasoning_text(item: &Item) -> Option<String> {
    let texts = |name| -> Vec<&str> {
        list(item, name)
            .iter()
            .filter_map(|part| text(part.as_object()?, "text"))
            .collect()
    };
    let texts = match texts("summary") {
        summary if summary.is_empty() => texts("content"),
        summary => summary,
    };
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
