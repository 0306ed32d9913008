//! Forms of several controls, and editors.

use super::TaskError;
use super::choosing::slide;
use super::clicking::ordinal;
use super::driver::{Driver, TaskResult};

/// Fills in a name and a password, and dismisses popups in between.
pub(super) async fn login(driver: &mut Driver) -> TaskResult {
    let (name, password) = (driver.quote(0)?, driver.quote(1)?);
    for (css, text) in [("#username", name), ("#password", password)] {
        driver.click_on(css).await?;
        if let Some(cancel) = driver.maybe("Cancel").await? {
            driver.press(&cancel).await?;
        }
        driver.fill_at(css, &text).await?;
    }
    driver.click_on("#subbtn").await
}

pub(super) async fn sequence(driver: &mut Driver) -> TaskResult {
    let wanted = driver.between("Select ", " with")?;
    let wanted = wanted.parse().map_err(|_| driver.unknown_task())?;
    slide(driver, "#slider", "#val", wanted).await?;
    let nth = ordinal(&driver.between("click the ", " checkbox")?);
    let checkbox = driver.nth("checkbox", nth).await?;
    driver.press(&checkbox).await?;
    driver.press_named("Submit").await
}

pub(super) async fn sequence_2(driver: &mut Driver) -> TaskResult {
    let nth = ordinal(&driver.between("Check the ", " radio")?);
    let radio = driver.nth("radio", nth).await?;
    driver.press(&radio).await?;
    let nth = ordinal(&driver.between("into the ", " textbox")?);
    let number = driver.quote(0)?;
    driver.fill_nth(nth, &number).await?;
    driver.press_named("Submit").await
}

/// A list that the page implements itself.
pub(super) async fn sequence_3(driver: &mut Driver) -> TaskResult {
    let name = driver.between("Choose ", " from")?;
    driver.click_on(".selectric").await?;
    let item = driver.by_name(&name).await?;
    driver.reveal(&item).await?;
    driver.press(&item).await?;
    let button = driver.quote(0)?;
    driver.press_named(&button).await
}

/// Fields are labelled, whatever the layout of the form is.
pub(super) async fn layouts(driver: &mut Driver) -> TaskResult {
    let genre = driver.between("Search for ", " movies")?;
    let director = driver.between("directed by ", " from year")?;
    let year = driver.task.split("from year ").nth(1).unwrap_or_default();
    let year = year.trim_end_matches('.').to_owned();
    let rows = driver
        .evaluate(
            "all('#area input').map(e => { while (!/Genre|Director|Year|Date/.test(e.textContent)) e = e.parentElement; \
               return e.textContent })",
        )
        .await?;
    let rows: Vec<String> =
        serde_json::from_value(rows).map_err(|error| TaskError(error.to_string()))?;
    for (nth, row) in rows.iter().enumerate() {
        let text = match row {
            row if row.contains("Genre") => &genre,
            row if row.contains("Director") => &director,
            _ => &year,
        };
        driver.fill_nth(nth, text).await?;
    }
    driver
        .click_on("#area button, #area .final, #area .ui-submit")
        .await
}

/// Types the start and selects the suggestion.
pub(super) async fn autocomplete(driver: &mut Driver) -> TaskResult {
    let start = driver.quote(0)?;
    let end = driver.quoted().get(1).cloned().unwrap_or_default();
    driver.fill_at("#tags", &start).await?;
    let fits = format!("e.textContent.startsWith({start:?}) && e.textContent.endsWith({end:?})");
    let item = format!("all('.ui-menu-item').find(e => {fits})");
    driver.until(&item).await?;
    driver.click_found(&item).await?;
    driver.until("!all('.ui-menu').length").await?;
    driver.press_named("Submit").await
}

/// Types the colour code into the field of the picker.
pub(super) async fn colour(driver: &mut Driver) -> TaskResult {
    let shown = driver
        .evaluate(
            "(() => { const c = document.createElement('canvas').getContext('2d'); \
               const box = document.querySelector('#query .cc'); \
               c.fillStyle = box ? getComputedStyle(box).backgroundColor \
                 : document.getElementById('query').textContent.match(/Select (\\w+)/)[1]; \
               return c.fillStyle })()",
        )
        .await?;
    let number = shown
        .as_str()
        .unwrap_or_default()
        .trim_start_matches('#')
        .to_uppercase();
    driver.fill_at("#col", &number).await?;
    // The picker covers the button until the field loses focus.
    driver.click((80.0, 195.0)).await?;
    driver.press_named("Submit").await
}

/// Selects with the keyboard and formats with the editor's buttons.
pub(super) async fn text_editor(driver: &mut Driver) -> TaskResult {
    driver.click_on(".ql-editor p").await?;
    if let Ok(word) = driver.between("give the text ", " the ") {
        let at = driver
            .evaluate(&format!(
                "document.querySelector('.ql-editor').textContent.indexOf({word:?})"
            ))
            .await?;
        let at = at.as_u64().and_then(|at| u32::try_from(at).ok());
        let at = at.ok_or_else(|| TaskError(format!("no {word:?}")))?;
        driver.key("ctrl+Home", 1).await?;
        if at > 0 {
            driver.key("Right", at).await?;
        }
        let length = u32::try_from(word.chars().count()).unwrap_or(u32::MAX);
        driver.key("shift+Right", length).await?;
    } else {
        driver.key("ctrl+a", 1).await?;
    }
    // The editor updates its selection with a delay.
    driver.settle().await?;
    let styles = [
        ("bold", ".ql-bold"),
        ("italics", ".ql-italic"),
        ("underlined", ".ql-underline"),
    ];
    let style = driver.task.split(" the style ").nth(1).unwrap_or_default();
    match styles.into_iter().find(|(name, _)| style.starts_with(name)) {
        Some((_, button)) => driver.click_on(button).await?,
        None => {
            let name = driver
                .task
                .split(" the color ")
                .nth(1)
                .ok_or_else(|| driver.unknown_task())?;
            let name: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
            let number = shade(&name).ok_or_else(|| driver.unknown_task())?;
            driver.click_on(".ql-color .ql-picker-label").await?;
            driver
                .click_on(&format!(".ql-picker-item[data-color=\"{number}\"]"))
                .await?;
        }
    }
    driver.press_named("Submit").await
}

/// The editor's purest shade of a colour.
fn shade(name: &str) -> Option<&'static str> {
    Some(match name {
        "red" => "#e60000",
        "orange" => "#ff9900",
        "yellow" => "#ffff00",
        "green" => "#008a00",
        "blue" => "#0066cc",
        "purple" => "#9933ff",
        _ => return None,
    })
}
