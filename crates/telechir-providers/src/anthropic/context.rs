//! What the blocks so far say about those to come: which call a result answers, and which names
//! the request gives to functions of its own.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use telechir_protocol::Content;

use super::decode_block::text;

/// What a call was, for its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ToolUseKind {
    /// Of a screen or browser; the name of its last action.
    Computer {
        group: Option<String>,
        action: String,
    },
    /// Of a shell.
    Shell,
    /// Of an editor.
    Edit,
    /// Of any other tool.
    Function { name: String },
}

/// The context of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockContext {
    calls: HashMap<String, ToolUseKind>,
    functions: HashSet<String>,
}

impl BlockContext {
    /// The scene of a request that declares these tools.
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

    /// Whether the request gives this name to a function of its own.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// The call with this id.
    pub(super) fn call_kind(&self, id: &str) -> Option<&ToolUseKind> {
        self.calls.get(id)
    }

    /// Remembers a call.
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
