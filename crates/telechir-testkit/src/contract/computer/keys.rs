//! Keys and chords arrive as requested.

use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError};
use telechir_protocol::{Action, Chord, Key, Modifier};

use super::perform::{chord, fail, key, perform, seen_all_released};
use super::seen::{ObservedInput, StillPressed, Witness, is_same_key};

fn downs(seen: &[ObservedInput]) -> Vec<Key> {
    let down = |seen: &ObservedInput| {
        let ObservedInput::KeyDown { key } = seen else {
            return None;
        };
        Some(key.clone())
    };
    seen.iter().filter_map(down).collect()
}

fn ups(seen: &[ObservedInput]) -> Vec<Key> {
    let up = |seen: &ObservedInput| {
        let ObservedInput::KeyUp { key } = seen else {
            return None;
        };
        Some(key.clone())
    };
    seen.iter().filter_map(up).collect()
}

fn are_same(one: &[Key], other: &[Key]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| is_same_key(one, other))
}

async fn press(device: &mut impl Computer, keys: Chord, repeat: u32) {
    perform(
        device,
        Action::Key {
            chord: keys,
            repeat,
        },
    )
    .await;
}

/// A key arrives under its name, whatever spelling requested it.
pub async fn keys_have_their_names(device: &mut impl Computer, witness: &mut impl Witness) {
    let names = [
        "Return",
        "Page_Down",
        "Left",
        "BackSpace",
        "Delete",
        "F5",
        "Home",
        "a",
        "7",
        "/",
    ];
    for name in names {
        witness.forget().await;
        press(device, chord(name), 1).await;
        let seen = seen_all_released(witness, 1).await;
        assert_eq!(downs(&seen), [key(name)], "{name}");
    }
}

/// Keys are pressed in order and released in reverse.
pub async fn a_chord_goes_down_in_order_and_up_in_reverse(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    press(device, chord("ctrl+shift+k"), 1).await;
    let seen = seen_all_released(witness, 3).await;
    let order = [
        Key::Modifier(Modifier::Ctrl),
        Key::Modifier(Modifier::Shift),
        Key::Char('k'),
    ];
    assert!(are_same(&downs(&seen), &order), "{seen:?}");
    let mut reverse = order;
    reverse.reverse();
    assert!(are_same(&ups(&seen), &reverse), "{seen:?}");
}

/// Some spell `ctrl+j` as `CTRL+J`: no Shift is meant.
pub async fn a_shortcut_with_a_capital_is_the_same_shortcut(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    press(device, chord("CTRL+J"), 1).await;
    let seen = seen_all_released(witness, 2).await;
    assert_eq!(
        downs(&seen),
        [Key::Modifier(Modifier::Ctrl), Key::Char('j')]
    );
}

/// The requested number of times, each with a release.
pub async fn a_key_repeats(device: &mut impl Computer, witness: &mut impl Witness) {
    press(device, chord("x"), 3).await;
    let seen = seen_all_released(witness, 3).await;
    assert_eq!(downs(&seen), vec![Key::Char('x'); 3]);
    assert_eq!(ups(&seen), vec![Key::Char('x'); 3]);
}

/// A held key is pressed for its duration and released after it.
pub async fn a_key_hold_lasts_its_duration(device: &mut impl Computer, witness: &mut impl Witness) {
    let duration = Duration::from_millis(300);
    let start = Instant::now();
    perform(
        device,
        Action::HoldKey {
            chord: chord("shift"),
            duration,
        },
    )
    .await;
    let took = start.elapsed();
    assert!(took >= duration, "it took {took:?}");
    let seen = seen_all_released(witness, 1).await;
    assert_eq!(ups(&seen), [Key::Modifier(Modifier::Shift)]);
}

/// `KeyDown` is meant to last over other actions.
pub async fn a_key_stays_down_until_key_up(device: &mut impl Computer, witness: &mut impl Witness) {
    let shift = Key::Modifier(Modifier::Shift);
    perform(
        device,
        Action::KeyDown {
            chord: chord("shift"),
        },
    )
    .await;
    press(device, chord("Right"), 1).await;
    let seen = witness
        .observed(&|seen| ups(seen).contains(&key("Right")))
        .await;
    assert_eq!(StillPressed::after(&seen).keys, [shift], "{seen:?}");
    perform(
        device,
        Action::KeyUp {
            chord: chord("shift"),
        },
    )
    .await;
    seen_all_released(witness, 2).await;
}

/// An unknown key name is reported, and the chord's other keys are not pressed.
pub async fn refuses_an_unknown_key_and_presses_nothing(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let error = fail(
        device,
        Action::Key {
            chord: chord("ctrl+hyperspace"),
            repeat: 1,
        },
    )
    .await;
    let DeviceError::Refused { message } = error else {
        panic!("{error}")
    };
    assert!(message.to_lowercase().contains("hyperspace"), "{message}");
    let seen = witness.observed(&|_| true).await;
    assert_eq!(downs(&seen), []);
}
