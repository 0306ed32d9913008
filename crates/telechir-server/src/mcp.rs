//! A server of the Model Context Protocol: its tools act on one session.
//!
//! `calls`: calls that wait for the user while their client asks. `elicitation`: questions to the
//! user as the protocol's elicitations. `outputs`: long texts as the protocol's resources.
//! `progress`: notifications while a call runs. `result`: answers as the protocol's results. `tasks`:
//! tasks of another model.

mod calls;
mod elicitation;
mod outputs;
mod progress;
mod result;
mod tasks;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ResourceTemplate,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use telechir_protocol::{Content, ToolResult};
use telechir_tools::{
    ActionHistory, HistoryEntry, OpenOptions, SessionVerb, TaskVerb, ToolAnswer, ToolCatalog,
    ToolDefinition, ToolRequest, ToolStatus, session_handle,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;

use crate::session_access::{Approvals, SessionAccess};
use crate::stdio;
use calls::{CallKey, Calls, Progress};
use elicitation::AskBy;
use outputs::Outputs;
use tasks::Tasks;

/// How long a call waits for the calls before it.
const MAX_QUEUED: Duration = Duration::from_secs(45);
/// How long a call takes at most: most clients end it after 60 seconds.
const MAX_CALL: Duration = Duration::from_secs(57);
/// Time for an action after the longest wait for its approval.
const AFTER_APPROVAL: Duration = Duration::from_secs(12);

/// What a model reads about the server; clients cut it at about 2,000 characters.
const INSTRUCTIONS: &str = "\
A computer of your own: a desktop, a browser or a shell, as far as the tools are listed. It starts \
with the first call that needs it, and what you do stays until the session ends.\n\
Look first: get_ui_context and execute_browser snapshot are cheaper than a screenshot. Prefer the \
refs of elements to pixels. Coordinates belong to the last screenshot that you received.\n\
Each call waits until the screen is still and ends within a minute: run longer commands in the \
background. A command that waits for input returns with outcome awaiting_input: answer it with \
stdin. Long texts are shortened; resources/read returns all of them.\n\
Some actions ask the user. If one is denied, do not work around it; tell the user what you need.";

/// How long a client that is gone still gets the answers of calls that ended already.
const LAST_ANSWERS: Duration = Duration::from_millis(300);
/// How long the end of the session is waited for. It ends without this process, too.
const CLOSE_TIME: Duration = Duration::from_millis(1500);
/// Longest message of a client: the arguments of a call may have megabytes of escaped text.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The answer to a call with a handle that this server did not give, or of a closed session.
const UNKNOWN_HANDLE: &str = "No session has this handle: it was closed, or it belongs to another \
server. Omit `session`, or open one with browser_session and use the handle it returns.";

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
    let closed = timeout(CLOSE_TIME, server.close()).await;
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
    max_queued: Duration,
    state: Arc<Mutex<SessionState>>,
    tasks: Arc<Tasks>,
}

/// What the server knows about its session.
#[derive(Debug, Default)]
struct SessionState {
    /// The handle of the session, which a client can pass as `session`. Absent until one is needed.
    handle: Option<String>,
    outputs: Outputs,
    /// The tool whose call is executed, and since when.
    running: Option<(String, Instant)>,
    /// The page after the last call that reported one.
    url: Option<String>,
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
            max_queued: MAX_QUEUED,
            state: Arc::default(),
            tasks: Arc::default(),
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
            None => match self.start(&request.name, &arguments, started).await {
                Started::Answer(answer) => return self.finish(request, &arguments, answer),
                Started::Call(progress) => progress,
            },
        };
        let by = AskBy::of(context);
        let wait = self.session.approval_wait();
        let limit = MAX_CALL.max(wait + AFTER_APPROVAL);
        let followed = tokio::select! {
            biased;
            followed = timeout(limit, calls::follow(progress, &by, wait, context)) => followed,
            never = progress::report(&request.name, &arguments, context) => match never {},
        };
        let answer = match followed {
            Ok(calls::Followed::Answered(answer)) => answer,
            Ok(calls::Followed::NeedsInput(waiting, question)) => {
                return Ok(self.calls.hold(waiting, &question, key)?.into());
            }
            Err(_) => {
                let seconds = MAX_CALL.as_secs();
                let message = format!(
                    "The call did not end in {seconds} seconds and was stopped. Observe what it \
                     did before you repeat it."
                );
                ToolAnswer::failed(ToolStatus::Timeout, &message, started.elapsed())
            }
        };
        self.finish(request, &arguments, answer)
    }

    /// Starts a call, or answers what needs no device.
    async fn start(&self, tool: &str, arguments: &Map<String, Value>, started: Instant) -> Started {
        let failed = |message: &str| {
            let answer = ToolAnswer::failed(ToolStatus::Error, message, started.elapsed());
            Started::Answer(answer)
        };
        let request = match self.catalog.read(tool, arguments) {
            Ok(request) => request,
            Err(error) => return failed(&error.to_string()),
        };
        if let Some(handle) = session_handle(arguments)
            && !self.is_handle(handle)
        {
            return failed(UNKNOWN_HANDLE);
        }
        match request {
            ToolRequest::Call(call) => self.call(tool, call, started),
            ToolRequest::History { last_n } => {
                let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
                let entries = serde_json::to_value(history.last(last_n)).unwrap_or_default();
                let mut members = Map::new();
                members.insert("actions".to_owned(), entries);
                Started::Answer(ToolAnswer::success(members, started.elapsed()))
            }
            ToolRequest::Session(verb) => self.session_call(tool, verb, started).await,
            ToolRequest::Task(verb) => self.task(verb),
        }
    }

    async fn session_call(&self, tool: &str, verb: SessionVerb, started: Instant) -> Started {
        let done = match verb {
            SessionVerb::Open(options, page) => match self.open(&options).await {
                Ok(()) => match page {
                    Some(page) => return self.call(tool, *page, started),
                    None => Ok(()),
                },
                Err(why) => Err(why),
            },
            SessionVerb::Resume { session_id } if !self.is_handle(&session_id) => {
                Err(UNKNOWN_HANDLE.to_owned())
            }
            SessionVerb::Status | SessionVerb::Resume { .. } => Ok(()),
            SessionVerb::Extend { seconds } => self.session.extend(seconds).await,
            SessionVerb::Close => match self.close().await {
                Ok(()) => {
                    *self.state() = SessionState::default();
                    let answer = ToolAnswer::success(Map::new(), started.elapsed());
                    return Started::Answer(answer);
                }
                Err(why) => Err(why),
            },
        };
        Started::Answer(match done {
            Ok(()) => ToolAnswer::success(self.describe().await, started.elapsed()),
            Err(why) => ToolAnswer::failed(ToolStatus::Error, &why, started.elapsed()),
        })
    }

    async fn close(&self) -> Result<(), String> {
        self.tasks.stop_all();
        self.session.close().await
    }

    async fn open(&self, options: &OpenOptions) -> Result<(), String> {
        match &options.session_id {
            // The lifetime of a session was set when it was opened.
            Some(handle) if self.is_handle(handle) => return Ok(()),
            Some(_) => return Err(UNKNOWN_HANDLE.to_owned()),
            None => {}
        }
        self.session.open(options).await
    }

    /// The session as members of an answer, with its handle.
    async fn describe(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.extend(
            self.handle()
                .map(|handle| ("session".to_owned(), handle.into())),
        );
        members.insert("type".to_owned(), "local".into());
        members.extend(self.session.describe().await);
        let url = self.state().url.clone();
        members.extend(url.map(|url| ("url".to_owned(), url.into())));
        members
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_handle(&self, handle: &str) -> bool {
        self.state().handle.as_deref() == Some(handle)
    }

    /// The handle of the session: 128 random bits, so that none can be guessed.
    fn handle(&self) -> Option<String> {
        let mut state = self.state();
        if state.handle.is_none() {
            state.handle = calls::random_state().ok();
        }
        state.handle.clone()
    }

    /// Starts a call for a device.
    fn call(&self, tool: &str, call: Content, started: Instant) -> Started {
        let (server, tool) = (self.clone(), tool.to_owned());
        Started::Call(Progress::start(move |approvals| async move {
            server.in_turn(&tool, call, approvals, started).await
        }))
    }

    /// Executes a call after those before it have ended, unless that takes too long.
    async fn in_turn(
        &self,
        tool: &str,
        call: Content,
        approvals: Box<dyn Approvals>,
        started: Instant,
    ) -> ToolAnswer {
        let Ok(_turn) = timeout(self.max_queued, self.turn.lock()).await else {
            return ToolAnswer::failed(ToolStatus::Error, &self.busy(), started.elapsed());
        };
        self.state().running = Some((tool.to_owned(), Instant::now()));
        let shows_screen = self.catalog.shows_screen(tool);
        let executed = self.session.execute(call.clone(), shows_screen, approvals);
        let result = executed.await;
        self.state().running = None;
        let elapsed = started.elapsed();
        match result {
            Ok(result) => self.answer_of(tool, &call, &result, elapsed).await,
            Err(why) => ToolAnswer::failed(ToolStatus::Error, &why, elapsed),
        }
    }

    /// Starts, follows or stops a task of another model.
    fn task(&self, verb: TaskVerb) -> Started {
        let server = self.clone();
        Started::Call(Progress::start(move |approvals| async move {
            let session = Arc::clone(&server.session);
            match verb {
                TaskVerb::Plan { instruction } => {
                    let plan =
                        |approvals| async move { session.plan(&instruction, approvals).await };
                    server.tasks.start(approvals, plan).await
                }
                TaskVerb::Execute {
                    instruction,
                    max_steps,
                } => {
                    let work = move |approvals| async move {
                        session.work(&instruction, max_steps, approvals).await
                    };
                    server.tasks.start(approvals, work).await
                }
                TaskVerb::Follow { task } => server.tasks.follow(&task, approvals).await,
                TaskVerb::Stop { task } => server.tasks.stop(&task),
            }
        }))
    }

    async fn answer_of(
        &self,
        tool: &str,
        call: &Content,
        result: &ToolResult,
        elapsed: Duration,
    ) -> ToolAnswer {
        if let ToolResult::Computer(result) = result
            && let Some(url) = &result.current_url
        {
            self.state().url = Some(url.clone());
        }
        let mut answer = self.catalog.answer(tool, call, result, elapsed);
        if tool == "browser_session" && !answer.is_error {
            for (name, value) in self.describe().await {
                answer.insert(&name, value);
            }
        }
        answer
    }

    /// What a call is answered that would have waited for too long.
    fn busy(&self) -> String {
        let seconds = self.max_queued.as_secs();
        let running = self.state().running.clone();
        let what = running.map_or_else(
            || "another call".to_owned(),
            |(tool, since)| format!("{tool} (for {} s)", since.elapsed().as_secs()),
        );
        format!(
            "Busy: {what} is still executed or waits for the user, and this call waited for \
             {seconds} seconds. It was not executed; repeat it later."
        )
    }

    fn finish(
        &self,
        request: &CallToolRequestParams,
        arguments: &Map<String, Value>,
        mut answer: ToolAnswer,
    ) -> Result<CallToolResponse, ErrorData> {
        let handle = self.handle().unwrap_or_default();
        let links = self.state().outputs.shorten(&handle, &mut answer);
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
        let may_have_screenshot = self.catalog.may_have_screenshot(&request.name);
        Ok(result::of(&answer, may_have_screenshot, links).into())
    }
}

/// What became of a request.
enum Started {
    Answer(ToolAnswer),
    Call(Progress),
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder();
        let capabilities = capabilities.enable_tools().enable_resources().build();
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

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.state().outputs.list();
        Ok(ListResourcesResult::with_all_items(resources).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let address = "telechir://session/{session}/output/{number}{?from,to}";
        let template = ResourceTemplate::new(address, "output")
            .with_mime_type("text/plain")
            .with_description("A long text of an answer, or a range of its characters");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.state().outputs.read(&request.uri)?;
        Ok(read.with_cache_scope(CacheScope::Private).into())
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let mut hints = ToolAnnotations::default();
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

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use telechir_host::approvals::{CallerReply, OpenApproval};
    use telechir_protocol::{ShellCall, ShellResult};
    use telechir_testkit::assert_eventually;
    use telechir_tools::{Capabilities, ToolSelection};
    use tokio::sync::{Semaphore, mpsc};

    use super::*;

    /// A session whose calls end when they are let go.
    #[derive(Debug)]
    struct Gate {
        started: mpsc::UnboundedSender<String>,
        end: Semaphore,
    }

    #[async_trait]
    impl SessionAccess for Gate {
        async fn execute(
            &self,
            call: Content,
            _shows_screen: bool,
            _approvals: Box<dyn Approvals>,
        ) -> Result<ToolResult, String> {
            let Content::ShellCall(call) = call else {
                return Err("expected a shell call".to_owned());
            };
            let line = call
                .commands
                .first()
                .map(telechir_protocol::Command::to_line);
            let _nobody_reads = self.started.send(line.unwrap_or_default());
            let _permit = self.end.acquire().await;
            Ok(ToolResult::Shell(ShellResult::new(
                call.call_id,
                Vec::new(),
            )))
        }

        async fn open(&self, _options: &OpenOptions) -> Result<(), String> {
            Ok(())
        }

        async fn extend(&self, _seconds: u64) -> Result<(), String> {
            Ok(())
        }

        async fn plan(
            &self,
            _instruction: &str,
            _approvals: Box<dyn Approvals>,
        ) -> Result<Map<String, Value>, String> {
            Err("no model".to_owned())
        }

        async fn work(
            &self,
            _instruction: &str,
            _max_steps: u32,
            _approvals: Box<dyn Approvals>,
        ) -> Result<Map<String, Value>, String> {
            Err("no model".to_owned())
        }

        async fn describe(&self) -> Map<String, Value> {
            Map::new()
        }

        async fn close(&self) -> Result<(), String> {
            Ok(())
        }
    }

    struct NoApprovals;

    #[async_trait]
    impl Approvals for NoApprovals {
        async fn show(&mut self, _open: OpenApproval) {}

        async fn reply(&mut self) -> CallerReply {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_call_that_would_wait_too_long_is_answered_busy_and_not_executed() {
        let has = Capabilities {
            shell: true,
            ..Capabilities::default()
        };
        let catalog = ToolCatalog::new(has, &ToolSelection::default()).expect("tools");
        let (started, mut calls) = mpsc::unbounded_channel();
        let gate = Arc::new(Gate {
            started,
            end: Semaphore::new(0),
        });
        let session: Arc<dyn SessionAccess> = gate.clone();
        let mut server = McpServer::new(catalog, session, "1");
        server.max_queued = Duration::from_millis(20);
        let call = |line: &str| {
            let command = telechir_protocol::Command::Line(line.to_owned());
            let call = Content::ShellCall(ShellCall::execute("", vec![command]));
            let server = server.clone();
            tokio::spawn(async move {
                let started = Instant::now();
                server
                    .in_turn("execute_cli", call, Box::new(NoApprovals), started)
                    .await
            })
        };
        let first = call("first");
        assert_eq!(calls.recv().await.as_deref(), Some("first"));
        let busy = call("second").await.expect("an answer");
        assert!(busy.is_error);
        let message = busy.members["message"].as_str().expect("a message");
        assert!(
            message.starts_with("Busy: execute_cli (for 0 s)"),
            "{message}"
        );
        gate.end.add_permits(1);
        assert!(!first.await.expect("an answer").is_error);
        assert!(calls.try_recv().is_err(), "the second was not executed");
        gate.end.add_permits(1);
        assert_eventually!(
            call("third").await.map(|answer| answer.is_error).ok(),
            |is_error| *is_error == Some(false)
        );
    }
}
