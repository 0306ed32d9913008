//! The witness's window and its event loop.

use std::sync::{Mutex, PoisonError};

use telechir_protocol::{Button, Key, Modifier};
use tokio::sync::watch;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ButtonPressEvent, ChangeGCAux, ChangeWindowAttributesAux, ClientMessageEvent,
    ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, Gcontext, InputFocus,
    KeyPressEvent, PropMode, Rectangle, Window as WindowId, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::keymap::{Keymap, modifiers, to_char, to_key};
use super::{ReadMode, WitnessLog};
use crate::contract::computer::ObservedInput;
use crate::xvfb::XClient;

/// The marker sent when the window gets the focus.
pub(super) const FOCUSED: u32 = 1;

x11rb::atom_manager! {
    pub(super) Atoms: AtomsCookie {
        WM_PROTOCOLS,
        _NET_WM_PING,
        _NET_ACTIVE_WINDOW,
        _NET_SUPPORTING_WM_CHECK,
        _NET_WM_STATE,
        _NET_WM_STATE_FULLSCREEN,
        WITNESS_MARKER,
    }
}

#[derive(Clone, Debug)]
pub(super) struct WitnessWindow {
    id: WindowId,
    root: WindowId,
    atoms: Atoms,
    brush: Gcontext,
}

/// Display errors fail the test.
fn must<T, E: std::fmt::Display>(outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("the display rejected a request of the witness: {error}"))
}

impl WitnessWindow {
    pub(super) fn new(client: &XClient, screen: usize, manners: ReadMode) -> Self {
        let screen = &client.setup().roots[screen];
        let atoms = must(must(Atoms::new(client)).reply());
        let (id, brush) = (must(client.generate_id()), must(client.generate_id()));
        let events = EventMask::KEY_PRESS
            | EventMask::KEY_RELEASE
            | EventMask::BUTTON_PRESS
            | EventMask::BUTTON_RELEASE
            | EventMask::POINTER_MOTION
            | EventMask::STRUCTURE_NOTIFY
            | EventMask::EXPOSURE
            | EventMask::FOCUS_CHANGE;
        let look = CreateWindowAux::new()
            .background_pixel(screen.white_pixel)
            .event_mask(events);
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        let class = WindowClass::INPUT_OUTPUT;
        must(client.create_window(0, id, screen.root, 0, 0, width, height, 0, class, 0, &look));
        must(client.create_gc(brush, id, &CreateGCAux::new()));
        // Without a class it might be a terminal, and input to it would ask.
        let class = (AtomEnum::WM_CLASS, AtomEnum::STRING);
        must(client.change_property8(
            PropMode::REPLACE,
            id,
            class.0,
            class.1,
            b"witness\0Witness\0",
        ));
        let full = [atoms._NET_WM_STATE_FULLSCREEN];
        must(client.change_property32(
            PropMode::REPLACE,
            id,
            atoms._NET_WM_STATE,
            AtomEnum::ATOM,
            &full,
        ));
        if manners.answers_pings {
            let ping = [atoms._NET_WM_PING];
            must(client.change_property32(
                PropMode::REPLACE,
                id,
                atoms.WM_PROTOCOLS,
                AtomEnum::ATOM,
                &ping,
            ));
        }
        must(client.map_window(id));
        must(client.flush());
        Self {
            id,
            root: screen.root,
            atoms,
            brush,
        }
    }

    pub(super) fn paint(
        &self,
        client: &XClient,
        x: i16,
        y: i16,
        width: u16,
        height: u16,
        colour: u32,
    ) {
        must(client.change_gc(self.brush, &ChangeGCAux::new().foreground(colour)));
        let rectangle = Rectangle {
            x,
            y,
            width,
            height,
        };
        must(must(client.poly_fill_rectangle(self.id, self.brush, &[rectangle])).check());
    }

    pub(super) fn show_square_pointer(&self, client: &XClient, side: u16, colour: [u16; 3]) {
        let (bitmap, brush, cursor) = (
            must(client.generate_id()),
            must(client.generate_id()),
            must(client.generate_id()),
        );
        must(client.create_pixmap(1, bitmap, self.id, side, side));
        must(client.create_gc(brush, bitmap, &CreateGCAux::new().foreground(1)));
        let area = Rectangle {
            x: 0,
            y: 0,
            width: side,
            height: side,
        };
        must(client.poly_fill_rectangle(bitmap, brush, &[area]));
        let [red, green, blue] = colour;
        must(client.create_cursor(cursor, bitmap, bitmap, red, green, blue, 0, 0, 0, 0, 0));
        let attributes = ChangeWindowAttributesAux::new().cursor(cursor);
        must(must(client.change_window_attributes(self.id, &attributes)).check());
    }

    /// Whether it covers the screen and has the focus, also according to the window manager.
    pub(super) fn is_in_front(&self, client: &XClient) -> bool {
        let position = must(must(client.translate_coordinates(self.id, self.root, 0, 0)).reply());
        let size = must(must(client.get_geometry(self.id)).reply());
        let screen = must(must(client.get_geometry(self.root)).reply());
        let focus = must(must(client.get_input_focus()).reply()).focus;
        let active = self.atoms._NET_ACTIVE_WINDOW;
        let active = must(client.get_property(false, self.root, active, AtomEnum::WINDOW, 0, 1));
        let active = must(active.reply())
            .value32()
            .and_then(|mut windows| windows.next());
        (position.dst_x, position.dst_y) == (0, 0)
            && (size.width, size.height) == (screen.width, screen.height)
            && focus == self.id
            && (!self.is_managed(client) || active == Some(self.id))
    }

    /// Whether a window manager assigns the focus.
    fn is_managed(&self, client: &XClient) -> bool {
        let check = self.atoms._NET_SUPPORTING_WM_CHECK;
        let check = must(client.get_property(false, self.root, check, AtomEnum::WINDOW, 0, 1));
        must(check.reply()).value_len > 0
    }

    /// Sends a message to the window itself, which arrives after all earlier events.
    pub(super) fn send_marker(&self, client: &XClient, marker: u32) {
        let message =
            ClientMessageEvent::new(32, self.id, self.atoms.WITNESS_MARKER, [marker, 0, 0, 0, 0]);
        must(client.send_event(false, self.id, EventMask::NO_EVENT, message));
        must(client.flush());
    }

    /// Records events until the connection ends.
    pub(super) fn read_events(
        &self,
        client: &XClient,
        record: &Mutex<WitnessLog>,
        changes: &watch::Sender<u64>,
        manners: ReadMode,
    ) {
        let Some(mut keymap) = Keymap::read(client) else {
            return;
        };
        while let Ok(event) = client.wait_for_event() {
            if let Event::MappingNotify(_) = event {
                // Real programs use the current mapping, not that of the event's time.
                let Some(new) = Keymap::read(client) else {
                    return;
                };
                keymap = new;
            }
            if matches!(event, Event::KeyPress(_)) && !manners.slowness.is_zero() {
                #[expect(clippy::disallowed_methods, reason = "this is a slow program")]
                std::thread::sleep(manners.slowness);
            }
            if self.answer(client, &event).is_none() {
                return;
            }
            let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
            self.note(&mut record, &keymap, &event);
            drop(record);
            changes.send_modify(|count| *count += 1);
        }
    }

    /// Handles protocol messages that a window must answer; none if the connection ended.
    fn answer(&self, client: &XClient, event: &Event) -> Option<()> {
        if matches!(event, Event::Expose(_)) && !self.is_managed(client) {
            client
                .set_input_focus(InputFocus::PARENT, self.id, x11rb::CURRENT_TIME)
                .ok()?;
        } else if let Event::FocusIn(_) = event {
            self.send_marker(client, FOCUSED);
        } else if let Event::ClientMessage(message) = event
            && message.type_ == self.atoms.WM_PROTOCOLS
        {
            let mut pong = *message;
            pong.window = self.root;
            let mask = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT;
            client.send_event(false, self.root, mask, pong).ok()?;
        }
        client.flush().ok()
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the fifty events of X11 these are input"
    )]
    fn note(&self, record: &mut WitnessLog, keymap: &Keymap, event: &Event) {
        match event {
            Event::MotionNotify(motion) => {
                record.seen.push(ObservedInput::Motion {
                    at: at(motion.root_x, motion.root_y),
                });
            }
            Event::ButtonPress(press) => record.seen.extend(button_down(press)),
            Event::ButtonRelease(release) => record.seen.extend(button_up(release)),
            Event::KeyPress(press) => key_down(record, keymap, press),
            Event::KeyRelease(release) => {
                let key = to_key(keymap.keysym(release.detail, release.state));
                record.seen.push(ObservedInput::KeyUp { key });
            }
            Event::ClientMessage(message) if message.type_ == self.atoms.WITNESS_MARKER => {
                record.marker = record.marker.max(message.data.as_data32()[0]);
            }
            _ => {}
        }
    }
}

fn at(x: i16, y: i16) -> (u32, u32) {
    (u32::try_from(x).unwrap_or(0), u32::try_from(y).unwrap_or(0))
}

fn button(number: u8) -> Option<Button> {
    Some(match number {
        1 => Button::Left,
        2 => Button::Middle,
        3 => Button::Right,
        8 => Button::Back,
        9 => Button::Forward,
        _ => return None,
    })
}

fn button_down(press: &ButtonPressEvent) -> Option<ObservedInput> {
    let modifiers = modifiers(press.state);
    let (dx, dy) = match press.detail {
        4 => (0.0, -1.0),
        5 => (0.0, 1.0),
        6 => (-1.0, 0.0),
        7 => (1.0, 0.0),
        other => {
            let at = at(press.root_x, press.root_y);
            return Some(ObservedInput::ButtonDown {
                button: button(other)?,
                at,
                modifiers,
            });
        }
    };
    Some(ObservedInput::Scroll { dx, dy, modifiers })
}

fn button_up(release: &ButtonPressEvent) -> Option<ObservedInput> {
    let at = at(release.root_x, release.root_y);
    Some(ObservedInput::ButtonUp {
        button: button(release.detail)?,
        at,
    })
}

fn key_down(record: &mut WitnessLog, keymap: &Keymap, press: &KeyPressEvent) {
    let keysym = keymap.keysym(press.detail, press.state);
    let key = to_key(keysym);
    let is_shortcut = modifiers(press.state)
        .iter()
        .any(|modifier| *modifier != Modifier::Shift);
    if is_shortcut {
        record.all_selected = key == Key::Char('a');
    } else if let Some(c) = to_char(keysym) {
        erase_selected(record);
        record.text.push(c);
    } else if matches!(key, Key::Named(_)) {
        erase_selected(record);
    }
    record.seen.push(ObservedInput::KeyDown { key });
}

fn erase_selected(record: &mut WitnessLog) {
    if std::mem::take(&mut record.all_selected) {
        record.text.clear();
    }
}
