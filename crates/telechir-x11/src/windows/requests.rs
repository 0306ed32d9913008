//! What the window manager is asked to do with a window, and whether it came about.

use std::time::Duration;

use telechir_device::{ActionReport, Effect, ScreenRegion, Viewport};
use tokio::time::{Instant, timeout_at};
use x11rb::protocol::xproto::{Atom, ClientMessageEvent, ConnectionExt as _, EventMask, Window};

use super::inspect::{Described, Rect};
use super::{Windows, seen};
use crate::connection::Connection;
use crate::error::XError;
use crate::focus::listen;
use crate::wm_sync::Manager;

/// How long the manager may take over what it is asked.
const CEILING: Duration = Duration::from_secs(2);
/// How long a program may take to close its window or to ask something first.
const CLOSING: Duration = Duration::from_secs(3);
/// Without an event for so long, what the manager did is looked at all the same.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Who asks: a program that acts for the user, as a panel does.
const FOR_THE_USER: u32 = 2;
const REMOVE: u32 = 0;
const ADD: u32 = 1;
const ICONIC: u32 = 3;

/// What is to become true of a window.
#[derive(Clone, Copy, Debug)]
enum Goal {
    Active,
    Maximized,
    /// Neither maximised nor minimised nor full screen.
    Plain,
    Minimized,
    At(Rect),
}

/// How a request to close ended.
enum Closing {
    Closed,
    /// Another window came up meanwhile.
    Asks(Described),
    StillOpen,
}

impl Windows {
    /// Gives a window the keyboard.
    pub(crate) async fn focus(
        &mut self,
        (connection, manager): (&Connection, &Manager),
        window: &str,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, Some(window)).await?;
        let label = self.label(&found);
        let was_active = self.active(connection).await? == Some(found.window);
        self.activate(connection, &found).await?;
        if !self
            .reach(connection, manager, &found, Goal::Active)
            .await?
        {
            return Err(XError::Impossible(format!(
                "The window manager did not make {label} active; a dialog may stand before it."
            )));
        }
        Ok(confirmed(if was_active {
            format!("{label} was active already.")
        } else {
            format!("{label} is active.")
        }))
    }

    /// Makes a window as large as it goes. The answer says what it was.
    pub(crate) async fn maximize(
        &mut self,
        (connection, manager): (&Connection, &Manager),
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        let was = found.shown;
        if was.is_maximized() && !was.is_minimized {
            return Ok(confirmed(format!("{label} was maximized already.")));
        }
        if was.is_minimized {
            self.activate(connection, &found).await?;
        }
        self.change_state(connection, found.window, ADD, self.size_states())?;
        if !self
            .reach(connection, manager, &found, Goal::Maximized)
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

    /// Makes a window what it was before it was maximised, minimised or on the full screen.
    pub(crate) async fn restore(
        &mut self,
        (connection, manager): (&Connection, &Manager),
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        let was = found.shown;
        let before: Vec<&str> = [
            (was.is_minimized, "minimized"),
            (was.is_fullscreen, "full screen"),
            (was.is_wide || was.is_tall, "maximized"),
        ]
        .into_iter()
        .filter_map(|(holds, word)| holds.then_some(word))
        .collect();
        if before.is_empty() {
            return Ok(confirmed(format!(
                "{label} was neither maximized nor minimized."
            )));
        }
        self.make_plain(connection, manager, &found).await?;
        let before = before.join(" and ");
        Ok(confirmed(format!(
            "{label} is restored; before it was {before}."
        )))
    }

    /// Puts a window out of sight.
    pub(crate) async fn minimize(
        &mut self,
        (connection, manager): (&Connection, &Manager),
        window: Option<&str>,
    ) -> Result<ActionReport, XError> {
        let found = self.find(connection, window).await?;
        let label = self.label(&found);
        if found.shown.is_minimized {
            return Ok(confirmed(format!("{label} was minimized already.")));
        }
        let change = self.atoms.WM_CHANGE_STATE;
        ask(connection, found.window, change, [ICONIC, 0, 0, 0, 0])?;
        if !self
            .reach(connection, manager, &found, Goal::Minimized)
            .await?
        {
            return Err(XError::Impossible(format!(
                "The window manager did not minimize {label}."
            )));
        }
        Ok(confirmed(format!("{label} is minimized.")))
    }

    /// Moves and resizes a window so that what is seen of it fills a part of the screen.
    pub(crate) async fn place(
        &mut self,
        (connection, manager): (&Connection, &Manager),
        window: Option<&str>,
        region: &ScreenRegion,
        viewport: Viewport,
    ) -> Result<ActionReport, XError> {
        let mut found = self.find(connection, window).await?;
        let label = self.label(&found);
        let shown = found.shown;
        if shown.is_minimized || shown.is_fullscreen || shown.is_wide || shown.is_tall {
            self.make_plain(connection, manager, &found).await?;
            // Its frame is another now.
            found = self.look(connection, found.window).await?.unwrap_or(found);
        }
        let wanted = rect_of(region);
        self.move_to(connection, &found, wanted)?;
        self.reach(connection, manager, &found, Goal::At(wanted))
            .await?;
        let Some(now) = self.look(connection, found.window).await? else {
            return Err(XError::Impossible(format!("{label} closed meanwhile.")));
        };
        let place = seen(now.place, viewport);
        if now.place == wanted {
            return Ok(confirmed(format!("{label} is at {place}.")));
        }
        if now.place == found.place {
            return Err(XError::Impossible(format!(
                "The window manager left {label} where it was, at {place}."
            )));
        }
        // A terminal, for one, has whole lines and columns only.
        Ok(confirmed(format!(
            "{label} is at {place}, as near as its program or the window manager lets it be."
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
        listen(connection, connection.root(), EventMask::PROPERTY_CHANGE)?;
        ask(connection, found.window, close, [0, FOR_THE_USER, 0, 0, 0])?;
        let closing = self.wait_for_end(connection, found.window, &before).await;
        listen(connection, connection.root(), EventMask::NO_EVENT)?;
        Ok(match closing? {
            Closing::Closed => confirmed(format!("{label} is closed.")),
            Closing::Asks(dialog) => delivered(format!(
                "{label} is still open: {} came up and wants an answer.",
                self.label(&dialog)
            )),
            Closing::StillOpen => delivered(format!(
                "{label} was asked to close and is still open after {} s; look whether it asks \
                 something.",
                CLOSING.as_secs()
            )),
        })
    }

    async fn wait_for_end(
        &self,
        connection: &Connection,
        window: Window,
        before: &[Window],
    ) -> Result<Closing, XError> {
        let end = Instant::now() + CLOSING;
        loop {
            let now = self.managed(connection).await?;
            if !now.contains(&window) {
                return Ok(Closing::Closed);
            }
            let new = now.iter().rev().find(|other| !before.contains(other));
            if let Some(new) = new
                && let Some(dialog) = self.look(connection, *new).await?
            {
                return Ok(Closing::Asks(dialog));
            }
            if Instant::now() >= end {
                return Ok(Closing::StillOpen);
            }
            something_happens(connection, end).await?;
        }
    }

    /// Undoes everything that makes a window larger or smaller than its program meant it.
    async fn make_plain(
        &self,
        connection: &Connection,
        manager: &Manager,
        found: &Described,
    ) -> Result<(), XError> {
        if found.shown.is_minimized {
            self.activate(connection, found).await?;
        }
        self.change_state(connection, found.window, REMOVE, self.size_states())?;
        let full = [self.atoms._NET_WM_STATE_FULLSCREEN, 0];
        self.change_state(connection, found.window, REMOVE, full)?;
        if self.reach(connection, manager, found, Goal::Plain).await? {
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
        how: u32,
        [first, second]: [Atom; 2],
    ) -> Result<(), XError> {
        let data = [how, first, second, FOR_THE_USER, 0];
        ask(connection, window, self.atoms._NET_WM_STATE, data)
    }

    async fn activate(&self, connection: &Connection, found: &Described) -> Result<(), XError> {
        let active = self.active(connection).await?.unwrap_or(x11rb::NONE);
        let data = [FOR_THE_USER, 0, active, 0, 0];
        ask(
            connection,
            found.window,
            self.atoms._NET_ACTIVE_WINDOW,
            data,
        )
    }

    /// The manager counts the place from the frame's corner and the size without the frame.
    fn move_to(
        &self,
        connection: &Connection,
        found: &Described,
        wanted: Rect,
    ) -> Result<(), XError> {
        // Gravity north-west; x, y, width and height are all given.
        const FLAGS: u32 = 1 | (0b1111 << 8) | (FOR_THE_USER << 12);
        let frame = found.frame;
        // What a program draws as shadow is a part of its window that is not seen.
        let (x, y) = (wanted.x + frame.left.min(0), wanted.y + frame.top.min(0));
        let width = (wanted.width - frame.left - frame.right).max(1);
        let height = (wanted.height - frame.top - frame.bottom).max(1);
        let [x, y, width, height] = [x, y, width, height].map(i32::cast_unsigned);
        let data = [FLAGS, x, y, width, height];
        ask(
            connection,
            found.window,
            self.atoms._NET_MOVERESIZE_WINDOW,
            data,
        )
    }

    /// Waits until the goal is reached; false when it is not.
    async fn reach(
        &self,
        connection: &Connection,
        manager: &Manager,
        found: &Described,
        goal: Goal,
    ) -> Result<bool, XError> {
        let events = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
        // The manager takes our request before this question.
        manager.wait_until_done(connection).await?;
        listen(connection, connection.root(), EventMask::PROPERTY_CHANGE)?;
        listen(connection, found.window, events)?;
        let reached = self.wait_for(connection, found, goal).await;
        listen(connection, found.window, EventMask::NO_EVENT)?;
        listen(connection, connection.root(), EventMask::NO_EVENT)?;
        reached
    }

    async fn wait_for(
        &self,
        connection: &Connection,
        found: &Described,
        goal: Goal,
    ) -> Result<bool, XError> {
        let end = Instant::now() + CEILING;
        let mut last = None;
        loop {
            let Some(now) = self.look(connection, found.window).await? else {
                return Ok(false);
            };
            let is_reached = match goal {
                Goal::Active => self.active(connection).await? == Some(found.window),
                Goal::Maximized => now.shown.is_maximized() && !now.shown.is_minimized,
                Goal::Plain => {
                    let shown = now.shown;
                    !(shown.is_wide || shown.is_tall || shown.is_minimized || shown.is_fullscreen)
                }
                Goal::Minimized => {
                    let active = self.active(connection).await?;
                    now.shown.is_minimized && active != Some(found.window)
                }
                // It may not become all of it: then it stays as it is.
                Goal::At(wanted) => {
                    now.place == wanted || (now.place != found.place && last == Some(now.place))
                }
            };
            if is_reached || Instant::now() >= end {
                return Ok(is_reached);
            }
            last = Some(now.place);
            something_happens(connection, end).await?;
        }
    }
}

/// Waits for any event, for a moment.
async fn something_happens(connection: &Connection, end: Instant) -> Result<(), XError> {
    let moment = end.min(Instant::now() + LOOK_AGAIN);
    match timeout_at(moment, connection.next_event()).await {
        Ok(event) => event.map(drop),
        Err(_) => Ok(()),
    }
}

/// Asks the window manager, which reads what is sent to the root window.
fn ask(connection: &Connection, window: Window, what: Atom, data: [u32; 5]) -> Result<(), XError> {
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
