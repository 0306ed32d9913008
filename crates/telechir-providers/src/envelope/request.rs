//! Translates a request: its settings by the tables, its tools by the dialects' declarations, its
//! messages by the dialects' codecs.

use serde_json::{Map, Value, json};
use telechir_protocol::{Message, Role};

use super::api::Api;
use super::choice::{self, ToolChoice};
use super::format::{self, FoundFormat};
use super::history::{self, Instruction};
use super::members::{Members, name_at, put};
use super::reasoning::{self, Reasoning};
use super::settings::{self, FoundSetting, Setting};
use super::tools::{self, ReadTool};
use super::{ThinkingTranslation, TranslatedDocument, TranslationError, TranslationOptions};
use crate::service_rules::SAMPLING;
use crate::{Dialect, Envelope, History, Report, bedrock, google};

/// Anthropic requires a limit; this is the one of a conversation without another.
const DEFAULT_MAX_TOKENS: u32 = 16_000;

/// The version of Anthropic's API that accepts sampling parameters.
const SAMPLING_VERSION: &str = "2023-06-01";

/// The settings of a request, read from its body.
struct RequestSettings {
    settings: Vec<FoundSetting>,
    tools: Vec<ReadTool>,
    choice: ToolChoice,
    format: Option<FoundFormat>,
    reasoning: Reasoning,
    /// Instructions that the dialect's codec does not decode as a message.
    system: Vec<Instruction>,
    /// Pointers of the members that no target has.
    left: Vec<String>,
}

impl RequestSettings {
    fn value(&self, setting: Setting) -> Option<&Value> {
        let found = self.settings.iter().find(|found| found.setting == setting);
        found.map(|found| &found.value)
    }
}

pub(super) fn translate(
    from: Dialect,
    to: Dialect,
    document: Value,
    options: &TranslationOptions,
) -> Result<TranslatedDocument, TranslationError> {
    let source = Api::of(from);
    let mut report = Report::default();
    let body = match source {
        Api::Generate => camel_members(document.clone()),
        _ => document.clone(),
    };
    let request = read(source, body, &mut report);
    let (history, decoding) = from.decode_history(document.to_string())?;
    report.absorb(decoding);
    let messages = prepared(to, history, &request, options, &mut report);
    let mut written = Written::new(source, to, messages, report);
    written.settings(source, request, options);
    written.encode(source)
}

fn read(api: Api, body: Value, report: &mut Report) -> RequestSettings {
    let mut members = Members::new(body);
    members.take(&format!("/{}", api.messages_member()));
    let system = system(api, &mut members, report);
    let settings = settings::read(api, &mut members);
    let tools = tools::read(api, &mut members);
    let choice = choice::read(api, &mut members);
    let format = format::read(api, &mut members);
    let reasoning = reasoning::read(api, &mut members);
    implied(api, &mut members);
    RequestSettings {
        settings,
        tools,
        choice,
        format,
        reasoning,
        system,
        left: members.left(),
    }
}

/// Takes values that say nothing in another API: the version of this one, and what others always do.
fn implied(api: Api, members: &mut Members) {
    let is_true = |_: &str, value: &Value| *value == Value::Bool(true);
    match api {
        Api::Anthropic | Api::Invoke => {
            members.take_constant("/anthropic_version", &[INVOKE_VERSION]);
            members.take_understood("/anthropic_beta", &is_beta_of_tools);
        }
        Api::Converse => {
            let betas = "/additionalModelRequestFields/anthropic_beta";
            members.take_understood(betas, &is_beta_of_tools);
        }
        Api::Generate => {
            let pointer = "/toolConfig/includeServerSideToolInvocations";
            members.take_understood(pointer, &is_true);
        }
        Api::Agents => {
            for pointer in AGENT_MESSAGES {
                members.take(pointer);
            }
        }
        Api::Chat => members.take_understood("/stream_options/include_usage", &is_true),
        Api::Responses | Api::Interactions | Api::Mistral | Api::Conversations | Api::Framework => {
        }
    }
}

/// The version of Anthropic's bodies for InvokeModel.
const INVOKE_VERSION: &str = "bedrock-2023-05-31";

/// What the codec reads of an agent's request.
const AGENT_MESSAGES: [&str; 3] = [
    "/inputText",
    "/sessionState/invocationId",
    "/sessionState/returnControlInvocationResults",
];

/// Whether a beta only makes a tool available, which the tool's declaration does elsewhere.
fn is_beta_of_tools(_: &str, value: &Value) -> bool {
    let prefixes = ["computer-use-", "code-execution-", "mcp-client-"];
    let is_of_tools = |text: &str| prefixes.iter().any(|prefix| text.starts_with(prefix));
    value.as_str().is_some_and(is_of_tools)
}

/// Instructions in a member that the codec leaves in the envelope: a text, or blocks of text.
fn system(api: Api, members: &mut Members, report: &mut Report) -> Vec<Instruction> {
    let Some(name) = api.system_member() else {
        return Vec::new();
    };
    let pointer = format!("/{name}");
    if !matches!(api, Api::Anthropic | Api::Invoke | Api::Converse) {
        // Of what the codec does not read, every value is reported.
        let is_read = match api {
            Api::Generate => members.get(&pointer).is_some_and(google::is_instructions),
            _ => members.text(&pointer).is_some(),
        };
        if is_read {
            members.take(&pointer);
        }
        return Vec::new();
    }
    if let Some(text) = members.take_text(&pointer) {
        return vec![Instruction::new(text)];
    }
    let blocks = members.take_list(&pointer);
    let mut texts: Vec<Instruction> = Vec::new();
    for (at, block) in blocks.into_iter().enumerate() {
        let pointer = format!("/{name}/{at}");
        let Value::Object(block) = block else {
            report.lost(format!("`{name}` {block}"), pointer, "it is not a block");
            continue;
        };
        for (member, value) in block {
            match (member.as_str(), value) {
                ("text", Value::String(text)) => texts.push(Instruction::new(text)),
                (_, Value::Null) => {}
                ("type", kind) if kind == "text" => {}
                (name @ (history::CACHE | "cachePoint"), marker)
                    if !texts.is_empty() && marker.is_object() =>
                {
                    let marker = match name {
                        history::CACHE => marker,
                        _ => {
                            let pointer = format!("{pointer}/{name}");
                            history::report_cache_members(&marker, &pointer, report);
                            bedrock::cache_marker(&marker)
                        }
                    };
                    if let Some(last) = texts.last_mut() {
                        last.cache = Some(marker);
                    }
                }
                (member, _) => {
                    let why = "the target's instructions are text";
                    let pointer = format!("{pointer}/{member}");
                    report.lost(format!("`{member}` of the instructions"), pointer, why);
                }
            }
        }
    }
    texts
}

/// The messages, with all instructions as the first of them.
fn prepared(
    to: Dialect,
    mut history: History,
    request: &RequestSettings,
    options: &TranslationOptions,
    report: &mut Report,
) -> Vec<Message> {
    if options.thinking == ThinkingTranslation::Text {
        history.thinking_to_text(to, report);
    }
    let mut messages = history.messages;
    let texts = request.system.iter().rev();
    for text in texts {
        messages.insert(0, Message::new(Role::System, vec![text.content()]));
    }
    messages
}

/// A request that is being written.
struct Written {
    to: Dialect,
    api: Api,
    messages: Vec<Message>,
    document: Value,
    system: Vec<Instruction>,
    /// The messages that `system` was read from.
    instructions: Vec<Message>,
    headers: Vec<(String, String)>,
    path: Option<String>,
    report: Report,
}

impl Written {
    fn new(source: Api, to: Dialect, mut messages: Vec<Message>, mut report: Report) -> Self {
        let api = Api::of(to);
        let (system, instructions) = match api.system_member() {
            Some(_) => history::take_instructions(&mut messages, &mut report),
            None if api == Api::Agents => {
                let (texts, instructions) = history::take_instructions(&mut messages, &mut report);
                let texts: Vec<String> = texts.into_iter().map(|text| text.text).collect();
                if !texts.is_empty() {
                    let what = format!("instructions `{}`", texts.join("\n\n"));
                    let why = "an agent has its own instructions";
                    report.lost(what, source.instructions_pointer(), why);
                }
                (Vec::new(), instructions)
            }
            None => (Vec::new(), Vec::new()),
        };
        for marker in system.iter().filter_map(|text| text.cache.as_ref()) {
            let pointer = source.instructions_pointer();
            match api {
                Api::Anthropic | Api::Invoke => {}
                Api::Converse => history::report_cache_members(marker, &pointer, &mut report),
                _ => {
                    let what = format!("`cache_control` of the instructions: {marker}");
                    let why = "the target's instructions are text";
                    report.lost(what, pointer, why);
                }
            }
        }
        Self {
            to,
            api,
            messages,
            document: Value::Object(Map::new()),
            system,
            instructions,
            headers: Vec::new(),
            path: None,
            report,
        }
    }

    fn settings(&mut self, source: Api, request: RequestSettings, options: &TranslationOptions) {
        let model = self.model(source, &request, options);
        let is_stream = request.value(Setting::Stream) == Some(&Value::Bool(true));
        match (&model, self.api.has_model_in_path()) {
            (Some(model), true) => self.path = self.api.path(model, is_stream),
            (Some(model), false) => {
                let pointer = match self.api {
                    Api::Framework => "/options/model_id",
                    _ => "/model",
                };
                put(&mut self.document, pointer, model.as_str());
            }
            (None, _) => {}
        }
        let model = model.as_deref();
        let (document, report) = (&mut self.document, &mut self.report);
        if self.api == Api::Invoke {
            put(document, "/anthropic_version", INVOKE_VERSION);
        }
        let headers = &mut self.headers;
        tools::write(self.to, request.tools, model, document, headers, report);
        choice::write(self.api, &request.choice, document, report);
        format::write(self.api, request.format.as_ref(), document, report);
        reasoning::write(self.api, &request.reasoning, document, report);
        settings::write(self.api, &request.settings, document, report);
        self.required();
        for pointer in request.left {
            let why = "the target has no such setting";
            self.report.lost(name_at(&pointer), pointer, why);
        }
    }

    /// The name of the target's model.
    fn model(
        &mut self,
        source: Api,
        request: &RequestSettings,
        options: &TranslationOptions,
    ) -> Option<String> {
        if self.api == Api::Agents {
            let found = request.settings.iter();
            for model in found.filter(|found| found.setting == Setting::Model) {
                let what = format!("model {}", model.value);
                let why = "an agent has its own model";
                self.report.lost(what, model.pointer, why);
            }
            return None;
        }
        let found = request.value(Setting::Model).and_then(Value::as_str);
        let Some(name) = found.filter(|name| !name.is_empty()) else {
            if options.model.is_none() {
                let what = match source.has_model_in_path() {
                    true => "the model, which is in the request's path",
                    false => "the model, which the request does not name",
                };
                let why = "name it with --model";
                self.report.lost(what, "/model", why);
            }
            return options.model.clone();
        };
        let mapped = options.models.get(name).or(options.model.as_ref());
        if let Some(mapped) = mapped {
            return Some(mapped.clone());
        }
        let why = "the target may not have this model; map it with --model-map";
        let what = format!("model `{name}`");
        self.report.preserved(what, "/model", why, "as it is named");
        Some(name.to_owned())
    }

    /// What the target requires, and what it rejects beside other settings.
    fn required(&mut self) {
        match self.api {
            Api::Anthropic | Api::Invoke => {
                if self.document.get("max_tokens").is_none() {
                    self.report.preserved(
                        "the absence of a limit of tokens",
                        "/max_tokens",
                        "the target requires one",
                        format!("as {DEFAULT_MAX_TOKENS}"),
                    );
                    put(&mut self.document, "/max_tokens", DEFAULT_MAX_TOKENS);
                }
                self.budget();
                if self.api == Api::Anthropic {
                    self.sampling();
                }
            }
            Api::Responses => {
                self.not_stored();
                put(
                    &mut self.document,
                    "/include",
                    json!(["reasoning.encrypted_content"]),
                );
            }
            Api::Interactions | Api::Conversations => self.not_stored(),
            Api::Generate => {
                let tools = self.document.get("tools").and_then(Value::as_array);
                if tools.is_some_and(|tools| google::combines_hosted_tools(tools)) {
                    let pointer = "/toolConfig/includeServerSideToolInvocations";
                    put(&mut self.document, pointer, true);
                }
            }
            _ => {}
        }
    }

    /// Anthropic's budget of thinking must be below the limit of tokens.
    fn budget(&mut self) {
        let number = |pointer: &str| self.document.pointer(pointer).and_then(Value::as_u64);
        let budget = number("/thinking/budget_tokens");
        let limit = number("/max_tokens");
        let (Some(budget), Some(limit)) = (budget, limit) else {
            return;
        };
        if budget < limit {
            return;
        }
        let what = format!("budget of {budget} tokens of thinking");
        let why = "the target requires a budget below the limit of tokens";
        if limit > 1024 {
            let less = limit - 1;
            put(&mut self.document, "/thinking/budget_tokens", less);
            let how = format!("as {less}");
            self.report.preserved(what, "/thinking", why, how);
        } else if let Some(members) = self.document.as_object_mut() {
            members.shift_remove("thinking");
            self.report.lost(what, "/thinking", why);
        }
    }

    /// Nothing is stored, as at the other providers, unless the request wants it.
    fn not_stored(&mut self) {
        if self.document.get("store").is_none() {
            put(&mut self.document, "/store", false);
        }
    }

    /// The newest version of Anthropic's API rejects sampling, and only it has toolsets.
    fn sampling(&mut self) {
        let has = |name: &str| self.document.get(name).is_some();
        if !SAMPLING.iter().any(|name| has(name)) {
            return;
        }
        let tools = self.document.get("tools").map(Value::to_string);
        if !tools.is_some_and(|tools| tools.contains("_toolset_")) {
            self.headers.retain(|(name, _)| name != "anthropic-version");
            let version = ("anthropic-version".to_owned(), SAMPLING_VERSION.to_owned());
            self.headers.push(version);
            return;
        }
        for name in SAMPLING {
            let members = self.document.as_object_mut();
            if let Some(value) = members.and_then(|members| members.shift_remove(name)) {
                let what = format!("`{name}`: {value}");
                let why = "the version of the API that has toolsets rejects it";
                self.report.lost(what, format!("/{name}"), why);
            }
        }
    }

    /// Encodes the messages and closes the request.
    fn encode(mut self, source: Api) -> Result<TranslatedDocument, TranslationError> {
        if self.api == Api::Converse && self.document.get("toolConfig").is_none() {
            self.declare_called_tools(source)?;
        }
        let envelope = match self.api {
            Api::Agents => Envelope::List,
            api => {
                let mut rest = self.document.as_object().cloned().unwrap_or_default();
                let member = api.messages_member();
                rest.insert(member.to_owned(), Value::Null);
                // The codec checks these against a version that the headers replace.
                for name in SAMPLING {
                    rest.shift_remove(name);
                }
                Envelope::Object {
                    dialect: self.to.envelope_dialect(),
                    member,
                    rest,
                }
            }
        };
        let messages = std::mem::take(&mut self.messages);
        let (encoded, losses) = self.to.encode_history(&History { messages, envelope })?;
        self.report.absorb(losses);
        let document = self.close(source, encoded);
        let to = self.to;
        to.report_unwritten(&self.instructions, &document, &mut self.report);
        Ok(TranslatedDocument {
            document,
            headers: self.headers,
            path: self.path,
            report: self.report,
        })
    }

    /// Converse requires declarations if there are calls, which other services do not.
    fn declare_called_tools(&mut self, source: Api) -> Result<(), TranslationError> {
        let history = History {
            messages: std::mem::take(&mut self.messages),
            envelope: Envelope::List,
        };
        let (written, _) = self.to.encode_history(&history)?;
        self.messages = history.messages;
        let mut names: Vec<&str> = Vec::new();
        let messages = written.as_array().into_iter().flatten();
        let blocks = messages.filter_map(|message| message["content"].as_array());
        for block in blocks.flatten() {
            let name = block.pointer("/toolUse/name").and_then(Value::as_str);
            names.extend(name.filter(|name| !names.contains(name)));
        }
        if names.is_empty() {
            return Ok(());
        }
        let tool = |name: &&str| json!({"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}});
        let tools: Vec<Value> = names.iter().map(tool).collect();
        put(&mut self.document, "/toolConfig/tools", tools);
        self.report.preserved(
            "the absence of tools",
            source.tools_pointer(),
            "the target requires a declaration of each tool that the conversation calls",
            format!("as functions without parameters: `{}`", names.join("`, `")),
        );
        Ok(())
    }

    fn close(&mut self, source: Api, mut encoded: Value) -> Value {
        if self.api == Api::Agents {
            if let Some(tools) = self.document.get("actionGroups") {
                let how = "declare them when the agent is made: telechir tools prints them";
                let what = format!("tools {}", names_of_groups(tools).join(", "));
                let why = "an agent's tools are not in its requests";
                let pointer = source.tools_pointer();
                self.report.preserved(what, pointer, why, how);
            }
            return match encoded.as_array_mut() {
                Some(items) if items.len() == 1 => items.remove(0),
                _ => encoded,
            };
        }
        if let (Some(encoded), Some(document)) =
            (encoded.as_object_mut(), self.document.as_object())
        {
            for (name, value) in document {
                encoded.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        if let Some(name) = self.api.system_member()
            && !self.system.is_empty()
        {
            put(&mut encoded, &format!("/{name}"), self.instructions());
        }
        encoded
    }

    fn instructions(&self) -> Value {
        let texts = || self.system.iter().map(|part| part.text.as_str());
        let has_markers = self.system.iter().any(|part| part.cache.is_some());
        match self.api {
            Api::Anthropic | Api::Invoke if self.system.len() > 1 || has_markers => {
                let block = |part: &Instruction| {
                    let mut block = json!({"type": "text", "text": part.text});
                    if let Some(marker) = &part.cache {
                        block[history::CACHE] = marker.clone();
                    }
                    block
                };
                self.system.iter().map(block).collect()
            }
            Api::Converse => {
                let blocks = |part: &Instruction| {
                    let point = part.cache.as_ref().map(bedrock::cache_point);
                    std::iter::once(json!({"text": part.text})).chain(point)
                };
                self.system.iter().flat_map(blocks).collect()
            }
            Api::Generate => {
                let parts: Vec<Value> = texts().map(|text| json!({"text": text})).collect();
                json!({ "parts": parts })
            }
            _ => texts().collect::<Vec<_>>().join("\n\n").into(),
        }
    }
}

/// Google's members in camel case; its schemas and its own values stay as they are.
fn camel_members(document: Value) -> Value {
    const GROUPS: [&str; 5] = [
        "generationConfig",
        "thinkingConfig",
        "toolConfig",
        "functionCallingConfig",
        "systemInstruction",
    ];
    let Value::Object(members) = document else {
        return document;
    };
    let camel = members.into_iter().map(|(name, value)| {
        let name = camel(&name);
        let value = match GROUPS.contains(&name.as_str()) {
            true => camel_members(value),
            false => value,
        };
        (name, value)
    });
    Value::Object(camel.collect())
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// The names of an agent's action groups and of their functions.
fn names_of_groups(groups: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for group in groups.as_array().into_iter().flatten() {
        let functions = group.pointer("/functionSchema/functions");
        let functions = functions.and_then(Value::as_array).into_iter().flatten();
        let mut of_group: Vec<&str> = functions
            .filter_map(|function| function["name"].as_str())
            .collect();
        if of_group.is_empty() {
            let signature = group["parentActionGroupSignature"].as_str();
            of_group.extend(signature.or_else(|| group["actionGroupName"].as_str()));
        }
        names.extend(of_group.into_iter().map(|name| format!("`{name}`")));
    }
    names
}
