//! Sends window requests to the window manager and verifies their effect.

use std::time::Duration;

use telechir_device::{ActionReport, Effect, ScreenRegion, Viewport};
use tokio::time::{Instant, timeout_at};
use x11rb::protocol::xproto::{Atom, ClientMessageEvent, ConnectionExt as _, EventMask, Window};

use super::inspect::{Rect, WindowInfo};
use super::{WindowRegistry, format_bounds};
use crate::connection::Connection;
use crate::error::XError;
use crate::focus::select_events;
use crate::wm_sync::WmSync;

/// Maximum wait for the effect of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum wait for a window to close or to show a question.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between checks if no event arrives.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// EWMH source indication 2: a pager or panel acting for the user.
const SOURCE_USER: u32 = 2;
const STATE_REMOVE: u32 = 0;
const STATE_ADD: u32 = 1;
const ICONIC_STATE: u32 = 3;

/// The requested state of a window.
#[derive(Clone, Copy, Debug)]
enum WindowGoal {
    Active,
    Maximized,
    /// Neither maximized nor minimized nor full screen.
    Plain,
    Minimized,
    At(Rect),
}

/// The result of a close request.
enum CloseOutcome {
    Closed,
    /// Another window appeared.
    ShowsDialog(WindowInfo),
    StillOpen,
}

impl WindowRegistry {
    /// Activates a window.
    pub(crate) async fn focus(
        &mut self,
        (connection, wm): (&Connection, &WmSync),
        window: &str,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, Some(window)).await?;
        let label = self.label(&found);
        let was_active = self.active(connection).await? == Some(found.window);
        self.activate(connection, &found).await?;
        if !self
            .wait_for_goal(connection, wm, &found, WindowGoal::Active)
            .await?
        {
            return Err(XError::Impossible(format!(
                "The window manager did not activate {label}; a modal dialog may block it."
            )));
        }
        Ok(confirmed(if was_active {
            format!("{label} was already active.")
        } else {
            format!("{label} is active.")
        }))
    }

    /// Maximizes a window and reports its previous state.
    pub(crate) async fn maximize(
        &mut self,
        (connection, wm): (&Connection, &WmSync),
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        let was = found.state;
        if was.is_maximized() && !was.is_minimized {
            return Ok(confirmed(format!("{label} was already maximized.")));
        }
        if was.is_minimized {
            self.activate(connection, &found).await?;
        }
        self.change_state(connection, found.window, STATE_ADD, self.size_states())?;
        if !self
            .wait_for_goal(connection, wm, &found, WindowGoal::Maximized)
            .await?
        {
            return Err(XError::Impossible(format!(
                "The window manager did not maximize {label}; a window of a fixed size, such as \
                 most dialogs, cannot be."
            )));
        }
        let before = if was.is_minimized {
            "minimized"
        } else if was.is_fullscreen {
            "full screen"
        } else {
            "not"
        };
        Ok(confirmed(format!(
            "{label} is maximized; before it was {before}."
        )))
    }

    /// Restores a maximized, minimized or full-screen window.
    pub(crate) async fn restore(
        &mut self,
        (connection, wm): (&Connection, &WmSync),
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        let was = found.state;
        let before: Vec<&str> = [
            (was.is_minimized, "minimized"),
            (was.is_fullscreen, "full screen"),
            (was.is_wide || was.is_tall, "maximized"),
        ]
        .into_iter()
        .filter_map(|(contains, label)| contains.then_some(label))
        .collect();
        if before.is_empty() {
            return Ok(confirmed(format!(
                "{label} was neither maximized nor minimized."
            )));
        }
        self.restore_size(connection, wm, &found).await?;
        let before = before.join(" and ");
        Ok(confirmed(format!(
            "{label} is restored; before it was {before}."
        )))
    }

    /// Minimizes a window.
    pub(crate) async fn minimize(
        &mut self,
        (connection, wm): (&Connection, &WmSync),
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        if found.state.is_minimized {
            return Ok(confirmed(format!("{label} was already minimized.")));
        }
        let change = self.atoms.WM_CHANGE_STATE;
        send_request(connection, found.window, change, [ICONIC_STATE, 0, 0, 0, 0])?;
        if !self
            .wait_for_goal(connection, wm, &found, WindowGoal::Minimized)
            .await?
        {
            return Err(XError::Impossible(format!(
                "The window manager did not minimize {label}."
            )));
        }
        Ok(confirmed(format!("{label} is minimized.")))
    }

    /// Moves and resizes a window so that its visible area fills `region`.
    pub(crate) async fn move_and_resize(
        &mut self,
        (connection, wm): (&Connection, &WmSync),
        window: Option<&str>,
        region: &ScreenRegion,
        viewport: Viewport,
    ) -> Result<ActionReport, XError> {
        let mut found = self.find(connection, window).await?;
        let label = self.label(&found);
        let state = found.state;
        if state.is_minimized || state.is_fullscreen || state.is_wide || state.is_tall {
            self.restore_size(connection, wm, &found).await?;
            // The frame has changed with the state.
            found = self
                .inspect(connection, found.window)
                .await?
                .unwrap_or(found);
        }
        let wanted = rect_of(region);
        self.move_to(connection, &found, wanted)?;
        self.wait_for_goal(connection, wm, &found, WindowGoal::At(wanted))
            .await?;
        let Some(now) = self.inspect(connection, found.window).await? else {
            return Err(XError::Impossible(format!("{label} closed meanwhile.")));
        };
        let bounds = format_bounds(now.bounds, viewport);
        if now.bounds == wanted {
            return Ok(confirmed(format!("{label} is at {bounds}.")));
        }
        if now.bounds == found.bounds {
            return Err(XError::Impossible(format!(
                "The window manager did not move {label}; it is still at {bounds}."
            )));
        }
        // Terminals, for example, have whole lines and columns only.
        Ok(confirmed(format!(
            "{label} is at {bounds}, as close as its program and the window manager allow."
        )))
    }

    /// Asks a window to close.
    pub(crate) async fn close(
        &mut self,
        connection: &Connection,
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let before = self.managed(connection).await?;
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        let close = self.atoms._NET_CLOSE_WINDOW;
        select_events(connection, connection.root(), EventMask::PROPERTY_CHANGE)?;
        send_request(connection, found.window, close, [0, SOURCE_USER, 0, 0, 0])?;
        let closing = self.wait_for_end(connection, found.window, &before).await;
        select_events(connection, connection.root(), EventMask::NO_EVENT)?;
        Ok(match closing? {
            CloseOutcome::Closed => confirmed(format!("{label} is closed.")),
            CloseOutcome::ShowsDialog(dialog) => delivered(format!(
                "{label} is still open: {} appeared and expects an answer.",
                self.label(&dialog)
            )),
            CloseOutcome::StillOpen => delivered(format!(
                "{label} did not close within {} s; check whether it shows a question, or close it \
                 again: a program that is still starting ignores the first time.",
                CLOSE_TIMEOUT.as_secs()
            )),
        })
    }

    async fn wait_for_end(
        &self,
        connection: &Connection,
        window: Window,
        before: &[Window],
    ) -> Result<CloseOutcome, XError> {
        let end = Instant::now() + CLOSE_TIMEOUT;
        loop {
            let now = self.managed(connection).await?;
            if !now.contains(&window) {
                return Ok(CloseOutcome::Closed);
            }
            let new = now.iter().rev().find(|other| !before.contains(other));
            if let Some(new) = new
                && let Some(dialog) = self.inspect(connection, *new).await?
            {
                return Ok(CloseOutcome::ShowsDialog(dialog));
            }
            if Instant::now() >= end {
                return Ok(CloseOutcome::StillOpen);
            }
            wait_for_event(connection, end).await?;
        }
    }

    /// Removes the maximized, minimized and full-screen states.
    async fn restore_size(
        &self,
        connection: &Connection,
        wm: &WmSync,
        found: &WindowInfo,
    ) -> Result<(), XError> {
        if found.state.is_minimized {
            self.activate(connection, found).await?;
        }
        self.change_state(connection, found.window, STATE_REMOVE, self.size_states())?;
        let full = [self.atoms._NET_WM_STATE_FULLSCREEN, 0];
        self.change_state(connection, found.window, STATE_REMOVE, full)?;
        if self
            .wait_for_goal(connection, wm, found, WindowGoal::Plain)
            .await?
        {
            return Ok(());
        }
        Err(XError::Impossible(format!(
            "The window manager did not restore {:?}.",
            found.title
        )))
    }

    const fn size_states(&self) -> [Atom; 2] {
        [
            self.atoms._NET_WM_STATE_MAXIMIZED_VERT,
            self.atoms._NET_WM_STATE_MAXIMIZED_HORZ,
        ]
    }

    fn change_state(
        &self,
        connection: &Connection,
        window: Window,
        operation: u32,
        [first, second]: [Atom; 2],
    ) -> Result<(), XError> {
        let data = [operation, first, second, SOURCE_USER, 0];
        send_request(connection, window, self.atoms._NET_WM_STATE, data)
    }

    async fn activate(&self, connection: &Connection, found: &WindowInfo) -> Result<(), XError> {
        let active = self.active(connection).await?.unwrap_or(x11rb::NONE);
        let data = [SOURCE_USER, 0, active, 0, 0];
        send_request(
            connection,
            found.window,
            self.atoms._NET_ACTIVE_WINDOW,
            data,
        )
    }

    /// The position refers to the corner of the frame, the size to the client area.
    fn move_to(
        &self,
        connection: &Connection,
        found: &WindowInfo,
        wanted: Rect,
    ) -> Result<(), XError> {
        // Gravity north-west; x, y, width and height are given.
        const FLAGS: u32 = 1 | (0b1111 << 8) | (SOURCE_USER << 12);
        let frame = found.frame;
        // Shadows belong to the window but are not visible.
        let (x, y) = (wanted.x + frame.left.min(0), wanted.y + frame.top.min(0));
        let width = (wanted.width - frame.left - frame.right).max(1);
        let height = (wanted.height - frame.top - frame.bottom).max(1);
        let [x, y, width, height] = [x, y, width, height].map(i32::cast_unsigned);
        let data = [FLAGS, x, y, width, height];
        send_request(
            connection,
            found.window,
            self.atoms._NET_MOVERESIZE_WINDOW,
            data,
        )
    }

    /// Waits until the window reaches the goal; false on timeout.
    async fn wait_for_goal(
        &self,
        connection: &Connection,
        wm: &WmSync,
        found: &WindowInfo,
        goal: WindowGoal,
    ) -> Result<bool, XError> {
        let events = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
        // Requests are processed in order: the reply follows our request.
        wm.wait_until_done(connection).await?;
        select_events(connection, connection.root(), EventMask::PROPERTY_CHANGE)?;
        select_events(connection, found.window, events)?;
        let reached = self.wait_for(connection, found, goal).await;
        select_events(connection, found.window, EventMask::NO_EVENT)?;
        select_events(connection, connection.root(), EventMask::NO_EVENT)?;
        reached
    }

    async fn wait_for(
        &self,
        connection: &Connection,
        found: &WindowInfo,
        goal: WindowGoal,
    ) -> Result<bool, XError> {
        let end = Instant::now() + REQUEST_TIMEOUT;
        let mut last = None;
        loop {
            let Some(now) = self.inspect(connection, found.window).await? else {
                return Ok(false);
            };
            let is_reached = match goal {
                WindowGoal::Active => self.active(connection).await? == Some(found.window),
                WindowGoal::Maximized => now.state.is_maximized() && !now.state.is_minimized,
                WindowGoal::Plain => {
                    let state = now.state;
                    !(state.is_wide || state.is_tall || state.is_minimized || state.is_fullscreen)
                }
                WindowGoal::Minimized => {
                    let active = self.active(connection).await?;
                    now.state.is_minimized && active != Some(found.window)
                }
                // The window may reach only a part of the goal and then stop changing.
                WindowGoal::At(wanted) => {
                    now.bounds == wanted || (now.bounds != found.bounds && last == Some(now.bounds))
                }
            };
            if is_reached || Instant::now() >= end {
                return Ok(is_reached);
            }
            last = Some(now.bounds);
            wait_for_event(connection, end).await?;
        }
    }
}

/// Waits for any event, at most [`POLL_INTERVAL`].
async fn wait_for_event(connection: &Connection, end: Instant) -> Result<(), XError> {
    let moment = end.min(Instant::now() + POLL_INTERVAL);
    match timeout_at(moment, connection.next_event()).await {
        Ok(event) => event.map(drop),
        Err(_) => Ok(()),
    }
}

/// Sends a client message to the root window, which the window manager reads.
fn send_request(
    connection: &Connection,
    window: Window,
    what: Atom,
    data: [u32; 5],
) -> Result<(), XError> {
    let message = ClientMessageEvent::new(32, window, what, data);
    let mask = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT;
    connection
        .x()
        .send_event(false, connection.root(), mask, message)?;
    connection.flush()
}

fn rect_of(region: &ScreenRegion) -> Rect {
    let pixels = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    Rect {
        x: pixels(region.origin().x()),
        y: pixels(region.origin().y()),
        width: pixels(region.size().width),
        height: pixels(region.size().height),
    }
}

const fn confirmed(text: String) -> ActionReport {
    ActionReport {
        effect: Effect::Confirmed,
        text: Some(text),
    }
}

const fn delivered(text: String) -> ActionReport {
    ActionReport {
        effect: Effect::Delivered,
        text: Some(text),
    }
}
