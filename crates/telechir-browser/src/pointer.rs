//! Pointer moves, clicks, drags and scrolling as input events of the page.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::{Button, ClickCount, Modifier, ScrollUnit};
use tokio::time::sleep;

use crate::cdp_session::{CdpSession, or_closed};
use crate::drag_and_drop::DragSession;
use crate::error::CdpError;
use crate::input_state::{
    InputState, MOUSE, Mouse, PressedInput, button_bit, button_name, press_modifiers, release_all,
};
use crate::tab_registry::TabRegistry;

/// Pixels per click of the wheel. Chromium on Linux scrolls 53 for a physical notch; the round
/// number is easier to calculate with and is what other browser drivers use.
pub const PIXELS_PER_CLICK: f64 = 100.0;
/// Pixels between two move events of a drag.
const STEP_PX: u32 = 25;
const MAX_STEPS: u32 = 20;

/// The pointer of one page.
#[derive(Debug)]
pub(crate) struct PagePointer<'a> {
    pub(crate) page: &'a CdpSession,
    pub(crate) input: &'a mut InputState,
    pub(crate) registry: &'a TabRegistry,
    pub(crate) moves: PointerMoves,
}

/// Whether the move before a click is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointerMoves {
    /// A page that does not handle it is not clicked.
    Awaited,
    /// It is sent with the click: the browser is far away.
    SentWithClicks,
}

/// A pixel of the screen: x and y.
pub(crate) type Pixel = (u32, u32);

impl PagePointer<'_> {
    /// Moves the pointer to a pixel.
    pub(crate) async fn move_to(&mut self, (x, y): Pixel) -> Result<(), CdpError> {
        (self.input.x, self.input.y) = (x, y);
        self.dispatch_move(self.mouse(0), self.input.dragging())
            .await
    }

    /// Clicks `count` times as one gesture.
    pub(crate) async fn click(
        &mut self,
        at: Option<Pixel>,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        if let (Some(at), PointerMoves::SentWithClicks, 0) = (at, self.moves, self.input.buttons())
        {
            let clicked = self.click_without_hover(at, button, count, modifiers);
            return clicked.await;
        }
        self.click_after_hover(at, button, count, modifiers).await
    }

    async fn click_after_hover(
        &mut self,
        at: Option<Pixel>,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.input.modifiers()).await?;
        self.move_if_given(at, bits).await?;
        let clicks = self.clicks(button, count, bits);
        or_closed(self.page.call_all(clicks).await)?;
        or_closed(release_all(pressed).await)
    }

    /// As `click`, on a page that just answered: it will handle the click, so the preceding move is
    /// not awaited separately.
    pub(crate) async fn click_without_hover(
        &mut self,
        (x, y): Pixel,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        if self.input.buttons() != 0 {
            let hovered = self.click_after_hover(Some((x, y)), button, count, modifiers);
            return hovered.await;
        }
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.input.modifiers()).await?;
        (self.input.x, self.input.y) = (x, y);
        let mut commands = vec![(MOUSE, self.mouse(bits).event("mouseMoved", "none", 0))];
        commands.extend(self.clicks(button, count, bits));
        or_closed(self.page.call_all(commands).await)?;
        or_closed(release_all(pressed).await)
    }

    /// The events of a click at the pointer position.
    fn clicks(&self, button: Button, count: ClickCount, bits: u8) -> Vec<(&'static str, Value)> {
        let times = match count {
            ClickCount::Single => 1,
            ClickCount::Double => 2,
            ClickCount::Triple => 3,
        };
        (1..=times)
            .flat_map(|nth| <[Value; 2]>::from(self.down_and_up(button, nth, bits)))
            .map(|event| (MOUSE, event))
            .collect()
    }

    /// Presses a button and leaves it pressed.
    pub(crate) async fn down(&mut self, at: Option<Pixel>, button: Button) -> Result<(), CdpError> {
        let bits = self.input.modifiers();
        self.move_if_given(at, bits).await?;
        let nth = self.input.count_press(button);
        self.press(button, nth, bits).await?.leave_pressed();
        self.input.hold_button(button);
        Ok(())
    }

    /// Releases a button, or drops the drag in progress.
    pub(crate) async fn up(&mut self, at: Option<Pixel>, button: Button) -> Result<(), CdpError> {
        let bits = self.input.modifiers();
        self.move_if_given(at, bits).await?;
        if button == Button::Left && self.input.buttons() & button_bit(button) != 0 {
            let was_dropped = self.drop_drag(self.mouse(bits)).await?;
            if was_dropped {
                self.input.release_button(button);
                return Ok(());
            }
        }
        self.input.release_button(button);
        let nth = self.input.press_count(button);
        let event = self
            .mouse(bits)
            .event("mouseReleased", button_name(button), nth);
        or_closed(self.page.call(MOUSE, event).await.map(|_| ()))
    }

    /// Presses at the first pixel, moves through the others and releases at the last.
    pub(crate) async fn drag(
        &mut self,
        path: &[Pixel],
        button: Button,
        modifiers: &[Modifier],
        duration: Option<Duration>,
    ) -> Result<(), CdpError> {
        let (start, rest) = match path {
            [] => return Ok(()),
            [end] => (None, std::slice::from_ref(end)),
            [start, rest @ ..] => (Some(*start), rest),
        };
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.input.modifiers()).await?;
        self.move_if_given(start, bits).await?;
        let button_press = self.press(button, 1, bits).await?;
        let points = path_points((self.input.x, self.input.y), rest);
        let pause =
            duration.map(|total| total / u32::try_from(points.len().max(1)).unwrap_or(u32::MAX));
        for (x, y) in points {
            (self.input.x, self.input.y) = (x, y);
            let mut mouse = self.mouse(bits);
            mouse.buttons |= button_bit(button);
            self.dispatch_move(mouse, button_name(button)).await?;
            if let Some(pause) = pause {
                sleep(pause).await;
            }
        }
        if self.drop_drag(self.mouse(bits)).await? {
            button_press.leave_pressed();
        } else {
            or_closed(button_press.release_at(self.mouse(bits)).await)?;
        }
        or_closed(release_all(pressed).await)
    }

    /// Scrolls; positive values mean right and down.
    pub(crate) async fn scroll(
        &mut self,
        at: Option<Pixel>,
        (dx, dy): (f64, f64),
        unit: ScrollUnit,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        let factor = match unit {
            ScrollUnit::Clicks => PIXELS_PER_CLICK,
            ScrollUnit::Pixels | ScrollUnit::Thousandths => 1.0 / self.input.scale.get(),
        };
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.input.modifiers()).await?;
        self.move_if_given(at, bits).await?;
        let mut event = self.mouse(bits).event("mouseWheel", "none", 0);
        event["deltaX"] = json!(dx * factor);
        event["deltaY"] = json!(dy * factor);
        self.page.call(MOUSE, event).await?;
        release_all(pressed).await
    }

    async fn move_if_given(&mut self, at: Option<Pixel>, bits: u8) -> Result<(), CdpError> {
        let Some((x, y)) = at else { return Ok(()) };
        (self.input.x, self.input.y) = (x, y);
        self.dispatch_move(self.mouse(bits), self.input.dragging())
            .await
    }

    /// Moves the pointer, or the HTML drag in progress: once Chromium has handed a drag to us, it
    /// ignores pointer events.
    async fn dispatch_move(&mut self, mouse: Mouse, button: &str) -> Result<(), CdpError> {
        let Some(drag) = &mut self.input.drag else {
            self.page
                .call(MOUSE, mouse.event("mouseMoved", button, 0))
                .await?;
            self.input.drag = self.registry.take_drag().map(DragSession::new);
            return Ok(());
        };
        drag.move_to(self.page, mouse).await
    }

    /// Drops the HTML drag in progress, if any. The page then gets no release event.
    async fn drop_drag(&mut self, mouse: Mouse) -> Result<bool, CdpError> {
        if self.input.drag.is_none() {
            // A round trip: a drag that started with the last move is known afterwards.
            self.page.evaluate("0").await?;
            self.input.drag = self.registry.take_drag().map(DragSession::new);
        }
        match self.input.drag.take() {
            Some(drag) => drag.drop_at(self.page, mouse).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn press(&self, button: Button, nth: u8, bits: u8) -> Result<PressedInput, CdpError> {
        let (down, up) = self.down_and_up(button, nth, bits);
        PressedInput::press(self.page, MOUSE, down, up).await
    }

    fn down_and_up(&self, button: Button, nth: u8, bits: u8) -> (Value, Value) {
        let mouse = self.mouse(bits);
        let pressed_state = Mouse {
            buttons: mouse.buttons | button_bit(button),
            ..mouse
        };
        let released_state = Mouse {
            buttons: mouse.buttons & !button_bit(button),
            ..mouse
        };
        let down = pressed_state.event("mousePressed", button_name(button), nth);
        let up = released_state.event("mouseReleased", button_name(button), nth);
        (down, up)
    }

    fn mouse(&self, bits: u8) -> Mouse {
        let InputState { x, y, scale, .. } = *self.input;
        Mouse {
            x,
            y,
            scale,
            modifiers: bits | self.input.modifiers(),
            buttons: self.input.buttons(),
        }
    }
}

/// Intermediate points, so that pages observe a movement and not a jump.
fn path_points(start: Pixel, path: &[Pixel]) -> Vec<Pixel> {
    let mut points = Vec::new();
    let mut from = start;
    for &to in path {
        let distance = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
        // At least two, so that a page with a drag threshold gets a move after passing it.
        let count = (distance / STEP_PX).clamp(2, MAX_STEPS);
        let between = |a: u32, b: u32, nth: u32| (a * (count - nth) + b * nth) / count;
        points.extend(
            (1..=count).map(|nth| (between(from.0, to.0, nth), between(from.1, to.1, nth))),
        );
        from = to;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drag_passes_exactly_through_each_point_of_its_path() {
        let found = path_points((0, 0), &[(100, 40), (3, 900)]);
        assert!(found.contains(&(100, 40)));
        assert_eq!(found.last(), Some(&(3, 900)));
    }

    #[test]
    fn a_short_drag_still_moves_twice() {
        assert_eq!(path_points((10, 10), &[(12, 10)]), [(11, 10), (12, 10)]);
    }
}
