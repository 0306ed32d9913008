//! The tools that a client of the Model Context Protocol, or any program, can offer to a model: their
//! definitions, their arguments as neutral calls, and the neutral results as their answers.
//!
//! Knows no transport and no device: [`ToolCatalog`] lists the tools, [`ToolCatalog::read`] turns a
//! tool's arguments into a [`ToolRequest`], whoever has a session executes it, and
//! [`ToolAnswer::of`] shapes the result.

mod answer;
mod arguments;
mod catalog;
mod elements;
mod foreign_arguments;
mod history;
mod long_text;
mod plan;
mod request;
mod schema;
mod table;

pub use answer::{ToolAnswer, ToolStatus};
pub use arguments::ArgumentError;
pub use catalog::{
    Capabilities, ToolCatalog, ToolDefinition, ToolHints, ToolSelection, session_handle,
};
pub use history::{ActionHistory, HistoryEntry};
pub use long_text::{MAX_TEXT_CHARS, range, shortened};
pub use plan::tool_step;
pub use request::{OpenOptions, SessionVerb, TaskVerb, ToolRequest};
