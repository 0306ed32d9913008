//! The dialects of Mistral: `mistral-conversations` and `mistral-chat`.

mod answers;
mod bare;
mod foreign;
mod hosted;
mod recorded;

use telechir_providers::Dialect;

pub(crate) const DIALECT: Dialect = Dialect::MistralConversations;
