//! Buttons, links and other elements that need one click or a few.

use std::time::Duration;

use tokio::time::sleep;

use super::driver::{Driver, TaskResult};

pub(super) async fn test(driver: &mut Driver) -> TaskResult {
    driver.press_named("Click Me!").await
}

pub(super) async fn test_2(driver: &mut Driver) -> TaskResult {
    driver.press_named("ONE").await
}

pub(super) async fn quoted_button(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    driver.press_named(&name).await
}

/// The two buttons may overlap: a ref is clicked where it is hit.
pub(super) async fn button_sequence(driver: &mut Driver) -> TaskResult {
    driver.press_named("ONE").await?;
    driver.press_named("TWO").await
}

pub(super) async fn button_delay(driver: &mut Driver) -> TaskResult {
    let seconds = driver.between("wait ", " seconds")?;
    let seconds = seconds.parse().map_err(|_| driver.unknown_task())?;
    let two = driver.by_name("TWO").await?;
    driver.press_named("ONE").await?;
    sleep(Duration::from_secs(seconds)).await;
    driver.press(&two).await
}

pub(super) async fn dialog(driver: &mut Driver) -> TaskResult {
    let close = driver.nth("button", 0).await?;
    driver.press(&close).await
}

pub(super) async fn dialog_2(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    let name = if name == "x" { "Close" } else { &name };
    driver.press_named(name).await
}

pub(super) async fn link(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    driver.press_named(&name).await
}

pub(super) async fn widget(driver: &mut Driver) -> TaskResult {
    let kind = driver.quote(0)?;
    driver.click_on(&format!("#area [data-type={kind}]")).await
}

pub(super) async fn focus(driver: &mut Driver) -> TaskResult {
    let field = driver.nth("textbox", 0).await?;
    driver.press(&field).await
}

pub(super) async fn focus_2(driver: &mut Driver) -> TaskResult {
    let nth = driver.between("into the ", " input")?;
    let field = driver.nth("textbox", ordinal(&nth)).await?;
    driver.press(&field).await
}

/// The pie opens by a click in its middle and grows for a while.
pub(super) async fn pie(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    driver
        .click_found("all('#divWheel text').find(e => e.textContent === '+')")
        .await?;
    let wanted = format!(
        "all('#divWheel text').find(e => e.textContent === {name:?} && getComputedStyle(e).opacity > 0.9)"
    );
    for _ in 0..5 {
        driver.until(&wanted).await?;
        driver.until_still("#divWheel text").await?;
        driver.click_found(&wanted).await?;
        // A growing element does not react.
        sleep(Duration::from_millis(100)).await;
        if driver.evaluate("WOB_DONE_GLOBAL").await? == true {
            break;
        }
    }
    Ok(())
}

/// The index of `1st` and so on.
pub(super) fn ordinal(text: &str) -> usize {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<usize>().unwrap_or(1).saturating_sub(1)
}
