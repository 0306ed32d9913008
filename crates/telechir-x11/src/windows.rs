//! The windows of a display as reported by the window manager (EWMH).

pub(crate) mod input;
mod inspect;
mod requests;

use std::fmt::Write as _;

use telechir_device::{PartLocation, Viewport, normalized};
use telechir_protocol::Size;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, Window};

pub(crate) use inspect::{Rect, WindowInfo};

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::ignore_destroyed;
use crate::monitors::Monitor;

/// Maximum number of windows named in an error or a report.
const MAX_NAMED: usize = 12;
/// Maximum number of windows in a list.
const MAX_LISTED: usize = 100;

x11rb::atom_manager! {
    /// Atoms of EWMH window properties and messages.
    WindowAtoms: WindowAtomsRequest {
        WM_CHANGE_STATE,
        _NET_SUPPORTING_WM_CHECK,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_ACTIVE_WINDOW,
        _NET_CURRENT_DESKTOP,
        _NET_CLOSE_WINDOW,
        _NET_MOVERESIZE_WINDOW,
        _NET_FRAME_EXTENTS,
        _GTK_FRAME_EXTENTS,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_DESKTOP,
        _NET_WM_STATE,
        _NET_WM_STATE_MAXIMIZED_HORZ,
        _NET_WM_STATE_MAXIMIZED_VERT,
        _NET_WM_STATE_HIDDEN,
        _NET_WM_STATE_FULLSCREEN,
        _NET_WM_STATE_MODAL,
        _NET_WM_STATE_DEMANDS_ATTENTION,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_DIALOG,
        _NET_WM_WINDOW_TYPE_TOOLTIP,
        _NET_WM_WINDOW_TYPE_DOCK,
        _NET_WM_WINDOW_TYPE_DESKTOP,
        _NET_WM_WINDOW_TYPE_UTILITY,
        _NET_WM_WINDOW_TYPE_SPLASH,
        _NET_WM_WINDOW_TYPE_NOTIFICATION,
    }
}

/// The windows of a display. Each gets a stable id that is never reused.
#[derive(Debug)]
pub(crate) struct WindowRegistry {
    atoms: WindowAtoms,
    /// Windows with the number of their id (`w` and the number); only existing windows are
    /// retained.
    named: Vec<(Window, u32)>,
    last: u32,
}

/// All windows at one point in time.
#[derive(Debug)]
pub(crate) struct WindowList {
    /// In stacking order, the topmost last.
    pub(crate) windows: Vec<WindowInfo>,
    pub(crate) active: Option<Window>,
    /// The current virtual desktop; absent if not reported.
    current_desktop: Option<u32>,
}

impl WindowList {
    /// Whether a window is shown on the current virtual desktop.
    fn is_visible(&self, window: &WindowInfo) -> bool {
        !window.state.is_minimized && !self.is_on_other_desktop(window)
    }

    fn is_on_other_desktop(&self, window: &WindowInfo) -> bool {
        match (window.desktop, self.current_desktop) {
            (Some(own), Some(current)) => own != current,
            _ => false,
        }
    }
}

impl WindowRegistry {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let request = WindowAtoms::new(connection.x())?;
        // One round trip fetches all replies; reading them afterwards does not wait.
        connection.sync().await?;
        Ok(Self {
            atoms: request.reply()?,
            named: Vec::new(),
            last: 0,
        })
    }

    /// Lists all managed windows.
    pub(crate) async fn list(&mut self, connection: &Connection) -> Result<WindowList, XError> {
        let windows = self.managed(connection).await?;
        let windows = inspect::describe(connection, &self.atoms, &windows).await?;
        let is_there = |window: Window| windows.iter().any(|listed| listed.window == window);
        self.named.retain(|(window, _)| is_there(*window));
        for listed in &windows {
            self.number(listed.window);
        }
        let active = self.active(connection).await?;
        let desktop = self
            .of_root(connection, self.atoms._NET_CURRENT_DESKTOP)
            .await?;
        Ok(WindowList {
            active: active.filter(|window| is_there(*window)),
            windows,
            current_desktop: desktop.first().copied(),
        })
    }

    /// The managed windows in stacking order, the topmost last.
    ///
    /// # Errors
    /// When there is no EWMH window manager.
    pub(crate) async fn managed(&self, connection: &Connection) -> Result<Vec<Window>, XError> {
        if !self.has_manager(connection).await? {
            return Err(XError::Impossible(
                "This display has no EWMH window manager; use pointer and keyboard actions instead."
                    .to_owned(),
            ));
        }
        for list in [
            self.atoms._NET_CLIENT_LIST_STACKING,
            self.atoms._NET_CLIENT_LIST,
        ] {
            let windows = self.of_root(connection, list).await?;
            if !windows.is_empty() {
                return Ok(windows);
            }
        }
        Ok(Vec::new())
    }

    /// An exited manager leaves the property on the root window; the window it names must confirm
    /// it.
    async fn has_manager(&self, connection: &Connection) -> Result<bool, XError> {
        let name = self.atoms._NET_SUPPORTING_WM_CHECK;
        let Some(window) = self.of_root(connection, name).await?.first().copied() else {
            return Ok(false);
        };
        let check = connection
            .x()
            .get_property(false, window, name, AtomEnum::WINDOW, 0, 1)?;
        let check = ignore_destroyed(connection.reply(check).await)?;
        Ok(check.is_some_and(|property| inspect::numbers(&property) == [window]))
    }

    /// The current state of one window; `None` if it was destroyed.
    pub(crate) async fn inspect(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<Option<WindowInfo>, XError> {
        let mut described = inspect::describe(connection, &self.atoms, &[window]).await?;
        Ok(described.pop())
    }

    /// The window with the keyboard focus.
    pub(crate) async fn active(&self, connection: &Connection) -> Result<Option<Window>, XError> {
        let active = self
            .of_root(connection, self.atoms._NET_ACTIVE_WINDOW)
            .await?;
        Ok(active
            .first()
            .copied()
            .filter(|window| *window != x11rb::NONE))
    }

    /// A 32-bit list property of the root window.
    async fn of_root(&self, connection: &Connection, name: Atom) -> Result<Vec<u32>, XError> {
        const MAX_ITEMS: u32 = 16_384;
        let property = connection.x().get_property(
            false,
            connection.root(),
            name,
            AtomEnum::ANY,
            0,
            MAX_ITEMS,
        )?;
        Ok(inspect::numbers(&connection.reply(property).await?))
    }

    fn number(&mut self, window: Window) -> u32 {
        if let Some((_, number)) = self.named.iter().find(|(known, _)| *known == window) {
            return *number;
        }
        self.last += 1;
        self.named.push((window, self.last));
        self.last
    }

    /// The id of a window, such as `w3`.
    pub(crate) fn name(&mut self, window: Window) -> String {
        format!("w{}", self.number(window))
    }

    /// Finds the window that `selector` refers to; absent means the active one.
    pub(crate) async fn find(
        &mut self,
        connection: &Connection,
        selector: Option<&str>,
    ) -> Result<WindowInfo, XError> {
        let mut listed = self.list(connection).await?;
        let Some(selector) = selector else {
            let active = listed.active;
            let bounds = listed
                .windows
                .iter()
                .position(|window| Some(window.window) == active);
            return bounds
                .map(|at| listed.windows.swap_remove(at))
                .ok_or_else(|| {
                    let candidates = self.candidates(&listed.windows);
                    XError::Impossible(format!("No window is active; name one. {candidates}"))
                });
        };
        let matching: Vec<usize> = (0..listed.windows.len())
            .filter(|at| self.matches(&listed.windows[*at], selector))
            .collect();
        match *matching {
            [only] => Ok(listed.windows.swap_remove(only)),
            [] => {
                let candidates = self.candidates(&listed.windows);
                Err(XError::Impossible(format!(
                    "There is no window {selector:?}. {candidates}"
                )))
            }
            _ => {
                let several: Vec<WindowInfo> = matching
                    .into_iter()
                    .map(|at| listed.windows[at].clone())
                    .collect();
                let candidates = self.candidates(&several);
                Err(XError::Impossible(format!(
                    "{selector:?} matches {} windows; use an id. {candidates}",
                    several.len()
                )))
            }
        }
    }

    /// Whether the selector is the id of the window or a part of its title or class.
    fn matches(&mut self, window: &WindowInfo, selector: &str) -> bool {
        if is_id(selector) {
            return self.name(window.window) == selector;
        }
        let selector = normalized(selector);
        let contains = |text: &str| normalized(text).contains(&selector);
        !selector.is_empty()
            && (contains(&window.title) || contains(&window.class) || contains(&window.instance))
    }

    /// The existing windows in one line, the topmost first.
    fn candidates(&mut self, windows: &[WindowInfo]) -> String {
        if windows.is_empty() {
            return "There is no window.".to_owned();
        }
        let mut names: Vec<String> = windows
            .iter()
            .rev()
            .take(MAX_NAMED)
            .map(|window| self.label(window))
            .collect();
        if let Some(more) = windows
            .len()
            .checked_sub(MAX_NAMED)
            .filter(|more| *more > 0)
        {
            names.push(format!("{more} more"));
        }
        format!("There are: {}.", names.join(", "))
    }

    /// Id and title, such as `w3 "Untitled 1 - Mousepad"`.
    pub(crate) fn label(&mut self, window: &WindowInfo) -> String {
        format!("{} {:?}", self.name(window.window), window.title)
    }

    /// The area of one window and the windows that cover parts of it.
    pub(crate) async fn locate(
        &mut self,
        connection: &Connection,
        selector: Option<&str>,
        (screen, viewport): (Size, Viewport),
    ) -> Result<PartLocation, XError> {
        let window = self.find(connection, selector).await?;
        let listed = self.list(connection).await?;
        let label = self.label(&window);
        let is_visible = listed.is_visible(&window);
        let region = window.bounds.on(screen).filter(|_| is_visible);
        let Some(region) = region else {
            return Err(XError::Impossible(format!(
                "{label} is not on the screen; focus it first."
            )));
        };
        let above = listed.windows.iter().rev();
        let hiding: Vec<String> = above
            .take_while(|other| other.window != window.window)
            .filter(|other| listed.is_visible(other) && other.bounds.meets(window.bounds))
            .take(MAX_NAMED)
            .map(|other| self.label(other))
            .collect();
        let mut description = format!("{label} at {}.", format_bounds(window.bounds, viewport));
        if !hiding.is_empty() {
            let _infallible = write!(description, " Partly covered by {}.", hiding.join(", "));
        }
        Ok(PartLocation {
            region,
            description,
        })
    }

    /// Renders one line per window, the topmost first, with bounds in screenshot coordinates.
    /// With several monitors each line names the one on which the center of the window is.
    pub(crate) fn render(
        &mut self,
        listed: &WindowList,
        monitors: &[Monitor],
        viewport: Viewport,
    ) -> String {
        if listed.windows.is_empty() {
            return "There is no window.".to_owned();
        }
        let mut text =
            "Windows from front to back, each with its [left, top, right, bottom]:".to_owned();
        for window in listed.windows.iter().rev().take(MAX_LISTED) {
            let label = self.label(window);
            let _infallible = write!(text, "\n{label}");
            for attribute in attributes(window, listed, viewport) {
                let _infallible = write!(text, ", {attribute}");
            }
            let holds = |monitor: &&Monitor| monitor.bounds().holds(window.bounds.center());
            if let Some(monitor) = monitors.iter().find(holds).filter(|_| monitors.len() > 1) {
                let _infallible = write!(text, ", on {}", monitor.name());
            }
        }
        let more = listed.windows.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            let _infallible = write!(
                text,
                "\nand {more} more behind them; find them by a part of their title or class"
            );
        }
        text
    }
}

/// The attributes of a window that follow its label in a list.
fn attributes(window: &WindowInfo, listed: &WindowList, viewport: Viewport) -> Vec<String> {
    let state = window.state;
    let mut attributes = Vec::new();
    if !window.class.is_empty() {
        attributes.push(format!("class {:?}", window.class));
    }
    attributes.extend(window.kind.map(str::to_owned));
    attributes.push(format_bounds(window.bounds, viewport));
    let is_on_other_desktop = listed.is_on_other_desktop(window);
    for (contains, label) in [
        (listed.active == Some(window.window), "active"),
        (state.is_fullscreen, "full screen"),
        (state.is_maximized(), "maximized"),
        (state.is_wide && !state.is_tall, "maximized in width"),
        (state.is_tall && !state.is_wide, "maximized in height"),
        (state.is_minimized && !is_on_other_desktop, "minimized"),
        (state.is_modal, "modal"),
        (state.wants_attention, "wants attention"),
    ] {
        if contains {
            attributes.push(label.to_owned());
        }
    }
    if is_on_other_desktop {
        attributes.extend(
            window
                .desktop
                .map(|number| format!("on desktop {}", number + 1)),
        );
    }
    attributes.extend(window.pid.map(|pid| format!("pid {pid}")));
    attributes
}

/// Bounds in screenshot coordinates: `[120, 80, 760, 560]`.
pub(crate) fn format_bounds(bounds: Rect, viewport: Viewport) -> String {
    let (left, top) = viewport.screenshot_point(bounds.x, bounds.y);
    let (right, bottom) =
        viewport.screenshot_point(bounds.x + bounds.width, bounds.y + bounds.height);
    format!("[{left}, {top}, {right}, {bottom}]")
}

fn is_id(selector: &str) -> bool {
    selector
        .strip_prefix('w')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}
