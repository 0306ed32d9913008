//! Text fields, and text that must be read first.

use super::TaskError;
use super::clicking::ordinal;
use super::driver::{Driver, TaskResult};

pub(super) async fn text(driver: &mut Driver) -> TaskResult {
    let text = driver.quote(0)?;
    driver.fill_nth(0, &text).await?;
    driver.press_named("Submit").await
}

pub(super) async fn text_2(driver: &mut Driver) -> TaskResult {
    let text = driver.quote(0)?;
    let text = if driver.task.contains("upper case") {
        text.to_uppercase()
    } else {
        text.to_lowercase()
    };
    driver.fill_nth(0, &text).await?;
    driver.press_named("Submit").await
}

pub(super) async fn password(driver: &mut Driver) -> TaskResult {
    let password = driver.quote(0)?;
    driver.fill_nth(0, &password).await?;
    driver.fill_nth(1, &password).await?;
    driver.press_named("Submit").await
}

pub(super) async fn find_word(driver: &mut Driver) -> TaskResult {
    let nth = ordinal(&driver.between("Find the ", " word")?);
    let text = driver.texts("#area p").await?.concat();
    let word = text.split_whitespace().nth(nth).unwrap_or_default();
    let word: String = word.chars().filter(|c| c.is_ascii_alphabetic()).collect();
    driver.fill_nth(0, &word).await?;
    driver.press_named("Submit").await
}

/// The table cell beside a name.
async fn beside(driver: &mut Driver, name: &str) -> Result<String, TaskError> {
    let cells = driver.texts("#tab td").await?;
    let mut rows = cells.chunks(2).filter(|row| row[0] == name);
    let value = rows.next().and_then(|row| row.get(1)).cloned();
    value.ok_or_else(|| TaskError(format!("no {name} in {cells:?}")))
}

pub(super) async fn read_table(driver: &mut Driver) -> TaskResult {
    let name = driver.between("value of ", " into")?;
    let value = beside(driver, &name).await?;
    driver.fill_nth(0, &value).await?;
    driver.press_named("Submit").await
}

pub(super) async fn read_table_2(driver: &mut Driver) -> TaskResult {
    for (nth, label) in driver.texts("#form label").await?.iter().enumerate() {
        let value = beside(driver, label.trim_end_matches(':')).await?;
        driver.fill_nth(nth, &value).await?;
    }
    driver.press_named("Submit").await
}

/// Solves `x + 3 = 45` or `3 - x = -2`.
pub(super) async fn algebra(driver: &mut Driver) -> TaskResult {
    let problem = driver.texts("#math-problem").await?.concat();
    let parts: Vec<&str> = problem.split_whitespace().collect();
    let number = |nth: usize| parts.get(nth).and_then(|part| part.parse::<i64>().ok());
    let answer = match (number(0), parts.get(1), number(2), number(4)) {
        (None, Some(&"+"), Some(one), Some(result))
        | (Some(one), Some(&"+"), None, Some(result)) => result - one,
        (None, Some(&"-"), Some(one), Some(result)) => result + one,
        (Some(one), Some(&"-"), None, Some(result)) => one - result,
        _ => return Err(TaskError(format!("{problem:?} is not understood"))),
    };
    answer_with(driver, answer).await
}

pub(super) async fn arithmetic(driver: &mut Driver) -> TaskResult {
    let problem = driver.texts("#math-problem").await?.concat();
    let parts: Vec<&str> = problem.split_whitespace().collect();
    let number = |nth: usize| parts.get(nth).and_then(|part| part.parse::<i64>().ok());
    let answer = match (number(0), parts.get(1), number(2)) {
        (Some(one), Some(&"+"), Some(other)) => one + other,
        (Some(one), Some(&"-"), Some(other)) => one - other,
        (Some(one), Some(&"x"), Some(other)) => one * other,
        _ => return Err(TaskError(format!("{problem:?} is not understood"))),
    };
    answer_with(driver, answer).await
}

pub(super) async fn visual_addition(driver: &mut Driver) -> TaskResult {
    let blocks = driver.points(".addition-block").await?.len();
    answer_with(driver, blocks).await
}

async fn answer_with(driver: &mut Driver, answer: impl ToString + Send) -> TaskResult {
    driver.fill_nth(0, &answer.to_string()).await?;
    driver.press_named("Submit").await
}

/// Skewed letters, whose text is in the page.
pub(super) async fn text_transform(driver: &mut Driver) -> TaskResult {
    let text = driver.texts("#captcha").await?.concat();
    driver.fill_nth(0, &text).await?;
    driver.press_named("Submit").await
}

pub(super) async fn copy_paste(driver: &mut Driver) -> TaskResult {
    copy_from(driver, "#to-copy").await
}

pub(super) async fn copy_paste_2(driver: &mut Driver) -> TaskResult {
    let nth = ordinal(&driver.between("from the ", " text area")?);
    copy_from(driver, &format!("#text-{}", nth + 1)).await
}

/// Copies and pastes with the keyboard, through the clipboard.
async fn copy_from(driver: &mut Driver, css: &str) -> TaskResult {
    driver.click_on(css).await?;
    driver.key("ctrl+a", 1).await?;
    driver.key("ctrl+c", 1).await?;
    driver.click_on("#answer-input").await?;
    driver.key("ctrl+v", 1).await?;
    driver
        .until("document.getElementById('answer-input').value")
        .await?;
    driver.press_named("Submit").await
}

/// Scrolls to the end and types the last word.
pub(super) async fn scroll_text(driver: &mut Driver) -> TaskResult {
    let point = driver.point("#text-area").await?;
    driver.wheel(point, 40.0).await?;
    driver.until("(e => e.scrollTop + e.clientHeight >= e.scrollHeight - 2)(document.getElementById('text-area'))").await?;
    let text = driver
        .evaluate("document.getElementById('text-area').value")
        .await?;
    let last = text
        .as_str()
        .and_then(|text| text.split_whitespace().last());
    let word: String = last
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    driver.fill_at("#answer-input", &word).await?;
    driver.press_named("Submit").await
}

pub(super) async fn scroll_text_2(driver: &mut Driver) -> TaskResult {
    let point = driver.point("#text-area").await?;
    let (clicks, there) = if driver.task.contains("to the bottom") {
        (40.0, "e.scrollTop + e.clientHeight >= e.scrollHeight - 2")
    } else {
        (-40.0, "e.scrollTop < 2")
    };
    driver.wheel(point, clicks).await?;
    driver
        .until(&format!(
            "(e => {there})(document.getElementById('text-area'))"
        ))
        .await?;
    driver.press_named("Submit").await
}

pub(super) async fn sign_agreement(driver: &mut Driver) -> TaskResult {
    let Some(name) = driver.quoted().first().cloned() else {
        return driver.press_named("Cancel").await;
    };
    let point = driver.point("#text-area").await?;
    driver.wheel(point, 80.0).await?;
    driver
        .until("!document.getElementById('name').disabled")
        .await?;
    driver.fill_at("#name", &name).await?;
    let button = driver.quote(1)?;
    driver.press_named(&button).await
}

pub(super) async fn terminal(driver: &mut Driver) -> TaskResult {
    driver.click_on("#terminal").await?;
    driver
        .until("document.activeElement.id === 'terminal-target'")
        .await?;
    let lines = driver.texts(".terminal-output").await?.len();
    driver.write("ls\n").await?;
    driver
        .until(&format!("all('.terminal-output').length > {lines}"))
        .await?;
    let listed = driver.texts(".terminal-output").await?;
    let files = listed.last().map(String::as_str).unwrap_or_default();
    let wanted = driver.task.split("extension .").nth(1).map(str::to_owned);
    let is_wanted = |file: &&str| match (&wanted, file.split_once('.')) {
        (Some(wanted), Some((_, extension))) => extension == wanted,
        (None, None) => true,
        _ => false,
    };
    let file = files.split_whitespace().find(is_wanted);
    let file = file.ok_or_else(|| TaskError(format!("no {wanted:?} in {files:?}")))?;
    driver.write(&format!("rm {file}\n")).await
}
