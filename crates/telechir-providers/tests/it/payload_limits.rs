//! Malicious input, the same for every dialect: deeply nested, huge or duplicated values, wrong
//! types, unknown values, missing fields. It ends in an error with a path or in a call with an
//! error result; no content is dropped, and memory stays bounded.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other JSON values and dialects are treated alike"
)]

mod bodies;
mod meter;
mod parses;
mod shapes;

use serde_json::{Value, json};
use telechir_protocol::{ToolCall, ToolResult};
use telechir_providers::{DecodeError, Dialect};

use crate::mutations::failed;
use shapes::{Call, ResponsePart, response};

/// The id of every call here; ids of an agent's calls are derived from it.
const ID: &str = "i-1";

/// Tools of ours in some dialect, and one that is unknown.
const TOOLS: [&str; 12] = [
    "look_up",
    "bash",
    "shell",
    "computer",
    "computer_action",
    "click_at",
    "str_replace_based_edit_tool",
    "shell_session",
    "browser",
    "execute_browser",
    "memory",
    "apply_patch",
];

fn call(dialect: Dialect, name: &str, arguments: Value) -> Value {
    response(
        dialect,
        &[ResponsePart::Call(Call::new(ID, name, arguments))],
    )
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

/// Whether the error has something to look for in the document.
fn names_a_path(error: &str) -> bool {
    error.contains(['`', '[', '"']) || error.contains(|c: char| c.is_ascii_digit())
}

/// Decodes a response and checks the result. Returns the number of its calls, or what is wrong.
fn checked(dialect: Dialect, document: &str) -> Result<Option<usize>, String> {
    let turn = match dialect.decode_response(document) {
        Err(DecodeError::ProviderError { .. }) => return Ok(None),
        Err(error) if names_a_path(&error.to_string()) => return Ok(None),
        Err(error) => return Err(format!("the error names no path: {error}")),
        Ok((turn, _)) => turn,
    };
    let calls = turn.calls();
    let results = calls.iter().map(failed).collect();
    let answered = turn.answer(results).map_err(|error| error.to_string())?;
    let reply = dialect.encode_results(&answered);
    let reply = reply.map_err(|error| format!("the results cannot be encoded: {error}"))?;
    if !calls.is_empty() && reply.items.is_empty() {
        return Err("its call has no result".to_owned());
    }
    let (history, report) = match dialect.decode_history(document) {
        Err(error) if names_a_path(&error.to_string()) => return Ok(Some(calls.len())),
        Err(error) => return Err(format!("the error names no path: {error}")),
        Ok(read) => read,
    };
    let Ok((written, losses)) = dialect.encode_history(&history) else {
        return Ok(Some(calls.len()));
    };
    if report.is_lossless() && losses.is_lossless() {
        let again = dialect.decode_history(written.to_string());
        let (again, _) = again.map_err(|error| format!("it encoded {written}: {error}"))?;
        if again.messages != history.messages {
            return Err(format!("it is encoded differently: {written}"));
        }
    }
    Ok(Some(calls.len()))
}

/// Checks all cases and prints the failed ones.
fn all_hold(cases: impl Iterator<Item = (Dialect, Value)>, calls: Option<usize>) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (dialect, document) in cases {
        let document = document.to_string();
        count += 1;
        let problem = match checked(dialect, &document) {
            Err(problem) => problem,
            Ok(read) if calls.is_none() || read == calls => continue,
            Ok(read) => format!("{read:?} calls"),
        };
        wrong.push(format!("{dialect}: {document:.600}: {problem:.600}"));
    }
    assert!(count > 100, "{count} cases");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Values that arguments must not have.
fn odd_arguments() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(7),
        json!(""),
        json!("text"),
        json!("{\"x\": NaN}"),
        json!("[".repeat(1_000)),
        json!([]),
        json!([1, {"action": "click"}]),
        json!({}),
        json!({"a": nested(90)}),
        json!({"command": 7}),
        json!({"command": ["ls", 7]}),
        json!({"commands": [null]}),
        json!({"command": "ls", "timeout_ms": 1e308}),
        json!({"command": "ls", "restart": "perhaps"}),
        json!({"action": "levitate"}),
        json!({"action": ["click"]}),
        json!({"action": "click", "coordinate": "there"}),
        json!({"action": "click", "coordinate": [1e308, -1e308]}),
        json!({"action": "click", "coordinate": [u64::MAX, i64::MIN]}),
        json!({"action": "left_click", "coordinate": [1]}),
        json!({"action": "type"}),
        json!({"action": "type", "text": ["a"]}),
        json!({"action": "wait", "duration": 1e300}),
        json!({"action": "wait", "duration": -1}),
        json!({"action": "key", "text": "\u{0}+\u{202e}"}),
        json!({"action": "drag", "path": []}),
        json!({"action": "scroll", "scroll_direction": "sideways", "scroll_amount": 1e18}),
        json!({"x": 1e308, "y": "\u{0}"}),
        json!({"command": "view", "path": 7}),
        json!({"command": "insert", "path": "/a", "insert_line": -3}),
        json!({"operation": {"type": "update_file"}}),
    ]
}

#[test]
fn a_call_with_invalid_arguments_gets_an_error_result() {
    let odd = odd_arguments();
    let cases = Dialect::ALL.into_iter().flat_map(|dialect| {
        let of = |name: &'static str| {
            odd.iter()
                .map(move |odd| (dialect, call(dialect, name, odd.clone())))
        };
        TOOLS.into_iter().flat_map(of).collect::<Vec<_>>()
    });
    all_hold(cases, Some(1));
}

/// The paths of all values inside a document.
fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
    let mut visit = |name: &str, value: &Value| {
        let path = format!("{path}/{name}");
        all.push(path.clone());
        paths(value, &path, all);
    };
    match value {
        Value::Array(items) => (0..)
            .zip(items)
            .for_each(|(at, item): (usize, _)| visit(&at.to_string(), item)),
        Value::Object(members) => members.iter().for_each(|(name, value)| visit(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without(document: &Value, path: &str) -> Value {
    let mut document = document.clone();
    let (parent, name) = path.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.shift_remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    document
}

/// A response with a text and a call.
fn complete(dialect: Dialect) -> Value {
    let call = Call::new(ID, "look_up", json!({"word": "moon"}));
    let parts = [
        ResponsePart::Text("I look.".to_owned()),
        ResponsePart::Call(call),
    ];
    let parts = match dialect {
        // Its responses contain calls only.
        Dialect::BedrockAgents => &parts[1..],
        _ => &parts[..],
    };
    response(dialect, parts)
}

#[test]
fn a_response_without_a_field_is_rejected_or_preserved() {
    let cases = Dialect::ALL.into_iter().flat_map(|dialect| {
        let document = complete(dialect);
        let mut all = Vec::new();
        paths(&document, "", &mut all);
        let removed = all
            .into_iter()
            .map(move |path| (dialect, without(&document, &path)));
        removed.collect::<Vec<_>>()
    });
    all_hold(cases, None);
}

#[test]
fn a_field_with_an_invalid_value_is_rejected_or_preserved() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("levitate"),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!([{}]),
    ];
    let cases = Dialect::ALL.into_iter().flat_map(|dialect| {
        let document = complete(dialect);
        let mut all = Vec::new();
        paths(&document, "", &mut all);
        let mut changed = Vec::new();
        for path in all {
            for odd in &odd {
                let mut document = document.clone();
                *document.pointer_mut(&path).unwrap() = odd.clone();
                changed.push((dialect, document));
            }
        }
        changed
    });
    all_hold(cases, None);
}

#[test]
fn a_response_of_another_dialect_is_rejected_or_preserved() {
    let pairs = Dialect::ALL
        .into_iter()
        .flat_map(|dialect| Dialect::ALL.map(|other| (dialect, complete(other))));
    all_hold(pairs, None);
}

/// Services that count results, or find them by their position, get one for each call.
const TWO_RESULTS: [Dialect; 8] = [
    Dialect::GoogleGenerateContent,
    Dialect::GoogleInteractions,
    Dialect::AgentFramework,
    Dialect::Functions,
    Dialect::FunctionsInline,
    Dialect::MistralChat,
    Dialect::MistralConversations,
    Dialect::Neutral,
];

#[test]
fn calls_with_one_id_are_answered_in_their_order_as_often_as_the_service_accepts() {
    for dialect in Dialect::ALL {
        let calls = ["moon", "sun"].map(|word| Call::new(ID, "look_up", json!({"word": word})));
        let document = response(dialect, &calls.map(ResponsePart::Call));
        let decoded = dialect.decode_response(document.to_string());
        let (turn, _) = decoded.unwrap_or_else(|error| panic!("{dialect}: {error}"));
        let calls = turn.calls();
        assert_eq!(calls.len(), 2, "{dialect}");
        let results = calls.iter().zip(["It is full.", "Not executed."]);
        let results = results.map(|(call, text)| result_of(call, text));
        let reply = dialect
            .encode_results(&turn.clone().answer(results.collect()).unwrap())
            .unwrap_or_else(|error| panic!("{dialect}: {error}"));
        let written = json!(reply.items).to_string();
        let first = written.find("It is full.");
        assert!(first.is_some(), "{dialect}: {written}");
        // Calls of one invocation have no ids; their positions identify them.
        let is_distinct = calls[0].call_id() != calls[1].call_id();
        assert_eq!(is_distinct, dialect == Dialect::BedrockAgents);
        let exceptions = calls.iter().map(|call| match call {
            ToolCall::Function(call) => call.exception.is_some(),
            _ => panic!("{dialect}: {call:?}"),
        });
        assert_eq!(exceptions.collect::<Vec<_>>(), [false, !is_distinct]);
        let second = written.find("Not executed.");
        let losses = reply.report.losses.iter();
        let reported = losses.filter(|loss| loss.what.contains(ID)).count();
        if is_distinct || TWO_RESULTS.contains(&dialect) {
            assert!(first < second, "{dialect}: {written}");
            assert_eq!(reported, 0, "{dialect}");
        } else {
            assert_eq!((second, reported), (None, 1), "{dialect}: {written}");
        }
    }
}

fn result_of(call: &ToolCall, text: &str) -> ToolResult {
    let result = json!({"call_id": call.call_id(), "name": "look_up", "result": text});
    ToolResult::Function(serde_json::from_value(result).unwrap())
}

#[test]
fn excessive_nesting_is_an_error_with_its_position() {
    for dialect in Dialect::ALL {
        for (open, close) in [("[", "]"), ("{\"content\":", "}"), ("[{\"parts\":", "}]")] {
            let document = format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
            for error in [
                dialect.decode_response(&document).map(|_| ()),
                dialect.decode_history(&document).map(|_| ()),
            ] {
                let error = error.unwrap_err().to_string();
                assert!(error.contains("at line 1 column"), "{dialect}: {error}");
            }
        }
    }
}

#[test]
fn invalid_numbers_are_an_error_with_their_position() {
    for dialect in Dialect::ALL {
        for number in ["NaN", "Infinity", "-", "1e999", "0x10", "00"] {
            let document = call(dialect, "look_up", json!({"x": "HERE"})).to_string();
            for mark in ["\"HERE\"", "\\\"HERE\\\""] {
                let document = document.replace(mark, number);
                // Where arguments are a text, the document is valid JSON and the call has the
                // error.
                if let Err(problem) = checked(dialect, &document) {
                    panic!("{dialect}: {document}: {problem}");
                }
            }
        }
    }
}
