//! Sounds, videos and the resolution at which a model sees them: each reaches every dialect that has
//! a field for it, and is reported by its type elsewhere.

use serde_json::{Value, json};
use telechir_protocol::{Content, DataContent};
use telechir_providers::{Dialect, History};

/// Base64 of a few bytes, which is found again in what is written.
const SOUND: &str = "SUQzBAAAAAAAI1RTU0UAAAAP";
const FILM: &str = "AAAAIGZ0eXBpc29tAAACAGlz";

/// A message of the user with a sound or a film, as each dialect writes it.
fn requests() -> Vec<(Dialect, Value, &'static str, &'static str)> {
    let inline = |kind: &str, data: &str| {
        json!([{"role": "user", "parts": [
            {"text": "What is this?"}, {"inlineData": {"mimeType": kind, "data": data}}]}])
    };
    let step = |kind: &str, mime: &str, data: &str| json!([{"type": "user_input", "content": [{"type": kind, "mime_type": mime, "data": data}]}]);
    let chat = |part: Value| json!([{"role": "user", "content": [part]}]);
    let audio = json!({"type": "input_audio", "input_audio": {"data": SOUND, "format": "mp3"}});
    let plain = json!({"type": "input_audio", "input_audio": SOUND});
    let block = |name: &str, format: &str, data: &str| {
        json!([{"role": "user", "content": [{"text": "What is this?"},
            {name: {"format": format, "source": {"bytes": data}}}]}])
    };
    let google = Dialect::GoogleGenerateContent;
    let steps = Dialect::GoogleInteractions;
    let converse = Dialect::BedrockConverse;
    vec![
        (google, inline("audio/mpeg", SOUND), SOUND, "audio/mpeg"),
        (google, inline("audio/wav", SOUND), SOUND, "audio/wav"),
        (google, inline("video/mp4", FILM), FILM, "video/mp4"),
        (steps, step("audio", "audio/mp3", SOUND), SOUND, "audio/mp3"),
        (steps, step("video", "video/webm", FILM), FILM, "video/webm"),
        (Dialect::Functions, chat(audio), SOUND, "audio/mpeg"),
        (Dialect::MistralChat, chat(plain), SOUND, "audio/mpeg"),
        (converse, block("audio", "mp3", SOUND), SOUND, "audio/mpeg"),
        (
            converse,
            block("video", "mov", FILM),
            FILM,
            "video/quicktime",
        ),
    ]
}

fn decoded(dialect: Dialect, document: &Value) -> History {
    let decoded = dialect.decode_history(document.to_string());
    decoded
        .unwrap_or_else(|error| panic!("{dialect}: {error}"))
        .0
}

fn media(history: &History) -> Vec<&DataContent> {
    let contents = history
        .messages
        .iter()
        .flat_map(|message| &message.contents);
    let media = contents.filter_map(|content| {
        let Content::Data(data) = content else {
            return None;
        };
        Some(data)
    });
    media.collect()
}

#[test]
fn sounds_and_videos_are_neutral_contents_with_their_type() {
    for (dialect, document, data, media_type) in requests() {
        let history = decoded(dialect, &document);
        let found = media(&history);
        assert_eq!(found.len(), 1, "{dialect}: {:?}", history.messages);
        assert_eq!(found[0].media_type(), Some(media_type), "{dialect}");
        assert_eq!(found[0].base64(), Some(data), "{dialect}");
        let (same, report) = dialect.encode_history(&history).unwrap();
        assert_eq!(same, document);
        assert!(report.is_lossless(), "{dialect}: {report:?}");
    }
}

#[test]
fn they_reach_every_dialect_that_has_them_and_are_reported_by_their_type_elsewhere() {
    const SOUNDS: [Dialect; 8] = [
        Dialect::GoogleGenerateContent,
        Dialect::GoogleInteractions,
        Dialect::Functions,
        Dialect::FunctionsInline,
        Dialect::MistralChat,
        Dialect::BedrockConverse,
        Dialect::AgentFramework,
        Dialect::Neutral,
    ];
    for (from, document, data, media_type) in requests() {
        let history = decoded(from, &document);
        for to in Dialect::ALL {
            let (written, report) = to.encode_history(&history).unwrap();
            let arrives = written.to_string().contains(data);
            let mut losses = report.losses.iter();
            let is_named = losses.any(|loss| loss.what.contains(media_type));
            assert!(
                arrives || is_named,
                "{media_type}, {from} to {to}: {written} {report:?}"
            );
            let is_sound = media_type.starts_with("audio/");
            assert!(
                arrives || !(is_sound && SOUNDS.contains(&to)),
                "{media_type}, {from} to {to}: {written}"
            );
        }
    }
}

#[test]
fn a_sound_in_another_form_of_the_same_type_stays_as_it_is() {
    for format in ["mp3", "mpeg", "mpga", "wave", "ogg", "pcm16"] {
        let part = json!({"type": "input_audio", "input_audio": {"data": SOUND, "format": format}});
        let document = json!([{"role": "user", "content": [part]}]);
        let history = decoded(Dialect::Functions, &document);
        let (same, _) = Dialect::Functions.encode_history(&history).unwrap();
        assert_eq!(same, document);
    }
}

#[test]
fn the_resolution_of_an_image_goes_along() {
    let part = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="},
        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}});
    let document = json!([{"role": "user", "parts": [part]}]);
    let history = decoded(Dialect::GoogleGenerateContent, &document);
    let (same, _) = Dialect::GoogleGenerateContent
        .encode_history(&history)
        .unwrap();
    assert_eq!(same, document);
    let (steps, report) = Dialect::GoogleInteractions
        .encode_history(&history)
        .unwrap();
    assert_eq!(steps[0]["content"][0]["resolution"], "low", "{steps}");
    assert!(report.is_lossless(), "{report:?}");
    let again = decoded(Dialect::GoogleInteractions, &steps);
    let (parts, report) = Dialect::GoogleGenerateContent
        .encode_history(&again)
        .unwrap();
    let level = &parts[0]["parts"][0]["mediaResolution"]["level"];
    assert_eq!(level, "MEDIA_RESOLUTION_LOW", "{parts}");
    assert!(report.is_lossless(), "{report:?}");
    let (_, report) = Dialect::AnthropicMessages.encode_history(&history).unwrap();
    let mut losses = report.losses.iter();
    assert!(
        losses.any(|loss| loss.what.contains("resolution")),
        "{report:?}"
    );
}

/// Bytes that show no format.
const UNKNOWN_BYTES: &str = "Rk9STQAAAC5BSUZGQ09NTQ==";

/// Mistral's part holds base64 alone.
#[test]
fn the_type_of_a_sound_is_named_where_its_part_has_no_field_for_it() {
    let sound =
        json!({"type": "input_audio", "input_audio": {"data": UNKNOWN_BYTES, "format": "aiff"}});
    let chat = json!([{"role": "user", "content": [sound]}]);
    let url = format!("data:audio/aiff;base64,{UNKNOWN_BYTES}");
    let neutral = json!([{"role": "user", "contents": [{"type": "data", "uri": url, "media_type": "audio/aiff"}]}]);
    for (from, document) in [(Dialect::Functions, &chat), (Dialect::Neutral, &neutral)] {
        let history = decoded(from, document);
        let (written, report) = Dialect::MistralChat.encode_history(&history).unwrap();
        assert!(written.to_string().contains(UNKNOWN_BYTES), "{written}");
        let lost = report.losses.iter().map(|loss| loss.what.as_str());
        let lost: Vec<&str> = lost.collect();
        assert_eq!(lost, ["media type `audio/aiff`"], "{from}");
    }
}

/// OpenAI's part for sounds holds two formats, and Mistral's entries hold none.
#[test]
fn a_sound_that_a_part_cannot_hold_is_a_file_or_named() {
    let url = format!("data:audio/aiff;base64,{UNKNOWN_BYTES}");
    let neutral = json!([{"role": "user", "contents": [{"type": "data", "uri": url, "media_type": "audio/aiff"}]}]);
    let history = decoded(Dialect::Neutral, &neutral);
    let (written, report) = Dialect::Functions.encode_history(&history).unwrap();
    let file = json!({"type": "file", "file": {"filename": "file", "file_data": url}});
    assert_eq!(written[0]["content"][0], file);
    assert_eq!(report.losses, []);
    let conversations = Dialect::MistralConversations;
    let (written, report) = conversations.encode_history(&history).unwrap();
    assert!(!written.to_string().contains("input_audio"), "{written}");
    let is_named = |loss: &telechir_providers::Loss| loss.what.contains("audio");
    assert!(report.losses.iter().any(is_named), "{report:?}");
}

#[test]
fn the_type_of_a_sound_that_its_bytes_show_is_not_lost() {
    let sound = json!({"type": "input_audio", "input_audio": {"data": SOUND, "format": "mp3"}});
    let chat = json!([{"role": "user", "content": [sound]}]);
    let history = decoded(Dialect::Functions, &chat);
    let (_, report) = Dialect::MistralChat.encode_history(&history).unwrap();
    assert_eq!(report.losses, []);
}
