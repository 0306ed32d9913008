//! Calls of several actions or commands, with one block for each. The ids (`call_1-1of3`) allow
//! decoding to join them again.

use serde_json::Value;
use telechir_protocol::{
    CallId, ComputerCall, ComputerResult, Content, Meta, Raw, ShellAction, ShellCall, ShellResult,
};

use super::context::BlockContext;
use super::decode_block;
use super::fixed_texts;
use crate::history::split_ids::{self, PartId, all_of};
use crate::json::text;

/// The block's type, and which part it is.
fn part_of(block: &Value) -> Option<(&str, PartId<'_>)> {
    let block = block.as_object()?;
    let kind = text(block, "type")?;
    let id = match kind {
        "tool_use" => text(block, "id")?,
        "tool_result" => text(block, "tool_use_id")?,
        _ => return None,
    };
    Some((kind, PartId::parse(id)?))
}

/// The number of parts in the complete run that the blocks start with; 1 for a single block.
pub(super) fn run_length(blocks: &[Value]) -> usize {
    let Some((kind, first)) = blocks.first().and_then(part_of) else {
        return 1;
    };
    let count = first.count;
    let fits = |(at, block)| {
        let number = at + 1;
        part_of(block) == Some((kind, PartId { number, ..first }))
    };
    let is_complete =
        first.is_first() && count <= blocks.len() && blocks[..count].iter().enumerate().all(fits);
    if is_complete { count } else { 1 }
}

/// Decodes a run of parts into one content; none if they do not belong together.
pub(super) fn join(raw: &Raw, context: &BlockContext) -> Option<Content> {
    let run = raw.json().as_array()?;
    let (_, first) = run.first().and_then(part_of)?;
    let parts: Vec<Content> = run
        .iter()
        .map(|part| {
            part.as_object()
                .map(|part| decode_block::decode(part, context))
        })
        .collect::<Option<_>>()?;
    let id = CallId::from(first.base);
    computer_call(&id, raw, &parts)
        .map(Content::ComputerCall)
        .or_else(|| shell_call(&id, raw, &parts).map(Content::ShellCall))
        .or_else(|| computer_result(&id, raw, &parts).map(Content::ComputerResult))
        .or_else(|| shell_result(&id, raw, &parts).map(Content::ShellResult))
}

fn joined_meta(first: &Meta, raw: &Raw) -> Meta {
    Meta {
        raw_representation: Some(raw.clone()),
        ..first.clone()
    }
}

fn computer_call(id: &CallId, raw: &Raw, parts: &[Content]) -> Option<ComputerCall> {
    let calls = all_of(parts, |part| match part {
        Content::ComputerCall(call) if call.exception.is_none() => Some(call),
        _ => None,
    })?;
    let first = *calls.first()?;
    let actions = calls.iter().flat_map(|call| call.actions.clone()).collect();
    let meta = joined_meta(&first.meta, raw);
    Some(ComputerCall {
        call_id: id.clone(),
        actions,
        meta,
        ..first.clone()
    })
}

fn shell_call(id: &CallId, raw: &Raw, parts: &[Content]) -> Option<ShellCall> {
    let calls = all_of(parts, |part| match part {
        Content::ShellCall(call)
            if call.exception.is_none() && call.action == ShellAction::Execute =>
        {
            Some(call)
        }
        _ => None,
    })?;
    let first = *calls.first()?;
    let commands = calls
        .iter()
        .flat_map(|call| call.commands.clone())
        .collect();
    let meta = joined_meta(&first.meta, raw);
    Some(ShellCall {
        call_id: id.clone(),
        commands,
        meta,
        ..first.clone()
    })
}

fn shell_result(id: &CallId, raw: &Raw, parts: &[Content]) -> Option<ShellResult> {
    let results = all_of(parts, |part| match part {
        Content::ShellResult(result) => Some(result),
        _ => None,
    })?;
    let last = *results.last()?;
    Some(ShellResult {
        call_id: id.clone(),
        outputs: results
            .iter()
            .flat_map(|result| result.outputs.clone())
            .collect(),
        combined: results.iter().any(|result| result.combined),
        error: results.iter().find_map(|result| result.error.clone()),
        meta: joined_meta(&last.meta, raw),
        ..last.clone()
    })
}

/// Joins results: the last screenshot, and all texts except our own confirmations.
fn computer_result(id: &CallId, raw: &Raw, parts: &[Content]) -> Option<ComputerResult> {
    let results = all_of(parts, |part| match part {
        Content::ComputerResult(result) => Some(result),
        _ => None,
    })?;
    let texts = results
        .iter()
        .filter_map(|result| result.text_output.as_deref());
    let texts: Vec<&str> = texts
        .filter(|texts| !fixed_texts::is_confirmation(texts))
        .collect();
    let meta = joined_meta(&results.last()?.meta, raw);
    let has_more = |result: &ComputerResult| result.screenshot.is_some();
    split_ids::join_results(id.clone(), &results, &texts, has_more, meta)
}
