//! A page that does not answer: its script is stopped, or it is left, or its tab is closed.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use telechir_device::DeviceError;
use tokio::time::{Instant, timeout_at};

use super::Browser;
use crate::tab_registry::Tab;
use crate::error::millis;
use crate::cdp_session::Page;

/// A page that is not busy answers within milliseconds.
const LOOK: Duration = Duration::from_secs(1);
/// How long an empty page may take to come.
const LEAVE: Duration = Duration::from_secs(2);

const STOPPED: &str = "the script that kept it busy was stopped, and the page is there as the script left it; look before going on";
const LEFT: &str = "nothing made it answer, so it was left: its tab is empty now";
const CLOSED: &str = "nothing made it answer, so its tab was closed; an empty one is in front";

impl Browser {
    /// Makes the tab in front answer again when it is the cause of this failure.
    pub(super) async fn unstick(&mut self, error: DeviceError) -> DeviceError {
        let DeviceError::Timeout { limit_ms, .. } = error else {
            return error;
        };
        let Some(tab) = self.book.active() else {
            return error;
        };
        if self.answers(&tab).await {
            return error;
        }
        let remedy = match self.free(&tab).await {
            Ok(remedy) => remedy,
            Err(error) => return error,
        };
        DeviceError::Unresponsive { limit_ms, remedy }
    }

    async fn free(&mut self, tab: &Tab) -> Result<&'static str, DeviceError> {
        let sessions = self.book.sessions_of(&tab.session);
        let stop = |session: &String| {
            let page = Page::new(&self.client, session, LOOK);
            async move { page.call("Runtime.terminateExecution", json!({})).await }
        };
        join_all(sessions.iter().map(stop)).await;
        if self.answers(tab).await {
            return Ok(STOPPED);
        }
        self.page_of(tab)
            .notify("Page.navigate", json!({ "url": "about:blank" }));
        let deadline = Instant::now() + LEAVE;
        let mut changes = self.book.watch();
        while self
            .book
            .target(&tab.target)
            .is_some_and(|now| now.commits == tab.commits)
        {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                break;
            }
        }
        if self.answers(tab).await {
            return Ok(LEFT);
        }
        self.replace(tab).await?;
        Ok(CLOSED)
    }

    /// Whether a page and all its frames answer.
    async fn answers(&mut self, tab: &Tab) -> bool {
        let sessions = self.book.sessions_of(&tab.session);
        let ask = |session: &String| {
            let page = Page::new(&self.client, session, LOOK);
            async move { page.evaluate("0").await.is_ok() }
        };
        join_all(sessions.iter().map(ask))
            .await
            .into_iter()
            .all(|it| it)
    }
}

/// Whether a failure may be a page's that hangs.
pub(super) fn is_late(error: &DeviceError, limit: Duration) -> bool {
    matches!(error, DeviceError::Timeout { limit_ms, .. } if *limit_ms == millis(limit))
}
