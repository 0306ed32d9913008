//! Encodes the calls and results of a history or of a turn, for either API. A result has the form of
//! its call, so the encoder remembers how each call was encoded.

use std::collections::HashMap;

use serde_json::{Map, Value};
use telechir_protocol::{
    AnsweredTurn, CallId, Content, Meta, ReasoningContent, SafetyCheck, Size, ToolResult,
    UnknownContent,
};

use super::call::property;
use super::context::{self, GoogleContext};
use super::encode_action::GoogleActionEncoder;
use super::encode_call::{self, EncodedFunctionCall, FunctionCallEncoder};
use super::functions::FunctionVocabulary;
use super::tool_result::{self, FunctionResponse};
use super::turns::{encoded_by_name, image_size};
use super::{PROVIDER, split_calls};
use crate::content_text::hosted_label;
use crate::history::turns::{call_id, meta_of, pair_id, result_of, results};
use crate::{EncodedReply, History, Report};

/// The JSON of one API: parts or steps.
pub(super) trait CallForm {
    /// The dialect's name in raw representations.
    const DIALECT: &'static str;

    /// The object that an unknown content of this API carries.
    fn passed_on(other: &UnknownContent) -> Option<&Map<String, Value>>;

    /// Decodes an object that holds exactly one content. The id is for a call or result without one.
    fn read(json: &Map<String, Value>, id: &CallId, context: &GoogleContext) -> Option<Content>;

    /// Whether the object only precedes a call.
    fn is_placeholder(_json: &Map<String, Value>) -> bool {
        false
    }

    /// The id and the name of the function call in an object.
    fn function_call(json: &Map<String, Value>) -> Option<(Option<&str>, &str)>;

    /// Encodes a call as these function calls.
    fn calls(content: &Content, encoded: &[EncodedFunctionCall]) -> Vec<Value>;

    /// Encodes the result of a function call, with the fields of another provider's JSON in `meta`.
    fn result(
        encoded: &EncodedFunctionCall,
        response: FunctionResponse,
        meta: &Meta,
        report: &mut Report,
    ) -> Value;

    /// Encodes the result of a call whose type only this API has; `None` for every other call.
    fn own_result(
        _call: &Content,
        _result: &ToolResult,
        _report: &mut Report,
    ) -> Option<Vec<Value>> {
        None
    }

    /// Encodes a content that is neither a call nor a result; `None` if it cannot be encoded, which
    /// is reported, or is not part of a conversation.
    fn plain(content: &Content, location: &str, report: &mut Report) -> Option<Value>;
}

/// Encodes the results of a turn, in the order of the calls.
pub(super) fn encode_results<F: CallForm>(turn: &AnsweredTurn) -> EncodedReply {
    let mut reply = EncodedReply::default();
    for (call, result) in turn.pairs() {
        let content = call.into_content();
        if let Some(values) = F::own_result(&content, result, &mut reply.report) {
            reply.items.extend(values);
            continue;
        }
        let encoded = match unchanged::<F>(&content, &GoogleContext::default()) {
            Some(values) => called::<F>(&values, &content),
            None => encode_call::write_again(&content, result),
        };
        let results = encode_result::<F>(&encoded, result, &mut reply.report);
        reply.items.extend(results);
    }
    tool_result::note_unacknowledged(turn, &mut reply.report);
    reply
}

/// The original JSON of a content, if it still means the same.
pub(super) fn unchanged<F: CallForm>(
    content: &Content,
    context: &GoogleContext,
) -> Option<Vec<Value>> {
    if let Content::Other(other) = content {
        return F::passed_on(other).map(|json| vec![Value::Object(json.clone())]);
    }
    let raw = content.meta()?.raw_representation.as_ref();
    let raw = raw.filter(|raw| raw.dialect == F::DIALECT)?;
    let id = id_of(content).cloned().unwrap_or_else(|| CallId::from(""));
    match raw.json() {
        Value::Object(json) => {
            (F::read(json, &id, context)? == *content).then(|| vec![raw.json().clone()])
        }
        Value::Array(values) => {
            let count = values.len();
            let read = |(at, json): (usize, &Value)| {
                let id = split_calls::part_id(&id, at + 1, count);
                F::read(json.as_object()?, &id, context)
            };
            let numbered = values.iter().enumerate();
            let read: Option<Vec<Content>> = numbered
                .filter(|(_, json)| !json.as_object().is_some_and(F::is_placeholder))
                .map(read)
                .collect();
            let mut joined = split_calls::join(read?);
            // The JSON includes what only precedes a call.
            if let [only] = joined.as_mut_slice()
                && let Some(meta) = only.meta_mut()
            {
                meta.raw_representation = Some(raw.clone());
            }
            (joined.as_slice() == std::slice::from_ref(content)).then(|| values.clone())
        }
        _ => None,
    }
}

/// The id that connects a content with another one.
fn id_of(content: &Content) -> Option<&CallId> {
    match content {
        Content::CommandCall(call) | Content::CommandResult(call) => call.call_id.as_ref(),
        content => pair_id(content),
    }
}

/// The function calls in the unchanged JSON of a call.
fn called<F: CallForm>(values: &[Value], content: &Content) -> Vec<EncodedFunctionCall> {
    let objects = values.iter().filter_map(Value::as_object);
    let objects: Vec<_> = objects.filter(|json| !F::is_placeholder(json)).collect();
    let count = objects.len();
    let base = call_id(content)
        .cloned()
        .unwrap_or_else(|| CallId::from(""));
    let call = |(at, json)| {
        let (id, name) = F::function_call(json)?;
        let part_id = || split_calls::part_id(&base, at + 1, count);
        Some(EncodedFunctionCall {
            id: id.map_or_else(part_id, CallId::from),
            name: name.to_owned(),
            args: Value::Null,
            action: (count > 1).then_some(at),
        })
    };
    objects.into_iter().enumerate().filter_map(call).collect()
}

/// Encodes the results of these function calls.
fn encode_result<F: CallForm>(
    encoded: &[EncodedFunctionCall],
    result: &ToolResult,
    report: &mut Report,
) -> Vec<Value> {
    let responses = tool_result::write(encoded, result, report);
    let meta = meta_of(result);
    let own_name = meta.property(PROVIDER, property::ANSWERED);
    let own_name = own_name.and_then(Value::as_str);
    let pairs = encoded.iter().zip(responses);
    pairs
        .map(|(encoded, response)| match own_name {
            Some(name) => {
                let renamed = EncodedFunctionCall {
                    name: name.to_owned(),
                    ..encoded.clone()
                };
                F::result(&renamed, response, meta, report)
            }
            None => F::result(encoded, response, meta, report),
        })
        .collect()
}

/// Whether reasoning is of this provider, which accepts no other; the loss of any other is reported.
pub(super) fn is_own_reasoning(
    reasoning: &ReasoningContent,
    location: &str,
    report: &mut Report,
) -> bool {
    let is_own = reasoning.meta.property(PROVIDER, "thought").is_some();
    if !is_own {
        let why = "the provider accepts only its own reasoning";
        report.lost("reasoning", location, why);
    }
    is_own
}

/// The name in a report of a content that neither API has a form for.
pub(super) fn label(content: &Content) -> String {
    match content {
        Content::Error(error) => format!("error {:?}", error.message),
        Content::ImageGenerationCall(call) => hosted_label("an image generation call", call),
        Content::ImageGenerationResult(result) => hosted_label("a generated image", result),
        Content::ApprovalRequest(request) => format!("approval request {}", request.id),
        Content::ApprovalResponse(response) => format!("approval response {}", response.id),
        Content::Other(other) => {
            let kind = other.kind.as_deref().unwrap_or_default();
            format!("content of type {kind:?}")
        }
        _ => "a content".to_owned(),
    }
}

/// Encodes the contents of a history one after another.
#[derive(Debug)]
pub(super) struct CallEncoder<'a> {
    context: GoogleContext,
    results: HashMap<&'a CallId, &'a Content>,
    /// How each call was encoded, by its id in the history.
    encoded: HashMap<&'a CallId, Vec<EncodedFunctionCall>>,
    /// The size of the newest image, to which pixels refer.
    image: Option<Size>,
    pub(super) report: Report,
}

impl<'a> CallEncoder<'a> {
    /// An encoder for a history in a request that declares these tools.
    pub(super) fn new(history: &'a History, tools: Option<&Value>) -> Self {
        Self {
            context: GoogleContext::of_functions(context::declared(tools)),
            results: results(&history.messages),
            encoded: HashMap::new(),
            image: None,
            report: Report::default(),
        }
    }

    /// Records the image in the next content.
    pub(super) fn see(&mut self, content: &Content) {
        self.image = image_size(content).or(self.image);
    }

    /// The original JSON of a content, if it still means the same.
    pub(super) fn unchanged<F: CallForm>(&mut self, content: &'a Content) -> Option<Vec<Value>> {
        let values = unchanged::<F>(content, &self.context)?;
        if call_id(content).is_some() {
            self.note(content, called::<F>(&values, content));
        }
        Some(values)
    }

    /// Encodes a content from its neutral value.
    pub(super) fn encode<F: CallForm>(
        &mut self,
        content: &'a Content,
        location: &str,
    ) -> Vec<Value> {
        if call_id(content).is_some() || matches!(content, Content::FunctionCall(_)) {
            return self.call::<F>(content, location);
        }
        match result_of(content) {
            Some(result) => self.result::<F>(&result, location),
            None => Vec::from_iter(F::plain(content, location, &mut self.report)),
        }
    }

    fn call<F: CallForm>(&mut self, content: &'a Content, location: &str) -> Vec<Value> {
        let result = call_id(content).and_then(|id| self.results.get(&id).copied());
        let acknowledged: &[SafetyCheck] = match result {
            Some(Content::ComputerResult(result)) => &result.acknowledged_safety_checks,
            _ => &[],
        };
        let mut encoder = FunctionCallEncoder {
            action_encoder: GoogleActionEncoder {
                vocabulary: FunctionVocabulary::Current,
                image: self.image.or_else(|| result.and_then(image_size)),
            },
            acknowledged,
            report: &mut self.report,
        };
        let encoded = encode_call::write(content, &mut encoder, location);
        let values = F::calls(content, &encoded);
        self.note(content, encoded);
        values
    }

    fn note(&mut self, call: &'a Content, encoded: Vec<EncodedFunctionCall>) {
        self.context.note_encoded(call, &encoded);
        if let Some(id) = call_id(call) {
            self.encoded.insert(id, encoded);
        }
    }

    fn result<F: CallForm>(&mut self, result: &ToolResult, location: &str) -> Vec<Value> {
        let encoded = result
            .call_id()
            .and_then(|id| self.encoded.get(id))
            .cloned();
        let encoded = encoded
            .or_else(|| encoded_by_name(result))
            .unwrap_or_default();
        if encoded.is_empty() {
            let why = "a result names its function, and no earlier call has this id";
            let id = result.call_id().map_or("", |id| id.as_str());
            let what = format!("result {id}");
            self.report.lost(what.trim_end(), location, why);
            return Vec::new();
        }
        encode_result::<F>(&encoded, result, &mut self.report)
    }

    /// Encodes an error as the result of a call that has none.
    pub(super) fn missing<F: CallForm>(&mut self, call: &Content) -> Vec<Value> {
        let Some(id) = call_id(call) else {
            return Vec::new();
        };
        self.report.preserved(
            "a missing result",
            format!("call {id}"),
            "every call requires a result",
            "as an error result",
        );
        let encoded = self.encoded.get(id).into_iter().flatten();
        let meta = Meta::default();
        let report = &mut self.report;
        encoded
            .map(|encoded| F::result(encoded, tool_result::unknown(call), &meta, report))
            .collect()
    }
}
