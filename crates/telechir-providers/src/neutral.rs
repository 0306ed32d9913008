//! The neutral form itself as a dialect: contents by the names of `telechir-protocol` in, results
//! by the same names out.
//!
//! `envelope` finds the messages, `decode` decodes one content and keeps one that it cannot read,
//! `call_ids` gives ids to calls without one.

mod call_ids;
mod codec;
mod decode;
mod envelope;

pub(crate) use codec::CODEC;
