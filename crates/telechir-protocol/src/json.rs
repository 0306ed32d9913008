//! Decodes JSON members one by one, so that errors name the member and unknown members are
//! retained.

mod fields;
mod nested_args;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

pub(crate) use fields::{FieldValue, Fields, KnownFields, Variant};
pub(crate) use nested_args::{NESTED_ARGS, from_nested, must_be_nested};

/// A missing or invalid member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidMember {
    #[error("`{member}` is missing")]
    Missing { member: &'static str },
    #[error("`{member}` is {found}, not {expected}")]
    Wrong {
        member: String,
        found: String,
        expected: String,
    },
    #[error("{0}")]
    Contradiction(String),
}

/// Errors of derived functions: a missing field, or a sentence.
impl serde::de::Error for InvalidMember {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::Contradiction(problem.to_string())
    }

    fn missing_field(member: &'static str) -> Self {
        Self::missing(member)
    }
}

impl InvalidMember {
    pub(crate) fn missing(member: &'static str) -> Self {
        Self::Missing { member }
    }

    pub(crate) fn conflict(member: &str) -> Self {
        Self::Contradiction(format!(
            "`{member}` conflicts with another member that already sets the same value"
        ))
    }

    /// The error of decoding a member: with the value and what was expected instead, if possible.
    fn from_error(member: &str, found: &Value, error: &serde_json::Error) -> Self {
        let problem = error.to_string();
        let expected = [", expected ", " is not "]
            .into_iter()
            .find_map(|before| problem.rsplit_once(before));
        match expected {
            Some((_, expected)) => Self::wrong(member, found, json_name(expected)),
            None => Self::Contradiction(format!("`{member}`: {problem}")),
        }
    }

    pub(crate) fn wrong(member: &str, found: &Value, expected: impl Into<String>) -> Self {
        Self::Wrong {
            member: member.to_owned(),
            found: excerpt(found),
            expected: expected.into(),
        }
    }
}

/// The name in JSON of what serde expects of a value.
fn json_name(expected: &str) -> &str {
    match expected {
        "a map" => "an object",
        "a sequence" => "a list",
        "string or map" => "a string",
        "f64" => "a number",
        "i32" => "a whole number",
        "u32" | "u64" => "a whole number from 0",
        named => named,
    }
}

/// A value as text for an error message, shortened if it is long.
pub(crate) fn excerpt(value: &Value) -> String {
    const LIMIT: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The members of an object that are not decoded yet.
#[derive(Clone, Debug)]
pub(crate) struct Members(Map<String, Value>);

impl Members {
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a member is present and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Adds an unknown member.
    pub(crate) fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Borrows a member.
    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Removes and returns a member, which may be null.
    pub(crate) fn take_with_null(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    /// Moves the members of a nested object up; those with a conflicting name stay nested.
    pub(crate) fn lift(&mut self, name: &str) {
        let Some(Value::Object(inner)) = self.0.get_mut(name) else {
            return;
        };
        let inner = std::mem::take(inner);
        let (doubled, lifted): (Map<_, _>, Map<_, _>) = inner
            .into_iter()
            .partition(|(member, _)| self.0.contains_key(member));
        self.0.extend(lifted);
        if doubled.is_empty() {
            self.0.shift_remove(name);
        } else {
            self.0.insert(name.to_owned(), Value::Object(doubled));
        }
    }

    /// The remaining members.
    pub(crate) fn into_rest(self) -> Map<String, Value> {
        self.0
    }

    /// Removes and returns a member; null counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Removes and returns the first present member of these, with its name.
    pub(crate) fn take_any(&mut self, names: &[&'static str]) -> Option<(&'static str, Value)> {
        let name = names.iter().find(|name| self.has(name))?;
        Some((name, self.take(name)?))
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(InvalidMember::wrong(name, &other, "a string")),
        }
    }

    /// Removes a name: a string, or a whole number, which becomes a string.
    pub(crate) fn name(&mut self, name: &'static str) -> Result<Option<String>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) if !number.is_f64() => Ok(Some(number.to_string())),
            Some(other) => Err(InvalidMember::wrong(name, &other, "a string")),
        }
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<f64>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => number_of(&value)
                .map(Some)
                .ok_or_else(|| InvalidMember::wrong(name, &value, "a number")),
        }
    }

    /// Removes a non-negative whole number.
    pub(crate) fn count(&mut self, name: &'static str) -> Result<Option<u32>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => count_of(&value)
                .map(Some)
                .ok_or_else(|| InvalidMember::wrong(name, &value, "a whole number from 0")),
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => flag_of(&value)
                .map(Some)
                .ok_or_else(|| InvalidMember::wrong(name, &value, "true or false")),
        }
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, InvalidMember> {
        let Some(value) = self.take(name) else {
            return Ok(Vec::new());
        };
        strings_of(&value).ok_or_else(|| InvalidMember::wrong(name, &value, "a list of strings"))
    }

    pub(crate) fn object(
        &mut self,
        name: &'static str,
    ) -> Result<Map<String, Value>, InvalidMember> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(members)) => Ok(members),
            Some(other) => Err(InvalidMember::wrong(name, &other, "an object")),
        }
    }

    pub(crate) fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(InvalidMember::wrong(name, &other, "a list")),
        }
    }
}

/// A finite number, also inside a string.
pub(crate) fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|number| number.is_finite())
}

/// A non-negative whole number, also inside a string or with a zero fraction.
pub(crate) fn count_of(value: &Value) -> Option<u32> {
    let number = number_of(value)?;
    if number.fract() != 0.0 || number < 0.0 || number > f64::from(u32::MAX) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    Some(number as u32)
}

/// A flag, also inside a string.
pub(crate) fn flag_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// The strings of an array of strings.
pub(crate) fn strings_of(value: &Value) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// A number, written without a fraction if it is whole.
pub(crate) fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: larger integers are not exact in an f64
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be a whole number below 2^53"
        )]
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Writes a number without a fraction if it is whole.
pub(crate) fn serialize_number<S: Serializer>(
    value: &f64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    number(*value).serialize(serializer)
}

/// Reads null as the default.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A duration as a number of milliseconds, with a fraction only if needed.
pub(crate) mod milliseconds {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        super::number(duration.as_nanos() as f64 / 1e6).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let number = f64::deserialize(deserializer)?;
        super::from_milliseconds(number)
            .ok_or_else(|| serde::de::Error::custom(format_args!("{number} is not a duration")))
    }
}

/// Like [`milliseconds`], for a duration that may be absent.
pub(crate) mod optional_milliseconds {
    use super::{Deserialize, Deserializer, Duration, Serializer, milliseconds};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => milliseconds::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        #[derive(Deserialize)]
        struct Milliseconds(#[serde(with = "milliseconds")] Duration);
        let duration = Option::<Milliseconds>::deserialize(deserializer)?;
        Ok(duration.map(|Milliseconds(duration)| duration))
    }
}

/// A duration from milliseconds; none if negative, infinite or too long.
pub(crate) fn from_milliseconds(milliseconds: f64) -> Option<Duration> {
    const MAX_MILLISECONDS: f64 = 1e12; // thirty years; beyond that, nanoseconds exceed a u64
    if !(0.0..=MAX_MILLISECONDS).contains(&milliseconds) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    Some(Duration::from_nanos((milliseconds * 1e6).round() as u64))
}
