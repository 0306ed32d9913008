//! Policy files, and judgements under them.
#![no_main]

telechir_fuzz::fuzz!(POLICY_FILE);
