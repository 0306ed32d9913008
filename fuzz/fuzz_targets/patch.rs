//! Diffs, with the file they are for.
#![no_main]

telechir_fuzz::fuzz!(PATCH);
