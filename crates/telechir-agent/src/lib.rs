//! The model loop: sends the task to a provider, has its calls executed, sends the results, and
//! repeats until the model is done.
//!
//! It knows neither the provider's JSON nor devices: dialects encode requests, an [`AgentSession`]
//! executes calls. A retry repeats a request, never an action.
//!
//! ```
//! use telechir_agent::{AgentSettings, ApiKey};
//! use telechir_providers::Dialect;
//!
//! let key = ApiKey::new("sk-example").expect("a valid key");
//! let mut settings = AgentSettings::new(Dialect::AnthropicMessages, key);
//! settings.max_steps = 20;
//! assert_eq!(settings.base_url().as_deref(), Some("https://api.anthropic.com/v1"));
//! ```

mod agent;
mod cancel;
mod error;
mod redact;
mod replay;
mod request;
mod retry;
mod session;
mod streamed_text;
mod task_run;

pub use agent::{Agent, AgentSettings, EndReason, ResumeMessage, RunReport};
pub use cancel::{CancelSignal, Canceller};
pub use error::AgentError;
pub use retry::{Advice, Attempt, RetryDecision, RetryRule};
pub use session::AgentSession;
pub use telechir_http::{ApiKey, HttpError, HttpLimits};
