//! Whole requests and responses, translated.
#![no_main]

telechir_fuzz::fuzz!(ENVELOPE);
