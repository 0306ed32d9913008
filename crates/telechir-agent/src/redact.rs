//! Removes secrets from what is recorded of a conversation.

use serde_json::Value;

/// What a removed text becomes.
const REMOVED: &str = "(hidden)";
/// Shorter values of variables occur in ordinary text, such as a key `any` for a local server.
const MIN_SECRET_CHARS: usize = 8;
/// Shorter input is removed only where it is a value of its own.
const MIN_INPUT_CHARS: usize = 6;

/// Members whose strings the conversation is rebuilt by; no call types their text.
const STRUCTURE: [&str; 11] = [
    "type",
    "role",
    "id",
    "call_id",
    "tool_use_id",
    "toolUseId",
    "name",
    "model",
    "stop_reason",
    "finish_reason",
    "finishReason",
];

/// Members with what a model chose, in which no name is the provider's.
const ARGUMENTS: [&str; 3] = ["input", "arguments", "args"];

/// The texts that a recording must not contain.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// Removed wherever they occur.
    secrets: Vec<String>,
    /// Hidden input, removed wherever it occurs but in [`STRUCTURE`].
    inputs: Vec<String>,
    /// Short hidden input, removed only as a complete value.
    values: Vec<String>,
}

impl Redactor {
    /// Removes these values of environment variables; those under eight characters stay.
    pub(crate) fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        let is_long = |secret: &String| secret.chars().count() >= MIN_SECRET_CHARS;
        let mut redactor = Self::default();
        let secrets = secrets.into_iter().filter(is_long);
        secrets.for_each(|secret| add_forms(&mut redactor.secrets, &secret));
        redactor
    }

    /// Also removes text that a call types where the shell hides its input.
    pub(crate) fn hide_input(&mut self, inputs: Vec<String>) {
        for input in inputs.into_iter().filter(|input| !input.is_empty()) {
            match input.chars().count() >= MIN_INPUT_CHARS {
                true => add_forms(&mut self.inputs, &input),
                false => add_forms(&mut self.values, &input),
            }
        }
    }

    /// The text without secrets. Of a text that is JSON, such as a call's arguments, the values are
    /// searched, however they are escaped.
    pub(crate) fn text(&self, text: &str) -> String {
        let Some(document) = nested(text) else {
            return self.prose(text);
        };
        let mut redacted = document.clone();
        self.redact(&mut redacted, false);
        let text = match redacted == document {
            // Written as it was.
            true => text.to_owned(),
            false => redacted.to_string(),
        };
        // In names of members, and in the first of two members of one name.
        without(&without(&text, &self.secrets), &self.inputs)
    }

    /// Takes from the beginning of a growing text what no later text can make part of a secret, and
    /// removes the secrets from it.
    pub(crate) fn take_ready(&self, text: &mut String) -> String {
        // A short value is removed with the quotes around it.
        let quoted = self.values.iter();
        let quoted = quoted.flat_map(|value| [format!("\"{value}\""), format!("\"{value}\\n\"")]);
        let quoted: Vec<String> = quoted.collect();
        let hidden = || self.secrets.iter().chain(&self.inputs).chain(&quoted);
        // What the text ends with may be the beginning of one.
        let beginnings = hidden().filter_map(|hidden| {
            let mut lengths = (1..hidden.len().min(text.len() + 1)).rev();
            lengths.find(|length| {
                hidden.is_char_boundary(*length) && text.ends_with(&hidden[..*length])
            })
        });
        let mut end = text.len() - beginnings.max().unwrap_or(0);
        // Not in the middle of a secret.
        while let Some(later) = hidden()
            .flat_map(|hidden| text.match_indices(hidden.as_str()))
            .map(|(start, found)| (start, start + found.len()))
            .find(|(start, after)| *start < end && end < *after)
        {
            end = later.1;
        }
        let ready: String = text.drain(..end).collect();
        self.part(&ready)
    }

    /// Removes the secrets from every string and number of a provider's document.
    pub(crate) fn document(&self, document: &mut Value) {
        self.redact(document, true);
    }

    fn redact(&self, document: &mut Value, is_provider: bool) {
        match document {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.redact(item, is_provider)),
            Value::Object(members) => {
                for (name, member) in members {
                    match member.as_str() {
                        Some(text) if is_provider && STRUCTURE.contains(&name.as_str()) => {
                            *member = without(text, &self.secrets).into();
                        }
                        _ => {
                            self.redact(member, is_provider && !ARGUMENTS.contains(&name.as_str()))
                        }
                    }
                }
            }
            Value::Number(number) => {
                let digits = number.to_string();
                let mut long = self.secrets.iter().chain(&self.inputs);
                if long.any(|hidden| digits.contains(hidden)) || self.values.contains(&digits) {
                    *document = REMOVED.into();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// A text that is not JSON. It may contain JSON all the same.
    fn prose(&self, text: &str) -> String {
        if self.values.iter().any(|value| value == text.trim_end()) {
            return REMOVED.to_owned();
        }
        self.part(text)
    }

    /// A part of a text that is not JSON.
    pub(crate) fn part(&self, text: &str) -> String {
        let mut text = without(&without(text, &self.secrets), &self.inputs);
        for value in &self.values {
            let (quoted, removed) = (format!("\"{value}\""), format!("\"{REMOVED}\""));
            let (line, no_line) = (format!("\"{value}\\n\""), removed.clone());
            text = text.replace(&quoted, &removed).replace(&line, &no_line);
        }
        text
    }
}

/// The document that a text is, if it is one with members or items.
fn nested(text: &str) -> Option<Value> {
    let has_beginning = text.trim_start().starts_with(['{', '[']);
    has_beginning
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

fn without(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if text.contains(secret) {
            text = text.replace(secret, REMOVED);
        }
    }
    text
}

/// Adds a text as it is, and as JSON within a text has it: escaped, and in ASCII alone.
fn add_forms(list: &mut Vec<String>, text: &str) {
    let quoted = Value::from(text).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let in_ascii = escaped.chars().fold(String::new(), |mut ascii, character| {
        match character.is_ascii() {
            true => ascii.push(character),
            false => {
                let units = character.encode_utf16(&mut [0; 2]).to_vec();
                units
                    .iter()
                    .for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}")));
            }
        }
        ascii
    });
    for form in [text.to_owned(), escaped, in_ascii] {
        if !list.contains(&form) {
            list.push(form);
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

    #[test]
    fn hidden_input_is_found_however_its_arguments_are_escaped() {
        for (input, arguments, expected) in [
            (
                "pa\"ss\\word1",
                r#"{"text":"pa\"ss\\word1\n"}"#,
                r#"{"text":"(hidden)\n"}"#,
            ),
            (
                "passé-latte",
                r#"{"text": "pass\u00e9-latte"}"#,
                r#"{"text":"(hidden)"}"#,
            ),
            (
                "passé-latte",
                r#"{"text":"pass\u00E9-latte"}"#,
                r#"{"text":"(hidden)"}"#,
            ),
            ("p\"1", r#"{"text":"p\"1\n"}"#, r#"{"text":"(hidden)"}"#),
            ("🔑key-1", r#"["\ud83d\udd11key-1"]"#, r#"["(hidden)"]"#),
            (
                "tab\tbed",
                r#"{"a":"{\"text\":\"tab\\tbed\"}"}"#,
                r#"{"a":"{\"text\":\"(hidden)\"}"}"#,
            ),
        ] {
            let mut redactor = Redactor::default();
            redactor.hide_input(vec![input.to_owned()]);
            let mut document = json!({"function": {"name": "shell", "arguments": arguments}});
            redactor.document(&mut document);
            let expected = json!({"function": {"name": "shell", "arguments": expected}});
            assert_eq!(document, expected);
        }
    }

    #[test]
    fn hidden_input_is_found_in_numbers_names_and_repeated_members() {
        let mut redactor = Redactor::default();
        redactor.hide_input(vec!["481516".to_owned(), "hunter22".to_owned()]);
        for (arguments, expected) in [
            ("{\"pin\": 481516}", "{\"pin\":\"(hidden)\"}"),
            ("{\"hunter22\": 1}", "{\"(hidden)\": 1}"),
            (
                "{\"text\":\"hunter22\",\"text\":\"x\"}",
                "{\"text\":\"(hidden)\",\"text\":\"x\"}",
            ),
            ("{\"name\":\"hunter22\"}", "{\"name\":\"(hidden)\"}"),
        ] {
            let mut document =
                json!({"arguments": arguments, "input": {"id": "hunter22", "pin": 481516}});
            redactor.document(&mut document);
            let input = json!({"id": "(hidden)", "pin": "(hidden)"});
            assert_eq!(document, json!({"arguments": expected, "input": input}));
        }
    }

    #[test]
    fn hidden_input_is_found_in_json_within_prose() {
        let mut redactor = Redactor::default();
        redactor.hide_input(vec!["pa\"ss\\word1".to_owned(), "pass\u{e9}".to_owned()]);
        let text = r#"I call <tool>{"text": "pa\"ss\\word1"}</tool> and {"text": "pass\u00e9"}."#;
        assert_eq!(
            redactor.text(text),
            r#"I call <tool>{"text": "(hidden)"}</tool> and {"text": "(hidden)"}."#
        );
    }

    #[test]
    fn what_the_conversation_is_rebuilt_by_stays() {
        let mut redactor = Redactor::of(["sk-0123456789".to_owned()]);
        redactor.hide_input(vec![
            "assistant".to_owned(),
            "text".to_owned(),
            "toolu_1".to_owned(),
        ]);
        let mut document = json!({"role": "assistant", "content": [
            {"type": "text", "text": "the assistant"},
            {"type": "tool_use", "id": "toolu_1", "input": {"text": "text"}},
            {"type": "sk-0123456789"}]});
        redactor.document(&mut document);
        assert_eq!(
            document,
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "the (hidden)"},
                {"type": "tool_use", "id": "toolu_1", "input": {"text": "(hidden)"}},
                {"type": "(hidden)"}]})
        );
    }

    #[test]
    fn secrets_in_a_growing_text_are_removed_wherever_it_is_cut() {
        let mut redactor = Redactor::of(["sk-0123456789".to_owned()]);
        redactor.hide_input(vec!["pw1".to_owned(), "hunter22".to_owned()]);
        let text = "é sk-0123456789 and \"pw1\", hunter22sk-0123456789 — sk-01 is none of them, it is short";
        let expected = redactor.text(text);
        for size in 1..text.len() {
            let (mut pending, mut shown) = (String::new(), String::new());
            for piece in text.as_bytes().chunks(size) {
                // Bytes of one character in two pieces do not occur; each is a character here.
                pending.extend(piece.iter().map(|byte| char::from(*byte)));
                let ready = redactor.take_ready(&mut pending);
                assert!(!ready.contains("0123456789") && !ready.contains("hunter22"));
                shown.push_str(&ready);
            }
            shown.push_str(&redactor.part(&pending));
            let as_bytes = |text: &str| text.bytes().map(char::from).collect::<String>();
            assert_eq!(shown, as_bytes(&expected), "pieces of {size} bytes");
        }
        // Only what may be the beginning of a secret is kept back.
        let mut text = "a key, and sk-0".to_owned();
        assert_eq!(redactor.take_ready(&mut text), "a key, and ");
        assert_eq!(text, "sk-0");
        let mut short = Redactor::default();
        short.hide_input(vec!["y".to_owned()]);
        let mut text = String::new();
        let pieces = "try yes".chars().map(|character| {
            text.push(character);
            short.take_ready(&mut text)
        });
        assert_eq!(pieces.collect::<String>(), "try yes");
        let mut text = "nothing to hide".to_owned();
        assert_eq!(Redactor::default().take_ready(&mut text), "nothing to hide");
    }

    #[test]
    fn json_without_secrets_stays_as_it_was_written() {
        let mut redactor = Redactor::default();
        redactor.hide_input(vec!["swordfish".to_owned()]);
        for text in ["{ \"n\" : 1.50,\n \"n\": 2 }", "[1, 2", "{}", "7", "\"a\""] {
            assert_eq!(redactor.text(text), text);
        }
    }
}
