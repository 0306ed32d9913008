//! Arguments written beside fixed members: those that would conflict are nested.

use serde_json::{Map, Value};

/// The member with nested arguments.
pub(crate) const NESTED_ARGS: &str = "args";

/// Whether these arguments contain one of the reserved `names`, or look like nested ones.
pub(crate) fn must_be_nested(args: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| args.contains_key(*name)) || from_nested(args, names).is_some()
}

/// The arguments that were nested.
pub(crate) fn from_nested<'a>(
    args: &'a Map<String, Value>,
    names: &[&str],
) -> Option<&'a Map<String, Value>> {
    let within = args.get(NESTED_ARGS)?.as_object()?;
    (args.len() == 1 && must_be_nested(within, names)).then_some(within)
}
