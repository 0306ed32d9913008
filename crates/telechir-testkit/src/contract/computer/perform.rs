//! Performs actions that must succeed or fail, and waits for what a witness sees of them.

use telechir_device::{
    ActionReport, Computer, DeviceError, ScreenAction, ScreenPoint, ScreenTarget, Viewport,
};
use telechir_protocol::{Chord, Key, Point, Size};

use super::seen::{ObservedInput, StillPressed, Witness};

/// A point in the witness's pad, relative to its top left corner.
pub(super) fn point(witness: &impl Witness, x: u32, y: u32) -> ScreenPoint {
    let (left, top) = witness.pad();
    on_screen(left + x, top + y)
}

/// A pixel of the screen, which has at least that size.
pub(super) fn on_screen(x: u32, y: u32) -> ScreenPoint {
    let screen = Viewport::unscaled(Size::new(x + 1, y + 1));
    match screen.point(Point::new(x, y)) {
        Ok(point) => point,
        Err(error) => panic!("{x},{y} is on the screen: {error}"),
    }
}

pub(super) fn target(point: ScreenPoint) -> ScreenTarget {
    ScreenTarget::Point(point)
}

pub(super) const fn at(point: ScreenPoint) -> (u32, u32) {
    (point.x(), point.y())
}

pub(super) fn chord(keys: &str) -> Chord {
    Chord::parse(keys).unwrap_or_else(|| panic!("`{keys}` is a valid chord"))
}

pub(super) fn key(name: &str) -> Key {
    Key::parse(name)
}

/// Performs an action that must succeed.
pub(super) async fn perform(device: &mut impl Computer, action: ScreenAction) -> ActionReport {
    match device.perform(&action).await {
        Ok(performed) => performed,
        Err(error) => panic!("failed to {error}, on {action:?}"),
    }
}

/// Performs an action that must fail.
pub(super) async fn fail(device: &mut impl Computer, action: ScreenAction) -> DeviceError {
    match device.perform(&action).await {
        Ok(performed) => panic!("{action:?} must fail, but returned {performed:?}"),
        Err(error) => error,
    }
}

/// Waits until `presses` buttons and keys were pressed and all released, or the witness times out;
/// returns everything that was observed.
pub(super) async fn seen_all_released(
    witness: &mut impl Witness,
    presses: usize,
) -> Vec<ObservedInput> {
    let seen = witness
        .observed(&|seen| {
            let downs = seen.iter().filter(|seen| seen.is_press()).count();
            downs >= presses && StillPressed::after(seen).is_empty()
        })
        .await;
    assert!(
        StillPressed::after(&seen).is_empty(),
        "something stays pressed: {seen:?}"
    );
    seen
}
