//! Navigation: to a URL, through the history, and reloads, up to the parsed document.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_egress::Egress;
use tokio::time::{Instant, timeout_at};

use crate::cdp_session::CdpSession;
use crate::error::{CdpError, millis, refused};
use crate::tab_registry::{Tab, TabRegistry};

/// An abort is followed by its cause within milliseconds, on a busy machine later.
const EVENT_LATENCY: Duration = Duration::from_secs(1);

/// A load that Chromium accepted counts as lost if it has not committed after this time while
/// another document did.
const LOAD_LOST_AFTER: Duration = Duration::from_secs(2);
/// How often the state is checked without an event.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const ABORTED: &str = "net::ERR_ABORTED";

/// A direction in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Back,
    Forward,
}

/// A navigation of one tab.
#[derive(Debug)]
pub(crate) struct Navigation<'a> {
    pub(crate) page: &'a CdpSession,
    pub(crate) registry: &'a TabRegistry,
    pub(crate) tab: &'a Tab,
    pub(crate) limit: Duration,
    pub(crate) egress: Option<&'a Egress>,
    /// Whether downloads are saved.
    pub(crate) keeps_files: bool,
}

impl Navigation<'_> {
    /// Navigates to a URL and waits until its document is parsed. Returns what is to be said about
    /// it, such as that it is an error of the server.
    pub(crate) async fn go_to(&self, url: &str) -> Result<Option<String>, DeviceError> {
        let deadline = Instant::now() + self.limit;
        loop {
            match self.try_go_to(url, deadline).await? {
                NavigationOutcome::Replaced => {}
                NavigationOutcome::Loaded => return self.loaded(),
                NavigationOutcome::Download => {
                    let shown = self.tab_now()?.describe_document();
                    return Ok(Some(format!("The URL is a download, not a page. {shown}")));
                }
            }
        }
    }

    /// What is to be said about the document that was loaded; an error if it is Chromium's own error
    /// page.
    fn loaded(&self) -> Result<Option<String>, DeviceError> {
        let tab = self.tab_now()?;
        if let Some(reason) = tab.loads.failure() {
            return Err(self.failed(&format!("Failed to load the page: {reason}.")));
        }
        let name = &tab.name;
        Ok(tab.http_error().map(|error| {
            format!("The server answered with {error}; {name} shows what it sent with it.")
        }))
    }

    /// A failure that says what the tab shows now.
    fn failed(&self, message: &str) -> DeviceError {
        self.registry.set_load_reported(&self.tab.target);
        match self.tab_now() {
            Ok(tab) => refused(format!("{message} {}", tab.describe_document())),
            Err(error) => error,
        }
    }

    async fn try_go_to(
        &self,
        url: &str,
        deadline: Instant,
    ) -> Result<NavigationOutcome, DeviceError> {
        let before = self.tab_now()?;
        // A page that stays may continue to load.
        if without_fragment(url) != without_fragment(&before.url) {
            self.stop_loading_page(&before);
        }
        let limit = deadline.saturating_duration_since(Instant::now());
        let answer = self
            .page
            .call_within("Page.navigate", json!({ "url": url }), limit)
            .await
            .map_err(|error| self.or_late(error))?;
        if let Some(error) = answer["errorText"].as_str().filter(|text| !text.is_empty()) {
            if answer["isDownload"] == true && self.keeps_files {
                // The result reports the download.
                return Ok(NavigationOutcome::Download);
            }
            if answer["isDownload"] == true {
                return Err(self.failed("The URL is a download; this browser does not save files."));
            }
            let loader = answer["loaderId"].as_str();
            if let Some(status) = self.tab_now()?.loads.no_content(loader)
                && error == ABORTED
            {
                return Err(self.failed(&no_content(status)));
            }
            if error == ABORTED && self.crashed_meanwhile().await {
                return Err(refused("The page crashed while it was loading."));
            }
            if error == ABORTED && self.tab_now()?.document() != before.document() {
                return Ok(NavigationOutcome::Replaced);
            }
            if error != ABORTED {
                self.error_page(before.commits).await?;
            }
            let refusal = self.egress.and_then(|egress| egress.last_refusal(url));
            let reason = refusal
                .map(|reason| format!(" {reason}"))
                .unwrap_or_default();
            return Err(self.failed(&format!("Failed to load the page: {error}.{reason}")));
        }
        let Some(loader) = answer["loaderId"].as_str() else {
            // A fragment of the same document: already there.
            return Ok(NavigationOutcome::Loaded);
        };
        let lost = Instant::now() + LOAD_LOST_AFTER;
        self.until(deadline, |tab| match tab.is_load_still_current(loader) {
            Some(true) if tab.has_pending_load() && Instant::now() < lost => None,
            Some(true) => tab.ready.then_some(NavigationOutcome::Loaded),
            Some(false) => Some(NavigationOutcome::Replaced),
            None => (tab.document() != before.document() && Instant::now() >= lost)
                .then_some(NavigationOutcome::Replaced),
        })
        .await
    }

    /// Waits until Chromium shows the error page of a load that failed.
    async fn error_page(&self, commits: u64) -> Result<(), DeviceError> {
        let deadline = Instant::now() + EVENT_LATENCY;
        let shown = self.until(deadline, |tab| (tab.commits > commits).then_some(()));
        match timeout_at(deadline, shown).await {
            Ok(Err(error @ DeviceError::Disconnected { .. })) => Err(error),
            // Without an error page the tab keeps its document.
            Ok(Ok(()) | Err(_)) | Err(_) => Ok(()),
        }
    }

    fn tab_now(&self) -> Result<Tab, DeviceError> {
        let tab = self.registry.by_target(&self.tab.target);
        tab.ok_or_else(|| refused("The tab closed itself while it was loading."))
    }

    /// Whether the page crashed, which is reported a little later than the failed load.
    async fn crashed_meanwhile(&self) -> bool {
        let deadline = Instant::now() + EVENT_LATENCY;
        let mut changes = self.registry.watch();
        loop {
            match self.registry.by_target(&self.tab.target) {
                Some(tab) if tab.crashes > self.tab.crashes => return true,
                Some(_) => {}
                None => return false,
            }
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return false;
            }
        }
    }

    /// Goes one page back or forward.
    pub(crate) async fn step(&self, direction: Direction) -> Result<Option<String>, DeviceError> {
        let history = self
            .page
            .call("Page.getNavigationHistory", json!({}))
            .await?;
        let current = history["currentIndex"].as_u64().unwrap_or(0);
        let wanted = match direction {
            Direction::Back => current.checked_sub(1),
            Direction::Forward => current.checked_add(1),
        };
        let entry: Option<&Value> = wanted
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| history["entries"].get(index));
        let entry = entry.ok_or_else(|| {
            refused(match direction {
                Direction::Back => "There is no previous page in the history.",
                Direction::Forward => "There is no next page in the history.",
            })
        })?;
        let params = json!({ "entryId": entry["id"] });
        self.load_with("Page.navigateToHistoryEntry", params).await
    }

    /// Reloads the page and waits for its document.
    pub(crate) async fn reload(&self) -> Result<Option<String>, DeviceError> {
        self.load_with("Page.reload", json!({})).await
    }

    async fn load_with(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Option<String>, DeviceError> {
        let deadline = Instant::now() + self.limit;
        let before = self.tab_now()?;
        self.stop_loading_page(self.tab);
        self.page
            .call_within(method, params, self.limit)
            .await
            .map_err(|error| self.or_late(error))?;
        let has_ended = |tab: &Tab| tab.loads.without_document > before.loads.without_document;
        let has_document = self
            .until(deadline, |tab| match tab.commits > before.commits {
                true => tab.ready.then_some(true),
                false => (has_ended(tab) && !tab.is_loading_document()).then_some(false),
            })
            .await?;
        if has_document {
            return self.loaded();
        }
        let reason = match self.tab_now()?.loads.no_content(None) {
            Some(status) => no_content(status),
            None => "No page was loaded: the load was aborted, or it is a download.".to_owned(),
        };
        Err(self.failed(&reason))
    }

    /// A navigation that the page itself has started would commit later and replace the requested
    /// one.
    fn stop_loading_page(&self, tab: &Tab) {
        if tab.may_navigate_again() {
            self.page.notify("Page.stopLoading", json!({}));
        }
    }

    /// Waits until `outcome_of` returns a value for the tab.
    async fn until<T>(
        &self,
        deadline: Instant,
        outcome_of: impl Fn(&Tab) -> Option<T>,
    ) -> Result<T, DeviceError> {
        let mut changes = self.registry.watch();
        loop {
            let tab = self.tab_now()?;
            if let Some(outcome) = outcome_of(&tab) {
                return Ok(outcome);
            }
            if tab.crashes > self.tab.crashes {
                return Err(refused("The page crashed while it was loading."));
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(self.late());
            }
            if let Ok(Err(_)) =
                timeout_at(deadline.min(now + POLL_INTERVAL), changes.changed()).await
            {
                return Err(CdpError::Lost {
                    reason: "it was closed".to_owned(),
                }
                .into());
            }
        }
    }

    fn or_late(&self, error: CdpError) -> DeviceError {
        if matches!(error, CdpError::Timeout { .. }) {
            self.late()
        } else {
            error.into()
        }
    }

    /// Stops loading, because the next load would wait for it.
    fn late(&self) -> DeviceError {
        self.page.notify("Page.stopLoading", json!({}));
        DeviceError::Timeout {
            what: "load the page",
            limit_ms: millis(self.limit),
        }
    }
}

/// What came of one attempt to navigate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NavigationOutcome {
    Loaded,
    /// A navigation of the page itself replaced it.
    Replaced,
    /// The response is saved as a file, and the tab keeps its document.
    Download,
}

fn no_content(status: u64) -> String {
    format!("The server answered with HTTP {status} and sent no page.")
}

/// A URL without its fragment.
fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
