//! What is known of a window: read from the server, all questions of many windows at once.

use telechir_device::{Bounds, ScreenRegion};
use telechir_protocol::Size;
use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, GetGeometryReply, GetPropertyReply,
    TranslateCoordinatesReply, Window,
};

use super::Atoms;
use crate::connection::{Connection, X};
use crate::error::XError;
use crate::focus::or_gone;

/// Windows that are asked about before the first answer is read.
const AT_ONCE: usize = 64;
/// Words of four bytes of a title or a class that are read.
const LONGEST_TEXT: u32 = 256;

/// A rectangle of the screen, which may reach beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Rect {
    /// What of it is on a screen; none when that is nothing.
    pub(crate) fn on(self, screen: Size) -> Option<ScreenRegion> {
        let (right, bottom) = (self.x + self.width, self.y + self.height);
        ScreenRegion::seen(screen, [self.x, self.y, right, bottom])
    }

    /// Whether two of them have a pixel in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The same for those who do not know X.
    pub(crate) fn bounds(self) -> Bounds {
        let length = |length: i32| u32::try_from(length).unwrap_or(0);
        Bounds {
            x: self.x,
            y: self.y,
            width: length(self.width),
            height: length(self.height),
        }
    }
}

/// Pixels at the left, right, top and bottom of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edges {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

/// How a window is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Shown {
    pub(crate) is_wide: bool,
    pub(crate) is_tall: bool,
    pub(crate) is_minimized: bool,
    pub(crate) is_fullscreen: bool,
    pub(crate) is_modal: bool,
    pub(crate) wants_attention: bool,
}

impl Shown {
    pub(crate) const fn is_maximized(self) -> bool {
        self.is_wide && self.is_tall
    }
}

/// One window as its program and the window manager describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) window: Window,
    pub(crate) title: String,
    /// The program's name for this sort of window; in most programs, its own.
    pub(crate) class: String,
    pub(super) instance: String,
    pub(crate) pid: Option<u32>,
    /// What is seen of it, frame included, shadows not.
    pub(crate) place: Rect,
    /// Beyond the window itself: the manager's frame, less what the program draws as shadow.
    pub(super) frame: Edges,
    pub(crate) shown: Shown,
    /// The number of its virtual desktop; absent when it is on all.
    pub(crate) desktop: Option<u32>,
    /// What it is when it is no ordinary window: `dialog`, `dock`.
    pub(crate) kind: Option<&'static str>,
    /// The window that it belongs to, as a dialog does.
    pub(crate) owner: Option<Window>,
}

impl Described {
    /// What its program draws, shadows included: where it counts its pixels from.
    pub(crate) const fn content(&self) -> Rect {
        let Edges {
            left,
            right,
            top,
            bottom,
        } = self.frame;
        Rect {
            x: self.place.x + left,
            y: self.place.y + top,
            width: self.place.width - left - right,
            height: self.place.height - top - bottom,
        }
    }
}

/// The questions about one window, sent and not yet answered.
struct Asked<'c> {
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

/// What is known of these windows, in their order; those that are gone are left out.
pub(super) async fn describe(
    connection: &Connection,
    atoms: &Atoms,
    windows: &[Window],
) -> Result<Vec<Described>, XError> {
    let mut described = Vec::with_capacity(windows.len());
    for some in windows.chunks(AT_ONCE) {
        let asked = some
            .iter()
            .map(|window| Asked::about(connection, atoms, *window))
            .collect::<Result<Vec<_>, _>>()?;
        for asked in asked {
            described.extend(or_gone(asked.heard(connection, atoms).await)?);
        }
    }
    Ok(described)
}

impl<'c> Asked<'c> {
    fn about(connection: &'c Connection, atoms: &Atoms, window: Window) -> Result<Self, XError> {
        let x = connection.x();
        let ask =
            |name: Atom, length: u32| x.get_property(false, window, name, AtomEnum::ANY, 0, length);
        Ok(Self {
            window,
            geometry: x.get_geometry(window)?,
            origin: x.translate_coordinates(window, connection.root(), 0, 0)?,
            title: ask(atoms._NET_WM_NAME, LONGEST_TEXT)?,
            old_title: ask(AtomEnum::WM_NAME.into(), LONGEST_TEXT)?,
            class: ask(AtomEnum::WM_CLASS.into(), LONGEST_TEXT)?,
            pid: ask(atoms._NET_WM_PID, 1)?,
            state: ask(atoms._NET_WM_STATE, 64)?,
            desktop: ask(atoms._NET_WM_DESKTOP, 1)?,
            kind: ask(atoms._NET_WM_WINDOW_TYPE, 16)?,
            frame: ask(atoms._NET_FRAME_EXTENTS, 4)?,
            shadow: ask(atoms._GTK_FRAME_EXTENTS, 4)?,
            owner: ask(AtomEnum::WM_TRANSIENT_FOR.into(), 1)?,
        })
    }

    async fn heard(self, connection: &Connection, atoms: &Atoms) -> Result<Described, XError> {
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
        Ok(Described {
            window: self.window,
            title: if title.is_empty() { old_title } else { title },
            instance: names.next().unwrap_or_default(),
            class: names.next().unwrap_or_default(),
            pid: pid.first().copied(),
            place: Rect {
                x: i32::from(origin.dst_x) - frame.left,
                y: i32::from(origin.dst_y) - frame.top,
                width: i32::from(geometry.width) + frame.left + frame.right,
                height: i32::from(geometry.height) + frame.top + frame.bottom,
            },
            frame,
            shown: shown(atoms, &states),
            desktop: desktop
                .first()
                .copied()
                .filter(|number| *number != u32::MAX),
            kind: kinds.first().and_then(|kind| kind_name(atoms, *kind)),
            owner: owner.first().copied().filter(|window| *window != 0),
        })
    }
}

fn shown(atoms: &Atoms, states: &[u32]) -> Shown {
    let has = |state: Atom| states.contains(&state);
    Shown {
        is_wide: has(atoms._NET_WM_STATE_MAXIMIZED_HORZ),
        is_tall: has(atoms._NET_WM_STATE_MAXIMIZED_VERT),
        is_minimized: has(atoms._NET_WM_STATE_HIDDEN),
        is_fullscreen: has(atoms._NET_WM_STATE_FULLSCREEN),
        is_modal: has(atoms._NET_WM_STATE_MODAL),
        wants_attention: has(atoms._NET_WM_STATE_DEMANDS_ATTENTION),
    }
}

fn kind_name(atoms: &Atoms, kind: Atom) -> Option<&'static str> {
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

/// A text property: the encoding of old is Latin-1, all others are read as UTF-8.
fn text(property: &GetPropertyReply) -> String {
    let bytes = property.value.as_slice();
    if property.type_ == u32::from(AtomEnum::STRING) {
        return bytes.iter().copied().map(char::from).collect();
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// The numbers of a property of 32 bits.
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
