//! Boxes, lists, sliders and spinners.

use telechir_protocol::Modifier;

use super::driver::{Done, Hand};

pub(super) async fn option(hand: &mut Hand) -> Done {
    let name = hand.between("Select ", " and click")?;
    hand.press_named(&name).await?;
    hand.press_named("Submit").await
}

pub(super) async fn checkboxes(hand: &mut Hand) -> Done {
    let names = hand.between("Select ", " and click")?;
    let boxes = hand.all("checkbox").await?;
    for name in names.split(", ") {
        for one in boxes.iter().filter(|one| one.name == name) {
            hand.press(one).await?;
        }
    }
    hand.press_named("Submit").await
}

/// Reads off the picture which of seven rows of four are white, and checks those.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place of a page in view"
)]
pub(super) async fn number_checkboxes(hand: &mut Hand) -> Done {
    const EDGE: f64 = 16.0;
    let (x, y) = hand.place("aside img").await?;
    let screenshot = hand.screenshot().await?;
    let boxes = hand.all("checkbox").await?;
    for (nth, one) in boxes.iter().take(28).enumerate() {
        let (row, column) = ((nth / 4) as f64, (nth % 4) as f64);
        let (x, y) = (x + (column - 1.5) * EDGE, y + (row - 3.0) * EDGE);
        let is_white = |rgb: [u8; 3]| rgb.iter().all(|part| *part > 200);
        if screenshot.pixel(x as u32, y as u32).is_some_and(is_white) {
            hand.press(one).await?;
        }
    }
    hand.press_named("Submit").await
}

pub(super) async fn choose_list(hand: &mut Hand) -> Done {
    let name = hand.between("Select ", " from the list")?;
    let list = hand.nth("combobox", 0).await?;
    hand.set(&list, name).await?;
    hand.press_named("Submit").await
}

/// The first is clicked, each other with the control key held.
pub(super) async fn scroll_list(hand: &mut Hand) -> Done {
    let names = hand.between("Select ", " from the scroll list")?;
    let list = hand.place("#options").await?;
    for (nth, name) in names.split(", ").enumerate() {
        let option = format!("all('#options option').find(e => e.textContent === {name:?})");
        let is_hidden = format!(
            "(e => (e.getBoundingClientRect().bottom > e.parentElement.getBoundingClientRect().bottom))({option})"
        );
        if hand.look(&is_hidden).await? == true {
            hand.wheel(list, 5.0).await?;
            hand.until(&format!("!{is_hidden}")).await?;
        }
        let place = hand.find(&option).await?;
        if nth == 0 {
            hand.click(place).await?;
        } else {
            hand.click_with(place, Modifier::Ctrl).await?;
        }
    }
    hand.press_named("Submit").await
}

pub(super) async fn slider(hand: &mut Hand) -> Done {
    let wanted = hand.between("Select ", " with")?;
    let wanted = wanted.parse().map_err(|_| hand.unread())?;
    slide(hand, "#slider", "#val", wanted).await?;
    hand.press_named("Submit").await
}

pub(super) async fn slider_2(hand: &mut Hand) -> Done {
    let wanted = hand.between("[", "]")?;
    for (nth, value) in wanted.split(',').enumerate() {
        let value = value.parse().map_err(|_| hand.unread())?;
        let (slider, shown) = (format!("#slider-{}", nth + 1), format!("#val-{}", nth + 1));
        slide(hand, &slider, &shown, value).await?;
    }
    hand.press_named("Submit").await
}

/// Drags a slider's handle a little, to have the keyboard on it, and goes on with the arrow keys.
pub(super) async fn slide(hand: &mut Hand, slider: &str, shown: &str, wanted: i64) -> Done {
    let handle = format!("{slider} .ui-slider-handle");
    let (x, y) = hand.place(&handle).await?;
    hand.drag(&[(x, y), (x + 3.0, y + 3.0)]).await?;
    for _ in 0..3 {
        let now: i64 = number(hand, shown).await?;
        let key = match wanted - now {
            0 => return Ok(()),
            1.. => "Right",
            _ => "Left",
        };
        let times = u32::try_from((wanted - now).abs()).unwrap_or(u32::MAX);
        hand.key(key, times).await?;
    }
    Ok(())
}

pub(super) async fn spinner(hand: &mut Hand) -> Done {
    let wanted = hand.between("Select ", " with")?;
    let wanted: i64 = wanted.parse().map_err(|_| hand.unread())?;
    let arrow = if wanted > 0 { "up" } else { "down" };
    for _ in 0..wanted.abs() {
        hand.click_on(&format!(".ui-spinner-{arrow}")).await?;
    }
    hand.press_named("Submit").await
}

/// The number that an element shows.
pub(super) async fn number(hand: &mut Hand, css: &str) -> Result<i64, super::Trouble> {
    let texts = hand.texts(css).await?;
    let number = texts.first().and_then(|text| text.parse().ok());
    number.ok_or_else(|| super::Trouble(format!("{css} is no number: {texts:?}")))
}
