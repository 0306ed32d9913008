//! The dialects of Mistral: `mistral-conversations` and `mistral-chat`.

mod hosted;
mod other_dialects;
mod recorded;
mod results;
mod without_raw;

use telechir_providers::Dialect;

pub(crate) const DIALECT: Dialect = Dialect::MistralConversations;
