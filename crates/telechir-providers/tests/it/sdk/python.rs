//! Runs one Python process that validates all documents.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// A document to validate.
#[derive(Debug)]
pub(crate) struct Document {
    /// The dialect and what the document demonstrates.
    pub(crate) name: String,
    /// The kind, as the script names it.
    pub(crate) kind: String,
    pub(crate) json: Value,
}

/// A document that an SDK rejected.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) name: String,
    pub(crate) problem: String,
}

/// Validates documents with an SDK; returns the rejected ones.
#[expect(
    clippy::disallowed_methods,
    reason = "a test starts Python as a user would"
)]
pub(crate) fn refusals(sdk: &str, documents: &[Document]) -> Vec<Refusal> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = crates.join("../target/sdk/bin/python");
    assert!(
        python.exists(),
        "the SDKs are not installed: run scripts/sdk.sh, as `make test` does"
    );
    let mut child = Command::new(python)
        .arg("-B")
        .arg(crates.join("telechir-providers/tests/sdk/check.py"))
        .arg(sdk)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = |document: &Document| {
        let Document { name, kind, json } = document;
        format!(
            "{}\n",
            json!({"name": name, "kind": kind, "document": json})
        )
    };
    let lines: String = documents.iter().map(line).collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{sdk}: {:?}", output.status);
    let output = String::from_utf8(output.stdout).unwrap();
    let lines = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut replies: Vec<Value> = lines.collect();
    let last = replies.pop().unwrap();
    assert_eq!(
        last["checked"],
        documents.len(),
        "{sdk} did not validate all documents"
    );
    let text = |reply: &Value, name: &str| reply[name].as_str().unwrap().to_owned();
    let refusal = |reply: &Value| Refusal {
        name: text(reply, "name"),
        problem: text(reply, "problem"),
    };
    replies.iter().map(refusal).collect()
}
