//! Context for decoding a block: the calls before it, and the names of the functions that the
//! request declares.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use telechir_protocol::Content;

use crate::json::text;

/// The kind of a call, which decides how its result is decoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ToolUseKind {
    /// A computer or browser call.
    Computer {
        /// The call's tool group.
        group: Option<String>,
        /// Name of the call's last action; empty if it has none.
        action: String,
    },
    /// A shell call.
    Shell,
    /// A text editor or memory call.
    Edit,
    /// A call of any other tool.
    Function {
        /// The tool's name.
        name: String,
    },
}

/// Context for decoding a block.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockContext {
    calls: HashMap<String, ToolUseKind>,
    functions: HashSet<String>,
}

impl BlockContext {
    /// The context of a request, with the functions it declares.
    pub(super) fn of_request(request: &Map<String, Value>) -> Self {
        let tools = request.get("tools").and_then(Value::as_array);
        let is_own = |tool: &&Map<String, Value>| {
            tool.contains_key("input_schema") && matches!(text(tool, "type"), None | Some("custom"))
        };
        let own = tools
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .filter(is_own);
        let functions = own
            .filter_map(|tool| text(tool, "name"))
            .map(str::to_owned)
            .collect();
        Self {
            calls: HashMap::new(),
            functions,
        }
    }

    /// Whether the request declares a function with this name.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// The kind of the call with this id.
    pub(super) fn call_kind(&self, id: &str) -> Option<&ToolUseKind> {
        self.calls.get(id)
    }

    /// Records a call; other contents are ignored.
    pub(super) fn note(&mut self, content: &Content) {
        let (id, call_kind) = match content {
            Content::ComputerCall(call) => {
                let action = call.actions.last().map(|action| action.name().to_owned());
                let group = call.group.clone();
                (
                    Some(&call.call_id),
                    ToolUseKind::Computer {
                        group,
                        action: action.unwrap_or_default(),
                    },
                )
            }
            Content::ShellCall(call) => (Some(&call.call_id), ToolUseKind::Shell),
            Content::EditCall(call) => (Some(&call.call_id), ToolUseKind::Edit),
            Content::FunctionCall(call) => (
                call.call_id.as_ref(),
                ToolUseKind::Function {
                    name: call.name.clone(),
                },
            ),
            _ => return,
        };
        if let Some(id) = id {
            self.calls.insert(id.as_str().to_owned(), call_kind);
        }
    }
}
