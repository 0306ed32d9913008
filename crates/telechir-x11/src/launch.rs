//! Starting an application and seeing what becomes of it: a window, or an end.

use std::process::ExitStatus;
use std::time::Duration;

use telechir_device::{ActionReport, DeviceError, Effect};
use telechir_process::Child;
use tokio::time::{Instant, timeout_at};
use x11rb::protocol::xproto::{ConnectionExt as _, EventMask, MapState, Window, WindowClass};

use crate::applications::{self, Application};
use crate::connection::Connection;
use crate::display::Display;
use crate::error::XError;
use crate::focus::{listen, or_gone};
use crate::private::Said;
use crate::windows::Windows;

/// How long a window is waited for. Large programs need their time on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// A program that ended well may have handed over to another of its kind, which shows a window.
const HANDED_OVER: Duration = Duration::from_secs(2);
/// Without an event for so long, the windows are looked at all the same.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Starts what `name` means and waits until it shows a window or ended.
pub(crate) async fn open(
    name: &str,
    display: &mut Display,
    connection: &Connection,
    windows: &mut Windows,
) -> Result<ActionReport, DeviceError> {
    let (folders, path) = display.applications();
    let application = applications::find(name, &folders, &path)?;
    let before = tops(connection, windows).await?;
    let active = windows.active(connection).await?;
    let args: Vec<&str> = application.args.iter().map(String::as_str).collect();
    let (child, said) = display
        .start_application(&application.program, &args)
        .await?;
    listen(connection, connection.root(), EventMask::PROPERTY_CHANGE)?;
    let mut watch = Watch {
        connection,
        windows,
        before,
        active,
        application,
        end: Instant::now() + PATIENCE,
    };
    let outcome = watch.until_shown(child, said).await;
    listen(connection, connection.root(), EventMask::NO_EVENT)?;
    Ok(outcome?)
}

/// What is looked at while an application starts.
struct Watch<'a> {
    connection: &'a Connection,
    windows: &'a mut Windows,
    before: Vec<Window>,
    active: Option<Window>,
    application: Application,
    end: Instant,
}

impl Watch<'_> {
    async fn until_shown(&mut self, child: &Child, said: &Said) -> Result<ActionReport, XError> {
        let mut ended: Option<ExitStatus> = None;
        loop {
            if let Some(shown) = self.shown(ended.is_some()).await? {
                return Ok(shown);
            }
            if Instant::now() >= self.end {
                return self.without_window(ended);
            }
            let moment = self.end.min(Instant::now() + LOOK_AGAIN);
            tokio::select! {
                event = timeout_at(moment, self.connection.next_event()) => {
                    if let Ok(event) = event {
                        event?;
                    }
                }
                status = child.wait(), if ended.is_none() => {
                    let status = status?;
                    if !status.success() {
                        return Err(self.failed(status, &said.to_the_end().await));
                    }
                    ended = Some(status);
                    self.end = self.end.min(Instant::now() + HANDED_OVER);
                }
            }
        }
    }

    /// What is said once there is a new window, or, after a program handed over, another in front.
    async fn shown(&mut self, has_ended: bool) -> Result<Option<ActionReport>, XError> {
        let now = tops(self.connection, self.windows).await?;
        let new = now
            .iter()
            .rev()
            .find(|window| !self.before.contains(window));
        let active = self.windows.active(self.connection).await?;
        let raised = active.filter(|_| has_ended && active != self.active);
        let Some(window) = new.copied().or(raised) else {
            return Ok(None);
        };
        let name = &self.application.name;
        let Some(described) = self.windows.look(self.connection, window).await? else {
            return Ok(None);
        };
        let label = self.windows.label(&described);
        let text = if new.is_some() {
            format!("{name} was started and shows {label}.")
        } else {
            format!("{name} was running already; {label} came to the front.")
        };
        Ok(Some(ActionReport {
            effect: Effect::Confirmed,
            text: Some(text),
        }))
    }

    fn without_window(&self, ended: Option<ExitStatus>) -> Result<ActionReport, XError> {
        let name = &self.application.name;
        let text = match ended {
            Some(_) => {
                format!("{name} ended at once, with exit code 0 and without a window of its own.")
            }
            None => format!(
                "{name} was started and runs, but shows no window after {} s.",
                PATIENCE.as_secs()
            ),
        };
        Ok(ActionReport {
            effect: Effect::Delivered,
            text: Some(text),
        })
    }

    fn failed(&self, status: ExitStatus, said: &str) -> XError {
        let name = &self.application.name;
        let said = if said.is_empty() {
            "It said nothing.".to_owned()
        } else {
            format!("It said:\n{said}")
        };
        XError::Impossible(format!("{name} ended without a window: {status}. {said}"))
    }
}

/// The windows on the screen: those of the window manager, or, without one, those that are shown.
async fn tops(connection: &Connection, windows: &Windows) -> Result<Vec<Window>, XError> {
    match windows.managed(connection).await {
        Err(XError::Impossible(_)) => {}
        managed => return managed,
    }
    let x = connection.x();
    let tree = connection.reply(x.query_tree(connection.root())?).await?;
    let mut shown = Vec::new();
    for window in tree.children {
        let looks = or_gone(connection.reply(x.get_window_attributes(window)?).await)?;
        let is_shown = looks.is_some_and(|looks| {
            looks.map_state == MapState::VIEWABLE
                && looks.class == WindowClass::INPUT_OUTPUT
                && !looks.override_redirect
        });
        shown.extend(is_shown.then_some(window));
    }
    Ok(shown)
}
