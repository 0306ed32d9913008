//! A session built from the flags: devices, policy, journal, and approval prompts.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use telechir_host::approvals::{UnsandboxedDevice, UnsandboxedDevices};
use telechir_host::{NewestOutput, PersonTurns, ScreenshotsFor};
use telechir_policy::{ContentTrust, DisplayOwner, Policy};
use telechir_protocol::{ComputerCall, Content, ModelTurn, Size, TargetId, Tool, ToolResult};
use telechir_providers::{Dialect, ScreenshotWhen};
use telechir_runtime::{
    Approver, AutoScreenshot, Format, Journal, RunId, ScreenshotRule, Session, SessionLimits,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;

use crate::approver::TerminalApprover;
use crate::args::{DeviceArguments, SafetyArguments, ScreenshotWidth};
use crate::call_approver::{CallApprover, OneCall, SessionVisibility};
use crate::devices::{Devices, RentedDevices};
use crate::error::CliError;
use crate::first_page;
use crate::folders;
use crate::network::{NetworkEvents, OpenProxies};
use crate::remote::{self, RemoteRecording, Rental, RentedSession};
use crate::secrets::Secrets;
use crate::session_dir::SessionDir;
use crate::session_host::host_failure;
use crate::shared_session::SharedSession;
use crate::socket_folder::{folder, of_logins};

/// A running session and the directory of its devices.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) session: Session,
    /// Serves people who take control between turns; none in a session host, which does so itself.
    people: Option<PersonTurns>,
    /// Where the text of its model goes for people who look at it; none in a session host, whose clients
    /// have the model.
    pub(crate) message: Option<NewestOutput>,
    pub(crate) tools: Vec<Tool>,
    largest_screen: Option<Size>,
    screenshots: Screenshots,
    network: NetworkEvents,
    proxies: OpenProxies,
    trust: ContentTrust,
    folder: SessionDir,
    /// What is rented at services, which ends with its devices.
    rented: Vec<Weak<RentedSession>>,
    /// Show the user's other sessions what this one drives outside of sandboxes.
    _unsandboxed: Vec<UnsandboxedDevice>,
}

/// The number of the signal that interrupted the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped(pub(crate) u8);

/// Starts the devices and a session on them, for one dialect and prompts on this terminal.
pub(crate) async fn open(
    devices: &DeviceArguments,
    safety: &SafetyArguments,
    policy: Policy,
    dialect: Dialect,
    model: Option<&str>,
    caller: OneCall,
) -> Result<LiveSession, CliError> {
    let secrets = remote::secrets_of(devices)?;
    remote::release_left_by_environment().await;
    let owner = "another call of telechir";
    let mut viewed = None;
    let started = match CallApprover::open(devices, safety, &policy, caller) {
        Ok(mut approver) => {
            viewed = approver.take_viewed_session();
            until_stopped(start(devices, safety, policy, approver, &secrets, owner)).await
        }
        Err(error) if caller.visibility == SessionVisibility::ForPage => return Err(error),
        Err(error) => {
            tracing::info!(
                error = error.text(),
                "questions are asked at this terminal only"
            );
            let approver = TerminalApprover::open();
            until_stopped(start(devices, safety, policy, approver, &secrets, owner)).await
        }
    };
    if started.is_err() && (devices.page.remote.remote.is_some() || devices.has_remote_shell()) {
        // A start that is stopped releases nothing itself.
        remote::release_left_by_environment().await;
    }
    let mut open = started.map_err(|Stopped(number)| CliError::signal(number))??;
    open.set_dialect(dialect, model);
    if let Some(viewed) = viewed {
        open.message = Some(viewed.message());
        open.people = Some(viewed.show(&mut open.session).map_err(host_failure)?);
    }
    Ok(open)
}

/// Starts the devices and a session on them; `owner` names the session to waiting users of the
/// same profile.
pub(crate) async fn start(
    devices: &DeviceArguments,
    safety: &SafetyArguments,
    policy: Policy,
    approver: impl Approver + 'static,
    secrets: &Secrets,
    owner: &str,
) -> Result<LiveSession, CliError> {
    folders::check(devices, safety)?;
    devices.check().map_err(CliError::usage)?;
    if let Some(url) = devices.first_page() {
        first_page::check(url, &policy, devices.limits().resolve_timeout).await?;
    }
    let recording = safety.record.as_deref().map(Journal::open).transpose()?;
    let screenshots = Screenshots {
        width: match devices.screenshot_width {
            None => ScreenshotRule::default().max_width,
            Some(ScreenshotWidth::Native) => None,
            Some(ScreenshotWidth::Pixels(pixels)) => Some(pixels),
        },
        format: devices.screenshot_format,
        text_only: devices.text_only,
    };
    let marks = devices.marks;
    let limits = SessionLimits {
        approval_timeout: safety.approval_timeout(),
        ..devices.limits()
    };
    let unsandboxed = show_unsandboxed(devices)?;
    let run = match (&safety.run, &recording) {
        (Some(name), _) => Some(RunId::new(name)),
        (None, recording) => recording.as_ref().map(|_| RunId::unique()),
    };
    let record_remote = recording.clone().zip(run.clone());
    let record_remote = record_remote.map(|(journal, run)| RemoteRecording { journal, run });
    let size = devices.browser_size();
    let rental = || Rental {
        size,
        ceiling: policy.rented(),
        hosts: policy.page_hosts(),
        owner,
        recording: record_remote.clone(),
    };
    let mut rented = RentedDevices {
        browser: remote::open(&devices.page.remote, secrets, rental()).await?,
        shell: None,
    };
    match remote::open_shell(devices, secrets, rental()).await {
        Ok(shell) => rented.shell = shell,
        Err(error) => {
            rented.end().await;
            return Err(error);
        }
    }
    let all_rented = [&rented.browser, &rented.shell].into_iter().flatten();
    let all_rented = all_rented.map(Arc::downgrade).collect();
    let devices = Devices::start(devices, &policy, secrets, owner, rented).await?;
    let (network, trust) = (devices.network_events(), devices.content_trust());
    let temporary = || Journal::open(devices.folder.path().join("journal"));
    let proxies = devices.proxies();
    let journal = recording.map_or_else(temporary, Ok)?;
    let tools = devices.tools(screenshots.text_only);
    let largest_screen = devices.largest_screen();
    let mut builder = Session::builder(policy)
        .journal(journal)
        .approver(approver)
        .trust(trust.clone())
        .limits(limits);
    if let Some(max_marks) = marks {
        builder = builder.marks(max_marks);
    }
    if let Some(run) = run {
        builder = builder.run(run);
    }
    if let Some(desktop) = devices.desktop {
        builder = match devices.display {
            DisplayOwner::Private => builder.desktop(desktop),
            DisplayOwner::Existing => builder.existing_desktop(desktop),
        };
    }
    if let Some(browser) = devices.browser {
        builder = match devices.browser_display {
            DisplayOwner::Private => builder.browser(browser),
            DisplayOwner::Existing => builder.existing_browser(browser),
        };
    }
    if let Some(shell) = devices.shell {
        builder = builder.shell(shell).shell_reach(devices.shell_reach);
    }
    if let Some(editor) = devices.editor {
        builder = builder.editor(editor);
    }
    let session = builder.build()?;
    network.open(session.event_sender());
    Ok(LiveSession {
        session,
        people: None,
        message: None,
        tools,
        largest_screen,
        screenshots,
        network,
        proxies,
        trust,
        folder: devices.folder,
        rented: all_rented,
        _unsandboxed: unsandboxed,
    })
}

/// Shows what programs of this session cannot be told apart from: a shell on the host and an existing
/// display.
fn show_unsandboxed(devices: &DeviceArguments) -> Result<Vec<UnsandboxedDevice>, CliError> {
    let has_host_shell = devices.shell.as_deref() == Some("host");
    let display = devices.desktop.as_deref().filter(|name| !name.is_empty());
    if !has_host_shell && display.is_none() {
        return Ok(Vec::new());
    }
    let failed = |e| {
        CliError::message(format!(
            "failed to show the user's sessions what this one drives: {e}"
        ))
    };
    let all = UnsandboxedDevices::of(&folder()?).map_err(failed)?;
    // Sessions of the login must see a device that cron or ssh started in another folder.
    let all = all.also_shown_to(&of_logins());
    let shell = has_host_shell.then(|| all.show_host_shell());
    let display = display.map(|name| all.show_display(name));
    let shown = shell.into_iter().chain(display);
    shown.collect::<Result<_, _>>().map_err(failed)
}

impl LiveSession {
    /// Sends the screenshots of later turns as this dialect and model require.
    pub(crate) fn set_dialect(&mut self, dialect: Dialect, model: Option<&str>) {
        let screenshot = self.screenshots.rule(dialect, model, self.largest_screen);
        let when = self.screenshots.for_models(auto_screenshot(dialect));
        self.session.set_screenshot_rule(when, screenshot);
    }

    /// Sends the screenshots of later turns as a caller of a session host requires.
    pub(crate) fn set_screenshots(&mut self, whom: &ScreenshotsFor) -> Result<(), CliError> {
        match whom {
            ScreenshotsFor::Dialect(name) => self.set_dialect(name.parse::<Dialect>()?, None),
            ScreenshotsFor::Model { dialect, name } => {
                self.set_dialect(dialect.parse::<Dialect>()?, Some(name));
            }
            ScreenshotsFor::Mcp { on_request } => {
                let when = match on_request {
                    true => AutoScreenshot::OnRequest,
                    false => AutoScreenshot::EveryCall,
                };
                let when = self.screenshots.for_models(when);
                let rule = self.screenshots.for_mcp();
                self.session.set_screenshot_rule(when, rule);
            }
            ScreenshotsFor::OnRequest => {
                let rule = self.screenshots.for_files();
                let when = AutoScreenshot::OnRequest;
                self.session.set_screenshot_rule(when, rule);
            }
        }
        Ok(())
    }

    /// What is rented at services.
    pub(crate) fn rented(&self) -> &[Weak<RentedSession>] {
        &self.rented
    }

    /// Applies another policy to what the devices' programs do themselves.
    pub(crate) fn proxy_policy(&self) -> impl Fn(&Policy) + Send + Sync + use<> {
        let (proxies, trust) = (self.proxies.clone(), self.trust.clone());
        move |policy| proxies.set_policy(policy, &trust)
    }

    /// The folder that shell, editor and desktop share.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.workspace()
    }

    /// Opens a page before the model's first turn; the policy judges it like any call.
    pub(crate) async fn navigate(&mut self, url: &str) -> Result<(), CliError> {
        let mut call = ComputerCall::new(first_page::CALL_ID, vec![first_page::action(url)]);
        call.target = Some(TargetId::from("browser"));
        let turn = ModelTurn::new(vec![Content::ComputerCall(call)])?;
        let answered = self.session.execute(turn).await?;
        let failure = answered.results().iter().find_map(|result| match result {
            ToolResult::Computer(result) => result.error.clone(),
            ToolResult::Shell(_) | ToolResult::Edit(_) | ToolResult::Function(_) => None,
        });
        failure.map_or(Ok(()), |failure| Err(first_page::refused(url, &failure)))
    }

    /// Waits until nobody has control of the session.
    pub(crate) async fn until_given_back(&mut self) {
        if let Some(people) = &mut self.people {
            people.until_given_back(&mut self.session).await;
        }
    }

    /// The session for the loop of an agent, and who takes control of it meanwhile.
    pub(crate) fn for_agent(&mut self) -> SharedSession<'_> {
        SharedSession {
            session: &mut self.session,
            people: self.people.as_mut(),
        }
    }

    /// Releases keys, ends all processes, closes the journal and removes the directory.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        self.network.end();
        let closed = self.session.close().await;
        let removed = self.folder.remove();
        closed?;
        removed
            .map_err(|e| CliError::message(format!("failed to remove the session's folder: {e}")))
    }
}

/// The signals that stop a command, since the first work that they could stop.
static STOP_SIGNALS: Mutex<Option<[(Signal, u8); 3]>> = Mutex::const_new(None);

fn stop_signals() -> io::Result<[(Signal, u8); 3]> {
    Ok([
        (signal(SignalKind::interrupt())?, 2),
        (signal(SignalKind::terminate())?, 15),
        (signal(SignalKind::hangup())?, 1),
    ])
}

/// The outcome of `work`, or the signal that arrived first; then `work` is dropped. A signal that
/// arrives between two pieces of work stops the second.
///
/// One piece of work is stopped at a time: within `work` this must not be called again.
pub(crate) async fn until_stopped<T>(work: impl Future<Output = T>) -> Result<T, Stopped> {
    let mut signals = STOP_SIGNALS.lock().await;
    if signals.is_none() {
        *signals = stop_signals().ok();
    }
    let Some([interrupt, terminate, hang_up]) = &mut *signals else {
        tracing::warn!(
            "signals cannot be caught: an interruption will not close the session cleanly"
        );
        return Ok(work.await);
    };
    // Each arm is cancel-safe; dropping `work` releases pressed keys and ends its commands.
    tokio::select! {
        outcome = work => Ok(outcome),
        _ = interrupt.0.recv() => Err(Stopped(interrupt.1)),
        _ = terminate.0.recv() => Err(Stopped(terminate.1)),
        _ = hang_up.0.recv() => Err(Stopped(hang_up.1)),
    }
}

fn auto_screenshot(dialect: Dialect) -> AutoScreenshot {
    match dialect.screenshot_when() {
        ScreenshotWhen::EveryCall => AutoScreenshot::EveryCall,
        ScreenshotWhen::LastOfBatch => AutoScreenshot::LastOfBatch,
    }
}

/// Screenshot settings from the flags.
#[derive(Clone, Copy, Debug)]
struct Screenshots {
    width: Option<u32>,
    format: Option<Format>,
    text_only: bool,
}

impl Screenshots {
    /// When results for a model include a screenshot.
    fn for_models(self, when: AutoScreenshot) -> AutoScreenshot {
        match self.text_only {
            true => AutoScreenshot::Never,
            false => when,
        }
    }

    /// Screenshots that every known client of the Model Context Protocol passes on: some refuse
    /// results of more than 1 MB, which base64 makes of 750 kB, and edges above 2,000 pixels.
    fn for_mcp(self) -> ScreenshotRule {
        const MAX_EDGE: u32 = 2_000;
        const MAX_BYTES: usize = 700 * 1024;
        ScreenshotRule {
            max_width: self.width,
            max_edge: Some(MAX_EDGE),
            max_pixels: None,
            format: self.format,
            accepts_webp: false,
            max_bytes: Some(MAX_BYTES),
        }
    }

    /// Screenshots that are saved as files: PNG, whatever their size.
    fn for_files(self) -> ScreenshotRule {
        ScreenshotRule {
            max_width: self.width,
            format: self.format,
            ..ScreenshotRule::native()
        }
    }

    /// Screenshots at a size that the model accepts without the service shrinking them.
    fn rule(self, dialect: Dialect, model: Option<&str>, largest: Option<Size>) -> ScreenshotRule {
        let size = largest.map(|screen| dialect.screenshot_size(model, screen));
        ScreenshotRule {
            max_width: self.width,
            max_edge: size.map(|size| size.width.max(size.height)),
            max_pixels: size.map(|size| u64::from(size.width) * u64::from(size.height)),
            format: self.format,
            accepts_webp: dialect.accepts_webp(),
            max_bytes: Some(dialect.max_image_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use rustix::process::{Signal as SentSignal, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn a_signal_between_two_pieces_of_work_stops_the_second() {
        assert!(until_stopped(ready(())).await.is_ok());
        kill_process(getpid(), SentSignal::INT).expect("a signal");
        let stopped = until_stopped(pending::<()>()).await;
        assert!(matches!(stopped, Err(Stopped(2))), "{stopped:?}");
    }
}
