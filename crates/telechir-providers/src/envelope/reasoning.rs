//! How much a model thinks before it answers: an effort, or a budget of tokens.

use serde_json::{Value, json};

use super::api::Api;
use super::members::{Members, put};
use crate::Report;

/// The thinking settings of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasoning {
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    effort: Option<(String, &'static str)>,
    /// Maximum tokens of thinking.
    budget: Option<(u64, &'static str)>,
    /// `adaptive` or `enabled`: thinking whose extent the model decides. `disabled` beside an effort,
    /// which then is that of the answer.
    mode: Option<(&'static str, &'static str)>,
    /// How the response shows summaries of the thinking: `auto`, `concise`, `detailed` or `none`.
    summary: Option<(&'static str, &'static str)>,
}

/// Google documents these budgets for the efforts of its OpenAI-compatible API.
const BUDGETS: [(&str, u64); 3] = [("low", 1024), ("medium", 8192), ("high", 24_576)];

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The fewest tokens of an Anthropic budget.
const MIN_BUDGET: u64 = 1024;

fn effort_pointer(api: Api) -> Option<&'static str> {
    match api {
        Api::Anthropic | Api::Invoke => Some("/output_config/effort"),
        Api::Responses => Some("/reasoning/effort"),
        Api::Converse => Some("/outputConfig/effort"),
        Api::Generate => Some("/generationConfig/thinkingConfig/thinkingLevel"),
        Api::Interactions => Some("/generation_config/thinking_level"),
        Api::Chat | Api::Mistral => Some("/reasoning_effort"),
        Api::Conversations => Some("/completion_args/reasoning_effort"),
        Api::Framework => Some("/options/reasoning/effort"),
        Api::Agents => None,
    }
}

/// The object with Anthropic's `type` and `budget_tokens`.
fn thinking_pointer(api: Api) -> Option<&'static str> {
    match api {
        Api::Anthropic | Api::Invoke => Some("/thinking"),
        Api::Converse => Some("/additionalModelRequestFields/thinking"),
        _ => None,
    }
}

fn summary_pointer(api: Api) -> Option<&'static str> {
    match api {
        Api::Responses => Some("/reasoning/summary"),
        Api::Generate => Some("/generationConfig/thinkingConfig/includeThoughts"),
        Api::Interactions => Some("/generation_config/thinking_summaries"),
        Api::Framework => Some("/options/reasoning/summary"),
        _ => None,
    }
}

const GOOGLE_BUDGET: &str = "/generationConfig/thinkingConfig/thinkingBudget";
/// Google's budget that lets the model decide.
const DYNAMIC: i64 = -1;

pub(super) fn read(api: Api, members: &mut Members) -> Reasoning {
    let mut reasoning = Reasoning::default();
    if let Some(pointer) = effort_pointer(api) {
        let effort = members.text(pointer).map(str::to_lowercase);
        if let Some(effort) = effort.filter(|effort| EFFORTS.contains(&effort.as_str())) {
            members.take(pointer);
            reasoning.effort = Some((effort, pointer));
        }
    }
    if api == Api::Generate
        && let Some(budget) = members.get(GOOGLE_BUDGET).and_then(Value::as_i64)
        && budget >= -1
    {
        members.take(GOOGLE_BUDGET);
        match u64::try_from(budget) {
            Ok(0) => reasoning.effort = Some(("none".to_owned(), GOOGLE_BUDGET)),
            Ok(budget) => reasoning.budget = Some((budget, GOOGLE_BUDGET)),
            // -1 lets the model decide, as without a budget.
            Err(_) => {}
        }
    }
    if let Some(pointer) = thinking_pointer(api) {
        read_thinking(pointer, members, &mut reasoning);
    }
    if let Some(pointer) = summary_pointer(api)
        && let Some(summary) = members.get(pointer).and_then(summary)
    {
        members.take(pointer);
        reasoning.summary = Some((summary, pointer));
    }
    reasoning
}

fn summary(value: &Value) -> Option<&'static str> {
    if let Some(is_shown) = value.as_bool() {
        return Some(if is_shown { SHOWN } else { HIDDEN });
    }
    let word = value.as_str()?;
    SUMMARIES.into_iter().find(|known| *known == word)
}

const SHOWN: &str = "auto";
const HIDDEN: &str = "none";
const DISABLED: &str = "disabled";
const SUMMARIES: [&str; 4] = [SHOWN, HIDDEN, "concise", "detailed"];

fn read_thinking(pointer: &'static str, members: &mut Members, reasoning: &mut Reasoning) {
    let member = |name: &str| format!("{pointer}/{name}");
    let kind = members.text(&member("type")).map(str::to_owned);
    let budget = members
        .get(&member("budget_tokens"))
        .and_then(Value::as_u64);
    match kind.as_deref() {
        Some("enabled") => match budget {
            Some(budget) => reasoning.budget = Some((budget, pointer)),
            None => reasoning.mode = Some(("enabled", pointer)),
        },
        Some(DISABLED) if reasoning.effort.is_some() => {
            reasoning.mode = Some((DISABLED, pointer));
        }
        Some(DISABLED) => reasoning.effort = Some(("none".to_owned(), pointer)),
        Some("adaptive") => reasoning.mode = Some(("adaptive", pointer)),
        _ => return,
    }
    members.take(&member("type"));
    if reasoning.budget.is_some() {
        members.take(&member("budget_tokens"));
    }
    let summary = match members.text(&member("display")) {
        Some("omitted") => HIDDEN,
        Some("summarized") => SHOWN,
        _ => return,
    };
    members.take(&member("display"));
    reasoning.summary = Some((summary, pointer));
}

pub(super) fn write(api: Api, reasoning: &Reasoning, document: &mut Value, report: &mut Report) {
    match (&reasoning.effort, reasoning.mode) {
        (Some((effort, at)), Some((DISABLED, mode_at))) if thinking_pointer(api).is_none() => {
            let why = "the target has one setting for the effort and thinking, which is disabled";
            report.lost(format!("effort `{effort}`"), *at, why);
            return write_effort(api, "none", mode_at, document, report);
        }
        (Some((effort, at)), _) => write_effort(api, effort, at, document, report),
        (None, _) => {}
    }
    if let Some((budget, at)) = reasoning.budget {
        write_budget(
            api,
            budget,
            reasoning.effort.is_some(),
            at,
            document,
            report,
        );
    }
    if let Some((mode, at)) = reasoning.mode {
        write_mode(api, mode, at, document, report);
    }
    if let Some((summary, at)) = reasoning.summary {
        write_summary(api, summary, at, document, report);
    }
}

/// After the effort: Google accepts a level or a budget, not both.
fn write_mode(api: Api, mode: &'static str, at: &str, document: &mut Value, report: &mut Report) {
    if let Some(pointer) = thinking_pointer(api) {
        return put(document, pointer, json!({ "type": mode }));
    }
    let has_level = effort_pointer(api).is_some_and(|level| document.pointer(level).is_some());
    if api == Api::Generate && !has_level {
        return put(document, GOOGLE_BUDGET, DYNAMIC);
    }
    let what = format!("`{mode}` thinking");
    report.lost(what, format!("{at}/type"), "the target has no such setting");
}

fn write_summary(api: Api, summary: &str, at: &str, document: &mut Value, report: &mut Report) {
    let what = format!("`{summary}` summaries of the thinking");
    let is_shown = summary != HIDDEN;
    if let Some(pointer) = thinking_pointer(api)
        && document.pointer(pointer).is_some_and(is_thinking)
    {
        let display = if is_shown { "summarized" } else { "omitted" };
        put(document, &format!("{pointer}/display"), display);
        return report_summary(summary, at, display, report);
    }
    let Some(pointer) = summary_pointer(api) else {
        if is_shown {
            report.lost(what, at, "the target has no such setting");
        }
        return;
    };
    if api == Api::Generate {
        put(document, pointer, is_shown);
    } else if is_shown && api == Api::Interactions {
        put(document, pointer, SHOWN);
    } else if is_shown || api == Api::Interactions {
        return put(document, pointer, summary);
    }
    report_summary(summary, at, SHOWN, report);
}

/// Whether Anthropic's object is one of a model that thinks.
fn is_thinking(thinking: &Value) -> bool {
    thinking["type"] != DISABLED
}

fn report_summary(summary: &str, at: &str, written: &str, report: &mut Report) {
    if ![SHOWN, HIDDEN].contains(&summary) {
        let what = format!("`{summary}` summaries of the thinking");
        let why = "the target does not distinguish summaries";
        report.preserved(what, at, why, format!("as `{written}`"));
    }
}

/// The efforts that an API accepts, from the least.
fn accepted(api: Api) -> &'static [&'static str] {
    match api {
        Api::Anthropic | Api::Invoke | Api::Converse => &EFFORTS[2..],
        Api::Generate | Api::Interactions => &EFFORTS[1..6],
        _ => &EFFORTS,
    }
}

fn write_effort(api: Api, effort: &str, at: &str, document: &mut Value, report: &mut Report) {
    let Some(pointer) = effort_pointer(api) else {
        let why = "the target has no such setting";
        return report.lost(format!("effort `{effort}`"), at, why);
    };
    if effort == "none" {
        if let Some(pointer) = thinking_pointer(api) {
            return put(document, pointer, json!({"type": DISABLED}));
        }
        if api == Api::Generate {
            return put(document, GOOGLE_BUDGET, 0);
        }
    }
    let accepted = accepted(api);
    let rank = |name: &str| EFFORTS.iter().position(|other| *other == name);
    let nearest = accepted
        .iter()
        .min_by_key(|name| rank(name).unwrap_or(0).abs_diff(rank(effort).unwrap_or(0)))
        .copied()
        .unwrap_or(effort);
    if nearest != effort {
        let why = format!("the target accepts {}", accepted.join(", "));
        report.preserved(
            format!("effort `{effort}`"),
            at,
            why,
            format!("as `{nearest}`"),
        );
    }
    let written = if api == Api::Generate {
        nearest.to_uppercase()
    } else {
        nearest.to_owned()
    };
    put(document, pointer, written);
}

fn write_budget(
    api: Api,
    budget: u64,
    has_effort: bool,
    at: &str,
    document: &mut Value,
    report: &mut Report,
) {
    let what = format!("budget of {budget} tokens of thinking");
    if api == Api::Generate {
        return put(document, GOOGLE_BUDGET, budget);
    }
    if let Some(pointer) = thinking_pointer(api) {
        let written = budget.max(MIN_BUDGET);
        if written != budget {
            let why = format!("the target requires at least {MIN_BUDGET}");
            report.preserved(what, at, why, format!("as {written}"));
        }
        let value = json!({"type": "enabled", "budget_tokens": written});
        return put(document, pointer, value);
    }
    let why = "the target has an effort instead of a budget";
    match effort_pointer(api) {
        Some(pointer) if !has_effort => {
            let level = BUDGETS.iter().find(|(_, most)| budget <= *most);
            let effort = level.map_or("high", |(effort, _)| effort);
            put(document, pointer, effort);
            report.preserved(what, at, why, format!("as effort `{effort}`"));
        }
        _ => report.lost(what, at, why),
    }
}
