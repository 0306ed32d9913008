//! What we encode: histories, results, declarations and requests of every dialect.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use telechir_protocol::{
    ComputerUseTool, Content, HostedTool, Message, ModelTurn, ShellTool, Tool, ToolResult,
};
use telechir_providers::conform::{Expect, Manifest};
use telechir_providers::{Conversation, Dialect, Envelope, History, RequestOptions, ToolOffer};

use super::python::Document;
use super::received;
use crate::matrix::common;
use crate::mutations::failed;

fn encoded(dialect: Dialect, messages: Vec<Message>) -> Value {
    let envelope = Envelope::List;
    let written = dialect.encode_history(&History { messages, envelope });
    written
        .unwrap_or_else(|error| panic!("{dialect}: failed to {error}"))
        .0
}

/// The common history, from every dialect.
pub(crate) fn histories(dialect: Dialect) -> Vec<Document> {
    let document = |from: &str, messages: Vec<Message>| Document {
        name: format!("{dialect}: the common history from {from}"),
        kind: "history".to_owned(),
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

/// The vectors that are histories, decoded and encoded.
pub(crate) fn vectors(dialect: Dialect) -> Vec<Document> {
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
            let is_selected =
                vector.dialect == Ok(dialect) && KINDS.contains(&vector.kind.as_str());
            if !is_selected || vector.expect == Expect::Invalid {
                continue;
            }
            let mut json: Value =
                serde_json::from_slice(&fs::read(folder.join(&vector.file)).unwrap()).unwrap();
            if json.get("headers").is_some() {
                json = json["body"].take();
            }
            let (history, _) = dialect.decode_history(json.to_string().as_bytes()).unwrap();
            all.push(Document {
                name: format!("{dialect}: {}", vector.file),
                kind: "history".to_owned(),
                json: dialect.encode_history(&history).unwrap().0,
            });
        }
    }
    all
}

/// The results of each turn of the common history.
pub(crate) fn answers(dialect: Dialect) -> Vec<Document> {
    let messages = common::common();
    let mut all = Vec::new();
    for pair in messages.windows(2) {
        let results: Vec<ToolResult> = pair[1].contents.iter().filter_map(result).collect();
        let turn = ModelTurn::new(pair[0].contents.clone()).unwrap();
        if results.is_empty() || turn.calls().is_empty() {
            continue;
        }
        let reply = dialect
            .encode_results(&turn.answer(results).unwrap())
            .unwrap();
        all.push(Document {
            name: format!("{dialect}: the results of message {}", all.len() * 2 + 1),
            kind: "answers".to_owned(),
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

pub(crate) fn tools(dialect: Dialect) -> Vec<Document> {
    let mut all = hosted(dialect);
    for environment in ["linux", "browser"] {
        let screen =
            json!({"display_width": 1280, "display_height": 800, "environment": environment});
        let screen: ComputerUseTool = serde_json::from_value(screen).unwrap();
        let function = json!({"type": "function", "name": "weather", "description": "Returns the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}});
        let mut tools = vec![Tool::ComputerUse(screen), Tool::Shell(ShellTool::default())];
        tools.extend(serde_json::from_value::<Tool>(function).ok());
        let offer = ToolOffer { tools, model: None };
        let declared = dialect.declare(&offer).unwrap().0.tools;
        all.push(Document {
            name: format!("{dialect}: tools for {environment}"),
            kind: "tools".to_owned(),
            json: declared.into(),
        });
    }
    all
}

/// Tools that some dialects have a type for and others declare as functions, one at a time. A tool
/// without either is reported and not declared.
fn hosted(dialect: Dialect) -> Vec<Document> {
    let kinds = ["text_editor", "memory", "apply_patch"].map(HostedTool::new);
    let mut tools: Vec<Tool> = kinds.into_iter().map(Tool::Hosted).collect();
    for kind in ["image_generation", "code_interpreter"] {
        tools.push(serde_json::from_value(json!({"type": kind})).unwrap());
    }
    let declared = |tool: Tool| {
        let offer = ToolOffer {
            tools: vec![tool.clone()],
            model: None,
        };
        let tools = dialect.declare(&offer).ok()?.0.tools;
        (!tools.is_empty()).then(|| Document {
            name: format!(
                "{dialect}: the tool {}",
                serde_json::to_string(&tool).unwrap()
            ),
            kind: "tools".to_owned(),
            json: tools.into(),
        })
    };
    tools.into_iter().filter_map(declared).collect()
}

/// An existing model for each dialect's service.
const MODELS: [(&str, &str); 12] = [
    ("anthropic-messages", "claude-opus-5-5"),
    ("openai-responses", "gpt-5.6-sol"),
    ("bedrock-converse", "us.anthropic.claude-opus-4-6-v1:0"),
    ("bedrock-messages", "us.anthropic.claude-opus-5-5-v1:0"),
    ("bedrock-invoke", "us.anthropic.claude-opus-4-6-v1:0"),
    ("google-generate-content", "gemini-3.8-flash"),
    ("google-interactions", "gemini-3.8-flash"),
    ("functions", "some-model"),
    ("functions-inline", "some-model"),
    ("mistral-chat", "mistral-medium-latest"),
    ("mistral-conversations", "mistral-medium-latest"),
    ("bedrock-agents", ""),
];

/// Requests of conversations: the first one, and one after each response of the vectors whose calls
/// got results.
pub(crate) fn requests(dialect: Dialect) -> Vec<Document> {
    let options = options(dialect);
    let Ok(first) = Conversation::new(dialect, options) else {
        return Vec::new();
    };
    let document = |name: &str, mut conversation: Conversation| Document {
        name: format!("{dialect}: the request {name}"),
        kind: "request".to_owned(),
        json: conversation.request().body,
    };
    let mut all = vec![document("with the task", first.clone())];
    for response in received::responses(dialect) {
        let mut conversation = first.clone();
        conversation.request();
        let bytes = response.json.to_string();
        let Ok(read) = conversation.push_response(bytes.as_bytes()) else {
            continue;
        };
        let results: Vec<ToolResult> = read.turn.calls().iter().map(failed).collect();
        if results.is_empty() {
            continue;
        }
        conversation
            .push_results(&read.turn.answer(results).unwrap())
            .unwrap();
        all.push(document(&format!("after {}", response.name), conversation));
    }
    all
}

fn options(dialect: Dialect) -> RequestOptions {
    let model = MODELS.iter().find(|(name, _)| *name == dialect.name());
    let model = model.map_or("", |(_, model)| model).to_owned();
    let screen = ComputerUseTool {
        display_width: Some(1280),
        display_height: Some(800),
        ..ComputerUseTool::default()
    };
    let offer = ToolOffer {
        tools: vec![Tool::ComputerUse(screen), Tool::Shell(ShellTool::default())],
        model: Some(model.clone()),
    };
    let declared = dialect.declare(&offer);
    RequestOptions {
        model,
        system: Some("Be careful.".to_owned()),
        task: "Put the report in order.".to_owned(),
        declaration: declared
            .map(|(declaration, _)| declaration)
            .unwrap_or_default(),
        ..RequestOptions::default()
    }
}
