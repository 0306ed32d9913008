//! Channels through which other programs drive this browser by CDP, beside its own connection.
//!
//! Each channel is a session with the browser itself, so that its subscriptions are its own. What a
//! channel may send is decided elsewhere; here are only the walls that hold whoever decides: URLs that
//! calls may not name either, files outside of the workspace, and secrets in what the browser reports.

mod hidden;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use telechir_device::{
    DeviceError, DevtoolsChannel, DevtoolsCommands, DevtoolsEvent, DevtoolsEvents, DevtoolsReply,
    DevtoolsSource,
};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::address;
use crate::client::{CdpClient, text};
use crate::error::refused;
use crate::event_router::EventRouter;
use crate::file_transfer::FileTransfer;
use crate::options::AllowedUrls;
use crate::setup::WORLD;
use crate::tab_registry::TabRegistry;

/// Opens channels to one browser.
#[derive(Debug)]
pub(crate) struct ChannelSource {
    pub(crate) client: CdpClient,
    pub(crate) router: Arc<EventRouter>,
    pub(crate) registry: Arc<TabRegistry>,
    /// Absent if Chromium cannot read what is staged: it runs elsewhere.
    pub(crate) files: Option<Arc<FileTransfer>>,
    /// Whether the browser is somebody's, and the session has a context of its own in it. A program
    /// that attaches to new tabs would stop theirs.
    pub(crate) is_guest: bool,
    pub(crate) limit: Duration,
}

#[async_trait]
impl DevtoolsSource for ChannelSource {
    async fn open(&self) -> Result<DevtoolsChannel, DeviceError> {
        if self.is_guest || self.router.shares_context() {
            return Err(refused(
                "Other programs cannot drive somebody's own browser.",
            ));
        }
        let tab = self.registry.active();
        let tab = tab.ok_or_else(|| refused("No page is open, or it crashed."))?;
        let (client, limit) = (&self.client, self.limit);
        let target = json!({ "targetId": tab.target });
        let found = client.call(None, "Target.getTargetInfo", target, limit);
        let context = text(&found.await?["targetInfo"]["browserContextId"]);
        let attached = client.call(None, "Target.attachToBrowserTarget", json!({}), limit);
        let root = text(&attached.await?["sessionId"]);
        if root.is_empty() || context.is_empty() {
            return Err(refused("The browser opens no channel to itself."));
        }
        let events = self.router.open_channel(&root);
        // Whoever decides has to know each page for what it is, also if the program does not listen.
        let all = json!({ "discover": true, "filter": [{}] });
        let discovered = client.call(Some(&root), "Target.setDiscoverTargets", all, limit);
        discovered.await?;
        let end = Arc::new(ChannelEnd {
            client: client.clone(),
            router: Arc::clone(&self.router),
            root,
        });
        Ok(DevtoolsChannel {
            commands: Arc::new(ChannelCommands {
                end: Arc::clone(&end),
                files: self.files.clone(),
            }),
            events: Box::new(ChannelEvents { events, _end: end }),
            context,
            world: WORLD.to_owned(),
        })
    }
}

/// Detaches the channel's sessions when it is dropped.
#[derive(Debug)]
struct ChannelEnd {
    client: CdpClient,
    router: Arc<EventRouter>,
    root: String,
}

impl Drop for ChannelEnd {
    fn drop(&mut self) {
        self.router.close_channel(&self.root);
        let params = json!({ "sessionId": self.root });
        self.client.notify(None, "Target.detachFromTarget", params);
    }
}

#[derive(Debug)]
struct ChannelEvents {
    events: mpsc::Receiver<DevtoolsEvent>,
    _end: Arc<ChannelEnd>,
}

#[async_trait]
impl DevtoolsEvents for ChannelEvents {
    async fn next(&mut self) -> Option<DevtoolsEvent> {
        let client = &self._end.client;
        tokio::select! {
            biased;
            event = self.events.recv() => event.map(|mut event| {
                hidden::hide_in_event(&event.method, &mut event.params);
                event
            }),
            _lost = client.lost() => None,
        }
    }
}

#[derive(Debug)]
struct ChannelCommands {
    end: Arc<ChannelEnd>,
    files: Option<Arc<FileTransfer>>,
}

#[async_trait]
impl DevtoolsCommands for ChannelCommands {
    async fn send(
        &self,
        session: Option<&str>,
        method: &str,
        mut params: Value,
    ) -> Result<DevtoolsReply, String> {
        if let Some(url) = params["url"].as_str()
            && matches!(method, "Page.navigate" | "Target.createTarget")
        {
            let url = address::resolve(url, AllowedUrls::WebAndData).map_err(|e| e.to_string())?;
            params["url"] = url.as_str().into();
        }
        if method == "DOM.setFileInputFiles" {
            params["files"] = self.staged(&params["files"]).await?;
        }
        let session = session.unwrap_or(&self.end.root);
        let reply = self.end.client.forward(Some(session), method, params);
        let reply = reply.map_err(|error| error.to_string())?;
        let method = method.to_owned();
        Ok(Box::pin(async move {
            let mut result = reply.forwarded().await?;
            hidden::hide_in_reply(&method, &mut result);
            Ok(result)
        }))
    }
}

impl ChannelCommands {
    /// Copies of files of the workspace that Chromium may read.
    async fn staged(&self, paths: &Value) -> Result<Value, String> {
        let files = self.files.as_ref();
        let files = files.ok_or("This browser has no workspace for files.")?;
        let mut staged = Vec::new();
        for path in paths.as_array().into_iter().flatten() {
            let (files, path) = (Arc::clone(files), text(path));
            let copied = spawn_blocking(move || files.stage(&path)).await;
            let copied = copied.unwrap_or_else(|error| Err(error.to_string()))?;
            staged.push(Value::from(copied.to_string_lossy().into_owned()));
        }
        Ok(staged.into())
    }
}
