//! The tools that a client of the Model Context Protocol, or any program, can offer to a model: their
//! definitions, their arguments as neutral calls, and the neutral results as their answers.
//!
//! Knows no transport and no device: [`ToolCatalog`] lists the tools, [`ToolCatalog::read`] turns a
//! tool's arguments into a [`ToolRequest`], whoever has a session executes it, and
//! [`ToolCatalog::answer`] shapes the result.
//!
//! A program with a screen of its own implements [`Computer`] and hands the arguments of a model's
//! call to [`handle_computer_action`], [`handle_session_action`] or
//! [`handle_gemini_computer_action`]:
//!
//! ```
//! use telechir_protocol::{Action, Size};
//! use telechir_tools::{
//!     Capture, Computer, ComputerError, ScreenshotRetry, computer_tool, handle_computer_action,
//! };
//!
//! /// A screen that only remembers what was done.
//! struct Notes(Vec<String>);
//!
//! impl Computer for Notes {
//!     fn execute(&mut self, action: &Action) -> Result<Capture, ComputerError> {
//!         self.0.push(action.kind().name().to_owned());
//!         self.screenshot()
//!     }
//!
//!     fn screenshot(&mut self) -> Result<Capture, ComputerError> {
//!         Ok(Capture {
//!             image: Vec::new(),
//!             media_type: "image/png".to_owned(),
//!             size: self.display_size(),
//!             scale: 1.0,
//!             url: None,
//!             text: None,
//!         })
//!     }
//!
//!     fn display_size(&self) -> Size {
//!         Size::new(1280, 800)
//!     }
//!
//!     fn close(&mut self) -> Result<(), ComputerError> {
//!         Ok(())
//!     }
//! }
//!
//! let mut notes = Notes(Vec::new());
//! let tool = computer_tool(notes.display_size());
//! assert!(tool.rules.contains("last screenshot"));
//! let call = serde_json::json!({"action": "click", "coordinate": [640, 400]});
//! let arguments = call.as_object().expect("an object");
//! let done = handle_computer_action(&mut notes, arguments, ScreenshotRetry::default())?;
//! assert!(done.capture.is_some());
//! assert_eq!(notes.0, ["click"]);
//! # Ok::<(), telechir_tools::HandleError>(())
//! ```

mod answer;
mod arguments;
mod catalog;
mod computer;
mod elements;
mod foreign_arguments;
mod handle;
mod history;
mod long_text;
mod plan;
mod prompt_tools;
mod request;
mod schema;
mod table;
mod words;

pub use answer::{ToolAnswer, ToolEffect, ToolStatus};
pub use arguments::ArgumentError;
pub use catalog::{
    Capabilities, ToolCatalog, ToolDefinition, ToolHints, ToolSelection, session_handle,
};
pub use computer::{Capture, Computer, ComputerError, ScreenshotRetry, SessionInfo};
pub use handle::{
    HandleError, Handled, computer_action, handle_computer_action, handle_gemini_computer_action,
    handle_session_action, is_gemini_computer_action,
};
pub use history::{ActionHistory, HistoryEntry};
pub use long_text::{MAX_TEXT_CHARS, range, shortened};
pub use plan::tool_step;
pub use prompt_tools::{PromptTool, computer_tool, session_tool};
pub use request::{OpenOptions, SessionVerb, TaskVerb, ToolRequest};
pub use telechir_protocol::{NormalizedAction, normalize_action_type};
pub use telechir_providers::{
    AnthropicToolSpec, UnknownToolVersion, anthropic_beta_header, anthropic_tool_spec,
};
