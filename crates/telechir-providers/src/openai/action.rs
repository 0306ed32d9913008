//! The nine actions of the computer tool.

mod decode_action;
mod encode_action;

pub(crate) use decode_action::{DecodedActions, decode_batch, decode_single, unreadable};
pub(crate) use encode_action::{ActionEncoder, ActionLoss};
