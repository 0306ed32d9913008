//! The names of models whose tools depend on the model, as the providers' SDKs list them (openai
//! 3.54, anthropic 2.12), without dates.

use crate::service_rules::Generation;
use crate::{Dialect, anthropic, openai};

/// Whether the tools of a model are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// Its name is listed, or its tools do not depend on its name.
    Known,
    /// Its tools are assumed from what its name shows.
    Unknown {
        /// Listed names that resemble it, the most similar first; empty if there are none.
        similar: Vec<&'static str>,
        /// The tools that it is declared with, such as `the tools of version 5.4`.
        tools: String,
    },
}

const OPENAI: [&str; 77] = [
    "gpt-6.2-astra",
    "gpt-6.2-astra-law",
    "gpt-6.2-sol",
    "gpt-6.1-sol",
    "gpt-6.1-terra",
    "gpt-6-astra",
    "gpt-6-sol",
    "gpt-6-luna",
    "gpt-6-cyber",
    "gpt-6-rosalind",
    "gpt-5.6-sol",
    "gpt-5.6-terra",
    "gpt-5.6-luna",
    "gpt-5.6-cyber",
    "gpt-5.5",
    "gpt-5.5-pro",
    "gpt-5.4",
    "gpt-5.4-pro",
    "gpt-5.4-mini",
    "gpt-5.4-nano",
    "gpt-5.3-chat",
    "gpt-5.3-codex",
    "gpt-5.2",
    "gpt-5.2-chat",
    "gpt-5.2-codex",
    "gpt-5.2-pro",
    "gpt-5.1",
    "gpt-5.1-chat",
    "gpt-5.1-codex",
    "gpt-5.1-codex-max",
    "gpt-5.1-codex-mini",
    "gpt-5.1-mini",
    "gpt-5",
    "gpt-5-chat",
    "gpt-5-codex",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-5-pro",
    "gpt-daybreak-blue",
    "gpt-daybreak-red",
    "gpt-rosalind-research",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4.1-nano",
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4o-audio-preview",
    "gpt-4o-mini-audio-preview",
    "gpt-4o-search-preview",
    "gpt-4o-mini-search-preview",
    "gpt-4-turbo",
    "gpt-4-turbo-preview",
    "gpt-4-vision-preview",
    "gpt-4-0125-preview",
    "gpt-4-1106-preview",
    "gpt-4",
    "gpt-4-0314",
    "gpt-4-0613",
    "gpt-4-32k",
    "gpt-3.5-turbo",
    "gpt-3.5-turbo-16k",
    "gpt-audio-mini",
    "gpt-oss-120b",
    "gpt-oss-20b",
    "chatgpt-4o",
    "codex-mini",
    "computer-use-preview",
    "o1",
    "o1-mini",
    "o1-preview",
    "o1-pro",
    "o3",
    "o3-mini",
    "o3-pro",
    "o3-deep-research",
    "o4-mini",
    "o4-mini-deep-research",
];

const ANTHROPIC: [&str; 27] = [
    "claude-fable-5-2",
    "claude-fable-5-1",
    "claude-fable-5",
    "claude-mythos-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5",
    "claude-mythos-preview",
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-opus-4-5",
    "claude-opus-4-1",
    "claude-opus-4",
    "claude-sonnet-5-5",
    "claude-sonnet-5",
    "claude-sonnet-4-6",
    "claude-sonnet-4-5",
    "claude-sonnet-4",
    "claude-haiku-5-5",
    "claude-haiku-4-5",
    "claude-3-7-sonnet",
    "claude-3-5-sonnet",
    "claude-3-5-haiku",
    "claude-3-opus",
    "claude-3-haiku",
];

/// Starts of names whose tools do not depend on the model, or do by their number, with the name of
/// all that start so.
const OTHERS: [(&str, &str); 10] = [
    ("gemini-", "gemini-*"),
    ("mistral-", "mistral-*"),
    ("ministral-", "ministral-*"),
    ("pixtral-", "pixtral-*"),
    ("magistral-", "magistral-*"),
    ("codestral-", "codestral-*"),
    ("devstral-", "devstral-*"),
    ("open-mistral", "open-mistral-*"),
    ("open-mixtral", "open-mixtral-*"),
    ("nova-", "nova-*"),
];

/// Vendors whose models have only functions on Bedrock, as its ids begin.
const VENDORS: [&str; 12] = [
    "ai21.",
    "amazon.",
    "cohere.",
    "deepseek.",
    "google.",
    "meta.",
    "minimax.",
    "mistral.",
    "moonshot.",
    "nvidia.",
    "qwen.",
    "writer.",
];

/// Most similar names that are listed.
const MAX_SIMILAR: usize = 5;

impl ModelName {
    /// Looks a model up by the name that a provider, a cloud or a router gives it.
    pub fn of(model: &str) -> Self {
        Self::look_up(model, || match model.contains("claude-") {
            true => anthropic::generation(model),
            false => openai::generation(model),
        })
    }

    /// The same for a declaration in this dialect.
    pub fn in_dialect(model: &str, dialect: Dialect) -> Self {
        Self::look_up(model, || match dialect {
            Dialect::AnthropicMessages
            | Dialect::BedrockConverse
            | Dialect::BedrockMessages
            | Dialect::BedrockInvoke
            | Dialect::BedrockAgents => anthropic::generation(model),
            Dialect::OpenaiResponses | Dialect::AgentFramework => openai::generation(model),
            Dialect::GoogleGenerateContent
            | Dialect::GoogleInteractions
            | Dialect::Functions
            | Dialect::FunctionsInline
            | Dialect::MistralChat
            | Dialect::MistralConversations
            | Dialect::Neutral => Generation::Newest,
        })
    }

    fn look_up(model: &str, tools: impl FnOnce() -> Generation) -> Self {
        let name = own_name(model);
        let listed = || OPENAI.iter().chain(&ANTHROPIC).copied();
        let of_cloud = name.split_once('.').map_or(name, |(_, name)| name);
        let mut starts = OTHERS.iter().map(|(start, _)| start).chain(&VENDORS);
        if listed().any(|known| known == name)
            || starts.any(|start| name.starts_with(start) || of_cloud.starts_with(start))
        {
            return Self::Known;
        }
        Self::Unknown {
            similar: similar(&name.to_lowercase(), listed()),
            tools: tools().to_string(),
        }
    }
}

/// The name without what routers and clouds put before and after it, and without a date.
fn own_name(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.find("claude-").map_or(name, |at| &name[at..]);
    let name = name.split(['@', ':']).next().unwrap_or(name);
    let suffixes = ["-v1", "-v2", "-latest"];
    let suffix = suffixes.iter().find_map(|end| name.strip_suffix(end));
    without_date(suffix.unwrap_or(name))
}

/// Removes a date such as `-20250929` or `-2026-04-23`.
fn without_date(name: &str) -> &str {
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let starts = name.match_indices('-').map(|(at, _)| at);
    let date = starts.into_iter().find(|at| is_date(&name[at + 1..]));
    date.map_or(name, |at| &name[..at])
}

/// The listed names that differ in few letters or contain the name; else the newest of its family.
fn similar(name: &str, listed: impl Iterator<Item = &'static str> + Clone) -> Vec<&'static str> {
    const MIN_PART: usize = 4;
    let mut found: Vec<(usize, &str)> = listed
        .clone()
        .filter_map(|known| {
            let distance = strsim::damerau_levenshtein(name, known);
            let is_near = distance <= (known.len() / 4).max(1);
            let is_part = name.len() >= MIN_PART && known.contains(name);
            (is_near || is_part).then_some((distance, known))
        })
        .collect();
    let word = |name: &'static str| name.trim_end_matches(['-', '*']);
    let first = name.split('-').next().unwrap_or_default();
    found.extend(OTHERS.iter().filter_map(|(_, all)| {
        let distance = strsim::damerau_levenshtein(first, word(all));
        (distance <= word(all).len() / 4).then_some((distance, *all))
    }));
    found.sort_by_key(|(distance, _)| *distance);
    let mut names: Vec<&str> = found.into_iter().map(|(_, known)| known).collect();
    if names.is_empty() && !first.is_empty() {
        let family = listed.filter(|known| known.split('-').next() == Some(first));
        names.extend(family);
    }
    names.truncate(MAX_SIMILAR);
    names
}

#[cfg(test)]
mod tests {
    use super::ModelName;
    use crate::Dialect;

    #[test]
    fn names_of_the_sdks_clouds_and_routers_are_known() {
        for model in [
            "gpt-6.2-astra-law",
            "gpt-5.5-pro-2026-04-23",
            "gpt-5.3-chat-latest",
            "gpt-daybreak-red-latest",
            "o4-mini-deep-research-2025-06-26",
            "computer-use-preview-2025-03-11",
            "openai/gpt-5.6-sol",
            "claude-fable-5-2",
            "claude-sonnet-4-5@20250929",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            "claude-3-7-sonnet-latest",
            "models/gemini-3.5-flash",
            "mistral-large-latest",
            "us.amazon.nova-2-lite-v1:0",
        ] {
            assert_eq!(ModelName::of(model), ModelName::Known, "{model}");
        }
    }

    fn unknown(model: &str) -> (Vec<&'static str>, String) {
        match ModelName::of(model) {
            ModelName::Unknown { similar, tools } => (similar, tools),
            ModelName::Known => panic!("{model} is known"),
        }
    }

    #[test]
    fn an_unknown_name_comes_with_the_names_that_it_resembles() {
        for (model, first) in [
            ("gpt-5.6-sun", Some("gpt-5.6-sol")),
            ("gtp-5.4", Some("gpt-5.4")),
            ("GPT-5.4", Some("gpt-5.4")),
            ("gpt5.6-terra", Some("gpt-5.6-terra")),
            ("claude-sonet-5", Some("claude-sonnet-5")),
            ("claud-opus-4-8", Some("claude-opus-4-8")),
            ("sonnet-4-5", Some("claude-sonnet-4-5")),
            ("mistrall-large", Some("mistral-*")),
            ("gpt-9-nova", Some("gpt-6.2-astra")),
            ("grok-9", None),
        ] {
            assert_eq!(unknown(model).0.first().copied(), first, "{model}");
        }
    }

    #[test]
    fn an_unknown_name_has_the_tools_that_a_declaration_gives_it() {
        for (model, tools) in [
            ("gpt-5.6-sun", "the tools of version 5.6"),
            ("gpt-5.3-sun", "the tools of version 5.3"),
            ("o3-sun", "the tools of older models"),
            ("claude-sonet-4-5", "the tools of version 4.5"),
            ("claude-opus", "the tools of the newest models"),
            ("our-deployment", "the tools of the newest models"),
        ] {
            assert_eq!(unknown(model).1, tools, "{model}");
        }
        let ModelName::Unknown { tools, .. } =
            ModelName::in_dialect("gpt-5.3-sun", Dialect::AnthropicMessages)
        else {
            panic!("it is known");
        };
        assert_eq!(tools, "the tools of the newest models");
    }
}
