//! Texts of results that the provider does not prescribe. Decoding drops the confirmations.

use telechir_protocol::Action;

const CLICKED: &str = "Clicked.";
const MOVED: &str = "Moved the pointer.";
const PRESSED: &str = "Pressed the button.";
const RELEASED: &str = "Released the button.";
const DRAGGED: &str = "Dragged.";
const SCROLLED: &str = "Scrolled.";
const TYPED: &str = "Typed.";
const KEY: &str = "Pressed the keys.";
const WAITED: &str = "Waited.";
const DONE: &str = "Done.";
/// Result of a tab member when the device reports no tabs.
pub(super) const NO_TABS: &str = "Done, but the open tabs are unknown.";
/// Result of an action in a batch that has a single result.
pub(super) const WITH_THE_LAST: &str = "Answered together with the last action of this batch.";

/// Text of a result that has neither text nor image.
pub(super) fn confirmation(action: Option<&Action>) -> &'static str {
    match action {
        Some(Action::Click { .. } | Action::LongPress { .. }) => CLICKED,
        Some(Action::Move { .. } | Action::Hover { .. }) => MOVED,
        Some(Action::MouseDown { .. }) => PRESSED,
        Some(Action::MouseUp { .. }) => RELEASED,
        Some(Action::Drag { .. }) => DRAGGED,
        Some(Action::Scroll { .. } | Action::ScrollTo { .. }) => SCROLLED,
        Some(Action::Type { .. }) => TYPED,
        Some(Action::Key { .. } | Action::HoldKey { .. }) => KEY,
        Some(Action::Wait { .. }) => WAITED,
        Some(_) | None => DONE,
    }
}

/// Whether a text is one of these confirmations.
pub(super) fn is_confirmation(text: &str) -> bool {
    [
        CLICKED,
        MOVED,
        PRESSED,
        RELEASED,
        DRAGGED,
        SCROLLED,
        TYPED,
        KEY,
        WAITED,
        DONE,
        WITH_THE_LAST,
    ]
    .contains(&text)
}
