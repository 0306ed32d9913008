//! Pointer input: moves, clicks, drags and wheel scrolls.

use std::time::Duration;

use telechir_device::{DeviceError, ScreenPoint, ScreenTarget};
use telechir_protocol::{Button, ClickCount, ScrollUnit};
use tokio::time::{Instant, sleep_until};
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;
use crate::press_guard::{PressGuard, Pressable};
use crate::settle::idle::wait_until_moved;
use crate::windows::input::path_to;
use crate::wm_sync::WmSync;

/// Pixels per wheel click, as browsers scroll.
const PX_PER_CLICK: f64 = 100.0;
/// Maximum wheel clicks per action; more is treated as a mistake.
const MAX_CLICKS: f64 = 1000.0;
/// Maximum distance in pixels between two motions of a drag, small enough for programs that track
/// the drag path.
const MAX_DRAG_STEP_PX: f64 = 8.0;
/// Motions at the start of a drag that are waited for one by one. They exceed the distance from
/// which toolkits take a press for a drag: 8 pixels in GTK, 10 in Qt.
const START_MOTIONS: u32 = 3;
/// The same at its end, for which the last step is divided.
const END_MOTIONS: u32 = 4;

/// A point in the protocol's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) x: i16,
    pub(crate) y: i16,
}

impl Position {
    /// The position of a target. Only points are supported; elements exist on pages only.
    pub(crate) fn of(target: &ScreenTarget) -> Result<Self, DeviceError> {
        match target {
            ScreenTarget::Point(point) => Self::of_point(*point),
            ScreenTarget::Element { id, .. } => Err(DeviceError::Refused {
                message: format!(
                    "{id} is an element of a page, which a desktop does not have; give a coordinate"
                ),
            }),
            ScreenTarget::Named(named) => Err(DeviceError::Refused {
                message: format!(
                    "The {named} cannot be found by name on this display; give a coordinate"
                ),
            }),
        }
    }

    fn of_point(point: ScreenPoint) -> Result<Self, DeviceError> {
        match (i16::try_from(point.x()), i16::try_from(point.y())) {
            (Ok(x), Ok(y)) => Ok(Self { x, y }),
            _ => Err(DeviceError::Refused {
                message: format!(
                    "({}, {}) exceeds the coordinate range of X11",
                    point.x(),
                    point.y()
                ),
            }),
        }
    }
}

/// The X11 number of a button.
pub(crate) const fn number(button: Button) -> Pressable {
    Pressable::Button(match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
        Button::Back => 8,
        Button::Forward => 9,
    })
}

/// The current position of the pointer.
pub(crate) async fn position(connection: &Connection) -> Result<Position, XError> {
    let pointer = connection
        .reply(connection.x().query_pointer(connection.root())?)
        .await?;
    Ok(Position {
        x: pointer.root_x,
        y: pointer.root_y,
    })
}

/// Presses and releases a button at the current position.
pub(crate) fn click(
    guard: &mut PressGuard<'_>,
    button: Button,
    count: ClickCount,
) -> Result<(), XError> {
    let times = match count {
        ClickCount::Single => 1,
        ClickCount::Double => 2,
        ClickCount::Triple => 3,
    };
    for _ in 0..times {
        guard.tap(number(button))?;
    }
    Ok(())
}

/// Moves to the first position, presses the button, moves through the remaining ones and releases
/// it.
///
/// The programs under the first and the last position handle each stage before the next: the press,
/// the start of the drag, the arrival. What is dropped on them before they agreed is lost: programs
/// negotiate a drop by messages (XDND), and some read only the latest of several motions.
pub(crate) async fn drag(
    guard: &mut PressGuard<'_>,
    wm: &WmSync,
    path: &[Position],
    button: Button,
    duration: Option<Duration>,
) -> Result<(), XError> {
    let (Some(first), Some(last)) = (path.first(), path.last()) else {
        return Ok(());
    };
    let connection = guard.connection();
    let mut programs = Vec::new();
    // Before the press, because an image of what is dragged may cover the windows.
    for position in [first, last] {
        programs.extend(path_to(connection, *position).await?.last().copied());
    }
    guard.move_to(first.x, first.y)?;
    guard.press(number(button))?;
    wm.wait_until_done(connection).await?;
    wait_until_moved(connection, &programs).await?;
    let motions = motions(path);
    let total = u32::try_from(motions.len()).unwrap_or(u32::MAX);
    let start = Instant::now();
    for (done, position) in (1_u32..).zip(&motions) {
        if let Some(duration) = duration {
            connection.flush()?;
            sleep_until(start + duration * done / total).await;
        }
        guard.move_to(position.x, position.y)?;
        if done <= START_MOTIONS || done + END_MOTIONS >= total {
            wait_until_moved(connection, &programs).await?;
        }
    }
    guard.release(number(button))
}

/// The motions of a drag after the first position, at most [`MAX_DRAG_STEP_PX`] apart; the last of
/// them is taken in [`END_MOTIONS`] smaller ones.
fn motions(path: &[Position]) -> Vec<Position> {
    let mut motions = Vec::new();
    for leg in path.windows(2) {
        let (from, to) = (leg[0], leg[1]);
        let (dx, dy) = (
            f64::from(to.x) - f64::from(from.x),
            f64::from(to.y) - f64::from(from.y),
        );
        let steps = (dx.hypot(dy) / MAX_DRAG_STEP_PX).ceil().max(1.0);
        let mut step = 1.0;
        while step <= steps {
            motions.push(between(from, (dx, dy), step / steps));
            step += 1.0;
        }
    }
    if let Some(last) = motions.pop() {
        let before = motions
            .last()
            .or_else(|| path.first())
            .copied()
            .unwrap_or(last);
        let (dx, dy) = (
            f64::from(last.x) - f64::from(before.x),
            f64::from(last.y) - f64::from(before.y),
        );
        let parts = (1..END_MOTIONS).map(|part| f64::from(part) / f64::from(END_MOTIONS));
        motions.extend(parts.map(|part| between(before, (dx, dy), part)));
        motions.push(last);
    }
    motions.dedup();
    motions
}

fn between(from: Position, (dx, dy): (f64, f64), fraction: f64) -> Position {
    Position {
        x: along(from.x, dx * fraction),
        y: along(from.y, dy * fraction),
    }
}

fn along(from: i16, distance: f64) -> i16 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "between two coordinates that are i16"
    )]
    let coordinate = (f64::from(from) + distance).round() as i16;
    coordinate
}

/// Turns the wheel: positive values scroll down and right.
///
/// X11 has whole wheel clicks only: pixels are rounded to the nearest multiple of 100, and any
/// non-zero distance is at least one click. The remainder is dropped, so that equal actions have
/// equal effects.
pub(crate) fn scroll(
    guard: &mut PressGuard<'_>,
    dx: f64,
    dy: f64,
    unit: ScrollUnit,
) -> Result<(), XError> {
    // Buttons 4 to 7: up, down, left, right.
    let (across, down) = (clicks(dx, unit)?, clicks(dy, unit)?);
    for (distance, back, forth) in [(down, 4, 5), (across, 6, 7)] {
        let button = if distance < 0 { back } else { forth };
        for _ in 0..distance.unsigned_abs() {
            guard.tap(Pressable::Button(button))?;
        }
    }
    Ok(())
}

fn clicks(distance: f64, unit: ScrollUnit) -> Result<i32, XError> {
    let clicks = match unit {
        ScrollUnit::Clicks => distance,
        ScrollUnit::Pixels => distance / PX_PER_CLICK,
        ScrollUnit::Thousandths => {
            return Err(XError::Impossible(
                "scroll on a desktop in clicks or pixels".to_owned(),
            ));
        }
    };
    if !clicks.is_finite() || clicks.abs() > MAX_CLICKS {
        return Err(XError::Impossible(format!(
            "a scroll of {distance} is too far; the maximum is {MAX_CLICKS} wheel clicks"
        )));
    }
    if clicks == 0.0 {
        return Ok(0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most a thousand")]
    let rounded = clicks.abs().round().max(1.0) as i32;
    Ok(if clicks < 0.0 { -rounded } else { rounded })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scroll_is_at_least_one_click_and_rounds_to_the_nearest() {
        let pixels = |distance| clicks(distance, ScrollUnit::Pixels).unwrap();
        assert_eq!(
            [0.0, 1.0, 100.0, 149.0, 151.0, -30.0, -260.0].map(pixels),
            [0, 1, 1, 1, 2, -1, -3]
        );
        assert_eq!(clicks(0.2, ScrollUnit::Clicks).unwrap(), 1);
    }

    #[test]
    fn refuses_an_infinite_scroll() {
        for distance in [f64::NAN, f64::INFINITY, 1e9] {
            assert!(matches!(
                clicks(distance, ScrollUnit::Clicks),
                Err(XError::Impossible(_))
            ));
        }
    }

    #[test]
    fn a_drag_passes_through_every_corner_in_small_steps() {
        let path = [(0, 0), (100, 0), (100, 3)].map(|(x, y)| Position { x, y });
        let motions = motions(&path);
        assert_eq!(motions.last(), Some(&path[2]));
        assert!(motions.contains(&path[1]));
        assert_eq!(motions.len(), 13 + 3, "the last step has three pixels");
    }

    #[test]
    fn a_drag_to_the_current_position_still_moves() {
        let here = Position { x: 5, y: 5 };
        assert_eq!(motions(&[here, here]), [here]);
    }
}
