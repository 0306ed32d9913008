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
mod answered_names;
mod anthropic;
mod bedrock;
mod capabilities;
mod chat;
mod chat_api;
mod codec;
pub mod conform;
mod content_text;
mod conversation;
mod data_url;
mod declaration;
mod declare;
mod dialect;
mod digest;
mod duplicate_ids;
mod duplicate_keys;
mod envelope;
mod error;
mod extra_tools;
mod fallback_tools;
mod forced_function;
mod foreign_contents;
mod generated_images;
mod google;
mod history;
mod hosted_source;
mod image_formats;
mod image_size;
mod instructions;
mod json;
mod leaves;
mod media_types;
mod misrouted;
mod missing_ids;
mod mistral;
mod nested_contents;
mod neutral;
mod openai;
mod phrases;
mod precision;
mod provider_error;
mod repeated_calls;
mod repeated_results;
mod report;
mod responses_items;
mod service_rules;
mod settings;
mod shell_text;
mod stream;
pub mod survival;
mod unknown_calls;
mod unwritten_values;
mod written_values;

pub use anthropic::{
    AnthropicToolSpec, UnknownToolVersion, anthropic_beta_header, anthropic_tool_spec,
};
pub use bedrock::{InterpreterAnswer, InterpreterCall, InterpreterError, InterpreterTaskState};
pub use capabilities::{Availability, Capability, ModelName, capabilities};
pub use chat_api::{Endpoint, ImageLimit, Request, RequestOptions, StopReason};
pub use codec::{EncodedReply, ScreenshotWhen};
pub use conversation::{Conversation, NotAService, Response};
pub use declaration::{Declaration, ToolOffer};
pub use dialect::{Dialect, UnknownDialect};
pub use envelope::{
    SetAside, StreamTranslation, StreamTranslationError, ThinkingTranslation, TranslatedDocument,
    TranslationError, TranslationOptions,
};
pub use error::{DecodeError, EncodeError};
pub use extra_tools::{PAGE_ACTIONS, desktop_tool, page_actions, page_tool};
pub use google::google_function_action;
pub use history::{Envelope, History};
pub use provider_error::ProviderError;
pub use report::{Loss, Report};
pub use stream::{CallDelta, Delta, ResponseStream, StreamError, StreamedResponse};
