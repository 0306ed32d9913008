//! Every document and stream of the vectors, translated as a whole to every dialect.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_providers::{Dialect, TranslationOptions};

use super::{calls, texts};

/// The folder of each dialect's vectors.
fn folder(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::AnthropicMessages => "anthropic",
        Dialect::OpenaiResponses => "openai",
        Dialect::BedrockConverse
        | Dialect::BedrockMessages
        | Dialect::BedrockInvoke
        | Dialect::BedrockAgents => "bedrock",
        Dialect::GoogleGenerateContent | Dialect::GoogleInteractions => "google",
        Dialect::AgentFramework => "agent-framework",
        Dialect::Neutral => "neutral",
        Dialect::Functions | Dialect::FunctionsInline => "functions",
        Dialect::MistralChat | Dialect::MistralConversations => "mistral",
    }
}

fn vectors(dialect: Dialect) -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let files = fs::read_dir(root.join(folder(dialect))).expect("the folder");
    let mut documents: Vec<(String, Value)> = files
        .flatten()
        .filter_map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            let json = serde_json::from_slice(&fs::read(file.path()).ok()?).ok()?;
            Some((name, json))
        })
        .collect();
    documents.sort_by(|(one, _), (two, _)| one.cmp(two));
    assert!(!documents.is_empty());
    documents
}

/// The bytes of a document that is a stream.
fn stream_bytes(document: &Value) -> Option<Vec<u8>> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if let Some(base64) = text("bytes_base64") {
        return STANDARD.decode(base64).ok();
    }
    if let Some(raw) = text("raw") {
        return Some(raw.as_bytes().to_vec());
    }
    if let Some(frames) = document.get("frames").and_then(Value::as_array) {
        let frames = frames
            .iter()
            .map(|frame| STANDARD.decode(frame.as_str()?).ok());
        return frames
            .collect::<Option<Vec<_>>>()
            .map(|frames| frames.concat());
    }
    let events = document.get("events").and_then(Value::as_array)?;
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    Some(lines.collect::<String>().into_bytes())
}

#[test]
fn a_response_that_decodes_is_translated_with_its_calls() {
    let options = TranslationOptions::default();
    let mut problems = Vec::new();
    let mut count = 0;
    for from in Dialect::ALL {
        for (name, document) in vectors(from) {
            let text = document.to_string();
            let Ok((turn, _)) = from.decode_response(&text) else {
                continue;
            };
            for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
                // What the messages alone cannot become, the complete response cannot either.
                let Ok(translated) = from.translate(to, text.as_bytes(), &options) else {
                    continue;
                };
                count += 1;
                let again = to.decode_response(translated.document.to_string());
                let is_response = translated.document.is_object();
                if let (true, Ok((after, _))) = (is_response, &again) {
                    let (before, after) = (texts(turn.contents()), texts(after.contents()));
                    let lost = before
                        .iter()
                        .find(|text| !after.concat().contains(text.trim()));
                    if let Some(lost) = lost.filter(|_| translated.report.is_lossless()) {
                        problems.push(format!("{name}, {from} to {to}: text `{lost}` is lost"));
                    }
                }
            }
        }
    }
    assert!(count > 1000, "{count} translations");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_stream_that_decodes_is_translated_to_the_same_turn() {
    let options = TranslationOptions::default();
    let mut problems = Vec::new();
    let mut count = 0;
    for from in Dialect::ALL {
        for (name, document) in vectors(from) {
            let decoded = || {
                let bytes = stream_bytes(&document)?;
                let mut decoder = from.stream()?;
                decoder.push(&bytes).ok()?;
                Some((bytes, decoder.finish().ok()?))
            };
            let Some((bytes, received)) = decoded() else {
                continue;
            };
            let complete = received.response.to_string();
            for to in Dialect::ALL
                .into_iter()
                .filter(|to| *to != from && to.stream().is_some())
            {
                let Ok(expected) = from.translate(to, complete.as_bytes(), &options) else {
                    continue;
                };
                let Ok((expected, _)) = to.decode_response(expected.document.to_string()) else {
                    continue;
                };
                count += 1;
                let at = format!("{name}, {from} to {to}");
                let run = || -> Result<Vec<u8>, String> {
                    let translation = from.translate_stream(to, options.clone());
                    let mut translation = translation.map_err(|error| error.to_string())?;
                    let mut written = Vec::new();
                    for piece in bytes.chunks(61) {
                        let more = translation.push(piece).map_err(|error| error.to_string())?;
                        written.extend(more);
                    }
                    let (last, _) = translation.finish().map_err(|error| error.to_string())?;
                    written.extend(last);
                    Ok(written)
                };
                let written = match run() {
                    Ok(written) => written,
                    Err(error) => {
                        problems.push(format!("{at}: {error}"));
                        continue;
                    }
                };
                let mut decoder = to.stream().expect("a stream");
                let turn = decoder
                    .push(&written)
                    .and_then(|_| decoder.finish())
                    .map(|received| received.turn);
                match turn {
                    Err(error) => problems.push(format!("{at}: {error}")),
                    Ok(turn) => {
                        let (turn, expected) = (turn.contents(), expected.contents());
                        if texts(turn).concat() != texts(expected).concat() {
                            problems.push(format!("{at}: {:?} {:?}", texts(turn), texts(expected)));
                        }
                        if calls(turn) != calls(expected) {
                            problems.push(format!("{at}: {:?} {:?}", calls(turn), calls(expected)));
                        }
                    }
                }
            }
        }
    }
    assert!(count > 100, "{count} translations");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn only_unknown_events_and_counts_of_steps_are_missing_in_the_responses_of_streams() {
    let mut named = BTreeSet::new();
    for from in Dialect::ALL {
        for (name, document) in vectors(from) {
            let (Some(bytes), Some(mut decoder)) = (stream_bytes(&document), from.stream()) else {
                continue;
            };
            let received = decoder.push(&bytes).and_then(|_| decoder.finish());
            let losses = received.map_or_else(|_| Vec::new(), |received| received.report.losses);
            let of_events = losses
                .iter()
                .filter(|loss| loss.location == "the stream's events");
            named.extend(of_events.map(|loss| format!("{from}: {} ({name})", loss.what)));
        }
    }
    let expected = [
        "bedrock-converse: `a` (stream__converse_repeated_and_unknown.json)",
        "google-interactions: `total_output_tokens` (ix_stream__calls_between_each_other.json)",
    ];
    assert_eq!(named, BTreeSet::from(expected.map(str::to_owned)));
}
