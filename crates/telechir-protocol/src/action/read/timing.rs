//! How long an action lasts: milliseconds in our words, seconds in some others'.

use std::time::Duration;

use serde_json::Value;

use super::{Named, Read};
use crate::action::Action;
use crate::json::{InvalidMember, Members, from_milliseconds, number_of};

/// `duration` in milliseconds, or in seconds where the vocabulary counts those.
pub(super) fn duration(
    in_seconds: bool,
    m: &mut Members,
) -> Result<Option<Duration>, InvalidMember> {
    let Some((name, value)) = m.take_any(&["duration", "duration_ms", "seconds"]) else {
        return Ok(None);
    };
    let factor = if name == "seconds" || (name == "duration" && in_seconds) {
        1e3
    } else {
        1.0
    };
    number_of(&value)
        .and_then(|number| from_milliseconds(number * factor))
        .map(Some)
        .ok_or_else(|| InvalidMember::wrong(name, &value, "a duration"))
}

/// A wait.
///
/// Named by `type`, its `duration` may be of either of two vocabularies: one counts seconds,
/// the other whole milliseconds and takes a number below a hundred for seconds, too.
pub(super) fn wait(named: Named, m: &mut Members) -> Result<Option<Duration>, InvalidMember> {
    const FEWEST_MILLISECONDS: f64 = 100.0;
    let ambiguous = |value: &Value| {
        value.is_f64() || number_of(value).is_some_and(|number| number < FEWEST_MILLISECONDS)
    };
    let in_seconds =
        named.alias.seconds || named.by_type && m.peek("duration").is_some_and(ambiguous);
    duration(in_seconds, m)
}

pub(super) fn hold_key(named: Named, m: &mut Members) -> Read {
    let chord = m.chord()?;
    let duration =
        duration(named.alias.seconds, m)?.ok_or(InvalidMember::Missing { member: "duration" })?;
    Ok(Action::HoldKey { chord, duration })
}
