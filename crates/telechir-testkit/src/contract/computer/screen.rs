//! Captures the screen, and reports unsupported actions.

use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError, ScreenTarget, Settle};
use telechir_protocol::{Action, ActionKind, Button, ClickCount};

use super::perform::{at, fail, perform, point, target};
use super::seen::Witness;

/// The frame and the size agree.
pub async fn a_frame_is_as_large_as_the_screen(
    device: &mut impl Computer,
    _witness: &mut impl Witness,
) {
    match device.capture().await {
        Ok(frame) => assert_eq!(frame.size(), device.size()),
        Err(error) => panic!("failed to {error}"),
    }
}

/// A moved pointer reports its position as `X=…,Y=…`.
pub async fn reports_the_pointer_position(device: &mut impl Computer, witness: &mut impl Witness) {
    if !device.supports(&ActionKind::CursorPosition) {
        return;
    }
    let pixel = point(witness, 21, 43);
    perform(device, Action::Move { at: target(pixel) }).await;
    let performed = perform(device, Action::CursorPosition).await;
    let (x, y) = at(pixel);
    assert_eq!(performed.text, Some(format!("X={x},Y={y}")));
}

/// An unsupported action is answered with an error that says so.
pub async fn reports_unsupported_actions(device: &mut impl Computer, witness: &mut impl Witness) {
    assert!(
        !device.supports(&ActionKind::LongPress),
        "the computers under test are not mobile"
    );
    let touch = Action::LongPress {
        at: target(point(witness, 30, 30)),
        duration: None,
    };
    let error = fail(device, touch).await;
    assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
}

/// An unknown element is an error, not a click somewhere else.
pub async fn refuses_an_unknown_element(device: &mut impl Computer, witness: &mut impl Witness) {
    let element = ScreenTarget::Element {
        id: "ref_of_nothing".to_owned(),
        frame: None,
    };
    let click = Action::Click {
        at: Some(element),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: Vec::new(),
    };
    let error = fail(device, click).await;
    let is_reported = matches!(
        error,
        DeviceError::Refused { .. } | DeviceError::Stale { .. }
    );
    assert!(is_reported, "{error}");
    let seen = witness.observed(&|_| true).await;
    assert!(!seen.iter().any(super::ObservedInput::is_press), "{seen:?}");
}

/// Settling ends, whether the screen is still or not.
pub async fn settling_ends(device: &mut impl Computer, _witness: &mut impl Witness) {
    let settle = Settle {
        quiet: Duration::from_millis(50),
        ceiling: Duration::from_secs(2),
    };
    let start = Instant::now();
    if let Err(error) = device.settle(settle).await {
        panic!("failed to {error}");
    }
    let took = start.elapsed();
    assert!(took < settle.ceiling * 3, "it took {took:?}");
}
