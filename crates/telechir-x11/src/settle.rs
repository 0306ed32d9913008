//! Waiting until the screen stopped changing, told by the server's damage reports.

use std::time::Duration;

use telechir_device::{Settle, Settled};
use tokio::time::{Instant, timeout_at};
use x11rb::NONE;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};
use x11rb::protocol::xproto::Rectangle;

use crate::connection::Connection;
use crate::error::XError;

/// A blinking caret is at most this wide and high (GTK's is 1x21, a terminal's is text and
/// counts as a change).
const CARET: (u16, u16) = (3, 40);
/// Changes that stay within a square of this side are an animation, not progress.
const SPINNER: i32 = 128;
/// An animation is given up on after so many quiet periods.
const SPINNER_PATIENCE: u32 = 8;

/// Collects what the server says about changed parts of the screen.
#[derive(Debug)]
pub(crate) struct DamageWatch {
    damage: damage::Damage,
    /// Where the server puts the changed rectangles for us to fetch.
    parts: Region,
}

impl DamageWatch {
    /// None where the server has no damage reports.
    pub(crate) async fn new(connection: &Connection) -> Result<Option<Self>, XError> {
        if !connection.has(damage::X11_EXTENSION_NAME)? {
            return Ok(None);
        }
        let x = connection.x();
        connection.reply(x.damage_query_version(1, 1)?).await?;
        let damage = x.generate_id()?;
        x.damage_create(damage, connection.root(), ReportLevel::NON_EMPTY)?;
        let parts = x.generate_id()?;
        connection
            .checked(x.xfixes_create_region(parts, &[])?)
            .await?;
        Ok(Some(Self { damage, parts }))
    }

    /// Waits until nothing changed for the quiet period, or the ceiling.
    pub(crate) async fn settle(
        &self,
        connection: &Connection,
        settle: Settle,
    ) -> Result<Settled, XError> {
        let start = Instant::now();
        let mut stillness = Stillness::new(start, settle);
        loop {
            connection.drain()?;
            if connection.take_damaged() {
                let changed = self.take(connection).await?;
                stillness.changed(Instant::now(), &changed);
            }
            let now = Instant::now();
            if let Some(settled) = stillness.verdict(now) {
                return Ok(Settled {
                    settled,
                    waited: now - start,
                });
            }
            // Either a change wakes us, or the moment when the verdict is due.
            if let Ok(event) = timeout_at(stillness.due(), connection.next_event()).await {
                event?;
            }
        }
    }

    /// The rectangles that changed since the last time. The server reports again only after this.
    async fn take(&self, connection: &Connection) -> Result<Vec<Rectangle>, XError> {
        let x = connection.x();
        x.damage_subtract(self.damage, NONE, self.parts)?;
        let parts = x.xfixes_fetch_region(self.parts)?;
        Ok(connection.reply(parts).await?.rectangles)
    }
}

/// Decides when a screen counts as settled. Knows times and rectangles, nothing of a server.
#[derive(Debug)]
struct Stillness {
    settle: Settle,
    start: Instant,
    last_change: Instant,
    /// All changes so far, as left, top, right, bottom.
    touched: Option<[i32; 4]>,
}

impl Stillness {
    const fn new(start: Instant, settle: Settle) -> Self {
        Self {
            settle,
            start,
            last_change: start,
            touched: None,
        }
    }

    fn changed(&mut self, now: Instant, rectangles: &[Rectangle]) {
        for rectangle in rectangles.iter().filter(|rectangle| !is_caret(rectangle)) {
            self.last_change = now;
            let (x, y) = (i32::from(rectangle.x), i32::from(rectangle.y));
            let end = (
                x + i32::from(rectangle.width),
                y + i32::from(rectangle.height),
            );
            let [left, top, right, bottom] = self.touched.unwrap_or([x, y, end.0, end.1]);
            self.touched = Some([left.min(x), top.min(y), right.max(end.0), bottom.max(end.1)]);
        }
    }

    fn verdict(&self, now: Instant) -> Option<bool> {
        if now >= self.quiet_at() {
            return Some(true);
        }
        (now >= self.give_up_at()).then_some(false)
    }

    fn due(&self) -> Instant {
        self.quiet_at().min(self.give_up_at())
    }

    fn quiet_at(&self) -> Instant {
        self.last_change + self.settle.quiet
    }

    fn give_up_at(&self) -> Instant {
        self.start + self.patience()
    }

    fn patience(&self) -> Duration {
        if self.is_spinner() {
            self.settle
                .ceiling
                .min(self.settle.quiet * SPINNER_PATIENCE)
        } else {
            self.settle.ceiling
        }
    }

    fn is_spinner(&self) -> bool {
        self.touched.is_some_and(|[left, top, right, bottom]| {
            right - left <= SPINNER && bottom - top <= SPINNER
        })
    }
}

const fn is_caret(rectangle: &Rectangle) -> bool {
    rectangle.width <= CARET.0 && rectangle.height <= CARET.1
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLE: Settle = Settle {
        quiet: Duration::from_millis(50),
        ceiling: Duration::from_secs(2),
    };

    fn ms(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    fn rectangle(width: u16, height: u16) -> Rectangle {
        Rectangle {
            x: 10,
            y: 10,
            width,
            height,
        }
    }

    #[test]
    fn settles_after_the_quiet_period() {
        let start = Instant::now();
        let mut stillness = Stillness::new(start, SETTLE);
        stillness.changed(ms(start, 20), &[rectangle(300, 200)]);
        assert_eq!(stillness.verdict(ms(start, 69)), None);
        assert_eq!(stillness.verdict(ms(start, 70)), Some(true));
    }

    #[test]
    fn a_caret_does_not_count() {
        let start = Instant::now();
        let mut stillness = Stillness::new(start, SETTLE);
        stillness.changed(ms(start, 40), &[rectangle(1, 21), rectangle(3, 40)]);
        assert_eq!(stillness.verdict(ms(start, 50)), Some(true));
    }

    #[test]
    fn a_small_animation_is_given_up_on_early() {
        let start = Instant::now();
        let mut stillness = Stillness::new(start, SETTLE);
        for at in (0..=400).step_by(20) {
            stillness.changed(ms(start, at), &[rectangle(32, 32)]);
        }
        assert_eq!(stillness.verdict(ms(start, 399)), None);
        assert_eq!(stillness.verdict(ms(start, 400)), Some(false));
    }

    #[test]
    fn large_changes_last_until_the_ceiling() {
        let start = Instant::now();
        let mut stillness = Stillness::new(start, SETTLE);
        for at in (0..=2000).step_by(20) {
            stillness.changed(ms(start, at), &[rectangle(400, 300)]);
        }
        assert_eq!(stillness.verdict(ms(start, 1999)), None);
        assert_eq!(stillness.verdict(ms(start, 2000)), Some(false));
    }
}
