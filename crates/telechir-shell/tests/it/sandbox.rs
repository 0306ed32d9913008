//! The shell contract, in the sandbox.

telechir_testkit::shell_contract!(crate::sandboxed);
