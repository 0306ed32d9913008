//! Code that a provider ran and that failed: no other provider sees a success.

use std::str::FromStr as _;

use serde_json::{Value, json};
use telechir_protocol::Content;
use telechir_providers::Dialect;
use telechir_providers::conform::without_raw;

/// Failed code by its dialect, and what the text of every other dialect contains.
fn histories() -> Vec<(&'static str, &'static str, Value)> {
    let anthropic = |result: Value| {
        json!([
            {"role": "user", "content": "Compile it."},
            {"role": "assistant", "content": [
                {"type": "server_tool_use", "id": "srvtoolu_9", "name": "bash_code_execution",
                 "input": {"command": "make"}},
                {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_9", "content": result},
                {"type": "text", "text": "It does not compile."},
            ]},
        ])
    };
    let google = |outcome: &str| {
        json!([
            {"role": "user", "parts": [{"text": "Compute it."}]},
            {"role": "model", "parts": [
                {"executableCode": {"id": "x1", "language": "PYTHON", "code": "loop()"}},
                {"codeExecutionResult": {"id": "x1", "outcome": outcome, "output": "half of it"}},
                {"text": "It did not work."},
            ]},
        ])
    };
    vec![
        (
            "anthropic-messages",
            "Exit code: 2",
            anthropic(
                json!({"type": "bash_code_execution_result", "stdout": "cc main.c",
                "stderr": "main.c:1: error", "return_code": 2, "content": []}),
            ),
        ),
        (
            "anthropic-messages",
            "execution_time_exceeded",
            anthropic(json!({"type": "bash_code_execution_tool_result_error",
                "error_code": "execution_time_exceeded"})),
        ),
        (
            "google-generate-content",
            "The code failed",
            google("OUTCOME_FAILED"),
        ),
        (
            "google-generate-content",
            "did not end in time",
            google("OUTCOME_DEADLINE_EXCEEDED"),
        ),
        (
            "google-interactions",
            "The code failed",
            json!([
                {"type": "user_input", "content": [{"type": "text", "text": "Compute it."}]},
                {"type": "code_execution_call", "id": "x1", "arguments": {"language": "python", "code": "loop()"}},
                {"type": "code_execution_result", "call_id": "x1", "result": "half of it", "is_error": true},
            ]),
        ),
    ]
}

#[test]
fn failed_code_stays_failed_in_every_dialect() {
    for (from, sign, document) in histories() {
        let from = Dialect::from_str(from).unwrap();
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        for history in [history.clone(), without_raw(&history).unwrap()] {
            for to in Dialect::ALL {
                let case = format!("{sign:?} of {from} to {to}");
                let (written, report) = to.encode_history(&history).unwrap();
                let (back, _) = to.decode_history(written.to_string()).unwrap();
                let contents = || back.messages.iter().flat_map(|message| &message.contents);
                let is_error = contents().any(|content| {
                    matches!(content, Content::CommandResult(result)
                        if result.results.iter().any(|part| matches!(part, Content::Error(_))))
                });
                let is_named = report.losses.iter().any(|loss| loss.preserved_as.is_none());
                assert!(
                    // Converse gets the block as JSON in a text.
                    is_error
                        || written.to_string().contains("return_code")
                        || written.to_string().contains(sign)
                        || is_named,
                    "{case}: {written} {report:?}"
                );
                if from == to {
                    assert!(is_error, "{case}: {written}");
                }
            }
        }
    }
}

#[test]
fn an_outcome_keeps_its_kind_between_googles_and_from_anthropic() {
    for (from, sign, document) in histories() {
        let from = Dialect::from_str(from).unwrap();
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        let to = Dialect::GoogleGenerateContent;
        let (written, _) = to.encode_history(&history).unwrap();
        let outcome = match sign {
            "execution_time_exceeded" | "did not end in time" => "OUTCOME_DEADLINE_EXCEEDED",
            _ => "OUTCOME_FAILED",
        };
        assert!(
            written.to_string().contains(outcome),
            "{sign:?} of {from}: {written}"
        );
        let (written, _) = Dialect::GoogleInteractions
            .encode_history(&history)
            .unwrap();
        assert!(
            written.to_string().contains(r#""is_error":true"#),
            "{sign:?} of {from}: {written}"
        );
    }
}
