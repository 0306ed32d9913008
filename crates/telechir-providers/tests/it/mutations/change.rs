//! Small changes to documents and bytes, determined by a seed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "all values without children are changed alike"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// A deterministic pseudorandom generator.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = usize::try_from(self.0 >> 33).unwrap();
        high % sides.max(1)
    }
}

/// Changes a document at one or two paths.
pub(crate) fn document(value: &mut Value, dice: &mut Dice) {
    for _ in 0..=dice.roll(2) {
        let donor = node_at(value, dice.roll(10_000)).clone();
        let target = dice.roll(10_000);
        change(node_at(value, target), donor, dice);
    }
}

/// The node that a number selects.
fn node_at(value: &mut Value, mut way: usize) -> &mut Value {
    let mut at = value;
    loop {
        let children = match &*at {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        // One choice in each node is to stop there.
        let turn = way % (children + 1);
        if turn == children {
            return at;
        }
        way /= children + 1;
        way += turn;
        at = match at {
            Value::Array(items) => &mut items[turn],
            Value::Object(members) => members.values_mut().nth(turn).unwrap(),
            leaf => return leaf,
        };
    }
}

fn change(at: &mut Value, donor: Value, dice: &mut Dice) {
    if let Value::String(text) = at
        && dice.roll(2) == 0
        && nested(text, dice)
    {
        return;
    }
    match (dice.roll(4), &mut *at) {
        (0, Value::Object(members)) if !members.is_empty() => {
            let name = members.keys().nth(dice.roll(members.len())).cloned();
            members.shift_remove(&name.unwrap());
        }
        (0, Value::Array(items)) if !items.is_empty() => {
            items.remove(dice.roll(items.len()));
        }
        (1, Value::Object(members)) => {
            const NAMES: [&str; 8] = [
                "type", "content", "id", "name", "input", "role", "x", "\u{0}",
            ];
            members.insert(NAMES[dice.roll(NAMES.len())].to_owned(), donor);
        }
        (1 | 2, Value::Array(items)) if !items.is_empty() => {
            let again = items[dice.roll(items.len())].clone();
            items.insert(dice.roll(items.len()), again);
        }
        (2, Value::String(text)) => {
            let cut = text
                .char_indices()
                .nth(dice.roll(8))
                .map_or(0, |(at, _)| at);
            text.truncate(cut);
        }
        _ => *at = odd(donor, dice),
    }
}

/// Changes the JSON inside a string, as text or in base64: arguments, chunks of a stream.
fn nested(text: &mut String, dice: &mut Dice) -> bool {
    let read = |bytes: &[u8]| {
        let value = serde_json::from_slice::<Value>(bytes).ok();
        value.filter(|value| value.is_object() || value.is_array())
    };
    if let Some(mut value) = read(text.as_bytes()) {
        document(&mut value, dice);
        *text = value.to_string();
        return true;
    }
    let Some(mut value) = STANDARD.decode(&*text).ok().as_deref().and_then(read) else {
        return false;
    };
    document(&mut value, dice);
    *text = STANDARD.encode(value.to_string());
    true
}

fn odd(donor: Value, dice: &mut Dice) -> Value {
    match dice.roll(14) {
        0 => Value::Null,
        1 => true.into(),
        2 => u64::MAX.into(),
        3 => i64::MIN.into(),
        4 => 1e308.into(),
        5 => (-0.5).into(),
        6 => "".into(),
        7 => "\u{202e}\u{0}é{\"".into(),
        8 => "A".repeat(5000).into(),
        9 => json!([]),
        10 => Value::Object(Map::new()),
        11 => (0..100).fold(donor, |inner, _| json!([inner])),
        _ => donor,
    }
}

/// Changes, removes or repeats some bytes, or truncates them.
pub(crate) fn bytes(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.roll(3) {
        if bytes.is_empty() {
            return;
        }
        let start = dice.roll(bytes.len());
        let end = (start + 1 + dice.roll(64)).min(bytes.len());
        match dice.roll(5) {
            0 => bytes[start] = u8::try_from(dice.roll(256)).unwrap(),
            1 => bytes[start] ^= 1 << dice.roll(8),
            2 => {
                bytes.drain(start..end);
            }
            3 => {
                let again = bytes[start..end].to_vec();
                bytes.splice(start..start, again);
            }
            _ => bytes.truncate(start),
        }
    }
}
