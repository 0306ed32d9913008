//! The kit itself: what it takes for a manifest, and that it sees what is wrong.

use serde_json::{Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::{Expect, Manifest, Row, Vector, Verdict};

const DIALECT: Dialect = Dialect::AnthropicMessages;

fn check(kind: &str, expect: Expect, document: &Value) -> Row {
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
fn a_document_that_comes_back_passes() {
    let row = check("history", Expect::Valid, &json!([message()]));
    assert!(row.is_good(), "{row:?}");
    let verdicts = (row.decode, row.encode, row.identity, row.stream);
    let passed = Verdict::Passed;
    assert_eq!(verdicts, (passed, passed, passed, Verdict::NotApplicable));
    assert_eq!(row.bare, Some(true));
}

#[test]
fn a_document_that_is_no_history_fails() {
    let row = check("history", Expect::Valid, &json!({"no": "history"}));
    assert!(!row.is_good());
    assert_eq!(row.decode, Verdict::Failed);
}

#[test]
fn a_mistake_that_is_let_through_fails() {
    let row = check("history", Expect::Invalid, &json!([message()]));
    assert_eq!(row.problems, ["it should be refused, and was let through"]);
}

#[test]
fn a_refused_mistake_passes() {
    let row = check("history", Expect::Invalid, &json!({"no": "history"}));
    assert!(row.is_good(), "{row:?}");
    assert_eq!(row.refusals.len(), 1);
}

#[test]
fn an_unknown_kind_is_no_pass() {
    let row = check("hystory", Expect::Valid, &json!([message()]));
    assert!(
        row.problems[0].contains("no kind `hystory` is known"),
        "{row:?}"
    );
}

#[test]
fn a_document_for_the_vendors_types_alone_is_not_checked() {
    let row = check("sdk:table", Expect::Valid, &json!([1]));
    assert!(row.is_good() && row.unchecked.is_some(), "{row:?}");
}

#[test]
fn a_stream_that_is_cut_off_is_no_response() {
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
    assert!(row.problems[0].contains("did not come"), "{row:?}");
    assert!(row.cuts > 40);
    vector.expect = Expect::Invalid;
    assert!(vector.check(stream.to_string().as_bytes()).is_good());
}

#[test]
fn a_manifest_may_be_spelled_in_two_ways() {
    let ours = json!({"dialect": "openai-responses", "files": [
        {"file": "a.json", "kind": "request", "expect": "valid", "about": "x"},
        {"file": "b.json", "kind": "request", "expect": "invalid", "about": "y", "dialect": "anthropic-messages"},
    ]});
    let theirs = json!({"sdk": "openai 3.51.0", "vectors": [
        {"file": "a.json", "kind": "request", "expect": "accept", "note": "x"},
        {"file": "b.json", "kind": "request", "expect": "reject"},
    ]});
    let read = |json: Value| {
        Manifest::read(json.to_string().as_bytes(), None)
            .unwrap()
            .vectors
    };
    let (ours, theirs) = (read(ours), read(theirs));
    assert_eq!(ours[0], theirs[0]);
    assert_eq!(ours[1].dialect, Ok(Dialect::AnthropicMessages));
    assert_eq!(
        (ours[1].expect, theirs[1].expect),
        (Expect::Invalid, Expect::Valid)
    );
}

#[test]
fn a_manifest_with_an_unknown_word_is_refused() {
    let manifest = json!({"files": [{"file": "a.json", "kind": "request", "expect": "perhaps"}]});
    let error = Manifest::read(manifest.to_string().as_bytes(), None).unwrap_err();
    assert!(
        error.to_string().contains("a.json expects `perhaps`"),
        "{error}"
    );
}

#[test]
fn an_operation_that_no_dialect_speaks_is_not_checked() {
    let document =
        json!({"service": "bedrock-agentcore", "operation": "InvokeBrowser", "http": {"body": {}}});
    let row = check("wire_request", Expect::Valid, &document);
    let why = "no dialect speaks the operation \"InvokeBrowser\" of \"bedrock-agentcore\"";
    assert_eq!(row.unchecked.as_deref(), Some(why));
    assert!(row.is_good(), "{row:?}");
}
