//! Reading JSON members one by one, so that an error names the member and nothing is dropped.

mod apart;

use std::time::Duration;

use serde_json::{Map, Number, Value};

pub(crate) use apart::{APART, from_apart, stands_apart};

/// A member that is there but is not what it should be, or is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidMember {
    #[error("`{member}` is missing")]
    Missing { member: &'static str },
    #[error("`{member}` is {found}, not {wanted}")]
    Wrong {
        member: String,
        found: String,
        wanted: String,
    },
    #[error("{0}")]
    Contradiction(String),
}

impl InvalidMember {
    pub(crate) fn wrong(member: &str, found: &Value, wanted: impl Into<String>) -> Self {
        Self::Wrong {
            member: member.to_owned(),
            found: shown(found),
            wanted: wanted.into(),
        }
    }
}

/// A value as text for an error, its beginning when it is long.
pub(crate) fn shown(value: &Value) -> String {
    const LIMIT: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The members of an object that nobody took yet.
#[derive(Clone, Debug)]
pub(crate) struct Members(Map<String, Value>);

impl Members {
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a member is there and is not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Adds a member that is left over.
    pub(crate) fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// The member, left in its place.
    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The member, taken out, where null is a value like any other.
    pub(crate) fn take_with_null(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    /// Takes out all members whose name fits.
    pub(crate) fn split_off(&mut self, fits: impl Fn(&str) -> bool) -> Map<String, Value> {
        let (taken, left) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(name, _)| fits(name));
        self.0 = left;
        taken
    }

    /// Puts the members of an object beside it; those that are there already stay inside.
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

    /// What is left.
    pub(crate) fn into_rest(self) -> Map<String, Value> {
        self.0
    }

    /// The member, taken out; null counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    /// The first of these members that is there, with its name.
    pub(crate) fn take_any(&mut self, names: &[&'static str]) -> Option<(&'static str, Value)> {
        let name = names.iter().find(|name| self.has(name))?;
        Some((name, self.take(name)?))
    }

    /// A member of the type `T`.
    pub(crate) fn typed<T: serde::de::DeserializeOwned>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, InvalidMember> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        T::deserialize(value)
            .map(Some)
            .map_err(|error| InvalidMember::Contradiction(format!("`{name}`: {error}")))
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, InvalidMember> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(InvalidMember::wrong(name, &other, "a string")),
        }
    }

    /// A name: a string, or a whole number written as one.
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

    /// A whole number from 0.
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

/// A finite number, also one inside a string.
pub(crate) fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|number| number.is_finite())
}

/// A whole number from 0, also one inside a string or with a fraction of zero.
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

fn flag_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// The strings of a list of strings.
pub(crate) fn strings_of(value: &Value) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// A number, written without a fraction when it has none.
pub(crate) fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53, the last integer an f64 counts to
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be a whole number below 2^53"
        )]
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A duration in milliseconds, with a fraction only where needed.
pub(crate) fn milliseconds(duration: Duration) -> Value {
    number(duration.as_nanos() as f64 / 1e6)
}

/// A duration of so many milliseconds; none when that is no duration.
pub(crate) fn from_milliseconds(milliseconds: f64) -> Option<Duration> {
    const LONGEST: f64 = 1e12; // thirty years; beyond it nanoseconds leave a u64
    if !(0.0..=LONGEST).contains(&milliseconds) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    Some(Duration::from_nanos((milliseconds * 1e6).round() as u64))
}
