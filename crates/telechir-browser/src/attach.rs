//! Attaching to a running Chromium: in a browser context of our own, or in tabs that exist.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::{DeviceEnd, DeviceError};
use telechir_protocol::Size;
use tracing::warn;

use crate::Browser;
use crate::attachment::{
    AttachedTabs, Attachment, BrowserService, EndpointError, EndpointSource, Reachable,
};
use crate::client::{CdpClient, Transport};
use crate::context::{ContextParts, ContextSource};
use crate::event_router::{EventRouter, TabSource};
use crate::launch::Chromium;
use crate::options::Options;
use crate::socket;

mod tab_choice;

use tab_choice::{choose, unavailable};

impl Browser {
    /// Attaches to a running Chromium by its DevTools endpoint: `http://` for discovery by
    /// `/json/version`, `ws://` with a path for the socket itself. The tabs of the
    /// attachment are used; the browser itself is never closed.
    ///
    /// Only the options about pages apply, and `proxy`. Traffic does not pass through the egress
    /// proxy; with [`AttachedTabs::Default`] and an `egress`, requests are judged as described at
    /// [`Self::attach_service`]. The sandbox and memory limits are those of the owner. A warning logs
    /// this.
    ///
    /// If the connection is cut, it is opened again: the action under way fails, and refs are stale.
    ///
    /// # Errors
    ///
    /// If no browser answers at the endpoint, or it does not have the tab.
    pub async fn attach(
        attachment: Attachment,
        size: Size,
        options: Options,
    ) -> Result<Self, DeviceError> {
        let judges_requests = attachment.tabs == AttachedTabs::Default && options.egress.is_some();
        let attached = Self::connect(attachment.into(), None, size, options).await?;
        let traffic = if judges_requests {
            "the policy judges its requests, but its WebSockets and WebRTC bypass the egress proxy"
        } else {
            "its traffic bypasses the egress proxy"
        };
        warn!(
            "attached to a browser that telechir did not start: {traffic}, and its sandbox and limits \
             are the owner's responsibility"
        );
        Ok(attached)
    }

    /// Attaches to a browser that a service runs, in its default context. The service is asked for
    /// the endpoint before every connection, and told of every action.
    ///
    /// With an `egress`, Chromium pauses every request of its pages and workers until the policy has
    /// judged it; it does not pause WebSockets, WebTransport and WebRTC, nor anything while the
    /// connection is cut. Otherwise as [`Self::attach`].
    ///
    /// # Errors
    ///
    /// If the service names no endpoint, or no browser answers there.
    pub async fn attach_service(
        service: Arc<dyn BrowserService>,
        size: Size,
        options: Options,
    ) -> Result<Self, DeviceError> {
        let reachable = Reachable {
            source: EndpointSource::Service(service),
            tabs: AttachedTabs::Default,
        };
        Self::connect(reachable, None, size, options).await
    }

    /// Connects to the browser; `target` is the tab of an earlier connection.
    pub(crate) async fn connect(
        attachment: Reachable,
        target: Option<String>,
        size: Size,
        options: Options,
    ) -> Result<Self, DeviceError> {
        let endpoint = attachment.source.endpoint().await.map_err(no_endpoint)?;
        let socket = socket::open(&endpoint).await.map_err(unavailable)?;
        let router = Arc::new(EventRouter::new(TabSource::OwnContextsOnly));
        let events = Arc::clone(&router);
        let transport = Transport::Socket(Box::new(socket));
        let (client, tasks) = CdpClient::start(transport, move |client, event| {
            events.dispatch(client, &event)
        })
        .map_err(|error| unavailable(error.to_string()))?;
        let limit = options.reply_timeout;
        let agent = check_peer(&client, limit).await.map_err(|reason| {
            let reason = endpoint.redact(&reason);
            unavailable(format!("{}: {reason}", endpoint.origin()))
        })?;
        let source = match &attachment.tabs {
            AttachedTabs::Isolated => ContextSource::Created,
            tabs @ AttachedTabs::Default | tabs @ AttachedTabs::Existing(_) => {
                let tabs = choose(&client, tabs, target.as_deref(), limit).await?;
                ContextSource::Existing(tabs)
            }
        };
        let options = match attachment.tabs {
            AttachedTabs::Default => options,
            // Requests of other tabs are not ours to judge.
            AttachedTabs::Isolated | AttachedTabs::Existing(_) => Options {
                egress: None,
                ..options
            },
        };
        if let Some(egress) = &options.egress {
            let judged = router.judge_requests(&client, egress, limit).await;
            judged.map_err(|error| {
                let reason = endpoint.redact(&error.to_string());
                unavailable(format!(
                    "{}: the requests of its pages cannot be judged by the policy: failed to {reason}",
                    endpoint.origin()
                ))
            })?;
        }
        let parts = ContextParts {
            chromium: Chromium::Attached {
                _tasks: tasks,
                attachment: Box::new(attachment),
            },
            client,
            router,
            options,
            size,
            agent,
            is_headless_shell: false,
            memory: None,
            shares_network: None,
        };
        parts.open(source).await
    }
}

fn no_endpoint(error: EndpointError) -> DeviceError {
    match error {
        EndpointError::Ended(reason) => DeviceError::Disconnected {
            device: "browser",
            source: Box::new(DeviceEnd { reason }),
        },
        EndpointError::Unavailable(reason) => unavailable(reason),
    }
}

/// Checks that the peer is a browser that speaks CDP; returns its user agent.
async fn check_peer(client: &CdpClient, limit: Duration) -> Result<Arc<str>, String> {
    const EXPECTED: &str = "expected the DevTools address of Chromium, not that of another program";
    let version = client
        .call(None, "Browser.getVersion", json!({}), limit)
        .await;
    let version = version.map_err(|error| {
        format!("its WebSocket does not speak CDP (failed to {error}); {EXPECTED}")
    })?;
    let Some(agent) = version["userAgent"].as_str() else {
        return Err(format!(
            "its WebSocket does not speak CDP (Browser.getVersion has no user agent); {EXPECTED}"
        ));
    };
    // Gateways may not know this command.
    let own = client
        .call(None, "Target.getTargetInfo", json!({}), limit)
        .await
        .unwrap_or(Value::Null);
    match own["targetInfo"]["type"].as_str() {
        None | Some("browser") => Ok(agent.into()),
        Some(_) => Err(socket::PAGE_SOCKET.to_owned()),
    }
}
