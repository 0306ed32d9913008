//! Pressed keys and buttons, the pointer position, and presses that cannot get stuck.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::{Button, Modifier, Size};
use tokio::time::Instant;

use crate::cdp_session::CdpSession;
use crate::drag_and_drop::DragSession;
use crate::error::CdpError;
use crate::scale::Scale;
use crate::us_keyboard::CdpKey;

/// Presses that follow each other within this time, and this many pixels, are one click.
const MULTIPLE_CLICK_TIME: Duration = Duration::from_millis(500);
const MULTIPLE_CLICK_PX: u32 = 4;

/// A press of a button.
#[derive(Clone, Copy, Debug)]
struct Press {
    button: Button,
    point: (u32, u32),
    at: Instant,
    /// 1, or 2 or 3 of a double or triple click.
    count: u8,
}

impl Press {
    fn is_followed_by(self, button: Button, (x, y): (u32, u32), at: Instant) -> bool {
        let distance = self.point.0.abs_diff(x).max(self.point.1.abs_diff(y));
        self.button == button
            && distance <= MULTIPLE_CLICK_PX
            && at.saturating_duration_since(self.at) <= MULTIPLE_CLICK_TIME
    }
}

/// The pointer and everything that an action left pressed on purpose.
#[derive(Debug)]
pub(crate) struct InputState {
    /// Screen pixels from the left edge.
    pub(crate) x: u32,
    /// Screen pixels from the top edge.
    pub(crate) y: u32,
    /// Converts screen pixels to CSS pixels.
    pub(crate) scale: Scale,
    /// The HTML drag in progress, if any.
    pub(crate) drag: Option<DragSession>,
    /// The last press that was left pressed.
    last_press: Option<Press>,
    buttons: Vec<Button>,
    keys: Vec<CdpKey>,
}

impl InputState {
    /// Nothing pressed, the pointer in the middle of the screen.
    pub(crate) const fn new(size: Size, scale: Scale) -> Self {
        Self {
            x: size.width / 2,
            y: size.height / 2,
            scale,
            drag: None,
            last_press: None,
            buttons: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// The CDP bits of the pressed modifiers.
    pub(crate) fn modifiers(&self) -> u8 {
        self.keys
            .iter()
            .fold(0, |bits, stroke| bits | stroke.modifier)
    }

    /// The CDP bits of the pressed buttons.
    pub(crate) fn buttons(&self) -> u8 {
        self.buttons
            .iter()
            .fold(0, |bits, button| bits | button_bit(*button))
    }

    /// The button that move events report: the one pressed first.
    pub(crate) fn dragging(&self) -> &'static str {
        self.buttons
            .first()
            .map_or("none", |button| button_name(*button))
    }

    /// Counts a press of this button at the pointer's position: 2 or 3 if it follows another one as in a
    /// double or triple click.
    pub(crate) fn count_press(&mut self, button: Button) -> u8 {
        let (x, y, at) = (self.x, self.y, Instant::now());
        let count = match self.last_press {
            Some(last) if last.is_followed_by(button, (x, y), at) => last.count % 3 + 1,
            _ => 1,
        };
        self.last_press = Some(Press {
            button,
            point: (x, y),
            at,
            count,
        });
        count
    }

    /// Which press of a click the last one of this button was.
    pub(crate) fn press_count(&self, button: Button) -> u8 {
        let last = self.last_press.filter(|last| last.button == button);
        last.map_or(1, |last| last.count)
    }

    pub(crate) fn hold_button(&mut self, button: Button) {
        self.buttons.retain(|other| *other != button);
        self.buttons.push(button);
    }

    pub(crate) fn release_button(&mut self, button: Button) {
        self.buttons.retain(|other| *other != button);
    }

    pub(crate) fn hold_key(&mut self, stroke: CdpKey) {
        self.keys.retain(|other| other.key != stroke.key);
        self.keys.push(stroke);
    }

    pub(crate) fn release_key(&mut self, stroke: &CdpKey) {
        self.keys.retain(|other| other.key != stroke.key);
    }

    /// Releases everything, in reverse order.
    pub(crate) async fn release(&mut self, page: &CdpSession) -> Result<(), CdpError> {
        if let Some(drag) = self.drag.take() {
            drag.cancel(page).await?;
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

/// The CDP command for mouse events.
pub(crate) const MOUSE: &str = "Input.dispatchMouseEvent";
/// The CDP command for key events.
pub(crate) const KEY: &str = "Input.dispatchKeyEvent";

/// The pointer position, modifiers and buttons of a mouse event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mouse {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) scale: Scale,
    pub(crate) modifiers: u8,
    pub(crate) buttons: u8,
}

impl Mouse {
    /// The parameters of a mouse event.
    pub(crate) fn event(self, kind: &str, button: &str, count: u8) -> Value {
        let (x, y) = self.in_page();
        json!({
            "type": kind, "x": x, "y": y, "modifiers": self.modifiers,
            "button": button, "buttons": self.buttons, "clickCount": count,
            "pointerType": "mouse",
        })
    }

    /// The position in CSS pixels.
    pub(crate) fn in_page(self) -> (f64, f64) {
        (self.scale.to_page(self.x), self.scale.to_page(self.y))
    }
}

/// The key-down event. `modifiers` are those pressed before it.
pub(crate) fn key_down(stroke: &CdpKey, modifiers: u8, repeated: bool) -> Value {
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

/// The key-up event. `modifiers` are those pressed after it.
pub(crate) fn key_up(stroke: &CdpKey, modifiers: u8) -> Value {
    let mut event = key_event(stroke, modifiers & !stroke.modifier);
    event["type"] = "keyUp".into();
    event
}

fn key_event(stroke: &CdpKey, modifiers: u8) -> Value {
    // Never with a native key code: Chromium would treat unhandled keys as its own shortcuts, and
    // ctrl+u, ctrl+h or F12 open pages whose URLs are not allowed.
    json!({
        "modifiers": modifiers, "key": stroke.key, "code": stroke.code,
        "windowsVirtualKeyCode": stroke.virtual_key, "location": stroke.location,
    })
}

/// A pressed key or button, which is released on drop.
#[derive(Debug)]
pub(crate) struct PressedInput {
    page: CdpSession,
    release: Option<(&'static str, Value)>,
}

impl PressedInput {
    /// Presses; from here on, the release is always sent.
    pub(crate) async fn press(
        page: &CdpSession,
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

    /// Presses a key with the modifiers before it.
    pub(crate) async fn key(
        page: &CdpSession,
        stroke: &CdpKey,
        modifiers: u8,
    ) -> Result<Self, CdpError> {
        let (down, up) = (
            key_down(stroke, modifiers, false),
            key_up(stroke, modifiers),
        );
        Self::press(page, KEY, down, up).await
    }

    /// Releases and waits until the page has handled the event.
    pub(crate) async fn release(mut self) -> Result<(), CdpError> {
        // Once taken, the release is sent without a wait in between.
        match self.release.take() {
            Some((method, up)) => self.page.call(method, up).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Releases a button at another position.
    pub(crate) async fn release_at(mut self, mouse: Mouse) -> Result<(), CdpError> {
        let (x, y) = mouse.in_page();
        if let Some((_, up)) = &mut self.release {
            up["x"] = x.into();
            up["y"] = y.into();
        }
        self.release().await
    }

    /// Leaves it pressed after this is dropped.
    pub(crate) fn leave_pressed(mut self) {
        self.release = None;
    }
}

impl Drop for PressedInput {
    fn drop(&mut self) {
        if let Some((method, up)) = self.release.take() {
            self.page.notify(method, up);
        }
    }
}

/// Presses modifiers in order, except those in `pressed_before`.
pub(crate) async fn press_modifiers(
    page: &CdpSession,
    modifiers: &[Modifier],
    pressed_before: u8,
) -> Result<(Vec<PressedInput>, u8), CdpError> {
    let mut bits = pressed_before;
    let mut pressed = Vec::new();
    for stroke in modifiers
        .iter()
        .map(|modifier| CdpKey::of_modifier(*modifier))
    {
        if bits & stroke.modifier == 0 {
            pressed.push(PressedInput::key(page, &stroke, bits).await?);
            bits |= stroke.modifier;
        }
    }
    Ok((pressed, bits))
}

/// Releases in reverse order.
pub(crate) async fn release_all(mut pressed: Vec<PressedInput>) -> Result<(), CdpError> {
    while let Some(last) = pressed.pop() {
        last.release().await?;
    }
    Ok(())
}

/// The CDP name of a button.
pub(crate) const fn button_name(button: Button) -> &'static str {
    match button {
        Button::Left => "left",
        Button::Middle => "middle",
        Button::Right => "right",
        Button::Back => "back",
        Button::Forward => "forward",
    }
}

/// The CDP bit of a button.
pub(crate) const fn button_bit(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Right => 2,
        Button::Middle => 4,
        Button::Back => 8,
        Button::Forward => 16,
    }
}
