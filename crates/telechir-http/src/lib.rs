//! HTTP requests to services with a key: bounded, without redirects, in clear text only to this
//! machine.
//!
//! It knows no service: what a request means and when it is sent again is its caller's decision.

mod client;
mod key;

pub use hyper::Method;
pub use hyper::body::Bytes;

pub use client::{HttpClient, HttpError, HttpLimits, HttpRequest, HttpResponse, is_loopback};
pub use key::ApiKey;
