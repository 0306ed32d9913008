//! The neutral JSON.
#![no_main]

telechir_fuzz::fuzz!(NEUTRAL);
