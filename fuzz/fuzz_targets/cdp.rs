//! The bytes of a CDP pipe.
#![no_main]

telechir_fuzz::fuzz!(CDP);
