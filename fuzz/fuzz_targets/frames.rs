//! Event-stream frames of Bedrock.
#![no_main]

telechir_fuzz::fuzz!(FRAMES);
