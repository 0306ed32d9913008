//! OpenAI's Responses: one list of items, whoever speaks.
//!
//! `envelope` finds the list, `read` takes one item to a message, `write` a message to items,
//! `answers` and `declare` serve a turn. An item keeps its own JSON and goes back as it came
//! unless somebody edited what it means.

mod action;
mod answers;
mod asked;
mod declare;
mod envelope;
pub(crate) mod members;
mod read;
mod write;

pub(crate) use answers::encode_answers;
pub(crate) use declare::declare;
pub(crate) use envelope::{decode_history, decode_response};
pub(crate) use write::encode_history;

/// The dialect's name.
const DIALECT: &str = "openai-responses";

/// Under this name contents keep what only this provider says.
const PROVIDER: &str = "openai";

/// The most characters one text may have.
const LONGEST_TEXT: usize = 10_485_760;

/// The size at which a picture goes through unshrunk: at most 10,000 patches of 32 by 32 pixels
/// and 6,000 pixels a side, the narrowest limits of the models that take pictures as they are.
pub(crate) fn picture_size(size: telechir_protocol::Size) -> telechir_protocol::Size {
    const SIDE: u32 = 6_000;
    const PATCHES: u64 = 10_000;
    let fits = |width: u32, height: u32| {
        let patches = u64::from(width.div_ceil(32)) * u64::from(height.div_ceil(32));
        width.max(height) <= SIDE && patches <= PATCHES
    };
    let height = |width: u32| {
        let scaled = u64::from(width) * u64::from(size.height) / u64::from(size.width.max(1));
        u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
    };
    if fits(size.width, size.height) {
        return size;
    }
    let width = (1..size.width)
        .rev()
        .find(|width| fits(*width, height(*width)))
        .unwrap_or(1);
    telechir_protocol::Size::new(width, height(width))
}
