//! The smallest response of each dialect with texts or calls.

use serde_json::{Value, json};
use telechir_providers::Dialect;

/// A call of one function.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl Call {
    pub(super) fn new(id: &str, name: &str, arguments: Value) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
        }
    }
}

/// A content of a response.
#[derive(Clone)]
pub(super) enum ResponsePart {
    Text(String),
    Call(Call),
}

/// A response with these contents in order.
pub(super) fn response(dialect: Dialect, parts: &[ResponsePart]) -> Value {
    let parts: Vec<Value> = parts.iter().map(|one| encode(dialect, one)).collect();
    around(dialect, parts)
}

/// A response with these parts in the dialect's format.
pub(super) fn around(dialect: Dialect, parts: Vec<Value>) -> Value {
    match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages | Dialect::BedrockInvoke => {
            json!({"type": "message", "role": "assistant", "content": parts, "stop_reason": "tool_use"})
        }
        Dialect::OpenaiResponses => {
            json!({"object": "response", "status": "completed", "output": parts})
        }
        Dialect::BedrockConverse => {
            json!({"output": {"message": {"role": "assistant", "content": parts}}, "stopReason": "tool_use"})
        }
        Dialect::BedrockAgents => json!({"invocationId": "i-1", "invocationInputs": parts}),
        Dialect::GoogleGenerateContent => {
            json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})
        }
        Dialect::GoogleInteractions => {
            json!({"id": "v1", "object": "interaction", "status": "requires_action", "steps": parts})
        }
        Dialect::AgentFramework | Dialect::Neutral => {
            json!({"type": "message", "role": "assistant", "contents": parts})
        }
        Dialect::Functions | Dialect::FunctionsInline | Dialect::MistralChat => {
            let is_call = |part: &Value| part.get("function").is_some();
            let (calls, texts): (Vec<Value>, Vec<Value>) = parts.into_iter().partition(is_call);
            let mut message = json!({"role": "assistant", "content": texts});
            if texts.is_empty() {
                message["content"] = Value::Null;
            }
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
        }
        Dialect::MistralConversations => {
            json!({"object": "conversation.response", "conversation_id": "c1", "outputs": parts})
        }
    }
}

fn encode(dialect: Dialect, part: &ResponsePart) -> Value {
    match part {
        ResponsePart::Text(text) => text_part(dialect, text),
        ResponsePart::Call(call) => call_part(dialect, call),
    }
}

fn text_part(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::OpenaiResponses => {
            json!({"type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text}]})
        }
        Dialect::BedrockConverse | Dialect::GoogleGenerateContent => json!({"text": text}),
        Dialect::GoogleInteractions => {
            json!({"type": "model_output", "content": [{"type": "text", "text": text}]})
        }
        Dialect::MistralConversations => {
            json!({"object": "entry", "type": "message.output", "role": "assistant", "content": text})
        }
        // Its responses have no texts, so a call carries it.
        Dialect::BedrockAgents => {
            call_part(dialect, &Call::new("i-1", "look_up", json!({"text": text})))
        }
        Dialect::AnthropicMessages
        | Dialect::BedrockMessages
        | Dialect::BedrockInvoke
        | Dialect::AgentFramework
        | Dialect::Neutral
        | Dialect::Functions
        | Dialect::FunctionsInline
        | Dialect::MistralChat => json!({"type": "text", "text": text}),
    }
}

fn call_part(dialect: Dialect, call: &Call) -> Value {
    let Call {
        id,
        name,
        arguments,
    } = call;
    let text = match arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages | Dialect::BedrockInvoke => {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
        }
        Dialect::OpenaiResponses => {
            json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": text, "status": "completed"})
        }
        Dialect::BedrockConverse => {
            json!({"toolUse": {"toolUseId": id, "name": name, "input": arguments}})
        }
        Dialect::BedrockAgents => {
            let parameter = |(name, value): (&String, &Value)| match value {
                Value::String(text) => json!({"name": name, "type": "string", "value": text}),
                other => json!({"name": name, "type": "object", "value": other.to_string()}),
            };
            let parameters = match arguments {
                Value::Object(members) => members.iter().map(parameter).collect(),
                other => other.clone(),
            };
            json!({"functionInvocationInput": {"actionGroup": "computer", "function": name, "parameters": parameters}})
        }
        Dialect::GoogleGenerateContent => {
            json!({"functionCall": {"id": id, "name": name, "args": arguments}})
        }
        Dialect::GoogleInteractions => {
            json!({"type": "function_call", "id": id, "name": name, "arguments": arguments})
        }
        Dialect::AgentFramework | Dialect::Neutral => {
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
        }
        Dialect::Functions | Dialect::FunctionsInline | Dialect::MistralChat => {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
        }
        Dialect::MistralConversations => {
            json!({"object": "entry", "type": "function.call", "id": "fc_1", "tool_call_id": id, "name": name, "arguments": text})
        }
    }
}
