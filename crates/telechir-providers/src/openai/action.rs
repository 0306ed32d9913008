//! The nine actions of the computer tool.

mod read;
mod write;

pub(crate) use read::{Batch, batch, single, unreadable};
pub(crate) use write::{Said, Speaker};
