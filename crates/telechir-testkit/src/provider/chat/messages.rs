//! Messages: exactly one result directly after each call, an order of roles, and unchanged
//! assistant messages.

use serde_json::Value;

use super::{Rules, extra, no_null, parts};
use crate::provider::Rejection;
use crate::provider::shape::{
    Validated, ensure, is_name, list, object, one_of, only, text, text_or_empty,
};

const MAX_ID_CHARS: usize = 40;
const MAX_IMAGES: usize = 8;

/// State of the pass over the messages.
struct MessageChecker<'a> {
    rules: Rules,
    /// Calls without a result so far.
    open: Vec<&'a str>,
    before: &'a str,
    images: usize,
}

pub(super) fn check(rules: Rules, messages: &[Value], history: &[Vec<Value>]) -> Validated {
    ensure(!messages.is_empty(), || {
        "messages: [] is too short - 'messages'".to_owned()
    })?;
    let mut walk = MessageChecker {
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
    let has_too_many_images = rules == Rules::Mistral && walk.images > MAX_IMAGES;
    ensure(!has_too_many_images, || {
        format!("Too many images in request. Max is {MAX_IMAGES}")
    })?;
    check_nothing_lost(messages, history)
}

impl<'a> MessageChecker<'a> {
    fn message(&mut self, message: &'a Value, location: &str) -> Validated {
        object(message, location)?;
        let role = text_or_empty(message, "role");
        one_of(
            role,
            &["system", "user", "assistant", "tool"],
            &format!("{location}.role"),
        )?;
        if role != "tool" {
            self.nothing_open(location)?;
        }
        if self.rules == Rules::Mistral {
            self.order(role)?;
        }
        match role {
            "tool" => self.result(message, location)?,
            "assistant" => self.assistant_message(message, location)?,
            _ => {
                only(message, &[&["role", "content", "name"]], location, extra)?;
                let kinds: &[&str] = if role == "user" {
                    &["text", "image_url"]
                } else {
                    &["text"]
                };
                let location = format!("{location}.content");
                self.images += parts::check(self.rules, &message["content"], kinds, &location)?;
            }
        }
        self.before = role;
        Ok(())
    }

    /// The live API's own message and code.
    fn order(&self, role: &str) -> Validated {
        let allowed = match self.before {
            "tool" => &["assistant", "tool"][..],
            "" | "system" => &["system", "user", "assistant"],
            _ => &["user", "assistant", "tool", "system"],
        };
        if allowed.contains(&role) {
            return Ok(());
        }
        Err(Rejection {
            status: 400,
            kind: "invalid_request_message_order",
            message: format!("Unexpected role '{role}' after role '{}'", self.before),
        })
    }

    fn assistant_message(&mut self, message: &'a Value, location: &str) -> Validated {
        no_null(message, "content", location)?;
        let calls = match message.get("tool_calls") {
            None => &[][..],
            Some(calls) => list(calls, &format!("{location}.tool_calls"))?,
        };
        ensure(
            !(calls.is_empty() && message.get("tool_calls").is_some()),
            || format!("{location}.tool_calls: [] is too short"),
        )?;
        let content = &message["content"];
        if content.is_null() {
            ensure(!calls.is_empty(), || {
                format!("{location}.content: it may be null only beside calls")
            })?;
        } else {
            let kinds = &["text", "refusal", "thinking"];
            parts::check(self.rules, content, kinds, &format!("{location}.content"))?;
        }
        for (index, call) in calls.iter().enumerate() {
            let location = format!("{location}.tool_calls[{index}]");
            let id = self.check_call(call, &location)?;
            ensure(!self.open.contains(&id), || {
                format!("{location}.id: '{id}' is duplicated")
            })?;
            self.open.push(id);
        }
        Ok(())
    }

    fn check_call(&self, call: &'a Value, location: &str) -> Validated<&'a str> {
        let id = text(call, "id", location)?;
        let takes = match self.rules {
            Rules::Words | Rules::Images => !id.is_empty() && id.len() <= MAX_ID_CHARS,
            Rules::Mistral => id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        };
        ensure(takes, || {
            format!("{location}.id: '{id}' is no id that this service takes")
        })?;
        let function = &call["function"];
        let name = text(function, "name", location)?;
        ensure(is_name(name, 64), || {
            format!("{location}: no function is called '{name}'")
        })?;
        let arguments = text(function, "arguments", location)?;
        let parsed: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(arguments);
        ensure(parsed.is_ok(), || {
            format!("{location}.function.arguments: it is no JSON object: {arguments}")
        })?;
        Ok(id)
    }

    fn result(&mut self, message: &Value, location: &str) -> Validated {
        let members = ["role", "tool_call_id", "content"];
        let named: &[&str] = if self.rules == Rules::Mistral {
            &["name"]
        } else {
            &[]
        };
        only(message, &[&members, named], location, extra)?;
        let id = text(message, "tool_call_id", location)?;
        let open = self.open.iter().position(|open| *open == id);
        let Some(open) = open else {
            return Err(Rejection::invalid(format!(
                "{location}: messages with role 'tool' must be a response to a preceding message with 'tool_calls' ('{id}')"
            )));
        };
        self.open.remove(open);
        let kinds: &[&str] = if self.rules == Rules::Images {
            &["text", "image_url"]
        } else {
            &["text"]
        };
        let content = &message["content"];
        ensure(content != "", || format!("{location}.content: it is empty"))?;
        self.images += parts::check(self.rules, content, kinds, &format!("{location}.content"))?;
        Ok(())
    }

    fn nothing_open(&self, location: &str) -> Validated {
        ensure(self.open.is_empty(), || {
            format!(
                "{location}: the calls {} did not have response messages",
                self.open.join(", ")
            )
        })
    }
}

/// The model's messages must be returned in order and unchanged, except for empty fields and
/// unparsable arguments.
fn check_nothing_lost(messages: &[Value], history: &[Vec<Value>]) -> Validated {
    let mut rest = messages.iter();
    for expected in history.iter().flatten() {
        let expected = normalized(expected);
        if expected
            .as_object()
            .is_some_and(|history| history.len() < 2)
        {
            continue;
        }
        ensure(rest.any(|message| normalized(message) == expected), || {
            format!("recorded model: a response of this model is missing: {expected}")
        })?;
    }
    Ok(())
}

fn normalized(message: &Value) -> Value {
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

/// Unparsable arguments may be returned in another form; empty ones as an empty object.
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
