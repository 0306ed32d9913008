//! Attaching to a running Chromium: a separate browser context in it, and nothing else.

use std::sync::Arc;

use serde_json::json;
use telechir_device::DeviceError;
use telechir_protocol::Size;
use tracing::warn;

use crate::Browser;
use crate::client::{CdpClient, Transport};
use crate::context::ContextParts;
use crate::event_router::{EventRouter, TabSource};
use crate::launch::Chromium;
use crate::options::Options;
use crate::socket;

impl Browser {
    /// Attaches to a running Chromium by its DevTools address (`http://` for discovery by
    /// `/json/version`, `ws://` for the socket itself) and creates a browser context in it. The
    /// context is disposed of on drop; other tabs of that Chromium are neither visible nor closed.
    ///
    /// Only the options about pages apply, and `proxy`. Traffic does not pass through the egress
    /// proxy, and the sandbox and memory limits are those of the owner; a warning logs this.
    ///
    /// # Errors
    ///
    /// If no browser answers at the address, or it creates no contexts.
    pub async fn attach(address: &str, size: Size, options: Options) -> Result<Self, DeviceError> {
        let socket = socket::open(address).await.map_err(unavailable)?;
        warn!(
            "attached to a browser that telechir did not start: its traffic bypasses the egress \
             proxy, and its sandbox and limits are the owner's responsibility"
        );
        let router = Arc::new(EventRouter::new(TabSource::OwnContextsOnly));
        let events = Arc::clone(&router);
        let transport = Transport::Socket(Box::new(socket));
        let (client, tasks) = CdpClient::start(transport, move |client, event| {
            events.dispatch(client, &event)
        })
        .map_err(|error| unavailable(error.to_string()))?;
        let limit = options.reply_timeout;
        let version = client.call(None, "Browser.getVersion", json!({}), limit);
        let version = version.await?;
        let pages = json!([{ "type": "page", "exclude": false }, { "exclude": true }]);
        let discover = json!({ "discover": true, "filter": pages });
        client
            .call(None, "Target.setDiscoverTargets", discover, limit)
            .await?;
        let options = Options {
            egress: None,
            ..options
        };
        let isolated = ContextParts {
            chromium: Chromium::Attached { _tasks: tasks },
            client,
            router,
            options,
            size,
            agent: version["userAgent"].as_str().unwrap_or_default().into(),
            is_headless_shell: false,
            memory: None,
            shares_network: None,
        };
        isolated.open().await
    }
}

fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "a session in the running browser",
        message,
    }
}
