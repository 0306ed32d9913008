//! Attacks on the proxy by programs and hosts.

mod server_names;
