//! The tools, prompts and resources of the conformance suite around the server, which answers
//! everything else: its own tools and resources, discovery, versions, metadata.
//!
//! Prompts, completions, logging, sampling and roots exist in the fixture alone: the protocol's
//! revision of 2026-07-28 deprecates the last three, and the tools need none of them.
#![expect(deprecated, reason = "earlier versions have logging levels")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequests, InputRequiredResult,
    InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceTemplate, ServerConfig, ServerNotification, ServerRequest, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use telechir_protocol::{Content, ToolResult};
use telechir_server::http::McpEndpoint;
use telechir_server::mcp::McpServer;
use telechir_server::{Approvals, SessionAccess};
use telechir_tools::{Capabilities, OpenOptions, ToolCatalog, ToolSelection};

/// A pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";
/// A WAV file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Tools that answer at once.
const PLAIN: [&str; 9] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
];

/// Tools that send a request to a client of an earlier version, and their arguments.
const REQUESTING: [(&str, &[&str]); 4] = [
    ("test_sampling", &["prompt"]),
    ("test_elicitation", &["message"]),
    ("test_elicitation_sep1034_defaults", &[]),
    ("test_elicitation_sep1330_enums", &[]),
];

/// Tools whose first answers need input, and one that needs what no client here can do.
const INPUT_REQUIRED: [&str; 10] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "test_input_required_result_tampered_state",
    "test_streaming_elicitation",
    "test_missing_capability",
];

/// Serves standard input and output until the client is gone.
pub(super) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let server = server();
    let fixture = Fixture(server.clone());
    let served = runtime.block_on(server.serve_stdio_with(fixture));
    served.expect("an orderly end");
}

/// The endpoint of the HTTP API, with a session of the fixture's own in place of the API's.
pub(super) fn endpoint(_api: McpServer) -> McpEndpoint {
    McpEndpoint::new(Fixture(server()))
}

pub(super) fn catalog() -> ToolCatalog {
    let has = Capabilities {
        shell: true,
        ..Capabilities::default()
    };
    ToolCatalog::new(has, &ToolSelection::default()).expect("tools")
}

fn server() -> McpServer {
    McpServer::new(catalog(), Arc::new(Asking), "0")
}

/// A session in which the policy asks about every call.
#[derive(Debug)]
struct Asking;

#[async_trait]
impl SessionAccess for Asking {
    async fn execute(
        &self,
        _call: Content,
        _shows_screen: bool,
        mut approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String> {
        let question = json!({
            "code": "K7QM2X", "age_ms": 0, "expires_in_ms": 300_000, "is_waiting": true,
            "open_to_caller": true,
            "question": {
                "call_id": "c", "digest": "0".repeat(64), "lines": ["echo hi"],
                "reasons": ["A rule."], "has_hidden_characters": false, "safety_checks": [],
            },
        });
        approvals.show(value(question)).await;
        Err(format!("{:?}", approvals.reply().await))
    }

    async fn open(&self, _options: &OpenOptions) -> Result<(), String> {
        Ok(())
    }

    async fn extend(&self, _seconds: u64) -> Result<(), String> {
        Ok(())
    }

    async fn describe(&self) -> Map<String, Value> {
        Map::new()
    }

    async fn close(&self) -> Result<(), String> {
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Fixture(McpServer);

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.0.get_info();
        let more = json!({
            "logging": {}, "completions": {}, "prompts": {}, "resources": {"subscribe": true},
        });
        let tools = info.capabilities.tools.take();
        info.capabilities = value(more);
        info.capabilities.tools = tools;
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.0.list_tools(request, context).await?;
        let no_arguments = PLAIN.iter().chain(&INPUT_REQUIRED);
        let no_arguments = no_arguments.map(|name| (*name, &[][..]));
        listed
            .tools
            .extend(no_arguments.chain(REQUESTING).map(|(name, arguments)| {
                let text = json!({"type": "string"});
                let properties: Map<String, Value> = arguments
                    .iter()
                    .map(|argument| ((*argument).to_owned(), text.clone()))
                    .collect();
                let schema = json!({
                    "type": "object", "properties": properties, "required": arguments,
                });
                Tool::new(name, "A tool of the conformance suite", object(schema))
            }));
        Ok(listed)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        if PLAIN.contains(&name.as_str()) {
            report(&name, &context).await;
            return Ok(plain(&name).into());
        }
        if REQUESTING.iter().any(|(known, _)| *known == name) {
            let arguments = request.arguments.unwrap_or_default();
            return requested(&name, &arguments, &context).await.map(Into::into);
        }
        match name.as_str() {
            "test_missing_capability" => {
                let sampling: ClientCapabilities = value(json!({"sampling": {}}));
                Err(ErrorData::missing_required_client_capability(sampling))
            }
            // Its state is that of a question of the policy.
            "test_input_required_result_tampered_state" => {
                request.name = "execute_cli".into();
                request.arguments = Some(object(json!({"command": "echo hi"})));
                self.0.call_tool(request, context).await
            }
            name if INPUT_REQUIRED.contains(&name) => {
                let rounds = rounds(name, &context);
                let state = request.request_state.as_deref();
                let responses = request.input_responses.unwrap_or_default();
                match next(&rounds, state, &responses)? {
                    Round::Ask(question) => Ok(question.into()),
                    Round::Done => {
                        let text = format!("state-ok, {}", json!(responses));
                        Ok(text_result(&text).into())
                    }
                }
            }
            _ => self.0.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut listed = self.0.list_resources(request, context).await?;
        for name in ["static-text", "static-binary", "watched-resource"] {
            let resource = Resource::new(format!("test://{name}"), name)
                .with_description("A resource of the conformance suite");
            listed.resources.push(resource);
        }
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut listed = self.0.list_resource_templates(request, context).await?;
        let template = ResourceTemplate::new("test://template/{id}/data", "template");
        listed.resource_templates.push(template);
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let mut contents = match uri.strip_prefix("test://") {
            Some("static-text" | "watched-resource") => {
                json!({"mimeType": "text/plain", "text": "A text."})
            }
            Some("static-binary") => json!({"mimeType": "image/png", "blob": PNG}),
            Some(template) if template.starts_with("template/") => {
                let id = template.split('/').nth(1).unwrap_or_default();
                let data = json!({"id": id, "templateTest": true, "data": id});
                json!({"mimeType": "application/json", "text": data.to_string()})
            }
            _ => return self.0.read_resource(request, context).await,
        };
        contents["uri"] = uri.into();
        let read: ReadResourceResult = complete(json!({"contents": [contents]}));
        Ok(read.into())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = [
            ("test_simple_prompt", &[][..]),
            ("test_prompt_with_arguments", &["arg1", "arg2"]),
            ("test_prompt_with_embedded_resource", &["resourceUri"]),
            ("test_prompt_with_image", &[]),
            ("test_input_required_result_prompt", &[]),
        ];
        let prompt = |(name, arguments): (&str, &[&str])| -> Prompt {
            let arguments: Vec<Value> = arguments
                .iter()
                .map(|argument| json!({"name": argument, "required": true}))
                .collect();
            let description = "A prompt of the conformance suite";
            value(json!({"name": name, "description": description, "arguments": arguments}))
        };
        let prompts = prompts.into_iter().map(prompt).collect();
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| {
            let found = arguments.get(name).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let text = |text: &str| json!({"type": "text", "text": text});
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("A prompt.")],
            "test_prompt_with_arguments" => {
                vec![text(&format!(
                    "{} and {}",
                    argument("arg1"),
                    argument("arg2")
                ))]
            }
            "test_prompt_with_embedded_resource" => {
                let uri = argument("resourceUri");
                let resource = json!({"uri": uri, "mimeType": "text/plain", "text": "A text."});
                vec![
                    json!({"type": "resource", "resource": resource}),
                    text("Read it."),
                ]
            }
            "test_prompt_with_image" => {
                let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
                vec![image, text("Look at it.")]
            }
            "test_input_required_result_prompt" => {
                let rounds = [json!({"user_context": form("What is it for?", "context")})];
                let responses = request.input_responses.unwrap_or_default();
                let state = request.request_state.as_deref();
                match next(&rounds, state, &responses)? {
                    Round::Ask(question) => return Ok(question.into()),
                    Round::Done => vec![text(&json!(responses).to_string())],
                }
            }
            name => {
                let why = format!("no prompt is named {name}");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        let messages = contents
            .into_iter()
            .map(|content| json!({"role": "user", "content": content}));
        let messages: Vec<Value> = messages.collect();
        let prompt: GetPromptResult = complete(json!({"messages": messages}));
        Ok(prompt.into())
    }
}

/// The result of a tool that needs nothing from the client.
fn plain(name: &str) -> CallToolResult {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let resource = |uri: &str| {
        let contents = json!({"uri": uri, "mimeType": "text/plain", "text": "A text."});
        json!({"type": "resource", "resource": contents})
    };
    let content = match name {
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => json!([resource("test://embedded-resource")]),
        "test_multiple_content_types" => {
            json!([
                text("Three."),
                image,
                resource("test://mixed-content-resource")
            ])
        }
        _ => json!([text("A text.")]),
    };
    complete(json!({"content": content, "isError": name == "test_error_handling"}))
}

/// Sends the notifications that belong to a tool.
async fn report(name: &str, context: &RequestContext<RoleServer>) {
    let pause = || tokio::time::sleep(Duration::from_millis(20));
    match name {
        "test_tool_with_progress" => {
            let Some(token) = context.meta.get_progress_token() else {
                return;
            };
            for done in [0.0, 50.0, 100.0] {
                let progress =
                    ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
                context
                    .peer
                    .notify_progress(progress)
                    .await
                    .expect("a client");
                pause().await;
            }
        }
        "test_tool_with_logging" => {
            for text in ["first", "second", "third"] {
                let params = json!({"level": "info", "logger": "fixture", "data": text});
                let message = json!({"method": "notifications/message", "params": params});
                let message: ServerNotification = value(message);
                context
                    .peer
                    .send_notification(message)
                    .await
                    .expect("a client");
                pause().await;
            }
        }
        _ => {}
    }
}

/// Asks a client of an earlier version by a request.
async fn requested(
    name: &str,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let argument = |name: &str| arguments.get(name).cloned().unwrap_or_default();
    let request = match name {
        "test_sampling" => sampling(&argument("prompt")),
        "test_elicitation" => elicitation(
            &argument("message"),
            &json!({"username": {"type": "string"}, "email": {"type": "string"}}),
            &["username", "email"],
        ),
        "test_elicitation_sep1034_defaults" => {
            let words = ["active", "inactive", "pending"];
            let properties = json!({
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": words, "default": "active"},
                "verified": {"type": "boolean", "default": true},
            });
            elicitation(&"Defaults".into(), &properties, &[])
        }
        _ => {
            let titled = |numbers: [&str; 3]| {
                let option = |n: &str| json!({"const": format!("value{n}"), "title": n});
                numbers.map(option)
            };
            let plain = ["option1", "option2", "option3"];
            let properties = json!({
                "untitledSingle": {"type": "string", "enum": plain},
                "titledSingle": {"type": "string", "oneOf": titled(["1", "2", "3"])},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["One", "Two", "Three"]},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled(["1", "2", "3"])}},
            });
            elicitation(&"Choices".into(), &properties, &[])
        }
    };
    let request: ServerRequest = value(request);
    let answered = context.peer.send_request(request).await;
    let answered = answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answered = json!(answered);
    let action = answered["action"].as_str().unwrap_or("accept");
    let text = format!(
        "action={action}, content={}, {answered}",
        answered["content"]
    );
    Ok(text_result(&text))
}

/// What a tool asks, round by round.
fn rounds(name: &str, context: &RequestContext<RoleServer>) -> Vec<Value> {
    let user_name = form("What is your name?", "name");
    let roots = json!({"method": "roots/list", "params": {}});
    let question = sampling(&"What is the capital of France?".into());
    match name {
        "test_input_required_result_sampling" => vec![json!({"capital_question": question})],
        "test_input_required_result_list_roots" => vec![json!({"client_roots": roots})],
        "test_input_required_result_request_state" => {
            vec![json!({"confirm": form("Go on?", "ok")})]
        }
        "test_input_required_result_multiple_inputs" => vec![json!({
            "user_name": user_name, "greeting": question, "client_roots": roots,
        })],
        "test_input_required_result_multi_round" => vec![
            json!({"step1": user_name}),
            json!({"step2": form("Which colour?", "color")}),
        ],
        "test_input_required_result_capabilities" => {
            let can = context.client_capabilities().unwrap_or_default();
            let mut requests = Map::new();
            if can.elicitation.is_some() {
                requests.insert("user_name".to_owned(), user_name);
            }
            if can.sampling.is_some() {
                requests.insert("capital_question".to_owned(), question);
            }
            vec![Value::Object(requests)]
        }
        _ => vec![json!({"user_name": user_name})],
    }
}

enum Round {
    Ask(InputRequiredResult),
    Done,
}

/// The next round after these responses: the same one as long as one of them is missing.
fn next(
    rounds: &[Value],
    state: Option<&str>,
    responses: &InputResponses,
) -> Result<Round, ErrorData> {
    let number = state.and_then(|state| state.strip_prefix("round ")?.parse().ok());
    if state.is_some() && number.is_none() {
        return Err(ErrorData::invalid_params("requestState is unknown", None));
    }
    let number: usize = number.unwrap_or(0);
    let is_complete = |requests: &Value| {
        let mut names = requests.as_object().expect("requests").keys();
        names.all(|name| {
            let response = responses.get(name).and_then(Value::as_object);
            response.is_some_and(|response| !response.is_empty())
        })
    };
    let done = rounds.get(number).is_some_and(is_complete);
    let number = number + usize::from(done);
    Ok(match rounds.get(number) {
        Some(requests) => {
            let requests: InputRequests = value(requests.clone());
            let state = format!("round {number}");
            Round::Ask(InputRequiredResult::new(Some(requests), Some(state)))
        }
        None => Round::Done,
    })
}

fn form(message: &str, name: &str) -> Value {
    let kind = if name == "ok" { "boolean" } else { "string" };
    elicitation(&message.into(), &json!({name: {"type": kind}}), &[name])
}

fn elicitation(message: &Value, properties: &Value, required: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

fn sampling(prompt: &Value) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = json!({"messages": [message], "maxTokens": 100});
    json!({"method": "sampling/createMessage", "params": params})
}

fn text_result(text: &str) -> CallToolResult {
    complete(json!({"content": [{"type": "text", "text": text}]}))
}

/// A result that needs no input; the server omits its type for clients of earlier versions.
fn complete<T: DeserializeOwned>(mut result: Value) -> T {
    result["resultType"] = "complete".into();
    value(result)
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).expect("an object")
}

fn value<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a value of the protocol")
}
