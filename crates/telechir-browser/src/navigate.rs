//! Loads: to an address, through the history, and again; seen to arrive or said to have failed.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_egress::Egress;
use tokio::time::{Instant, timeout_at};

use crate::tab_registry::{Book, Tab};
use crate::error::{CdpError, millis, refused};
use crate::cdp_session::Page;

/// What broke a load off is heard of within milliseconds, on a busy machine later.
const HEARD_OF: Duration = Duration::from_secs(1);

/// A load that was answered and did not come for so long, while another document did, is lost; and
/// so is one that nothing was heard of.
const LOST: Duration = Duration::from_secs(2);
/// So often it is looked at without being told to.
const LOOK: Duration = Duration::from_millis(500);
const ABORTED: &str = "net::ERR_ABORTED";

/// Which way through the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Back,
    Forward,
}

/// One tab that is sent somewhere.
#[derive(Debug)]
pub(crate) struct Navigation<'a> {
    pub(crate) page: &'a Page,
    pub(crate) book: &'a Book,
    pub(crate) tab: &'a Tab,
    pub(crate) limit: Duration,
    pub(crate) egress: Option<&'a Egress>,
    /// Whether files that pages give are kept.
    pub(crate) keeps_files: bool,
}

impl Navigation<'_> {
    /// Goes to an address and waits until its document is parsed.
    pub(crate) async fn go_to(&self, url: &str) -> Result<(), DeviceError> {
        let deadline = Instant::now() + self.limit;
        while !self.gets_to(url, deadline).await? {}
        Ok(())
    }

    /// Asks for an address; whether its document came, and not that of a page that was on its way
    /// elsewhere by itself and took its place.
    async fn gets_to(&self, url: &str, deadline: Instant) -> Result<bool, DeviceError> {
        let before = self.tab_now()?;
        // What loads of a page that stays goes on.
        if without_place(url) != without_place(&before.url) {
            self.hold_still(&before);
        }
        let limit = deadline.saturating_duration_since(Instant::now());
        let answer = self
            .page
            .call_within("Page.navigate", json!({ "url": url }), limit)
            .await
            .map_err(|error| self.too_late(error))?;
        if let Some(error) = answer["errorText"].as_str().filter(|text| !text.is_empty()) {
            if answer["isDownload"] == true && self.keeps_files {
                // What becomes of it is told beside.
                return Ok(true);
            }
            if answer["isDownload"] == true {
                return Err(refused(
                    "The address is a download; this browser keeps no files.",
                ));
            }
            if error == ABORTED && self.crashes().await {
                return Err(refused("The page crashed while it was loading."));
            }
            if error == ABORTED && self.tab_now()?.document() != before.document() {
                return Ok(false);
            }
            let refusal = self.egress.and_then(|egress| egress.why_refused(url));
            let why = refusal.map(|why| format!(" {why}")).unwrap_or_default();
            return Err(refused(format!(
                "The page could not be loaded: {error}.{why}"
            )));
        }
        let Some(loader) = answer["loaderId"].as_str() else {
            // A place within the same document: it is there already.
            return Ok(true);
        };
        let lost = Instant::now() + LOST;
        self.until(deadline, |tab| match tab.keeps_place(loader) {
            Some(true) if tab.is_contested() && Instant::now() < lost => None,
            Some(true) => tab.ready.then_some(true),
            Some(false) => Some(false),
            None => {
                (tab.document() != before.document() && Instant::now() >= lost).then_some(false)
            }
        })
        .await
    }

    fn tab_now(&self) -> Result<Tab, DeviceError> {
        let tab = self.book.target(&self.tab.target);
        tab.ok_or_else(|| refused("The tab closed itself while it was loading."))
    }

    /// Whether the page of a load that failed crashed, which is heard of a little later.
    async fn crashes(&self) -> bool {
        let deadline = Instant::now() + HEARD_OF;
        let mut changes = self.book.watch();
        loop {
            match self.book.target(&self.tab.target) {
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
    pub(crate) async fn step(&self, direction: Direction) -> Result<(), DeviceError> {
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
                Direction::Back => "There is no page before this one.",
                Direction::Forward => "There is no page after this one.",
            })
        })?;
        let params = json!({ "entryId": entry["id"] });
        self.and_arrive("Page.navigateToHistoryEntry", params).await
    }

    /// Loads the page again.
    pub(crate) async fn reload(&self) -> Result<(), DeviceError> {
        self.and_arrive("Page.reload", json!({})).await
    }

    async fn and_arrive(&self, method: &'static str, params: Value) -> Result<(), DeviceError> {
        let deadline = Instant::now() + self.limit;
        let before = self.tab.commits;
        self.hold_still(self.tab);
        self.page
            .call_within(method, params, self.limit)
            .await
            .map_err(|error| self.too_late(error))?;
        self.until(deadline, |tab| {
            (tab.ready && tab.commits > before).then_some(())
        })
        .await
    }

    /// A page that is on its way elsewhere by itself would arrive after the one that is asked for,
    /// and take its place.
    fn hold_still(&self, tab: &Tab) {
        if tab.is_restless() {
            self.page.notify("Page.stopLoading", json!({}));
        }
    }

    /// Waits until this can be said of the tab.
    async fn until<T>(
        &self,
        deadline: Instant,
        says: impl Fn(&Tab) -> Option<T>,
    ) -> Result<T, DeviceError> {
        let mut changes = self.book.watch();
        loop {
            let tab = self.tab_now()?;
            if let Some(said) = says(&tab) {
                return Ok(said);
            }
            if tab.crashes > self.tab.crashes {
                return Err(refused("The page crashed while it was loading."));
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(self.late());
            }
            if let Ok(Err(_)) = timeout_at(deadline.min(now + LOOK), changes.changed()).await {
                return Err(CdpError::Lost {
                    why: "it was closed".to_owned(),
                }
                .into());
            }
        }
    }

    fn too_late(&self, error: CdpError) -> DeviceError {
        if matches!(error, CdpError::Timeout { .. }) {
            self.late()
        } else {
            error.into()
        }
    }

    /// What is still loading is stopped, or the next load would wait behind it.
    fn late(&self) -> DeviceError {
        self.page.notify("Page.stopLoading", json!({}));
        DeviceError::Timeout {
            what: "load the page",
            limit_ms: millis(self.limit),
        }
    }
}

/// An address without the place in its document.
fn without_place(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
