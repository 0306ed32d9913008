//! Counts of tokens: a table for each API, because some count cached tokens and thinking apart.

use serde_json::Value;

use super::api::Api;
use super::members::{Members, put};
use crate::Report;

/// What a member counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// Input, with what was read from and written to the cache.
    Input,
    /// Input without what was read from and written to the cache.
    UncachedInput,
    CacheRead,
    CacheWrite,
    /// Output, with thinking.
    Output,
    /// Output without thinking.
    VisibleOutput,
    Reasoning,
    Total,
    /// Input that tools added after the prompt.
    ToolInput,
}

use Count::{
    CacheRead, CacheWrite, Input, Output, Reasoning, ToolInput, Total, UncachedInput, VisibleOutput,
};

type CountRow = (Count, &'static str);

const ANTHROPIC: &[CountRow] = &[
    (UncachedInput, "/input_tokens"),
    (Output, "/output_tokens"),
    (CacheRead, "/cache_read_input_tokens"),
    (CacheWrite, "/cache_creation_input_tokens"),
    (Reasoning, "/output_tokens_details/thinking_tokens"),
];
const CONVERSE: &[CountRow] = &[
    (UncachedInput, "/inputTokens"),
    (Output, "/outputTokens"),
    (Total, "/totalTokens"),
    (CacheRead, "/cacheReadInputTokens"),
    (CacheWrite, "/cacheWriteInputTokens"),
];
const RESPONSES: &[CountRow] = &[
    (Input, "/input_tokens"),
    (CacheRead, "/input_tokens_details/cached_tokens"),
    (CacheWrite, "/input_tokens_details/cache_write_tokens"),
    (Output, "/output_tokens"),
    (Reasoning, "/output_tokens_details/reasoning_tokens"),
    (Total, "/total_tokens"),
];
const GENERATE: &[CountRow] = &[
    (Input, "/promptTokenCount"),
    (CacheRead, "/cachedContentTokenCount"),
    (ToolInput, "/toolUsePromptTokenCount"),
    (VisibleOutput, "/candidatesTokenCount"),
    (Reasoning, "/thoughtsTokenCount"),
    (Total, "/totalTokenCount"),
];
const INTERACTIONS: &[CountRow] = &[
    (Input, "/total_input_tokens"),
    (CacheRead, "/total_cached_tokens"),
    (ToolInput, "/total_tool_use_tokens"),
    (VisibleOutput, "/total_output_tokens"),
    (Reasoning, "/total_thought_tokens"),
    (Total, "/total_tokens"),
];
const CHAT: &[CountRow] = &[
    (Input, "/prompt_tokens"),
    (CacheRead, "/prompt_tokens_details/cached_tokens"),
    (Output, "/completion_tokens"),
    (Reasoning, "/completion_tokens_details/reasoning_tokens"),
    (Total, "/total_tokens"),
];
const FRAMEWORK: &[CountRow] = &[
    (Input, "/input_token_count"),
    (Output, "/output_token_count"),
    (Total, "/total_token_count"),
];

fn rows(api: Api) -> &'static [CountRow] {
    match api {
        Api::Anthropic | Api::Invoke => ANTHROPIC,
        Api::Converse => CONVERSE,
        Api::Responses => RESPONSES,
        Api::Generate => GENERATE,
        Api::Interactions => INTERACTIONS,
        Api::Chat | Api::Mistral | Api::Conversations => CHAT,
        Api::Framework => FRAMEWORK,
        Api::Agents => &[],
    }
}

/// The member of a response that holds the counts.
pub(super) fn pointer(api: Api) -> &'static str {
    match api {
        Api::Generate => "/usageMetadata",
        Api::Framework => "/usage_details",
        _ => "/usage",
    }
}

/// The tokens of a response.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// All input.
    input: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    /// Input that tools added, which `input` includes.
    tool_input: Option<u64>,
    /// All output.
    output: u64,
    reasoning: Option<u64>,
    /// The total that the source counts, with its name.
    total: Option<(u64, &'static str)>,
    /// Where the source has its counts.
    pointer: &'static str,
}

/// Takes the counts out of a response; what else is in the usage stays in `members`.
pub(super) fn read(api: Api, members: &mut Members) -> Option<Usage> {
    let around = pointer(api);
    members.get(around).filter(|usage| usage.is_object())?;
    let mut counts: Vec<(Count, u64)> = Vec::new();
    let mut total = None;
    for (count, name) in rows(api) {
        let pointer = format!("{around}{name}");
        let Some(number) = members.get(&pointer).and_then(Value::as_u64) else {
            continue;
        };
        members.take(&pointer);
        counts.push((*count, number));
        if *count == Total {
            total = Some((number, *name));
        }
    }
    let number = |wanted: Count| {
        let found = counts.iter().find(|(count, _)| *count == wanted);
        found.map(|(_, number)| *number)
    };
    let (cache_read, cache_write) = (number(CacheRead), number(CacheWrite));
    let cached = cache_read
        .unwrap_or(0)
        .saturating_add(cache_write.unwrap_or(0));
    let uncached = number(UncachedInput).unwrap_or(0).saturating_add(cached);
    let visible = number(VisibleOutput).unwrap_or(0);
    Some(Usage {
        input: number(Input)
            .unwrap_or(uncached)
            .saturating_add(number(ToolInput).unwrap_or(0)),
        cache_read,
        cache_write,
        tool_input: number(ToolInput),
        output: number(Output)
            .unwrap_or_else(|| visible.saturating_add(number(Reasoning).unwrap_or(0))),
        reasoning: number(Reasoning),
        total,
        pointer: around,
    })
}

/// Writes the counts; the total is their sum.
pub(super) fn write(api: Api, usage: &Usage, document: &mut Value, report: &mut Report) {
    let around = pointer(api);
    if rows(api).is_empty() {
        let what = format!(
            "{} tokens of input, {} of output",
            usage.input, usage.output
        );
        report_total(usage, report);
        report_details(api, usage, "the target's response has no counts", report);
        return report.lost(what, usage.pointer, "the target's response has no counts");
    }
    let cached = usage
        .cache_read
        .unwrap_or(0)
        .saturating_add(usage.cache_write.unwrap_or(0));
    let has = |wanted: Count| rows(api).iter().any(|(count, _)| *count == wanted);
    for (count, pointer) in rows(api) {
        let number = match count {
            Input if has(ToolInput) => {
                let tools = usage.tool_input.unwrap_or(0);
                Some(usage.input.saturating_sub(tools))
            }
            Input => Some(usage.input),
            UncachedInput => Some(usage.input.saturating_sub(cached)),
            CacheRead => usage.cache_read,
            CacheWrite => usage.cache_write,
            Output => Some(usage.output),
            VisibleOutput => Some(usage.output.saturating_sub(usage.reasoning.unwrap_or(0))),
            Reasoning => usage.reasoning,
            Total => Some(usage.input.saturating_add(usage.output)),
            ToolInput => usage.tool_input,
        };
        // OpenAI's types require these two also when they are nothing.
        let is_required = api == Api::Responses;
        if let Some(number) = number.or_else(|| is_required.then_some(0)) {
            put(document, &format!("{around}{pointer}"), number);
        }
    }
    report_details(api, usage, "the target does not count them apart", report);
    report_total(usage, report);
}

/// Reports the counts that the API does not have, which are part of others.
fn report_details(api: Api, usage: &Usage, why: &str, report: &mut Report) {
    let has = |wanted: Count| rows(api).iter().any(|(count, _)| *count == wanted);
    let missing = [
        (CacheRead, usage.cache_read, "cached tokens"),
        (CacheWrite, usage.cache_write, "tokens written to the cache"),
        (Reasoning, usage.reasoning, "tokens of thinking"),
        (ToolInput, usage.tool_input, "tokens of input from tools"),
    ];
    for (count, number, name) in missing {
        if let Some(number) = number.filter(|number| *number > 0 && !has(count)) {
            let how = if count == Reasoning {
                "in the output"
            } else {
                "in the input"
            };
            let what = format!("{number} {name}");
            match rows(api).is_empty() {
                true => report.lost(what, usage.pointer, why),
                false => report.preserved(what, usage.pointer, why, how),
            }
        }
    }
}

/// Reports a total that is not the sum of what it counts.
fn report_total(usage: &Usage, report: &mut Report) {
    let sum = usage.input.saturating_add(usage.output);
    if let Some((total, name)) = usage.total.filter(|(total, _)| *total != sum) {
        let what = format!("`{}`: {total}", name.trim_start_matches('/'));
        let why = "the target's total is the sum of input and output";
        let how = format!("as {sum}");
        report.preserved(what, format!("{}{name}", usage.pointer), why, how);
    }
}
