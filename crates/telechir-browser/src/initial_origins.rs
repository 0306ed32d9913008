//! The stored data of origins in the storage state that a browser was started with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The stored data of origins in the file that was loaded at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct InitialOrigins {
    pub(crate) states: BTreeMap<String, Value>,
    /// Origins that were not given their data.
    pub(crate) failed: BTreeSet<String>,
}
