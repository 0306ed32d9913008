//! Splits a call with several actions into one function call each and joins them again. The ids
//! show how the parts belong together: `call_1-1of3`.

use serde_json::Value;
use telechir_protocol::{CallId, ComputerCall, ComputerResult, Content, Meta, Raw};

use crate::history::split_ids::{self, PartId, all_of};

/// The id of one part; `number` starts at 1.
pub(super) fn part_id(base: &CallId, number: usize, count: usize) -> CallId {
    CallId::from(split_ids::part_id(base.as_str(), number, count))
}

/// Whether the content is a result, and which part it is.
fn part_of(content: &Content) -> Option<(bool, PartId<'_>)> {
    let (is_result, id) = match content {
        Content::ComputerCall(call) if call.exception.is_none() => (false, &call.call_id),
        Content::ComputerResult(result) => (true, &result.call_id),
        _ => return None,
    };
    Some((is_result, PartId::parse(id.as_str())?))
}

/// Joins complete runs of parts into one content each.
pub(super) fn join(contents: Vec<Content>) -> Vec<Content> {
    let mut joined = Vec::new();
    let mut run: Vec<Content> = Vec::new();
    for content in contents {
        let continues = match (part_of(&content), run.last().and_then(part_of)) {
            (Some((is_result, part)), Some((last_is_result, last))) => {
                is_result == last_is_result && part.follows(&last)
            }
            _ => false,
        };
        if !continues {
            joined.append(&mut run);
        }
        let starts = part_of(&content).is_some_and(|(_, part)| part.is_first());
        if !continues && !starts {
            joined.push(content);
            continue;
        }
        let is_last = part_of(&content).is_some_and(|(_, part)| part.number == part.count);
        run.push(content);
        if is_last {
            match joined_content(&run) {
                Some(content) => {
                    joined.push(content);
                    run.clear();
                }
                None => joined.append(&mut run),
            }
        }
    }
    joined.append(&mut run);
    joined
}

/// Joins all parts of a call or a result.
fn joined_content(parts: &[Content]) -> Option<Content> {
    let (_, first) = parts.first().and_then(part_of)?;
    let base = CallId::from(first.base);
    if let Some(calls) = all_of(parts, |part| match part {
        Content::ComputerCall(call) => Some(call),
        _ => None,
    }) {
        return Some(Content::ComputerCall(call(base, &calls)?));
    }
    let results = all_of(parts, |part| match part {
        Content::ComputerResult(result) => Some(result),
        _ => None,
    })?;
    Some(Content::ComputerResult(result(base, &results)?))
}

/// The first part's meta, with the JSON of all parts as its raw representation.
fn joined_meta<'a>(metas: impl Iterator<Item = &'a Meta> + Clone) -> Meta {
    let first = metas.clone().next().cloned().unwrap_or_default();
    let raws: Option<Vec<&Raw>> = metas.map(|meta| meta.raw_representation.as_ref()).collect();
    let raw = raws.and_then(|raws| {
        let dialect = raws.first()?.dialect.clone();
        // A step may include another one that belongs to it.
        let each = raws.iter().flat_map(|raw| match raw.json() {
            Value::Array(several) => several.clone(),
            one => vec![one.clone()],
        });
        Some(Raw::new(dialect, each.collect()))
    });
    Meta {
        raw_representation: raw,
        ..first
    }
}

fn call(id: CallId, calls: &[&ComputerCall]) -> Option<ComputerCall> {
    let last = *calls.last()?;
    let checks = calls.iter().flat_map(|call| &call.pending_safety_checks);
    Some(ComputerCall {
        call_id: id,
        actions: calls.iter().flat_map(|call| call.actions.clone()).collect(),
        pending_safety_checks: checks.cloned().collect(),
        intent: calls.iter().find_map(|call| call.intent.clone()),
        meta: joined_meta(calls.iter().map(|call| &call.meta)),
        ..last.clone()
    })
}

fn result(id: CallId, results: &[&ComputerResult]) -> Option<ComputerResult> {
    let texts = results.iter();
    let texts: Vec<&str> = texts
        .filter_map(|result| result.text_output.as_deref())
        .collect();
    let has_more = |result: &ComputerResult| {
        result.screenshot.is_some() || result.error.is_some() || result.text_output.is_some()
    };
    let meta = joined_meta(results.iter().map(|result| &result.meta));
    split_ids::join_results(id, results, &texts, has_more, meta)
}
