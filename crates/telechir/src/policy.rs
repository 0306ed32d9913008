//! Loads the policy of a session.

use std::fs;
use std::path::Path;

use telechir_policy::{Policy, ShippedPolicy};

use crate::args::{PolicyChoice, SafetyArguments};
use crate::error::CliError;
use crate::tools_file;

/// Maximum size of a policy file; real ones have a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum size of a session's own policy, which every description of the session has.
const MAX_OWN_BYTES: usize = 64 << 10;

/// The policy of `--policy`, or the default policy, with the approvals that the tools of `--tools-from`
/// require.
pub(crate) fn load(safety: &SafetyArguments) -> Result<Policy, CliError> {
    let policy = match &safety.policy {
        Some(choice) => read(choice)?,
        None => Policy::default_policy(),
    };
    let Some(file) = &safety.tools_from else {
        return Ok(policy);
    };
    let tools = tools_file::read(file)?;
    Ok(policy.requiring(tools_file::required_approvals(&tools)))
}

/// The policy of a session: that of its flags, tightened by one of its own.
pub(crate) fn load_for_session(
    safety: &SafetyArguments,
    own: Option<&str>,
) -> Result<Policy, CliError> {
    let policy = load(safety)?;
    Ok(match own {
        Some(text) => policy.tightened(&read_own(text)?),
        None => policy,
    })
}

/// Reads the policy of one session: the name of a shipped one, or the text of a policy file.
pub(crate) fn read_own(text: &str) -> Result<Policy, CliError> {
    if let Some(shipped) = ShippedPolicy::named(text) {
        return shipped.policy().map_err(|e| CliError::new(&e));
    }
    let bytes = text.len();
    if bytes > MAX_OWN_BYTES {
        return Err(CliError::message(format!(
            "it has {bytes} bytes; the maximum is {MAX_OWN_BYTES}"
        )));
    }
    Policy::from_toml(text, "the session's policy").map_err(|e| CliError::new(&e))
}

/// Reads a policy and checks its examples.
pub(crate) fn read(choice: &PolicyChoice) -> Result<Policy, CliError> {
    match choice {
        PolicyChoice::Shipped(policy) => policy.policy().map_err(|e| CliError::new(&e)),
        PolicyChoice::File(file) => read_file(file),
    }
}

fn read_file(file: &Path) -> Result<Policy, CliError> {
    let name = file.display().to_string();
    let problem = |e: &dyn std::fmt::Display| {
        CliError::message(format!("failed to read the policy {name}: {e}"))
    };
    let bytes = fs::metadata(file).map_err(|e| problem(&e))?.len();
    if bytes > MAX_BYTES {
        return Err(problem(&format!(
            "it has {bytes} bytes; the maximum is {MAX_BYTES}"
        )));
    }
    let text = fs::read_to_string(file).map_err(|e| problem(&e))?;
    Policy::from_toml(&text, &name).map_err(|e| CliError::new(&e))
}
