//! A mailbox.

use serde::Deserialize;

use super::Trouble;
use super::driver::{Done, Hand};

/// What is to be done with whose message.
#[derive(Debug, Deserialize)]
struct Errand {
    /// Who sent it.
    by: String,
    /// `reply`, `forward`, `delete` or `star`; absent means to forward it.
    task: Option<String>,
    /// To whom it goes on.
    to: Option<String>,
    /// What is answered.
    message: Option<String>,
}

/// The task in the words of a template.
pub(super) async fn inbox(hand: &mut Hand) -> Done {
    let errand = Errand {
        by: hand.between("the email by ", " and ")?,
        task: Some(match () {
            () if hand.task.contains("reply to them") => "reply".to_owned(),
            () if hand.task.contains("forward that") => "forward".to_owned(),
            () if hand.task.contains("trash icon") => "delete".to_owned(),
            () => "star".to_owned(),
        }),
        to: hand
            .task
            .split("email to ")
            .nth(1)
            .map(|to| to.trim_end_matches('.').to_owned()),
        message: hand.quoted().first().cloned(),
    };
    run(hand, &errand).await
}

/// The task in words of many people; the page gives its meaning beside it.
pub(super) async fn inbox_in_words(hand: &mut Hand) -> Done {
    let fields = hand.look("core.getUtterance().fields").await?;
    let errand = serde_json::from_value(fields).map_err(|error| Trouble(error.to_string()))?;
    run(hand, &errand).await
}

async fn run(hand: &mut Hand, errand: &Errand) -> Done {
    let thread = format!(
        "[...document.querySelectorAll('#main .email-thread')].find(e => e.querySelector('.email-sender').textContent === {:?})",
        errand.by
    );
    match errand.task.as_deref() {
        Some("delete") => {
            return hand
                .wheel_and_click(&format!("{thread}.querySelector('.trash')"))
                .await;
        }
        Some("star") => {
            return hand
                .wheel_and_click(&format!("{thread}.querySelector('.star')"))
                .await;
        }
        _ => {}
    }
    hand.wheel_and_click(&format!("{thread}.querySelector('.email-sender')"))
        .await?;
    if errand.task.as_deref() == Some("reply") {
        hand.wheel_and_click("document.querySelector('#email .email-reply')")
            .await?;
        let message = errand.message.clone().unwrap_or_default();
        hand.fill_at("#reply-text", &message).await?;
        return hand.click_on("#send-reply").await;
    }
    hand.wheel_and_click("document.querySelector('#email .email-forward')")
        .await?;
    let to = errand.to.clone().unwrap_or_default();
    hand.fill_at(".forward-sender", &to).await?;
    hand.click_on("#send-forward").await
}
