//! Tabs, sections, menus and trees that must be opened.

use super::TaskError;
use super::driver::{Driver, TaskResult};

pub(super) async fn tab(driver: &mut Driver) -> TaskResult {
    let name = driver.between("Click on ", ".")?;
    driver.press_named(&name).await
}

/// Opens each tab until the link is found.
pub(super) async fn tab_2(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    if let Some(link) = driver.maybe(&name).await? {
        return driver.press(&link).await;
    }
    for nth in 1..driver.all("tab").await?.len() {
        let tab = driver.nth("tab", nth).await?;
        driver.press(&tab).await?;
        if let Some(link) = driver.maybe(&name).await? {
            return driver.press(&link).await;
        }
        if driver.evaluate("WOB_DONE_GLOBAL").await? == true {
            return Ok(());
        }
    }
    Err(TaskError(format!("no tab has {name:?}")))
}

pub(super) async fn collapsible(driver: &mut Driver) -> TaskResult {
    let section = driver.nth("tab", 0).await?;
    driver.press(&section).await?;
    driver.until_still("#subbtn").await?;
    driver.press_named("Submit").await
}

/// Opens each section until the link is found.
pub(super) async fn collapsible_2(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    for nth in 0..driver.all("tab").await?.len() {
        let section = driver.nth("tab", nth).await?;
        driver.press(&section).await?;
        driver.until_still("#area div, #area h3").await?;
        if let Some(link) = driver.maybe(&name).await? {
            return driver.press(&link).await;
        }
    }
    Err(TaskError(format!("no section has {name:?}")))
}

/// Hovers over each name of the path and clicks the last.
pub(super) async fn menu(driver: &mut Driver) -> TaskResult {
    let way = driver.task.trim_start_matches("Select ").to_owned();
    let names: Vec<&str> = way.split('>').collect();
    let item = |name: &str| format!("all('#menu li > div').find(e => e.textContent === {name:?})");
    for (nth, name) in names.iter().enumerate() {
        driver.until(&item(name)).await?;
        if nth + 1 == names.len() {
            return driver.click_found(&item(name)).await;
        }
        let point = driver.find(&item(name)).await?;
        driver.move_to(point).await?;
    }
    Err(driver.unknown_task())
}

/// A menu item by its name or by the icon in the task.
pub(super) async fn menu_2(driver: &mut Driver) -> TaskResult {
    driver.press_named("Menu").await?;
    let wanted = match driver.quoted().get(1) {
        Some(name) => format!("e.textContent.trim() === {name:?}"),
        None => {
            let icon = driver
                .evaluate("document.querySelector('#query .ui-icon').className.split(' ').pop()")
                .await?;
            format!("e.querySelector('.' + {icon})")
        }
    };
    let item = format!("all('#menu li > div').find(e => {wanted})");
    if driver.evaluate(&format!("!{item}")).await? == true {
        let playback = "all('#menu li > div').find(e => e.textContent.trim() === 'Playback')";
        let point = driver.find(playback).await?;
        driver.move_to(point).await?;
        driver.until(&item).await?;
    }
    driver.until_still("#menu li").await?;
    driver.click_found(&item).await
}

/// Opens folders until the name is found.
pub(super) async fn tree(driver: &mut Driver) -> TaskResult {
    let name = driver.quote(0)?;
    let wanted = format!("all('#tree span').find(e => e.textContent === {name:?})");
    while driver.evaluate(&format!("!{wanted}")).await? == true {
        driver
            .click_found("all('#tree li.expandable > span.folder')[0]")
            .await?;
    }
    driver.click_found(&wanted).await
}
