//! Fields that want text, and text that has to be read first.

use super::Trouble;
use super::clicking::ordinal;
use super::driver::{Done, Hand};

pub(super) async fn text(hand: &mut Hand) -> Done {
    let text = hand.quote(0)?;
    hand.fill_nth(0, &text).await?;
    hand.press_named("Submit").await
}

pub(super) async fn text_2(hand: &mut Hand) -> Done {
    let text = hand.quote(0)?;
    let text = if hand.task.contains("upper case") {
        text.to_uppercase()
    } else {
        text.to_lowercase()
    };
    hand.fill_nth(0, &text).await?;
    hand.press_named("Submit").await
}

pub(super) async fn password(hand: &mut Hand) -> Done {
    let password = hand.quote(0)?;
    hand.fill_nth(0, &password).await?;
    hand.fill_nth(1, &password).await?;
    hand.press_named("Submit").await
}

pub(super) async fn find_word(hand: &mut Hand) -> Done {
    let nth = ordinal(&hand.between("Find the ", " word")?);
    let text = hand.texts("#area p").await?.concat();
    let word = text.split_whitespace().nth(nth).unwrap_or_default();
    let word: String = word.chars().filter(|c| c.is_ascii_alphabetic()).collect();
    hand.fill_nth(0, &word).await?;
    hand.press_named("Submit").await
}

/// What stands beside a name in the table.
async fn beside(hand: &mut Hand, name: &str) -> Result<String, Trouble> {
    let cells = hand.texts("#tab td").await?;
    let mut rows = cells.chunks(2).filter(|row| row[0] == name);
    let value = rows.next().and_then(|row| row.get(1)).cloned();
    value.ok_or_else(|| Trouble(format!("no {name} in {cells:?}")))
}

pub(super) async fn read_table(hand: &mut Hand) -> Done {
    let name = hand.between("value of ", " into")?;
    let value = beside(hand, &name).await?;
    hand.fill_nth(0, &value).await?;
    hand.press_named("Submit").await
}

pub(super) async fn read_table_2(hand: &mut Hand) -> Done {
    for (nth, label) in hand.texts("#form label").await?.iter().enumerate() {
        let value = beside(hand, label.trim_end_matches(':')).await?;
        hand.fill_nth(nth, &value).await?;
    }
    hand.press_named("Submit").await
}

/// `x + 3 = 45`, or `3 - x = -2`.
pub(super) async fn algebra(hand: &mut Hand) -> Done {
    let problem = hand.texts("#math-problem").await?.concat();
    let parts: Vec<&str> = problem.split_whitespace().collect();
    let number = |nth: usize| parts.get(nth).and_then(|part| part.parse::<i64>().ok());
    let answer = match (number(0), parts.get(1), number(2), number(4)) {
        (None, Some(&"+"), Some(one), Some(result))
        | (Some(one), Some(&"+"), None, Some(result)) => result - one,
        (None, Some(&"-"), Some(one), Some(result)) => result + one,
        (Some(one), Some(&"-"), None, Some(result)) => one - result,
        _ => return Err(Trouble(format!("{problem:?} is not understood"))),
    };
    answer_with(hand, answer).await
}

pub(super) async fn arithmetic(hand: &mut Hand) -> Done {
    let problem = hand.texts("#math-problem").await?.concat();
    let parts: Vec<&str> = problem.split_whitespace().collect();
    let number = |nth: usize| parts.get(nth).and_then(|part| part.parse::<i64>().ok());
    let answer = match (number(0), parts.get(1), number(2)) {
        (Some(one), Some(&"+"), Some(other)) => one + other,
        (Some(one), Some(&"-"), Some(other)) => one - other,
        (Some(one), Some(&"x"), Some(other)) => one * other,
        _ => return Err(Trouble(format!("{problem:?} is not understood"))),
    };
    answer_with(hand, answer).await
}

pub(super) async fn visual_addition(hand: &mut Hand) -> Done {
    let blocks = hand.places(".addition-block").await?.len();
    answer_with(hand, blocks).await
}

async fn answer_with(hand: &mut Hand, answer: impl ToString + Send) -> Done {
    hand.fill_nth(0, &answer.to_string()).await?;
    hand.press_named("Submit").await
}

/// Letters that are skewed; their text is the page's.
pub(super) async fn text_transform(hand: &mut Hand) -> Done {
    let text = hand.texts("#captcha").await?.concat();
    hand.fill_nth(0, &text).await?;
    hand.press_named("Submit").await
}

pub(super) async fn copy_paste(hand: &mut Hand) -> Done {
    copy_from(hand, "#to-copy").await
}

pub(super) async fn copy_paste_2(hand: &mut Hand) -> Done {
    let nth = ordinal(&hand.between("from the ", " text area")?);
    copy_from(hand, &format!("#text-{}", nth + 1)).await
}

/// Copies and pastes with the keys for it, through the clipboard.
async fn copy_from(hand: &mut Hand, css: &str) -> Done {
    hand.click_on(css).await?;
    hand.key("ctrl+a", 1).await?;
    hand.key("ctrl+c", 1).await?;
    hand.click_on("#answer-input").await?;
    hand.key("ctrl+v", 1).await?;
    hand.until("document.getElementById('answer-input').value")
        .await?;
    hand.press_named("Submit").await
}

/// Scrolls to the end, as one who reads does, and types the last word.
pub(super) async fn scroll_text(hand: &mut Hand) -> Done {
    let place = hand.place("#text-area").await?;
    hand.wheel(place, 40.0).await?;
    hand.until("(e => e.scrollTop + e.clientHeight >= e.scrollHeight - 2)(document.getElementById('text-area'))").await?;
    let text = hand
        .look("document.getElementById('text-area').value")
        .await?;
    let last = text
        .as_str()
        .and_then(|text| text.split_whitespace().last());
    let word: String = last
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    hand.fill_at("#answer-input", &word).await?;
    hand.press_named("Submit").await
}

pub(super) async fn scroll_text_2(hand: &mut Hand) -> Done {
    let place = hand.place("#text-area").await?;
    let (clicks, there) = if hand.task.contains("to the bottom") {
        (40.0, "e.scrollTop + e.clientHeight >= e.scrollHeight - 2")
    } else {
        (-40.0, "e.scrollTop < 2")
    };
    hand.wheel(place, clicks).await?;
    hand.until(&format!(
        "(e => {there})(document.getElementById('text-area'))"
    ))
    .await?;
    hand.press_named("Submit").await
}

pub(super) async fn sign_agreement(hand: &mut Hand) -> Done {
    let Some(name) = hand.quoted().first().cloned() else {
        return hand.press_named("Cancel").await;
    };
    let place = hand.place("#text-area").await?;
    hand.wheel(place, 80.0).await?;
    hand.until("!document.getElementById('name').disabled")
        .await?;
    hand.fill_at("#name", &name).await?;
    let button = hand.quote(1)?;
    hand.press_named(&button).await
}

pub(super) async fn terminal(hand: &mut Hand) -> Done {
    hand.click_on("#terminal").await?;
    hand.until("document.activeElement.id === 'terminal-target'")
        .await?;
    let lines = hand.texts(".terminal-output").await?.len();
    hand.write("ls\n").await?;
    hand.until(&format!("all('.terminal-output').length > {lines}"))
        .await?;
    let listed = hand.texts(".terminal-output").await?;
    let files = listed.last().map(String::as_str).unwrap_or_default();
    let wanted = hand.task.split("extension .").nth(1).map(str::to_owned);
    let is_wanted = |file: &&str| match (&wanted, file.split_once('.')) {
        (Some(wanted), Some((_, extension))) => extension == wanted,
        (None, None) => true,
        _ => false,
    };
    let file = files.split_whitespace().find(is_wanted);
    let file = file.ok_or_else(|| Trouble(format!("no {wanted:?} in {files:?}")))?;
    hand.write(&format!("rm {file}\n")).await
}
