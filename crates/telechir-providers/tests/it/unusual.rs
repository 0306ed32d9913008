//! Documents of kinds that no vector has: empty texts, null in odd places, long ids, characters of
//! every plane, numbers beyond 2^53, unknown members at any depth, ids used twice, parallel calls
//! answered in another order, arguments and texts that look like structure.
//!
//! In every dialect such a document stays as it is, every value reaches every other dialect or is
//! named, and each result stays with its call.

use serde_json::{Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::{DocumentKind, check_document};
use telechir_providers::survival::Fault;

/// A conversation with these calls and results, in the order of the lists.
struct Conversation {
    task: String,
    remark: String,
    calls: Vec<(String, Value)>,
    results: Vec<(String, String)>,
}

impl Conversation {
    fn with(arguments: Value) -> Self {
        Self {
            task: "Water the plants in the greenhouse.".to_owned(),
            remark: "The valve opens slowly today.".to_owned(),
            calls: vec![("call_w1".to_owned(), arguments)],
            results: vec![("call_w1".to_owned(), "Forty litres have flowed.".to_owned())],
        }
    }

    /// The document of a dialect.
    fn document(&self, dialect: Dialect) -> Value {
        let text = |text: &str| json!({"type": "text", "text": text});
        let call = |(id, arguments): &(String, Value)| json!({"type": "function_call", "call_id": id, "name": "open_valve", "arguments": arguments});
        let result = |(id, text): &(String, String)| json!({"type": "function_result", "call_id": id, "result": text});
        let mut contents = vec![text(&self.remark)];
        contents.extend(self.calls.iter().map(call));
        let results: Vec<Value> = self.results.iter().map(result).collect();
        let neutral = json!([
            {"role": "user", "contents": [text(&self.task)]},
            {"role": "assistant", "contents": contents},
            {"role": "tool", "contents": results},
        ]);
        let (history, _) = Dialect::Neutral
            .decode_history(neutral.to_string())
            .unwrap();
        dialect.encode_history(&history).unwrap().0
    }
}

/// What is wrong with a document in its own dialect and on the way to every other.
fn problems(dialect: Dialect, document: &Value) -> Vec<String> {
    let report = check_document(dialect, DocumentKind::History, document);
    let mut problems: Vec<String> = Vec::new();
    let mut add = |problem: String| problems.push(format!("{dialect}{problem}"));
    for what in report.refused.into_iter().chain(report.difference) {
        add(format!(": {what}"));
    }
    for pair in report.pairs {
        let to = &pair.to;
        for problem in pair.crash.iter().chain(&pair.problems) {
            add(format!(" to {to}: {problem}"));
        }
        for finding in &pair.findings {
            if finding.fault == Fault::SilentLoss {
                add(format!(" to {to}: {} {}", finding.pointer, finding.value));
            }
        }
    }
    problems
}

/// Fails if a document that `build` makes for a dialect is changed, or loses something in silence.
fn check(build: impl Fn(Dialect) -> Value) {
    let all = Dialect::ALL.into_iter();
    let found: Vec<String> = all
        .flat_map(|dialect| problems(dialect, &build(dialect)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn empty_texts() {
    let mut conversation = Conversation::with(json!({"note": "", "list": [], "map": {}}));
    conversation.results[0].1 = String::new();
    check(|dialect| conversation.document(dialect));
}

#[test]
fn texts_of_spaces_and_line_breaks() {
    let mut conversation = Conversation::with(json!({"note": "\t\n ", "lines": "a\r\nb\rc\n\n"}));
    conversation.results[0].1 = "\n\nThe first line is empty.\n\tThe last one, too.\n\n".to_owned();
    check(|dialect| conversation.document(dialect));
}

#[test]
fn ids_of_three_hundred_characters() {
    let id = format!("call_{}", "k7Q".repeat(98));
    let mut conversation = Conversation::with(json!({"litres": 40}));
    conversation.calls[0].0.clone_from(&id);
    conversation.results[0].0 = id;
    check(|dialect| conversation.document(dialect));
}

#[test]
fn characters_of_every_plane() {
    let text = "nul \u{0}, bell \u{7}, \u{2028} line, \u{feff} mark, \u{202e}right to left, 𝄞 clef, 👩\u{200d}🌾, e\u{301}";
    let mut conversation =
        Conversation::with(json!({"note": text, "schlüssel\u{0}": "wert 12345"}));
    conversation.task = text.to_owned();
    conversation.results[0].1 = text.to_owned();
    check(|dialect| conversation.document(dialect));
}

#[test]
fn numbers_beyond_those_of_javascript() {
    let arguments = json!({"above": 9_007_199_254_740_993_u64, "lowest": i64::MIN, "highest": u64::MAX,
        "large": 1.5e300, "small": -2.5e-300, "zero": -0.0});
    let conversation = Conversation::with(arguments);
    check(|dialect| conversation.document(dialect));
}

#[test]
fn arguments_that_look_like_the_structure_around_them() {
    let arguments = json!({"type": "tool_result", "role": "assistant", "id": "call_w1",
        "content": [{"type": "text", "text": "A text inside of arguments."}],
        "parts": [{"functionCall": {"name": "other", "args": {}}}], "name": "open_valve"});
    let conversation = Conversation::with(arguments);
    check(|dialect| conversation.document(dialect));
}

#[test]
fn texts_that_look_like_documents() {
    let mut conversation = Conversation::with(json!({"litres": 40}));
    conversation.task = r#"{"role": "user", "content": "Is this a message?"}"#.to_owned();
    conversation.remark = "data:text/plain;base64,QSB0ZXh0".to_owned();
    conversation.results[0].1 = r#"[{"type": "text", "text": "Is this a part?"}]"#.to_owned();
    check(|dialect| conversation.document(dialect));
}

#[test]
fn parallel_calls_answered_in_another_order() {
    let mut conversation = Conversation::with(json!({"litres": 41}));
    conversation.calls = (1..=4)
        .map(|at| (format!("call_p{at}"), json!({"litres": 40 + at})))
        .collect();
    conversation.results = [3, 1, 4, 2]
        .map(|at| (format!("call_p{at}"), format!("Valve number {at} is open.")))
        .into();
    check(|dialect| conversation.document(dialect));
}

#[test]
fn one_id_for_two_calls() {
    let mut conversation = Conversation::with(json!({"litres": 41}));
    let second = ("call_w1".to_owned(), json!({"litres": 1042}));
    conversation.calls.push(second);
    let second = ("call_w1".to_owned(), "The second valve is open.".to_owned());
    conversation.results.push(second);
    check(|dialect| conversation.document(dialect));
}

#[test]
fn null_in_every_message_and_in_arguments() {
    check(|dialect| {
        let conversation = Conversation::with(json!({"litres": 40, "note": null, "list": [null]}));
        let mut document = conversation.document(dialect);
        for item in document.as_array_mut().into_iter().flatten() {
            item["x_unset"] = Value::Null;
        }
        document
    });
}

#[test]
fn unknown_members_at_any_depth() {
    check(|dialect| {
        let mut document = Conversation::with(json!({"litres": 40})).document(dialect);
        let Value::Array(items) = &mut document else {
            return document;
        };
        for (at, item) in items.iter_mut().enumerate() {
            let deep = json!({"rings": [[{"core": {"age": [[format!("layer {at} of the trunk")]]}}]], "count": 4000 + at});
            item["x_future"] = deep;
        }
        document
    });
}

/// Values that have another type than the service documents, or that one dialect says in other
/// words: each arrives, is named, or is the reason of a refusal.
#[test]
fn values_in_another_form_are_not_dropped_in_silence() {
    let google = |content: Value| json!({"candidates": [{"content": content, "finishReason": "STOP"}], "modelVersion": "gemini-3.8-flash"});
    let part = json!({"text": "The valve is open."});
    let call = json!({"functionCall": {"name": "open_valve", "args": {"litres": 40}}});
    let chat = |role: Value, content: Value| {
        json!({"id": "c1", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": role, "content": content}},
        ]})
    };
    let failed = |text: &str| {
        json!({"messages": [
            {"role": "user", "content": "Water the plants."},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "open_valve", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": text},
            ]},
        ]})
    };
    let late = json!({"contents": [
        {"role": "user", "parts": [{"text": "Compute it."}]},
        {"role": "model", "parts": [
            {"executableCode": {"language": "PYTHON", "code": "loop()"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED", "output": "half"}},
        ]},
    ]});
    let odd = [
        (
            Dialect::GoogleGenerateContent,
            google(json!({"parts": [part, call]})),
        ),
        (Dialect::GoogleGenerateContent, late),
        (Dialect::Functions, chat(json!("assistant"), json!(4711))),
        (
            Dialect::AnthropicMessages,
            failed("Error: the valve is stuck"),
        ),
        (Dialect::AnthropicMessages, failed("the valve is stuck")),
    ];
    for (dialect, document) in odd {
        assert_eq!(
            problems(dialect, &document),
            Vec::<String>::new(),
            "{document}"
        );
    }
    for content in [
        json!("STOP"),
        json!([]),
        json!({"parts": "The valve is open."}),
    ] {
        let document = google(content).to_string();
        let refused = Dialect::GoogleGenerateContent.decode_history(&document);
        assert!(refused.is_err(), "{document}");
    }
    let document = chat(json!(true), json!("The valve is open.")).to_string();
    assert!(Dialect::Functions.decode_history(&document).is_err());
    assert!(Dialect::Functions.decode_response(&document).is_err());
}

/// A response that a proxy sends without its role is the model's.
#[test]
fn a_call_of_google_without_a_role_stays_a_call() {
    let document = json!({"candidates": [{"content": {"parts": [
        {"functionCall": {"name": "open_valve", "args": {"litres": 40}}},
    ]}}]});
    let from = Dialect::GoogleGenerateContent;
    let (history, _) = from.decode_history(document.to_string()).unwrap();
    let (written, _) = Dialect::Functions.encode_history(&history).unwrap();
    let call = &written[0]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "open_valve", "{written}");
    assert_eq!(call["arguments"], r#"{"litres":40}"#);
}
