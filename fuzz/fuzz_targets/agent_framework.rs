//! Agent Framework's messages.
#![no_main]

telechir_fuzz::fuzz!(AGENT_FRAMEWORK);
