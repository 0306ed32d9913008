//! Decodes the input of a tool call field by field. An error completes a message to the model.

use std::time::Duration;

use serde::Deserialize as _;
use serde_json::{Map, Value};
use telechir_protocol::{Chord, Key, Modifier, Point, Region, Target};

use crate::json::arguments::{missing, number, wrong};

/// A decoded value, or the problem as text for the model.
pub(super) type InputResult<T> = Result<T, String>;

/// The fields of an input. Null counts as absent; unknown fields are ignored.
#[derive(Clone, Copy)]
pub(super) struct ToolInput<'a>(pub(super) &'a Map<String, Value>);

/// The range of a duration in seconds.
#[derive(Clone, Copy)]
pub(super) enum DurationLimit {
    /// Integers from 0 to the maximum.
    IntegerSeconds { max_secs: u32 },
    /// Numbers from 0 to the maximum.
    AnySeconds { max_secs: u32 },
}

impl<'a> ToolInput<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn needed<T>(name: &str, found: Option<T>) -> InputResult<T> {
        found.ok_or_else(|| missing(name))
    }

    pub(super) fn text(self, name: &str) -> InputResult<Option<String>> {
        let read = |value: &Value| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| wrong(name, value, "a string"))
        };
        self.get(name).map(read).transpose()
    }

    pub(super) fn needed_text(self, name: &str) -> InputResult<String> {
        Self::needed(name, self.text(name)?)
    }

    pub(super) fn flag(self, name: &str) -> InputResult<bool> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(wrong(name, other, "true or false")),
        }
    }

    pub(super) fn texts(self, name: &str) -> InputResult<Vec<String>> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        Vec::deserialize(value).map_err(|_| wrong(name, value, "a list of strings"))
    }

    pub(super) fn value(self, name: &str) -> InputResult<Value> {
        Self::needed(name, self.get(name).cloned())
    }

    /// A point, also one given as a string or an object.
    pub(super) fn point(self, name: &str) -> InputResult<Option<Point>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let point = Point::deserialize(value).ok();
        // A model only knows the screenshot, whatever space it names.
        let point = point.map(|Point { x, y, space: _ }| Point::new(x, y));
        point
            .map(Some)
            .ok_or_else(|| wrong(name, value, "a point like [x, y]"))
    }

    pub(super) fn needed_point(self, name: &str) -> InputResult<Point> {
        Self::needed(name, self.point(name)?)
    }

    pub(super) fn region(self, name: &str) -> InputResult<Region> {
        let value = Self::needed(name, self.get(name))?;
        Region::deserialize(value).map_err(|_| wrong(name, value, "a region like [x0, y0, x1, y1]"))
    }

    /// A browser's target: `{"type": "coordinate", "x", "y"}` or `{"type": "ref", "ref"}`.
    pub(super) fn target(self, name: &str) -> InputResult<Target> {
        let value = Self::needed(name, self.get(name))?;
        let named = match value {
            Value::String(id) => Point::deserialize(value).is_err().then_some(id.as_str()),
            Value::Object(members) => members.get("ref").and_then(Value::as_str),
            _ => None,
        };
        if let Some(id) = named {
            return Ok(Target::Ref {
                id: id.to_owned(),
                frame: None,
            });
        }
        let point = match value {
            Value::Object(members) => {
                let side = |side| members.get(side).and_then(number);
                side("x").zip(side("y")).map(|(x, y)| Point::new(x, y))
            }
            _ => self.point(name)?,
        };
        let expected = "a coordinate or a ref";
        point
            .map(Target::Point)
            .ok_or_else(|| wrong(name, value, expected))
    }

    pub(super) fn count(self, name: &str) -> InputResult<Option<u32>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let integer =
            number(value).filter(|n| n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(n));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let count = integer.map(|n| n as u32);
        count
            .map(Some)
            .ok_or_else(|| wrong(name, value, "an integer from 0"))
    }

    pub(super) fn needed_count(self, name: &str) -> InputResult<u32> {
        Self::needed(name, self.count(name)?)
    }

    /// The repetitions, from 1 to 100; 1 if absent.
    pub(super) fn repeat(self) -> InputResult<u32> {
        match self.count("repeat")? {
            None => Ok(1),
            Some(repeat @ 1..=100) => Ok(repeat),
            Some(other) => Err(format!(
                "`repeat` is {other}, expected a number from 1 to 100"
            )),
        }
    }

    pub(super) fn duration(self, limits: DurationLimit) -> InputResult<Option<Duration>> {
        let Some(value) = self.get("duration") else {
            return Ok(None);
        };
        let (max_secs, integers_only, expected) = match limits {
            DurationLimit::IntegerSeconds { max_secs } => {
                (max_secs, true, "an integer number of seconds")
            }
            DurationLimit::AnySeconds { max_secs } => (max_secs, false, "a number of seconds"),
        };
        let seconds = number(value).filter(|seconds| !integers_only || seconds.fract() == 0.0);
        let seconds = seconds.filter(|seconds| (0.0..=f64::from(max_secs)).contains(seconds));
        let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let wrong = || wrong("duration", value, &format!("{expected} up to {max_secs}"));
        duration.map(Some).ok_or_else(wrong)
    }

    pub(super) fn needed_duration(self, limits: DurationLimit) -> InputResult<Duration> {
        Self::needed("duration", self.duration(limits)?)
    }

    /// One or more chords: key names joined by `+`, chords separated by spaces.
    pub(super) fn chords(self, name: &str) -> InputResult<Vec<Chord>> {
        let text = self.needed_text(name)?;
        chords(&text).ok_or_else(|| format!("`{name}` is {text:?}, expected keys like ctrl+s"))
    }

    pub(super) fn chord(self, name: &str) -> InputResult<Chord> {
        let keys: Vec<Key> = self
            .chords(name)?
            .iter()
            .flat_map(|chord| chord.keys().to_vec())
            .collect();
        Chord::new(keys).ok_or_else(|| format!("`{name}` names no key"))
    }

    /// Modifier keys pressed during a pointer action.
    pub(super) fn modifiers(self, name: &str) -> InputResult<Vec<Modifier>> {
        let Some(text) = self.text(name)?.filter(|text| !text.trim().is_empty()) else {
            return Ok(Vec::new());
        };
        let keys = chords(&text).unwrap_or_default();
        let modifier = |key: &Key| match key {
            Key::Modifier(modifier) => Some(*modifier),
            Key::Named(_) | Key::Char(_) | Key::Other(_) => None,
        };
        let modifiers: Option<Vec<Modifier>> =
            keys.iter().flat_map(Chord::keys).map(modifier).collect();
        modifiers
            .filter(|modifiers| !modifiers.is_empty())
            .ok_or_else(|| format!("`{name}` is {text:?}, expected modifier keys like ctrl+shift"))
    }
}

fn chords(text: &str) -> Option<Vec<Chord>> {
    let known = |chord: &Chord| !chord.keys().iter().any(|key| matches!(key, Key::Other(_)));
    let parts: Vec<&str> = text.split_whitespace().collect();
    let letters = parts.len() > 1
        && parts
            .iter()
            .all(|part| part.chars().count() == 1 && *part != "+");
    // `Page Down` and `ctrl + s` are one chord each; `Down Down` and `e s c` are several.
    if let Some(chord) =
        Chord::parse(text).filter(|chord| !letters && (known(chord) || parts.len() < 2))
    {
        return Some(vec![chord]);
    }
    if parts.is_empty() {
        return None;
    }
    parts.into_iter().map(Chord::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::chords;

    #[test]
    fn spaces_separate_chords() {
        let table: [(&str, &[&str]); 11] = [
            ("ctrl+s", &["ctrl+s"]),
            ("ctrl + s", &["ctrl+s"]),
            ("Page Down", &["PageDown"]),
            (
                "Backspace Backspace Delete",
                &["Backspace", "Backspace", "Delete"],
            ),
            ("ctrl+a Delete", &["ctrl+a", "Delete"]),
            ("e s c", &["e", "s", "c"]),
            ("Down Down", &["ArrowDown", "ArrowDown"]),
            (" ", &["Space"]),
            ("+", &["+"]),
            ("ctrl++", &["ctrl++"]),
            ("XF86AudioPlay", &["xf86audioplay"]),
        ];
        for (text, expected) in table {
            let read: Vec<String> = chords(text)
                .expect(text)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(chords(""), None);
        assert_eq!(chords("ctrl+"), None);
    }
}
