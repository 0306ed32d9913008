//! Dialects: a provider's JSON to neutral values and back. Pure, and the only place where a
//! provider's JSON is known.
//!
//! Every function returns a [`Report`]: nothing is lost in silence.

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
