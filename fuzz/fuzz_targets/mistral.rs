//! Mistral's conversations.
#![no_main]

telechir_fuzz::fuzz!(MISTRAL);
