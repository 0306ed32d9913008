//! The first bytes of a tunnel.
#![no_main]

telechir_fuzz::fuzz!(GREETING);
