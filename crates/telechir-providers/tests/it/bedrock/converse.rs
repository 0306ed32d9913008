//! Tests of the dialect `bedrock-converse`.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, CommandOutput, ComputerResult, Content, Failure, FailureKind, ShellResult, ToolResult,
};
use telechir_providers::Dialect;

use super::{PNG, converse, image, read, reply};

const DIALECT: Dialect = Dialect::BedrockConverse;

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
}

#[test]
fn a_computer_call_gets_an_image_result() {
    let input = json!({"action": "left_click", "coordinate": [512, 384]});
    let response = converse(&json!([{"text": "I click."}, call("tooluse_1", "computer", input)]));
    let turn = read(DIALECT, &response);
    let [
        Content::Text(_),
        Content::ComputerCall(computer_call),
        Content::Usage(usage),
    ] = turn.contents()
    else {
        panic!("{turn:?}")
    };
    assert!(matches!(computer_call.actions[..], [Action::Click { .. }]));
    assert_eq!(usage.total_token_count, Some(19));
    let result = ToolResult::Computer(ComputerResult::ok("tooluse_1", image()));
    let reply = reply(DIALECT, &response, vec![result]).unwrap();
    let image = json!({"image": {"format": "png", "source": {"bytes": PNG}}});
    let expected = json!({"toolResult": {"toolUseId": "tooluse_1", "content": [image]}});
    assert_eq!((reply.items, reply.report.losses), (vec![expected], vec![]));
}

#[test]
fn failures_and_shell_results_have_their_own_format() {
    let response = converse(&json!([
        call("a", "computer", json!({"action": "key", "text": "Return"})),
        call("b", "bash", json!({"command": "false"})),
    ]));
    let denied = Failure::new(FailureKind::Denied, "The user said no.");
    let output = CommandOutput {
        stdout: "x\n".to_owned(),
        ..CommandOutput::default()
    };
    let results = vec![
        ToolResult::Computer(ComputerResult::err("a", denied)),
        ToolResult::Shell(ShellResult::new("b", vec![output])),
    ];
    let reply = reply(DIALECT, &response, results).unwrap();
    let refused = json!({"toolResult": {"toolUseId": "a", "content": [{"text": "The user said no."}], "status": "error"}});
    assert_eq!(reply.items[0], refused);
    assert_eq!(reply.items[1]["toolResult"]["toolUseId"], "b");
    let text = reply.items[1]["toolResult"]["content"][0]["text"].as_str();
    assert!(text.unwrap().starts_with("x\n"), "{text:?}");
}

#[test]
fn a_search_result_of_the_client_is_the_other_apis_block() {
    let texts = json!([{"text": "Gulls nest on the east pier."}]);
    let members = json!({"source": "https://harbour.example/birds", "title": "Birds",
        "content": texts, "citations": {"enabled": true}});
    let converse = json!([
        {"role": "user", "content": [{"searchResult": members}, {"text": "Where?"}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "tooluse_1", "name": "look_up", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "tooluse_1",
            "content": [{"searchResult": members}]}}]},
    ]);
    let from = Dialect::BedrockConverse;
    let (read, _) = from.decode_history(converse.to_string()).unwrap();
    let (written, report) = Dialect::AnthropicMessages.encode_history(&read).unwrap();
    let mut block = members.clone();
    block["type"] = "search_result".into();
    block["content"][0]["type"] = "text".into();
    assert_eq!(written[0]["content"][0], block);
    assert_eq!(written[2]["content"][0]["content"][0], block);
    assert!(report.is_lossless(), "{report:?}");
    let (read, _) = Dialect::AnthropicMessages
        .decode_history(written.to_string())
        .unwrap();
    let (back, report) = from.encode_history(&read).unwrap();
    assert_eq!(back, converse);
    assert!(report.is_lossless(), "{report:?}");
}

#[test]
fn a_failed_tool_of_an_mcp_server_stays_failed() {
    let messages = json!([
        {"role": "user", "content": "Count the gulls."},
        {"role": "assistant", "content": [
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "count", "server_name": "harbour",
                "input": {"pier": "east"}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": true,
                "content": [{"type": "text", "text": "The camera is dark."}]},
            {"type": "text", "text": "I could not."},
        ]},
    ]);
    let (read, _) = Dialect::AnthropicMessages
        .decode_history(messages.to_string())
        .unwrap();
    let (written, _) = Dialect::BedrockConverse.encode_history(&read).unwrap();
    let text = |at: usize| written[1]["content"][at]["text"].as_str().unwrap();
    assert_eq!(text(0), r#"[mcp_tool_use harbour count {"pier":"east"}]"#);
    assert!(
        text(1).starts_with("[mcp_tool_result failed: "),
        "{written}"
    );
    assert!(text(1).contains("The camera is dark."));
}

#[test]
fn a_document_has_its_context_and_citations_in_both_apis() {
    let pdf = json!({"bytes": "JVBERi0xLjcK"});
    let document = |name: &str, format: Value, source: &Value| {
        let mut document = json!({"name": name, "source": source,
            "context": "Written by the harbour master.", "citations": {"enabled": true}});
        if !format.is_null() {
            document["format"] = format;
        }
        json!({"document": document})
    };
    let text = json!({"text": "Gulls nest on the east pier."});
    let parts = json!({"content": [{"text": "Gulls nest."}, {"text": "Terns do not."}]});
    let forms = [
        document("Birds", "pdf".into(), &pdf),
        document("Birds (2)", "txt".into(), &text),
        document("Birds 3", Value::Null, &parts),
    ];
    // Forms of Converse that Anthropic's do not have.
    let others = [
        document("Birds 4", "html".into(), &text),
        document("Birds 5", Value::Null, &text),
        document("Birds 6", "txt".into(), &parts),
        document("Birds_7.pdf", "pdf".into(), &pdf),
    ];
    let history = |blocks: &[Value]| {
        let mut blocks = blocks.to_vec();
        blocks.push(json!({"text": "Where?"}));
        json!([{"role": "user", "content": blocks}])
    };
    let from = Dialect::BedrockConverse;
    let (read, _) = from.decode_history(history(&forms).to_string()).unwrap();
    let (written, report) = Dialect::AnthropicMessages.encode_history(&read).unwrap();
    assert!(report.is_lossless(), "{report:?}");
    let block = |title: &str, source: Value| {
        json!({"type": "document", "source": source, "title": title,
            "context": "Written by the harbour master.", "citations": {"enabled": true}})
    };
    let own = [
        block(
            "Birds",
            json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjcK"}),
        ),
        block(
            "Birds (2)",
            json!({"type": "text", "media_type": "text/plain", "data": "Gulls nest on the east pier."}),
        ),
        block(
            "Birds 3",
            json!({"type": "content", "content": [
            {"type": "text", "text": "Gulls nest."}, {"type": "text", "text": "Terns do not."}]}),
        ),
    ];
    assert_eq!(written[0]["content"].as_array().unwrap()[..3], own);
    let (read, _) = Dialect::AnthropicMessages
        .decode_history(written.to_string())
        .unwrap();
    let (back, report) = from.encode_history(&read).unwrap();
    assert_eq!(back, history(&forms));
    assert!(report.is_lossless(), "{report:?}");
    let (read, _) = from.decode_history(history(&others).to_string()).unwrap();
    assert_eq!(from.encode_history(&read).unwrap().0, history(&others));
}

#[test]
fn a_document_that_converse_cannot_hold_is_named() {
    let document =
        |source: Value| json!({"type": "document", "title": "Tide_table.v2", "source": source});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let messages = json!([{"role": "user", "content": [
        document(json!({"type": "base64", "media_type": "application/zip", "data": "AAECAwQF"})),
        document(json!({"type": "content", "content": [{"type": "text", "text": "High at six."}, image]})),
        document(json!({"type": "content", "content": "Low at noon."})),
        {"type": "text", "text": "When?"},
    ]}]);
    let (read, _) = Dialect::AnthropicMessages
        .decode_history(messages.to_string())
        .unwrap();
    let (written, report) = Dialect::BedrockConverse.encode_history(&read).unwrap();
    let whats: Vec<&str> = report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect();
    for part in ["application/zip", "image in a document", "Tide_table.v2"] {
        assert!(
            whats.iter().any(|what| what.contains(part)),
            "{part}: {whats:?}"
        );
    }
    let sources: Vec<&Value> = written[0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block.pointer("/document/source"))
        .collect();
    assert_eq!(
        sources,
        [
            &json!({"content": [{"text": "High at six."}]}),
            &json!({"content": [{"text": "Low at noon."}]}),
        ]
    );
}

#[test]
fn a_table_of_another_provider_is_a_document_of_its_format() {
    let messages = json!([{"role": "user", "content": [
        {"type": "input_file", "filename": "tides",
            "file_data": "data:text/csv;base64,aGlnaCxsb3cKNiwxMgo="},
        {"type": "input_text", "text": "When?"},
    ]}]);
    let (read, _) = Dialect::OpenaiResponses
        .decode_history(messages.to_string())
        .unwrap();
    let (written, _) = Dialect::BedrockConverse.encode_history(&read).unwrap();
    assert_eq!(
        written[0]["content"][0],
        json!({"document": {"format": "csv", "name": "tides",
            "source": {"bytes": "aGlnaCxsb3cKNiwxMgo="}}})
    );
}

#[test]
fn members_of_calls_and_results_that_are_null_need_no_tool_config() {
    for name in ["toolUse", "toolResult"] {
        let content = json!([{"text": "Good morning.", name: null}]);
        let request = json!({
            "modelId": "amazon.nova-pro-v1:0",
            "messages": [{"role": "user", "content": content}],
        });
        let read = super::history(Dialect::BedrockConverse, &request);
        let (again, report) = Dialect::BedrockConverse.encode_history(&read).unwrap();
        assert_eq!((again, report.losses), (request, vec![]));
    }
}
