//! Buttons, links and other things that want one click or a few.

use std::time::Duration;

use tokio::time::sleep;

use super::driver::{Done, Hand};

pub(super) async fn test(hand: &mut Hand) -> Done {
    hand.press_named("Click Me!").await
}

pub(super) async fn test_2(hand: &mut Hand) -> Done {
    hand.press_named("ONE").await
}

pub(super) async fn quoted_button(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    hand.press_named(&name).await
}

/// The two may lie over each other: a ref is clicked where it is hit.
pub(super) async fn button_sequence(hand: &mut Hand) -> Done {
    hand.press_named("ONE").await?;
    hand.press_named("TWO").await
}

pub(super) async fn button_delay(hand: &mut Hand) -> Done {
    let seconds = hand.between("wait ", " seconds")?;
    let seconds = seconds.parse().map_err(|_| hand.unread())?;
    let two = hand.named("TWO").await?;
    hand.press_named("ONE").await?;
    sleep(Duration::from_secs(seconds)).await;
    hand.press(&two).await
}

pub(super) async fn dialog(hand: &mut Hand) -> Done {
    let close = hand.nth("button", 0).await?;
    hand.press(&close).await
}

pub(super) async fn dialog_2(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    let name = if name == "x" { "Close" } else { &name };
    hand.press_named(name).await
}

pub(super) async fn link(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    hand.press_named(&name).await
}

pub(super) async fn widget(hand: &mut Hand) -> Done {
    let kind = hand.quote(0)?;
    hand.click_on(&format!("#area [data-type={kind}]")).await
}

pub(super) async fn focus(hand: &mut Hand) -> Done {
    let field = hand.nth("textbox", 0).await?;
    hand.press(&field).await
}

pub(super) async fn focus_2(hand: &mut Hand) -> Done {
    let nth = hand.between("into the ", " input")?;
    let field = hand.nth("textbox", ordinal(&nth)).await?;
    hand.press(&field).await
}

/// The pie opens at a click in its middle and grows for a while.
pub(super) async fn pie(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    hand.click_found("all('#divWheel text').find(e => e.textContent === '+')")
        .await?;
    let wanted = format!(
        "all('#divWheel text').find(e => e.textContent === {name:?} && getComputedStyle(e).opacity > 0.9)"
    );
    for _ in 0..5 {
        hand.until(&wanted).await?;
        hand.at_rest("#divWheel text").await?;
        hand.click_found(&wanted).await?;
        // What still grows does not hear.
        sleep(Duration::from_millis(100)).await;
        if hand.look("WOB_DONE_GLOBAL").await? == true {
            break;
        }
    }
    Ok(())
}

/// `1st` and so on, counted from zero.
pub(super) fn ordinal(words: &str) -> usize {
    let digits: String = words.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<usize>().unwrap_or(1).saturating_sub(1)
}
