//! The windows that input can reach, with and without a window manager.

use std::time::Duration;

use telechir_device::{DeviceError, InputWindows, PointedWindows, ScreenAction};
use telechir_protocol::Action;
use tokio::time::{Instant, sleep};
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Window};

use super::WindowRegistry;
use super::inspect::{self, WindowInfo};
use crate::connection::Connection;
use crate::error::XError;
use crate::focus::{Focus, ignore_destroyed};
use crate::pointer::{self, Position};

/// Maximum wait for a tooltip to be hidden, and the interval of looking.
const TOOLTIP_TIMEOUT: Duration = Duration::from_millis(500);
const TOOLTIP_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum nesting of windows under a point; deeper ones are left out.
const MAX_DEPTH: usize = 32;

impl WindowRegistry {
    /// The window with the server's own keyboard focus, and all windows of programs. Without a window
    /// manager these are the windows on the root window.
    pub(crate) async fn input_windows(
        &self,
        connection: &Connection,
        focus: &Focus,
    ) -> Result<InputWindows, XError> {
        let (windows, is_managed) = match self.managed(connection).await {
            Ok(windows) => (windows, true),
            Err(XError::Impossible(_)) => (children(connection, connection.root()).await?, false),
            Err(error) => return Err(error),
        };
        let all = inspect::describe(connection, &self.atoms, &windows).await?;
        // Without a manager, helper windows without a name are among them.
        let is_program = |names: &Vec<String>| is_managed || names.iter().any(|n| !n.is_empty());
        Ok(InputWindows {
            focused: self.focused_names(connection, focus).await?,
            all: all.into_iter().map(names).filter(is_program).collect(),
            under: Vec::new(),
        })
    }

    /// The names of the window with the server's own keyboard focus.
    pub(crate) async fn focused_names(
        &self,
        connection: &Connection,
        focus: &Focus,
    ) -> Result<Option<Vec<String>>, XError> {
        let focused = match focus.focused(connection).await? {
            Some(window) => self.inspect(connection, window).await?,
            None => None,
        };
        Ok(focused.map(names))
    }

    /// The windows under the points of an action, or under the pointer if it acts there. None if it
    /// does neither, or acts on elements.
    pub(crate) async fn pointed(
        &self,
        connection: &Connection,
        focus: &Focus,
        action: &ScreenAction,
    ) -> Result<Option<PointedWindows>, DeviceError> {
        let targets = action.targets();
        let Ok(mut points) = targets
            .iter()
            .map(Position::of)
            .collect::<Result<Vec<_>, _>>()
        else {
            return Ok(None);
        };
        let has_no_target = matches!(
            action,
            Action::Click { at: None, .. }
                | Action::MouseDown { at: None, .. }
                | Action::MouseUp { at: None, .. }
        );
        let is_one_point = matches!(action, Action::Drag { path, .. } if path.len() == 1);
        if has_no_target || is_one_point {
            points.push(pointer::position(connection).await?);
        }
        if points.is_empty() {
            return Ok(None);
        }
        let mut pointed = PointedWindows::default();
        for point in points {
            let Some((names, passes_on)) = self.window_at(connection, focus, point).await? else {
                continue;
            };
            pointed.names.push(names);
            pointed.passes_on |= passes_on;
        }
        Ok(Some(pointed))
    }

    /// Waits until no tooltip is at a point to which the pointer was moved, but not for long: a
    /// program hides its tooltip once it notices the pointer. Until then it would take the button.
    pub(crate) async fn wait_without_tooltip(
        &self,
        connection: &Connection,
        at: Position,
    ) -> Result<(), XError> {
        let end = Instant::now() + TOOLTIP_TIMEOUT;
        while self.is_tooltip_at(connection, at).await? && Instant::now() < end {
            sleep(TOOLTIP_POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn is_tooltip_at(&self, connection: &Connection, at: Position) -> Result<bool, XError> {
        const MAX_TYPES: u32 = 16;
        let (x, root) = (connection.x(), connection.root());
        let under = x.translate_coordinates(root, root, at.x, at.y)?;
        let window = connection.reply(under).await?.child;
        if window == x11rb::NONE {
            return Ok(false);
        }
        let kind = self.atoms._NET_WM_WINDOW_TYPE;
        let types = x.get_property(false, window, kind, AtomEnum::ATOM, 0, MAX_TYPES)?;
        let types = ignore_destroyed(connection.reply(types).await)?;
        let tooltip = self.atoms._NET_WM_WINDOW_TYPE_TOOLTIP;
        Ok(types.is_some_and(|types| inspect::numbers(&types).contains(&tooltip)))
    }

    /// The names of the window that a button would be pressed in, those of the windows inside it
    /// included, and whether it does not take the focus. None if that is the root window.
    async fn window_at(
        &self,
        connection: &Connection,
        focus: &Focus,
        at: Position,
    ) -> Result<Option<(Vec<String>, bool)>, XError> {
        let path = path_to(connection, at).await?;
        let Some(top) = path.first() else {
            return Ok(None);
        };
        let mut client = None;
        for window in &path {
            if client.is_none() && focus.is_client_window(connection, *window).await? {
                client = Some(*window);
            }
        }
        // A point on a frame that the window manager has added is on no window of the program.
        let framed = match client {
            Some(_) => None,
            None => client_inside(connection, focus, *top).await?,
        };
        let mut names = Vec::new();
        for window in path.iter().copied().chain(framed) {
            names.extend(class_of(connection, window).await?);
        }
        let takes_focus = match client.or(framed) {
            Some(client) => self.takes_focus(connection, focus, client).await?,
            None => false,
        };
        Ok(Some((names, !takes_focus)))
    }

    /// Whether a window manager gives a window the focus when it is clicked (ICCCM, 4.1.7).
    async fn takes_focus(
        &self,
        connection: &Connection,
        focus: &Focus,
        client: Window,
    ) -> Result<bool, XError> {
        const HAS_INPUT_HINT: u32 = 1;
        if !focus.is_managed(connection, client).await? {
            return Ok(false);
        }
        let described = self.inspect(connection, client).await?;
        if described.is_none_or(|window| window.kind == Some("panel")) {
            return Ok(false);
        }
        let x = connection.x();
        let hints = x.get_property(false, client, AtomEnum::WM_HINTS, AtomEnum::ANY, 0, 9)?;
        let hints = ignore_destroyed(connection.reply(hints).await)?;
        let hints = hints.map(|hints| inspect::numbers(&hints));
        let refuses = match hints.as_deref() {
            Some([flags, input, ..]) => flags & HAS_INPUT_HINT != 0 && *input == 0,
            _ => false,
        };
        Ok(!refuses || focus.takes_focus(connection, client).await?)
    }
}

/// The windows under a point, from the child of the root window to the innermost one.
pub(crate) async fn path_to(connection: &Connection, at: Position) -> Result<Vec<Window>, XError> {
    let root = connection.root();
    let mut path = Vec::new();
    let mut window = root;
    for _ in 0..MAX_DEPTH {
        let x = connection.x();
        let under = x.translate_coordinates(root, window, at.x, at.y)?;
        match ignore_destroyed(connection.reply(under).await)? {
            Some(under) if under.child != x11rb::NONE => window = under.child,
            Some(_) | None => break,
        }
        path.push(window);
    }
    Ok(path)
}

/// The program's window inside a frame.
async fn client_inside(
    connection: &Connection,
    focus: &Focus,
    frame: Window,
) -> Result<Option<Window>, XError> {
    const MAX_WINDOWS: usize = 64;
    let mut level = vec![frame];
    let mut seen = 0;
    while !level.is_empty() {
        let mut below = Vec::new();
        for window in level {
            seen += 1;
            if seen > MAX_WINDOWS {
                return Ok(None);
            }
            if focus.is_client_window(connection, window).await? {
                return Ok(Some(window));
            }
            below.extend(children(connection, window).await?);
        }
        level = below;
    }
    Ok(None)
}

async fn children(connection: &Connection, window: Window) -> Result<Vec<Window>, XError> {
    let tree = connection.x().query_tree(window)?;
    let tree = ignore_destroyed(connection.reply(tree).await)?;
    Ok(tree.map(|tree| tree.children).unwrap_or_default())
}

/// The class and the instance of a window; empty if it has neither.
async fn class_of(connection: &Connection, window: Window) -> Result<Vec<String>, XError> {
    let x = connection.x();
    let class = x.get_property(
        false,
        window,
        AtomEnum::WM_CLASS,
        AtomEnum::ANY,
        0,
        inspect::MAX_TEXT_UNITS,
    )?;
    let class = ignore_destroyed(connection.reply(class).await)?;
    let class = class.map(|class| inspect::text(&class)).unwrap_or_default();
    let mut names = class.split('\0').map(str::to_owned);
    let (instance, class) = (names.next(), names.next());
    let names = [class.unwrap_or_default(), instance.unwrap_or_default()];
    let is_empty = names.iter().all(String::is_empty);
    Ok(if is_empty { Vec::new() } else { names.into() })
}

fn names(window: WindowInfo) -> Vec<String> {
    vec![window.class, window.instance]
}
