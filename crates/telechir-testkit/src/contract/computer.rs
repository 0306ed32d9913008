//! The contract of every [`Computer`], one test function per fact.
//!
//! Each function takes the device and a [`Witness`] at the destination of the device's input: a
//! client of the X server, a page in the browser. [`computer_contract!`](crate::computer_contract)
//! makes a test of each. Functions panic when the fact does not hold, as tests do.

mod cancel;
mod keys;
mod perform;
mod pointer;
mod screen;
mod seen;
mod text;

use telechir_device::Computer;

pub use cancel::{
    dropping_a_drag_leaves_nothing_pressed, dropping_a_key_hold_leaves_nothing_pressed,
    dropping_a_long_text_leaves_nothing_pressed, release_inputs_releases_everything,
};
pub use keys::{
    a_chord_goes_down_in_order_and_up_in_reverse, a_key_hold_lasts_its_duration, a_key_repeats,
    a_key_stays_down_until_key_up, a_shortcut_with_a_capital_is_the_same_shortcut,
    keys_have_their_names, refuses_an_unknown_key_and_presses_nothing,
};
pub use pointer::{
    a_click_carries_its_modifiers, a_click_presses_and_releases_each_button,
    a_click_without_a_target_is_at_the_pointer, a_drag_lasts_its_duration,
    a_drag_passes_through_its_path, a_drag_with_one_point_starts_at_the_pointer,
    a_hover_arrives_at_its_target, a_mouse_button_stays_down_until_mouse_up,
    a_move_arrives_at_its_target, a_multiple_click_is_counted, a_scroll_carries_its_modifiers,
    a_scroll_turns_the_wheel_in_its_direction,
};
pub use screen::{
    a_frame_is_as_large_as_the_screen, refuses_an_unknown_element, reports_the_pointer_position,
    reports_unsupported_actions, settling_ends,
};
pub use seen::{ObservedInput, StillPressed, Witness};
pub use text::{
    a_text_can_submit, any_character_arrives_exactly, newlines_are_typed_as_enter,
    plain_text_arrives_exactly, text_after_text_arrives_in_order, text_can_replace_existing_text,
    text_goes_to_its_target,
};

/// Makes a `#[tokio::test]` of every function of [`contract::computer`](crate::contract::computer).
///
/// `$stage` is an async function that returns a device, its witness, and a guard that keeps both
/// alive.
#[macro_export]
macro_rules! computer_contract {
    ($stage:path) => {
        $crate::computer_contract!(@tests $stage,
            a_frame_is_as_large_as_the_screen
            reports_the_pointer_position
            reports_unsupported_actions
            refuses_an_unknown_element
            settling_ends
            a_move_arrives_at_its_target
            a_hover_arrives_at_its_target
            a_click_presses_and_releases_each_button
            a_multiple_click_is_counted
            a_click_carries_its_modifiers
            a_click_without_a_target_is_at_the_pointer
            a_mouse_button_stays_down_until_mouse_up
            a_drag_passes_through_its_path
            a_drag_with_one_point_starts_at_the_pointer
            a_drag_lasts_its_duration
            a_scroll_turns_the_wheel_in_its_direction
            a_scroll_carries_its_modifiers
            keys_have_their_names
            a_chord_goes_down_in_order_and_up_in_reverse
            a_shortcut_with_a_capital_is_the_same_shortcut
            a_key_repeats
            a_key_hold_lasts_its_duration
            a_key_stays_down_until_key_up
            refuses_an_unknown_key_and_presses_nothing
            plain_text_arrives_exactly
            any_character_arrives_exactly
            text_after_text_arrives_in_order
            newlines_are_typed_as_enter
            text_goes_to_its_target
            text_can_replace_existing_text
            a_text_can_submit
            dropping_a_key_hold_leaves_nothing_pressed
            dropping_a_drag_leaves_nothing_pressed
            dropping_a_long_text_leaves_nothing_pressed
            release_inputs_releases_everything
        );
    };
    (@tests $stage:path, $($fact:ident)*) => {$(
        #[tokio::test]
        async fn $fact() {
            let (mut device, mut witness, stage) = $stage().await;
            $crate::contract::computer::$fact(&mut device, &mut witness).await;
            $crate::contract::computer::close(device).await;
            drop((witness, stage));
        }
    )*};
}

/// Closes a device, which must succeed.
pub async fn close(device: impl Computer) {
    if let Err(error) = Box::new(device).close().await {
        panic!("failed to close the device: {error}");
    }
}
