//! Bedrock's Converse and its agents.
#![no_main]

telechir_fuzz::fuzz!(BEDROCK);
