//! `apply_patch`: one file per call.

use telechir_protocol::{
    CallId, Content, EditCall, EditOperation, EditResult, EditTool, Failure, FailureKind,
};

use super::computer::unfinished;
use crate::json::{kind, object, owned, text};
use crate::openai::item::{Item, keep, raw};

pub(super) fn call(item: &Item) -> Option<Content> {
    let operation = object(item, "operation").filter(|operation| !kind(operation).is_empty());
    let missing = || "`operation` with a `type` is missing".to_owned();
    let mut meta = raw(item);
    keep(&mut meta, item, &["caller", "status"]);
    Some(Content::EditCall(EditCall {
        call_id: CallId::from(text(item, "call_id")?),
        item_id: owned(item, "id"),
        tool: EditTool::Patch,
        operations: operation.map(read_operation).into_iter().collect(),
        exception: operation
            .is_none()
            .then(missing)
            .or_else(|| unfinished(item)),
        meta,
    }))
}

fn read_operation(operation: &Item) -> EditOperation {
    let apart = |name: &String| name == "type" || (name == "path" && operation["path"].is_string());
    let args = operation.iter().filter(|(name, _)| !apart(name));
    EditOperation {
        name: kind(operation).to_owned(),
        path: owned(operation, "path"),
        args: args
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    }
}

pub(super) fn output(item: &Item) -> Option<Content> {
    let message = owned(item, "output");
    let failed = text(item, "status") == Some("failed");
    let why = || {
        Failure::new(
            FailureKind::Device,
            message.clone().unwrap_or_else(|| "failed".to_owned()),
        )
    };
    let mut meta = raw(item);
    keep(&mut meta, item, &["id", "caller"]);
    Some(Content::EditResult(EditResult {
        call_id: CallId::from(text(item, "call_id")?),
        error: failed.then(why),
        text: message.filter(|_| !failed),
        meta,
    }))
}
