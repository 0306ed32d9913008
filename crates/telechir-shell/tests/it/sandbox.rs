//! The shell contract, in the sandbox.

telechir_device::shell_contract!(crate::sandboxed);
