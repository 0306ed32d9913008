//! Reads the properties of windows, many of them in one round trip.

use telechir_device::{ScreenBounds, ScreenRegion};
use telechir_protocol::Size;
use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, GetGeometryReply, GetPropertyReply,
    TranslateCoordinatesReply, Window,
};

use super::WindowAtoms;
use crate::connection::{Connection, X};
use crate::error::XError;
use crate::focus::ignore_destroyed;

/// Maximum number of windows queried before the first reply is read.
const MAX_PENDING_QUERIES: usize = 64;
/// Maximum length of a title or class in 32-bit words.
pub(super) const MAX_TEXT_UNITS: u32 = 256;

/// A rectangle in screen coordinates, which may extend beyond the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Rect {
    /// The part on a screen of this size; `None` if there is none.
    pub(crate) fn on(self, screen: Size) -> Option<ScreenRegion> {
        let (right, bottom) = (self.x + self.width, self.y + self.height);
        ScreenRegion::clip(screen, [self.x, self.y, right, bottom])
    }

    pub(crate) const fn center(self) -> (i32, i32) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }

    /// Whether a point is inside.
    pub(crate) const fn holds(self, (x, y): (i32, i32)) -> bool {
        x >= self.x && y >= self.y && x < self.x + self.width && y < self.y + self.height
    }

    /// Whether two rectangles overlap.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// Converts to the type of the device crate.
    pub(crate) fn to_bounds(self) -> ScreenBounds {
        let length = |length: i32| u32::try_from(length).unwrap_or(0);
        ScreenBounds {
            x: self.x,
            y: self.y,
            width: length(self.width),
            height: length(self.height),
        }
    }
}

/// Widths in pixels at the four sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edges {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

/// The state flags of a window (`_NET_WM_STATE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct WindowState {
    pub(crate) is_wide: bool,
    pub(crate) is_tall: bool,
    pub(crate) is_minimized: bool,
    pub(crate) is_fullscreen: bool,
    pub(crate) is_modal: bool,
    pub(crate) wants_attention: bool,
}

impl WindowState {
    pub(crate) const fn is_maximized(self) -> bool {
        self.is_wide && self.is_tall
    }
}

/// One window as described by its client and the window manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowInfo {
    pub(crate) window: Window,
    pub(crate) title: String,
    /// Class name of the window, usually the name of the program.
    pub(crate) class: String,
    pub(crate) instance: String,
    pub(crate) pid: Option<u32>,
    /// The visible area including the frame but not shadows.
    pub(crate) bounds: Rect,
    /// Widths added by the frame of the window manager, minus the shadow drawn by the client.
    pub(super) frame: Edges,
    pub(crate) state: WindowState,
    /// Index of its virtual desktop; absent if it is on all.
    pub(crate) desktop: Option<u32>,
    /// Window type unless normal, such as `dialog` or `panel`.
    pub(crate) kind: Option<&'static str>,
    /// The window that it belongs to, for example for a dialog.
    pub(crate) owner: Option<Window>,
}

impl WindowInfo {
    /// The client area including shadows, the origin of the client's coordinates.
    pub(crate) const fn content(&self) -> Rect {
        let Edges {
            left,
            right,
            top,
            bottom,
        } = self.frame;
        Rect {
            x: self.bounds.x + left,
            y: self.bounds.y + top,
            width: self.bounds.width - left - right,
            height: self.bounds.height - top - bottom,
        }
    }
}

/// Requests about one window whose replies are pending.
struct PendingQuery<'c> {
    window: Window,
    geometry: Cookie<'c, X, GetGeometryReply>,
    origin: Cookie<'c, X, TranslateCoordinatesReply>,
    title: Property<'c>,
    old_title: Property<'c>,
    class: Property<'c>,
    pid: Property<'c>,
    state: Property<'c>,
    desktop: Property<'c>,
    kind: Property<'c>,
    frame: Property<'c>,
    shadow: Property<'c>,
    owner: Property<'c>,
}

type Property<'c> = Cookie<'c, X, GetPropertyReply>;

/// Describes these windows in the same order; destroyed ones are left out.
pub(super) async fn describe(
    connection: &Connection,
    atoms: &WindowAtoms,
    windows: &[Window],
) -> Result<Vec<WindowInfo>, XError> {
    let mut described = Vec::with_capacity(windows.len());
    for some in windows.chunks(MAX_PENDING_QUERIES) {
        let queries = some
            .iter()
            .map(|window| PendingQuery::send(connection, atoms, *window))
            .collect::<Result<Vec<_>, _>>()?;
        for queries in queries {
            described.extend(ignore_destroyed(queries.receive(connection, atoms).await)?);
        }
    }
    Ok(described)
}

impl<'c> PendingQuery<'c> {
    fn send(
        connection: &'c Connection,
        atoms: &WindowAtoms,
        window: Window,
    ) -> Result<Self, XError> {
        let x = connection.x();
        let send_request =
            |name: Atom, length: u32| x.get_property(false, window, name, AtomEnum::ANY, 0, length);
        Ok(Self {
            window,
            geometry: x.get_geometry(window)?,
            origin: x.translate_coordinates(window, connection.root(), 0, 0)?,
            title: send_request(atoms._NET_WM_NAME, MAX_TEXT_UNITS)?,
            old_title: send_request(AtomEnum::WM_NAME.into(), MAX_TEXT_UNITS)?,
            class: send_request(AtomEnum::WM_CLASS.into(), MAX_TEXT_UNITS)?,
            pid: send_request(atoms._NET_WM_PID, 1)?,
            state: send_request(atoms._NET_WM_STATE, 64)?,
            desktop: send_request(atoms._NET_WM_DESKTOP, 1)?,
            kind: send_request(atoms._NET_WM_WINDOW_TYPE, 16)?,
            frame: send_request(atoms._NET_FRAME_EXTENTS, 4)?,
            shadow: send_request(atoms._GTK_FRAME_EXTENTS, 4)?,
            owner: send_request(AtomEnum::WM_TRANSIENT_FOR.into(), 1)?,
        })
    }

    async fn receive(
        self,
        connection: &Connection,
        atoms: &WindowAtoms,
    ) -> Result<WindowInfo, XError> {
        let geometry = connection.reply(self.geometry).await?;
        let origin = connection.reply(self.origin).await?;
        let title = text(&connection.reply(self.title).await?);
        let old_title = text(&connection.reply(self.old_title).await?);
        let class = text(&connection.reply(self.class).await?);
        let pid = numbers(&connection.reply(self.pid).await?);
        let states = numbers(&connection.reply(self.state).await?);
        let desktop = numbers(&connection.reply(self.desktop).await?);
        let kinds = numbers(&connection.reply(self.kind).await?);
        let frame = edges(&connection.reply(self.frame).await?);
        let shadow = edges(&connection.reply(self.shadow).await?);
        let owner = numbers(&connection.reply(self.owner).await?);
        let frame = Edges {
            left: frame.left - shadow.left,
            right: frame.right - shadow.right,
            top: frame.top - shadow.top,
            bottom: frame.bottom - shadow.bottom,
        };
        let mut names = class.split('\0').map(str::to_owned);
        Ok(WindowInfo {
            window: self.window,
            title: if title.is_empty() { old_title } else { title },
            instance: names.next().unwrap_or_default(),
            class: names.next().unwrap_or_default(),
            pid: pid.first().copied(),
            bounds: Rect {
                x: i32::from(origin.dst_x) - frame.left,
                y: i32::from(origin.dst_y) - frame.top,
                width: i32::from(geometry.width) + frame.left + frame.right,
                height: i32::from(geometry.height) + frame.top + frame.bottom,
            },
            frame,
            state: state(atoms, &states),
            desktop: desktop
                .first()
                .copied()
                .filter(|number| *number != u32::MAX),
            kind: kinds.first().and_then(|kind| kind_name(atoms, *kind)),
            owner: owner.first().copied().filter(|window| *window != 0),
        })
    }
}

fn state(atoms: &WindowAtoms, states: &[u32]) -> WindowState {
    let has = |state: Atom| states.contains(&state);
    WindowState {
        is_wide: has(atoms._NET_WM_STATE_MAXIMIZED_HORZ),
        is_tall: has(atoms._NET_WM_STATE_MAXIMIZED_VERT),
        is_minimized: has(atoms._NET_WM_STATE_HIDDEN),
        is_fullscreen: has(atoms._NET_WM_STATE_FULLSCREEN),
        is_modal: has(atoms._NET_WM_STATE_MODAL),
        wants_attention: has(atoms._NET_WM_STATE_DEMANDS_ATTENTION),
    }
}

fn kind_name(atoms: &WindowAtoms, kind: Atom) -> Option<&'static str> {
    [
        (atoms._NET_WM_WINDOW_TYPE_DIALOG, "dialog"),
        (atoms._NET_WM_WINDOW_TYPE_DOCK, "panel"),
        (atoms._NET_WM_WINDOW_TYPE_DESKTOP, "desktop"),
        (atoms._NET_WM_WINDOW_TYPE_UTILITY, "tool window"),
        (atoms._NET_WM_WINDOW_TYPE_SPLASH, "splash screen"),
        (atoms._NET_WM_WINDOW_TYPE_NOTIFICATION, "notification"),
    ]
    .into_iter()
    .find_map(|(atom, name)| (atom == kind).then_some(name))
}

/// A text property: STRING is Latin-1, all other types are read as UTF-8.
pub(super) fn text(property: &GetPropertyReply) -> String {
    let bytes = property.value.as_slice();
    if property.type_ == u32::from(AtomEnum::STRING) {
        return bytes.iter().copied().map(char::from).collect();
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// The values of a property with format 32.
pub(super) fn numbers(property: &GetPropertyReply) -> Vec<u32> {
    property
        .value32()
        .map(Iterator::collect)
        .unwrap_or_default()
}

fn edges(property: &GetPropertyReply) -> Edges {
    let side = |number: u32| i32::try_from(number).unwrap_or(0);
    match *numbers(property) {
        [left, right, top, bottom] => Edges {
            left: side(left),
            right: side(right),
            top: side(top),
            bottom: side(bottom),
        },
        _ => Edges::default(),
    }
}
