//! Settings of a request that every API has under its own name: a table for each.

use serde_json::{Map, Value};

use super::TranslationOptions;
use super::api::Api;
use super::members::{Members, put};
use crate::Report;

/// A setting with the same meaning everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Model,
    MaxTokens,
    Temperature,
    TopP,
    TopK,
    PresencePenalty,
    FrequencyPenalty,
    Seed,
    Stop,
    User,
    Metadata,
    Stream,
    /// Whether the provider keeps the response.
    Store,
}

use Setting::{
    FrequencyPenalty, MaxTokens, Metadata, Model, PresencePenalty, Seed, Stop, Store, Stream,
    Temperature, TopK, TopP, User,
};

/// A setting of a request, with the pointer that it was read from.
#[derive(Clone, Debug)]
pub(super) struct FoundSetting {
    pub(super) setting: Setting,
    pub(super) value: Value,
    pub(super) pointer: &'static str,
}

type SettingRow = (Setting, &'static str);

const ANTHROPIC: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/max_tokens"),
    (Temperature, "/temperature"),
    (TopP, "/top_p"),
    (TopK, "/top_k"),
    (Stop, "/stop_sequences"),
    (User, "/metadata/user_id"),
    (Stream, "/stream"),
];
const INVOKE: &[SettingRow] = &[
    (MaxTokens, "/max_tokens"),
    (Temperature, "/temperature"),
    (TopP, "/top_p"),
    (TopK, "/top_k"),
    (Stop, "/stop_sequences"),
    (User, "/metadata/user_id"),
];
const RESPONSES: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/max_output_tokens"),
    (Temperature, "/temperature"),
    (TopP, "/top_p"),
    (User, "/safety_identifier"),
    (User, "/user"),
    (Metadata, "/metadata"),
    (Stream, "/stream"),
    (Store, "/store"),
];
const CONVERSE: &[SettingRow] = &[
    (Model, "/modelId"),
    (Model, "/model"),
    (MaxTokens, "/inferenceConfig/maxTokens"),
    (Temperature, "/inferenceConfig/temperature"),
    (TopP, "/inferenceConfig/topP"),
    (TopK, "/additionalModelRequestFields/top_k"),
    (Stop, "/inferenceConfig/stopSequences"),
    (Metadata, "/requestMetadata"),
];
const GENERATE: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/generationConfig/maxOutputTokens"),
    (Temperature, "/generationConfig/temperature"),
    (TopP, "/generationConfig/topP"),
    (TopK, "/generationConfig/topK"),
    (PresencePenalty, "/generationConfig/presencePenalty"),
    (FrequencyPenalty, "/generationConfig/frequencyPenalty"),
    (Seed, "/generationConfig/seed"),
    (Stop, "/generationConfig/stopSequences"),
    (Metadata, "/labels"),
];
const INTERACTIONS: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/generation_config/max_output_tokens"),
    (Temperature, "/generation_config/temperature"),
    (TopP, "/generation_config/top_p"),
    (Seed, "/generation_config/seed"),
    (Stop, "/generation_config/stop_sequences"),
    (Metadata, "/labels"),
    (Stream, "/stream"),
    (Store, "/store"),
];
const CHAT: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/max_tokens"),
    (MaxTokens, "/max_completion_tokens"),
    (Temperature, "/temperature"),
    (TopP, "/top_p"),
    (PresencePenalty, "/presence_penalty"),
    (FrequencyPenalty, "/frequency_penalty"),
    (Seed, "/seed"),
    (Stop, "/stop"),
    (User, "/user"),
    (User, "/safety_identifier"),
    (Metadata, "/metadata"),
    (Stream, "/stream"),
    (Store, "/store"),
];
const MISTRAL: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/max_tokens"),
    (Temperature, "/temperature"),
    (TopP, "/top_p"),
    (PresencePenalty, "/presence_penalty"),
    (FrequencyPenalty, "/frequency_penalty"),
    (Seed, "/random_seed"),
    (Stop, "/stop"),
    (Metadata, "/metadata"),
    (Stream, "/stream"),
];
const CONVERSATIONS: &[SettingRow] = &[
    (Model, "/model"),
    (MaxTokens, "/completion_args/max_tokens"),
    (Temperature, "/completion_args/temperature"),
    (TopP, "/completion_args/top_p"),
    (PresencePenalty, "/completion_args/presence_penalty"),
    (FrequencyPenalty, "/completion_args/frequency_penalty"),
    (Seed, "/completion_args/random_seed"),
    (Stop, "/completion_args/stop"),
    (Metadata, "/metadata"),
    (Stream, "/stream"),
    (Store, "/store"),
];
const FRAMEWORK: &[SettingRow] = &[
    (Model, "/options/model_id"),
    (Model, "/options/model"),
    (MaxTokens, "/options/max_tokens"),
    (Temperature, "/options/temperature"),
    (TopP, "/options/top_p"),
    (PresencePenalty, "/options/presence_penalty"),
    (FrequencyPenalty, "/options/frequency_penalty"),
    (Seed, "/options/seed"),
    (Stop, "/options/stop"),
    (User, "/options/user"),
    (Metadata, "/options/metadata"),
];

fn rows(api: Api) -> &'static [SettingRow] {
    match api {
        Api::Anthropic => ANTHROPIC,
        Api::Invoke => INVOKE,
        Api::Responses => RESPONSES,
        Api::Converse => CONVERSE,
        Api::Generate => GENERATE,
        Api::Interactions => INTERACTIONS,
        Api::Chat => CHAT,
        Api::Mistral => MISTRAL,
        Api::Conversations => CONVERSATIONS,
        Api::Framework => FRAMEWORK,
        Api::Agents => &[],
    }
}

/// The highest temperature that the API accepts.
fn highest_temperature(api: Api) -> f64 {
    match api {
        Api::Anthropic | Api::Invoke | Api::Converse => 1.0,
        Api::Mistral | Api::Conversations => 1.5,
        _ => 2.0,
    }
}

/// Takes all settings out of a request.
pub(super) fn read(api: Api, members: &mut Members) -> Vec<FoundSetting> {
    let mut found: Vec<FoundSetting> = Vec::new();
    for (setting, pointer) in rows(api) {
        // A second spelling of a setting stays behind and is reported.
        if found.iter().any(|other| other.setting == *setting) {
            continue;
        }
        let Some(value) = members.get(pointer) else {
            continue;
        };
        if !is_valid(*setting, value) {
            continue;
        }
        let value = normal(*setting, value.clone());
        members.take(pointer);
        found.push(FoundSetting {
            setting: *setting,
            value,
            pointer,
        });
    }
    found
}

/// Whether the value has the type of its setting.
fn is_valid(setting: Setting, value: &Value) -> bool {
    match setting {
        Model | User => value.is_string(),
        MaxTokens | TopK | Seed => value.is_number(),
        Temperature | TopP | PresencePenalty | FrequencyPenalty => value.is_number(),
        Stop => value.is_string() || value.is_array(),
        Metadata => value.is_object(),
        Stream | Store => value.is_boolean(),
    }
}

fn normal(setting: Setting, value: Value) -> Value {
    match (setting, value) {
        (Stop, text @ Value::String(_)) => Value::Array(vec![text]),
        (Model, Value::String(name)) => name.trim_start_matches("models/").into(),
        (_, value) => value,
    }
}

/// Writes the settings that the API has and reports the others.
pub(super) fn write(
    api: Api,
    settings: &[FoundSetting],
    document: &mut Value,
    report: &mut Report,
) {
    for found in settings {
        // The path of the request has it, or the caller writes it.
        if found.setting == Model || (found.setting == Stream && api.path("", true).is_some()) {
            continue;
        }
        let row = rows(api)
            .iter()
            .find(|(setting, _)| *setting == found.setting);
        match row {
            Some((_, pointer)) => put(document, pointer, adapted(api, found, report)),
            None if found.value == Value::Bool(false) => {}
            None => {
                let why = "the target has no such setting";
                report.lost(name_of(found), found.pointer, why);
            }
        }
    }
}

/// What a report calls the setting: its own name and value.
fn name_of(found: &FoundSetting) -> String {
    let name = found.pointer.rsplit('/').next().unwrap_or(found.pointer);
    format!("`{name}`: {}", found.value)
}

/// The value within the API's range.
fn adapted(api: Api, found: &FoundSetting, report: &mut Report) -> Value {
    if found.setting == Metadata {
        return strings(found, report);
    }
    let highest = highest_temperature(api);
    let is_above = found.value.as_f64().is_some_and(|value| value > highest);
    if found.setting != Temperature || !is_above {
        return found.value.clone();
    }
    let why = format!("the target accepts at most {highest}");
    report.preserved(name_of(found), found.pointer, why, format!("as {highest}"));
    highest.into()
}

/// Metadata is a map of strings in every API.
fn strings(found: &FoundSetting, report: &mut Report) -> Value {
    let members = found.value.as_object().cloned().unwrap_or_default();
    let mut strings = Map::new();
    for (name, value) in members {
        if !value.is_string() {
            let pointer = format!("{}/{name}", found.pointer);
            let how = "as a string of JSON";
            report.preserved(format!("`{name}`"), pointer, "metadata are strings", how);
        }
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        strings.insert(name, text.into());
    }
    strings.into()
}

/// The document with the model's name mapped; nothing else changes.
pub(super) fn with_mapped_model(
    api: Api,
    mut document: Value,
    options: &TranslationOptions,
) -> Value {
    let request = rows(api).iter().filter(|(setting, _)| *setting == Model);
    let pointers = request.map(|(_, pointer)| *pointer);
    for pointer in pointers.chain(["/model", "/modelVersion", "/model_id"]) {
        let Some(name) = document.pointer_mut(pointer) else {
            continue;
        };
        let mapped = name.as_str().and_then(|name| options.models.get(name));
        if let Some(mapped) = mapped {
            *name = mapped.clone().into();
        }
        break;
    }
    document
}
