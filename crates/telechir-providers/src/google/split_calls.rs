//! Splits a call with several actions into one function call each and joins them again. The ids
//! show how the parts belong together: `call_1-1of3`.

use serde_json::Value;
use telechir_protocol::{
    CallId, ComputerCall, ComputerResult, Content, FailureKind, Meta, Raw, StepOutcome, StepState,
};

use crate::history::split_ids::{self, PartId};

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
    if let Some(calls) = all(parts, |part| match part {
        Content::ComputerCall(call) => Some(call),
        _ => None,
    }) {
        return Some(Content::ComputerCall(call(base, &calls)?));
    }
    let results = all(parts, |part| match part {
        Content::ComputerResult(result) => Some(result),
        _ => None,
    })?;
    Some(Content::ComputerResult(result(base, &results)?))
}

fn all<'a, T>(
    parts: &'a [Content],
    read: impl Fn(&'a Content) -> Option<&'a T>,
) -> Option<Vec<&'a T>> {
    parts.iter().map(read).collect()
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

/// The screenshot is the one of the last part.
fn result(id: CallId, results: &[&ComputerResult]) -> Option<ComputerResult> {
    let last = *results.last()?;
    let texts: Vec<&str> = results
        .iter()
        .filter_map(|result| result.text_output.as_deref())
        .collect();
    let failures = || results.iter().filter_map(|result| result.error.clone());
    let first = failures().find(|failure| failure.kind != FailureKind::NotExecuted);
    let before = &results[..results.len() - 1];
    let has_more = |result: &&ComputerResult| {
        result.screenshot.is_some() || result.error.is_some() || result.text_output.is_some()
    };
    let steps = if first.is_some() || before.iter().any(has_more) {
        results.iter().map(|result| step(result)).collect()
    } else {
        Vec::new()
    };
    Some(ComputerResult {
        call_id: id,
        text_output: (!texts.is_empty()).then(|| texts.join("\n")),
        error: first.or_else(|| failures().next()),
        screenshot: results
            .iter()
            .rev()
            .find_map(|result| result.screenshot.clone()),
        acknowledged_safety_checks: results
            .iter()
            .flat_map(|result| result.acknowledged_safety_checks.clone())
            .collect(),
        steps,
        meta: joined_meta(results.iter().map(|result| &result.meta)),
        ..last.clone()
    })
}

/// The outcome of one action. The action itself is in the call.
fn step(result: &ComputerResult) -> StepOutcome {
    let state = match &result.error {
        None => StepState::Delivered,
        Some(failure) if failure.kind == FailureKind::NotExecuted => StepState::NotStarted,
        Some(failure) => StepState::Failed {
            failure: failure.clone(),
        },
    };
    StepOutcome {
        action: String::new(),
        state,
        text: result.text_output.clone(),
        screenshot: result.screenshot.clone(),
        duration_ms: None,
    }
}
