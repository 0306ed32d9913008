//! A browser in a Chromium that somebody else started: an isolated context of our own there, and
//! nothing else of it.

use std::sync::Arc;

use serde_json::json;
use telechir_device::DeviceError;
use telechir_protocol::Size;
use tracing::warn;

use crate::Browser;
use crate::browser::Chromium;
use crate::client::{Client, Transport};
use crate::context::Isolated;
use crate::file_transfer::Exchange;
use crate::options::{Files, Options};
use crate::event_router::{Shelf, Tabs};
use crate::socket;

impl Browser {
    /// Attaches to a Chromium by the address of its DevTools, `http://` where it tells its socket
    /// or `ws://` the socket itself, and makes a context of our own in it. That context ends with
    /// this; whatever else is in that Chromium is neither seen nor closed.
    ///
    /// Of the options those count that are about pages; its traffic takes `proxy` where that is
    /// set. It is not held back by a filtering proxy of ours, and its sandbox and memory are
    /// whatever its owner gave it. That is logged as a warning.
    ///
    /// # Errors
    /// When there is no browser at that address, or it makes no contexts.
    pub async fn attach(address: &str, size: Size, options: Options) -> Result<Self, DeviceError> {
        let socket = socket::open(address).await.map_err(unavailable)?;
        warn!(
            "attached to a browser that telechir did not start: what its pages connect to passes \
             no filtering proxy, and its sandbox and limits are whatever its owner gave it"
        );
        let shelf = Arc::new(Shelf::new(Tabs::Taken));
        let reading = Arc::clone(&shelf);
        let transport = Transport::Socket(Box::new(socket));
        let (client, pump) =
            Client::start(transport, move |client, event| reading.take(client, &event))
                .map_err(|error| unavailable(error.to_string()))?;
        let limit = options.answer_limit;
        let version = client.call(None, "Browser.getVersion", json!({}), limit);
        let version = version.await?;
        let pages = json!([{ "type": "page", "exclude": false }, { "exclude": true }]);
        let discover = json!({ "discover": true, "filter": pages });
        client
            .call(None, "Target.setDiscoverTargets", discover, limit)
            .await?;
        let options = Options {
            egress: None,
            // What its pages give would be on its own machine.
            files: options.files.map(|files| Files {
                keeps_downloads: false,
                ..files
            }),
            ..options
        };
        let exchange = Exchange::create(&options)
            .map_err(|error| unavailable(format!("a folder for files: {error}")))?;
        let isolated = Isolated {
            chromium: Chromium::Attached { _pump: pump },
            client,
            shelf,
            options,
            size,
            agent: version["userAgent"].as_str().unwrap_or_default().into(),
            is_shell: false,
            exchange: exchange.map(Arc::new),
        };
        isolated.open().await
    }
}

fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "the browser to attach to",
        message,
    }
}
