//! Arguments beside members of ours: those that would stand in their places are written apart.

use serde_json::{Map, Value};

/// The member that holds what would not stand beside ours.
pub(crate) const APART: &str = "args";

/// Whether these arguments have one of the `names` that are taken, or are what such ones are
/// written as.
pub(crate) fn stands_apart(args: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| args.contains_key(*name)) || from_apart(args, names).is_some()
}

/// The arguments that were written apart.
pub(crate) fn from_apart<'a>(
    args: &'a Map<String, Value>,
    names: &[&str],
) -> Option<&'a Map<String, Value>> {
    let within = args.get(APART)?.as_object()?;
    (args.len() == 1 && stands_apart(within, names)).then_some(within)
}
