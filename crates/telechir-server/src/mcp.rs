//! A server of the Model Context Protocol: its tools act on one session.
//!
//! `app`: what clients show beside answers. `calls`: calls that wait for the user while their client asks. `elicitation`: questions to the
//! user as the protocol's elicitations. `instructions`: what a model reads about the server. `messages`: lines that are messages, and those that
//! are none. `outputs`: long texts as the protocol's resources.
//! `parameters`: requests with wrong parameters. `progress`: notifications while a call runs. `ids_in_flight`:
//! the ids of requests in flight. `result`: answers as the protocol's results. `tasks`: tasks of another
//! model.

mod app;
mod calls;
mod elicitation;
pub(crate) mod ids_in_flight;
mod instructions;
pub(crate) mod messages;
mod outputs;
mod parameters;
mod progress;
mod result;
mod tasks;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult,
    Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ResourceTemplate,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde_json::{Map, Value};
use telechir_protocol::{Content, ToolResult};
use telechir_tools::{
    ActionHistory, OpenOptions, SessionVerb, TaskVerb, ToolAnswer, ToolCatalog, ToolDefinition,
    ToolRequest, ToolStatus, session_handle,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{sleep, timeout};

use crate::sent_calls::with_call_id;
use crate::session_access::{Approvals, SessionAccess};
use crate::stdio;
use calls::{CallKey, Calls, NeededApproval, Progress, Waiting};
use elicitation::AskBy;
use messages::MessageLines;
use outputs::Outputs;
use tasks::Tasks;

/// How long a call waits for the calls before it.
const MAX_QUEUED: Duration = Duration::from_secs(45);
/// How long a call takes at most: most clients end it after 60 seconds.
const MAX_CALL: Duration = Duration::from_secs(57);
/// Time for an action after the longest wait for its approval.
const AFTER_APPROVAL: Duration = Duration::from_secs(12);

/// How long a client that is gone still gets the answers of calls that ended already.
const LAST_ANSWERS: Duration = Duration::from_millis(300);
/// How long the end of the session is waited for. It ends without this process, too.
const CLOSE_TIME: Duration = Duration::from_millis(1500);

/// Answers the requests of one client with the tools of a session.
#[derive(Clone)]
pub struct McpServer {
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

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("catalog", &self.catalog)
            .finish_non_exhaustive()
    }
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
    /// A server of this version whose tools act on this session.
    pub fn new(catalog: ToolCatalog, session: Arc<dyn SessionAccess>, version: &str) -> Self {
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

    /// Serves standard input and output until the client is gone, then cancels its calls and closes
    /// the session.
    ///
    /// # Errors
    /// When the connection fails before the client is gone.
    pub async fn serve_stdio(self) -> Result<(), String> {
        let handler = self.clone();
        self.serve_stdio_with(handler).await
    }

    /// Like [`Self::serve_stdio`], with a handler of the requests that hands to this server what it
    /// does not answer itself.
    ///
    /// # Errors
    /// When the connection fails before the client is gone.
    pub async fn serve_stdio_with<H: ServerHandler>(self, handler: H) -> Result<(), String> {
        let (input, output, mut client) = stdio::open().map_err(|error| error.to_string())?;
        let transport = MessageLines::new(input, output);
        let served = tokio::select! {
            served = serve_server(handler, transport) => served,
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
        self.calls.drop_all();
        let closed = timeout(CLOSE_TIME, self.close()).await;
        ended.and_then(|()| closed.unwrap_or(Ok(())))
    }

    async fn answer(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let started = Instant::now();
        let arguments = request.arguments.clone().unwrap_or_default();
        let key = CallKey::of(&request.name, &arguments, &context.meta)?;
        let progress = match &request.request_state {
            Some(state) => {
                let waiting = self.calls.resume(state, &key)?;
                let answer = elicitation::answer(request.input_responses.as_ref());
                waiting.answered(answer, &elicitation::client_of(context))
            }
            None => match self.calls.sent_before(&key)?.map(Waiting::ask_again) {
                Some(Ok((waiting, question))) => {
                    return Ok(self.calls.hold(waiting, &question, key)?.into());
                }
                Some(Err(ended)) => *ended,
                None => match self.start(&key, &arguments, started).await {
                    Started::Answer(answer) => {
                        return self.finish(&key, &arguments, answer, NeededApproval(false));
                    }
                    Started::Call(progress) => progress,
                },
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
        let (answer, needed_approval) = match followed {
            Ok(calls::Followed::Answered(answer, needed_approval)) => (answer, needed_approval),
            Ok(calls::Followed::NeedsInput(waiting, question)) => {
                return Ok(self.calls.hold(waiting, &question, key)?.into());
            }
            Err(_) => {
                let seconds = limit.as_secs();
                let message = format!(
                    "The call did not end in {seconds} seconds and was stopped. Observe what it \
                     did before you repeat it."
                );
                let elapsed = started.elapsed();
                let answer = ToolAnswer::failed(ToolStatus::Timeout, &message, elapsed);
                (answer, NeededApproval(false))
            }
        };
        self.finish(&key, &arguments, answer, needed_approval)
    }

    /// Starts a call, or answers what needs no device.
    async fn start(
        &self,
        key: &CallKey,
        arguments: &Map<String, Value>,
        started: Instant,
    ) -> Started {
        let tool = &key.tool;
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
            return failed(instructions::unknown_handle(&self.catalog));
        }
        match request {
            ToolRequest::Call(call) => self.call(key, call, started),
            ToolRequest::Wait(duration) => self.wait(key, duration, started),
            ToolRequest::History { last_n } => {
                let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
                let entries = serde_json::to_value(history.last(last_n)).unwrap_or_default();
                let mut members = Map::new();
                members.insert("actions".to_owned(), entries);
                Started::Answer(ToolAnswer::success(members, started.elapsed()))
            }
            ToolRequest::Session(verb) => self.session_call(key, verb, started).await,
            ToolRequest::Task(verb) => self.task(key, verb, started),
        }
    }

    async fn session_call(&self, key: &CallKey, verb: SessionVerb, started: Instant) -> Started {
        let done = match verb {
            SessionVerb::Open(options, page) => match self.open(&options).await {
                Ok(()) => match page {
                    Some(page) => return self.call(key, *page, started),
                    None => Ok(()),
                },
                Err(why) => Err(why),
            },
            SessionVerb::Resume { session_id } if !self.is_handle(&session_id) => {
                Err(instructions::unknown_handle(&self.catalog).to_owned())
            }
            SessionVerb::Status | SessionVerb::Resume { .. } => Ok(()),
            SessionVerb::Extend { seconds } => self.session.extend(seconds).await,
            SessionVerb::Close => match self.close().await {
                Ok(()) => {
                    *self.state() = SessionState::default();
                    // A named session is still running.
                    let members = self.session.describe().await;
                    let answer = ToolAnswer::success(members, started.elapsed());
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
            Some(_) => return Err(instructions::unknown_handle(&self.catalog).to_owned()),
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
    fn call(&self, key: &CallKey, call: Content, started: Instant) -> Started {
        let (server, tool) = (self.clone(), key.tool.clone());
        let call = match &key.id {
            // No id of the session's own begins like this.
            Some(id) => with_call_id(call, &format!("client:{id}")),
            None => call,
        };
        let progress = self.calls.start(key, move |approvals| async move {
            server.in_turn(&tool, call, approvals, started).await
        });
        Started::of(progress, started)
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

    /// Waits after the calls before, without a device.
    fn wait(&self, key: &CallKey, duration: Duration, started: Instant) -> Started {
        let server = self.clone();
        let progress = self.calls.start(key, move |_approvals| async move {
            let Ok(_turn) = timeout(server.max_queued, server.turn.lock()).await else {
                return ToolAnswer::failed(ToolStatus::Error, &server.busy(), started.elapsed());
            };
            let waits = Instant::now();
            sleep(duration).await;
            let mut members = Map::new();
            let waited = waits.elapsed().as_secs_f64();
            members.insert("waited_seconds".to_owned(), waited.into());
            ToolAnswer::success(members, started.elapsed())
        });
        Started::of(progress, started)
    }

    /// Starts, follows or stops a task of another model.
    fn task(&self, key: &CallKey, verb: TaskVerb, started: Instant) -> Started {
        let (server, started_by) = (self.clone(), key.clone());
        let progress = self.calls.start(key, move |approvals| async move {
            let session = Arc::clone(&server.session);
            match verb {
                TaskVerb::Plan { instruction } => {
                    let plan =
                        |approvals| async move { session.plan(&instruction, approvals).await };
                    server.tasks.start(started_by, approvals, plan).await
                }
                TaskVerb::Execute {
                    instruction,
                    max_steps,
                } => {
                    let work = move |approvals| async move {
                        session.work(&instruction, max_steps, approvals).await
                    };
                    server.tasks.start(started_by, approvals, work).await
                }
                TaskVerb::Follow { task } => server.tasks.follow(&task, approvals).await,
                TaskVerb::Stop { task } => server.tasks.stop(&task),
            }
        });
        Started::of(progress, started)
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
        key: &CallKey,
        arguments: &Map<String, Value>,
        mut answer: ToolAnswer,
        needed_approval: NeededApproval,
    ) -> Result<CallToolResponse, ErrorData> {
        let handle = self.handle().unwrap_or_default();
        let links = self.state().outputs.shorten(&handle, &mut answer);
        if key.tool != "get_action_history" {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.unwrap_or(Duration::ZERO).as_millis();
            let now = u64::try_from(now).unwrap_or(u64::MAX);
            let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.add(&key.tool, arguments, &answer, now);
        }
        let may_have_screenshot = self.catalog.may_have_screenshot(&key.tool);
        let meta = result::meta(&answer, needed_approval, key.id.as_deref());
        Ok(result::of(&answer, may_have_screenshot, links, meta).into())
    }
}

/// What became of a request.
enum Started {
    Answer(ToolAnswer),
    Call(Progress),
}

impl Started {
    /// A call that was started, or why it was not.
    fn of(progress: Result<Progress, String>, started: Instant) -> Self {
        match progress {
            Ok(progress) => Self::Call(progress),
            Err(why) => Self::Answer(ToolAnswer::failed(
                ToolStatus::Error,
                &why,
                started.elapsed(),
            )),
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder();
        let capabilities = capabilities.enable_tools().enable_resources().build();
        let server = Implementation::new("telechir", self.version.to_string());
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(instructions::of(&self.catalog))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let is_shown = app::is_shown_by(&context);
        let tools = self.catalog.definitions().into_iter().map(|definition| {
            let name = definition.name;
            let has_app =
                is_shown && (name == "execute_cli" || self.catalog.may_have_screenshot(name));
            tool(definition, has_app)
        });
        let tools = tools.collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.answer(&request, &context).await
    }

    /// A request of which the protocol's types know the method, but not these parameters, or not even
    /// the method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(parameters::error_of(&request))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut resources = self.state().outputs.list();
        if app::is_shown_by(&context) {
            resources.push(app::resource());
        }
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
        let read = match request.uri == app::ADDRESS {
            true => app::read(),
            false => self.state().outputs.read(&request.uri)?,
        };
        Ok(read.with_cache_scope(CacheScope::Private).into())
    }
}

/// `has_app`: whether the client shows the app beside its answers.
fn tool(definition: ToolDefinition, has_app: bool) -> Tool {
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
    meta.insert("anthropic/searchHint".to_owned(), "computer use".into());
    if has_app {
        meta.insert("ui".to_owned(), app::of_tool());
    }
    tool.with_meta(meta)
}
