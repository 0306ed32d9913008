//! One cell of the matrix: translates a history to another dialect and back.

use serde_json::Value;
use telechir_protocol::Message;
use telechir_providers::conform::without_raw;
use telechir_providers::{Dialect, Envelope, History, Loss};

use super::common::common;
use super::differences::{Difference, differences, name_of};

/// Whether raw representations are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Raw {
    Retained,
    Removed,
}

/// The results of one translation of the common history.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) from: Dialect,
    pub(crate) to: Dialect,
    /// Whether the document survived the round trip unchanged.
    pub(crate) comes_back: bool,
    /// Fields with a different meaning after the round trip.
    pub(crate) back: Vec<Difference>,
    /// All losses of the way there.
    pub(crate) losses: Vec<Loss>,
    /// Differences that no report names.
    pub(crate) unnamed: Vec<String>,
}

/// The cells of all ordered pairs of dialects.
pub(crate) fn cells(raw: Raw) -> Vec<Cell> {
    let pairs = Dialect::ALL
        .into_iter()
        .flat_map(|from| Dialect::ALL.into_iter().map(move |to| (from, to)));
    pairs.map(|(from, to)| cell(from, to, raw)).collect()
}

fn cell(from: Dialect, to: Dialect, raw: Raw) -> Cell {
    let (document, _) = write(from, common());
    let (read_once, _) = read(from, &document);
    let source = match raw {
        Raw::Retained => read_once,
        Raw::Removed => bare(read_once),
    };
    let (there, mut losses) = write(to, source.clone());
    let (arrived, reading) = read(to, &there);
    losses.extend(reading);
    let returned = match raw {
        Raw::Retained => arrived.clone(),
        Raw::Removed => bare(arrived.clone()),
    };
    let (back, mut returning) = write(from, returned);
    let (again, reading) = read(from, &back);
    returning.extend(reading);
    returning.extend(losses.iter().cloned());

    let changed_there = differences(&source, &arrived);
    let changed_back = differences(&source, &again);
    let mut unnamed = Vec::new();
    for (way, changed, losses, near) in [
        ("there", &changed_there, &losses, &source),
        ("back", &changed_back, &returning, &arrived),
    ] {
        let silent = changed.iter().filter(|difference| {
            !is_named(difference, losses, &source) && !is_named(difference, losses, near)
        });
        unnamed.extend(silent.map(|difference| format!("{way}: {difference}")));
    }
    Cell {
        from,
        to,
        comes_back: back == document,
        back: changed_back,
        losses,
        unnamed,
    }
}

fn bare(messages: Vec<Message>) -> Vec<Message> {
    let envelope = Envelope::List;
    without_raw(&History { messages, envelope })
        .unwrap()
        .messages
}

fn write(dialect: Dialect, messages: Vec<Message>) -> (Value, Vec<Loss>) {
    let envelope = Envelope::List;
    let written = dialect.encode_history(&History { messages, envelope });
    let (value, report) = written.unwrap_or_else(|error| panic!("{dialect}: failed to {error}"));
    (value, report.losses)
}

fn read(dialect: Dialect, document: &Value) -> (Vec<Message>, Vec<Loss>) {
    let read = dialect.decode_history(document.to_string().as_bytes());
    let (history, report) = read.unwrap_or_else(|error| panic!("{dialect}: failed to {error}"));
    (history.messages, report.losses)
}

/// Terms that reports use for a field.
const TERMS: [(&str, &[&str]); 13] = [
    ("pending_safety_checks", &["safety"]),
    ("acknowledged_safety_checks", &["safety"]),
    ("timeout_ms", &["timeout", "time"]),
    ("max_output", &["max_output", "limit"]),
    ("error", &["error", "failure", "denied", "refusal", "kind"]),
    ("text_output", &["text", "url"]),
    ("screenshot", &["screenshot"]),
    ("current_url", &["url", "address", "page"]),
    (
        "outputs",
        &[
            "output", "exit", "stdout", "stderr", "outcome", "timeout", "error",
        ],
    ),
    ("combined", &["output", "stdout", "stderr"]),
    ("commands", &["command", "argv"]),
    ("exception", &["exception"]),
    ("intent", &["intent"]),
];

/// Whether a loss names the difference: the same content and a term for the same field.
pub(crate) fn is_named(difference: &Difference, losses: &[Loss], of: &[Message]) -> bool {
    let Some(member) = difference.member.as_deref() else {
        // A moved content is reported at its original position.
        let elsewhere = ["message", "text", "item"];
        return losses.iter().any(|loss| {
            let is_preserved = loss
                .preserved_as
                .as_deref()
                .is_some_and(|how| mentions(how, &elsewhere));
            is_preserved || is_about(&loss.location, difference, of)
        });
    };
    losses.iter().any(|loss| {
        is_by_id(loss, member, &difference.before)
            || (is_about(&loss.location, difference, of) && is_of_member(&loss.what, member))
    })
}

/// A changed id or a safety check is reported once for the call and its result.
fn is_by_id(loss: &Loss, member: &str, before: &Value) -> bool {
    let id = match member {
        "call_id" => before.as_str(),
        "acknowledged_safety_checks" | "pending_safety_checks" => before[0]["id"].as_str(),
        _ => None,
    };
    id.is_some_and(|id| loss.what.contains(id)) && mentions(&loss.what, &["id `", "safety"])
}

fn is_of_member(what: &str, member: &str) -> bool {
    let terms = TERMS.iter().find(|(name, _)| *name == member);
    match terms {
        Some((_, terms)) => mentions(what, terms) || mentions(what, &[member]),
        // A loss about an action names the action; terms of other fields exclude that.
        None if member == "actions" => !mentions(what, &["item id", "safety"]),
        None => mentions(what, &[member]),
    }
}

fn mentions(text: &str, terms: &[&str]) -> bool {
    let text = text.to_lowercase();
    terms.iter().any(|term| text.contains(term))
}

/// Whether a loss's location is this content: by its call id or by its indexes.
fn is_about(location: &str, difference: &Difference, of: &[Message]) -> bool {
    let call_id = difference.content.split(' ').nth(1).unwrap_or_default();
    if location
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|term| term == call_id)
    {
        return true;
    }
    let mut numbers = location
        .split(['[', ']'])
        .filter_map(|part| part.parse::<usize>().ok());
    let Some(message) = numbers.next().and_then(|at| of.get(at)) else {
        return false;
    };
    let content = numbers.next().and_then(|at| message.contents.get(at));
    match content {
        Some(content) => name_of(content) == difference.content,
        None => message
            .contents
            .iter()
            .any(|content| name_of(content) == difference.content),
    }
}
