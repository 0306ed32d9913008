//! Windows, as the window manager knows them (EWMH): which there are, and what can be asked of it.

mod inspect;
mod requests;

use std::fmt::Write as _;

use telechir_device::{PartLocation, Viewport};
use telechir_protocol::Size;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, Window};

pub(crate) use inspect::{Described, Rect};

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::or_gone;

/// Windows that an error or an answer names at most.
const MOST_NAMED: usize = 12;
/// Windows that a list has at most.
const MOST_LISTED: usize = 100;

x11rb::atom_manager! {
    /// Names that windows and their managers talk in.
    Atoms: AtomsRequest {
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
        _NET_WM_WINDOW_TYPE_DOCK,
        _NET_WM_WINDOW_TYPE_DESKTOP,
        _NET_WM_WINDOW_TYPE_UTILITY,
        _NET_WM_WINDOW_TYPE_SPLASH,
        _NET_WM_WINDOW_TYPE_NOTIFICATION,
    }
}

/// The windows of a display, each with a name of ours that no later window gets.
#[derive(Debug)]
pub(crate) struct Windows {
    atoms: Atoms,
    /// The number behind the `w` of each window that was ever named and is still there.
    named: Vec<(Window, u32)>,
    last: u32,
}

/// All windows at one moment.
#[derive(Debug)]
pub(crate) struct Listed {
    /// From the back to the front.
    pub(crate) windows: Vec<Described>,
    pub(crate) active: Option<Window>,
    /// The virtual desktop that is seen.
    current_desktop: Option<u32>,
}

impl Listed {
    /// Whether a window is shown on the virtual desktop that is seen.
    fn is_seen(&self, window: &Described) -> bool {
        !window.shown.is_minimized && !self.is_elsewhere(window)
    }

    fn is_elsewhere(&self, window: &Described) -> bool {
        match (window.desktop, self.current_desktop) {
            (Some(own), Some(current)) => own != current,
            _ => false,
        }
    }
}

impl Windows {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let request = Atoms::new(connection.x())?;
        // One round trip brings all replies; after it, reading them does not wait.
        connection.sync().await?;
        Ok(Self {
            atoms: request.reply()?,
            named: Vec::new(),
            last: 0,
        })
    }

    /// All windows that the window manager manages.
    pub(crate) async fn list(&mut self, connection: &Connection) -> Result<Listed, XError> {
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
        Ok(Listed {
            active: active.filter(|window| is_there(*window)),
            windows,
            current_desktop: desktop.first().copied(),
        })
    }

    /// The windows that are managed, the one in front last.
    ///
    /// # Errors
    /// When there is no window manager that says so.
    pub(crate) async fn managed(&self, connection: &Connection) -> Result<Vec<Window>, XError> {
        if !self.has_manager(connection).await? {
            return Err(XError::Impossible(
                "This display has no window manager that knows its windows; use the pointer and \
                 the keyboard on what the screen shows."
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

    /// A manager that went leaves its announcement behind; the window it names tells.
    async fn has_manager(&self, connection: &Connection) -> Result<bool, XError> {
        let name = self.atoms._NET_SUPPORTING_WM_CHECK;
        let Some(window) = self.of_root(connection, name).await?.first().copied() else {
            return Ok(false);
        };
        let says_so = connection
            .x()
            .get_property(false, window, name, AtomEnum::WINDOW, 0, 1)?;
        let says_so = or_gone(connection.reply(says_so).await)?;
        Ok(says_so.is_some_and(|property| inspect::numbers(&property) == [window]))
    }

    /// One window as it is now; none when it is gone.
    pub(crate) async fn look(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<Option<Described>, XError> {
        let mut described = inspect::describe(connection, &self.atoms, &[window]).await?;
        Ok(described.pop())
    }

    /// The window that has the keyboard.
    pub(crate) async fn active(&self, connection: &Connection) -> Result<Option<Window>, XError> {
        let active = self
            .of_root(connection, self.atoms._NET_ACTIVE_WINDOW)
            .await?;
        Ok(active
            .first()
            .copied()
            .filter(|window| *window != x11rb::NONE))
    }

    /// A list that the window manager keeps on the root window.
    async fn of_root(&self, connection: &Connection, name: Atom) -> Result<Vec<u32>, XError> {
        const MOST: u32 = 16_384;
        let property =
            connection
                .x()
                .get_property(false, connection.root(), name, AtomEnum::ANY, 0, MOST)?;
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

    /// What we call a window: `w3`.
    pub(crate) fn name(&mut self, window: Window) -> String {
        format!("w{}", self.number(window))
    }

    /// The one window that is meant; absent means the active one.
    pub(crate) async fn find(
        &mut self,
        connection: &Connection,
        meant: Option<&str>,
    ) -> Result<Described, XError> {
        let mut listed = self.list(connection).await?;
        let Some(words) = meant else {
            let active = listed.active;
            let place = listed
                .windows
                .iter()
                .position(|window| Some(window.window) == active);
            return place
                .map(|at| listed.windows.swap_remove(at))
                .ok_or_else(|| {
                    let there = self.candidates(&listed.windows);
                    XError::Impossible(format!("No window is active; name one. {there}"))
                });
        };
        let fitting: Vec<usize> = (0..listed.windows.len())
            .filter(|at| self.fits(&listed.windows[*at], words))
            .collect();
        match *fitting {
            [only] => Ok(listed.windows.swap_remove(only)),
            [] => {
                let there = self.candidates(&listed.windows);
                Err(XError::Impossible(format!(
                    "There is no window {words:?}. {there}"
                )))
            }
            _ => {
                let several: Vec<Described> = fitting
                    .into_iter()
                    .map(|at| listed.windows[at].clone())
                    .collect();
                let there = self.candidates(&several);
                Err(XError::Impossible(format!(
                    "{words:?} fits {} windows; use an id. {there}",
                    several.len()
                )))
            }
        }
    }

    /// Whether these words mean the window: its id alone, or a part of its title or class.
    fn fits(&mut self, window: &Described, words: &str) -> bool {
        if is_id(words) {
            return self.name(window.window) == words;
        }
        let words = words.to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&words);
        !words.trim().is_empty()
            && (holds(&window.title) || holds(&window.class) || holds(&window.instance))
    }

    /// The windows there are, in one line, those in front first.
    fn candidates(&mut self, windows: &[Described]) -> String {
        if windows.is_empty() {
            return "There is no window.".to_owned();
        }
        let mut names: Vec<String> = windows
            .iter()
            .rev()
            .take(MOST_NAMED)
            .map(|window| self.label(window))
            .collect();
        if let Some(more) = windows
            .len()
            .checked_sub(MOST_NAMED)
            .filter(|more| *more > 0)
        {
            names.push(format!("{more} more"));
        }
        format!("There are: {}.", names.join(", "))
    }

    /// `w3 "Untitled 1 - Mousepad"`.
    pub(crate) fn label(&mut self, window: &Described) -> String {
        format!("{} {:?}", self.name(window.window), window.title)
    }

    /// Where one window is, and which others hide a part of it.
    pub(crate) async fn locate(
        &mut self,
        connection: &Connection,
        meant: Option<&str>,
        (screen, viewport): (Size, Viewport),
    ) -> Result<PartLocation, XError> {
        let window = self.find(connection, meant).await?;
        let listed = self.list(connection).await?;
        let label = self.label(&window);
        let is_seen = listed.is_seen(&window);
        let region = window.place.on(screen).filter(|_| is_seen);
        let Some(region) = region else {
            return Err(XError::Impossible(format!(
                "{label} is not on the screen; focus_window brings it there."
            )));
        };
        let above = listed.windows.iter().rev();
        let hiding: Vec<String> = above
            .take_while(|other| other.window != window.window)
            .filter(|other| listed.is_seen(other) && other.place.meets(window.place))
            .take(MOST_NAMED)
            .map(|other| self.label(other))
            .collect();
        let mut said = format!("{label} at {}.", seen(window.place, viewport));
        if !hiding.is_empty() {
            let _infallible = write!(said, " In front of a part of it: {}.", hiding.join(", "));
        }
        Ok(PartLocation {
            region,
            description: said,
        })
    }

    /// A line for each window, the one in front first, places as the model sees them.
    pub(crate) fn say(&mut self, listed: &Listed, viewport: Viewport) -> String {
        if listed.windows.is_empty() {
            return "There is no window.".to_owned();
        }
        let mut text =
            "Windows from front to back, each with its [left, top, right, bottom]:".to_owned();
        for window in listed.windows.iter().rev().take(MOST_LISTED) {
            let label = self.label(window);
            let _infallible = write!(text, "\n{label}");
            for part in parts(window, listed, viewport) {
                let _infallible = write!(text, ", {part}");
            }
        }
        let more = listed.windows.len().saturating_sub(MOST_LISTED);
        if more > 0 {
            let _infallible = write!(
                text,
                "\nand {more} more behind them; words of a title or a class find any of them"
            );
        }
        text
    }
}

/// What a line says of a window beside its name.
fn parts(window: &Described, listed: &Listed, viewport: Viewport) -> Vec<String> {
    let shown = window.shown;
    let mut parts = Vec::new();
    if !window.class.is_empty() {
        parts.push(format!("class {:?}", window.class));
    }
    parts.extend(window.kind.map(str::to_owned));
    parts.push(seen(window.place, viewport));
    let is_elsewhere = listed.is_elsewhere(window);
    for (holds, word) in [
        (listed.active == Some(window.window), "active"),
        (shown.is_fullscreen, "full screen"),
        (shown.is_maximized(), "maximized"),
        (shown.is_wide && !shown.is_tall, "maximized in width"),
        (shown.is_tall && !shown.is_wide, "maximized in height"),
        (shown.is_minimized && !is_elsewhere, "minimized"),
        (shown.is_modal, "modal"),
        (shown.wants_attention, "wants attention"),
    ] {
        if holds {
            parts.push(word.to_owned());
        }
    }
    if is_elsewhere {
        parts.extend(
            window
                .desktop
                .map(|number| format!("on desktop {}", number + 1)),
        );
    }
    parts.extend(window.pid.map(|pid| format!("pid {pid}")));
    parts
}

/// A place on the picture: `[120, 80, 760, 560]`.
pub(crate) fn seen(place: Rect, viewport: Viewport) -> String {
    let (left, top) = viewport.seen_at(place.x, place.y);
    let (right, bottom) = viewport.seen_at(place.x + place.width, place.y + place.height);
    format!("[{left}, {top}, {right}, {bottom}]")
}

fn is_id(words: &str) -> bool {
    words
        .strip_prefix('w')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}
