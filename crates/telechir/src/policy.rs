//! Which policy judges a session.

use std::fs;
use std::path::Path;

use telechir_policy::Policy;

use crate::error::Failure;

/// A policy file is a page of rules; more is a mistake.
const MAX_BYTES: u64 = 1 << 20;

/// The policy of `file`, or the default one.
pub(crate) fn load(file: Option<&Path>) -> Result<Policy, Failure> {
    file.map_or_else(|| Ok(Policy::default_policy()), read)
}

/// Reads a policy file and checks its examples.
pub(crate) fn read(file: &Path) -> Result<Policy, Failure> {
    let name = file.display().to_string();
    let problem = |e: &dyn std::fmt::Display| {
        Failure::message(format!("failed to read the policy {name}: {e}"))
    };
    let bytes = fs::metadata(file).map_err(|e| problem(&e))?.len();
    if bytes > MAX_BYTES {
        return Err(problem(&format!(
            "it has {bytes} bytes, more than any policy"
        )));
    }
    let text = fs::read_to_string(file).map_err(|e| problem(&e))?;
    Policy::from_toml(&text, &name).map_err(|e| Failure::new(&e))
}
