//! Reports the name that a result has beside its call's id, if the call has another name and the
//! written result does not have it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use telechir_protocol::Message;

use crate::Report;
use crate::json::text;
use crate::leaves;

/// Members that hold one result or a list of results.
const RESULTS: [&str; 5] = [
    "apiResult",
    "functionResponse",
    "functionResult",
    "toolResult",
    "tool_results",
];

/// Members of a result that name its call.
const CALL_IDS: [&str; 4] = ["call_id", "tool_call_id", "tool_use_id", "toolUseId"];

/// Members with what a tool returned.
const OUTPUTS: [&str; 6] = [
    "content",
    "contents",
    "output",
    "response",
    "responseBody",
    "result",
];

/// Members with what a tool was given.
const INPUTS: [&str; 5] = ["args", "arguments", "input", "parameters", "requestBody"];

/// Members with the name of a tool.
const NAMES: [&str; 3] = ["name", "tool_name", "function"];

/// A tool's name at a call or result, with the call's id if there is one.
type ToolName<'a> = (Option<&'a str>, &'a str);

/// The names at the calls and the results of a document.
#[derive(Debug, Default)]
struct NamesOfTools<'a> {
    /// The names that calls with an id have; those without one are under `None`.
    calls: HashMap<Option<&'a str>, HashSet<&'a str>>,
    results: Vec<ToolName<'a>>,
}

/// Reports the names of results in the original JSON that `document`, of the dialect `own`, lacks.
pub(crate) fn report(messages: &[Message], own: &str, document: &Value, report: &mut Report) {
    let mut original = NamesOfTools::default();
    let mut locations = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let around = message.meta.raw_representation.as_ref();
        let contents = message.contents.iter().enumerate();
        let inside = contents.filter_map(|(index, content)| {
            let raw = content.meta()?.raw_representation.as_ref()?;
            Some((raw, format!("messages[{at}].contents[{index}]")))
        });
        let around = around.map(|raw| (raw, format!("messages[{at}]")));
        for (raw, location) in around.into_iter().chain(inside) {
            if raw.dialect != own {
                original.add(raw.json(), None, IsResult::No);
                locations.resize(original.results.len(), location);
            }
        }
    }
    let others = original.results.iter().zip(&locations);
    let others: Vec<(&ToolName<'_>, &String)> = others
        .filter(|(result, _)| original.has_other_name(**result))
        .collect();
    if others.is_empty() {
        return;
    }
    let mut written = NamesOfTools::default();
    written.add(document, None, IsResult::No);
    let of_others = written.results.iter().filter(|(id, name)| {
        let called = written.calls.get(id);
        called.is_none_or(|called| !called.contains(name))
    });
    let written: HashSet<&str> = of_others.map(|(_, name)| *name).collect();
    let mut reported = HashSet::new();
    for ((id, name), location) in others {
        if written.contains(name) || !reported.insert((id, name)) {
            continue;
        }
        let what = match id {
            Some(id) => format!("name `{name}` of the result of call {id}"),
            None => format!("name `{name}` of a result"),
        };
        report.lost(what, location, "a result has the name of its call");
    }
}

/// Whether the member around a value makes it a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsResult {
    Yes,
    No,
}

impl<'a> NamesOfTools<'a> {
    fn add(&mut self, value: &'a Value, outer_id: Option<&'a str>, is_result: IsResult) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.add(item, outer_id, is_result)),
            Value::Object(members) => {
                let id = own_id(members).or(outer_id);
                let name = NAMES.iter().find_map(|name| text(members, name));
                let has = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
                let is_of_tool = matches!(text(members, "role"), Some("tool" | "function"));
                let is_answer = is_result == IsResult::Yes || is_of_tool || has(&CALL_IDS);
                match name {
                    Some(name) if has(&OUTPUTS) && is_answer => self.results.push((id, name)),
                    Some(name) if has(&INPUTS) => {
                        self.calls.entry(id).or_default().insert(name);
                    }
                    Some(_) | None => {}
                }
                for (member, value) in members {
                    let is_result = match RESULTS.contains(&member.as_str()) {
                        true => IsResult::Yes,
                        false => IsResult::No,
                    };
                    self.add(value, id, is_result);
                }
            }
        }
    }

    /// Whether the call that a result answers is known, and not under the result's name.
    fn has_other_name(&self, (id, name): ToolName<'_>) -> bool {
        let called = self.calls.get(&id);
        called.is_some_and(|called| !called.contains(name))
    }
}

/// The id of the call that an object is, or that it answers.
fn own_id(members: &Map<String, Value>) -> Option<&str> {
    let named = CALL_IDS.iter().find_map(|name| text(members, name));
    let ids = || {
        let mut texts = members.iter().filter(|(name, _)| leaves::is_id(name));
        texts.find_map(|(_, value)| value.as_str())
    };
    named.or_else(ids)
}
