//! Sessions that last from call to call: the configuration of a session host, and how the commands
//! find one, start it and use it.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use telechir_host::approvals::{ChoiceFile, StandingChoices};
use telechir_host::tokens::TokenFile;
use telechir_host::{
    HostApprover, HostClient, HostEnd, HostError, HostErrorKind, HostProgram, HostSettings,
    HostedSession, HostedTools, PolicySource, Probe, RunningCall, ScreenshotsFor, SessionName,
    SessionPaths, SessionStarter, TimeExtender, TurnKey, TurnRequest, find, launch, serve,
};
use telechir_policy::{Digest, Interface, Policy};
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, ToolResult};
use telechir_runtime::Session;

use crate::args::{DeviceArguments, SafetyArguments, SessionHostArguments};
use crate::env;
use crate::error::CliError;
use crate::folders::is_outside;
use crate::input::read_stdin;
use crate::policy;
use crate::remote;
use crate::secrets::Secrets;
use crate::session::{self, LiveSession, Stopped, until_stopped};
use crate::session_config::{GivenFlags, SessionConfig};
use crate::socket_folder;
use crate::terminal_prompt::TerminalPrompt;

/// Default idle timeout in seconds.
pub(crate) const DEFAULT_IDLE_SECONDS: u64 = 15 * 60;

/// What a caller gives to find or start a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) devices: &'a DeviceArguments,
    pub(crate) safety: &'a SafetyArguments,
    pub(crate) idle_timeout: Option<u64>,
    /// The policy that the session must have; absent if any will do.
    pub(crate) policy: Option<Digest>,
}

/// Runs a session host until the session is closed, idle for too long, or ended by a signal.
pub(crate) async fn run(arguments: SessionHostArguments) -> Result<ExitCode, CliError> {
    let paths = SessionPaths::new(arguments.sockets, arguments.name.clone());
    let paths = paths.map_err(host_failure)?;
    let owner = owner(&arguments.name.to_string());
    let served = serve(&paths, || {
        prepare(owner).map_err(|failure| failure.text().to_owned())
    });
    match served.await.map_err(host_failure)? {
        HostEnd::Closed | HostEnd::Taken => Ok(ExitCode::SUCCESS),
        HostEnd::Signal(number) => Ok(ExitCode::from(128 + number)),
    }
}

/// The name of a session to others that wait for what it has.
pub(crate) fn owner(name: &str) -> String {
    format!("session {name}")
}

/// Reads the session's configuration and policy.
fn prepare(owner: String) -> Result<(HostSettings, DeviceStarter), CliError> {
    let mut given: Value = serde_json::from_slice(&read_stdin()?).map_err(|e| {
        CliError::message(format!("failed to read the session's configuration: {e}"))
    })?;
    let secrets = Secrets::take_from(&mut given);
    let config = SessionConfig::read(&given)?;
    let policy = policy::load_for_session(&config.safety, config.session_policy.as_deref())?;
    let settings = HostSettings {
        devices: config.devices.names(),
        policy: policy.digest(),
        idle_limit: Duration::from_secs(config.idle_timeout),
        approval_timeout: config.safety.approval_timeout(),
        standing: standing_choices(&config.devices),
        tokens: config
            .token_file
            .clone()
            .or_else(env::token_file)
            .map(TokenFile::new),
        is_resumed: config.safety.run.is_some(),
        config: config.with_defaults(given),
    };
    let starter = DeviceStarter {
        config,
        policy,
        secrets,
        owner,
    };
    Ok((settings, starter))
}

/// The user's answers for all sessions, unless the session's model could write to their file.
pub(crate) fn standing_choices(devices: &DeviceArguments) -> Option<StandingChoices> {
    let file = env::choice_file().filter(|file| is_outside(file, devices))?;
    Some(StandingChoices {
        file: ChoiceFile::new(file),
        devices: devices.as_flags(),
    })
}

/// Starts the devices of a configuration.
struct DeviceStarter {
    config: SessionConfig,
    policy: Policy,
    secrets: Secrets,
    /// Names the session to others that wait for the same profile.
    owner: String,
}

impl SessionStarter for DeviceStarter {
    type Session = HostedDevices;

    async fn start(self, approver: HostApprover) -> Result<HostedDevices, String> {
        let SessionConfig {
            devices,
            safety,
            session_policy,
            ..
        } = self.config;
        let (secrets, owner) = (&self.secrets, &self.owner);
        let live = session::start(&devices, &safety, self.policy, approver, secrets, owner);
        let live = live.await.map_err(|failure| failure.text().to_owned())?;
        Ok(HostedDevices {
            live,
            first_page: devices.first_page().map(str::to_owned),
            safety: Arc::new(safety),
            session_policy: session_policy.map(Arc::from),
        })
    }
}

/// A session that a session host serves.
struct HostedDevices {
    live: LiveSession,
    /// The page to open before the first turn; the policy judges it like any call.
    first_page: Option<String>,
    safety: Arc<SafetyArguments>,
    /// The session's own policy, which tightens that of the flags.
    session_policy: Option<Arc<str>>,
}

impl HostedSession for HostedDevices {
    fn session(&mut self) -> &mut Session {
        &mut self.live.session
    }

    fn set_screenshots(&mut self, whom: &ScreenshotsFor) -> Result<(), String> {
        let set = self.live.set_screenshots(whom);
        set.map_err(|failure| failure.text().to_owned())
    }

    fn tools(&self) -> HostedTools {
        HostedTools {
            tools: self.live.tools.clone(),
            workspace: self.live.workspace(),
        }
    }

    async fn prepare(&mut self) -> Result<(), String> {
        if let Some(url) = self.first_page.as_deref() {
            let opened = self.live.navigate(url).await;
            opened.map_err(|failure| failure.text().to_owned())?;
        }
        self.first_page = None;
        Ok(())
    }

    fn policy_source(&self) -> PolicySource {
        let (safety, for_proxies) = (Arc::clone(&self.safety), self.live.proxy_policy());
        let own = self.session_policy.clone();
        Box::new(move || {
            let policy = policy::load_for_session(&safety, own.as_deref());
            let policy = policy.map_err(|failure| failure.text().to_owned())?;
            for_proxies(&policy);
            Ok(policy)
        })
    }

    fn time_extender(&self) -> TimeExtender {
        let rented = self.live.rented().to_vec();
        Box::new(move |time| {
            let rented = rented.clone();
            Box::pin(async move {
                for rented in rented.iter().filter_map(Weak::upgrade) {
                    rented.extend_to(time).await?;
                }
                Ok(())
            })
        })
    }

    async fn close(self) -> Result<(), String> {
        let closed = self.live.close().await;
        closed.map_err(|failure| failure.text().to_owned())
    }
}

/// A turn for a session, and for how long it may wait.
#[derive(Clone, Debug)]
pub(crate) struct SessionCall<'a> {
    pub(crate) name: &'a SessionName,
    pub(crate) caller: Caller<'a>,
    pub(crate) screenshots: ScreenshotsFor,
    /// How long it waits while the session executes other calls, in seconds.
    pub(crate) queue_timeout: u64,
    /// How long it waits for an answer from elsewhere, if there is no terminal.
    pub(crate) approval_wait: Duration,
    /// Whether in a session with a run, whose calls are known by their ids, a call with a known id is
    /// that call sent again, which is not executed twice.
    pub(crate) may_be_retry: bool,
}

/// Executes a turn in its session; starts the session if necessary.
pub(crate) async fn execute(
    session_call: SessionCall<'_>,
    turn: ModelTurn,
) -> Result<AnsweredTurn, CliError> {
    let SessionCall {
        name,
        caller,
        screenshots,
        queue_timeout: seconds,
        approval_wait: wait,
        may_be_retry,
    } = session_call;
    let paths = paths(name)?;
    let before = |Stopped(number)| {
        let message = "stopped before the call started; nothing was executed";
        CliError::stopped(number, message)
    };
    let client = until_stopped(enter(&paths, caller))
        .await
        .map_err(before)??;
    let request = TurnRequest {
        key: TurnKey::unique(),
        screenshots,
        interface: Interface::Terminal,
        queue_ms: seconds.saturating_mul(1000),
        runs_on: false,
        // As in its recording, calls are known by their ids in a run alone.
        may_be_retry: may_be_retry && client.description().config["run"].is_string(),
        contents: answered_contents(&turn),
        is_new: false,
        hosted_source: turn.hosted_source(),
    };
    let mut call = client.execute(request).await.map_err(host_failure)?;
    let results = until_stopped(converse(&mut call, name, seconds, wait)).await;
    match results {
        Ok(Ok(results)) => Ok(turn.answer(results)?),
        Ok(Err(error)) if error.kind() == HostErrorKind::Busy => Err(CliError::message(format!(
            "session {name} was busy for {seconds} seconds, so nothing was executed; \
             --queue-timeout SECONDS waits longer"
        ))),
        Ok(Err(error)) => Err(host_failure(error)),
        Err(signal) => {
            if !call.cancel().await {
                return Err(before(signal));
            }
            let Stopped(number) = signal;
            let message = format!("the call was stopped; session {name} continues");
            Err(CliError::stopped(number, message))
        }
    }
}

/// Waits for a turn's results, and asks at this terminal where it needs an approval.
async fn converse(
    call: &mut RunningCall,
    name: &SessionName,
    seconds: u64,
    approval_wait: Duration,
) -> Result<Vec<ToolResult>, HostError> {
    let queued = || {
        note(&format!(
            "session {name} is executing another call; waiting for up to {seconds} seconds"
        ));
    };
    let mut prompt = TerminalPrompt::new(approval_wait);
    call.results(&mut prompt, queued).await
}

/// The contents of a turn without the calls that are left to the caller: the session host would
/// answer them.
pub(crate) fn answered_contents(turn: &ModelTurn) -> Vec<Content> {
    turn.without_left_calls()
}

/// Finds or starts the session.
pub(crate) async fn enter(
    paths: &SessionPaths,
    caller: Caller<'_>,
) -> Result<HostClient, CliError> {
    let name = &paths.name;
    let given = GivenFlags::new(caller.devices, caller.safety, caller.idle_timeout)?;
    let has_devices = given.has_devices();
    // Another process may start and close the same session concurrently.
    for _ in 0..3 {
        match find(paths).await.map_err(host_failure)? {
            Probe::Alive(client) => {
                agrees(&client, &given, caller.policy)?;
                return Ok(client);
            }
            Probe::Dead if has_devices => note(&format!(
                "the earlier session {name} is gone: its session host exited without closing it; \
                 starting a new one"
            )),
            Probe::Dead => return Err(is_gone(paths)),
            Probe::Changing | Probe::Nothing if has_devices => {}
            Probe::Changing | Probe::Nothing => return Err(is_missing(paths)),
        }
        let program = host_program(paths, &caller.devices.shell_env);
        let mut config = given.clone().into_config(DEFAULT_IDLE_SECONDS);
        remote::release_left_by_environment().await;
        remote::secrets_of(caller.devices)?.add_to(&mut config);
        launch(paths, program, &config)
            .await
            .map_err(host_failure)?;
    }
    Err(CliError::message(format!(
        "session {name} exited each time it was started; see its log {}",
        paths.log().display()
    )))
}

/// The devices of an open session.
pub(crate) async fn devices_of(name: &SessionName) -> Result<DeviceArguments, CliError> {
    let paths = paths(name)?;
    match find(&paths).await.map_err(host_failure)? {
        Probe::Alive(client) => Ok(SessionConfig::read(&client.description().config)?.devices),
        Probe::Dead => Err(is_gone(&paths)),
        Probe::Changing | Probe::Nothing => Err(is_missing(&paths)),
    }
}

/// What starts a session, in errors.
const START_FLAGS: &str = "give --desktop, --browser, --shell or --editor to start";

fn is_gone(paths: &SessionPaths) -> CliError {
    let name = &paths.name;
    CliError::message(format!(
        "session {name} is gone: its session host exited without closing it; {START_FLAGS} a new one"
    ))
}

fn is_missing(paths: &SessionPaths) -> CliError {
    let (name, folder) = (&paths.name, paths.folder().display());
    CliError::message(format!(
        "no session named {name} in {folder} (idle sessions are closed); {START_FLAGS} it"
    ))
}

/// The program of a session host: this one.
pub(crate) fn host_program(paths: &SessionPaths, shell_env: &[String]) -> HostProgram {
    let current = std::env::current_exe().ok().filter(|path| path.exists());
    let sockets = format!("--sockets={}", paths.folder().display());
    HostProgram {
        // If the file was replaced meanwhile, this is still the running program.
        program: current.unwrap_or_else(|| "/proc/self/exe".into()),
        args: vec!["session-host".to_owned(), paths.name.to_string(), sockets],
        env: env::session_host(shell_env),
    }
}

fn agrees(client: &HostClient, given: &GivenFlags, policy: Option<Digest>) -> Result<(), CliError> {
    let session = client.description();
    let name = &session.name;
    given.agree(&session.config, name)?;
    if policy.is_some_and(|digest| digest != session.policy) {
        return Err(CliError::usage(format!(
            "--policy: session {name} has another policy, the one it was started with; omit the flag, or \
             close the session first: telechir sessions close {name}"
        )));
    }
    Ok(())
}

/// The paths of the session with this name. Creates their folder if it is missing.
pub(crate) fn paths(name: &SessionName) -> Result<SessionPaths, CliError> {
    SessionPaths::new(socket_folder::folder()?, name.clone()).map_err(host_failure)
}

/// A session host's error as that of a command.
pub(crate) fn host_failure(error: HostError) -> CliError {
    CliError::message(error.to_string())
}

/// Prints a note on stderr.
fn note(text: &str) {
    let _best_effort = writeln!(io::stderr(), "telechir: {text}");
}
