//! Tabs, sections, menus and trees, which have to be opened.

use super::Trouble;
use super::driver::{Done, Hand};

pub(super) async fn tab(hand: &mut Hand) -> Done {
    let name = hand.between("Click on ", ".")?;
    hand.press_named(&name).await
}

/// Looks behind each tab until the link is there.
pub(super) async fn tab_2(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    if let Some(link) = hand.maybe(&name).await? {
        return hand.press(&link).await;
    }
    for nth in 1..hand.all("tab").await?.len() {
        let tab = hand.nth("tab", nth).await?;
        hand.press(&tab).await?;
        if let Some(link) = hand.maybe(&name).await? {
            return hand.press(&link).await;
        }
        if hand.look("WOB_DONE_GLOBAL").await? == true {
            return Ok(());
        }
    }
    Err(Trouble(format!("no tab has {name:?}")))
}

pub(super) async fn collapsible(hand: &mut Hand) -> Done {
    let section = hand.nth("tab", 0).await?;
    hand.press(&section).await?;
    hand.at_rest("#subbtn").await?;
    hand.press_named("Submit").await
}

/// Opens each section until the link is there.
pub(super) async fn collapsible_2(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    for nth in 0..hand.all("tab").await?.len() {
        let section = hand.nth("tab", nth).await?;
        hand.press(&section).await?;
        hand.at_rest("#area div, #area h3").await?;
        if let Some(link) = hand.maybe(&name).await? {
            return hand.press(&link).await;
        }
    }
    Err(Trouble(format!("no section has {name:?}")))
}

/// Rests on each name of the way and clicks the last.
pub(super) async fn menu(hand: &mut Hand) -> Done {
    let way = hand.task.trim_start_matches("Select ").to_owned();
    let names: Vec<&str> = way.split('>').collect();
    let item = |name: &str| format!("all('#menu li > div').find(e => e.textContent === {name:?})");
    for (nth, name) in names.iter().enumerate() {
        hand.until(&item(name)).await?;
        if nth + 1 == names.len() {
            return hand.click_found(&item(name)).await;
        }
        let place = hand.find(&item(name)).await?;
        hand.move_to(place).await?;
    }
    Err(hand.unread())
}

/// An item by its name or by the icon that the task shows.
pub(super) async fn menu_2(hand: &mut Hand) -> Done {
    hand.press_named("Menu").await?;
    let wanted = match hand.quoted().get(1) {
        Some(name) => format!("e.textContent.trim() === {name:?}"),
        None => {
            let icon = hand
                .look("document.querySelector('#query .ui-icon').className.split(' ').pop()")
                .await?;
            format!("e.querySelector('.' + {icon})")
        }
    };
    let item = format!("all('#menu li > div').find(e => {wanted})");
    if hand.look(&format!("!{item}")).await? == true {
        let playback = "all('#menu li > div').find(e => e.textContent.trim() === 'Playback')";
        let place = hand.find(playback).await?;
        hand.move_to(place).await?;
        hand.until(&item).await?;
    }
    hand.at_rest("#menu li").await?;
    hand.click_found(&item).await
}

/// Opens folders until the name is seen.
pub(super) async fn tree(hand: &mut Hand) -> Done {
    let name = hand.quote(0)?;
    let wanted = format!("all('#tree span').find(e => e.textContent === {name:?})");
    while hand.look(&format!("!{wanted}")).await? == true {
        hand.click_found("all('#tree li.expandable > span.folder')[0]")
            .await?;
    }
    hand.click_found(&wanted).await
}
