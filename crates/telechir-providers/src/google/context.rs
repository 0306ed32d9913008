//! Context for decoding: earlier calls, which results refer to, and the function names that the
//! request declares.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use telechir_protocol::{CallId, Content, SafetyCheck};

use super::action;
use super::encode_call::EncodedFunctionCall;
use crate::history::turns::call_id;

/// The type of a call, which decides how to decode its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GoogleCallKind {
    Computer(Option<String>),
    Shell,
    Edit,
    Function,
}

/// A call that needs a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordedCall {
    /// The function's name in the provider's JSON.
    pub(super) name: String,
    pub(super) kind: GoogleCallKind,
    /// Checks that the user has to approve.
    pub(super) checks: Vec<SafetyCheck>,
}

/// The calls and declared functions known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct GoogleContext {
    calls: HashMap<CallId, RecordedCall>,
    functions: HashSet<String>,
}

impl GoogleContext {
    /// A context in which a request declares these functions.
    pub(super) fn of_functions(functions: impl IntoIterator<Item = String>) -> Self {
        Self {
            calls: HashMap::new(),
            functions: functions.into_iter().collect(),
        }
    }

    /// Whether the request declares a function with this name.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    pub(super) fn call(&self, id: &CallId) -> Option<&RecordedCall> {
        self.calls.get(id)
    }

    /// Records a call under its function's name.
    pub(super) fn note(&mut self, content: &Content, name: &str) {
        let Some(id) = call_id(content) else { return };
        let (kind, checks) = match content {
            Content::ComputerCall(call) => (
                GoogleCallKind::Computer(call.group.clone()),
                call.pending_safety_checks.clone(),
            ),
            Content::ShellCall(_) => (GoogleCallKind::Shell, Vec::new()),
            Content::EditCall(_) => (GoogleCallKind::Edit, Vec::new()),
            _ => (GoogleCallKind::Function, Vec::new()),
        };
        let name = name.to_owned();
        let known = RecordedCall { name, kind, checks };
        self.calls.insert(id.clone(), known);
    }

    /// Records a call under the function calls it was encoded as. Only the response to the last one
    /// acknowledges safety checks.
    pub(super) fn note_encoded(&mut self, content: &Content, encoded: &[EncodedFunctionCall]) {
        for (at, one) in encoded.iter().enumerate() {
            self.note(content, &one.name);
            let noted = call_id(content).and_then(|id| self.calls.get(id).cloned());
            if let Some(mut known) = noted.filter(|_| Some(&one.id) != call_id(content)) {
                if at + 1 < encoded.len() {
                    known.checks.clear();
                }
                self.calls.insert(one.id.clone(), known);
            }
        }
    }

    /// The call with this id; for an unknown id, a guess from the function's name.
    pub(super) fn answered(&self, id: &CallId, name: &str) -> RecordedCall {
        if let Some(known) = self.call(id) {
            return known.clone();
        }
        let kind = match name {
            _ if self.is_function(name) => GoogleCallKind::Function,
            name if crate::extra_tools::is_browser(name) => {
                GoogleCallKind::Computer(Some("browser".to_owned()))
            }
            "computer" | "computer_action" => GoogleCallKind::Computer(Some("computer".to_owned())),
            "shell" | "shell_session" | super::shell::COMMAND_LINE => GoogleCallKind::Shell,
            "str_replace_based_edit_tool" | "memory" | "apply_patch" => GoogleCallKind::Edit,
            _ if action::is_predefined(name) => {
                GoogleCallKind::Computer(Some("computer".to_owned()))
            }
            _ => GoogleCallKind::Function,
        };
        RecordedCall {
            name: name.to_owned(),
            kind,
            checks: Vec::new(),
        }
    }
}

/// Function names in a request's tools, in either spelling and for either API.
pub(super) fn declared(tools: Option<&Value>) -> Vec<String> {
    let mut names = Vec::new();
    let tools = tools.and_then(Value::as_array).into_iter().flatten();
    for tool in tools.filter_map(Value::as_object) {
        let lists = ["functionDeclarations", "function_declarations"];
        let nested = lists
            .iter()
            .filter_map(|list| tool.get(*list)?.as_array())
            .flatten();
        let own = (tool.get("type").and_then(Value::as_str) == Some("function")).then_some(tool);
        let all = nested.filter_map(Value::as_object).chain(own);
        names.extend(all.filter_map(|function| Some(function.get("name")?.as_str()?.to_owned())));
    }
    // Functions that we declare ourselves are our calls even if the request declares them.
    names.retain(|name| !super::shell::is_own_function(name));
    names
}
