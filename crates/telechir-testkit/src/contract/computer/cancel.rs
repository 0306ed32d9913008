//! Nothing stays pressed when an action is cancelled.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use telechir_device::{Computer, ScreenAction};
use telechir_protocol::{Action, Button};

use super::perform::{chord, key, perform, point, seen_all_released, target};
use super::seen::{ObservedInput, StillPressed, Witness};

/// Starts an action and drops its future as soon as the witness observed `started`.
async fn break_off(
    device: &mut impl Computer,
    witness: &mut impl Witness,
    action: ScreenAction,
    started: &(dyn Fn(&[ObservedInput]) -> bool + Sync),
) {
    let mut performing = pin!(device.perform(&action));
    let mut seeing = pin!(witness.observed(started));
    let seen = poll_fn(|context| {
        if let Poll::Ready(outcome) = performing.as_mut().poll(context) {
            panic!("it ended before it could be cancelled: {outcome:?}");
        }
        seeing.as_mut().poll(context)
    });
    let seen = seen.await;
    assert!(started(&seen), "it never started: {seen:?}");
}

async fn check_all_up(witness: &mut impl Witness) {
    let seen = witness
        .observed(&|seen| StillPressed::after(seen).is_empty())
        .await;
    assert!(
        StillPressed::after(&seen).is_empty(),
        "something stays pressed: {seen:?}"
    );
}

/// A held key is released when the future is dropped.
pub async fn dropping_a_key_hold_leaves_nothing_pressed(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let hold = Action::HoldKey {
        chord: chord("ctrl+shift"),
        duration: Duration::from_secs(3600),
    };
    break_off(device, witness, hold, &|seen| {
        StillPressed::after(seen).keys.len() == 2
    })
    .await;
    check_all_up(witness).await;
}

/// The button of a drag is released when the future is dropped.
pub async fn dropping_a_drag_leaves_nothing_pressed(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let path = [(10, 10), (310, 210)]
        .map(|(x, y)| target(point(witness, x, y)))
        .to_vec();
    let duration = Some(Duration::from_secs(3600));
    let modifiers = vec![telechir_protocol::Modifier::Shift];
    let drag = Action::Drag {
        path,
        button: Button::Left,
        modifiers,
        duration,
    };
    break_off(device, witness, drag, &|seen| {
        !StillPressed::after(seen).buttons.is_empty()
    })
    .await;
    check_all_up(witness).await;
}

/// At any point of the text, dropping the future leaves no key pressed, and the next action works.
pub async fn dropping_a_long_text_leaves_nothing_pressed(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let text = "Ж漢A z".repeat(20_000);
    let typing = Action::Type {
        text,
        at: None,
        clear_first: false,
        submit: false,
    };
    {
        let mut performing = pin!(device.perform(&typing));
        let mut seeing = pin!(witness.observed(&|seen| seen.iter().any(ObservedInput::is_press)));
        // A device that sends the text at once may be done before anything is observed.
        let either = poll_fn(|context| {
            if performing.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            seeing.as_mut().poll(context).map(drop)
        });
        either.await;
    }
    check_all_up(witness).await;
    witness.forget().await;
    perform(
        device,
        Action::Key {
            chord: chord("F9"),
            repeat: 1,
        },
    )
    .await;
    let seen = seen_all_released(witness, 1).await;
    let f9 = ObservedInput::KeyDown { key: key("F9") };
    assert!(seen.contains(&f9), "{seen:?}");
}

/// `release_inputs` releases what `KeyDown` and `MouseDown` pressed.
pub async fn release_inputs_releases_everything(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let at = Some(target(point(witness, 70, 70)));
    perform(
        device,
        Action::KeyDown {
            chord: chord("ctrl+alt"),
        },
    )
    .await;
    perform(
        device,
        Action::MouseDown {
            at,
            button: Button::Right,
        },
    )
    .await;
    let is_started = |seen: &[ObservedInput]| {
        let pressed = StillPressed::after(seen);
        pressed.keys.len() == 2 && pressed.buttons.len() == 1
    };
    let seen = witness.observed(&is_started).await;
    assert!(is_started(&seen), "{seen:?}");
    if let Err(error) = device.release_inputs().await {
        panic!("failed to {error}");
    }
    check_all_up(witness).await;
}
