//! The way out: a proxy through which everything of a session reaches the network, or does not.
//!
//! It resolves a name once, has every address judged, and connects with one of exactly these, so
//! that a name which changes its mind gains nothing. A redirect is the client's next request, and
//! judged as such. Tunnels are not opened; only the name with which TLS begins is compared.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use telechir_egress::{Admission, Egress};
//! use telechir_policy::{Client, Policy};
//! use tokio::net::TcpListener;
//!
//! let egress = Egress::new(Policy::default_policy().gate(Client::Browser))
//!     .on_decision(|decision| println!("{decision}"));
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let proxy = format!("http://{}", listener.local_addr()?);
//! let serving = egress.serve(listener, Admission::User(1000));
//! # drop((proxy, serving));
//! # Ok(())
//! # }
//! ```

mod admission;
mod client_hello;
mod connect;
mod decision;
mod egress;
mod limits;
mod metered;
mod netns_listener;
mod refusal;
mod resolve;
mod serve;
mod upstream;

pub use admission::Admission;
pub use decision::Decision;
pub use egress::{Egress, Serving};
pub use limits::Limits;
pub use resolve::{Resolve, Resolving, System};
pub use upstream::Upstream;
