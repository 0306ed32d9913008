//! Arguments of the functions that edit files.

use serde_json::Value;
use telechir_protocol::{EditCall, EditOperation, EditTool, Meta};

use crate::json::{Fields, list, owned, present, text};

/// Operations of the editor and memory functions; a function of that name without any of them is
/// not ours.
const EDIT_OPERATIONS: [&str; 7] = [
    "view",
    "create",
    "str_replace",
    "insert",
    "delete",
    "rename",
    "undo_edit",
];
pub(super) const PATCH_OPERATIONS: [&str; 3] = ["create_file", "update_file", "delete_file"];

/// Decodes the edits; `None` if it is a different function of the same name.
pub(super) fn read(
    tool: EditTool,
    call_id: &str,
    arguments: &Result<Fields, String>,
) -> Option<EditCall> {
    let members = arguments.as_ref().ok()?;
    let operations: Vec<EditOperation> = if present(members, "operations").is_some() {
        list(members, "operations")
            .iter()
            .map(|operation| operation_of(tool, operation.as_object()?))
            .collect::<Option<_>>()?
    } else {
        vec![operation_of(tool, members)?]
    };
    (!operations.is_empty()).then(|| EditCall {
        call_id: call_id.into(),
        item_id: None,
        tool,
        operations,
        exception: None,
        meta: Meta::default(),
    })
}

fn operation_names(tool: EditTool) -> (&'static str, &'static [&'static str]) {
    match tool {
        EditTool::Patch => ("type", &PATCH_OPERATIONS),
        EditTool::Editor | EditTool::Memory => ("command", &EDIT_OPERATIONS),
    }
}

fn operation_of(tool: EditTool, members: &Fields) -> Option<EditOperation> {
    let (field, names) = operation_names(tool);
    let name = text(members, field).filter(|name| names.contains(name))?;
    let args = members
        .iter()
        .filter(|(member, value)| *member != field && (*member != "path" || !value.is_string()))
        .map(|(member, value)| (member.clone(), value.clone()));
    Some(EditOperation {
        name: name.to_owned(),
        path: owned(members, "path"),
        args: args.collect(),
    })
}

/// Encodes the same edits as arguments.
pub(super) fn write(call: &EditCall) -> Fields {
    match call.operations.as_slice() {
        [only] => operation_fields(call.tool, only),
        operations => {
            let all = operations
                .iter()
                .map(|operation| Value::Object(operation_fields(call.tool, operation)));
            Fields::from_iter([("operations".to_owned(), Value::Array(all.collect()))])
        }
    }
}

fn operation_fields(tool: EditTool, operation: &EditOperation) -> Fields {
    let mut members = Fields::new();
    members.insert(
        operation_names(tool).0.to_owned(),
        operation.name.as_str().into(),
    );
    if let Some(path) = &operation.path {
        members.insert("path".to_owned(), path.as_str().into());
    }
    members.extend(operation.args.clone());
    members
}
