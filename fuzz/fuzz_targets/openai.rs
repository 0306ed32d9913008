//! OpenAI's Responses.
#![no_main]

telechir_fuzz::fuzz!(OPENAI);
