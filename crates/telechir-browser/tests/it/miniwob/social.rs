//! Posts, contacts and results of a search.

use super::Trouble;
use super::clicking::ordinal;
use super::driver::{Done, Hand};

/// The nth post by somebody.
fn post(user: &str, nth: usize) -> String {
    format!(
        "[...document.querySelectorAll('.media')].filter(e => e.querySelector('.username').textContent === {user:?})[{nth}]"
    )
}

pub(super) async fn media(hand: &mut Hand) -> Done {
    let user = hand.between("For the user ", ", click")?;
    let action = hand.quote(0)?;
    let post = post(&user, 0);
    if let "Reply" | "Retweet" | "Like" = action.as_str() {
        let button = action.to_lowercase();
        return hand
            .wheel_and_click(&format!("{post}.querySelector('.{button}')"))
            .await;
    }
    hand.wheel_and_click(&format!("{post}.querySelector('.more')"))
        .await?;
    hand.wheel_and_click(&format!(
        "[...{post}.querySelectorAll('li')].find(e => e.textContent.startsWith({action:?}))"
    ))
    .await
}

pub(super) async fn media_all(hand: &mut Hand) -> Done {
    let user = hand.between("posts by ", " and then")?;
    let posts = hand
        .look(&format!(
            "all('.username').filter(e => e.textContent === {user:?}).length"
        ))
        .await?;
    let posts = posts.as_u64().and_then(|posts| usize::try_from(posts).ok());
    on_posts(hand, &user, posts.unwrap_or(0)).await
}

pub(super) async fn media_some(hand: &mut Hand) -> Done {
    let words = hand.between("button on ", " and then")?;
    let (count, user) = words.split_once(" by ").ok_or_else(|| hand.unread())?;
    let count = count.split(' ').next().and_then(|count| count.parse().ok());
    on_posts(hand, user, count.ok_or_else(|| hand.unread())?).await
}

async fn on_posts(hand: &mut Hand, user: &str, count: usize) -> Done {
    let button = hand.quote(0)?.to_lowercase();
    for nth in 0..count {
        let post = post(user, nth);
        hand.wheel_and_click(&format!("{post}.querySelector('.{button}')"))
            .await?;
    }
    hand.wheel_and_click("document.querySelector('#submitRow button')")
        .await
}

/// Turns the pages of the book until the name is there.
pub(super) async fn phone_book(hand: &mut Hand) -> Done {
    let name = hand.between("Find ", " in the contact book")?;
    let kind = ["phone", "email", "address"]
        .into_iter()
        .find(|kind| hand.task.contains(&format!("their {kind}")))
        .ok_or_else(|| hand.unread())?;
    for page in 2..=6 {
        if hand.texts("#contact .name").await?.concat() == name {
            return hand.click_on(&format!("#contact .{kind}")).await;
        }
        hand.click_found("all('#pagination a').find(e => e.textContent === '>')")
            .await?;
        hand.until(&format!(
            "all('#pagination .active').some(e => e.textContent === '{}')",
            page.min(5)
        ))
        .await?;
    }
    Err(Trouble(format!("{name} is not in the book")))
}

pub(super) async fn search_engine(hand: &mut Hand) -> Done {
    let words = hand.quote(0)?;
    let nth = ordinal(&hand.between("click the ", " search result")?);
    hand.fill_at("#search-text", &words).await?;
    hand.press_named("Search").await?;
    hand.until("all('#page-content a').length === 3").await?;
    let page = nth / 3 + 1;
    if page > 1 {
        hand.click_found(&format!(
            "all('#pagination a').find(e => e.textContent === '{page}')"
        ))
        .await?;
        hand.until(&format!(
            "all('#pagination .active').some(e => e.textContent === '{page}')"
        ))
        .await?;
    }
    hand.click_found(&format!("all('#page-content a')[{}]", nth % 3))
        .await
}
