//! Ids of calls and results: a call without one gets one, and its result the same.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use crate::Report;

/// Ids for the calls of one document that have none.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    taken: HashSet<String>,
    /// Calls that got an id and have no result yet: their kind and id.
    open: VecDeque<(&'static str, String)>,
    assigned: usize,
}

/// Contents whose `call_id` is required, with the `type` of their results.
const PAIRS: [(&str, &str); 4] = [
    ("computer_call", "computer_result"),
    ("shell_call", "shell_result"),
    ("edit_call", "edit_result"),
    ("function_call", "function_result"),
];

impl CallIds {
    /// Notes the ids that the document itself uses, so that none is assigned twice.
    pub(super) fn of(document: &Value) -> Self {
        let mut ids = Self::default();
        ids.note(document);
        ids
    }

    fn note(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(id) = members.get("call_id").and_then(Value::as_str) {
                    self.taken.insert(id.to_owned());
                }
                members.values().for_each(|value| self.note(value));
            }
            Value::Array(items) => items.iter().for_each(|value| self.note(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Gives a call or result of this neutral `kind` an id, if it has none.
    pub(super) fn complete(
        &mut self,
        kind: &str,
        members: &mut Map<String, Value>,
        location: &str,
        report: &mut Report,
    ) {
        let has_id = match members.get("call_id") {
            Some(Value::String(id)) => !id.is_empty(),
            Some(Value::Number(number)) => {
                let id = number.to_string();
                members.insert("call_id".to_owned(), id.into());
                true
            }
            _ => false,
        };
        if has_id {
            return;
        }
        if let Some((_, result)) = PAIRS.iter().find(|(call, _)| *call == kind) {
            let id = self.unused();
            report.preserved(
                "call_id",
                location,
                format!("the {kind} has none, and its result needs one"),
                format!("as `{id}`"),
            );
            members.insert("call_id".to_owned(), id.clone().into());
            self.open.push_back((result, id));
        } else if let Some(at) = self.open.iter().position(|(result, _)| *result == kind)
            && let Some((_, id)) = self.open.remove(at)
        {
            members.insert("call_id".to_owned(), id.into());
        }
    }

    fn unused(&mut self) -> String {
        loop {
            self.assigned += 1;
            let id = format!("call-{}", self.assigned);
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}
