//! Runs functions in empty documents of origins, in a tab that is no tab of the session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use crate::Browser;
use crate::cdp_session::CdpSession;
use crate::client::{CdpClient, text};
use crate::context::Context;
use crate::error::CdpError;
use crate::event_router::EventRouter;
use crate::tab_registry::TabRegistry;

/// How long all origins may take together.
const MAX_TIME: Duration = Duration::from_secs(120);
/// How often it is checked whether a document is that of its origin.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Why a function has no result in an origin.
#[derive(Debug)]
pub(super) enum OriginError {
    /// Another origin may work.
    Failed(String),
    /// Chromium is gone.
    Lost(CdpError),
}

/// The documents of origins, one at a time.
#[derive(Debug)]
pub(super) struct OriginPages {
    client: CdpClient,
    router: Arc<EventRouter>,
    registry: Arc<TabRegistry>,
    /// The context of the tab; `None` for the default one.
    context: Option<String>,
    reply_timeout: Duration,
    load_timeout: Duration,
    deadline: Instant,
    tab: Option<PrivateTabGuard>,
}

/// The private tab; it is closed on drop, also if it is not open yet.
#[derive(Debug)]
struct PrivateTabGuard {
    client: CdpClient,
    registry: Arc<TabRegistry>,
}

impl Drop for PrivateTabGuard {
    fn drop(&mut self) {
        self.registry.close_private_tab(&self.client);
    }
}

/// An origin as pages see it, from a URL of it.
pub(super) fn web_origin(url: &str) -> Result<String, String> {
    let url = Url::parse(url).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or("expected an http or https origin")?;
    Ok(url.origin().ascii_serialization())
}

impl OriginPages {
    /// No document yet: its tab is opened when it is needed.
    pub(super) fn new(browser: &Browser) -> Self {
        let context = browser.context.as_ref().and_then(Context::for_new_tabs);
        Self {
            client: browser.client.clone(),
            router: Arc::clone(&browser.router),
            registry: Arc::clone(&browser.registry),
            context: context.map(str::to_owned),
            reply_timeout: browser.options.reply_timeout,
            load_timeout: browser.options.navigation_timeout,
            deadline: Instant::now() + MAX_TIME,
            tab: None,
        }
    }

    /// Runs a function in an empty document of an origin, which no server is asked for. The function
    /// returns null in any other document.
    pub(super) async fn run(
        &mut self,
        origin: &str,
        function: &str,
        argument: &Value,
    ) -> Result<Value, OriginError> {
        let now = Instant::now();
        if now >= self.deadline {
            let limit = MAX_TIME.as_secs();
            let reason = format!("it was not reached within {limit} s");
            return Err(OriginError::Failed(reason));
        }
        let deadline = self.deadline.min(now + self.load_timeout);
        let page = self.page().await?;
        let done = run_in(&page, origin, deadline, function, argument).await;
        if matches!(done, Err(CdpError::PageGone(_))) {
            // The next origin gets a new tab.
            self.tab = None;
        }
        match done? {
            Ok(value) => Ok(value),
            Err(reason) => Err(OriginError::Failed(reason)),
        }
    }

    async fn page(&mut self) -> Result<CdpSession, OriginError> {
        if self.tab.is_none() || self.registry.private_tab().is_none() {
            self.tab = None;
            self.open().await?;
        }
        let session = self.registry.private_tab().unwrap_or_default();
        Ok(CdpSession::new(&self.client, &session, self.reply_timeout))
    }

    async fn open(&mut self) -> Result<(), CdpError> {
        let limit = self.reply_timeout;
        let timed_out = CdpError::Timeout {
            method: "Target.createTarget",
            limit,
        };
        let deadline = Instant::now() + limit;
        let mut changes = self.registry.watch();
        while !self.registry.expect_private_tab() {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(timed_out);
            }
        }
        let tab = PrivateTabGuard {
            client: self.client.clone(),
            registry: Arc::clone(&self.registry),
        };
        let mut params = json!({ "url": "about:blank", "background": true });
        if let Some(context) = &self.context {
            params["browserContextId"] = context.as_str().into();
        }
        // Chromium opens the tab even if nobody waits for it any more; only its answer says which one
        // is to be closed then.
        let created = tokio::spawn(create(
            self.client.clone(),
            Arc::clone(&self.registry),
            params,
            limit,
        ));
        let target = created.await.map_err(|error| CdpError::Lost {
            reason: error.to_string(),
        })??;
        self.router.share(&self.client, &target);
        while self.registry.private_tab().is_none() {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(timed_out);
            }
        }
        self.tab = Some(tab);
        Ok(())
    }
}

/// Opens the private tab, and says which one it is. Returns its CDP target id.
async fn create(
    client: CdpClient,
    registry: Arc<TabRegistry>,
    params: Value,
    limit: Duration,
) -> Result<String, CdpError> {
    let created = client
        .call(None, "Target.createTarget", params, limit)
        .await;
    let target = created.map(|created| text(&created["targetId"]));
    match &target {
        Ok(target) => registry.private_tab_is(&client, target),
        Err(_) => registry.no_private_tab(&client),
    }
    target
}

/// Runs a function in a document of an origin. The inner error is why that document did not load, or
/// what the function threw.
async fn run_in(
    page: &CdpSession,
    origin: &str,
    deadline: Instant,
    function: &str,
    argument: &Value,
) -> Result<Result<Value, String>, CdpError> {
    let navigate = json!({ "url": format!("{origin}/") });
    let loaded = page.call("Page.navigate", navigate).await?;
    if let Some(reason) = loaded["errorText"].as_str() {
        return Ok(Err(format!("its document did not load ({reason})")));
    }
    let params = json!({
        "expression": format!("({function})({argument})"), "returnByValue": true,
        "awaitPromise": true,
    });
    loop {
        let shown = page.evaluate("location.origin").await;
        if either(shown)? == origin {
            let left = deadline.saturating_duration_since(Instant::now());
            let called = page.call_within("Runtime.evaluate", params.clone(), left);
            let mut answer = either(called.await)?;
            let thrown = answer["exceptionDetails"]["exception"]["description"].as_str();
            if let Some(thrown) = thrown {
                return Ok(Err(thrown.lines().next().unwrap_or_default().to_owned()));
            }
            let value = answer["result"]["value"].take();
            if !value.is_null() {
                return Ok(Ok(value));
            }
        }
        if Instant::now() >= deadline {
            return Ok(Err("its document did not load".to_owned()));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// An answer, which is null if the document was replaced meanwhile.
fn either(answer: Result<Value, CdpError>) -> Result<Value, CdpError> {
    match answer {
        Err(CdpError::Protocol { .. }) => Ok(Value::Null),
        answer => answer,
    }
}

impl From<CdpError> for OriginError {
    fn from(error: CdpError) -> Self {
        match error {
            CdpError::Lost { .. } => Self::Lost(error),
            CdpError::PageGone(_) | CdpError::Timeout { .. } | CdpError::Protocol { .. } => {
                Self::Failed(format!("failed to {error}"))
            }
        }
    }
}

impl OriginError {
    /// The reason, unless no other origin can work.
    pub(super) fn reason(self) -> Result<String, DeviceError> {
        match self {
            Self::Failed(reason) => Ok(reason),
            Self::Lost(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_pages_see_it() {
        for (url, expected) in [
            ("https://shop.example/", "https://shop.example"),
            ("https://shop.example", "https://shop.example"),
            ("HTTPS://Shop.example:443/cart?x", "https://shop.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(web_origin(url).as_deref(), Ok(expected), "{url}");
        }
        for url in ["ftp://h", "null", "", "file:///x"] {
            assert!(web_origin(url).is_err(), "{url}");
        }
    }
}
