//! Function calls, complete and in deltas.

use serde_json::json;
use telechir_protocol::{
    Arguments, FunctionCall, IncompleteCall, IncompleteCallError, IncompleteCalls,
};

fn piece(
    index: Option<u64>,
    id: Option<&str>,
    name: Option<&str>,
    arguments: &str,
) -> IncompleteCall {
    IncompleteCall {
        index,
        call_id: id.map(Into::into),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
    }
}

#[test]
fn pieces_make_a_call() {
    let call = IncompleteCall::default() + piece(Some(0), Some("c1"), Some("sum"), "");
    let call = (call.unwrap() + None).unwrap();
    let call = (call + piece(Some(0), None, None, r#"{"a":"#)).unwrap();
    let call = (call + piece(None, None, None, "1}")).unwrap();
    let expected = FunctionCall {
        call_id: Some("c1".into()),
        ..FunctionCall::new("sum", Arguments::Text(r#"{"a":1}"#.to_owned()))
    };
    assert_eq!(call.complete(), Ok(expected));
}

#[test]
fn deltas_of_two_calls_are_not_mixed() {
    let pieces = [
        piece(Some(0), Some("a"), Some("one"), "{"),
        piece(Some(1), Some("b"), Some("two"), "{"),
        piece(Some(0), None, None, "\"x\":1}"),
        piece(None, Some("b"), None, "\"y\":2"),
        piece(None, None, None, "}"),
        piece(Some(0), Some("c"), Some("three"), ""),
    ];
    let mut calls = IncompleteCalls::default();
    for piece in pieces {
        calls.push(piece).unwrap();
    }
    let calls = calls.complete().unwrap();
    let seen: Vec<_> = calls
        .iter()
        .map(|c| (c.name.as_str(), c.arguments_as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("one", r#"{"x":1}"#.to_owned()),
            ("two", r#"{"y":2}"#.to_owned()),
            ("three", String::new())
        ]
    );
    assert_eq!(calls[2].arguments_as_value().unwrap(), json!({}));
}

#[test]
fn complete_calls_without_ids_are_not_mixed() {
    let mut calls = IncompleteCalls::default();
    calls.push(piece(None, None, Some("sum"), "{}")).unwrap();
    calls.push(piece(None, None, Some("sum"), "{}")).unwrap();
    assert_eq!(calls.as_slice().len(), 2);
}

#[test]
fn deltas_of_different_calls_are_refused() {
    let mut call = piece(None, Some("a"), Some("sum"), "{");
    let before = call.clone();
    let error = call.merge(piece(None, Some("b"), None, "}")).unwrap_err();
    assert_eq!(error.to_string(), "merge deltas of two calls, a and b");
    let error = call
        .merge(piece(None, Some("a"), Some("product"), "}"))
        .unwrap_err();
    assert!(matches!(error, IncompleteCallError::DifferentCalls { .. }));
    assert_eq!(call, before);
}

#[test]
fn an_incomplete_call_is_refused() {
    assert_eq!(
        IncompleteCall::default().complete(),
        Err(IncompleteCallError::NoName)
    );
    let cut = piece(None, None, Some("sum"), r#"{"a":"#);
    let name = "sum".to_owned();
    assert_eq!(
        cut.complete(),
        Err(IncompleteCallError::BadArguments { name })
    );
}

#[test]
fn partial_arguments_are_available() {
    let partial = |text: &str| piece(None, None, None, text).partial_arguments();
    assert_eq!(
        partial(r#"{"a": [1, 2, {"b": "he"#),
        Some(json!({"a": [1, 2, {"b": "he"}]}))
    );
    assert_eq!(partial(r#"{"a": 1, "b"#), Some(json!({"a": 1})));
    assert_eq!(partial(r#"{"a": 1, "b": tr"#), Some(json!({"a": 1})));
    assert_eq!(partial(r#"{"a": "x\"#), Some(json!({"a": "x"})));
    assert_eq!(partial(r#"{"a": "}]{"#), Some(json!({"a": "}]{"})));
    assert_eq!(partial("{"), Some(json!({})));
    assert_eq!(partial(""), None);
    assert_eq!(partial("}"), None);
}

#[test]
fn arguments_are_retained_verbatim() {
    let spaced = r#"{ "a" : 1.50 }"#;
    let call = FunctionCall::new("sum", Arguments::Text(spaced.to_owned()));
    assert_eq!(call.arguments_as_str(), spaced);
    assert_eq!(call.arguments_as_value().unwrap(), json!({"a": 1.5}));
    let broken = FunctionCall::new("sum", Arguments::Text("{".to_owned()));
    assert!(broken.arguments_as_value().is_err());
}
