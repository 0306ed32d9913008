//! Commands for a shell, as the policy reads them.
#![no_main]

telechir_fuzz::fuzz!(SHELL);
