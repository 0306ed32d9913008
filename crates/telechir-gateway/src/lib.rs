//! What a program may do that drives a session's browser by CDP: each command of its connection is
//! passed on, judged as an action first, answered here, or refused.
//!
//! A [`CdpGateway`] is one connection. It is pure: the caller carries messages between the program, the
//! policy and the browser. Only methods of its table are known; parameters that would lead around the
//! policy are removed or refused.
//!
//! ```
//! use telechir_gateway::{CdpGateway, MessageStep};
//!
//! let mut gateway = CdpGateway::new("C1", "telechir");
//! let step = gateway.receive(r#"{"id": 1, "method": "Browser.close"}"#);
//! assert!(matches!(step, MessageStep::Reply(text) if text.contains("error")));
//! let step = gateway.receive(r#"{"id": 2, "method": "Browser.getVersion"}"#);
//! assert!(matches!(step, MessageStep::Send(_)));
//! ```

mod commands;
mod extra_headers;
mod gateway;
mod input;
mod known_nodes;
mod known_targets;
mod known_worlds;
#[cfg(test)]
mod tests;
mod us_keyboard;

pub use gateway::{
    CdpGateway, EventStep, JudgedCommand, JudgedScope, MessageStep, ProgramCommand, opening_actions,
};
