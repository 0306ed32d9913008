//! Checkboxes, lists, sliders and spinners.

use telechir_protocol::Modifier;

use super::driver::{Driver, TaskResult};

pub(super) async fn option(driver: &mut Driver) -> TaskResult {
    let name = driver.between("Select ", " and click")?;
    driver.press_named(&name).await?;
    driver.press_named("Submit").await
}

pub(super) async fn checkboxes(driver: &mut Driver) -> TaskResult {
    let names = driver.between("Select ", " and click")?;
    let boxes = driver.all("checkbox").await?;
    for name in names.split(", ") {
        for one in boxes.iter().filter(|one| one.name == name) {
            driver.press(one).await?;
        }
    }
    driver.press_named("Submit").await
}

/// Reads from the screenshot which of seven rows of four are white, and checks those.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a point in view"
)]
pub(super) async fn number_checkboxes(driver: &mut Driver) -> TaskResult {
    const EDGE: f64 = 16.0;
    let (x, y) = driver.point("aside img").await?;
    let screenshot = driver.screenshot().await?;
    let boxes = driver.all("checkbox").await?;
    for (nth, one) in boxes.iter().take(28).enumerate() {
        let (row, column) = ((nth / 4) as f64, (nth % 4) as f64);
        let (x, y) = (x + (column - 1.5) * EDGE, y + (row - 3.0) * EDGE);
        let is_white = |rgb: [u8; 3]| rgb.iter().all(|part| *part > 200);
        if screenshot.pixel(x as u32, y as u32).is_some_and(is_white) {
            driver.press(one).await?;
        }
    }
    driver.press_named("Submit").await
}

pub(super) async fn choose_list(driver: &mut Driver) -> TaskResult {
    let name = driver.between("Select ", " from the list")?;
    let list = driver.nth("combobox", 0).await?;
    driver.set(&list, name).await?;
    driver.press_named("Submit").await
}

/// Clicks the first option, and the others with ctrl.
pub(super) async fn scroll_list(driver: &mut Driver) -> TaskResult {
    let names = driver.between("Select ", " from the scroll list")?;
    let list = driver.point("#options").await?;
    for (nth, name) in names.split(", ").enumerate() {
        let option = format!("all('#options option').find(e => e.textContent === {name:?})");
        let is_hidden = format!(
            "(e => (e.getBoundingClientRect().bottom > e.parentElement.getBoundingClientRect().bottom))({option})"
        );
        if driver.evaluate(&is_hidden).await? == true {
            driver.wheel(list, 5.0).await?;
            driver.until(&format!("!{is_hidden}")).await?;
        }
        let point = driver.find(&option).await?;
        if nth == 0 {
            driver.click(point).await?;
        } else {
            driver.click_with(point, Modifier::Ctrl).await?;
        }
    }
    driver.press_named("Submit").await
}

pub(super) async fn slider(driver: &mut Driver) -> TaskResult {
    let wanted = driver.between("Select ", " with")?;
    let wanted = wanted.parse().map_err(|_| driver.unknown_task())?;
    slide(driver, "#slider", "#val", wanted).await?;
    driver.press_named("Submit").await
}

pub(super) async fn slider_2(driver: &mut Driver) -> TaskResult {
    let wanted = driver.between("[", "]")?;
    for (nth, value) in wanted.split(',').enumerate() {
        let value = value.parse().map_err(|_| driver.unknown_task())?;
        let (slider, shown) = (format!("#slider-{}", nth + 1), format!("#val-{}", nth + 1));
        slide(driver, &slider, &shown, value).await?;
    }
    driver.press_named("Submit").await
}

/// Focuses a slider by dragging its handle a little, then uses the arrow keys.
pub(super) async fn slide(
    driver: &mut Driver,
    slider: &str,
    shown: &str,
    wanted: i64,
) -> TaskResult {
    let handle = format!("{slider} .ui-slider-handle");
    let (x, y) = driver.point(&handle).await?;
    driver.drag(&[(x, y), (x + 3.0, y + 3.0)]).await?;
    for _ in 0..3 {
        let now: i64 = number(driver, shown).await?;
        let key = match wanted - now {
            0 => return Ok(()),
            1.. => "Right",
            _ => "Left",
        };
        let times = u32::try_from((wanted - now).abs()).unwrap_or(u32::MAX);
        driver.key(key, times).await?;
    }
    Ok(())
}

pub(super) async fn spinner(driver: &mut Driver) -> TaskResult {
    let wanted = driver.between("Select ", " with")?;
    let wanted: i64 = wanted.parse().map_err(|_| driver.unknown_task())?;
    let arrow = if wanted > 0 { "up" } else { "down" };
    for _ in 0..wanted.abs() {
        driver.click_on(&format!(".ui-spinner-{arrow}")).await?;
    }
    driver.press_named("Submit").await
}

/// The number that an element shows.
pub(super) async fn number(driver: &mut Driver, css: &str) -> Result<i64, super::TaskError> {
    let texts = driver.texts(css).await?;
    let number = texts.first().and_then(|text| text.parse().ok());
    number.ok_or_else(|| super::TaskError(format!("{css} is not a number: {texts:?}")))
}
