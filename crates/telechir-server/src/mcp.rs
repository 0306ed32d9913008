//! A server of the Model Context Protocol: its tools act on one session.
//!
//! `calls`: calls that wait for the user while their client asks. `elicitation`: questions to the
//! user as the protocol's elicitations. `result`: answers as the protocol's results.

mod calls;
mod elicitation;
mod result;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, MetaObject,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use telechir_tools::{
    ActionHistory, HistoryEntry, SessionVerb, ToolAnswer, ToolCatalog, ToolDefinition, ToolRequest,
    ToolStatus,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;

use crate::session_access::SessionAccess;
use crate::stdio;
use calls::{CallKey, Calls, Progress};
use elicitation::AskBy;

/// What a model reads about the server; clients cut it at about 2,000 characters.
const INSTRUCTIONS: &str = "\
A computer of your own: a desktop, a browser or a shell, as far as the tools are listed. It starts \
with the first call that needs it, and what you do stays until the session ends.\n\
Look first: get_ui_context and execute_browser snapshot are cheaper than a screenshot. Prefer the \
refs of elements to pixels. Coordinates belong to the last screenshot that you received.\n\
Each call waits until the screen is still. A command that waits for input returns with outcome \
awaiting_input: answer it with stdin.\n\
Some actions ask the user. If one is denied, do not work around it; tell the user what you need.";

/// How long a client that is gone still gets the answers of calls that ended already.
const LAST_ANSWERS: Duration = Duration::from_millis(300);
/// How long the end of the session is waited for. It ends without this process, too.
const CLOSE_TIME: Duration = Duration::from_millis(1500);
/// Longest message of a client: the arguments of a call may have megabytes of escaped text.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// Serves standard input and output until the client is gone, then cancels its calls and closes the
/// session.
///
/// # Errors
/// When the connection fails before the client is gone.
pub async fn serve_stdio(
    catalog: ToolCatalog,
    session: Arc<dyn SessionAccess>,
    version: &str,
) -> Result<(), String> {
    let server = McpServer::new(catalog, Arc::clone(&session), version);
    let (input, output, mut client) = stdio::open().map_err(|error| error.to_string())?;
    let transport =
        AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_MESSAGE_BYTES);
    let served = tokio::select! {
        served = serve_server(server.clone(), transport) => served,
        () = client.ended() => return Ok(()),
    };
    let ended = match served {
        Ok(running) => {
            let calls = running.cancellation_token();
            let ended = running.waiting();
            tokio::pin!(ended);
            tokio::select! {
                ended = &mut ended => ended.map(drop).map_err(|error| error.to_string()),
                () = client.ended() => {
                    calls.cancel();
                    let _last_answers = timeout(LAST_ANSWERS, ended).await;
                    Ok(())
                }
            }
        }
        // A client that leaves before its first message is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    server.calls.drop_all();
    let closed = timeout(CLOSE_TIME, session.close()).await;
    ended.and_then(|()| closed.unwrap_or(Ok(())))
}

/// Answers the requests of one client.
#[derive(Clone)]
struct McpServer {
    catalog: Arc<ToolCatalog>,
    session: Arc<dyn SessionAccess>,
    version: Arc<str>,
    calls: Arc<Calls>,
    history: Arc<Mutex<ActionHistory>>,
    /// One call at a time, in the order of arrival.
    turn: Arc<AsyncMutex<()>>,
}

impl McpServer {
    fn new(catalog: ToolCatalog, session: Arc<dyn SessionAccess>, version: &str) -> Self {
        Self {
            catalog: Arc::new(catalog),
            session,
            version: version.into(),
            calls: Arc::default(),
            history: Arc::default(),
            turn: Arc::default(),
        }
    }

    async fn answer(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let started = Instant::now();
        let arguments = request.arguments.clone().unwrap_or_default();
        let key = CallKey::of(&request.name, &arguments);
        let progress = match &request.request_state {
            Some(state) => {
                let waiting = self.calls.resume(state, &key)?;
                let answer = elicitation::answer(request.input_responses.as_ref());
                waiting.answered(answer, &elicitation::client_of(context))
            }
            None => {
                let read = self.catalog.read(&request.name, &arguments);
                let read = match read {
                    Ok(read) => read,
                    Err(error) => {
                        let text = error.to_string();
                        let answer =
                            ToolAnswer::failed(ToolStatus::Error, &text, started.elapsed());
                        return Ok(self.finish(request, &arguments, &answer));
                    }
                };
                match self.start(&request.name, read, started).await {
                    Started::Answer(answer) => {
                        return Ok(self.finish(request, &arguments, &answer));
                    }
                    Started::Call(progress) => progress,
                }
            }
        };
        let by = AskBy::of(context);
        let answer = match calls::follow(progress, &by, self.session.approval_wait(), context).await
        {
            calls::Followed::Answered(answer) => answer,
            calls::Followed::NeedsInput(waiting, question) => {
                return Ok(self.calls.hold(waiting, &question, key)?.into());
            }
        };
        Ok(self.finish(request, &arguments, &answer))
    }

    /// Starts a call, or answers what needs no device.
    async fn start(&self, tool: &str, request: ToolRequest, started: Instant) -> Started {
        let call = match request {
            ToolRequest::Call(call) | ToolRequest::Session(SessionVerb::Open(Some(call))) => call,
            ToolRequest::History { last_n } => {
                let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
                let entries = serde_json::to_value(history.last(last_n)).unwrap_or_default();
                let mut members = Map::new();
                members.insert("actions".to_owned(), entries);
                return Started::Answer(ToolAnswer::success(members, started.elapsed()));
            }
            ToolRequest::Session(SessionVerb::Status | SessionVerb::Open(None)) => {
                let members = self.session.describe().await;
                return Started::Answer(ToolAnswer::success(members, started.elapsed()));
            }
            ToolRequest::Session(SessionVerb::Close) => {
                let answer = match self.session.close().await {
                    Ok(()) => ToolAnswer::success(Map::new(), started.elapsed()),
                    Err(why) => ToolAnswer::failed(ToolStatus::Error, &why, started.elapsed()),
                };
                return Started::Answer(answer);
            }
        };
        let shows_screen = self.catalog.shows_screen(tool);
        let (session, turn) = (Arc::clone(&self.session), Arc::clone(&self.turn));
        Started::Call(Progress::start(move |approvals| async move {
            let _turn = turn.lock().await;
            let result = session.execute(call, shows_screen, approvals).await;
            match result {
                Ok(result) => ToolAnswer::of(&result, started.elapsed()),
                Err(why) => ToolAnswer::failed(ToolStatus::Error, &why, started.elapsed()),
            }
        }))
    }

    fn finish(
        &self,
        request: &CallToolRequestParams,
        arguments: &Map<String, Value>,
        answer: &ToolAnswer,
    ) -> CallToolResponse {
        if request.name != "get_action_history" {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.unwrap_or(Duration::ZERO).as_millis();
            let entry = HistoryEntry {
                step: 0,
                tool: request.name.to_string(),
                args: Value::Object(arguments.clone()),
                status: answer.status.name().to_owned(),
                result_summary: answer.text(),
                timestamp: u64::try_from(now).unwrap_or(u64::MAX),
                undoable_hint: "",
            };
            let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.add(entry);
        }
        let is_structured = self.catalog.is_structured(&request.name);
        result::of(answer, is_structured).into()
    }
}

/// What became of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "made once per call and taken apart at once"
)]
enum Started {
    Answer(ToolAnswer),
    Call(Progress),
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server = Implementation::new("telechir", self.version.to_string());
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.catalog.definitions().into_iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.answer(&request, &context).await
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let mut hints = ToolAnnotations::with_title(definition.title);
    hints.read_only_hint = Some(definition.hints.read_only);
    hints.destructive_hint = Some(definition.hints.destructive);
    hints.idempotent_hint = Some(definition.hints.idempotent);
    hints.open_world_hint = Some(definition.hints.open_world);
    let schema = Arc::new(definition.input_schema);
    let description = Some(Cow::Borrowed(definition.description));
    let mut tool = Tool::new_with_raw(definition.name, description, schema)
        .with_title(definition.title)
        .with_annotations(hints);
    if let Some(schema) = definition.output_schema {
        tool = tool.with_raw_output_schema(Arc::new(schema));
    }
    // Claude Code finds deferred tools by these words.
    let mut meta = MetaObject::new();
    meta.insert(
        "anthropic/searchHint".to_owned(),
        "computer desktop screen mouse keyboard browser shell".into(),
    );
    tool.with_meta(meta)
}
