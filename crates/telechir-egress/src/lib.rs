//! The egress proxy: every network connection of a session passes through it and is judged by the
//! policy.
//!
//! It resolves a name once, judges every resulting address, and connects to exactly one of these,
//! so DNS rebinding has no effect. A redirect is the client's next request and judged as such. TLS
//! is not terminated; only the name in the first bytes of a tunnel is compared with its host.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use telechir_egress::{Admission, Egress};
//! use telechir_policy::{NetworkClient, Policy};
//! use tokio::net::TcpListener;
//!
//! let egress = Egress::new(Policy::default_policy().gate(NetworkClient::Browser))
//!     .on_decision(|decision| println!("{decision}"));
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let proxy = format!("http://{}", listener.local_addr()?);
//! let serving = egress.serve(listener, Admission::User(1000));
//! # drop((proxy, serving));
//! # Ok(())
//! # }
//! ```

mod admission;
mod connect;
mod decision;
mod egress;
mod greeting;
mod limits;
mod metered;
mod netns_listener;
mod refusal;
mod requests;
mod resolve;
mod serve;
mod upstream;

pub use admission::Admission;
pub use decision::ConnectionDecision;
pub use egress::{Egress, Serving};
pub use limits::ProxyLimits;
pub use requests::RequestJudge;
pub use resolve::{Resolve, ResolveFuture, SystemResolver};
pub use upstream::Upstream;
