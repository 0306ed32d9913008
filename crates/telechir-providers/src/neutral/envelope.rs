//! The JSON around contents: `messages`, a list of messages, one message, a list of contents, or
//! one content.

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, Message, ModelTurn, Role};

use super::call_ids::CallIds;
use super::decode::{self, DIALECT};
use crate::history::turns::is_result;
use crate::json::names_of;
use crate::{DecodeError, Envelope, History, Report};

/// The member of an envelope around a list of contents.
const CONTENTS: &str = "contents";
/// The member of an envelope around one content.
const CONTENT: &str = "content";
/// The member of an envelope around one message.
const MESSAGE: &str = "message";
/// The member of an envelope around a list of messages.
const MESSAGES: &str = "messages";

const ROLES: &str = "system, developer, user, assistant or tool";

/// Decodes a response: the contents of all its messages.
pub(super) fn read_response(document: Value) -> Result<(ModelTurn, Report), DecodeError> {
    let (history, report) = read_history(document)?;
    Ok((history.into_turn(&decode::CALLS)?, report))
}

/// Decodes a history in any of the forms.
pub(super) fn read_history(document: Value) -> Result<(History, Report), DecodeError> {
    let mut reader = Reader {
        ids: CallIds::of(&document),
        report: Report::default(),
    };
    let (messages, envelope) = match document {
        Value::Array(list) => reader.list(list)?,
        Value::Object(members) => reader.object(members)?,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            let found = kind_of(&other);
            return Err(wrong(format!(
                "expected a list or an object, found {found}"
            )));
        }
    };
    Ok((History { messages, envelope }, reader.report))
}

/// Members of a message that mean the same when they are null and when they are absent.
const NOT_NULL: [&str; 3] = ["additional_properties", "annotations", "raw_representation"];

struct Reader {
    ids: CallIds,
    report: Report,
}

impl Reader {
    /// Messages or contents. The first entry decides; every entry must have the same form.
    fn list(&mut self, list: Vec<Value>) -> Result<(Vec<Message>, Envelope), DecodeError> {
        let of_messages = list.first().is_none_or(is_message);
        if let Some(at) = list
            .iter()
            .position(|entry| is_message(entry) != of_messages)
        {
            let (expected, found) = match of_messages {
                true => ("a message, as the entries before it", "has no `role`"),
                false => ("a content, as the entries before it", "has a `role`"),
            };
            return Err(wrong(format!("expected {expected}, but [{at}] {found}")));
        }
        if of_messages {
            return Ok((self.messages(list, "")?, Envelope::List));
        }
        let mut contents = Vec::with_capacity(list.len());
        for (at, json) in list.into_iter().enumerate() {
            contents.push(self.content(json, &format!("[{at}]"))?);
        }
        Ok((by_speaker(contents), around(CONTENTS, Map::new())))
    }

    fn object(
        &mut self,
        mut members: Map<String, Value>,
    ) -> Result<(Vec<Message>, Envelope), DecodeError> {
        if let Some(messages) = members.get_mut(MESSAGES) {
            let messages = match messages.take() {
                Value::Array(list) => self.messages(list, MESSAGES)?,
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Object(_)) => {
                    let found = kind_of(&other);
                    return Err(wrong(format!("`messages` is {found}, expected a list")));
                }
            };
            return Ok((messages, around(MESSAGES, members)));
        }
        if members.contains_key("role") || members.contains_key(CONTENTS) {
            let message = self.message(members, "the message")?;
            return Ok((vec![message], around(MESSAGE, Map::new())));
        }
        if members.get("type").is_some_and(Value::is_string) {
            let content = self.content(Value::Object(members), "the content")?;
            return Ok((by_speaker(vec![content]), around(CONTENT, Map::new())));
        }
        Err(wrong(format!(
            "expected `messages`, a message with `role` and `contents`, or a content with `type`; \
             found {}",
            names_of(&members)
        )))
    }

    fn messages(&mut self, list: Vec<Value>, name: &str) -> Result<Vec<Message>, DecodeError> {
        let mut messages = Vec::with_capacity(list.len());
        for (at, message) in list.into_iter().enumerate() {
            let location = format!("{name}[{at}]");
            let Value::Object(members) = message else {
                let found = kind_of(&message);
                return Err(wrong(format!("{location} is {found}, expected a message")));
            };
            messages.push(self.message(members, &location)?);
        }
        Ok(messages)
    }

    fn message(
        &mut self,
        mut members: Map<String, Value>,
        location: &str,
    ) -> Result<Message, DecodeError> {
        let role = match members.shift_remove("role") {
            Some(role) => serde_json::from_value::<Role>(role.clone())
                .map_err(|_| wrong(format!("{location}: `role` is {role}, expected {ROLES}")))?,
            None => {
                return Err(wrong(format!(
                    "{location}: `role` is missing, expected {ROLES}"
                )));
            }
        };
        let contents = match members.shift_remove(CONTENTS) {
            Some(Value::Array(contents)) => contents,
            Some(Value::Null) | None if members.contains_key(CONTENT) => {
                return Err(wrong(format!(
                    "{location} has `content`, expected `contents`, a list"
                )));
            }
            Some(Value::Null) | None => Vec::new(),
            Some(other) => {
                let found = kind_of(&other);
                return Err(wrong(format!(
                    "{location}: `contents` is {found}, expected a list"
                )));
            }
        };
        let mut decoded = Vec::with_capacity(contents.len());
        for (at, json) in contents.into_iter().enumerate() {
            decoded.push(self.content(json, &format!("{location}.contents[{at}]"))?);
        }
        // A member that nobody knows stays, also null.
        members.retain(|name, value| !value.is_null() || !NOT_NULL.contains(&name.as_str()));
        let meta = serde_json::from_value(Value::Object(members))
            .map_err(|problem| wrong(format!("{location}: {problem}")))?;
        let mut message = Message::new(role, decoded);
        message.meta = meta;
        Ok(message)
    }

    /// A content, or a text as a string.
    fn content(&mut self, json: Value, location: &str) -> Result<Content, DecodeError> {
        match json {
            Value::String(text) => Ok(decode::text(text)),
            Value::Object(members) => Ok(decode::content(
                members,
                location,
                &mut self.ids,
                &mut self.report,
            )),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
                let found = kind_of(&other);
                Err(wrong(format!("{location} is {found}, expected a content")))
            }
        }
    }
}

/// Whether an entry of a list is a message and not a content.
fn is_message(entry: &Value) -> bool {
    let has = |name: &str| entry.get(name).is_some();
    has("role") || has(CONTENTS)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn around(member: &'static str, rest: Map<String, Value>) -> Envelope {
    Envelope::Object {
        dialect: DIALECT,
        member,
        rest,
    }
}

fn wrong(problem: impl Into<String>) -> DecodeError {
    DecodeError::wrong_shape(DIALECT, problem)
}

/// Encodes a history in the form that it was decoded from; one of another dialect is a list of
/// messages.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let mut report = Report::default();
    let document = match &history.envelope {
        Envelope::Object { dialect, .. } if *dialect != DIALECT => {
            history.envelope.report_foreign(DIALECT, &mut report);
            history.messages.iter().map(message_json).collect()
        }
        Envelope::Object { .. } | Envelope::List => own_document(history),
    };
    (document, report)
}

fn own_document(history: &History) -> Value {
    let contents = || -> Vec<Value> {
        let all = history
            .messages
            .iter()
            .flat_map(|message| &message.contents);
        all.map(content_json).collect()
    };
    let messages = || -> Vec<Value> { history.messages.iter().map(message_json).collect() };
    let Some((member, rest)) = history.envelope.own(DIALECT) else {
        return messages().into();
    };
    match member {
        CONTENTS => contents().into(),
        CONTENT => only(contents()),
        MESSAGE => only(messages()),
        member => {
            let mut members = rest.clone();
            members.insert(member.to_owned(), messages().into());
            Value::Object(members)
        }
    }
}

/// The single entry of a list; a list that was changed stays one.
fn only(mut list: Vec<Value>) -> Value {
    match list.len() {
        1 => list.remove(0),
        _ => Value::Array(list),
    }
}

fn message_json(message: &Message) -> Value {
    let contents: Vec<Value> = message.contents.iter().map(content_json).collect();
    let mut members = Map::from_iter([
        ("role".to_owned(), json!(message.role)),
        (CONTENTS.to_owned(), contents.into()),
    ]);
    if let Value::Object(meta) = json!(message.meta) {
        members.extend(meta);
    }
    Value::Object(members)
}

/// A content as JSON: the original, if there is one.
pub(super) fn content_json(content: &Content) -> Value {
    decode::original(content).unwrap_or_else(|| json!(content))
}

/// Groups contents into messages: results belong to the user, everything else to the model.
fn by_speaker(contents: Vec<Content>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for content in contents {
        let role = speaker(&content);
        match messages.last_mut() {
            Some(last) if last.role == role => last.contents.push(content),
            _ => messages.push(Message::new(role, vec![content])),
        }
    }
    messages
}

fn speaker(content: &Content) -> Role {
    if is_result(content) || matches!(content, Content::ApprovalResponse(_)) {
        Role::User
    } else {
        Role::Assistant
    }
}
