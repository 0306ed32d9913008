//! Reasoning: what may be read of it, and the encrypted body that must go back unchanged.

use telechir_protocol::{Content, ReasoningContent};

use crate::openai::members::{Item, list, owned, raw, text};

pub(super) fn read(item: &Item) -> Content {
    let texts = |name| -> Vec<&str> {
        list(item, name)
            .iter()
            .filter_map(|part| text(part.as_object()?, "text"))
            .collect()
    };
    let said = match texts("summary") {
        summary if summary.is_empty() => texts("content"),
        summary => summary,
    };
    Content::Reasoning(ReasoningContent {
        text: (!said.is_empty()).then(|| said.join("\n\n")),
        item_id: owned(item, "id"),
        protected_data: owned(item, "encrypted_content"),
        meta: raw(item),
    })
}
