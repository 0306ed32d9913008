//! The kill switch: lets the user stop a session with a screen corner or a key.

use std::sync::Arc;

use telechir_device::{DeviceError, StopSignal, UntilStopped};
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
use crate::display::XDisplay;
use crate::error::XError;
use crate::focus::select_events;
use crate::keyboard::XKeyboard;
use crate::synthetic_pointer::{CornerPixel, SyntheticPointer};

/// The triggers that stop a desktop; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KillSwitch {
    /// Stops when the user moves the pointer into this corner.
    pub corner: Option<Corner>,
    /// Stops on this key with its modifiers, such as ctrl+alt+Escape. Other clients no longer
    /// receive it.
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

/// A running kill switch; stops watching when dropped.
#[derive(Debug)]
pub(crate) struct KillSwitchWatch {
    /// The reason, once the switch was triggered.
    stopped: watch::Receiver<Option<&'static str>>,
    task: JoinHandle<()>,
}

impl KillSwitchWatch {
    pub(crate) async fn start(
        wanted: &KillSwitch,
        display: &XDisplay,
        pointer: Arc<SyntheticPointer>,
    ) -> Result<Self, DeviceError> {
        let connection = display.connect().await?;
        let mut watcher = KillSwitchTask {
            corner: None,
            connection,
            pointer,
        };
        if let Some(corner) = wanted.corner {
            watcher.corner = Some(watcher.watch_corner(corner).await?);
        }
        if let Some(chord) = &wanted.key {
            watcher.grab(chord).await?;
        }
        let (stop_sender, stopped) = watch::channel(None);
        let task = tokio::spawn(async move {
            if let Ok(reason) = watcher.wait().await {
                let _nobody_listens = stop_sender.send(Some(reason));
            }
        });
        Ok(Self { stopped, task })
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<&'static str>> {
        self.stopped.clone()
    }
}

impl StopSignal for KillSwitchWatch {
    fn stopped(&self) -> Option<&'static str> {
        *self.stopped.borrow()
    }

    fn until_stopped(&self) -> UntilStopped {
        Box::pin(stopped(Some(self.subscribe())))
    }
}

impl Drop for KillSwitchWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits until the switch is triggered, possibly forever.
pub(crate) async fn stopped(
    receiver: Option<watch::Receiver<Option<&'static str>>>,
) -> &'static str {
    if let Some(mut receiver) = receiver
        && let Ok(reason) = receiver.wait_for(Option::is_some).await
        && let Some(reason) = *reason
    {
        return reason;
    }
    std::future::pending().await
}

struct KillSwitchTask {
    /// An invisible window over the corner pixel, and the position of that pixel.
    corner: Option<(Window, CornerPixel)>,
    connection: Connection,
    pointer: Arc<SyntheticPointer>,
}

impl KillSwitchTask {
    async fn watch_corner(&self, corner: Corner) -> Result<(Window, CornerPixel), XError> {
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
        let attributes = CreateWindowAux::new()
            .override_redirect(1)
            .event_mask(EventMask::ENTER_WINDOW | EventMask::LEAVE_WINDOW);
        let class = WindowClass::INPUT_ONLY;
        x.create_window(0, window, root, left, top, 1, 1, 0, class, 0, &attributes)?;
        x.map_window(window)?;
        // Reports windows that other clients raise above the corner window.
        select_events(&self.connection, root, EventMask::SUBSTRUCTURE_NOTIFY)?;
        let corner_pixel = CornerPixel::new(left, top);
        self.pointer.watch_corner(corner_pixel);
        let pointer = self.connection.reply(x.query_pointer(root)?).await?;
        if CornerPixel::new(pointer.root_x, pointer.root_y) == corner_pixel {
            // The pointer was in the corner before the switch started.
            self.pointer.note_arrival();
        }
        Ok((window, corner_pixel))
    }

    /// Grabs the key on the root window, with every combination of Caps Lock and Num Lock.
    async fn grab(&self, chord: &Chord) -> Result<(), XError> {
        let impossible = |what: &str| XError::Impossible(format!("the stop key {chord} {what}"));
        let mask_of = |modifier: Modifier| match modifier {
            Modifier::Shift => KeyButMask::SHIFT,
            Modifier::Ctrl => KeyButMask::CONTROL,
            Modifier::Alt => KeyButMask::MOD1,
            Modifier::Super => KeyButMask::MOD4,
        };
        let modifiers = chord
            .modifiers()
            .fold(0, |mask, modifier| mask | u16::from(mask_of(modifier)));
        let mut keys = chord
            .keys()
            .iter()
            .filter(|key| !matches!(key, Key::Modifier(_)));
        let (Some(key), None) = (keys.next(), keys.next()) else {
            return Err(impossible("must be one key with optional modifiers"));
        };
        let keyboard = XKeyboard::new(&self.connection).await?;
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
                    return Err(impossible("is grabbed by another program"));
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Waits until the user triggers the switch.
    async fn wait(&self) -> Result<&'static str, XError> {
        loop {
            let event = self.connection.next_event().await?;
            if let Event::KeyPress(_) = event {
                return Ok("the stop key was pressed");
            }
            let Some((window, corner_pixel)) = self.corner else {
                continue;
            };
            if let Event::EnterNotify(entered) = &event
                && entered.event == window
                && !self.pointer.take_own_arrival()
            {
                return Ok("the pointer was moved into the stop corner");
            } else if let Event::LeaveNotify(_) = event {
                self.pointer.note_leave(corner_pixel);
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
