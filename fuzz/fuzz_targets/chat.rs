//! Chat completions, with our tools as functions and Mistral's way.
#![no_main]

telechir_fuzz::fuzz!(CHAT);
