//! What every new tab is told before its page runs.

use serde_json::json;
use telechir_protocol::Size;

use crate::client::Client;
use crate::walker;

/// The name of the world our own scripts run in, apart from the page's.
pub(crate) const WORLD: &str = "telechir";

/// How tabs are prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// The size of a page without a window; none when a window gives it.
    pub(crate) size: Option<Size>,
}

impl Setup {
    /// Sends what a new tab needs, and lets its page run. Never waits.
    pub(crate) fn prepare(self, client: &Client, session: &str) {
        let tell = |method, params| client.notify(Some(session), method, params);
        tell("Page.enable", json!({}));
        tell("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        tell("Inspector.enable", json!({}));
        tell("Network.enable", json!({ "maxTotalBufferSize": 1 << 16 }));
        tell(
            "Page.setInterceptFileChooserDialog",
            json!({ "enabled": true }),
        );
        tell("Input.setInterceptDrags", json!({ "enabled": true }));
        watch_frames(client, session);
        if let Some(size) = self.size {
            tell(
                "Emulation.setDeviceMetricsOverride",
                json!({
                    "width": size.width, "height": size.height,
                    "deviceScaleFactor": 1, "mobile": false,
                }),
            );
        }
        tell("Runtime.runIfWaitingForDebugger", json!({}));
    }

    /// Sends what a frame with a process of its own needs. Never waits.
    pub(crate) fn prepare_frame(self, client: &Client, session: &str) {
        client.notify(Some(session), "Page.enable", json!({}));
        watch_frames(client, session);
    }

    /// What a tab in front gets beside: it has the focus, and says when it paints.
    pub(crate) fn to_front(self, client: &Client, session: &str) {
        let tell = |method, params| client.notify(Some(session), method, params);
        tell(
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": true }),
        );
        if self.size.is_some() {
            // Only a sign that something was painted: small and coarse is enough.
            tell(
                "Page.startScreencast",
                json!({ "format": "jpeg", "quality": 10, "maxWidth": 320, "maxHeight": 320 }),
            );
        }
    }

    /// What a tab that is no longer in front loses.
    pub(crate) fn to_back(self, client: &Client, session: &str) {
        let tell = |method, params| client.notify(Some(session), method, params);
        tell(
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": false }),
        );
        if self.size.is_some() {
            tell("Page.stopScreencast", json!({}));
        }
    }
}

/// Puts the walker into every document to come, before its own scripts, and asks to hear of frames
/// that get a process of their own.
fn watch_frames(client: &Client, session: &str) {
    let walker = json!({ "source": walker::SOURCE, "worldName": WORLD, "runImmediately": true });
    client.notify(
        Some(session),
        "Page.addScriptToEvaluateOnNewDocument",
        walker,
    );
    let frames = json!([{ "type": "iframe", "exclude": false }, { "exclude": true }]);
    let attach = json!({
        "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": frames,
    });
    // None is made to wait: the workers of a page would wait, too, and for good.
    client.notify(Some(session), "Target.setAutoAttach", attach);
}
