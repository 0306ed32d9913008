//! The tools that a client of the Model Context Protocol, or any program, can offer to a model: their
//! definitions, their arguments as neutral calls, and the neutral results as their answers.
//!
//! Knows no transport and no device: [`ToolCatalog`] lists the tools, [`ToolCatalog::read`] turns a
//! tool's arguments into a [`ToolRequest`], whoever has a session executes it, and
//! [`ToolAnswer::of`] shapes the result.

mod answer;
mod arguments;
mod catalog;
mod history;
mod request;
mod schema;

pub use answer::{ToolAnswer, ToolStatus};
pub use arguments::ArgumentError;
pub use catalog::{Capabilities, ToolCatalog, ToolDefinition, ToolHints, ToolSelection};
pub use history::{ActionHistory, HistoryEntry};
pub use request::{SessionVerb, ToolRequest};
