//! Bedrock agents: the calls they return control for (`returnControl`), and their results.
//!
//! The agent stores the conversation; a history consists of its responses and the requests
//! between them. Calls are converted to `tool_use` blocks and decoded as those.

mod codec;
mod declare;
mod decode;
mod encode;
mod ids;
mod parameters;
mod results;
mod stream;

pub(crate) use codec::CODEC;

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "bedrock-agents";

/// Key of the additional properties that only this provider has.
const PROVIDER: &str = "bedrock_agents";

/// Code of the safety check that asks the user to confirm a call.
const CONFIRMATION: &str = "user_confirmation";

/// Maximum number of calls in one invocation, and of results in one request.
const MAX_CALLS: usize = 5;
