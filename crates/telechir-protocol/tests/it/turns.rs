//! A turn is answered if and only if each of its calls has exactly one result.

use serde_json::json;
use telechir_protocol::{
    CallId, ComputerResult, Content, IncompleteTurn, InvalidTurn, ModelTurn, ShellResult, ToolCall,
    ToolResult,
};

use crate::read;

fn contents() -> Vec<Content> {
    read(json!([
        {"type": "text", "text": "Let me look."},
        {"type": "computer_call", "call_id": "a", "action": "screenshot"},
        {"type": "shell_call", "call_id": "b", "commands": ["ls"]}
    ]))
}

fn turn() -> ModelTurn {
    ModelTurn::new(contents()).unwrap()
}

fn seen(id: &str) -> ToolResult {
    ToolResult::Computer(ComputerResult::new(id))
}

fn ran(id: &str) -> ToolResult {
    ToolResult::Shell(ShellResult::new(id, vec![]))
}

#[test]
fn results_come_out_in_the_order_of_the_calls() {
    let answered = turn().answer(vec![ran("b"), seen("a")]).unwrap();
    assert_eq!(answered.results(), [seen("a"), ran("b")]);
    let ids: Vec<_> = answered
        .pairs()
        .map(|(call, _)| call.call_id().cloned())
        .collect();
    assert_eq!(ids, [Some(CallId::from("a")), Some(CallId::from("b"))]);
    assert_eq!(answered.turn().contents().len(), 3);
}

#[test]
fn a_turn_with_anything_but_one_result_a_call_is_not_answered() {
    let unanswered = |call_id: &str| IncompleteTurn::Unanswered {
        call_id: call_id.into(),
    };
    let unasked = |call_id: &str| IncompleteTurn::Unasked {
        call_id: call_id.into(),
    };
    let wrong = |call_id: &str| IncompleteTurn::WrongKind {
        call_id: call_id.into(),
    };
    for (results, error) in [
        (vec![], unanswered("a")),
        (vec![seen("a")], unanswered("b")),
        (vec![seen("a"), ran("b"), seen("a")], unasked("a")),
        (vec![seen("a"), ran("b"), ran("c")], unasked("c")),
        (vec![ran("a"), ran("b")], wrong("a")),
    ] {
        assert_eq!(turn().answer(results), Err(error));
    }
}

#[test]
fn of_calls_with_one_id_the_first_is_executed_and_each_is_answered() {
    let mut contents = contents();
    contents.push(read(
        json!({"type": "shell_call", "call_id": "a", "commands": ["rm notes"]}),
    ));
    let turn = ModelTurn::new(contents).unwrap();
    let exceptions: Vec<Option<String>> = turn.calls().iter().map(exception).collect();
    assert_eq!(exceptions[..2], [None, None]);
    assert!(
        exceptions[2]
            .as_ref()
            .is_some_and(|reason| reason.contains("id a"))
    );
    // Each result goes to the call of its position.
    let results = vec![seen("a"), ran("b"), ran("a")];
    let answered = turn.clone().answer(results.clone()).unwrap();
    assert_eq!(answered.results(), results);
    assert_eq!(
        turn.answer(vec![seen("a"), ran("b")]),
        Err(IncompleteTurn::Unanswered {
            call_id: "a".into()
        })
    );
    // The calls stay as the model sent them.
    assert!(answered.pairs().all(|(call, _)| exception(&call).is_none()));
    let (single, repeated) = answered.without_repeated_ids().unwrap();
    assert_eq!(repeated, ["a".into()]);
    assert_eq!(single.results(), &results[..2]);
    assert_eq!(single.pairs().count(), 2);
    assert_eq!(single.without_repeated_ids(), None);
}

fn exception(call: &ToolCall) -> Option<String> {
    match call {
        ToolCall::Computer(call) => call.exception.clone(),
        ToolCall::Shell(call) => call.exception.clone(),
        ToolCall::Edit(call) => call.exception.clone(),
        ToolCall::Function(call) => call.exception.clone(),
    }
}

#[test]
fn a_call_without_an_id_makes_no_turn() {
    let nameless = read(json!({"type": "function_call", "name": "sum", "arguments": "{}"}));
    assert_eq!(
        ModelTurn::new(vec![nameless]),
        Err(InvalidTurn::MissingCallId {
            name: "sum".to_owned()
        })
    );
    let empty = read(json!({"type": "shell_call", "call_id": "", "commands": ["ls"]}));
    let refused = ModelTurn::new(vec![empty]).unwrap_err();
    assert!(matches!(refused, InvalidTurn::MissingCallId { .. }));
}

#[test]
fn hosted_calls_are_not_answered() {
    let turn = ModelTurn::new(read(json!([
        {"type": "shell_call", "call_id": "a", "commands": ["ls"],
            "environment": {"type": "hosted", "container_id": "c_1"}},
        {"type": "function_call", "call_id": "b", "name": "search", "arguments": "{}",
            "requires_local_execution": false},
        {"type": "function_call", "call_id": "c", "name": "sum", "arguments": "{}"},
        {"type": "function_result", "call_id": "c", "result": 3},
        {"type": "edit_call", "call_id": "d", "tool": "patch", "operations": []}
    ])))
    .unwrap();
    let calls = turn.calls();
    assert!(matches!(calls[..], [ToolCall::Edit(_)]), "{calls:?}");
    assert_eq!(calls[0].as_tool_call_like().tool_name(), "edit_call");
}
