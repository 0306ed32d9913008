//! What is pressed: held keys and buttons, the pointer's place, and presses that cannot get stuck.

use serde_json::{Value, json};
use telechir_protocol::{Button, Modifier, Size};

use crate::drag_and_drop::Dragged;
use crate::error::CdpError;
use crate::us_keyboard::Stroke;
use crate::cdp_session::Page;
use crate::scale::Scale;

/// The pointer and everything that an action left pressed on purpose.
#[derive(Debug)]
pub(crate) struct Hands {
    /// Pixels from the left edge.
    pub(crate) x: u32,
    /// Pixels from the top edge.
    pub(crate) y: u32,
    /// How they become a page's.
    pub(crate) scale: Scale,
    /// What a page lets the pointer carry.
    pub(crate) dragged: Option<Dragged>,
    buttons: Vec<Button>,
    keys: Vec<Stroke>,
}

impl Hands {
    /// Nothing pressed, the pointer in the middle as on a fresh screen.
    pub(crate) const fn new(size: Size, scale: Scale) -> Self {
        Self {
            x: size.width / 2,
            y: size.height / 2,
            scale,
            dragged: None,
            buttons: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// The bits of the modifiers that are held.
    pub(crate) fn modifiers(&self) -> u8 {
        self.keys
            .iter()
            .fold(0, |bits, stroke| bits | stroke.modifier)
    }

    /// The bits of the buttons that are held.
    pub(crate) fn buttons(&self) -> u8 {
        self.buttons
            .iter()
            .fold(0, |bits, button| bits | button_bit(*button))
    }

    /// The button that moves report: the one held longest.
    pub(crate) fn dragging(&self) -> &'static str {
        self.buttons
            .first()
            .map_or("none", |button| button_name(*button))
    }

    pub(crate) fn hold_button(&mut self, button: Button) {
        self.buttons.retain(|held| *held != button);
        self.buttons.push(button);
    }

    pub(crate) fn let_go_of_button(&mut self, button: Button) {
        self.buttons.retain(|held| *held != button);
    }

    pub(crate) fn hold_key(&mut self, stroke: Stroke) {
        self.keys.retain(|held| held.key != stroke.key);
        self.keys.push(stroke);
    }

    pub(crate) fn let_go_of_key(&mut self, stroke: &Stroke) {
        self.keys.retain(|held| held.key != stroke.key);
    }

    /// Releases everything, the last pressed first.
    pub(crate) async fn release(&mut self, page: &Page) -> Result<(), CdpError> {
        if let Some(dragged) = self.dragged.take() {
            dragged.cancel(page).await?;
        }
        let mut commands = Vec::new();
        while let Some(button) = self.buttons.pop() {
            let (x, y, modifiers) = (self.x, self.y, self.modifiers());
            let at = Mouse {
                x,
                y,
                scale: self.scale,
                modifiers,
                buttons: self.buttons(),
            };
            commands.push((MOUSE, at.event("mouseReleased", button_name(button), 1)));
        }
        while let Some(stroke) = self.keys.pop() {
            commands.push((KEY, key_up(&stroke, self.modifiers())));
        }
        page.call_all(commands).await
    }
}

/// The command that mouse events are sent with.
pub(crate) const MOUSE: &str = "Input.dispatchMouseEvent";
/// The command that key events are sent with.
pub(crate) const KEY: &str = "Input.dispatchKeyEvent";

/// Where the pointer is and what is held while something happens to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mouse {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) scale: Scale,
    pub(crate) modifiers: u8,
    pub(crate) buttons: u8,
}

impl Mouse {
    /// A mouse event's parameters.
    pub(crate) fn event(self, kind: &str, button: &str, count: u8) -> Value {
        let (x, y) = self.in_page();
        json!({
            "type": kind, "x": x, "y": y, "modifiers": self.modifiers,
            "button": button, "buttons": self.buttons, "clickCount": count,
            "pointerType": "mouse",
        })
    }

    /// Its place in the page's own pixels.
    pub(crate) fn in_page(self) -> (f64, f64) {
        (self.scale.to_page(self.x), self.scale.to_page(self.y))
    }
}

/// A key event that presses. `modifiers` are those held before it.
pub(crate) fn key_down(stroke: &Stroke, modifiers: u8, repeated: bool) -> Value {
    const WITH_TEXT: u8 = 8; // Shift alone leaves a key its text.
    let text = stroke.text.as_ref().filter(|_| modifiers & !WITH_TEXT == 0);
    let mut event = key_event(stroke, modifiers | stroke.modifier);
    event["type"] = if text.is_some() {
        "keyDown"
    } else {
        "rawKeyDown"
    }
    .into();
    event["autoRepeat"] = repeated.into();
    if let Some(text) = text {
        event["text"] = text.as_str().into();
        event["unmodifiedText"] = text.as_str().into();
    }
    event
}

/// A key event that releases. `modifiers` are those held after it.
pub(crate) fn key_up(stroke: &Stroke, modifiers: u8) -> Value {
    let mut event = key_event(stroke, modifiers & !stroke.modifier);
    event["type"] = "keyUp".into();
    event
}

fn key_event(stroke: &Stroke, modifiers: u8) -> Value {
    // Never with a native key code: Chromium would take what a page leaves over as its own
    // shortcut, and ctrl+u, ctrl+h or F12 lead to pages that no address may name.
    json!({
        "modifiers": modifiers, "key": stroke.key, "code": stroke.code,
        "windowsVirtualKeyCode": stroke.virtual_key, "location": stroke.location,
    })
}

/// Something pressed that is released when this is dropped, unless it was before.
#[derive(Debug)]
pub(crate) struct Pressed {
    page: Page,
    release: Option<(&'static str, Value)>,
}

impl Pressed {
    /// Presses. Whatever happens from here on, the release is sent.
    pub(crate) async fn press(
        page: &Page,
        method: &'static str,
        down: Value,
        up: Value,
    ) -> Result<Self, CdpError> {
        let pressed = Self {
            page: page.clone(),
            release: Some((method, up)),
        };
        page.call(method, down).await?;
        Ok(pressed)
    }

    /// Presses a key.
    pub(crate) async fn key(page: &Page, stroke: &Stroke, modifiers: u8) -> Result<Self, CdpError> {
        let (down, up) = (
            key_down(stroke, modifiers, false),
            key_up(stroke, modifiers),
        );
        Self::press(page, KEY, down, up).await
    }

    /// Releases and waits until the page heard of it.
    pub(crate) async fn release(mut self) -> Result<(), CdpError> {
        // Once taken it is also sent: nothing waits in between.
        match self.release.take() {
            Some((method, up)) => self.page.call(method, up).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Releases a button elsewhere than it was pressed.
    pub(crate) async fn release_at(mut self, mouse: Mouse) -> Result<(), CdpError> {
        let (x, y) = mouse.in_page();
        if let Some((_, up)) = &mut self.release {
            up["x"] = x.into();
            up["y"] = y.into();
        }
        self.release().await
    }

    /// Leaves it pressed, as was asked.
    pub(crate) fn keep(mut self) {
        self.release = None;
    }
}

impl Drop for Pressed {
    fn drop(&mut self) {
        if let Some((method, up)) = self.release.take() {
            self.page.notify(method, up);
        }
    }
}

/// Presses these modifiers one after the other; `held` are down already.
pub(crate) async fn press_modifiers(
    page: &Page,
    modifiers: &[Modifier],
    held: u8,
) -> Result<(Vec<Pressed>, u8), CdpError> {
    let mut bits = held;
    let mut pressed = Vec::new();
    for stroke in modifiers
        .iter()
        .map(|modifier| Stroke::of_modifier(*modifier))
    {
        if bits & stroke.modifier == 0 {
            pressed.push(Pressed::key(page, &stroke, bits).await?);
            bits |= stroke.modifier;
        }
    }
    Ok((pressed, bits))
}

/// Releases in reverse order.
pub(crate) async fn release_all(mut pressed: Vec<Pressed>) -> Result<(), CdpError> {
    while let Some(last) = pressed.pop() {
        last.release().await?;
    }
    Ok(())
}

/// The protocol's name of a button.
pub(crate) const fn button_name(button: Button) -> &'static str {
    match button {
        Button::Left => "left",
        Button::Middle => "middle",
        Button::Right => "right",
        Button::Back => "back",
        Button::Forward => "forward",
    }
}

/// Its bit in an event's buttons.
pub(crate) const fn button_bit(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Right => 2,
        Button::Middle => 4,
        Button::Back => 8,
        Button::Forward => 16,
    }
}
