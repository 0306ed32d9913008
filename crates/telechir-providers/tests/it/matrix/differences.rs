//! Compares the meaning of two histories. Calls and results identify contents.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message};

/// A field of a content that was changed, removed or added.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// For example `computer_result call_look` or `text There are two files.`.
    pub(crate) content: String,
    /// For example `error`; absent if the content itself was removed or added.
    pub(crate) member: Option<String>,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

/// Bookkeeping fields of a provider, without a meaning for others.
const BOOKKEEPING: [&str; 6] = [
    "item_id",
    "status",
    "group",
    "additional_properties",
    "raw_representation",
    "annotations",
];

/// A name that identifies a content in another history.
pub(crate) fn name_of(content: &Content) -> String {
    let json = serde_json::to_value(content).unwrap();
    let kind = content.type_name().unwrap_or("?");
    let joined = json["call_id"].as_str().or_else(|| json["text"].as_str());
    format!("{kind} {}", joined.unwrap_or_default())
}

/// Contents by name, each with its meaningful fields.
///
/// Calls and results are numbered. A dialect may require ids of its own form; a changed id is then
/// one difference, not a removed content.
fn named(messages: &[Message]) -> BTreeMap<String, (String, Map<String, Value>)> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for content in messages.iter().flat_map(|message| &message.contents) {
        let mut json = serde_json::to_value(content).unwrap();
        meaning(&mut json);
        let mut name = name_of(content);
        if let Some(call_id) = json["call_id"].as_str() {
            let next = numbers.len() + 1;
            let number = numbers.entry(call_id.to_owned()).or_insert(next);
            name = format!("{} {number}", content.type_name().unwrap_or("?"));
        }
        while all.contains_key(&name) {
            name.push('\'');
        }
        all.insert(name, (name_of(content), json.as_object().unwrap().clone()));
    }
    all
}

fn meaning(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !BOOKKEEPING.contains(&name.as_str()));
            members.values_mut().for_each(meaning);
        }
        Value::Array(items) => items.iter_mut().for_each(meaning),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// All differences in meaning.
pub(crate) fn differences(before: &[Message], after: &[Message]) -> Vec<Difference> {
    let (before, after) = (named(before), named(after));
    let mut all = Vec::new();
    let new = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(new) {
        match (before.get(name), after.get(name)) {
            (Some((name, was)), Some((_, is))) => all.extend(members(name, was, is)),
            (was, is) => all.push(Difference {
                content: was.or(is).map(|(name, _)| name.clone()).unwrap_or_default(),
                member: None,
                before: was
                    .map(|(_, was)| Value::from(was.clone()))
                    .unwrap_or_default(),
                after: is
                    .map(|(_, is)| Value::from(is.clone()))
                    .unwrap_or_default(),
            }),
        }
    }
    all
}

fn members(content: &str, was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<Difference> {
    let new = is.keys().filter(|member| !was.contains_key(*member));
    let value = |of: &Map<String, Value>, member: &str| of.get(member).cloned().unwrap_or_default();
    let changed = was
        .keys()
        .chain(new)
        .filter(|member| value(was, member) != value(is, member));
    changed
        .map(|member| Difference {
            content: content.to_owned(),
            member: Some(member.clone()),
            before: value(was, member),
            after: value(is, member),
        })
        .collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &Value| value.to_string().chars().take(160).collect::<String>();
        let member = self.member.as_deref().unwrap_or("all of it");
        let (content, before, after) = (&self.content, short(&self.before), short(&self.after));
        write!(f, "{member} of {content}: {before} is {after}")
    }
}
