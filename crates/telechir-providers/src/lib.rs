//! Translates between providers' JSON and neutral values. Pure, and the only crate that knows the
//! providers' JSON.
//!
//! Every function returns a [`Report`] of what could not be translated.
//!
//! ```
//! use telechir_providers::Dialect;
//!
//! let request = br#"[{"role": "user", "content": "Open the settings"}]"#;
//! let (history, report) = Dialect::AnthropicMessages.decode_history(request)?;
//! assert!(report.is_lossless());
//! let (items, report) = Dialect::OpenaiResponses.encode_history(&history)?;
//! assert!(report.is_lossless());
//! assert_eq!(items[0]["content"][0]["text"], "Open the settings");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent_framework;
mod anthropic;
mod bedrock;
mod chat;
mod companion;
pub mod conform;
mod conversation;
mod declaration;
mod dialect;
mod digest;
mod document;
mod error;
mod fields;
mod foreign;
mod function_tools;
mod google;
mod mistral;
mod numbers;
mod openai;
mod repeated;
mod report;
mod settings;
mod stream;
mod wire;

pub use companion::{desktop_tool, page_tool};
pub use conversation::{
    Conversation, ImageLimit, NotAService, ProviderError, Request, RequestOptions, Response,
    StopReason,
};
pub use declaration::{Declaration, ToolOffer};
pub use dialect::{Dialect, EncodedReply, Envelope, History, ScreenshotWhen, UnknownDialect};
pub use document::{Document, Input, Part};
pub use error::{DecodeError, EncodeError};
pub use report::{Loss, Report};
pub use stream::{CallDelta, Delta, Stream, StreamError, StreamedResponse};
pub use wire::Endpoint;
