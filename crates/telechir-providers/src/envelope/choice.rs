//! The tool choice of a request: whether the model may, must or must not call tools.

use serde_json::{Value, json};

use super::api::Api;
use super::members::{Members, put};
use crate::Report;

/// Which tools the model may call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ChoiceMode {
    Auto,
    None,
    /// At least one call.
    Required,
    /// Exactly this function.
    Named(String),
    /// Only these functions.
    Allowed {
        is_required: bool,
        names: Vec<String>,
    },
}

/// A request's tool choice.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolChoice {
    mode: Option<ChoiceMode>,
    /// Whether one response may hold several calls.
    parallel: Option<bool>,
    pointer: &'static str,
    parallel_pointer: &'static str,
}

/// A provider's own tools: Anthropic's name, OpenAI's type, the name of our function.
const OWN_TOOLS: [(&str, &str, &str); 6] = [
    ("computer", "computer", "computer"),
    ("bash", "shell", "shell"),
    (
        "str_replace_based_edit_tool",
        "apply_patch",
        "str_replace_based_edit_tool",
    ),
    ("code_execution", "code_interpreter", "code_interpreter"),
    ("web_search", "web_search", "web_search"),
    ("image_generation", "image_generation", "image_generation"),
];

fn pointer(api: Api) -> &'static str {
    match api {
        Api::Converse => "/toolConfig/toolChoice",
        Api::Generate => "/toolConfig/functionCallingConfig",
        Api::Interactions => "/generation_config/tool_choice",
        Api::Conversations => "/completion_args/tool_choice",
        Api::Framework => "/options/tool_choice",
        _ => "/tool_choice",
    }
}

fn parallel_pointer(api: Api) -> Option<&'static str> {
    match api {
        Api::Anthropic | Api::Invoke => Some("/tool_choice/disable_parallel_tool_use"),
        Api::Responses | Api::Chat | Api::Mistral => Some("/parallel_tool_calls"),
        Api::Framework => Some("/options/allow_multiple_tool_calls"),
        _ => None,
    }
}

pub(super) fn read(api: Api, members: &mut Members) -> ToolChoice {
    let mut choice = ToolChoice {
        pointer: pointer(api),
        ..ToolChoice::default()
    };
    if let Some(pointer) = parallel_pointer(api) {
        choice.parallel_pointer = pointer;
        let value = members.get(pointer).and_then(Value::as_bool);
        if let Some(value) = value {
            members.take(pointer);
            let is_inverted = matches!(api, Api::Anthropic | Api::Invoke);
            choice.parallel = Some(value != is_inverted);
        }
    }
    choice.mode = members
        .get(choice.pointer)
        .and_then(|value| mode(api, value));
    if let Some(mode) = &choice.mode {
        members.take_understood(choice.pointer, &|name, value| mode.has(name, value));
    }
    choice
}

impl ChoiceMode {
    /// Whether the mode holds a value of the member that it was read from.
    fn has(&self, member: &str, value: &Value) -> bool {
        /// Types of choices and of the tools in them.
        const KINDS: [&str; 4] = ["tool", "function", "allowed_tools", "custom"];
        let Some(text) = value.as_str() else {
            // Converse's `{"auto": {}}`.
            return *value == json!({});
        };
        let is_name = match self {
            Self::Named(name) => name == text || own_names(name).contains(&text),
            Self::Allowed { names, .. } => names.iter().any(|name| name == text),
            Self::Auto | Self::None | Self::Required => false,
        };
        let is_word = !matches!(member, "name" | "allowedFunctionNames")
            && (KINDS.contains(&text) || word_mode(&text.to_lowercase()).is_some());
        is_name || is_word
    }
}

/// All names of a provider's own tool, by the name of our function.
fn own_names(function: &str) -> Vec<&'static str> {
    let own = OWN_TOOLS.iter().filter(|(_, _, name)| *name == function);
    own.flat_map(|(anthropic, openai, name)| [*anthropic, *openai, *name])
        .collect()
}

fn mode(api: Api, value: &Value) -> Option<ChoiceMode> {
    if let Some(word) = value.as_str() {
        return word_mode(word);
    }
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let names = |pointer: &str| -> Vec<String> {
        let list = value.pointer(pointer).and_then(Value::as_array);
        let name = |item: &Value| {
            let named = item.get("name").or_else(|| item.pointer("/function/name"));
            named.unwrap_or(item).as_str().map(str::to_owned)
        };
        list.into_iter().flatten().filter_map(name).collect()
    };
    match api {
        Api::Converse => {
            let (kind, inner) = value.as_object()?.iter().next()?;
            match kind.as_str() {
                "tool" => Some(named(inner.get("name")?.as_str()?)),
                word => word_mode(word),
            }
        }
        Api::Generate => {
            let allowed = names("/allowedFunctionNames");
            let mode = text("/mode").unwrap_or("AUTO").to_lowercase();
            restricted(&mode, allowed)
        }
        Api::Interactions => {
            restricted(text("/allowed_tools/mode")?, names("/allowed_tools/tools"))
        }
        _ => match text("/type").or_else(|| text("/mode"))? {
            "tool" => Some(named(text("/name")?)),
            "function" => Some(named(text("/name").or_else(|| text("/function/name"))?)),
            "allowed_tools" => {
                let inner = if value.get("allowed_tools").is_some() {
                    "/allowed_tools"
                } else {
                    ""
                };
                let mode = text(&format!("{inner}/mode")).unwrap_or("auto");
                restricted(mode, names(&format!("{inner}/tools")))
            }
            "custom" | "mcp" => None,
            word => word_mode(word).or_else(|| {
                let name = text("/required_function_name");
                Some(named(name.unwrap_or(word)))
            }),
        },
    }
}

fn word_mode(word: &str) -> Option<ChoiceMode> {
    match word {
        "auto" | "validated" => Some(ChoiceMode::Auto),
        "none" => Some(ChoiceMode::None),
        "any" | "required" => Some(ChoiceMode::Required),
        _ => None,
    }
}

fn restricted(mode: &str, mut names: Vec<String>) -> Option<ChoiceMode> {
    let mode = word_mode(mode)?;
    let is_required = mode == ChoiceMode::Required;
    match names.len() {
        0 => Some(mode),
        1 if is_required => names.pop().map(|name| named(&name)),
        _ => Some(ChoiceMode::Allowed { is_required, names }),
    }
}

/// A choice of one tool; a provider's own tool by the name of our function.
fn named(name: &str) -> ChoiceMode {
    let own = OWN_TOOLS
        .iter()
        .find(|(anthropic, openai, _)| name == *anthropic || name == *openai);
    ChoiceMode::Named(own.map_or(name, |(_, _, function)| function).to_owned())
}

/// Writes the choice as far as the API can express it.
pub(super) fn write(api: Api, choice: &ToolChoice, document: &mut Value, report: &mut Report) {
    if let Some(mode) = &choice.mode {
        let at = choice.pointer;
        match written(api, mode, at, report) {
            Some(value) => put(document, pointer(api), value),
            // Without a choice, the model decides.
            None if *mode == ChoiceMode::Auto => {}
            None => report.lost(name_of(mode), at, "the target has no such tool choice"),
        }
    }
    let Some(parallel) = choice.parallel else {
        return;
    };
    match parallel_pointer(api) {
        Some(pointer) if matches!(api, Api::Anthropic | Api::Invoke) => {
            if choice.mode.is_none() {
                put(document, "/tool_choice", json!({"type": "auto"}));
            }
            let is_none = choice.mode == Some(ChoiceMode::None);
            if !is_none {
                put(document, pointer, !parallel);
            }
        }
        Some(pointer) => put(document, pointer, parallel),
        // Several calls are the default everywhere.
        None if parallel => {}
        None => report.lost(
            "one call at a time",
            choice.parallel_pointer,
            "the target has no such setting",
        ),
    }
}

fn name_of(mode: &ChoiceMode) -> String {
    match mode {
        ChoiceMode::Auto => "tool choice `auto`".to_owned(),
        ChoiceMode::None => "tool choice `none`".to_owned(),
        ChoiceMode::Required => "tool choice `required`".to_owned(),
        ChoiceMode::Named(name) => format!("choice of the tool `{name}`"),
        ChoiceMode::Allowed { names, .. } => format!("choice among `{}`", names.join("`, `")),
    }
}

fn written(api: Api, mode: &ChoiceMode, at: &str, report: &mut Report) -> Option<Value> {
    if let ChoiceMode::Allowed { is_required, names } = mode {
        return allowed(api, *is_required, names, at, report);
    }
    let word = match mode {
        ChoiceMode::Auto => "auto",
        ChoiceMode::None => "none",
        _ => "required",
    };
    let named = match mode {
        ChoiceMode::Named(name) => Some(name.as_str()),
        _ => None,
    };
    match (api, named) {
        (Api::Anthropic | Api::Invoke, Some(name)) => {
            Some(json!({"type": "tool", "name": own_name(name, |(anthropic, _, _)| anthropic)}))
        }
        (Api::Anthropic | Api::Invoke, None) => Some(json!({"type": any(word)})),
        (Api::Responses, Some(name)) => {
            let own = OWN_TOOLS.iter().find(|(_, _, function)| *function == name);
            Some(own.map_or_else(
                || json!({"type": "function", "name": name}),
                |(_, kind, _)| json!({"type": kind}),
            ))
        }
        (Api::Converse, Some(name)) => {
            Some(json!({"tool": {"name": own_name(name, |(anthropic, _, _)| anthropic)}}))
        }
        (Api::Converse, None) if word == "none" => None,
        (Api::Converse, None) => Some(json!({any(word): {}})),
        (Api::Generate, Some(name)) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        (Api::Generate, None) => Some(json!({"mode": any(word).to_uppercase()})),
        (Api::Interactions, Some(name)) => {
            Some(json!({"allowed_tools": {"mode": "any", "tools": [name]}}))
        }
        (Api::Interactions, None) => Some(any(word).into()),
        (Api::Chat | Api::Mistral | Api::Conversations, Some(name)) => {
            Some(json!({"type": "function", "function": {"name": name}}))
        }
        (Api::Mistral | Api::Conversations, None) => Some(any(word).into()),
        (Api::Framework, Some(name)) => {
            Some(json!({"mode": "required", "required_function_name": name}))
        }
        (Api::Chat | Api::Responses | Api::Framework, None) => Some(word.into()),
        (Api::Agents, _) => None,
    }
}

/// The name of a call for at least one tool, where it is not `required`.
fn any(word: &str) -> &str {
    if word == "required" { "any" } else { word }
}

fn own_name(
    name: &str,
    of: fn(&(&'static str, &'static str, &'static str)) -> &'static str,
) -> &str {
    let own = OWN_TOOLS.iter().find(|(_, _, function)| *function == name);
    own.map_or(name, of)
}

/// A choice among several functions, which few APIs have.
fn allowed(
    api: Api,
    is_required: bool,
    names: &[String],
    at: &str,
    report: &mut Report,
) -> Option<Value> {
    let word = if is_required { "required" } else { "auto" };
    let mode = any(word);
    let function = |name: &String| json!({"type": "function", "name": name});
    match api {
        Api::Responses => {
            let tools: Vec<Value> = names.iter().map(function).collect();
            return Some(json!({"type": "allowed_tools", "mode": word, "tools": tools}));
        }
        Api::Generate if is_required => {
            return Some(json!({"mode": "ANY", "allowedFunctionNames": names}));
        }
        Api::Generate => {
            return Some(json!({"mode": "VALIDATED", "allowedFunctionNames": names}));
        }
        Api::Interactions => {
            return Some(json!({"allowed_tools": {"mode": mode, "tools": names}}));
        }
        _ => {}
    }
    let mode = if is_required {
        ChoiceMode::Required
    } else {
        ChoiceMode::Auto
    };
    let what = format!("choice among `{}`", names.join("`, `"));
    let why = "the target cannot restrict the choice to several tools";
    report.preserved(what, at, why, format!("as `{word}`"));
    written(api, &mode, at, report)
}
