//! Sessions that last from call to call: the configuration of a session host, and how the commands
//! find one, start it and use it.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use telechir_host::{
    HostApprover, HostClient, HostEnd, HostError, HostErrorKind, HostProgram, HostSettings,
    HostedSession, PolicySource, Probe, RunningCall, ScreenshotsFor, SessionName, SessionPaths,
    SessionStarter, TurnKey, TurnRequest, find, launch, serve,
};
use telechir_policy::{Digest, Interface, Policy};
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, ToolResult};
use telechir_runtime::Session;

use crate::args::{DeviceArguments, ExecArguments, SafetyArguments, SessionHostArguments};
use crate::env;
use crate::error::CliError;
use crate::input::read_stdin;
use crate::policy;
use crate::session::{self, LiveSession, Stopped, until_stopped};
use crate::session_config::{GivenFlags, SessionConfig};
use crate::socket_folder;
use crate::terminal_prompt::TerminalPrompt;

/// Default idle timeout in seconds.
const DEFAULT_IDLE_SECONDS: u64 = 15 * 60;

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
    let owner = format!("session {}", arguments.name);
    let served = serve(&paths, || {
        prepare(owner).map_err(|failure| failure.text().to_owned())
    });
    match served.await.map_err(host_failure)? {
        HostEnd::Closed | HostEnd::Taken => Ok(ExitCode::SUCCESS),
        HostEnd::Signal(number) => Ok(ExitCode::from(128 + number)),
    }
}

/// Reads the session's configuration and policy.
fn prepare(owner: String) -> Result<(HostSettings, DeviceStarter), CliError> {
    let given: Value = serde_json::from_slice(&read_stdin()?).map_err(|e| {
        CliError::message(format!("failed to read the session's configuration: {e}"))
    })?;
    let config = SessionConfig::read(&given)?;
    let policy = policy::load(&config.safety)?;
    let settings = HostSettings {
        devices: config.device_names(),
        policy: policy.digest(),
        idle_limit: Duration::from_secs(config.idle_timeout),
        approval_timeout: config.safety.approval_timeout(),
        is_resumed: config.safety.run.is_some(),
        config: config.with_defaults(given),
    };
    let starter = DeviceStarter {
        config,
        policy,
        owner,
    };
    Ok((settings, starter))
}

/// Starts the devices of a configuration.
struct DeviceStarter {
    config: SessionConfig,
    policy: Policy,
    /// Names the session to others that wait for the same profile.
    owner: String,
}

impl SessionStarter for DeviceStarter {
    type Session = HostedDevices;

    async fn start(self, approver: HostApprover) -> Result<HostedDevices, String> {
        let SessionConfig {
            devices, safety, ..
        } = self.config;
        let live = session::start(&devices, &safety, self.policy, approver, &self.owner).await;
        let live = live.map_err(|failure| failure.text().to_owned())?;
        Ok(HostedDevices {
            live,
            first_page: devices.first_page().map(str::to_owned),
            safety: Arc::new(safety),
        })
    }
}

/// A session that a session host serves.
struct HostedDevices {
    live: LiveSession,
    /// The page to open before the first turn; the policy judges it like any call.
    first_page: Option<String>,
    safety: Arc<SafetyArguments>,
}

impl HostedSession for HostedDevices {
    fn session(&mut self) -> &mut Session {
        &mut self.live.session
    }

    fn set_screenshots(&mut self, whom: &ScreenshotsFor) -> Result<(), String> {
        let set = self.live.set_screenshots(whom);
        set.map_err(|failure| failure.text().to_owned())
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
        Box::new(move || {
            let policy = policy::load(&safety).map_err(|failure| failure.text().to_owned())?;
            for_proxies(&policy);
            Ok(policy)
        })
    }

    async fn close(self) -> Result<(), String> {
        let closed = self.live.close().await;
        closed.map_err(|failure| failure.text().to_owned())
    }
}

/// Executes a turn in the session with this name; starts the session if necessary.
pub(crate) async fn execute(
    arguments: &ExecArguments,
    name: &SessionName,
    turn: ModelTurn,
    policy: Option<Digest>,
) -> Result<AnsweredTurn, CliError> {
    let paths = paths(name)?;
    let caller = Caller {
        devices: &arguments.devices,
        safety: &arguments.safety,
        idle_timeout: arguments.idle_timeout,
        policy,
    };
    let before = |Stopped(number)| {
        let message = "stopped before the call started; nothing was executed";
        CliError::stopped(number, message)
    };
    let client = until_stopped(enter(&paths, caller))
        .await
        .map_err(before)??;
    let seconds = arguments.queue_timeout;
    let request = TurnRequest {
        key: TurnKey::unique(),
        screenshots: ScreenshotsFor::Dialect(arguments.dialect.name().to_owned()),
        interface: Interface::Terminal,
        queue_ms: seconds.saturating_mul(1000),
        runs_on: false,
        contents: answered_contents(&turn),
    };
    let mut call = client.execute(request).await.map_err(host_failure)?;
    let wait = Duration::from_secs(arguments.approval_wait);
    let results = until_stopped(converse(&mut call, name, seconds, wait)).await;
    match results {
        Ok(Ok(results)) => Ok(turn.answer(results)?),
        Ok(Err(error)) if error.kind() == HostErrorKind::Busy => Err(CliError::message(format!(
            "session {name} was busy for {seconds} seconds, so nothing was executed; \
             --queue-timeout SECONDS waits longer"
        ))),
        Ok(Err(error)) => Err(host_failure(error)),
        Err(signal) if !call.has_started() => {
            call.cancel().await;
            Err(before(signal))
        }
        Err(Stopped(number)) => {
            call.cancel().await;
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
    let left = turn.left_to_caller();
    let is_left =
        |content: &Content| matches!(content, Content::FunctionCall(call) if left.contains(call));
    let contents = turn.contents().iter();
    contents
        .filter(|content| !is_left(content))
        .cloned()
        .collect()
}

/// Finds or starts the session.
pub(crate) async fn enter(
    paths: &SessionPaths,
    caller: Caller<'_>,
) -> Result<HostClient, CliError> {
    const START_FLAGS: &str = "give --desktop, --browser, --shell or --editor to start";
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
            Probe::Dead => {
                return Err(CliError::message(format!(
                    "session {name} is gone: its session host exited without closing it; {START_FLAGS} \
                     a new one"
                )));
            }
            Probe::Changing | Probe::Nothing if has_devices => {}
            Probe::Changing | Probe::Nothing => {
                return Err(CliError::message(format!(
                    "no session named {name} in {} (idle sessions are closed); \
                     {START_FLAGS} it",
                    paths.folder().display()
                )));
            }
        }
        let current = std::env::current_exe().ok().filter(|path| path.exists());
        let sockets = format!("--sockets={}", paths.folder().display());
        let program = HostProgram {
            // If the file was replaced meanwhile, this is still the running program.
            program: current.unwrap_or_else(|| "/proc/self/exe".into()),
            args: vec!["session-host".to_owned(), name.to_string(), sockets],
            env: env::session_host(&caller.devices.shell_env),
        };
        let config = given.clone().into_config(DEFAULT_IDLE_SECONDS);
        launch(paths, program, &config)
            .await
            .map_err(host_failure)?;
    }
    Err(CliError::message(format!(
        "session {name} exited each time it was started; see its log {}",
        paths.log().display()
    )))
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
