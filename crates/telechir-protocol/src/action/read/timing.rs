//! Decodes durations: milliseconds in the neutral vocabulary, seconds in some others.

use std::time::Duration;

use serde_json::Value;

use super::{ActionName, ReadResult};
use crate::action::Action;
use crate::json::{InvalidMember, Members, from_milliseconds, number_of};

/// `duration` in milliseconds, or in seconds if the vocabulary uses those.
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

/// Decodes a wait.
///
/// If it is named by `type`, its `duration` may have either of two meanings: one vocabulary uses
/// seconds, the other whole milliseconds, with numbers below 100 meaning seconds.
pub(super) fn wait(named: ActionName, m: &mut Members) -> Result<Option<Duration>, InvalidMember> {
    const FEWEST_MILLISECONDS: f64 = 100.0;
    let ambiguous = |value: &Value| {
        value.is_f64() || number_of(value).is_some_and(|number| number < FEWEST_MILLISECONDS)
    };
    let in_seconds =
        named.alias.seconds || named.by_type && m.peek("duration").is_some_and(ambiguous);
    duration(in_seconds, m)
}

pub(super) fn hold_key(named: ActionName, m: &mut Members) -> ReadResult {
    let chord = m.chord()?;
    let duration =
        duration(named.alias.seconds, m)?.ok_or(InvalidMember::Missing { member: "duration" })?;
    Ok(Action::HoldKey { chord, duration })
}
