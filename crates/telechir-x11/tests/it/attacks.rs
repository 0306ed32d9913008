//! Attacks on a private display by the programs on it.

mod server;
