//! Server-sent events of every dialect that has them.
#![no_main]

telechir_fuzz::fuzz!(SSE);
