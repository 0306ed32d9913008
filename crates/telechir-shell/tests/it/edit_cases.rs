//! Edits as models write them, with the files after them, as data.

use std::fs;

use serde_json::{Value, json};
use telechir_protocol::EditTool;

use crate::editor::fixture;

const PATCHES: &str = include_str!("../corpus/patches.json");

#[tokio::test]
async fn diffs_are_applied_as_expected() {
    let cases: Vec<Value> = serde_json::from_str(PATCHES).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let mut fixture = fixture();
        let before = case.get("before").and_then(Value::as_str);
        if let Some(before) = before {
            fixture.put("file", before);
        }
        let otherwise = ["create_file", "update_file"][usize::from(before.is_some())];
        let operation = case.get("operation").and_then(Value::as_str);
        let call =
            json!({"name": operation.unwrap_or(otherwise), "path": "file", "diff": case["diff"]});
        let edited = fixture.edit_with(EditTool::Patch, call).await;
        let after = fs::read_to_string(fixture.workspace.path().join("file")).ok();
        let is_right = match (case.get("error"), &edited) {
            (Some(error), Err(refused)) => {
                let message = refused.to_failure().message;
                message.contains(error.as_str().unwrap()) && after.as_deref() == before
            }
            (None, Ok(_)) => after.as_deref() == case["after"].as_str(),
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{case:#}: {edited:?}, {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
