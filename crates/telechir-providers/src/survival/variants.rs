//! Other values for a value, to see whether a translation depends on it.

use serde_json::{Value, json};

use crate::leaves::Leaf;

/// Texts from this length on must matter at their start and at their end.
const LONG_TEXT: usize = 24;
/// Characters at the start of binary data that its format fixes.
const HEADER_CHARS: usize = 64;

/// Other values of one value.
pub(super) struct Variants {
    /// `None` removes the value.
    pub(super) values: Vec<Option<Value>>,
    /// How many of them must change the output.
    pub(super) required: usize,
}

/// Values that differ as little as possible, so that a decoder takes the same path.
pub(super) fn of(leaf: &Leaf) -> Variants {
    match &leaf.value {
        Value::Bool(value) => any([json!(!value)]),
        Value::Number(number) => any(numbers(number)),
        Value::String(text) => texts(text),
        Value::Null | Value::Array(_) | Value::Object(_) => Variants {
            values: vec![None],
            required: 1,
        },
    }
}

fn any(values: impl IntoIterator<Item = Value>) -> Variants {
    Variants {
        values: values.into_iter().map(Some).collect(),
        required: 1,
    }
}

/// A small step that stays within narrow limits, and a large one that no rounding hides.
fn numbers(number: &serde_json::Number) -> Vec<Value> {
    if let Some(number) = number.as_i64() {
        let near = if number > 0 { number - 1 } else { number + 1 };
        return vec![
            json!(near),
            json!(number.saturating_mul(3).saturating_add(1000)),
        ];
    }
    let number = number.as_f64().unwrap_or_default();
    vec![json!(number / 2.0), json!(number * 3.0 + 1.0)]
}

fn texts(text: &str) -> Variants {
    let chars: Vec<char> = text.chars().collect();
    let letters: Vec<usize> = (0..chars.len())
        .filter(|at| chars[*at].is_ascii_alphanumeric())
        .collect();
    let (Some(&first), Some(&last)) = (letters.first(), letters.last()) else {
        return any([json!(format!("{text}x")), json!("x")]);
    };
    if super::output::is_binary(text) {
        // The header tells the format, and the padding may be ignored.
        let at = letters[letters.len() - (letters.len() / 8).max(6).min(letters.len())];
        let at = at.max(HEADER_CHARS.min(last));
        return any([json!(changed(&chars, at))]);
    }
    if text.len() >= LONG_TEXT {
        return Variants {
            values: [last, first]
                .into_iter()
                .map(|at| Some(json!(changed(&chars, at))))
                .collect(),
            required: 2,
        };
    }
    any([last, first].map(|at| json!(changed(&chars, at))))
}

/// The text with the next letter or digit at this position.
fn changed(chars: &[char], at: usize) -> String {
    let mut chars = chars.to_vec();
    chars[at] = match chars[at] {
        'z' => 'y',
        'Z' => 'Y',
        '9' => '8',
        other => char::from_u32(u32::from(other) + 1).unwrap_or('x'),
    };
    chars.into_iter().collect()
}
