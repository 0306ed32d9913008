//! Encodes every document without raw representations, and checks the losses against a table with a
//! reason for each.

use std::collections::BTreeMap;

use serde_json::Value;
use telechir_providers::conform::without_raw;
use telechir_providers::{Dialect, History};

use crate::differences::differences;

/// Losses by pattern, with one example each.
pub(crate) type Losses = BTreeMap<String, String>;

/// Records the losses of a document that is encoded from its neutral values only.
pub(crate) fn note(dialect: Dialect, document: &Value, name: &str, losses: &mut Losses) {
    let (history, _) = dialect
        .decode_history(document.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let bare = without_raw(&history).unwrap();
    let bare = History {
        messages: bare.messages,
        envelope: history.envelope,
    };
    let again = match dialect.encode_history(&bare) {
        Ok((again, _)) => again,
        Err(error) => {
            losses.insert(format!("error: {error}"), name.to_owned());
            return;
        }
    };
    for (path, was, is) in differences(document, &again) {
        // For optional fields, null and absent are equivalent.
        if was.as_ref().or(is.as_ref()) == Some(&Value::Null) && (was.is_none() || is.is_none()) {
            continue;
        }
        let show = |value: Option<Value>| {
            let text = value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
            text.chars().take(160).collect::<String>()
        };
        let pattern = pattern(document, &path);
        losses
            .entry(pattern)
            .or_insert_with(|| format!("{name}{path}: {} became {}", show(was), show(is)));
    }
}

/// A path with types instead of indexes: `computer_call.status`.
fn pattern(document: &Value, path: &str) -> String {
    let mut value = document;
    let mut named = match document["type"].as_str() {
        Some(kind) if document.get("content").is_none() => format!("[{kind}]"),
        _ => String::new(),
    };
    let path = path.replace('[', ".[");
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let number = segment
            .strip_prefix('[')
            .and_then(|segment| segment.strip_suffix(']'));
        match number {
            Some(number) => value = &value[number.parse::<usize>().unwrap()],
            None => {
                value = &value[segment];
                named.push('.');
                named.push_str(segment);
            }
        }
        if number.is_some() {
            let kind = value["type"].as_str().or_else(|| value["role"].as_str());
            named.push_str(&format!("[{}]", kind.unwrap_or_default()));
        }
    }
    // The list's name does not matter for its items.
    match named.find('[') {
        Some(start) => named[start..].to_owned(),
        None => named,
    }
}

/// Checks that the losses are exactly those in the table.
pub(crate) fn check(losses: &Losses, allowed: &[(&str, &str)]) {
    let is_allowed = |pattern: &str| allowed.iter().any(|(allowed, _)| *allowed == pattern);
    let lost: Vec<String> = losses
        .iter()
        .filter(|(pattern, _)| !is_allowed(pattern))
        .map(|(pattern, path)| format!("{pattern}\n    {path}"))
        .collect();
    assert!(
        lost.is_empty(),
        "losses that are not in the table:\n{}",
        lost.join("\n")
    );
    for (pattern, reason) in allowed {
        assert!(
            losses.contains_key(*pattern),
            "{pattern} is in the table but is not lost"
        );
        assert!(!reason.is_empty(), "{pattern} has no reason");
    }
}
