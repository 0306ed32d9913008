//! Text arrives exactly as written.

use telechir_device::{Computer, ScreenAction, ScreenTarget};
use telechir_protocol::{Action, NamedKey};

use super::perform::{on_screen, perform, target};
use super::seen::{ObservedInput, Witness};

/// Several scripts, both directions, combining marks, joined and astral characters.
const WORLD: &str = "Grüße, naïve façade – “quotes” … €100 ½ | Ελληνικά | Привет, мир | עברית | \
                     العربية | हिन्दी | ไทย | 中文汉字 | 日本語かなカナ | 한국어 | e\u{301}a\u{308} | \
                     𝒳𝔘 | 👩‍💻🇪🇺😀 | ∑√∞≠ | ẞß İı";

fn type_text(text: &str) -> ScreenAction {
    Action::Type {
        text: text.to_owned(),
        at: None,
        clear_first: false,
        submit: false,
    }
}

fn field(witness: &impl Witness) -> ScreenTarget {
    let (x, y) = witness.field();
    target(on_screen(x, y))
}

/// Focuses the text field.
async fn enter(device: &mut impl Computer, witness: &mut impl Witness) {
    let at = Some(field(witness));
    let nothing = String::new();
    perform(
        device,
        Action::Type {
            text: nothing,
            at,
            clear_first: false,
            submit: false,
        },
    )
    .await;
    witness.forget().await;
}

async fn check(device: &mut impl Computer, witness: &mut impl Witness, text: &str) {
    enter(device, witness).await;
    perform(device, type_text(text)).await;
    assert_eq!(witness.text(text).await, text);
}

/// The characters of an ordinary keyboard.
pub async fn plain_text_arrives_exactly(device: &mut impl Computer, witness: &mut impl Witness) {
    let text =
        "The quick brown fox, \"JUMPS\" over {the} lazy-dog; 0123456789 ~!@#$%^&*()_+|\\<>?/'`";
    check(device, witness, text).await;
}

/// Characters that no single keyboard has.
pub async fn any_character_arrives_exactly(device: &mut impl Computer, witness: &mut impl Witness) {
    check(device, witness, WORLD).await;
}

/// Actions in quick succession neither mix nor lose text.
pub async fn text_after_text_arrives_in_order(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    enter(device, witness).await;
    let pieces = ["αβγδ", "plain", "漢字仮名", "žščř", "end."];
    for piece in pieces {
        perform(device, type_text(piece)).await;
    }
    let complete = pieces.concat();
    assert_eq!(witness.text(&complete).await, complete);
}

/// A newline in the text is Enter.
pub async fn newlines_are_typed_as_enter(device: &mut impl Computer, witness: &mut impl Witness) {
    check(device, witness, "first\nsecond\n\nfourth").await;
}

/// Text with a target goes there.
pub async fn text_goes_to_its_target(device: &mut impl Computer, witness: &mut impl Witness) {
    let at = Some(field(witness));
    let text = "aimed".to_owned();
    perform(
        device,
        Action::Type {
            text,
            at,
            clear_first: false,
            submit: false,
        },
    )
    .await;
    assert_eq!(witness.text("aimed").await, "aimed");
}

/// With `clear_first`, the new text replaces all text; also if it is empty.
pub async fn text_can_replace_existing_text(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    enter(device, witness).await;
    perform(device, type_text("old words")).await;
    assert_eq!(witness.text("old words").await, "old words");
    for text in ["new", ""] {
        let action = Action::Type {
            text: text.to_owned(),
            at: None,
            clear_first: true,
            submit: false,
        };
        perform(device, action).await;
        assert_eq!(witness.text(text).await, text);
    }
}

/// `submit` presses Enter after the text.
pub async fn a_text_can_submit(device: &mut impl Computer, witness: &mut impl Witness) {
    enter(device, witness).await;
    let text = "go".to_owned();
    perform(
        device,
        Action::Type {
            text,
            at: None,
            clear_first: false,
            submit: true,
        },
    )
    .await;
    let enter = ObservedInput::KeyDown {
        key: telechir_protocol::Key::Named(NamedKey::Enter),
    };
    let seen = witness.observed(&|seen| seen.contains(&enter)).await;
    assert!(seen.contains(&enter), "{seen:?}");
    assert_eq!(witness.text("go\n").await, "go\n");
}
