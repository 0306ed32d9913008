//! Reads the arguments of a function call. Error texts complete a sentence for the model.

use std::time::Duration;

use serde_json::{Map, Value};
use telechir_protocol::{Chord, Key, Point};

use crate::json::arguments::{missing, number, wrong};

/// A value, or what is wrong with the argument.
pub(super) type ArgResult<T> = Result<T, String>;

/// Maximum duration that a call may request, in seconds.
const MAX_SECONDS: f64 = 86_400.0;

/// The arguments of a call. Reading an argument removes it; null counts as absent.
#[derive(Debug)]
pub(super) struct Args(pub(super) Map<String, Value>);

impl Args {
    /// Removes the first of these arguments that is present; returns it with its name.
    fn take<'n>(&mut self, names: &[&'n str]) -> Option<(&'n str, Value)> {
        let name = names
            .iter()
            .find(|name| self.0.get(**name).is_some_and(|value| !value.is_null()))?;
        let value = self.0.shift_remove(*name)?;
        Some((name, value))
    }

    pub(super) fn text(&mut self, names: &[&str]) -> ArgResult<Option<String>> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, odd)) => Err(wrong(name, &odd, "a string")),
        }
    }

    pub(super) fn needed_text(&mut self, names: &[&str]) -> ArgResult<String> {
        self.text(names)?
            .ok_or_else(|| missing(names.first().copied().unwrap_or_default()))
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> ArgResult<bool> {
        match self.take(&[name]) {
            None => Ok(default),
            Some((_, Value::Bool(flag))) => Ok(flag),
            Some((_, Value::String(text))) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some((_, Value::String(text))) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some((name, odd)) => Err(wrong(name, &odd, "true or false")),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> ArgResult<Option<f64>> {
        let Some((_, value)) = self.take(&[name]) else {
            return Ok(None);
        };
        number(&value)
            .map(Some)
            .ok_or_else(|| wrong(name, &value, "a number"))
    }

    /// A point in thousandths, from the first pair of names that is present.
    pub(super) fn point(&mut self, pairs: &[(&str, &str)]) -> ArgResult<Option<Point>> {
        for (x_name, y_name) in pairs {
            let (x, y) = (self.number(x_name)?, self.number(y_name)?);
            match (x, y) {
                (Some(x), Some(y)) => return Ok(Some(Point::thousandths(x, y))),
                (None, None) => {}
                (Some(_), None) => return Err(missing(y_name)),
                (None, Some(_)) => return Err(missing(x_name)),
            }
        }
        Ok(None)
    }

    /// The point of a pointer action, which may also be a single argument.
    pub(super) fn at(&mut self) -> ArgResult<Option<Point>> {
        if let Some(point) = self.point(&[("x", "y")])? {
            return Ok(Some(point));
        }
        let Some((name, value)) = self.take(&["coordinate", "point"]) else {
            return Ok(None);
        };
        let pair = match &value {
            Value::Array(numbers) => match numbers.as_slice() {
                [x, y] => number(x).zip(number(y)),
                _ => None,
            },
            Value::Object(members) => {
                let side = |side| members.get(side).and_then(number);
                side("x").zip(side("y"))
            }
            _ => None,
        };
        pair.map(|(x, y)| Some(Point::thousandths(x, y)))
            .ok_or_else(|| wrong(name, &value, "a point like [x, y]"))
    }

    pub(super) fn needed_at(&mut self) -> ArgResult<Point> {
        self.at()?.ok_or_else(|| missing("x"))
    }

    pub(super) fn seconds(&mut self) -> ArgResult<Option<Duration>> {
        let Some((name, value)) = self.take(&["seconds", "duration"]) else {
            return Ok(None);
        };
        let seconds = number(&value).filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds));
        let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let expected = "a number of seconds, at most a day";
        duration
            .map(Some)
            .ok_or_else(|| wrong(name, &value, expected))
    }

    /// A key or chord, as a list of names or as one string joined by `+`.
    pub(super) fn chord(&mut self) -> ArgResult<Chord> {
        let Some((name, value)) = self.take(&["keys", "key", "text"]) else {
            return Err(missing("keys"));
        };
        let chord = match &value {
            Value::String(text) => Chord::parse(text),
            Value::Array(names) => names
                .iter()
                .map(Value::as_str)
                .collect::<Option<Vec<_>>>()
                .and_then(Chord::from_names),
            _ => None,
        };
        chord
            .and_then(unshifted)
            .ok_or_else(|| wrong(name, &value, "keys like \"enter\" or [\"ctrl\", \"s\"]"))
    }
}

/// In a chord, a letter means the key, not the shifted character.
fn unshifted(chord: Chord) -> Option<Chord> {
    if chord.keys().len() == 1 {
        return Some(chord);
    }
    let small = |key: &Key| match key {
        Key::Char(c) => Key::Char(c.to_ascii_lowercase()),
        Key::Modifier(_) | Key::Named(_) | Key::Other(_) => key.clone(),
    };
    Chord::new(chord.keys().iter().map(small).collect())
}
