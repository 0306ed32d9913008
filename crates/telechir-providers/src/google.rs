//! Google's two APIs: contents made of parts (`generateContent`) and steps (Interactions).
//!
//! Both carry the same function calls, so most code is shared: `action` and `encode_action`
//! translate the predefined functions, `call` and `encode_call` complete calls, `tool_result`
//! results. `turns` brings a history into the turn order that the services require, and
//! `call_encoder` encodes its calls and results, each in the form of its API. `generate` and `interactions` handle the
//! JSON around them. Contents decoded from Google's JSON are written back unchanged unless their
//! neutral values were changed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a part uses few of the possible JSON values and contents; others pass unchanged"
)]

mod action;
mod args;
mod call;
mod call_encoder;
mod context;
mod declare;
mod encode_action;
mod encode_call;
mod functions;
mod generate;
mod images;
mod interactions;
mod json_stream;
pub(crate) mod media;
mod shell;
mod split_calls;
mod tool_result;
mod turns;

use serde_json::{Map, Value};
use telechir_protocol::{Action, Content, Meta, Raw, UsageContent};

pub(crate) use generate::{CODEC as GENERATE_CONTENT, combines_hosted_tools, is_instructions};
pub(crate) use interactions::CODEC as INTERACTIONS;

use crate::json::raw;
use crate::{DecodeError, Report};

/// The action that one of Google's predefined functions requests; none for any other function.
///
/// # Errors
/// With what is wrong about the arguments.
pub fn google_function_action(
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<Action, String>> {
    action::read(name, arguments).map(|(action, _unknown)| action)
}

/// The name under which contents keep settings that only this provider has.
pub(crate) const PROVIDER: &str = "google";

/// The signature that the service accepts for a call that no Google model made: base64 of
/// `skip_thought_signature_validator`.
pub(crate) const PLACEHOLDER: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

/// The property in which a content keeps its signature.
const SIGNATURE: &str = "thought_signature";

/// Prefix of the ids that we generate for calls without one.
const GENERATED_ID_PREFIX: &str = "gemini-";

/// The id for a call without one, derived from its position.
fn generated_id(location: &str, number: usize) -> String {
    format!("{GENERATED_ID_PREFIX}{location}-{number}")
}

/// The original JSON of a content, if it came from one of Google's two APIs.
fn raw_of(meta: &Meta) -> Option<&Raw> {
    let raw = meta.raw_representation.as_ref()?;
    [generate::DIALECT, interactions::DIALECT]
        .contains(&raw.dialect.as_str())
        .then_some(raw)
}

/// The field under its name or in snake case; the service accepts both.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let found = object.get(name).or_else(|| object.get(&snake(name)));
    found.filter(|value| !value.is_null())
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    member(object, name)?.as_str()
}

/// Converts `inlineData` to `inline_data`.
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

/// The fields except for `known` ones in either spelling.
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

/// Reports values that Google's APIs cannot represent.
fn report_losses(report: &mut Report, location: &str, item_id: Option<&str>, status: Option<&str>) {
    if let Some(item_id) = item_id {
        let what = format!("item id {item_id}");
        report.lost(what, location, "a call and its result share one id");
    }
    if let Some(status) = status.filter(|status| *status != "completed") {
        report.lost(
            format!("status {status}"),
            location,
            "the API has no field for it",
        );
    }
}

/// The error of the service as that of decoding a response.
fn provider_error(error: &Map<String, Value>) -> DecodeError {
    let detail = text(error, "message").unwrap_or("no message");
    let code = text(error, "status").map(str::to_owned);
    let code = code.or_else(|| {
        error.get("code").map(|code| match code {
            Value::String(code) => code.clone(),
            other => other.to_string(),
        })
    });
    let message = code.map_or_else(|| detail.to_owned(), |code| format!("{code}: {detail}"));
    DecodeError::ProviderError { message }
}

/// The tokens of a response, where reasoning tokens count as output: `names` are those of the input,
/// the output, the reasoning and the total. The properties describe the response.
fn usage<const N: usize>(
    dialect: &str,
    usage: &Map<String, Value>,
    names: [&str; 4],
    properties: [(&str, Option<&str>); N],
) -> Content {
    let [input, output, thought, total] = names.map(|name| member(usage, name)?.as_u64());
    let mut meta = raw(dialect, Value::Object(usage.clone()));
    for (name, value) in properties {
        if let Some(value) = value {
            meta.set_property(PROVIDER, name, value.into());
        }
    }
    let sum = |output: Option<u64>| output.unwrap_or(0).saturating_add(thought.unwrap_or(0));
    Content::Usage(UsageContent {
        input_token_count: input,
        output_token_count: output.or(thought).map(|_| sum(output)),
        total_token_count: total,
        meta,
    })
}
