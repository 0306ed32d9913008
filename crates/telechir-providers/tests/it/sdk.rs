//! Everything we write, checked by the types of the providers' own SDKs.
//!
//! The SDKs are Python: `scripts/sdk.sh` (part of `make test`) installs them, pinned. One process
//! for each SDK reads all documents.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use telechir_protocol::{
    ComputerUseTool, Content, Message, ModelTurn, ShellTool, Tool, ToolResult,
};
use telechir_providers::conform::{Expect, Manifest};
use telechir_providers::{Dialect, Envelope, History, Offer};

use crate::matrix::common;

/// Which SDK has types for a dialect, and what begins its kinds there.
const SDKS: [(&str, &str, &str); 12] = [
    ("anthropic-messages", "anthropic", ""),
    ("bedrock-messages", "anthropic", ""),
    ("bedrock-invoke", "anthropic", "invoke."),
    ("openai-responses", "openai", ""),
    ("functions", "openai", "chat."),
    ("functions-inline", "openai", "inline."),
    ("google-generate-content", "google", ""),
    ("google-interactions", "google", "steps."),
    ("bedrock-converse", "bedrock", ""),
    ("mistral-conversations", "mistral", ""),
    ("mistral-chat", "mistral", "chat."),
    ("agent-framework", "agent_framework", ""),
];

/// What an SDK's types refuse although the live interface takes it: dialect, words of the
/// refusal, and why we write it all the same.
const TAKEN_LIVE: [(&str, &str, &str); 4] = [
    (
        "openai-responses",
        "['.call_id']",
        "an output of local_shell is joined with its call by `call_id`; the SDK names it `id`",
    ),
    (
        "openai-responses: input.local_shell_call_output.wire_shape",
        "LocalShellCallOutput",
        "likewise, without the `id` that the SDK demands",
    ),
    (
        "functions",
        "cache_control",
        "servers of Anthropic's models take it in chat completions; it came in and goes back",
    ),
    (
        "functions: request__results_without_ids",
        "ChatCompletionToolMessageParam",
        "servers of small models give calls no ids; what came in goes back",
    ),
];

/// Dialects whose documents no SDK has types for, and why.
const WITHOUT: [(&str, &str); 1] = [(
    "bedrock-agents",
    "its documents are parts of a request; the crate's own checks know their limits",
)];

/// A document to be checked.
struct Document {
    dialect: Dialect,
    name: String,
    kind: &'static str,
    json: Value,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn encoded(dialect: Dialect, messages: Vec<Message>) -> Value {
    let envelope = Envelope::List;
    let written = dialect.encode_history(&History { messages, envelope });
    written
        .unwrap_or_else(|error| panic!("{dialect}: failed to {error}"))
        .0
}

/// The common history, from every dialect.
fn histories(dialect: Dialect) -> Vec<Document> {
    let document = |from: &str, messages: Vec<Message>| Document {
        dialect,
        name: format!("the common history from {from}"),
        kind: "history",
        json: encoded(dialect, messages),
    };
    let mut all = vec![document("neutral values", common::common())];
    for from in Dialect::ALL {
        let bytes = encoded(from, common::common()).to_string();
        let (history, _) = from.decode_history(bytes.as_bytes()).unwrap();
        all.push(document(from.name(), history.messages));
    }
    all
}

/// The vectors that are histories, written again.
fn vectors(dialect: Dialect) -> Vec<Document> {
    const KINDS: [&str; 8] = [
        "request",
        "history",
        "gc_request",
        "ix_request",
        "chat_request",
        "input_item",
        "input_item[]",
        "beta_request",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut all = Vec::new();
    for folder in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let manifest = ["manifest.json", "index.json"]
            .iter()
            .find_map(|name| fs::read(folder.join(name)).ok());
        for vector in Manifest::read(&manifest.unwrap(), None).unwrap().vectors {
            let is_ours = vector.dialect == Ok(dialect) && KINDS.contains(&vector.kind.as_str());
            if !is_ours || vector.expect == Expect::Invalid {
                continue;
            }
            let mut json: Value =
                serde_json::from_slice(&fs::read(folder.join(&vector.file)).unwrap()).unwrap();
            if json.get("headers").is_some() {
                json = json["body"].take();
            }
            let (history, _) = dialect.decode_history(json.to_string().as_bytes()).unwrap();
            all.push(Document {
                dialect,
                name: vector.file,
                kind: "history",
                json: dialect.encode_history(&history).unwrap().0,
            });
        }
    }
    all
}

/// The answers to each turn of the common history.
fn answers(dialect: Dialect) -> Vec<Document> {
    let messages = common::common();
    let mut all = Vec::new();
    for pair in messages.windows(2) {
        let results: Vec<ToolResult> = pair[1].contents.iter().filter_map(result).collect();
        let turn = ModelTurn::new(pair[0].contents.clone()).unwrap();
        if results.is_empty() || turn.calls().is_empty() {
            continue;
        }
        let reply = dialect
            .encode_answers(&turn.answer(results).unwrap())
            .unwrap();
        all.push(Document {
            dialect,
            name: format!("the answers to message {}", all.len() * 2 + 1),
            kind: "answers",
            json: reply.items.into(),
        });
    }
    assert!(all.len() > 5, "{}", all.len());
    all
}

fn result(content: &Content) -> Option<ToolResult> {
    if let Content::ComputerResult(result) = content {
        return Some(ToolResult::Computer(result.clone()));
    }
    let Content::ShellResult(result) = content else {
        return None;
    };
    Some(ToolResult::Shell(result.clone()))
}

fn tools(dialect: Dialect) -> Vec<Document> {
    let mut all = Vec::new();
    // Its tools are those of openai-responses.
    if dialect == Dialect::AgentFramework {
        return all;
    }
    for environment in ["linux", "browser"] {
        let screen =
            json!({"display_width": 1280, "display_height": 800, "environment": environment});
        let screen: ComputerUseTool = serde_json::from_value(screen).unwrap();
        let function = json!({"type": "function", "name": "weather", "description": "Says the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}});
        let mut tools = vec![Tool::ComputerUse(screen), Tool::Shell(ShellTool::default())];
        tools.extend(serde_json::from_value::<Tool>(function).ok());
        let offer = Offer { tools, model: None };
        let declared = dialect.declare(&offer).unwrap().0.tools;
        all.push(Document {
            dialect,
            name: format!("tools for {environment}"),
            kind: "tools",
            json: declared.into(),
        });
    }
    all
}

/// Checks all documents of the dialects that an SDK knows, in one process.
fn check(sdk: &str) {
    let mut lines = String::new();
    let mut sent = 0;
    for dialect in Dialect::ALL {
        let known = SDKS
            .iter()
            .find(|(name, of, _)| *name == dialect.name() && *of == sdk);
        let Some((_, _, start)) = known else { continue };
        let documents = histories(dialect)
            .into_iter()
            .chain(vectors(dialect))
            .chain(answers(dialect))
            .chain(tools(dialect));
        for document in documents {
            let Document {
                dialect,
                name,
                kind,
                json,
            } = document;
            let name = format!("{dialect}: {name}");
            let line = json!({"name": name, "kind": format!("{start}{kind}"), "document": json});
            lines.push_str(&format!("{line}\n"));
            sent += 1;
        }
    }
    assert!(sent > 0, "no dialect is of {sdk}");
    let refused = refusals(sdk, &lines, sent);
    assert!(
        refused.is_empty(),
        "{} of {sent} refused:\n{}",
        refused.len(),
        refused.join("\n")
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test starts Python as a user would"
)]
fn refusals(sdk: &str, lines: &str, sent: usize) -> Vec<String> {
    let python = root().join("target/sdk/bin/python");
    assert!(
        python.exists(),
        "the SDKs are not installed: run scripts/sdk.sh, as `make test` does"
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/check.py");
    let mut child = Command::new(python)
        .arg("-B")
        .arg(script)
        .arg(sdk)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{sdk}: {:?}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    let mut said: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = said.pop().unwrap();
    assert_eq!(last["checked"], sent, "{sdk} did not read everything");
    let refusals = said.iter().filter(|said| !is_taken_live(said));
    refusals
        .map(|said| format!("{}: {}", said["name"], said["problem"]))
        .collect()
}

fn is_taken_live(said: &Value) -> bool {
    let member = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    let (name, problem) = (member("name"), member("problem"));
    TAKEN_LIVE
        .iter()
        .any(|(dialect, words, _)| name.starts_with(dialect) && problem.contains(words))
}

#[test]
fn anthropics_sdk_takes_what_we_write() {
    check("anthropic");
}

#[test]
fn openais_sdk_takes_what_we_write() {
    check("openai");
}

#[test]
fn googles_sdk_takes_what_we_write() {
    check("google");
}

#[test]
fn botocore_takes_what_we_write() {
    check("bedrock");
}

#[test]
fn mistrals_sdk_takes_what_we_write() {
    check("mistral");
}

#[test]
fn agent_framework_takes_what_we_write() {
    check("agent_framework");
}

#[test]
fn every_dialect_is_checked_by_an_sdk() {
    for dialect in Dialect::ALL {
        let is_checked = SDKS.iter().any(|(name, _, _)| *name == dialect.name());
        let is_argued = WITHOUT.iter().any(|(name, _)| *name == dialect.name());
        assert!(is_checked || is_argued, "{dialect}");
    }
}

/// A check that lets everything through shows nothing.
#[test]
fn an_sdk_refuses_what_is_wrong() {
    let wrong =
        json!({"name": "x", "kind": "history", "document": [{"role": "user", "contents": "x"}]});
    for sdk in ["anthropic", "bedrock", "agent_framework"] {
        let refused = refusals(sdk, &format!("{wrong}\n"), 1);
        assert_eq!(refused.len(), 1, "{sdk}: {refused:?}");
    }
}
