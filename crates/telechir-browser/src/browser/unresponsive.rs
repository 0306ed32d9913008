//! Recovers a page that does not answer: stops its script, leaves the page or closes the tab.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use telechir_device::DeviceError;
use tokio::time::{Instant, timeout_at};

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::error::millis;
use crate::tab_registry::{PageLeaving, Tab};

/// A responsive page answers within milliseconds.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an empty page may take to load.
const BLANK_PAGE_TIMEOUT: Duration = Duration::from_secs(2);

const SCRIPT_STOPPED: &str = "its script was stopped, and the page is in the state the script left; take a screenshot before continuing";
const PAGE_LEFT: &str =
    "stopping its script did not help, so the page was left: its tab is empty now";
const TAB_LEFT: &str = "stopping its script and leaving the page did not help; its tab stays open, and an empty one is active";
const TAB_CLOSED: &str = "stopping its script and leaving the page did not help, so its tab was closed; an empty one is active";

impl Browser {
    /// Makes the active tab answer again, if it caused this error.
    pub(super) async fn recover(&mut self, error: DeviceError) -> DeviceError {
        let DeviceError::Timeout { limit_ms, .. } = error else {
            return error;
        };
        let Some(tab) = self.registry.active() else {
            return error;
        };
        if self.is_responsive(&tab).await {
            return error;
        }
        let leaving = PageLeaving::Leave;
        self.registry
            .start_cancelling_dialogs(&self.client, leaving);
        let unblocked = self.unblock(&tab).await;
        self.registry.stop_cancelling_dialogs();
        let remedy = match unblocked {
            Ok(remedy) => remedy,
            Err(error) => return error,
        };
        DeviceError::Unresponsive { limit_ms, remedy }
    }

    async fn unblock(&mut self, tab: &Tab) -> Result<&'static str, DeviceError> {
        let sessions = self.registry.sessions_of(&tab.session);
        let stop = |session: &String| {
            let page = CdpSession::new(&self.client, session, PROBE_TIMEOUT);
            async move { page.call("Runtime.terminateExecution", json!({})).await }
        };
        join_all(sessions.iter().map(stop)).await;
        if self.is_responsive(tab).await {
            return Ok(SCRIPT_STOPPED);
        }
        self.page_of(tab)
            .notify("Page.navigate", json!({ "url": "about:blank" }));
        let deadline = Instant::now() + BLANK_PAGE_TIMEOUT;
        let mut changes = self.registry.watch();
        while self
            .registry
            .by_target(&tab.target)
            .is_some_and(|now| now.commits == tab.commits)
        {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                break;
            }
        }
        if self.is_responsive(tab).await {
            return Ok(PAGE_LEFT);
        }
        self.replace(tab).await?;
        Ok(match self.registry.has_owner() {
            true => TAB_LEFT,
            false => TAB_CLOSED,
        })
    }

    /// Whether a page and all its frames answer.
    async fn is_responsive(&mut self, tab: &Tab) -> bool {
        let sessions = self.registry.sessions_of(&tab.session);
        let probe = |session: &String| {
            let page = CdpSession::new(&self.client, session, PROBE_TIMEOUT);
            async move { page.evaluate("0").await.is_ok() }
        };
        join_all(sessions.iter().map(probe))
            .await
            .into_iter()
            .all(|it| it)
    }
}

/// Whether an error may be caused by an unresponsive page.
pub(super) fn is_timeout(error: &DeviceError, limit: Duration) -> bool {
    matches!(error, DeviceError::Timeout { limit_ms, .. } if *limit_ms == millis(limit))
}
