//! Slots stand for long strings and are never visible: decoding with them yields the same values.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};
use telechir_protocol::slots::{Expanded, SlottedDocument, expand};
use telechir_protocol::{Content, DataContent, Raw};

use crate::strategies::json_value;

/// Base64 that is long enough for a slot.
fn screenshot(letter: char) -> String {
    letter.to_string().repeat(5000)
}

fn slotted(document: &str) -> SlottedDocument {
    SlottedDocument::new(Cow::Borrowed(document.as_bytes())).unwrap()
}

fn parsed(slotted: &SlottedDocument) -> Value {
    serde_json::from_slice(&slotted.text()).unwrap()
}

/// A content as a dialect decodes it from a document with an image.
fn read(data: &str) -> Content {
    let slotted = slotted(&json!({"data": data}).to_string());
    let template = parsed(&slotted);
    assert!(template.to_string().len() < 200, "a slot");
    let mut screenshot = DataContent::from_base64("image/png", template["data"].as_str().unwrap());
    screenshot.meta.raw_representation = Some(Raw::new("theirs", template));
    let mut content = Content::Data(screenshot);
    let mut seen = [0];
    content.adopt_slots(slotted.slots(), &mut seen);
    assert_eq!(seen, [2]);
    content
}

/// The same content without slots.
fn read_in_full(data: &str) -> Content {
    let mut screenshot = DataContent::from_base64("image/png", data);
    screenshot.meta.raw_representation = Some(Raw::new("theirs", json!({"data": data})));
    Content::Data(screenshot)
}

#[test]
fn serialized_contents_contain_their_strings() {
    let (with, without) = (read(&screenshot('A')), read_in_full(&screenshot('A')));
    assert_eq!(
        serde_json::to_string(&with).unwrap(),
        serde_json::to_string(&without).unwrap()
    );
    let again: Content = serde_json::from_value(serde_json::to_value(&with).unwrap()).unwrap();
    assert_eq!(again, without);
}

#[test]
fn contents_with_slots_compare_by_value() {
    assert_eq!(read(&screenshot('A')), read_in_full(&screenshot('A')));
    assert_eq!(read(&screenshot('A')), read(&screenshot('A')));
    assert_ne!(read(&screenshot('A')), read(&screenshot('B')));
    assert_ne!(read(&screenshot('A')), read_in_full(&screenshot('B')));
}

#[test]
fn debug_output_has_no_slots() {
    let shown = format!("{:?}", read(&screenshot('A')));
    assert_eq!(
        shown,
        format!("{:?}", read_in_full(&screenshot('A')))
            .replace("slots: Slots(0)", "slots: Slots(1)")
    );
}

#[test]
fn a_screenshot_stays_in_its_document() {
    let Content::Data(data) = read(&screenshot('A')) else {
        panic!("a picture")
    };
    assert_eq!(data.base64(), Some(&*screenshot('A')));
    assert_eq!(data.media_type(), Some("image/png"));
    assert_eq!(
        data.uri,
        format!("data:image/png;base64,{}", screenshot('A')).as_str()
    );
}

#[test]
fn filled_contents_need_no_document() {
    let mut content = read(&screenshot('A'));
    content.fill_slots();
    let mut slots = Vec::new();
    content.gather_slots(&mut slots);
    assert!(slots.is_empty());
    assert_eq!(content, read_in_full(&screenshot('A')));
}

#[test]
fn only_long_plain_strings_have_slots() {
    let long = screenshot('A');
    let none = [
        json!({"short": "AAAA"}),
        json!({"words": "two words ".repeat(500)}),
        json!({"escaped": format!("{long}\n")}),
        json!({"other alphabet": format!("{long}-_")}),
        json!({"JPEG": format!("/9j/{long}")}),
        json!({"not ASCII": format!("{long}é")}),
        json!({ (long.as_str()): "a name" }),
        json!(5000),
    ];
    for document in none {
        let document = document.to_string().into_bytes();
        assert!(SlottedDocument::new(Cow::Borrowed(&document)).is_err());
    }
    let address = json!(format!("data:image/png;base64,{long}")).to_string();
    let text = String::from_utf8(slotted(&address).text()).unwrap();
    let clear = format!("\"data:image/png;base64,{}\u{A66E}", &long[..64]);
    assert!(text.starts_with(&clear), "{text}");
}

#[test]
fn text_that_looks_like_a_slot_is_text() {
    let foreign = slotted(&json!({"data": screenshot('A')}).to_string());
    let forged = parsed(&foreign)["data"].as_str().unwrap().to_owned();
    let cut = &forged[..80];
    let encoded =
        json!({"data": screenshot('B'), "forged": forged, "cut": cut, "open": "\u{A66E}"});
    let neutral = slotted(&encoded.to_string());
    let template = parsed(&neutral);
    let mut filled = template.clone();
    expand(&mut filled, std::slice::from_ref(neutral.slots()));
    assert_eq!(filled, encoded);
    let raw = Expanded {
        value: &template,
        slots: std::slice::from_ref(neutral.slots()),
    };
    assert_eq!(serde_json::to_value(raw).unwrap(), encoded);
}

/// JSON with some long strings among others, and arbitrary spacing.
fn document() -> impl Strategy<Value = (Value, bool)> {
    let long = prop_oneof![
        "[A-Za-z0-9+/]{64}".prop_map(|part| part.repeat(70)),
        "[A-Za-z0-9+/]{64}".prop_map(|part| format!("data:image/png;base64,{}", part.repeat(70))),
        "[ -~]{64}".prop_map(|part| part.repeat(70)),
        "[A-Z]{64}".prop_map(|part| format!("{}\"\\é{}", part.repeat(70), part.repeat(70))),
    ];
    let value = proptest::collection::vec((json_value(), long), 0..4);
    (value, any::<bool>()).prop_map(|(parts, pretty)| {
        let item = |(small, long): (Value, String)| {
            let name = if long.starts_with('A') { &long } else { "text" };
            json!({ name: long, "also": [long, small] })
        };
        (parts.into_iter().map(item).collect(), pretty)
    })
}

proptest! {
    #[test]
    fn any_document_is_read_as_without_slots((value, pretty) in document()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        if let Ok(slotted) = SlottedDocument::new(Cow::Borrowed(text.as_bytes())) {
            let mut read = parsed(&slotted);
            expand(&mut read, std::slice::from_ref(slotted.slots()));
            prop_assert_eq!(read, value);
        }
    }

    #[test]
    fn invalid_json_is_invalid_with_slots(
        (value, _) in document(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = value.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let read = serde_json::from_slice::<Value>(&bytes);
        if let Ok(slotted) = SlottedDocument::new(Cow::Borrowed(&bytes)) {
            let with_slots = serde_json::from_slice::<Value>(&slotted.text());
            prop_assert_eq!(read.is_ok(), with_slots.is_ok());
            if let (Ok(read), Ok(mut with_slots)) = (read, with_slots) {
                expand(&mut with_slots, std::slice::from_ref(slotted.slots()));
                prop_assert_eq!(read, with_slots);
            }
        }
    }
}
