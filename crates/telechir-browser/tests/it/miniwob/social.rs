//! Posts, contacts and search results.

use super::TaskError;
use super::clicking::ordinal;
use super::driver::{Driver, TaskResult};

/// The nth post of a user.
fn post(user: &str, nth: usize) -> String {
    format!(
        "[...document.querySelectorAll('.media')].filter(e => e.querySelector('.username').textContent === {user:?})[{nth}]"
    )
}

pub(super) async fn media(driver: &mut Driver) -> TaskResult {
    let user = driver.between("For the user ", ", click")?;
    let action = driver.quote(0)?;
    let post = post(&user, 0);
    if let "Reply" | "Retweet" | "Like" = action.as_str() {
        let button = action.to_lowercase();
        return driver
            .wheel_and_click(&format!("{post}.querySelector('.{button}')"))
            .await;
    }
    driver
        .wheel_and_click(&format!("{post}.querySelector('.more')"))
        .await?;
    driver
        .wheel_and_click(&format!(
            "[...{post}.querySelectorAll('li')].find(e => e.textContent.startsWith({action:?}))"
        ))
        .await
}

pub(super) async fn media_all(driver: &mut Driver) -> TaskResult {
    let user = driver.between("posts by ", " and then")?;
    let posts = driver
        .evaluate(&format!(
            "all('.username').filter(e => e.textContent === {user:?}).length"
        ))
        .await?;
    let posts = posts.as_u64().and_then(|posts| usize::try_from(posts).ok());
    on_posts(driver, &user, posts.unwrap_or(0)).await
}

pub(super) async fn media_some(driver: &mut Driver) -> TaskResult {
    let text = driver.between("button on ", " and then")?;
    let (count, user) = text
        .split_once(" by ")
        .ok_or_else(|| driver.unknown_task())?;
    let count = count.split(' ').next().and_then(|count| count.parse().ok());
    on_posts(driver, user, count.ok_or_else(|| driver.unknown_task())?).await
}

async fn on_posts(driver: &mut Driver, user: &str, count: usize) -> TaskResult {
    let button = driver.quote(0)?.to_lowercase();
    for nth in 0..count {
        let post = post(user, nth);
        driver
            .wheel_and_click(&format!("{post}.querySelector('.{button}')"))
            .await?;
    }
    driver
        .wheel_and_click("document.querySelector('#submitRow button')")
        .await
}

/// Turns pages until the name is listed.
pub(super) async fn phone_book(driver: &mut Driver) -> TaskResult {
    let name = driver.between("Find ", " in the contact book")?;
    let kind = ["phone", "email", "address"]
        .into_iter()
        .find(|kind| driver.task.contains(&format!("their {kind}")))
        .ok_or_else(|| driver.unknown_task())?;
    for page in 2..=6 {
        if driver.texts("#contact .name").await?.concat() == name {
            return driver.click_on(&format!("#contact .{kind}")).await;
        }
        driver
            .click_found("all('#pagination a').find(e => e.textContent === '>')")
            .await?;
        driver
            .until(&format!(
                "all('#pagination .active').some(e => e.textContent === '{}')",
                page.min(5)
            ))
            .await?;
    }
    Err(TaskError(format!("{name} is not listed")))
}

pub(super) async fn search_engine(driver: &mut Driver) -> TaskResult {
    let text = driver.quote(0)?;
    let nth = ordinal(&driver.between("click the ", " search result")?);
    driver.fill_at("#search-text", &text).await?;
    driver.press_named("Search").await?;
    driver.until("all('#page-content a').length === 3").await?;
    let page = nth / 3 + 1;
    if page > 1 {
        driver
            .click_found(&format!(
                "all('#pagination a').find(e => e.textContent === '{page}')"
            ))
            .await?;
        driver
            .until(&format!(
                "all('#pagination .active').some(e => e.textContent === '{page}')"
            ))
            .await?;
    }
    driver
        .click_found(&format!("all('#page-content a')[{}]", nth % 3))
        .await
}
