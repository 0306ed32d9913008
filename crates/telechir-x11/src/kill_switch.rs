//! The kill switch: a person's way to stop everything at once, by a corner or by a key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use telechir_device::DeviceError;
use telechir_protocol::{Chord, Key, Modifier};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, EventMask, GrabMode, KeyButMask,
    ModMask, StackMode, Window, WindowClass,
};

use crate::connection::Connection;
use crate::display::Display;
use crate::error::XError;
use crate::focus::listen;
use crate::keyboard::Keyboard;

/// What stops a desktop. Nothing does unless it is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KillSwitch {
    /// The pointer in this corner, when a person moved it there.
    pub corner: Option<Corner>,
    /// A key with the modifiers held, such as ctrl+alt+Escape. Programs do not get it then.
    pub key: Option<Chord>,
}

/// A corner of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the corner of that name")]
pub enum Corner {
    TopLeft,
    TopRight,
    BottomLeft,
    BottomRight,
}

/// What tells our own motions from a person's: whoever watches a corner learns of an arrival
/// there when the pointer may be elsewhere again, so our arrivals are counted before they happen.
#[derive(Debug)]
pub(crate) struct Hand {
    /// Where we put the pointer last.
    last: AtomicU32,
    /// The corner that is watched.
    corner: AtomicU32,
    /// Our arrivals there that were not seen yet.
    arrivals: AtomicU32,
}

/// No place.
const NOWHERE: u32 = u32::MAX;

impl Hand {
    pub(crate) const fn new() -> Self {
        Self {
            last: AtomicU32::new(NOWHERE),
            corner: AtomicU32::new(NOWHERE),
            arrivals: AtomicU32::new(0),
        }
    }

    /// Notes a motion that is about to be sent.
    pub(crate) fn moves_to(&self, x: i16, y: i16) {
        let place = packed(x, y);
        let before = self.last.swap(place, Ordering::SeqCst);
        if place == self.corner.load(Ordering::SeqCst) && before != place {
            self.arrivals.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Whether an arrival in the corner was one of ours.
    fn was_ours(&self) -> bool {
        self.arrivals
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |ours| {
                ours.checked_sub(1)
            })
            .is_ok()
    }
}

/// A place as one number.
const fn packed(x: i16, y: i16) -> u32 {
    ((x.cast_unsigned() as u32) << 16) | y.cast_unsigned() as u32
}

/// Watches until it is dropped.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Why it was stopped, once it was.
    stopped: watch::Receiver<Option<&'static str>>,
    task: JoinHandle<()>,
}

impl Switch {
    pub(crate) async fn start(
        wanted: &KillSwitch,
        display: &Display,
        hand: Arc<Hand>,
    ) -> Result<Self, DeviceError> {
        let connection = display.connect().await?;
        let mut guard = Guard {
            corner: None,
            connection,
            hand,
        };
        if let Some(corner) = wanted.corner {
            guard.corner = Some(guard.watch_corner(corner).await?);
        }
        if let Some(chord) = &wanted.key {
            guard.grab(chord).await?;
        }
        let (stops, stopped) = watch::channel(None);
        let task = tokio::spawn(async move {
            if let Ok(why) = guard.wait().await {
                let _nobody_listens = stops.send(Some(why));
            }
        });
        Ok(Self { stopped, task })
    }

    /// Why it was stopped; none when it was not.
    pub(crate) fn why(&self) -> Option<&'static str> {
        *self.stopped.borrow()
    }

    pub(crate) fn told(&self) -> watch::Receiver<Option<&'static str>> {
        self.stopped.clone()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits until it is stopped, which may never be.
pub(crate) async fn stopped(told: Option<watch::Receiver<Option<&'static str>>>) -> &'static str {
    if let Some(mut told) = told
        && let Ok(why) = told.wait_for(Option::is_some).await
        && let Some(why) = *why
    {
        return why;
    }
    std::future::pending().await
}

struct Guard {
    /// A window over the corner's pixel that nobody sees, and where that is.
    corner: Option<(Window, u32)>,
    connection: Connection,
    hand: Arc<Hand>,
}

impl Guard {
    async fn watch_corner(&self, corner: Corner) -> Result<(Window, u32), XError> {
        let x = self.connection.x();
        let root = self.connection.root();
        let screen = self.connection.reply(x.get_geometry(root)?).await?;
        let last = |extent: u16| i16::try_from(extent).unwrap_or(i16::MAX) - 1;
        let (right, bottom) = (last(screen.width), last(screen.height));
        let (left, top) = match corner {
            Corner::TopLeft => (0, 0),
            Corner::TopRight => (right, 0),
            Corner::BottomLeft => (0, bottom),
            Corner::BottomRight => (right, bottom),
        };
        let window = x.generate_id().map_err(XError::from)?;
        let look = CreateWindowAux::new()
            .override_redirect(1)
            .event_mask(EventMask::ENTER_WINDOW | EventMask::LEAVE_WINDOW);
        let class = WindowClass::INPUT_ONLY;
        x.create_window(0, window, root, left, top, 1, 1, 0, class, 0, &look)?;
        x.map_window(window)?;
        // What others put above it is seen here.
        listen(&self.connection, root, EventMask::SUBSTRUCTURE_NOTIFY)?;
        let place = packed(left, top);
        self.hand.corner.store(place, Ordering::SeqCst);
        let pointer = self.connection.reply(x.query_pointer(root)?).await?;
        if packed(pointer.root_x, pointer.root_y) == place {
            // It was there before anybody could mean something by it.
            self.hand.arrivals.fetch_add(1, Ordering::SeqCst);
        }
        Ok((window, place))
    }

    /// The key comes to us from wherever the focus is, whichever locks are on.
    async fn grab(&self, chord: &Chord) -> Result<(), XError> {
        let impossible = |what: &str| XError::Impossible(format!("the stop key {chord} {what}"));
        let held = |modifier: Modifier| match modifier {
            Modifier::Shift => KeyButMask::SHIFT,
            Modifier::Ctrl => KeyButMask::CONTROL,
            Modifier::Alt => KeyButMask::MOD1,
            Modifier::Super => KeyButMask::MOD4,
        };
        let modifiers = chord
            .modifiers()
            .fold(0, |mask, modifier| mask | u16::from(held(modifier)));
        let mut keys = chord
            .keys()
            .iter()
            .filter(|key| !matches!(key, Key::Modifier(_)));
        let (Some(key), None) = (keys.next(), keys.next()) else {
            return Err(impossible("must be one key, with modifiers"));
        };
        let keyboard = Keyboard::new(&self.connection).await?;
        let code = keyboard
            .code(key)
            .ok_or_else(|| impossible("is not on this keyboard"))?;
        let (caps, num) = (u16::from(KeyButMask::LOCK), u16::from(KeyButMask::MOD2));
        for locks in [0, caps, num, caps | num] {
            let mask = ModMask::from(modifiers | locks);
            let (root, mode) = (self.connection.root(), GrabMode::ASYNC);
            let grab = self
                .connection
                .x()
                .grab_key(false, root, mask, code, mode, mode)?;
            match self.connection.checked(grab).await {
                Err(XError::Refused(_)) => {
                    return Err(impossible("is taken by another program"));
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Waits until a person stops it.
    async fn wait(&self) -> Result<&'static str, XError> {
        loop {
            let event = self.connection.next_event().await?;
            if let Event::KeyPress(_) = event {
                return Ok("the stop key was pressed");
            }
            let Some((window, place)) = self.corner else {
                continue;
            };
            if let Event::EnterNotify(entered) = &event
                && entered.event == window
                && !self.hand.was_ours()
            {
                return Ok("the pointer was moved into the corner that stops it");
            } else if let Event::LeaveNotify(_) = event {
                // From now on it is a person's again.
                let (at, to) = (Ordering::SeqCst, Ordering::SeqCst);
                let _was_elsewhere = self.hand.last.compare_exchange(place, NOWHERE, at, to);
            }
            let is_covered = if let Event::ConfigureNotify(other) = &event {
                other.window != window && other.above_sibling == window && !other.override_redirect
            } else {
                matches!(&event, Event::MapNotify(other) if other.window != window)
            };
            if is_covered {
                let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
                self.connection.x().configure_window(window, &above)?;
                self.connection.flush()?;
            }
        }
    }
}
