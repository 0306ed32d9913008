//! Screencasts of pages without a window: first the current content, then each frame that Chromium
//! paints.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use telechir_device::Frame;
use telechir_protocol::Size;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::capture;
use crate::client::CdpClient;
use crate::tab_registry::TabRegistry;

/// The first frame comes at once, or possibly never.
const FIRST_FRAME_TIMEOUT: Duration = Duration::from_millis(150);

/// A running screencast, which is stopped on drop. It costs the page time and memory.
#[derive(Debug)]
pub(crate) struct Screencast<'a> {
    client: &'a CdpClient,
    session: &'a str,
}

impl<'a> Screencast<'a> {
    fn start(client: &'a CdpClient, session: &'a str, params: Value) -> Self {
        client.notify(Some(session), "Page.startScreencast", params);
        Self { client, session }
    }

    /// A damage signal for a page that does not report idleness: small and coarse frames suffice.
    pub(crate) fn for_damage(client: &'a CdpClient, session: &'a str) -> Self {
        let params = json!({ "format": "jpeg", "quality": 10, "maxWidth": 320, "maxHeight": 320 });
        Self::start(client, session, params)
    }
}

impl Drop for Screencast<'_> {
    fn drop(&mut self) {
        self.client
            .notify(Some(self.session), "Page.stopScreencast", json!({}));
    }
}

/// Waits for a frame that was made after a point in time.
#[derive(Debug)]
pub(crate) struct FrameWaiter {
    since: f64,
    screenshot: oneshot::Sender<String>,
}

impl FrameWaiter {
    /// Waits for a frame made from now on.
    fn start() -> (Self, oneshot::Receiver<String>) {
        let (screenshot, answer) = oneshot::channel();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_secs_f64();
        (Self { since, screenshot }, answer)
    }

    /// Whether a frame is recent enough and still awaited; one of an earlier screencast may still
    /// arrive.
    pub(crate) fn is_for(&self, params: &Value) -> bool {
        let made = params["metadata"]["timestamp"].as_f64();
        !self.screenshot.is_closed() && made.is_some_and(|made| made >= self.since)
    }

    pub(crate) fn send(self, screenshot: String) {
        let _the_caller_stopped_waiting = self.screenshot.send(screenshot);
    }
}

/// A screenshot of a page that has painted everything and has no other screencast. Chromium has the
/// frame ready, while `Page.captureScreenshot` makes the page paint again. `None` if the frame has
/// another size or does not come.
pub(crate) async fn screenshot(
    client: &CdpClient,
    registry: &TabRegistry,
    session: &str,
    size: Size,
) -> Option<Frame> {
    let (waiting, screenshot) = FrameWaiter::start();
    registry.set_frame_waiter(session, waiting);
    let cast = Screencast::start(client, session, json!({ "format": "png" }));
    let text = timeout(FIRST_FRAME_TIMEOUT, screenshot).await.ok()?.ok()?;
    drop(cast);
    let frame = capture::frame_of(&text).ok()?;
    (frame.size() == size).then_some(frame)
}

#[cfg(test)]
mod tests {
    use telechir_device::{Computer as _, Settle, Viewport};
    use telechir_process::{Identity, is_root};
    use telechir_protocol::Action;
    use telechir_testkit::assert_eventually;
    use telechir_testkit::gate::{Component, require};

    use super::*;
    use crate::{AllowedUrls, Browser, Options, Surface};

    /// Adjacent colours that only a lossless image preserves, and text.
    const COLOURS: &str = "data:text/html,<body style='margin:0;color:red;background:blue'>\
        <h1>red on blue</h1><p style='color:lime;background:magenta;font-size:9px'>lime on magenta\
        <canvas id=c width=300 height=200></canvas><script>const x=c.getContext('2d');\
        for(let i=0;i<300;i++)for(let j=0;j<200;j++){\
        x.fillStyle='rgb('+[i*7%25256,j*13%25256,i*j%25256]+')';x.fillRect(i,j,1,1)}</script>";

    #[tokio::test]
    async fn screencast_frames_equal_screenshots() {
        require(Component::Chromium);
        for (width, height, scale) in [(1024, 768, 1.0), (801, 603, 1.0), (1000, 700, 1.25)] {
            let size = Size::new(width, height);
            let options = Options {
                identity: is_root().then(|| Identity::unprivileged(3_877).unwrap()),
                allowed_urls: AllowedUrls::WebAndData,
                scale,
                ..Options::default()
            };
            let surface = Surface::Headless(size);
            let mut browser = Browser::launch(surface, options).await.unwrap();
            let go = Action::Navigate {
                url: COLOURS.into(),
                tab: None,
            };
            let go = Viewport::unscaled(size).action(&go).unwrap();
            browser.perform(&go).await.unwrap();
            let settle = Settle {
                quiet: Duration::from_millis(250),
                ceiling: Duration::from_secs(5),
            };
            assert!(browser.settle(settle).await.unwrap().is_settled());
            let (tab, page) = browser.front().await.unwrap();
            // A busy machine may miss the time for the first frame.
            let cast = assert_eventually!(
                screenshot(&browser.client, &browser.registry, &tab.session, size).await,
                |cast| cast.is_some()
            );
            let drawn = capture::capture(&page).await.unwrap();
            assert!(cast.unwrap() == drawn, "{width}x{height} at {scale}");
            browser.close().await.unwrap();
        }
    }

    #[test]
    fn earlier_screencast_frames_are_ignored() {
        let (waiting, mut screenshot) = FrameWaiter::start();
        let made = |after: f64| {
            let at = waiting.since + after;
            json!({ "data": "x", "metadata": { "timestamp": at } })
        };
        let (earlier, now) = (made(-0.001), made(0.001));
        assert!(!waiting.is_for(&earlier));
        assert!(!waiting.is_for(&json!({ "data": "x" })));
        assert!(waiting.is_for(&now));
        waiting.send("x".to_owned());
        assert_eq!(screenshot.try_recv().as_deref(), Ok("x"));
        let (waiting, screenshot) = FrameWaiter::start();
        drop(screenshot);
        assert!(!waiting.is_for(&now));
    }
}
