//! Google's two interfaces: parts of contents (`generateContent`) and steps (Interactions).
//!
//! Both carry the same function calls, so most of it is shared: `action` and `say` know the
//! predefined functions, `call` and `ask` whole calls, `answer` results; `plan` brings a history
//! into turns that the services take, and `calls` knows how each call of it went out. `generate`
//! and `interactions` know the JSON around them. What came from here goes back as it came, unless
//! its neutral values were changed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a part has few of the forms that JSON and contents can have; any other is let be"
)]

mod action;
mod answer;
mod args;
mod ask;
mod batch;
mod call;
mod calls;
mod declare;
mod generate;
mod images;
mod interactions;
mod media;
mod pieces;
mod plan;
mod say;
mod scene;
mod shell;
mod words;

use serde_json::{Map, Value};
use telechir_protocol::{Meta, Raw};

pub(crate) use generate::GenerateContent;
pub(crate) use interactions::Interactions;

use crate::{Report, settings};

/// Under this name contents keep what only this provider says.
const PROVIDER: &str = "google";

/// The signature that is taken for a call that no model of this provider made: base64 of
/// `skip_thought_signature_validator`.
const PLACEHOLDER: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

/// Under this name a content keeps its signature.
const SIGNATURE: &str = "thought_signature";

/// How the ids begin that we make up for calls without one.
const MADE_UP: &str = "gemini-";

/// The id of a call that has none: where it stands.
fn made_up_id(place: &str, number: usize) -> String {
    format!("{MADE_UP}{place}-{number}")
}

/// A meta with the JSON as it came.
fn raw(dialect: &str, json: Value) -> Meta {
    Meta {
        raw_representation: Some(Raw::new(dialect, json)),
        ..Meta::default()
    }
}

/// The JSON a content came as, when one of the two interfaces wrote it.
fn raw_of(meta: &Meta) -> Option<&Raw> {
    let raw = meta.raw_representation.as_ref()?;
    [generate::DIALECT, interactions::DIALECT]
        .contains(&raw.dialect.as_str())
        .then_some(raw)
}

/// The member under its name or, as the service also takes it, with words joined by `_`.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let found = object.get(name).or_else(|| object.get(&snake(name)));
    found.filter(|value| !value.is_null())
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    member(object, name)?.as_str()
}

/// `inline_data` for `inlineData`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// The members but these, in either spelling.
fn others(object: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    let is_known = |name: &String| {
        known
            .iter()
            .any(|known| *known == name || snake(known) == *name)
    };
    object
        .iter()
        .filter(|(name, _)| !is_known(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Notes what nothing here has a place for.
fn unsaid(
    report: &mut Report,
    place: &str,
    meta: &Meta,
    item_id: Option<&str>,
    status: Option<&str>,
) {
    if let Some(item_id) = item_id {
        let what = format!("item id {item_id}");
        report.lost(what, place, "a call and its answer have one id only");
    }
    if let Some(status) = status.filter(|status| *status != "completed") {
        report.lost(
            format!("status {status}"),
            place,
            "there is no place for it",
        );
    }
    for (provider, names) in settings::of_others(meta, PROVIDER) {
        let what = format!("settings of {provider}: {}", names.join(", "));
        report.lost(what, place, "they are another provider's");
    }
    if !meta.extra.is_empty() {
        let names = meta.extra.keys().cloned().collect::<Vec<_>>().join(", ");
        report.lost(
            format!("members {names}"),
            place,
            "there is no place for them",
        );
    }
}
