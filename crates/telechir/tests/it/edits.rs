//! File edits in each provider's format, from the command line.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::telechir::Telechir;

const RULES: &str = r#"
[[edit]]
name = "sources"
paths = ["src/**"]
verdict = "allow"
reason = "It is the model's own code."
examples = { match = ["src/a.txt"], not_match = ["a.txt"] }

[[edit]]
name = "everything but sources, in the end"
operations = ["delete"]
verdict = "deny"
reason = "Nothing is deleted."
"#;

struct EditFixture {
    telechir: Telechir,
}

impl EditFixture {
    fn new() -> Self {
        let telechir = Telechir::new();
        let fixture = Self { telechir };
        fs::create_dir_all(fixture.workspace().join("src")).expect("a workspace");
        fs::create_dir(fixture.memory()).expect("a memory");
        fs::write(fixture.workspace().join("src/a.txt"), "one\ntwo\n").expect("a file");
        fs::write(fixture.telechir.folder().join("rules.toml"), RULES).expect("rules");
        fixture
    }

    fn workspace(&self) -> PathBuf {
        self.telechir.folder().join("work")
    }

    fn memory(&self) -> PathBuf {
        self.telechir.folder().join("memory")
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.workspace().join(name)).unwrap_or_else(|error| error.to_string())
    }

    fn exec(&self, dialect: &str, more: &[&str], input: &Value) -> Value {
        let flag = |name: &str, path: PathBuf| format!("{name}={}", path.display());
        let mut arguments = vec![
            "exec".to_owned(),
            format!("--dialect={dialect}"),
            "--editor".to_owned(),
            flag("--workspace", self.workspace()),
            flag("--memory-dir", self.memory()),
            flag("--policy", self.telechir.folder().join("rules.toml")),
        ];
        arguments.extend(more.iter().map(|&more| more.to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.telechir.run(&arguments, &input.to_string()).json()
    }
}

fn patch(id: &str, operation: Value) -> Value {
    json!({"type": "apply_patch_call", "id": format!("apc_{id}"), "call_id": id, "status": "completed", "operation": operation})
}

fn edit(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "str_replace_based_edit_tool", "input": input})
}

fn message(blocks: &[Value]) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": blocks, "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    })
}

#[test]
fn a_patch_changes_and_reports_the_file() {
    let fixture = EditFixture::new();
    let diff = "@@\n one\n-two\n+2\n";
    let reply = fixture.exec(
        "openai-responses",
        &[],
        &json!([
            patch(
                "c1",
                json!({"type": "update_file", "path": "src/a.txt", "diff": diff})
            ),
            patch(
                "c2",
                json!({"type": "create_file", "path": "src/new/b.txt", "diff": "+x\n+\n"})
            ),
            patch(
                "c3",
                json!({"type": "update_file", "path": "src/a.txt", "diff": diff})
            ),
        ]),
    );
    assert_eq!(reply[0]["type"], "apply_patch_call_output");
    assert_eq!(
        (&reply[0]["status"], &reply[1]["status"]),
        (&json!("completed"), &json!("completed"))
    );
    assert_eq!(reply[2]["status"], "failed");
    let why = reply[2]["output"].as_str().expect("a text");
    assert!(why.contains("were not found in the file"), "{why}");
    assert_eq!(fixture.file("src/a.txt"), "one\n2\n");
    assert_eq!(fixture.file("src/new/b.txt"), "x\n");
}

#[test]
fn an_edit_without_a_rule_needs_approval() {
    let fixture = EditFixture::new();
    fs::write(fixture.workspace().join("top.txt"), "top\n").expect("a file");
    let change = |path: &str| json!({"command": "str_replace", "path": path, "old_str": "one", "new_str": "1"});
    let reply = fixture.exec(
        "anthropic-messages",
        &[],
        &message(&[
            edit("toolu_1", json!({"command": "view", "path": "top.txt"})),
            edit(
                "toolu_2",
                json!({"command": "create", "path": "top.txt", "file_text": "x"}),
            ),
            edit(
                "toolu_3",
                json!({"command": "create", "path": "src/.bashrc", "file_text": "x"}),
            ),
            edit("toolu_4", change("src/a.txt")),
        ]),
    );
    let content = |at: usize| reply[at]["content"].to_string();
    assert!(content(0).contains("1\\ttop"), "{}", content(0));
    assert_eq!(reply[1]["is_error"], true);
    assert!(content(1).contains("It changes top.txt"), "{}", content(1));
    assert!(content(2).contains("configures programs"), "{}", content(2));
    assert_ne!(reply[3]["is_error"], true, "{reply}");
    assert_eq!(fixture.file("top.txt"), "top\n");
    assert_eq!(fixture.file("src/a.txt"), "1\ntwo\n");
    assert!(!fixture.workspace().join("src/.bashrc").exists());
}

#[test]
fn memory_is_persistent_and_needs_no_approval() {
    let fixture = EditFixture::new();
    let note = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "memory", "input": input});
    let path = "/memories/notes.md";
    fixture.exec(
        "anthropic-messages",
        &[],
        &message(&[note(
            "toolu_1",
            json!({"command": "create", "path": path, "file_text": "tea\n"}),
        )]),
    );
    let reply = fixture.exec(
        "anthropic-messages",
        &[],
        &message(&[note("toolu_2", json!({"command": "view", "path": path}))]),
    );
    assert!(reply.to_string().contains("tea"), "{reply}");
}

#[test]
fn a_resent_response_edits_once() {
    let fixture = EditFixture::new();
    let record = format!(
        "--record={}",
        fixture.telechir.folder().join("record").display()
    );
    let insert = json!({"command": "insert", "path": "src/a.txt", "insert_line": 0, "insert_text": "zero\n"});
    let input = message(&[edit("toolu_1", insert)]);
    let more = [record.as_str(), "--run=r1"];
    let first = fixture.exec("anthropic-messages", &more, &input);
    let second = fixture.exec("anthropic-messages", &more, &input);
    assert_eq!(first, second);
    assert_eq!(fixture.file("src/a.txt"), "zero\none\ntwo\n");
}

#[test]
fn without_an_editor_the_result_names_the_flag() {
    let telechir = Telechir::new();
    let input = message(&[edit("toolu_1", json!({"command": "view", "path": "a"}))]);
    let reply = telechir
        .run(
            &["exec", "--dialect", "anthropic-messages"],
            &input.to_string(),
        )
        .json();
    assert!(reply.to_string().contains("--editor"), "{reply}");
}
