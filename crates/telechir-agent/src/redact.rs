//! Removes secrets from what is recorded of a conversation.

use serde_json::Value;

/// What a removed text becomes.
const REMOVED: &str = "(hidden)";
/// Shorter values of variables occur in ordinary text, such as a key `any` for a local server.
const MIN_SECRET_CHARS: usize = 8;
/// Shorter input is removed only where it is a value of its own.
const MIN_INPUT_CHARS: usize = 6;

/// The texts that a recording must not contain.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// Removed wherever they occur.
    texts: Vec<String>,
    /// Removed only as a complete value, also as one within JSON in a string.
    values: Vec<String>,
}

impl Redactor {
    /// Removes these values of environment variables; those under eight characters stay.
    pub(crate) fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        let is_long = |secret: &String| secret.chars().count() >= MIN_SECRET_CHARS;
        Self {
            texts: secrets.into_iter().filter(is_long).collect(),
            values: Vec::new(),
        }
    }

    /// Also removes text that a call types where the shell hides its input.
    pub(crate) fn hide_input(&mut self, inputs: Vec<String>) {
        for input in inputs.into_iter().filter(|input| !input.is_empty()) {
            match input.chars().count() >= MIN_INPUT_CHARS {
                true => self.texts.push(input),
                false => self.values.push(input),
            }
        }
    }

    /// The text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.values.iter().any(|value| value == text.trim_end()) {
            return REMOVED.to_owned();
        }
        let mut text = text.to_owned();
        for secret in &self.texts {
            if text.contains(secret) {
                text = text.replace(secret, REMOVED);
            }
        }
        for value in &self.values {
            let (quoted, removed) = (format!("\"{value}\""), format!("\"{REMOVED}\""));
            let (line, no_line) = (format!("\"{value}\\n\""), removed.clone());
            text = text.replace(&quoted, &removed).replace(&line, &no_line);
        }
        text
    }

    /// Removes the secrets from every string of a document.
    pub(crate) fn document(&self, document: &mut Value) {
        match document {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.document(item)),
            Value::Object(members) => {
                members
                    .values_mut()
                    .for_each(|member| self.document(member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Shows no secret.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(…)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_removed_wherever_they_are() {
        let redactor = Redactor::of(["sk-0123456789".to_owned(), "any".to_owned()]);
        let mut document = json!({"a": ["key sk-0123456789.", 7], "b": "any key"});
        redactor.document(&mut document);
        assert_eq!(document, json!({"a": ["key (hidden).", 7], "b": "any key"}));
    }

    #[test]
    fn short_hidden_input_is_removed_only_as_a_value() {
        let mut redactor = Redactor::default();
        redactor.hide_input(vec![
            "pw1".to_owned(),
            "a long one".to_owned(),
            String::new(),
        ]);
        let mut document = json!({"text": "pw1\n", "arguments": "{\"text\":\"pw1\\n\"}",
            "thinking": "pw10 is not it, a long one is"});
        redactor.document(&mut document);
        assert_eq!(
            document,
            json!({"text": "(hidden)", "arguments": "{\"text\":\"(hidden)\"}",
                "thinking": "pw10 is not it, (hidden) is"})
        );
    }
}
