//! The tab that is no tab of the session, and the origins whose stored data it is opened for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::TabRegistry;
use crate::client::{CdpClient, lock, text};

/// Origins per browser that are remembered as visited.
const MAX_ORIGINS: usize = 1_000;

/// A tab in which every request is answered with an empty document.
#[derive(Debug, Default)]
pub(super) enum PrivateTab {
    #[default]
    None,
    /// The next tab that no page opened.
    Expected,
    /// Its CDP session.
    Attached(String),
}

impl PrivateTab {
    /// Whether a session is that of the private tab.
    pub(super) fn is(&self, session: &str) -> bool {
        matches!(self, Self::Attached(own) if own == session)
    }

    /// Takes a new tab, if it is the expected one.
    pub(super) fn take(&mut self, client: &CdpClient, params: &Value) -> bool {
        let is_opened_by_page = !params["targetInfo"]["openerId"].is_null();
        if !matches!(self, Self::Expected) || is_opened_by_page {
            return false;
        }
        let session = text(&params["sessionId"]);
        let everything = json!({ "patterns": [{ "urlPattern": "*" }] });
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Network.enable", json!({})),
            ("Network.setBypassServiceWorker", json!({ "bypass": true })),
            ("Fetch.enable", everything),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ] {
            client.notify(Some(&session), method, params);
        }
        *self = Self::Attached(session);
        true
    }

    /// Answers a request that was paused: with an empty document in the private tab; in another one
    /// it goes on.
    pub(super) fn answer(&self, client: &CdpClient, session: &str, params: &Value) {
        let mut answer = json!({ "requestId": params["requestId"] });
        if !self.is(session) {
            return client.notify(Some(session), "Fetch.continueRequest", answer);
        }
        answer["responseCode"] = 200.into();
        answer["responseHeaders"] = json!([{ "name": "Content-Type", "value": "text/html" }]);
        answer["body"] = "".into();
        client.notify(Some(session), "Fetch.fulfillRequest", answer);
    }
}

/// The origins of documents that were loaded, in which pages may have stored data.
#[derive(Debug, Default)]
pub(super) struct VisitedOrigins(BTreeSet<String>);

impl VisitedOrigins {
    /// Adds the origin of a document from `Page.frameNavigated`.
    pub(super) fn add_document(&mut self, frame: &Value) {
        if frame["unreachableUrl"].is_null() {
            self.add(&text(&frame["securityOrigin"]));
        }
    }

    fn add(&mut self, origin: &str) {
        let is_web = origin.starts_with("http://") || origin.starts_with("https://");
        if is_web && self.0.len() < MAX_ORIGINS {
            self.0.insert(origin.to_owned());
        }
    }
}

impl TabRegistry {
    /// The origins of documents that were loaded.
    pub(crate) fn visited_origins(&self) -> BTreeSet<String> {
        lock(&self.state).origins.0.clone()
    }

    /// Remembers an origin in which data was stored.
    pub(crate) fn add_origin(&self, origin: &str) {
        lock(&self.state).origins.add(origin);
    }

    /// Keeps the next tab that no page opens out of the list of tabs.
    pub(crate) fn expect_private_tab(&self) {
        lock(&self.state).private_tab = PrivateTab::Expected;
    }

    /// The session of the private tab, once it is attached.
    pub(crate) fn private_tab(&self) -> Option<String> {
        match &lock(&self.state).private_tab {
            PrivateTab::Attached(session) => Some(session.clone()),
            PrivateTab::None | PrivateTab::Expected => None,
        }
    }

    /// Forgets the private tab.
    pub(crate) fn forget_private_tab(&self) {
        lock(&self.state).private_tab = PrivateTab::None;
    }
}
