//! What came of the loads of a tab's document: its status, or why it failed.

use serde_json::Value;

use super::{Tab, TabRegistry};
use crate::client::{lock, text};

/// URLs in sentences are truncated to this length, in characters.
const MAX_URL_CHARS: usize = 200;
/// Statuses after which a browser keeps the page that it has.
const NO_CONTENT: [u64; 2] = [204, 205];

/// The loads of the main frame of a tab.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentLoads {
    /// The last response: the loader id, the status and its text.
    response: Option<(String, u64, String)>,
    /// Why the last load failed.
    reason: String,
    /// The URL for which Chromium shows an error page, if it does.
    unreachable: Option<String>,
    /// Whether a result has said so.
    is_reported: bool,
    /// How many loads ended without a document.
    pub(crate) without_document: u64,
}

impl DocumentLoads {
    /// Handles an event of the tab with this main frame.
    pub(super) fn handle_event(&mut self, frame: &str, method: &str, params: &Value) {
        let is_document = params["type"] == "Document" && params["frameId"] == frame;
        match method {
            "Network.responseReceived" if is_document => {
                let response = &params["response"];
                let status = response["status"].as_u64().unwrap_or_default();
                let loader = text(&params["loaderId"]);
                self.response = Some((loader, status, text(&response["statusText"])));
                if NO_CONTENT.contains(&status) {
                    self.without_document += 1;
                }
            }
            "Page.frameNavigated" if params["frame"]["id"] == frame => {
                let url = params["frame"]["unreachableUrl"].as_str();
                self.unreachable = url.map(str::to_owned);
                self.is_reported = false;
            }
            _ => {}
        }
    }

    /// Notes that the load of a document of the main frame failed.
    fn fail(&mut self, params: &Value) {
        self.reason = text(&params["errorText"]);
        if self.reason == "net::ERR_ABORTED" {
            self.without_document += 1;
        }
    }

    /// Why Chromium shows an error page, if it does.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.unreachable.as_ref()?;
        Some(match self.reason.as_str() {
            "" => "unknown error",
            reason => reason,
        })
    }

    /// The status of the response of this loader that sent no document.
    pub(crate) fn no_content(&self, loader: Option<&str>) -> Option<u64> {
        let (of, status, _) = self.response.as_ref()?;
        let is_its = loader.is_none_or(|loader| loader == of);
        (is_its && NO_CONTENT.contains(status)).then_some(*status)
    }
}

impl Tab {
    /// Whether a document of the main frame is requested.
    pub(crate) fn is_loading_document(&self) -> bool {
        let mut requests = self.requests.values();
        requests.any(|request| request.is_document && request.is_main_frame)
    }

    /// Notes that a request has ended.
    pub(super) fn end_request(&mut self, method: &str, params: &Value) {
        let ended = self.requests.remove(&text(&params["requestId"]));
        let is_main = ended.is_some_and(|it| it.is_document && it.is_main_frame);
        if is_main && method == "Network.loadingFailed" {
            self.loads.fail(params);
        }
    }

    /// The HTTP error that the document of the tab is, such as `HTTP 404 (Not Found)`.
    pub(crate) fn http_error(&self) -> Option<String> {
        let (loader, status, name) = self.loads.response.as_ref()?;
        if *status < 400 || self.document() != Some(loader) {
            return None;
        }
        // HTTP/2 has no names.
        Some(match name.as_str() {
            "" => format!("HTTP {status}"),
            name => format!("HTTP {status} ({})", shortened(name)),
        })
    }

    /// What the tab shows, as a sentence.
    pub(crate) fn describe_document(&self) -> String {
        let name = &self.name;
        match &self.loads.unreachable {
            Some(url) => format!(
                "{name} shows Chromium's error page for <{}>.",
                shortened(url)
            ),
            None if self.url.is_empty() || self.url == "about:blank" => {
                format!("{name} shows an empty page.")
            }
            None => format!("{name} still shows <{}>.", shortened(&self.url)),
        }
    }
}

impl TabRegistry {
    /// The tabs that show an error page of Chromium, unless a result has said so.
    pub(crate) fn report_failed_loads(&self) -> Option<String> {
        let mut state = lock(&self.state);
        let mut sentences = Vec::new();
        for tab in &mut state.tabs {
            if tab.loads.is_reported || tab.loads.failure().is_none() {
                continue;
            }
            tab.loads.is_reported = true;
            let reason = tab.loads.failure().unwrap_or_default().to_owned();
            sentences.push(format!("{} ({reason})", tab.describe_document()));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// Notes that a result says that the load of this tab failed.
    pub(crate) fn set_load_reported(&self, target: &str) {
        let mut state = lock(&self.state);
        if let Some(tab) = state.tabs.iter_mut().find(|tab| tab.target == target) {
            tab.loads.is_reported = true;
        }
    }
}

fn shortened(text: &str) -> String {
    let clean = text.chars().filter(|c| !c.is_control());
    let cut: String = clean.take(MAX_URL_CHARS).collect();
    let ellipsis = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut}{ellipsis}")
}
