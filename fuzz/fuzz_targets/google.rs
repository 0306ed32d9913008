//! Google's generateContent and Interactions.
#![no_main]

telechir_fuzz::fuzz!(GOOGLE);
