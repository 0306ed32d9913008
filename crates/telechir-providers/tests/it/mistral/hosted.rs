//! Tools that the service executed itself.

use serde_json::json;
use telechir_protocol::{Content, Failure, FailureKind, FunctionResult, ToolResult};

use super::DIALECT;
use crate::documents::document;
use crate::functions::turn_of;

#[test]
fn code_that_ran_is_a_command_with_its_output() {
    let turn = turn_of(
        DIALECT,
        &document("mistral", "response__code_interpreter_2025.json"),
    );
    let [
        Content::CommandCall(call),
        Content::CommandResult(result),
        Content::Text(_),
        Content::HostedFile(file),
        Content::Usage(_),
    ] = turn.contents()
    else {
        panic!("{:?}", turn.contents())
    };
    assert_eq!(call.call_id, result.call_id);
    assert_eq!(call.inputs, [Content::text("1+1")]);
    assert_eq!(result.results, [Content::text("2\n")]);
    assert_eq!(file.media_type.as_deref(), Some("image/png"));
    assert_eq!(turn.calls(), []);
}

#[test]
fn a_generated_image_is_the_result_of_its_call() {
    let turn = turn_of(
        DIALECT,
        &document("mistral", "conv_response__image_generation.json"),
    );
    let [
        Content::ImageGenerationCall(call),
        Content::Text(_),
        Content::ImageGenerationResult(result),
        Content::Usage(_),
    ] = turn.contents()
    else {
        panic!("{:?}", turn.contents())
    };
    assert_eq!(call.inputs, [Content::text("an orange cat")]);
    assert_eq!(call.call_id, result.call_id);
    assert!(matches!(result.results[..], [Content::HostedFile(_)]));
}

#[test]
fn other_hosted_tools_are_not_executed_locally() {
    for (file, name) in [
        ("response__web_search.json", "web_search"),
        ("response__document_library.json", "document_library"),
    ] {
        let turn = turn_of(DIALECT, &document("mistral", file));
        let Content::FunctionCall(call) = &turn.contents()[0] else {
            panic!("no call")
        };
        assert_eq!(
            (call.name.as_str(), call.requires_local_execution),
            (name, false)
        );
        assert_eq!(turn.calls(), []);
    }
}

#[test]
fn unknown_entries_stay_unchanged() {
    let turn = turn_of(DIALECT, &document("mistral", "conv_response__handoff.json"));
    let Content::Other(other) = &turn.contents()[0] else {
        panic!("no entry")
    };
    assert_eq!(other.json["type"], "agent.handoff");
    assert_eq!(other.json["next_agent_name"], json!("operator"));
}

#[test]
fn a_call_of_an_unknown_type_gets_a_result() {
    let entry = json!({
        "type": "canvas.call", "id": "cc_1", "tool_call_id": "Zy3dE5gH7", "object": "entry",
        "strokes": [[1, 2]],
    });
    let document =
        json!({"object": "conversation.response", "conversation_id": "c", "outputs": [entry]});
    let dialect = DIALECT;
    let (turn, _) = dialect.decode_response(document.to_string()).unwrap();
    let failure = Failure::new(FailureKind::Unsupported, "No canvas.");
    let result = ToolResult::Function(FunctionResult {
        call_id: turn.calls()[0].call_id().cloned(),
        name: None,
        items: Vec::new(),
        result: None,
        error: Some(failure),
        meta: Default::default(),
    });
    let reply = dialect
        .encode_results(&turn.answer(vec![result]).unwrap())
        .unwrap();
    let expected = json!({
        "type": "function.result", "tool_call_id": "Zy3dE5gH7",
        "result": "Error (unsupported): No canvas.",
    });
    assert_eq!(reply.items, [expected]);
    let (history, _) = dialect.decode_history(document.to_string()).unwrap();
    assert_eq!(dialect.encode_history(&history).unwrap().0, document);
}
