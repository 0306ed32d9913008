//! Browsers that run at a service: rented, reached, extended and released by the service's own API.
//!
//! A [`RemoteService`] is a row of a table: its paths, headers and member names are data, and so is what
//! it can do. An [`ServiceAccount`] is a service with the user's key. A [`RemoteSession`] says how its
//! browser is reached, anew for every connection. The [`Ledger`] remembers on disk what was rented,
//! so that a process that is killed leaves nothing running that nobody releases.
//!
//! It knows neither CDP nor the environment, and nothing of it prints a key or an address.

mod account;
mod error;
mod json_path;
mod ledger;
mod mark;
mod plan;
mod service;
mod services;
mod session;
mod sigv4;

pub use account::{AccountLimits, CallError, ServiceAccount};
pub use error::{ServiceError, ServiceErrorKind};
pub use ledger::{Ledger, LedgerError, RentalLimits, RentedEntry, RentedRecord};
pub use mark::RentalMark;
pub use plan::{ContextUse, Proxy, RentalPlan, StoredContext, Unsupported};
pub use service::{HostRestriction, RemoteService};
pub use services::{INTERPRETER, SERVICES};
pub use session::{Dial, LiveView, RemoteSession};
