//! The active page as people look at it, beside the running action: captures without a window, and its
//! elements as text.
//!
//! Whoever waits for changes gets a screencast through a CDP session of its own, because the tab's
//! session has at most one, which settling and screenshots use.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use telechir_device::{DeviceError, Frame, PageOutlineSource, ScreenViewer};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::capture;
use crate::cdp_session::CdpSession;
use crate::client::{CdpClient, lock};
use crate::error::{CdpError, refused};
use crate::event_router::EventRouter;
use crate::snapshot::{PageReader, Scope, Snapshots, outline_for_people};
use crate::tab_registry::{Tab, TabRegistry};

/// Whether another tab is shown is looked for this often.
const TAB_INTERVAL: Duration = Duration::from_millis(200);
/// A page that is busy or shows a dialog does not answer, and people look again soon.
const CAPTURE_TIMEOUT: Duration = Duration::from_secs(3);

/// The browser that people look at. It has another connection once it was started or connected again.
#[derive(Clone, Debug)]
pub(crate) struct ViewedBrowser(Arc<Mutex<ViewedConnection>>);

/// What looking at a browser needs.
#[derive(Clone, Debug)]
pub(crate) struct ViewedConnection {
    pub(crate) client: CdpClient,
    pub(crate) registry: Arc<TabRegistry>,
    pub(crate) router: Arc<EventRouter>,
}

impl ViewedBrowser {
    pub(crate) fn new(connection: ViewedConnection) -> Self {
        Self(Arc::new(Mutex::new(connection)))
    }

    /// Lets people who look at this browser see that one from now on.
    pub(crate) fn replace(&self, by: &Self) {
        let connection = by.connection();
        *lock(&self.0) = connection;
    }

    fn connection(&self) -> ViewedConnection {
        lock(&self.0).clone()
    }
}

impl ViewedConnection {
    fn active(&self) -> Option<Tab> {
        self.registry.active().filter(|tab| !tab.crashed)
    }

    /// The active tab of a browser that is there.
    fn active_page(&self) -> Result<Tab, DeviceError> {
        if let Some(lost) = self.client.loss() {
            return Err(lost.into());
        }
        let tab = self.active();
        tab.ok_or_else(|| refused("No page is open, or it crashed."))
    }
}

/// Reads the elements of whichever tab is active, with its own memory of documents, so that what a model
/// has read is not changed.
#[derive(Debug)]
pub(crate) struct PageOutlineReader {
    browser: ViewedBrowser,
    snapshots: Snapshots,
}

impl PageOutlineReader {
    pub(crate) fn new(browser: ViewedBrowser) -> Self {
        Self {
            browser,
            snapshots: Snapshots::default(),
        }
    }
}

#[async_trait]
impl PageOutlineSource for PageOutlineReader {
    async fn outline(&mut self) -> Result<String, DeviceError> {
        let ViewedConnection {
            client, registry, ..
        } = self.browser.connection();
        let tab = self.browser.connection().active_page()?;
        if let Some(dialog) = registry.describe_dialog(&tab.session) {
            return Err(refused(format!("The page cannot be read: {dialog}")));
        }
        self.snapshots.prune(&registry);
        let mut reader = PageReader {
            client: &client,
            registry: &registry,
            documents: &mut self.snapshots.documents,
            limit: CAPTURE_TIMEOUT,
        };
        let tree = timeout(CAPTURE_TIMEOUT, reader.tree(&tab, Scope::default()));
        let tree = tree
            .await
            .map_err(|_| refused("The page does not answer."))?;
        Ok(outline_for_people(&tree?))
    }
}

/// Captures whichever tab is active.
#[derive(Debug)]
pub(crate) struct PageViewer {
    browser: ViewedBrowser,
    /// Absent while nobody waits for changes.
    cast: Option<PageCast>,
}

impl PageViewer {
    pub(crate) const fn new(browser: ViewedBrowser) -> Self {
        Self {
            browser,
            cast: None,
        }
    }

    /// The screencast of this tab, which starts if there is none.
    async fn cast_of(&mut self, connection: &ViewedConnection, tab: &Tab) -> Option<&mut PageCast> {
        let is_other = |cast: &PageCast| cast.target != tab.target;
        if self.cast.as_ref().is_none_or(is_other) {
            self.cast = None;
            let started =
                PageCast::start(&connection.client, &connection.router, &tab.target).await;
            self.cast = match started {
                Ok(cast) => Some(cast),
                Err(error) => {
                    tracing::debug!(%error, "no screencast of the page");
                    None
                }
            };
        }
        self.cast.as_mut()
    }
}

#[async_trait]
impl ScreenViewer for PageViewer {
    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let connection = self.browser.connection();
        let tab = connection.active_page()?;
        let cast = self.cast.as_mut().filter(|cast| cast.target == tab.target);
        if let Some(frame) = cast.and_then(PageCast::newest) {
            return Ok(frame);
        }
        let page = CdpSession::new(&connection.client, &tab.session, CAPTURE_TIMEOUT);
        let captured = timeout(CAPTURE_TIMEOUT, capture::capture(&page)).await;
        captured.map_err(|_| refused("The page does not answer."))?
    }

    async fn until_changed(&mut self, limit: Duration) {
        let limit = limit.min(TAB_INTERVAL);
        let connection = self.browser.connection();
        let Some(tab) = connection.active() else {
            return sleep(limit).await;
        };
        let Some(cast) = self.cast_of(&connection, &tab).await else {
            return sleep(limit).await;
        };
        if let Ok(is_open) = timeout(limit, cast.next()).await
            && !is_open
        {
            self.cast = None;
        }
    }

    fn rest(&mut self) {
        self.cast = None;
    }
}

/// A screencast through a CDP session of its own; dropping it ends both.
#[derive(Debug)]
struct PageCast {
    client: CdpClient,
    target: String,
    session: String,
    frames: mpsc::Receiver<Value>,
    newest: Option<Frame>,
}

impl PageCast {
    async fn start(
        client: &CdpClient,
        router: &EventRouter,
        target: &str,
    ) -> Result<Self, CdpError> {
        let frames = router.expect_cast(target);
        let params = json!({ "targetId": target, "flatten": true });
        let attached = client.call(None, "Target.attachToTarget", params, CAPTURE_TIMEOUT);
        let attached = attached.await.inspect_err(|_| router.forget_cast(target))?;
        let cast = Self {
            client: client.clone(),
            target: target.to_owned(),
            session: attached["sessionId"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            frames,
            newest: None,
        };
        cast.notify("Page.enable", json!({}));
        cast.notify("Page.startScreencast", json!({ "format": "png" }));
        Ok(cast)
    }

    /// The last frame that Chromium has sent; none before the first.
    fn newest(&mut self) -> Option<Frame> {
        while let Ok(params) = self.frames.try_recv() {
            self.receive(&params);
        }
        self.newest.clone()
    }

    /// Waits for another frame; false if there are no more. Cancel-safe.
    async fn next(&mut self) -> bool {
        match self.frames.recv().await {
            Some(params) => {
                self.receive(&params);
                true
            }
            None => false,
        }
    }

    fn receive(&mut self, params: &Value) {
        let answer = json!({ "sessionId": params["sessionId"] });
        self.notify("Page.screencastFrameAck", answer);
        match capture::frame_of(params["data"].as_str().unwrap_or_default()) {
            Ok(frame) => self.newest = Some(frame),
            Err(error) => tracing::debug!(%error, "a frame of the page cannot be read"),
        }
    }

    fn notify(&self, method: &'static str, params: Value) {
        self.client.notify(Some(&self.session), method, params);
    }
}

impl Drop for PageCast {
    fn drop(&mut self) {
        self.notify("Page.stopScreencast", json!({}));
        let session = json!({ "sessionId": self.session });
        self.client.notify(None, "Target.detachFromTarget", session);
    }
}
