//! The pointer: moving, clicking, dragging, turning the wheel.

use std::time::Duration;

use telechir_device::{DeviceError, ScreenPoint, ScreenTarget};
use telechir_protocol::{Button, ClickCount, ScrollUnit};
use tokio::time::{Instant, sleep_until};
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;
use crate::press_guard::{Grip, Part};
use crate::wm_sync::Manager;

/// Pixels that one click of the wheel stands for, as browsers have it.
const PIXELS_PER_CLICK: f64 = 100.0;
/// More than this is a mistake, not a wish to scroll.
const MOST_CLICKS: f64 = 1000.0;
/// The longest way between two motions of a drag. Small enough for programs that want to see
/// where a drag comes along.
const DRAG_STEP: f64 = 8.0;

/// A place as the protocol counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) x: i16,
    pub(crate) y: i16,
}

impl Spot {
    /// The place a target means. Screens have points only; elements belong to pages.
    pub(crate) fn of(target: &ScreenTarget) -> Result<Self, DeviceError> {
        match target {
            ScreenTarget::Point(point) => Self::of_point(*point),
            ScreenTarget::Element { id, .. } => Err(DeviceError::Refused {
                message: format!(
                    "{id} names an element of a page, and a desktop has none; give a coordinate"
                ),
            }),
            ScreenTarget::Named(named) => Err(DeviceError::Refused {
                message: format!("The {named} cannot be found by name here; give a coordinate"),
            }),
        }
    }

    fn of_point(point: ScreenPoint) -> Result<Self, DeviceError> {
        match (i16::try_from(point.x()), i16::try_from(point.y())) {
            (Ok(x), Ok(y)) => Ok(Self { x, y }),
            _ => Err(DeviceError::Refused {
                message: format!(
                    "({}, {}) is further out than X11 can count",
                    point.x(),
                    point.y()
                ),
            }),
        }
    }
}

/// The button's number in X11.
pub(crate) const fn number(button: Button) -> Part {
    Part::Button(match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
        Button::Back => 8,
        Button::Forward => 9,
    })
}

/// Where the pointer is.
pub(crate) async fn position(connection: &Connection) -> Result<Spot, XError> {
    let pointer = connection
        .reply(connection.x().query_pointer(connection.root())?)
        .await?;
    Ok(Spot {
        x: pointer.root_x,
        y: pointer.root_y,
    })
}

/// Presses and releases a button where the pointer is.
pub(crate) fn click(grip: &mut Grip<'_>, button: Button, count: ClickCount) -> Result<(), XError> {
    let times = match count {
        ClickCount::Single => 1,
        ClickCount::Double => 2,
        ClickCount::Triple => 3,
    };
    for _ in 0..times {
        grip.tap(number(button))?;
    }
    Ok(())
}

/// Moves to the first place with the button up, through the others with it down.
pub(crate) async fn drag(
    grip: &mut Grip<'_>,
    manager: &Manager,
    path: &[Spot],
    button: Button,
    duration: Option<Duration>,
) -> Result<(), XError> {
    let Some(first) = path.first() else {
        return Ok(());
    };
    grip.move_to(first.x, first.y)?;
    grip.press(number(button))?;
    manager.wait_until_done(grip.connection()).await?;
    let motions = motions(path);
    let start = Instant::now();
    for (done, spot) in (1_u32..).zip(&motions) {
        if let Some(duration) = duration {
            let total = u32::try_from(motions.len()).unwrap_or(u32::MAX);
            grip.connection().flush()?;
            sleep_until(start + duration * done / total).await;
        }
        grip.move_to(spot.x, spot.y)?;
    }
    // What is under the pointer sees it arrive before the button comes up.
    grip.connection().sync().await?;
    grip.release(number(button))
}

/// Every place the pointer passes after the first, in steps no longer than [`DRAG_STEP`].
fn motions(path: &[Spot]) -> Vec<Spot> {
    let mut motions = Vec::new();
    for leg in path.windows(2) {
        let (from, to) = (leg[0], leg[1]);
        let (dx, dy) = (
            f64::from(to.x) - f64::from(from.x),
            f64::from(to.y) - f64::from(from.y),
        );
        let steps = (dx.hypot(dy) / DRAG_STEP).ceil().max(1.0);
        let mut step = 1.0;
        while step <= steps {
            let part = step / steps;
            motions.push(Spot {
                x: along(from.x, dx * part),
                y: along(from.y, dy * part),
            });
            step += 1.0;
        }
    }
    motions
}

fn along(from: i16, distance: f64) -> i16 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "between two places that are i16"
    )]
    let place = (f64::from(from) + distance).round() as i16;
    place
}

/// Turns the wheel: down and right are positive.
///
/// A wheel has whole clicks only. Pixels are rounded to the nearest click of 100, and whatever is
/// not nothing is at least one. What rounding leaves over is forgotten, so the same action does
/// the same wherever it comes.
pub(crate) fn scroll(
    grip: &mut Grip<'_>,
    dx: f64,
    dy: f64,
    unit: ScrollUnit,
) -> Result<(), XError> {
    // Buttons 4 to 7: up, down, left, right.
    let (across, down) = (clicks(dx, unit)?, clicks(dy, unit)?);
    for (distance, back, forth) in [(down, 4, 5), (across, 6, 7)] {
        let button = if distance < 0 { back } else { forth };
        for _ in 0..distance.unsigned_abs() {
            grip.tap(Part::Button(button))?;
        }
    }
    Ok(())
}

fn clicks(distance: f64, unit: ScrollUnit) -> Result<i32, XError> {
    let clicks = match unit {
        ScrollUnit::Clicks => distance,
        ScrollUnit::Pixels => distance / PIXELS_PER_CLICK,
        ScrollUnit::Thousandths => {
            return Err(XError::Impossible(
                "scroll in clicks or pixels on a desktop".to_owned(),
            ));
        }
    };
    if !clicks.is_finite() || clicks.abs() > MOST_CLICKS {
        return Err(XError::Impossible(format!(
            "a scroll of {distance} is too far; {MOST_CLICKS} clicks of the wheel are the most"
        )));
    }
    if clicks == 0.0 {
        return Ok(0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most a thousand")]
    let whole = clicks.abs().round().max(1.0) as i32;
    Ok(if clicks < 0.0 { -whole } else { whole })
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
    fn refuses_a_scroll_without_end() {
        for distance in [f64::NAN, f64::INFINITY, 1e9] {
            assert!(matches!(
                clicks(distance, ScrollUnit::Clicks),
                Err(XError::Impossible(_))
            ));
        }
    }

    #[test]
    fn a_drag_passes_through_every_corner_in_small_steps() {
        let path = [(0, 0), (100, 0), (100, 3)].map(|(x, y)| Spot { x, y });
        let motions = motions(&path);
        assert_eq!(motions.last(), Some(&path[2]));
        assert!(motions.contains(&path[1]));
        assert_eq!(motions.len(), 13 + 1);
    }

    #[test]
    fn a_drag_to_where_it_is_still_moves() {
        let here = Spot { x: 5, y: 5 };
        assert_eq!(motions(&[here, here]), [here]);
    }
}
