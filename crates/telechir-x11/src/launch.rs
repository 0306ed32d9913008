//! Starts an application and reports whether it shows a window or exits.

use std::process::ExitStatus;
use std::time::Duration;

use telechir_device::{ActionReport, DeviceError, Effect};
use telechir_process::Child;
use tokio::time::{Instant, timeout_at};
use x11rb::protocol::xproto::{ConnectionExt as _, EventMask, MapState, Window, WindowClass};

use crate::applications::{self, Application};
use crate::connection::Connection;
use crate::display::XDisplay;
use crate::error::XError;
use crate::focus::{ignore_destroyed, select_events};
use crate::stderr_tail::StderrTail;
use crate::windows::WindowRegistry;

/// Maximum wait for a window; large applications start slowly on a busy machine.
const WINDOW_TIMEOUT: Duration = Duration::from_secs(20);
/// How long another window may take to appear after a successful exit: the program may have handed
/// over to a running instance.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between checks of the window list if no event arrives.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The kind of a window that is shown while an application starts.
const SPLASH: &str = "splash screen";

/// Starts the application that `name` refers to and waits until it shows a window or exits.
pub(crate) async fn open(
    name: &str,
    display: &mut XDisplay,
    connection: &Connection,
    windows: &mut WindowRegistry,
) -> Result<ActionReport, DeviceError> {
    let (folders, path) = display.applications();
    let application = applications::find(name, &folders, &path)?;
    let before = top_level_windows(connection, windows).await?;
    let active = windows.active(connection).await?;
    let args: Vec<&str> = application.args.iter().map(String::as_str).collect();
    let (child, stderr) = display
        .start_application(&application.program, &args)
        .await?;
    select_events(connection, connection.root(), EventMask::PROPERTY_CHANGE)?;
    let mut watcher = WindowWatcher {
        connection,
        windows,
        before,
        active,
        application,
        end: Instant::now() + WINDOW_TIMEOUT,
    };
    let outcome = watcher.until_shown(child, stderr).await;
    select_events(connection, connection.root(), EventMask::NO_EVENT)?;
    Ok(outcome?)
}

/// The windows observed while an application starts.
struct WindowWatcher<'a> {
    connection: &'a Connection,
    windows: &'a mut WindowRegistry,
    before: Vec<Window>,
    active: Option<Window>,
    application: Application,
    end: Instant,
}

impl WindowWatcher<'_> {
    async fn until_shown(
        &mut self,
        child: &Child,
        stderr: &StderrTail,
    ) -> Result<ActionReport, XError> {
        let mut ended: Option<ExitStatus> = None;
        loop {
            if let Some(report) = self.report_if_shown(ended.is_some()).await? {
                return Ok(report);
            }
            if Instant::now() >= self.end {
                return self.without_window(ended);
            }
            let moment = self.end.min(Instant::now() + POLL_INTERVAL);
            tokio::select! {
                event = timeout_at(moment, self.connection.next_event()) => {
                    if let Ok(event) = event {
                        event?;
                    }
                }
                status = child.wait(), if ended.is_none() => {
                    let status = status?;
                    if !status.success() {
                        return Err(self.failed(status, &stderr.read_to_end().await));
                    }
                    ended = Some(status);
                    self.end = self.end.min(Instant::now() + HANDOVER_TIMEOUT);
                }
            }
        }
    }

    /// The report once a new window is shown or, after a handover, another window is active.
    async fn report_if_shown(&mut self, has_ended: bool) -> Result<Option<ActionReport>, XError> {
        let now = top_level_windows(self.connection, self.windows).await?;
        let new = self.new_window(&now).await?;
        let active = self.windows.active(self.connection).await?;
        let raised = active.filter(|_| has_ended && active != self.active);
        let Some(window) = new.or(raised) else {
            return Ok(None);
        };
        let name = &self.application.name;
        let Some(described) = self.windows.inspect(self.connection, window).await? else {
            return Ok(None);
        };
        let label = self.windows.label(&described);
        let text = if new.is_some() {
            format!("{name} was started and shows {label}.")
        } else {
            format!("{name} was already running; {label} is now active.")
        };
        Ok(Some(ActionReport {
            effect: Effect::Confirmed,
            text: Some(text),
        }))
    }

    /// The topmost new window that is not a splash screen: what follows one cannot be used yet.
    async fn new_window(&self, now: &[Window]) -> Result<Option<Window>, XError> {
        for window in now.iter().rev().filter(|new| !self.before.contains(new)) {
            let described = self.windows.inspect(self.connection, *window).await?;
            if described.is_some_and(|described| described.kind != Some(SPLASH)) {
                return Ok(Some(*window));
            }
        }
        Ok(None)
    }

    fn without_window(&self, ended: Option<ExitStatus>) -> Result<ActionReport, XError> {
        let name = &self.application.name;
        let text = match ended {
            Some(_) => {
                format!(
                    "{name} exited immediately with exit code 0 and without a window of its own."
                )
            }
            None => format!(
                "{name} was started and is running, but shows no window after {} s.",
                WINDOW_TIMEOUT.as_secs()
            ),
        };
        Ok(ActionReport {
            effect: Effect::Delivered,
            text: Some(text),
        })
    }

    fn failed(&self, status: ExitStatus, stderr: &str) -> XError {
        let name = &self.application.name;
        let stderr = if stderr.is_empty() {
            "Its standard error is empty.".to_owned()
        } else {
            format!("Standard error:\n{stderr}")
        };
        XError::Impossible(format!(
            "{name} exited without a window: {status}. {stderr}"
        ))
    }
}

/// The top-level windows: those of the window manager or, without one, all mapped windows.
async fn top_level_windows(
    connection: &Connection,
    windows: &WindowRegistry,
) -> Result<Vec<Window>, XError> {
    match windows.managed(connection).await {
        Err(XError::Impossible(_)) => {}
        managed => return managed,
    }
    let x = connection.x();
    let tree = connection.reply(x.query_tree(connection.root())?).await?;
    let mut mapped = Vec::new();
    for window in tree.children {
        let attributes =
            ignore_destroyed(connection.reply(x.get_window_attributes(window)?).await)?;
        let is_mapped = attributes.is_some_and(|attributes| {
            attributes.map_state == MapState::VIEWABLE
                && attributes.class == WindowClass::INPUT_OUTPUT
                && !attributes.override_redirect
        });
        mapped.extend(is_mapped.then_some(window));
    }
    Ok(mapped)
}
