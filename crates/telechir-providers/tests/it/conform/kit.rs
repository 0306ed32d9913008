//! Tests of the kit: manifest formats, and detection of errors.

use serde_json::{Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::{CheckResult, Expect, Manifest, Vector, VectorReport};

const DIALECT: Dialect = Dialect::AnthropicMessages;

fn check(kind: &str, expect: Expect, document: &Value) -> VectorReport {
    let vector = Vector {
        file: "a.json".to_owned(),
        kind: kind.to_owned(),
        expect,
        about: String::new(),
        dialect: Ok(DIALECT),
    };
    vector.check(document.to_string().as_bytes())
}

fn message() -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
}

#[test]
fn a_document_that_survives_a_round_trip_passes() {
    let row = check("history", Expect::Valid, &json!([message()]));
    assert!(row.is_good(), "{row:?}");
    let verdicts = (row.decode, row.encode, row.identity, row.stream);
    let passed = CheckResult::Passed;
    assert_eq!(
        verdicts,
        (passed, passed, passed, CheckResult::NotApplicable)
    );
    assert_eq!(row.survives_without_raw, Some(true));
}

#[test]
fn an_unreadable_document_fails() {
    let row = check("history", Expect::Valid, &json!({"no": "history"}));
    assert!(!row.is_good());
    assert_eq!(row.decode, CheckResult::Failed);
}

#[test]
fn an_accepted_mistake_fails() {
    let row = check("history", Expect::Invalid, &json!([message()]));
    assert_eq!(
        row.problems,
        ["expected a rejection, but the document was accepted"]
    );
}

#[test]
fn a_rejected_mistake_passes() {
    let row = check("history", Expect::Invalid, &json!({"no": "history"}));
    assert!(row.is_good(), "{row:?}");
    assert_eq!(row.refusals.len(), 1);
}

#[test]
fn an_unknown_kind_fails() {
    let row = check("hystory", Expect::Valid, &json!([message()]));
    assert!(
        row.problems[0].contains("unknown kind `hystory`"),
        "{row:?}"
    );
}

#[test]
fn a_document_for_sdk_types_is_not_checked() {
    let row = check("sdk:table", Expect::Valid, &json!([1]));
    assert!(row.is_good() && row.unchecked.is_some(), "{row:?}");
}

#[test]
fn a_truncated_stream_fails() {
    let stream =
        json!({"raw": "event: response.created\ndata: {\"type\":\"response.created\"}\n\n"});
    let mut vector = Vector {
        file: "a.json".to_owned(),
        kind: "stream".to_owned(),
        expect: Expect::Valid,
        about: String::new(),
        dialect: Ok(Dialect::OpenaiResponses),
    };
    let row = vector.check(stream.to_string().as_bytes());
    assert!(row.problems[0].contains("is missing"), "{row:?}");
    assert!(row.cuts > 40);
    vector.expect = Expect::Invalid;
    assert!(vector.check(stream.to_string().as_bytes()).is_good());
}

#[test]
fn reads_both_formats_of_a_manifest() {
    let own = json!({"dialect": "openai-responses", "files": [
        {"file": "a.json", "kind": "request", "expect": "valid", "about": "x"},
        {"file": "b.json", "kind": "request", "expect": "invalid", "about": "y", "dialect": "anthropic-messages"},
    ]});
    let vendor = json!({"sdk": "openai 3.51.0", "vectors": [
        {"file": "a.json", "kind": "request", "expect": "accept", "note": "x"},
        {"file": "b.json", "kind": "request", "expect": "reject"},
    ]});
    let read = |json: Value| {
        Manifest::read(json.to_string().as_bytes(), None)
            .unwrap()
            .vectors
    };
    let (own, vendor) = (read(own), read(vendor));
    assert_eq!(own[0], vendor[0]);
    assert_eq!(own[1].dialect, Ok(Dialect::AnthropicMessages));
    assert_eq!(
        (own[1].expect, vendor[1].expect),
        (Expect::Invalid, Expect::Valid)
    );
}

#[test]
fn a_kind_selects_the_dialect() {
    let kinds = [
        ("converse_anthropic", Dialect::BedrockConverse),
        ("invoke_model_body", Dialect::BedrockInvoke),
        ("conv_stream_request", Dialect::MistralConversations),
        ("chat_request", Dialect::MistralChat),
        ("ix_step", Dialect::GoogleInteractions),
        ("responses_stream", Dialect::OpenaiResponses),
    ];
    for (kind, dialect) in kinds {
        let manifest = json!({"sdk": "botocore 1.44.5", "files": [{"file": "a", "kind": kind}]});
        let read = Manifest::read(manifest.to_string().as_bytes(), None).unwrap();
        assert_eq!(read.vectors[0].dialect, Ok(dialect), "{kind}");
    }
}

#[test]
fn without_a_manifest_other_kinds_select_the_dialect() {
    let names = [
        "content__a.json",
        "cu_calls__b.json",
        "ix_step__c.json",
        "d",
    ];
    let read = |fallback| Manifest::from_names(names, fallback).vectors;
    let dialects: Vec<_> = read(None).into_iter().map(|one| one.dialect).collect();
    let google = Ok(Dialect::GoogleGenerateContent);
    assert_eq!(
        dialects,
        [google.clone(), google, Ok(Dialect::GoogleInteractions)]
    );
    assert_eq!(read(Some(DIALECT))[0].dialect, Ok(DIALECT));
}

#[test]
fn checks_single_parts_of_google() {
    let call = json!({"id": "1", "name": "click", "args": {"x": 1, "y": 2, "intent": "i"}});
    let answer = json!({"id": "1", "name": "click", "response": {"url": ""}});
    let function = json!({"name": "f", "description": "d"});
    for (kind, document) in [
        ("function_call", call),
        ("function_response", answer),
        ("function_declaration", function),
    ] {
        let vector = Vector {
            file: "a.json".to_owned(),
            kind: kind.to_owned(),
            expect: Expect::Valid,
            about: String::new(),
            dialect: Ok(Dialect::GoogleGenerateContent),
        };
        let row = vector.check(document.to_string().as_bytes());
        assert!(
            row.is_good() && row.encode == CheckResult::Passed,
            "{row:?}"
        );
    }
}

#[test]
fn rejects_an_unknown_expectation() {
    let manifest = json!({"files": [{"file": "a.json", "kind": "request", "expect": "perhaps"}]});
    let error = Manifest::read(manifest.to_string().as_bytes(), None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a.json: unknown `expect` value `perhaps`"),
        "{error}"
    );
}

#[test]
fn an_operation_without_a_dialect_is_not_checked() {
    let document =
        json!({"service": "bedrock-agentcore", "operation": "InvokeBrowser", "http": {"body": {}}});
    let row = check("wire_request", Expect::Valid, &document);
    let why = "no dialect for the operation \"InvokeBrowser\" of \"bedrock-agentcore\"";
    assert_eq!(row.unchecked.as_deref(), Some(why));
    assert!(row.is_good(), "{row:?}");
}

#[test]
fn checks_single_shapes_of_bedrock() {
    let call = json!({"toolUseId": "a", "name": "bash", "input": {"command": "ls"}});
    let payload = json!({"invocationId": "i", "invocationInputs": [{"functionInvocationInput": {
        "actionGroup": "g", "agentId": "A", "function": "bash",
        "parameters": [{"name": "command", "type": "string", "value": "ls"}],
    }}]});
    let long = json!({"toolUseId": "a".repeat(65), "name": "bash", "input": {}});
    for (kind, expect, document, dialect) in [
        (
            "shape:bedrock-runtime:ToolUseBlock",
            Expect::Valid,
            call.clone(),
            "bedrock-converse",
        ),
        (
            "shape:bedrock-runtime:ToolUseBlock",
            Expect::Invalid,
            long,
            "bedrock-converse",
        ),
        (
            "list:bedrock-runtime:ContentBlock",
            Expect::Valid,
            json!([{"text": "x"}, {"toolUse": call}]),
            "bedrock-converse",
        ),
        (
            "shape:bedrock-agent-runtime:ReturnControlPayload",
            Expect::Valid,
            payload.clone(),
            "bedrock-agents",
        ),
        (
            "list:bedrock-agent-runtime:ReturnControlPayload",
            Expect::Valid,
            json!([payload, payload]),
            "bedrock-agents",
        ),
    ] {
        let row = check(kind, expect, &document);
        assert!(row.is_good() && row.unchecked.is_none(), "{row:?}");
        assert_eq!(row.dialect, dialect, "{kind}");
    }
    let other = check(
        "shape:bedrock-agentcore:BrowserAction",
        Expect::Valid,
        &json!({}),
    );
    assert!(other.unchecked.is_some());
}
