//! The nine actions of the computer tool.

mod read;
mod write;

pub(super) use read::{Batch, batch, single, unreadable};
pub(super) use write::{Said, Speaker};
