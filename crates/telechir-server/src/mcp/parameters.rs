//! Requests whose parameters are not those of their method: which one is wrong, and what it should be.

use rmcp::ErrorData;
use rmcp::model::{CustomRequest, ErrorCode};
use serde_json::Value;

/// Maximum characters of a wrong value that an error repeats.
const MAX_SHOWN_CHARS: usize = 60;

/// One parameter of a method, by its JSON pointer.
struct MethodParameter {
    pointer: &'static str,
    kind: MethodParameterKind,
    is_required: bool,
}

#[derive(Clone, Copy)]
enum MethodParameterKind {
    Text,
    Object,
}

const fn required(pointer: &'static str, kind: MethodParameterKind) -> MethodParameter {
    MethodParameter {
        pointer,
        kind,
        is_required: true,
    }
}

const fn optional(pointer: &'static str, kind: MethodParameterKind) -> MethodParameter {
    MethodParameter {
        pointer,
        kind,
        is_required: false,
    }
}

const META: MethodParameter = optional("/_meta", MethodParameterKind::Object);
const INPUT_RESPONSES: MethodParameter = optional("/inputResponses", MethodParameterKind::Object);
const REQUEST_STATE: MethodParameter = optional("/requestState", MethodParameterKind::Text);

/// The methods with parameters that this server has.
const METHODS: [(&str, &[MethodParameter]); 5] = [
    (
        "tools/call",
        &[
            required("/name", MethodParameterKind::Text),
            optional("/arguments", MethodParameterKind::Object),
            INPUT_RESPONSES,
            REQUEST_STATE,
            META,
        ],
    ),
    (
        "resources/read",
        &[
            required("/uri", MethodParameterKind::Text),
            INPUT_RESPONSES,
            REQUEST_STATE,
            META,
        ],
    ),
    ("tools/list", PAGINATED),
    ("resources/list", PAGINATED),
    ("resources/templates/list", PAGINATED),
];
/// Those of `initialize`, a method of the versions with a handshake alone.
const HANDSHAKE: &[MethodParameter] = &[
    required("/protocolVersion", MethodParameterKind::Text),
    required("/capabilities", MethodParameterKind::Object),
    required("/clientInfo", MethodParameterKind::Object),
    required("/clientInfo/name", MethodParameterKind::Text),
    required("/clientInfo/version", MethodParameterKind::Text),
    META,
];
const PAGINATED: &[MethodParameter] = &[optional("/cursor", MethodParameterKind::Text), META];

/// Whether the parameters of this method are known here.
pub(super) fn are_of(method: &str) -> bool {
    METHODS.iter().any(|(name, _)| *name == method)
}

/// The answer to a request that the protocol's types cannot read: its method is unknown, or its
/// parameters are not those of the method.
pub(super) fn error_of(request: &CustomRequest) -> ErrorData {
    let method = request.method.as_str();
    let Some((_, parameters)) = METHODS.iter().find(|(name, _)| *name == method) else {
        let shown = shown(&method.into());
        let message = format!("unknown method {shown}");
        return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None);
    };
    wrong_parameter(method, parameters, request)
}

/// The answer to a handshake that the protocol's types cannot read.
pub(super) fn error_of_handshake(request: &CustomRequest) -> ErrorData {
    wrong_parameter(&request.method, HANDSHAKE, request)
}

fn wrong_parameter(
    method: &str,
    parameters: &[MethodParameter],
    request: &CustomRequest,
) -> ErrorData {
    let params = request.params.clone().unwrap_or_default();
    let wrong = parameters
        .iter()
        .find_map(|parameter| parameter.problem(&params));
    let wrong = wrong.unwrap_or_else(|| "expected other parameters: see the protocol".to_owned());
    ErrorData::invalid_params(format!("{method}: {wrong}"), None)
}

impl MethodParameter {
    fn problem(&self, params: &Value) -> Option<String> {
        let (pointer, expected) = (self.pointer, self.kind.name());
        let value = params
            .pointer(pointer)
            .filter(|value| self.is_required || !value.is_null());
        match value {
            Some(value) if self.kind.accepts(value) => None,
            Some(value) => Some(format!(
                "/params{pointer}: expected {expected}, found {}",
                shown(value)
            )),
            None if self.is_required => {
                Some(format!("/params{pointer}: missing; expected {expected}"))
            }
            None => None,
        }
    }
}

impl MethodParameterKind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Object => "an object",
        }
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Object => value.is_object(),
        }
    }
}

/// A value as JSON, shortened if it is long.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientRequest, JsonRpcMessage};
    use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
    use serde_json::json;

    use super::super::messages::{ReadMessage, read_message};
    use super::*;

    fn error_in(message: TxJsonRpcMessage<RoleServer>) -> ErrorData {
        let JsonRpcMessage::Error(error) = message else {
            panic!("expected an error");
        };
        assert!(error.id.is_some(), "{error:?}");
        error.error
    }

    fn unread(message: RxJsonRpcMessage<RoleServer>) -> CustomRequest {
        let JsonRpcMessage::Request(request) = message else {
            panic!("expected a request");
        };
        let ClientRequest::CustomRequest(request) = request.request else {
            panic!("the types can read {:?}", request.request);
        };
        request
    }

    #[test]
    fn a_wrong_parameter_is_named_by_its_pointer_without_names_of_types() {
        let long = "x".repeat(100_000);
        for (method, params, expected) in [
            (
                "tools/call",
                json!({}),
                "/params/name: missing; expected a text",
            ),
            (
                "tools/call",
                json!({"name": 5}),
                "/params/name: expected a text, found 5",
            ),
            (
                "tools/call",
                json!({"name": null}),
                "/params/name: expected a text, found null",
            ),
            (
                "tools/call",
                json!({"name": "a", "arguments": [1]}),
                "/params/arguments: expected an object, found [1]",
            ),
            (
                "tools/call",
                json!({"name": "a", "inputResponses": "yes"}),
                "/params/inputResponses: expected an object, found \"yes\"",
            ),
            (
                "tools/call",
                json!({"name": "a", "requestState": 1}),
                "/params/requestState: expected a text, found 1",
            ),
            (
                "tools/call",
                json!({"name": "a", "_meta": 1}),
                "/params/_meta: expected an object, found 1",
            ),
            (
                "tools/call",
                json!({"name": [long]}),
                "/params/name: expected a text, found [\"xxx",
            ),
            (
                "resources/read",
                json!({}),
                "/params/uri: missing; expected a text",
            ),
            (
                "tools/list",
                json!({"_meta": "x"}),
                "/params/_meta: expected an object, found \"x\"",
            ),
            (
                "initialize",
                json!({}),
                "/params/protocolVersion: missing; expected a text",
            ),
            (
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a"}}),
                "/params/clientInfo/version: missing; expected a text",
            ),
        ] {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let error = match read_message(request.to_string().as_bytes()) {
                ReadMessage::Error(error) => error_in(*error),
                ReadMessage::Message(message) => error_of(&unread(*message)),
                ReadMessage::Ignored => panic!("{method} {params}: no answer"),
            };
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            let text = error.message;
            assert!(text.starts_with(&format!("{method}: {expected}")), "{text}");
            assert!(text.len() < 300, "{text}");
        }
    }

    /// A client finds out so that a server has no handshake.
    #[test]
    fn a_version_without_a_handshake_has_no_such_method() {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"_meta": meta},
        });
        let read = read_message(request.to_string().as_bytes());
        let ReadMessage::Message(message) = read else {
            panic!("expected a message, found {read:?}");
        };
        let error = error_of(&unread(*message));
        assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
    }

    #[test]
    fn an_unknown_method_is_repeated_in_short() {
        let error = error_of(&CustomRequest::new("tools/x".repeat(1000), None));
        assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
        assert!(error.message.starts_with("unknown method \"tools/xtools/x"));
        assert!(error.message.len() < 100, "{}", error.message);
    }
}
