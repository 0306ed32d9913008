//! The session behind `mcp`: found or started with the first call, through a session host.

use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_host::{
    HostClient, QuestionPrompt, ScreenshotsFor, SessionPaths, TurnKey, TurnRequest,
};
use telechir_policy::{Digest, Interface};
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, ToolResult};
use telechir_providers::Dialect;
use telechir_remote::INTERPRETER;
use telechir_server::http::RemoteChoice;
use telechir_server::{
    Approvals, IdentifiedCall, NO_MODEL, SentCalls, SessionAccess, session_members,
};
use telechir_tools::OpenOptions;
use tokio::sync::Mutex;

use crate::args::{DeviceArguments, McpServerArguments};
use crate::error::CliError;
use crate::mcp_task::TaskModel;
use crate::remote;
use crate::session_config::GivenFlags;
use crate::session_host::{self, Caller, answered_contents, enter, host_failure, paths};

/// How long a call waits while others use the same session; clients end a call after 60 seconds.
const MAX_WAIT: Duration = Duration::from_secs(45);

/// The session behind a server, which starts with the first call.
#[derive(Debug)]
pub(crate) struct McpSession {
    paths: SessionPaths,
    arguments: McpServerArguments,
    /// The devices of a session that was found by its name alone.
    found: Option<DeviceArguments>,
    digest: Option<Digest>,
    /// The connection of all calls. A session that was not named ends with it.
    client: Mutex<Option<Arc<HostClient>>>,
    sent: SentCalls,
    /// What the client chose of the browser at a service.
    choice: StdMutex<RemoteChoice>,
}

impl McpSession {
    /// The session of these arguments, which is not started yet, or which was found with these devices.
    pub(crate) fn new(
        arguments: McpServerArguments,
        found: Option<DeviceArguments>,
    ) -> Result<Self, CliError> {
        // A policy that cannot be read must not be noticed with the first call.
        let policy = crate::policy::load(&arguments.safety)?;
        let digest = arguments.safety.policy.is_some().then(|| policy.digest());
        let name = match &arguments.session {
            Some(name) => name.clone(),
            None => format!("mcp-{}", std::process::id())
                .parse()
                .map_err(CliError::message)?,
        };
        Ok(Self {
            paths: paths(&name)?,
            digest,
            client: Mutex::default(),
            sent: SentCalls::default(),
            choice: StdMutex::default(),
            arguments,
            found,
        })
    }

    /// The devices that the session has.
    fn devices(&self) -> &DeviceArguments {
        self.found.as_ref().unwrap_or(&self.arguments.devices)
    }

    /// The name of the session.
    pub(crate) fn name(&self) -> String {
        self.paths.name.to_string()
    }

    /// The connection to the session, which is found or started if there is none.
    async fn connect(&self) -> Result<Arc<HostClient>, CliError> {
        let mut connected = self.client.lock().await;
        if let Some(client) = connected.as_ref().filter(|client| client.is_open()) {
            return Ok(Arc::clone(client));
        }
        let chosen = self.chosen(&self.choice()).map_err(CliError::usage)?;
        let mut given = GivenFlags::new(&self.arguments.devices, &self.arguments.safety, None)?;
        for (member, value) in chosen {
            given.set(member, value);
        }
        let (devices, safety) = given.read()?;
        let caller = Caller {
            devices: &devices,
            safety: &safety,
            idle_timeout: None,
            policy: self.digest,
        };
        let client = Arc::new(enter(&self.paths, caller).await?);
        if self.arguments.session.is_none() {
            client.own().await.map_err(host_failure)?;
        }
        *connected = Some(Arc::clone(&client));
        Ok(client)
    }

    /// The flags that a choice changes; none if nothing is chosen.
    fn chosen(&self, choice: &RemoteChoice) -> Result<Vec<(&'static str, Value)>, String> {
        if *choice == RemoteChoice::default() {
            return Ok(Vec::new());
        }
        let devices = &self.arguments.devices;
        let remote = &devices.page.remote;
        remote.chosen(choice, devices.browser_size())
    }

    fn choice(&self) -> RemoteChoice {
        let choice = self.choice.lock();
        choice.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what is chosen of the browser at a service. One that is rented already stays as it is.
    async fn choose(&self, options: &OpenOptions) -> Result<(), String> {
        let wanted = RemoteChoice {
            context: options.context_id.clone(),
            persist: options.persist.filter(|_| options.context_id.is_some()),
            timeout_seconds: None,
            proxy: options.proxy,
            country: options.proxy_country.clone(),
        };
        if wanted == RemoteChoice::default() || wanted == self.choice() {
            return Ok(());
        }
        self.chosen(&wanted)?;
        let is_running = {
            let client = self.client.lock().await;
            client.as_ref().is_some_and(|client| client.is_open())
        };
        if is_running {
            return Err(
                "the browser was rented with other options, and they do not change while it runs; \
                 close the session first, then open it with these"
                    .to_owned(),
            );
        }
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
        Ok(())
    }

    /// Whether the session rents its browser at a service.
    fn rents_browser(&self) -> bool {
        matches!(
            self.arguments.devices.page.remote.service(),
            Some((_, None))
        )
    }

    /// Refuses the options that a session of this server cannot have.
    fn check(&self, options: &OpenOptions) -> Result<(), String> {
        let devices = self.devices();
        if let Some(context) = &options.context_id {
            let profile = devices.page.profile.as_ref().map(ToString::to_string);
            if profile.as_ref() != Some(context) {
                let has = profile.map_or_else(
                    || "no persistent page data".to_owned(),
                    |profile| format!("the page data `{profile}`"),
                );
                return Err(format!(
                    "context_id: this server was started with {has}; ask the user to start \
                     `telechir mcp` with --profile {context}."
                ));
            }
            let persists = !devices.page.no_persist;
            if options.persist.is_some_and(|persist| persist != persists) {
                return Err(format!(
                    "persist: this server was started so that it is {persists}; omit it."
                ));
            }
        }
        if options
            .proxy
            .is_some_and(|proxy| proxy != devices.proxy.is_some())
        {
            return Err(
                "proxy: only the flags of the server decide about an upstream proxy; omit it."
                    .to_owned(),
            );
        }
        match &options.proxy_country {
            Some(_) => Err("proxy_country: not supported by local sessions; omit it.".to_owned()),
            None => Ok(()),
        }
    }

    fn task_model(&self) -> Result<TaskModel, String> {
        let model = TaskModel::of(&self.arguments).map_err(|error| error.text().to_owned())?;
        model.ok_or_else(|| NO_MODEL.to_owned())
    }

    fn hosted(&self, approvals: Box<dyn Approvals>) -> HostedSession<'_> {
        HostedSession {
            session: self,
            approvals: Arc::new(Mutex::new(approvals)),
        }
    }

    /// Executes a turn; questions go to `approvals`.
    async fn converse(
        &self,
        key: TurnKey,
        screenshots: ScreenshotsFor,
        turn: ModelTurn,
        approvals: Arc<Mutex<Box<dyn Approvals>>>,
    ) -> Result<AnsweredTurn, CliError> {
        let request = TurnRequest {
            key,
            screenshots,
            interface: Interface::Other,
            queue_ms: u64::try_from(MAX_WAIT.as_millis()).unwrap_or(u64::MAX),
            runs_on: false,
            may_be_retry: false,
            contents: answered_contents(&turn),
            is_new: false,
            hosted_source: turn.hosted_source(),
        };
        let client = self.connect().await?;
        let mut call = client.execute(request).await.map_err(host_failure)?;
        let mut prompt = ClientPrompt(approvals);
        let results = call.results(&mut prompt, || {}).await;
        Ok(turn.answer(results.map_err(host_failure)?)?)
    }

    async fn call(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, CliError> {
        let IdentifiedCall {
            call,
            key,
            may_be_retry,
        } = IdentifiedCall::of(call);
        if may_be_retry {
            self.check_sent(&key).await?;
        }
        let turn = ModelTurn::new(vec![call])?;
        let screenshots = ScreenshotsFor::Mcp {
            on_request: !shows_screen,
        };
        let approvals = Arc::new(Mutex::new(approvals));
        let answered = self.converse(key, screenshots, turn, approvals).await?;
        let result = answered.results().first().cloned();
        result.ok_or_else(|| CliError::message("the session returned no result"))
    }

    /// Refuses a call that an earlier session has executed, at least in part: only its recording has
    /// the results. A session that continues a run has that recording.
    async fn check_sent(&self, key: &TurnKey) -> Result<(), CliError> {
        if self.arguments.safety.run.is_some() {
            return Ok(());
        }
        let host = self.connect().await?.description().pid;
        self.sent.check(key, host).map_err(CliError::message)
    }
}

/// The client of the server, which asks its user.
struct ClientPrompt(Arc<Mutex<Box<dyn Approvals>>>);

impl QuestionPrompt for ClientPrompt {
    async fn show(&mut self, open: OpenApproval) {
        self.0.lock().await.show(open).await;
    }

    /// The client's own question ends when its call does.
    fn withdraw(&mut self, _settled: Option<&str>) {}

    async fn reply(&mut self) -> CallerReply {
        self.0.lock().await.reply().await
    }
}

/// The session for a model that works on a task.
#[derive(Clone)]
pub(crate) struct HostedSession<'a> {
    session: &'a McpSession,
    approvals: Arc<Mutex<Box<dyn Approvals>>>,
}

impl HostedSession<'_> {
    /// Executes a turn of a model that is reached in this dialect.
    pub(crate) async fn execute(
        &self,
        dialect: Dialect,
        turn: ModelTurn,
    ) -> Result<AnsweredTurn, String> {
        let screenshots = ScreenshotsFor::Dialect(dialect.name().to_owned());
        let approvals = Arc::clone(&self.approvals);
        let session = self.session;
        let key = TurnKey::unique();
        let answered = session.converse(key, screenshots, turn, approvals).await;
        answered.map_err(|error| error.text().to_owned())
    }
}

#[async_trait]
impl SessionAccess for McpSession {
    fn approval_wait(&self) -> Duration {
        Duration::from_secs(self.arguments.approval_wait)
    }

    async fn execute(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String> {
        let result = self.call(call, shows_screen, approvals).await;
        result.map_err(|error| error.text().to_owned())
    }

    async fn describe(&self) -> Map<String, Value> {
        let mut members = session_members(&self.paths).await;
        let devices = self.devices();
        let size = devices.screen_size();
        let display = json!({"width": size.width, "height": size.height});
        members.insert("display".to_owned(), display);
        if let Some((service, _)) = devices.page.remote.service() {
            members.insert("type".to_owned(), service.name.into());
        }
        let owner = session_host::owner(&self.name());
        let rented = remote::rented().into_iter();
        let mut rented = rented.filter(|(record, is_used)| *is_used && record.owner == owner);
        if let Some((record, _)) = rented.find(|(record, _)| record.service != INTERPRETER.name) {
            members.insert("ends_in_seconds".to_owned(), record.seconds_left().into());
            members.extend(
                record
                    .id
                    .map(|id| ("service_session".to_owned(), id.into())),
            );
        }
        let choice = self.choice();
        if let Some(context) = choice.context {
            members.insert("context_id".to_owned(), context.into());
            members.insert("persist".to_owned(), choice.persist.unwrap_or(true).into());
        }
        if let Some(profile) = &devices.page.profile {
            members.insert("context_id".to_owned(), profile.to_string().into());
            members.insert("persist".to_owned(), (!devices.page.no_persist).into());
        }
        members
    }

    async fn open(&self, options: &OpenOptions) -> Result<(), String> {
        match self.rents_browser() {
            true => self.choose(options).await?,
            false => self.check(options)?,
        }
        match options.timeout {
            Some(seconds) => self.extend(seconds).await,
            None => Ok(()),
        }
    }

    async fn extend(&self, seconds: u64) -> Result<(), String> {
        let extended = async {
            let client = self.connect().await?;
            let time = Duration::from_secs(seconds);
            client.extend(time).await.map_err(host_failure)
        };
        extended.await.map_err(|error| error.text().to_owned())
    }

    async fn plan(
        &self,
        instruction: &str,
        approvals: Box<dyn Approvals>,
    ) -> Result<Map<String, Value>, String> {
        let model = self.task_model()?;
        model.plan(instruction, &mut self.hosted(approvals)).await
    }

    async fn work(
        &self,
        instruction: &str,
        max_steps: u32,
        approvals: Box<dyn Approvals>,
    ) -> Result<Map<String, Value>, String> {
        let model = self.task_model()?;
        let mut session = self.hosted(approvals);
        model.work(instruction, max_steps, &mut session).await
    }

    async fn close(&self) -> Result<(), String> {
        if self.arguments.session.is_some() {
            return Ok(());
        }
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) = RemoteChoice::default();
        // The session ends with this connection, and would then not be found any more.
        let _client = self.client.lock().await.take();
        let closed = HostClient::close_session(&self.paths).await;
        closed.map(drop).map_err(|error| error.to_string())
    }
}
