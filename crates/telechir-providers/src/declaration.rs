//! What a session offers to a model, and how a dialect declares it.

use serde_json::{Map, Value};
use telechir_protocol::Tool;

/// What to declare, for which model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// The tools, in order.
    pub tools: Vec<Tool>,
    /// The model; it decides between versions of a tool. Absent means the newest.
    pub model: Option<String>,
}

/// Tools in a dialect's words, with the headers that must go with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    /// The entries of the request's `tools`.
    pub tools: Vec<Value>,
    /// Members of the request's body that must go with them, such as `anthropic_beta`.
    pub body: Map<String, Value>,
    /// Header names and values, such as `anthropic-beta`.
    pub headers: Vec<(String, String)>,
}
