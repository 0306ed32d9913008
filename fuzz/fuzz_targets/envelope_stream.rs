//! Whole streams, translated.
#![no_main]

telechir_fuzz::fuzz!(ENVELOPE_STREAM);
