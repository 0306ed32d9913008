//! Forms of several controls, and editors.

use super::Trouble;
use super::choosing::slide;
use super::clicking::ordinal;
use super::driver::{Done, Hand};

/// A name and a password; whatever pops up in between is told to go.
pub(super) async fn login(hand: &mut Hand) -> Done {
    let (name, password) = (hand.quote(0)?, hand.quote(1)?);
    for (css, text) in [("#username", name), ("#password", password)] {
        hand.click_on(css).await?;
        if let Some(cancel) = hand.maybe("Cancel").await? {
            hand.press(&cancel).await?;
        }
        hand.fill_at(css, &text).await?;
    }
    hand.click_on("#subbtn").await
}

pub(super) async fn sequence(hand: &mut Hand) -> Done {
    let wanted = hand.between("Select ", " with")?;
    let wanted = wanted.parse().map_err(|_| hand.unread())?;
    slide(hand, "#slider", "#val", wanted).await?;
    let nth = ordinal(&hand.between("click the ", " checkbox")?);
    let checkbox = hand.nth("checkbox", nth).await?;
    hand.press(&checkbox).await?;
    hand.press_named("Submit").await
}

pub(super) async fn sequence_2(hand: &mut Hand) -> Done {
    let nth = ordinal(&hand.between("Check the ", " radio")?);
    let radio = hand.nth("radio", nth).await?;
    hand.press(&radio).await?;
    let nth = ordinal(&hand.between("into the ", " textbox")?);
    let number = hand.quote(0)?;
    hand.fill_nth(nth, &number).await?;
    hand.press_named("Submit").await
}

/// A list that the page draws itself.
pub(super) async fn sequence_3(hand: &mut Hand) -> Done {
    let name = hand.between("Choose ", " from")?;
    hand.click_on(".selectric").await?;
    let item = hand.named(&name).await?;
    hand.reveal(&item).await?;
    hand.press(&item).await?;
    let button = hand.quote(0)?;
    hand.press_named(&button).await
}

/// Whatever the form looks like, its fields stand with their names.
pub(super) async fn layouts(hand: &mut Hand) -> Done {
    let genre = hand.between("Search for ", " movies")?;
    let director = hand.between("directed by ", " from year")?;
    let year = hand.task.split("from year ").nth(1).unwrap_or_default();
    let year = year.trim_end_matches('.').to_owned();
    let rows = hand
        .look(
            "all('#area input').map(e => { while (!/Genre|Director|Year|Date/.test(e.textContent)) e = e.parentElement; \
               return e.textContent })",
        )
        .await?;
    let rows: Vec<String> =
        serde_json::from_value(rows).map_err(|error| Trouble(error.to_string()))?;
    for (nth, row) in rows.iter().enumerate() {
        let text = match row {
            row if row.contains("Genre") => &genre,
            row if row.contains("Director") => &director,
            _ => &year,
        };
        hand.fill_nth(nth, text).await?;
    }
    hand.click_on("#area button, #area .final, #area .ui-submit")
        .await
}

/// Types the beginning and takes what is offered.
pub(super) async fn autocomplete(hand: &mut Hand) -> Done {
    let start = hand.quote(0)?;
    let end = hand.quoted().get(1).cloned().unwrap_or_default();
    hand.fill_at("#tags", &start).await?;
    let fits = format!("e.textContent.startsWith({start:?}) && e.textContent.endsWith({end:?})");
    let item = format!("all('.ui-menu-item').find(e => {fits})");
    hand.until(&item).await?;
    hand.click_found(&item).await?;
    hand.until("!all('.ui-menu').length").await?;
    hand.press_named("Submit").await
}

/// Types the colour's number, which the field of the picker takes.
pub(super) async fn colour(hand: &mut Hand) -> Done {
    let shown = hand
        .look(
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
    hand.fill_at("#col", &number).await?;
    // The picker lies over the button until the field is left.
    hand.click((80.0, 195.0)).await?;
    hand.press_named("Submit").await
}

/// Selects with the keyboard and formats with the editor's buttons.
pub(super) async fn text_editor(hand: &mut Hand) -> Done {
    hand.click_on(".ql-editor p").await?;
    if let Ok(word) = hand.between("give the text ", " the ") {
        let at = hand
            .look(&format!(
                "document.querySelector('.ql-editor').textContent.indexOf({word:?})"
            ))
            .await?;
        let at = at.as_u64().and_then(|at| u32::try_from(at).ok());
        let at = at.ok_or_else(|| Trouble(format!("no {word:?}")))?;
        hand.key("ctrl+Home", 1).await?;
        if at > 0 {
            hand.key("Right", at).await?;
        }
        let length = u32::try_from(word.chars().count()).unwrap_or(u32::MAX);
        hand.key("shift+Right", length).await?;
    } else {
        hand.key("ctrl+a", 1).await?;
    }
    // The editor follows its selection a little later.
    hand.settle().await?;
    let styles = [
        ("bold", ".ql-bold"),
        ("italics", ".ql-italic"),
        ("underlined", ".ql-underline"),
    ];
    let style = hand.task.split(" the style ").nth(1).unwrap_or_default();
    match styles.into_iter().find(|(name, _)| style.starts_with(name)) {
        Some((_, button)) => hand.click_on(button).await?,
        None => {
            let name = hand
                .task
                .split(" the color ")
                .nth(1)
                .ok_or_else(|| hand.unread())?;
            let name: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
            let number = shade(&name).ok_or_else(|| hand.unread())?;
            hand.click_on(".ql-color .ql-picker-label").await?;
            hand.click_on(&format!(".ql-picker-item[data-color=\"{number}\"]"))
                .await?;
        }
    }
    hand.press_named("Submit").await
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
