//! Messages: whether every call was answered once and at once, whether the roles stand in order,
//! and whether the model's own messages came back as they were said.

use serde_json::Value;

use super::{Rules, extra, no_null, parts};
use crate::provider::Refusal;
use crate::provider::shape::{Checked, ensure, is_name, list, object, one_of, only, text, word};

const LONGEST_ID: usize = 40;
const MOST_IMAGES: usize = 8;

/// Walks through the messages.
struct Walk<'a> {
    rules: Rules,
    /// Calls that nothing answered yet.
    open: Vec<&'a str>,
    before: &'a str,
    images: usize,
}

pub(super) fn check(rules: Rules, messages: &[Value], said: &[Vec<Value>]) -> Checked {
    ensure(!messages.is_empty(), || {
        "messages: [] is too short - 'messages'".to_owned()
    })?;
    let mut walk = Walk {
        rules,
        open: Vec::new(),
        before: "",
        images: 0,
    };
    for (index, message) in messages.iter().enumerate() {
        walk.message(message, &format!("messages[{index}]"))?;
    }
    walk.nothing_open("the end")?;
    ensure(matches!(walk.before, "user" | "tool"), || {
        format!(
            "Expected last role User or Tool for serving but got {}",
            walk.before
        )
    })?;
    let most = rules == Rules::Mistral && walk.images > MOST_IMAGES;
    ensure(!most, || {
        format!("Too many images in request. Max is {MOST_IMAGES}")
    })?;
    check_nothing_lost(messages, said)
}

impl<'a> Walk<'a> {
    fn message(&mut self, message: &'a Value, place: &str) -> Checked {
        object(message, place)?;
        let role = word(message, "role");
        one_of(
            role,
            &["system", "user", "assistant", "tool"],
            &format!("{place}.role"),
        )?;
        if role != "tool" {
            self.nothing_open(place)?;
        }
        if self.rules == Rules::Mistral {
            self.order(role)?;
        }
        match role {
            "tool" => self.result(message, place)?,
            "assistant" => self.speech(message, place)?,
            _ => {
                only(message, &[&["role", "content", "name"]], place, extra)?;
                let kinds: &[&str] = if role == "user" {
                    &["text", "image_url"]
                } else {
                    &["text"]
                };
                let place = format!("{place}.content");
                self.images += parts::check(self.rules, &message["content"], kinds, &place)?;
            }
        }
        self.before = role;
        Ok(())
    }

    /// The live interface's own sentence and code.
    fn order(&self, role: &str) -> Checked {
        let allowed = match self.before {
            "tool" => &["assistant", "tool"][..],
            "" | "system" => &["system", "user", "assistant"],
            _ => &["user", "assistant", "tool", "system"],
        };
        if allowed.contains(&role) {
            return Ok(());
        }
        Err(Refusal {
            status: 400,
            kind: "invalid_request_message_order",
            message: format!("Unexpected role '{role}' after role '{}'", self.before),
        })
    }

    fn speech(&mut self, message: &'a Value, place: &str) -> Checked {
        no_null(message, "content", place)?;
        let calls = match message.get("tool_calls") {
            None => &[][..],
            Some(calls) => list(calls, &format!("{place}.tool_calls"))?,
        };
        ensure(
            !(calls.is_empty() && message.get("tool_calls").is_some()),
            || format!("{place}.tool_calls: [] is too short"),
        )?;
        let content = &message["content"];
        if content.is_null() {
            ensure(!calls.is_empty(), || {
                format!("{place}.content: it may be null only beside calls")
            })?;
        } else {
            let kinds = &["text", "refusal", "thinking"];
            parts::check(self.rules, content, kinds, &format!("{place}.content"))?;
        }
        for (index, call) in calls.iter().enumerate() {
            let place = format!("{place}.tool_calls[{index}]");
            let id = self.check_call(call, &place)?;
            ensure(!self.open.contains(&id), || {
                format!("{place}.id: '{id}' is there twice")
            })?;
            self.open.push(id);
        }
        Ok(())
    }

    fn check_call(&self, call: &'a Value, place: &str) -> Checked<&'a str> {
        let id = text(call, "id", place)?;
        let takes = match self.rules {
            Rules::Words | Rules::Images => !id.is_empty() && id.len() <= LONGEST_ID,
            Rules::Mistral => id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        };
        ensure(takes, || {
            format!("{place}.id: '{id}' is no id that this service takes")
        })?;
        let function = &call["function"];
        let name = text(function, "name", place)?;
        ensure(is_name(name, 64), || {
            format!("{place}: no function is called '{name}'")
        })?;
        let arguments = text(function, "arguments", place)?;
        let parsed: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(arguments);
        ensure(parsed.is_ok(), || {
            format!("{place}.function.arguments: it is no JSON object: {arguments}")
        })?;
        Ok(id)
    }

    fn result(&mut self, message: &Value, place: &str) -> Checked {
        let members = ["role", "tool_call_id", "content"];
        let named: &[&str] = if self.rules == Rules::Mistral {
            &["name"]
        } else {
            &[]
        };
        only(message, &[&members, named], place, extra)?;
        let id = text(message, "tool_call_id", place)?;
        let open = self.open.iter().position(|open| *open == id);
        let Some(open) = open else {
            return Err(Refusal::invalid(format!(
                "{place}: messages with role 'tool' must be a response to a preceding message with 'tool_calls' ('{id}')"
            )));
        };
        self.open.remove(open);
        let kinds: &[&str] = if self.rules == Rules::Images {
            &["text", "image_url"]
        } else {
            &["text"]
        };
        let content = &message["content"];
        ensure(content != "", || format!("{place}.content: it is empty"))?;
        self.images += parts::check(self.rules, content, kinds, &format!("{place}.content"))?;
        Ok(())
    }

    fn nothing_open(&self, place: &str) -> Checked {
        ensure(self.open.is_empty(), || {
            format!(
                "{place}: the calls {} did not have response messages",
                self.open.join(", ")
            )
        })
    }
}

/// The model's messages, in their order, as they were said but for members that say nothing and
/// arguments that nobody could parse.
fn check_nothing_lost(messages: &[Value], said: &[Vec<Value>]) -> Checked {
    let mut rest = messages.iter();
    for expected in said.iter().flatten() {
        let expected = shown(expected);
        if expected.as_object().is_some_and(|said| said.len() < 2) {
            continue;
        }
        ensure(rest.any(|message| shown(message) == expected), || {
            format!("recorded model: what it said did not come back: {expected}")
        })?;
    }
    Ok(())
}

fn shown(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(members) = message.as_object_mut() {
        let silent = |value: &Value| {
            value.is_null() || *value == "" || value.as_array().is_some_and(Vec::is_empty)
        };
        members.retain(|_, value| !silent(value));
    }
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        plain_arguments(&mut call["function"]);
    }
    message
}

/// Arguments that nobody could parse come back in another form; none are an empty object.
pub(crate) fn plain_arguments(function: &mut Value) {
    let arguments = function["arguments"].as_str().unwrap_or_default();
    if arguments.is_empty() {
        function["arguments"] = "{}".into();
        return;
    }
    let parsed: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(arguments);
    let parsed = parsed
        .ok()
        .filter(|parsed| !parsed.contains_key("malformed"));
    if parsed.is_none() {
        function["arguments"] = Value::Null;
    }
}
