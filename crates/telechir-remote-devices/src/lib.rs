//! Devices that a service runs and single HTTP requests reach: the screen of an action service, and the
//! shell of a code interpreter.
//!
//! What a request did that was not answered is unknown, and is never sent again by itself: the model
//! reads so and looks. Nothing of this crate prints a token, or an address beyond its host.

mod action_service;
mod interpreter;

pub use action_service::{ActionService, ActionServiceAddress};
pub use interpreter::{InterpreterSession, InterpreterShell, InvokeFailure};
