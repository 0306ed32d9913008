//! Tasks in a mailbox.

use serde::Deserialize;

use super::TaskError;
use super::driver::{Driver, TaskResult};

/// The action on a message.
#[derive(Debug, Deserialize)]
struct Errand {
    /// The sender of the message.
    by: String,
    /// `reply`, `forward`, `delete` or `star`; absent means forward.
    task: Option<String>,
    /// The recipient, for forwarding.
    to: Option<String>,
    /// The text of a reply.
    message: Option<String>,
}

/// Parses the task by its template.
pub(super) async fn inbox(driver: &mut Driver) -> TaskResult {
    let errand = Errand {
        by: driver.between("the email by ", " and ")?,
        task: Some(match () {
            () if driver.task.contains("reply to them") => "reply".to_owned(),
            () if driver.task.contains("forward that") => "forward".to_owned(),
            () if driver.task.contains("trash icon") => "delete".to_owned(),
            () => "star".to_owned(),
        }),
        to: driver
            .task
            .split("email to ")
            .nth(1)
            .map(|to| to.trim_end_matches('.').to_owned()),
        message: driver.quoted().first().cloned(),
    };
    run(driver, &errand).await
}

/// A task in free text; the page provides its meaning.
pub(super) async fn inbox_in_prose(driver: &mut Driver) -> TaskResult {
    let fields = driver.evaluate("core.getUtterance().fields").await?;
    let errand = serde_json::from_value(fields).map_err(|error| TaskError(error.to_string()))?;
    run(driver, &errand).await
}

async fn run(driver: &mut Driver, errand: &Errand) -> TaskResult {
    let thread = format!(
        "[...document.querySelectorAll('#main .email-thread')].find(e => e.querySelector('.email-sender').textContent === {:?})",
        errand.by
    );
    match errand.task.as_deref() {
        Some("delete") => {
            return driver
                .wheel_and_click(&format!("{thread}.querySelector('.trash')"))
                .await;
        }
        Some("star") => {
            return driver
                .wheel_and_click(&format!("{thread}.querySelector('.star')"))
                .await;
        }
        _ => {}
    }
    driver
        .wheel_and_click(&format!("{thread}.querySelector('.email-sender')"))
        .await?;
    if errand.task.as_deref() == Some("reply") {
        driver
            .wheel_and_click("document.querySelector('#email .email-reply')")
            .await?;
        let message = errand.message.clone().unwrap_or_default();
        driver.fill_at("#reply-text", &message).await?;
        return driver.click_on("#send-reply").await;
    }
    driver
        .wheel_and_click("document.querySelector('#email .email-forward')")
        .await?;
    let to = errand.to.clone().unwrap_or_default();
    driver.fill_at(".forward-sender", &to).await?;
    driver.click_on("#send-forward").await
}
