//! Tools that the service executed itself.

use serde_json::json;
use telechir_protocol::Content;

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
