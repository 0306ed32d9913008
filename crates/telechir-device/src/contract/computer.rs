//! What every [`Computer`] owes its caller, one function a fact.
//!
//! Each function takes the device and a [`Witness`] that sits where the device's input arrives: a
//! client of the X server, a page in the browser. [`computer_contract!`](crate::computer_contract)
//! makes a test of each. Functions panic when the fact does not hold, as tests do.

mod cancel;
mod keys;
mod pointer;
mod screen;
mod seen;
mod text;

use telechir_protocol::{Chord, Key};

use crate::{ActionReport, Computer, DeviceError, ScreenAction, ScreenPoint, ScreenTarget};

pub use cancel::{
    dropping_a_drag_leaves_nothing_pressed, dropping_a_held_key_leaves_nothing_pressed,
    dropping_a_long_text_leaves_nothing_pressed, releasing_lets_go_of_everything,
};
pub use keys::{
    a_chord_goes_down_in_order_and_up_in_reverse, a_held_key_stays_down_for_its_time,
    a_key_repeats, a_key_stays_down_until_key_up, a_shortcut_with_a_capital_is_the_same_shortcut,
    keys_have_their_names, refuses_an_unknown_key_and_presses_nothing,
};
pub use pointer::{
    a_click_carries_its_modifiers, a_click_presses_and_releases_each_button,
    a_click_without_a_place_is_where_the_pointer_is, a_drag_passes_through_its_path,
    a_drag_takes_its_time, a_drag_to_one_place_starts_at_the_pointer,
    a_hover_arrives_where_it_aims, a_mouse_button_stays_down_until_mouse_up,
    a_move_arrives_where_it_aims, a_multiple_click_is_counted, a_scroll_carries_its_modifiers,
    a_scroll_turns_the_wheel_its_way,
};
pub use screen::{
    a_frame_is_as_large_as_the_screen, refuses_an_unknown_element, says_where_the_pointer_is,
    says_which_actions_it_cannot_do, settling_ends,
};
pub use seen::{Pressed, Seen, Witness};
pub use text::{
    a_text_can_replace_what_was_there, a_text_can_submit, a_text_goes_where_it_aims,
    any_character_arrives_exactly, new_lines_are_typed, plain_text_arrives_exactly,
    text_after_text_arrives_in_order,
};

/// Makes a `#[tokio::test]` of every function of [`contract::computer`](crate::contract::computer).
///
/// `$stage` is an async function that gives a device, its witness, and whatever must live as long.
#[macro_export]
macro_rules! computer_contract {
    ($stage:path) => {
        $crate::computer_contract!(@tests $stage,
            a_frame_is_as_large_as_the_screen
            says_where_the_pointer_is
            says_which_actions_it_cannot_do
            refuses_an_unknown_element
            settling_ends
            a_move_arrives_where_it_aims
            a_hover_arrives_where_it_aims
            a_click_presses_and_releases_each_button
            a_multiple_click_is_counted
            a_click_carries_its_modifiers
            a_click_without_a_place_is_where_the_pointer_is
            a_mouse_button_stays_down_until_mouse_up
            a_drag_passes_through_its_path
            a_drag_to_one_place_starts_at_the_pointer
            a_drag_takes_its_time
            a_scroll_turns_the_wheel_its_way
            a_scroll_carries_its_modifiers
            keys_have_their_names
            a_chord_goes_down_in_order_and_up_in_reverse
            a_shortcut_with_a_capital_is_the_same_shortcut
            a_key_repeats
            a_held_key_stays_down_for_its_time
            a_key_stays_down_until_key_up
            refuses_an_unknown_key_and_presses_nothing
            plain_text_arrives_exactly
            any_character_arrives_exactly
            text_after_text_arrives_in_order
            new_lines_are_typed
            a_text_goes_where_it_aims
            a_text_can_replace_what_was_there
            a_text_can_submit
            dropping_a_held_key_leaves_nothing_pressed
            dropping_a_drag_leaves_nothing_pressed
            dropping_a_long_text_leaves_nothing_pressed
            releasing_lets_go_of_everything
        );
    };
    (@tests $stage:path, $($fact:ident)*) => {$(
        #[tokio::test]
        async fn $fact() {
            let (mut device, mut witness, stage) = $stage().await;
            $crate::contract::computer::$fact(&mut device, &mut witness).await;
            $crate::Computer::close(device).await.expect("the device closes");
            drop((witness, stage));
        }
    )*};
}

/// A place in the witness's pad, counted from the pad's top left corner.
fn place(witness: &impl Witness, x: u32, y: u32) -> ScreenPoint {
    let (left, top) = witness.pad();
    ScreenPoint::new(left + x, top + y)
}

fn target(point: ScreenPoint) -> ScreenTarget {
    ScreenTarget::Point(point)
}

const fn at(point: ScreenPoint) -> (u32, u32) {
    (point.x(), point.y())
}

fn chord(keys: &str) -> Chord {
    Chord::parse(keys).unwrap_or_else(|| panic!("`{keys}` is no chord"))
}

fn key(name: &str) -> Key {
    Key::parse(name)
}

/// Carries out an action that must succeed.
async fn perform(device: &mut impl Computer, action: ScreenAction) -> ActionReport {
    match device.perform(&action).await {
        Ok(performed) => performed,
        Err(error) => panic!("failed to {error}, on {action:?}"),
    }
}

/// Carries out an action that must fail.
async fn fail(device: &mut impl Computer, action: ScreenAction) -> DeviceError {
    match device.perform(&action).await {
        Ok(performed) => panic!("{action:?} was not to succeed, but gave {performed:?}"),
        Err(error) => error,
    }
}

/// Waits until so many buttons and keys went down and all came up again, or the witness's patience
/// ends; gives everything that was seen.
async fn seen_all_released(witness: &mut impl Witness, presses: usize) -> Vec<Seen> {
    let seen = witness
        .seen(&|seen| {
            let downs = seen.iter().filter(|seen| seen.is_press()).count();
            downs >= presses && Pressed::after(seen).is_empty()
        })
        .await;
    assert!(
        Pressed::after(&seen).is_empty(),
        "something stays pressed: {seen:?}"
    );
    seen
}
