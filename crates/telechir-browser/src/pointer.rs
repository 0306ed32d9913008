//! Moves, clicks, drags and wheel turns, as the page's own pointer events.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::{Button, ClickCount, Modifier, ScrollUnit};
use tokio::time::sleep;

use crate::tab_registry::Book;
use crate::drag_and_drop::Dragged;
use crate::error::CdpError;
use crate::input_state::{
    Hands, MOUSE, Mouse, Pressed, button_bit, button_name, press_modifiers, release_all,
};
use crate::cdp_session::{Page, or_closed};

/// What one click of the wheel scrolls, in pixels. Chromium on Linux takes 53 for a real notch; a round number
/// is easier to reckon with, and it is what other drivers of pages use.
pub const PIXELS_PER_CLICK: f64 = 100.0;
/// A hand's way from one point to the next, in pixels between two events.
const STRIDE: u32 = 25;
const MOST_STRIDES: u32 = 20;

/// The pointer of one page.
#[derive(Debug)]
pub(crate) struct Pointer<'a> {
    pub(crate) page: &'a Page,
    pub(crate) hands: &'a mut Hands,
    pub(crate) book: &'a Book,
}

/// A place in pixels.
pub(crate) type Place = (u32, u32);

impl Pointer<'_> {
    /// Moves there.
    pub(crate) async fn move_to(&mut self, (x, y): Place) -> Result<(), CdpError> {
        (self.hands.x, self.hands.y) = (x, y);
        self.glide(self.mouse(0), self.hands.dragging()).await
    }

    /// Clicks `count` times, as one gesture.
    pub(crate) async fn click(
        &mut self,
        at: Option<Place>,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.hands.modifiers()).await?;
        self.approach(at, bits).await?;
        let clicks = self.clicks(button, count, bits);
        or_closed(self.page.call_all(clicks).await)?;
        or_closed(release_all(pressed).await)
    }

    /// The same on a page that answered a moment ago: it will hear of the click, too, so that it is
    /// not asked whether it heard of the pointer before.
    pub(crate) async fn click_soon(
        &mut self,
        (x, y): Place,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        if self.hands.buttons() != 0 {
            return self.click(Some((x, y)), button, count, modifiers).await;
        }
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.hands.modifiers()).await?;
        (self.hands.x, self.hands.y) = (x, y);
        let mut commands = vec![(MOUSE, self.mouse(bits).event("mouseMoved", "none", 0))];
        commands.extend(self.clicks(button, count, bits));
        or_closed(self.page.call_all(commands).await)?;
        or_closed(release_all(pressed).await)
    }

    /// The events of a click where the pointer is.
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
    pub(crate) async fn down(&mut self, at: Option<Place>, button: Button) -> Result<(), CdpError> {
        let bits = self.hands.modifiers();
        self.approach(at, bits).await?;
        self.press(button, 1, bits).await?.keep();
        self.hands.hold_button(button);
        Ok(())
    }

    /// Releases a button.
    pub(crate) async fn up(&mut self, at: Option<Place>, button: Button) -> Result<(), CdpError> {
        let bits = self.hands.modifiers();
        self.approach(at, bits).await?;
        if button == Button::Left && self.hands.buttons() & button_bit(button) != 0 {
            let was_dropped = self.drop_dragged(self.mouse(bits)).await?;
            if was_dropped {
                self.hands.let_go_of_button(button);
                return Ok(());
            }
        }
        self.hands.let_go_of_button(button);
        let event = self
            .mouse(bits)
            .event("mouseReleased", button_name(button), 1);
        or_closed(self.page.call(MOUSE, event).await.map(|_| ()))
    }

    /// Presses at the first place, moves through the others, releases at the last.
    pub(crate) async fn drag(
        &mut self,
        path: &[Place],
        button: Button,
        modifiers: &[Modifier],
        duration: Option<Duration>,
    ) -> Result<(), CdpError> {
        let (start, rest) = match path {
            [] => return Ok(()),
            [end] => (None, std::slice::from_ref(end)),
            [start, rest @ ..] => (Some(*start), rest),
        };
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.hands.modifiers()).await?;
        self.approach(start, bits).await?;
        let held = self.press(button, 1, bits).await?;
        let steps = steps((self.hands.x, self.hands.y), rest);
        let pause =
            duration.map(|whole| whole / u32::try_from(steps.len().max(1)).unwrap_or(u32::MAX));
        for (x, y) in steps {
            (self.hands.x, self.hands.y) = (x, y);
            let mut mouse = self.mouse(bits);
            mouse.buttons |= button_bit(button);
            self.glide(mouse, button_name(button)).await?;
            if let Some(pause) = pause {
                sleep(pause).await;
            }
        }
        if self.drop_dragged(self.mouse(bits)).await? {
            held.keep();
        } else {
            or_closed(held.release_at(self.mouse(bits)).await)?;
        }
        or_closed(release_all(pressed).await)
    }

    /// Turns the wheel; positive is right and down.
    pub(crate) async fn scroll(
        &mut self,
        at: Option<Place>,
        (dx, dy): (f64, f64),
        unit: ScrollUnit,
        modifiers: &[Modifier],
    ) -> Result<(), CdpError> {
        let factor = match unit {
            ScrollUnit::Clicks => PIXELS_PER_CLICK,
            ScrollUnit::Pixels | ScrollUnit::Thousandths => 1.0 / self.hands.scale.get(),
        };
        let (pressed, bits) = press_modifiers(self.page, modifiers, self.hands.modifiers()).await?;
        self.approach(at, bits).await?;
        let mut event = self.mouse(bits).event("mouseWheel", "none", 0);
        event["deltaX"] = json!(dx * factor);
        event["deltaY"] = json!(dy * factor);
        self.page.call(MOUSE, event).await?;
        release_all(pressed).await
    }

    async fn approach(&mut self, at: Option<Place>, bits: u8) -> Result<(), CdpError> {
        let Some((x, y)) = at else { return Ok(()) };
        (self.hands.x, self.hands.y) = (x, y);
        self.glide(self.mouse(bits), self.hands.dragging()).await
    }

    /// Moves the pointer, or what it drags. Once an element of a page is dragged, Chromium hands
    /// the drag to us and hears no more of the pointer itself.
    async fn glide(&mut self, mouse: Mouse, button: &str) -> Result<(), CdpError> {
        let Some(dragged) = &mut self.hands.dragged else {
            self.page
                .call(MOUSE, mouse.event("mouseMoved", button, 0))
                .await?;
            self.hands.dragged = self.book.take_drag().map(Dragged::new);
            return Ok(());
        };
        dragged.move_to(self.page, mouse).await
    }

    /// Drops what is dragged, when something is. A page hears of no release then: it ended the drag.
    async fn drop_dragged(&mut self, mouse: Mouse) -> Result<bool, CdpError> {
        if self.hands.dragged.is_none() {
            // A round trip: a drag that began with the last move is known after it.
            self.page.evaluate("0").await?;
            self.hands.dragged = self.book.take_drag().map(Dragged::new);
        }
        match self.hands.dragged.take() {
            Some(dragged) => dragged.drop_at(self.page, mouse).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn press(&self, button: Button, nth: u8, bits: u8) -> Result<Pressed, CdpError> {
        let (down, up) = self.down_and_up(button, nth, bits);
        Pressed::press(self.page, MOUSE, down, up).await
    }

    fn down_and_up(&self, button: Button, nth: u8, bits: u8) -> (Value, Value) {
        let mouse = self.mouse(bits);
        let with = Mouse {
            buttons: mouse.buttons | button_bit(button),
            ..mouse
        };
        let without = Mouse {
            buttons: mouse.buttons & !button_bit(button),
            ..mouse
        };
        let down = with.event("mousePressed", button_name(button), nth);
        let up = without.event("mouseReleased", button_name(button), nth);
        (down, up)
    }

    fn mouse(&self, bits: u8) -> Mouse {
        let Hands { x, y, scale, .. } = *self.hands;
        Mouse {
            x,
            y,
            scale,
            modifiers: bits | self.hands.modifiers(),
            buttons: self.hands.buttons(),
        }
    }
}

/// Points on the way, so that pages see a movement and not a leap.
fn steps(start: Place, path: &[Place]) -> Vec<Place> {
    let mut steps = Vec::new();
    let mut from = start;
    for &to in path {
        let distance = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
        // Two at least: a page that wants a threshold to be passed sees a move after it.
        let count = (distance / STRIDE).clamp(2, MOST_STRIDES);
        let between = |a: u32, b: u32, nth: u32| (a * (count - nth) + b * nth) / count;
        steps.extend(
            (1..=count).map(|nth| (between(from.0, to.0, nth), between(from.1, to.1, nth))),
        );
        from = to;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drag_ends_exactly_at_each_place_of_its_path() {
        let found = steps((0, 0), &[(100, 40), (3, 900)]);
        assert!(found.contains(&(100, 40)));
        assert_eq!(found.last(), Some(&(3, 900)));
    }

    #[test]
    fn a_short_drag_still_moves_twice() {
        assert_eq!(steps((10, 10), &[(12, 10)]), [(11, 10), (12, 10)]);
    }
}
