//! The model loop: ask a provider, have its calls carried out, answer, until it is done.
//!
//! It knows no provider's JSON and no device: dialects say what to send, a session does what
//! was asked. A retry sends a request again and never repeats an action.

mod agent;
mod cancel;
mod error;
mod http;
mod key;
mod request;
mod retry;

pub use agent::{Agent, AgentSettings, EndReason, RunReport};
pub use cancel::{CancelSignal, Canceller};
pub use error::AgentError;
pub use http::{HttpError, HttpLimits};
pub use key::ApiKey;
pub use retry::{Advice, Attempt, Next, RetryRule};
