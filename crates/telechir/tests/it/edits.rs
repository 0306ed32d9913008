//! Edits in each provider's words, from the command line, on real files.

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

struct Desk {
    telechir: Telechir,
}

impl Desk {
    fn new() -> Self {
        let telechir = Telechir::new();
        let desk = Self { telechir };
        fs::create_dir_all(desk.workspace().join("src")).expect("a workspace");
        fs::create_dir(desk.memory()).expect("a memory");
        fs::write(desk.workspace().join("src/a.txt"), "one\ntwo\n").expect("a file");
        fs::write(desk.telechir.folder().join("rules.toml"), RULES).expect("rules");
        desk
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
fn a_patch_changes_the_file_and_says_so() {
    let desk = Desk::new();
    let diff = "@@\n one\n-two\n+2\n";
    let reply = desk.exec(
        "openai-responses",
        &[],
        &json!([
            patch(
                "c1",
                json!({"type": "update_file", "path": "src/a.txt", "diff": diff})
            ),
            patch(
                "c2",
                json!({"type": "create_file", "path": "src/new/b.txt", "diff": "+x\n"})
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
    let why = reply[2]["output"].as_str().expect("words");
    assert!(why.contains("are not in the file"), "{why}");
    assert_eq!(desk.file("src/a.txt"), "one\n2\n");
    assert_eq!(desk.file("src/new/b.txt"), "x\n");
}

#[test]
fn what_no_rule_allows_needs_a_person_and_without_one_nothing_changes() {
    let desk = Desk::new();
    fs::write(desk.workspace().join("top.txt"), "top\n").expect("a file");
    let change = |path: &str| json!({"command": "str_replace", "path": path, "old_str": "one", "new_str": "1"});
    let reply = desk.exec(
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
    let said = |at: usize| reply[at]["content"].to_string();
    assert!(said(0).contains("1\\ttop"), "{}", said(0));
    assert_eq!(reply[1]["is_error"], true);
    assert!(said(1).contains("It changes top.txt"), "{}", said(1));
    assert!(said(2).contains("obeyed by programs"), "{}", said(2));
    assert_ne!(reply[3]["is_error"], true, "{reply}");
    assert_eq!(desk.file("top.txt"), "top\n");
    assert_eq!(desk.file("src/a.txt"), "1\ntwo\n");
    assert!(!desk.workspace().join("src/.bashrc").exists());
}

#[test]
fn a_memory_lasts_and_needs_nobody() {
    let desk = Desk::new();
    let note = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "memory", "input": input});
    let path = "/memories/notes.md";
    desk.exec(
        "anthropic-messages",
        &[],
        &message(&[note(
            "toolu_1",
            json!({"command": "create", "path": path, "file_text": "tea\n"}),
        )]),
    );
    let reply = desk.exec(
        "anthropic-messages",
        &[],
        &message(&[note("toolu_2", json!({"command": "view", "path": path}))]),
    );
    assert!(reply.to_string().contains("tea"), "{reply}");
}

#[test]
fn the_same_response_again_edits_once() {
    let desk = Desk::new();
    let record = format!(
        "--record={}",
        desk.telechir.folder().join("record").display()
    );
    let insert = json!({"command": "insert", "path": "src/a.txt", "insert_line": 0, "insert_text": "zero\n"});
    let input = message(&[edit("toolu_1", insert)]);
    let more = [record.as_str(), "--run=r1"];
    let first = desk.exec("anthropic-messages", &more, &input);
    let second = desk.exec("anthropic-messages", &more, &input);
    assert_eq!(first, second);
    assert_eq!(desk.file("src/a.txt"), "zero\none\ntwo\n");
}

#[test]
fn without_an_editor_the_model_is_told_which_flag_gives_one() {
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
