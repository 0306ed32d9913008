//! Edits as models write them, with the files and answers after them, as data.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Map, Value, json};
use telechir_protocol::EditTool;

use crate::editor::{EditorFixture, fixture, own};

const EDITS: &str = include_str!("../corpus/edits.json");
const PATCHES: &str = include_str!("../corpus/patches.json");

/// Writes files and their folders, which belong to the session's user.
fn put(folder: &Path, files: &Map<String, Value>) {
    for (name, text) in files {
        let path = folder.join(name);
        let mut made = Path::new(name).parent().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.as_str().unwrap()).unwrap();
        own(&path);
        while !made.as_os_str().is_empty() {
            own(&folder.join(made));
            made = made.parent().unwrap();
        }
    }
}

/// All files below a folder with their texts.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                let path = entry.path();
                let name = path.strip_prefix(folder).unwrap();
                let text = fs::read_to_string(&path).unwrap();
                found.insert(name.to_str().unwrap().to_owned(), text);
            }
        }
    }
    found
}

fn object<'a>(case: &'a Value, member: &str) -> Option<&'a Map<String, Value>> {
    case.get(member).and_then(Value::as_object)
}

/// The texts of a JSON value with real paths instead of `{root}` and `{outside}`.
fn with_paths(value: &Value, fixture: &EditorFixture, tool: EditTool) -> Value {
    let root = match tool {
        EditTool::Memory => Path::new("/memories"),
        EditTool::Patch | EditTool::Editor => fixture.workspace.path(),
    };
    let text = value.to_string().replace("{root}", root.to_str().unwrap());
    let outside = fixture.outside.path().to_str().unwrap();
    serde_json::from_str(&text.replace("{outside}", outside)).unwrap()
}

#[tokio::test]
async fn edits_answer_and_change_files_as_expected() {
    let cases: Vec<Value> = serde_json::from_str(EDITS).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        for tool in case["tools"].as_array().unwrap() {
            let tool: EditTool = serde_json::from_value(tool.clone()).unwrap();
            let mut fixture = fixture();
            let case = with_paths(case, &fixture, tool);
            let folder = match tool {
                EditTool::Memory => fixture.memory.path().to_owned(),
                EditTool::Patch | EditTool::Editor => fixture.workspace.path().to_owned(),
            };
            if let Some(files) = object(&case, "files") {
                put(&folder, files);
            }
            for (name, target) in object(&case, "links").into_iter().flatten() {
                symlink(target.as_str().unwrap(), folder.join(name)).unwrap();
            }
            let answer = match fixture.edit_with(tool, case["call"].clone()).await {
                Ok(edited) => json!({"answer": edited.text}),
                Err(error) => json!({"error": error.to_failure().message}),
            };
            if answer["answer"] != case["answer"] || answer["error"] != case["error"] {
                wrong.push(format!("{} ({tool:?}): {answer:#}", case["name"]));
            }
            let after = json!(files(&folder));
            if case.get("after").is_some_and(|wanted| *wanted != after) {
                wrong.push(format!("{} ({tool:?}): {after:#}", case["name"]));
            }
            assert_eq!(fs::read_dir(fixture.outside.path()).unwrap().count(), 1);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

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
