//! The bytes of a session host's socket.
#![no_main]

telechir_fuzz::fuzz!(HOST);
