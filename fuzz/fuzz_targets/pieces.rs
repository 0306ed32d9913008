//! The pieces of Google's generateContent, in a list or as events.
#![no_main]

telechir_fuzz::fuzz!(PIECES);
