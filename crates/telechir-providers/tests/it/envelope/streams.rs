//! Streamed responses of every dialect, translated to every other while they arrive.

use serde_json::{Value, json};
use telechir_protocol::{Content, ModelTurn};
use telechir_providers::{Dialect, ThinkingTranslation, TranslatedDocument, TranslationOptions};

use super::{calls, texts, translate};

fn streamed() -> impl Iterator<Item = Dialect> {
    let all = Dialect::ALL.into_iter();
    all.filter(|dialect| dialect.stream().is_some())
}

fn events(events: &[Value]) -> Vec<u8> {
    let lines = events.iter().map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap_or("x")
        )
    });
    lines.collect::<String>().into_bytes()
}

/// A text in two pieces, a function's call in three, and a command of the shell.
fn anthropic_stream() -> Vec<u8> {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let call =
        |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let input = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    let text = |text: &str| json!({"type": "text_delta", "text": text});
    let usage = json!({"input_tokens": 7, "output_tokens": 1});
    events(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "claude-opus-5-5", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage}}),
        start(0, json!({"type": "text", "text": ""})),
        delta(0, text("I lo")),
        delta(0, text("ok – naïve.")),
        stop(0),
        start(1, call("abcdefgh1", "get_weather")),
        delta(1, input("{\"city\"")),
        delta(1, input(": \"Os")),
        delta(1, input("lo\"}")),
        stop(1),
        start(2, call("abcdefgh2", "bash")),
        delta(2, input("{\"command\": \"pwd\"}")),
        stop(2),
        start(3, call("abcdefgh3", "no_arguments")),
        stop(3),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ])
}

fn run(
    from: Dialect,
    to: Dialect,
    stream: &[u8],
    size: usize,
    options: &TranslationOptions,
) -> (Vec<Vec<u8>>, TranslatedDocument) {
    let failed = |error: &dyn std::fmt::Display| -> ! { panic!("{from} to {to}: {error}") };
    let mut translation = match from.translate_stream(to, options.clone()) {
        Ok(translation) => translation,
        Err(error) => failed(&error),
    };
    let mut pieces = Vec::new();
    for piece in stream.chunks(size) {
        match translation.push(piece) {
            Ok(bytes) => pieces.push(bytes),
            Err(error) => failed(&error),
        }
    }
    match translation.finish() {
        Ok((bytes, document)) => {
            pieces.push(bytes);
            (pieces, document)
        }
        Err(error) => failed(&error),
    }
}

fn decode(dialect: Dialect, stream: &[u8]) -> ModelTurn {
    let mut decoder = dialect.stream().expect("a stream");
    let pushed = decoder.push(stream);
    assert!(
        pushed.is_ok(),
        "{dialect}: {pushed:?}\n{}",
        String::from_utf8_lossy(stream)
    );
    match decoder.finish() {
        Ok(received) => received.turn,
        Err(error) => panic!("{dialect}: {error}\n{}", String::from_utf8_lossy(stream)),
    }
}

/// The stream of a dialect, made from Anthropic's.
fn stream_of(dialect: Dialect) -> Vec<u8> {
    let (from, stream) = (Dialect::AnthropicMessages, anthropic_stream());
    if dialect == from {
        return stream;
    }
    let (pieces, _) = run(
        from,
        dialect,
        &stream,
        usize::MAX,
        &TranslationOptions::default(),
    );
    pieces.concat()
}

/// Commands of shell calls.
fn commands(contents: &[Content]) -> Vec<String> {
    let commands = contents.iter().filter_map(|content| match content {
        Content::ShellCall(call) => Some(format!("{:?}", call.commands)),
        _ => None,
    });
    commands.collect()
}

#[test]
fn a_translated_stream_is_the_translated_response() {
    let options = TranslationOptions::default();
    for from in streamed() {
        let stream = stream_of(from);
        let mut decoder = from.stream().expect("a stream");
        decoder.push(&stream).expect("events");
        let received = decoder.finish().expect("a response");
        for to in streamed() {
            let (pieces, document) = run(from, to, &stream, usize::MAX, &options);
            let turn = decode(to, &pieces.concat());
            let complete = match from == to {
                true => received.response.clone(),
                false => translate(from, to, &received.response).document,
            };
            let (complete, _) = to
                .decode_response(complete.to_string())
                .expect("a response");
            let at = format!("{from} to {to}");
            assert_eq!(texts(turn.contents()), texts(complete.contents()), "{at}");
            assert_eq!(calls(turn.contents()), calls(complete.contents()), "{at}");
            assert_eq!(
                commands(turn.contents()),
                commands(complete.contents()),
                "{at}"
            );
            assert_eq!(texts(turn.contents()), ["I look – naïve."], "{at}");
            // The document that the translation returns is the one that its events make.
            let (document, _) = to
                .decode_response(document.document.to_string())
                .expect("a response");
            assert_eq!(texts(turn.contents()), texts(document.contents()), "{at}");
            assert_eq!(calls(turn.contents()), calls(document.contents()), "{at}");
        }
    }
}

#[test]
fn how_a_stream_is_divided_changes_nothing() {
    let options = TranslationOptions::default();
    for from in streamed() {
        let stream = stream_of(from);
        for to in streamed() {
            let (complete, _) = run(from, to, &stream, usize::MAX, &options);
            for size in [1, 7, 64] {
                let (pieces, _) = run(from, to, &stream, size, &options);
                let (pieces, complete) = (pieces.concat(), complete.concat());
                assert!(pieces == complete, "{from} to {to} in pieces of {size}");
            }
        }
    }
}

#[test]
fn text_and_arguments_go_on_as_they_arrive() {
    let stream = anthropic_stream();
    let text = String::from_utf8(stream.clone()).expect("UTF-8");
    let end_of = |needle: &str| text.find(needle).expect("an event") + needle.len() + 4;
    let cases = [
        (Dialect::OpenaiResponses, "response.output_text.delta"),
        (Dialect::Functions, "\"content\":\"I lo\""),
        (Dialect::GoogleGenerateContent, "\"text\":\"I lo\""),
        (Dialect::GoogleInteractions, "step.delta"),
        (Dialect::MistralConversations, "message.output.delta"),
        (Dialect::BedrockConverse, "contentBlockDelta"),
    ];
    for (to, expected) in cases {
        let options = TranslationOptions::default();
        let mut translation = Dialect::AnthropicMessages
            .translate_stream(to, options)
            .expect("streams");
        let until = end_of("\"I lo\"}}");
        let written = translation.push(&stream[..until]).expect("events");
        let written = String::from_utf8_lossy(&written).into_owned();
        assert!(
            written.contains(expected) && written.contains("I lo"),
            "{to}: {written}"
        );
        assert!(!written.contains("naïve"), "{to}: {written}");
        let more = end_of("\\\"Os\"}}");
        let written = translation.push(&stream[until..more]).expect("events");
        let written = String::from_utf8_lossy(&written).into_owned();
        // Google's calls are written when they are complete.
        assert_eq!(
            written.contains("\\\"Os"),
            to != Dialect::GoogleGenerateContent,
            "{to}: {written}"
        );
    }
}

#[test]
fn a_truncated_or_failed_stream_is_an_error() {
    let stream = anthropic_stream();
    let options = TranslationOptions::default;
    let (from, to) = (Dialect::AnthropicMessages, Dialect::Functions);
    let mut truncated = from.translate_stream(to, options()).expect("streams");
    truncated.push(&stream[..stream.len() / 2]).expect("events");
    let error = truncated
        .finish()
        .expect_err("the end is missing")
        .to_string();
    assert!(error.contains("to its end"), "{error}");
    let mut failed = from.translate_stream(to, options()).expect("streams");
    let event = events(&[
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}),
    ]);
    let error = failed.push(&event).expect_err("an error").to_string();
    assert!(error.contains("Busy"), "{error}");
    let none = from.translate_stream(Dialect::AgentFramework, options());
    assert!(none.is_err());
}

#[test]
fn thinking_is_dropped_or_becomes_text() {
    let thinking = [
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": "c", "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Look it up."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Rain."}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ];
    let stream = events(&thinking);
    let from = Dialect::AnthropicMessages;
    for to in [
        Dialect::OpenaiResponses,
        Dialect::GoogleInteractions,
        Dialect::Functions,
    ] {
        let (pieces, document) = run(from, to, &stream, 9, &TranslationOptions::default());
        assert_eq!(
            texts(decode(to, &pieces.concat()).contents()),
            ["Rain."],
            "{to}"
        );
        assert!(!document.report.is_lossless(), "{to}");
        let options = TranslationOptions {
            thinking: ThinkingTranslation::Text,
            ..TranslationOptions::default()
        };
        let (pieces, _) = run(from, to, &stream, 9, &options);
        let text = texts(decode(to, &pieces.concat()).contents()).join("\n");
        assert!(
            text.contains("<thinking>\nLook it up.\n</thinking>"),
            "{to}: {text}"
        );
        assert!(text.ends_with("Rain."), "{to}: {text}");
    }
    // The same provider's thinking keeps its signature.
    let (pieces, _) = run(
        from,
        Dialect::BedrockMessages,
        &stream,
        9,
        &TranslationOptions::default(),
    );
    let turn = decode(Dialect::BedrockMessages, &pieces.concat());
    assert!(
        matches!(turn.contents().first(), Some(Content::Reasoning(_))),
        "{turn:?}"
    );
}

#[test]
fn the_end_and_the_counts_of_a_stream_are_translated() {
    let (from, stream) = (Dialect::AnthropicMessages, anthropic_stream());
    let options = TranslationOptions {
        models: [("claude-opus-5-5".to_owned(), "local".to_owned())].into(),
        ..TranslationOptions::default()
    };
    let (pieces, document) = run(from, Dialect::Functions, &stream, 5, &options);
    let document = document.document;
    assert_eq!(document["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(document["usage"]["total_tokens"], 27);
    assert_eq!(document["model"], "local");
    let text = String::from_utf8(pieces.concat()).expect("UTF-8");
    assert!(
        text.contains("\"total_tokens\":27") && text.ends_with("data: [DONE]\n\n"),
        "{text}"
    );
    assert!(!text.contains("claude-opus-5-5"), "{text}");
}

#[test]
fn a_call_that_is_no_function_may_change_until_its_end() {
    let item = |call_id: &str, status: &str, arguments: Value| {
        json!({"id": "tsc_1", "type": "tool_search_call", "status": status, "call_id": call_id,
            "execution": "client", "arguments": arguments})
    };
    let done = item("call_second", "completed", json!({"goal": "count gulls"}));
    let stream = events(&[
        json!({"type": "response.created",
            "response": {"id": "resp_1", "status": "in_progress", "model": "gpt-5.4", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0,
            "item": item("call_first", "in_progress", json!({}))}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
        json!({"type": "response.completed",
            "response": {"id": "resp_1", "status": "completed", "model": "gpt-5.4", "output": [done]}}),
    ]);
    let from = Dialect::OpenaiResponses;
    for to in streamed().filter(|to| *to != from) {
        let (pieces, _) = run(
            from,
            to,
            &stream,
            usize::MAX,
            &TranslationOptions::default(),
        );
        let turn = decode(to, &pieces.concat());
        let called = serde_json::to_string(turn.contents()).unwrap();
        assert!(called.contains("count gulls"), "{to}: {called}");
    }
}

/// The ids and the arguments of calls of functions.
fn called(contents: &[Content]) -> Vec<(String, String)> {
    let calls = contents.iter().filter_map(|content| match content {
        Content::FunctionCall(call) => {
            let id = call.call_id.as_ref().map_or("", |id| id.as_str());
            Some((id.to_owned(), call.arguments.to_text()))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_call_whose_id_or_arguments_change_stays_as_it_was_written() {
    let item = |at: usize, call_id: &str, status: &str, arguments: &str| {
        json!({"id": format!("fc_{at}_{status}"), "type": "function_call", "status": status,
            "name": "count", "call_id": call_id, "arguments": arguments})
    };
    let added = |at: usize, call_id: &str| {
        json!({"type": "response.output_item.added", "output_index": at,
            "item": item(at, call_id, "in_progress", "")})
    };
    let delta = |at: usize, arguments: &str| json!({"type": "response.function_call_arguments.delta", "output_index": at, "delta": arguments});
    let done = [
        item(0, "abcdefgh1", "completed", "{\"of\": \"gulls\"}"),
        item(1, "abcdefgh3", "completed", "{\"of\": \"terns\"}"),
        item(2, "abcdefgh4", "completed", "{\"of\": \"puffins\"}"),
    ];
    let end = |at: usize| json!({"type": "response.output_item.done", "output_index": at, "item": done[at]});
    let stream = events(&[
        json!({"type": "response.created",
            "response": {"id": "resp_1", "status": "in_progress", "model": "gpt-5.4", "output": []}}),
        added(0, "abcdefgh1"),
        delta(0, "{\"of\": \"gulls\"}"),
        end(0),
        added(1, "abcdefgh2"),
        delta(1, "{\"of\": \"terns\"}"),
        end(1),
        added(2, "abcdefgh4"),
        delta(2, "{\"of\": \"auks\"}"),
        end(2),
        json!({"type": "response.completed",
            "response": {"id": "resp_1", "status": "completed", "model": "gpt-5.4", "output": done}}),
    ]);
    let from = Dialect::OpenaiResponses;
    for to in streamed().filter(|to| *to != from) {
        let (pieces, document) = run(from, to, &stream, 11, &TranslationOptions::default());
        let written = called(decode(to, &pieces.concat()).contents());
        // Calls of these are written when they are complete.
        let is_late = matches!(to, Dialect::GoogleGenerateContent | Dialect::BedrockAgents);
        let first = if is_late { "abcdefgh3" } else { "abcdefgh2" };
        let changed = if is_late { "abcdefgh2" } else { "abcdefgh3" };
        let ids: Vec<&str> = written.iter().map(|(id, _)| id.as_str()).collect();
        if to != Dialect::BedrockAgents {
            assert_eq!(ids, ["abcdefgh1", first, "abcdefgh4"], "{to}");
        }
        let losses = &document.report.losses;
        let count = |what: &str| {
            losses
                .iter()
                .filter(|loss| loss.what.contains(what))
                .count()
        };
        assert_eq!(
            count(&format!("call id `{changed}`")),
            1,
            "{to}: {losses:?}"
        );
        assert_eq!(count("call id"), 1, "{to}: {losses:?}");
        let lost = ["auks", "puffins"].map(count);
        let has = |bird: &str| {
            written
                .iter()
                .any(|(_, arguments)| arguments.contains(bird))
        };
        assert_eq!(lost, [0, usize::from(!has("puffins"))], "{to}: {losses:?}");
        let (response, _) = to
            .decode_response(document.document.to_string())
            .expect("a response");
        let complete = called(response.contents());
        let ids_at_end: Vec<&str> = complete.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids_at_end, ids, "{to}");
    }
}
