//! What a page without a window casts: what it shows when that begins, and then each picture that
//! Chromium makes of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use telechir_device::Frame;
use telechir_protocol::Size;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::tab_registry::Book;
use crate::capture;
use crate::client::Client;

/// The first picture comes at once; where it does not, none may come.
const AT_ONCE: Duration = Duration::from_millis(150);

/// Has a page cast, as long as this is there. It costs the page time and memory.
#[derive(Debug)]
pub(crate) struct Cast<'a> {
    client: &'a Client,
    session: &'a str,
}

impl<'a> Cast<'a> {
    fn start(client: &'a Client, session: &'a str, params: Value) -> Self {
        client.notify(Some(session), "Page.startScreencast", params);
        Self { client, session }
    }

    /// Only a sign that it paints, of a page that does not say itself that it is still: small and
    /// coarse is enough.
    pub(crate) fn sign(client: &'a Client, session: &'a str) -> Self {
        let params = json!({ "format": "jpeg", "quality": 10, "maxWidth": 320, "maxHeight": 320 });
        Self::start(client, session, params)
    }
}

impl Drop for Cast<'_> {
    fn drop(&mut self) {
        self.client
            .notify(Some(self.session), "Page.stopScreencast", json!({}));
    }
}

/// Who waits for a picture that was made from then on.
#[derive(Debug)]
pub(crate) struct Waiting {
    since: f64,
    screenshot: oneshot::Sender<String>,
}

impl Waiting {
    /// From now on.
    fn start() -> (Self, oneshot::Receiver<String>) {
        let (screenshot, answer) = oneshot::channel();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_secs_f64();
        (Self { since, screenshot }, answer)
    }

    /// Whether this is one, and still waited for: an earlier cast's may be on its way yet.
    pub(crate) fn is_for(&self, params: &Value) -> bool {
        let made = params["metadata"]["timestamp"].as_f64();
        !self.screenshot.is_closed() && made.is_some_and(|made| made >= self.since)
    }

    pub(crate) fn give(self, screenshot: String) {
        let _nobody_waits_any_more = self.screenshot.send(screenshot);
    }
}

/// A picture of a page that has drawn all it has to draw, and casts no sign. Chromium has it there,
/// while for a screenshot it has the page draw everything again first. None when it is not of this
/// size, or does not come.
pub(crate) async fn screenshot(
    client: &Client,
    book: &Book,
    session: &str,
    size: Size,
) -> Option<Frame> {
    let (waiting, screenshot) = Waiting::start();
    book.wait_for_cast(session, waiting);
    let cast = Cast::start(client, session, json!({ "format": "png" }));
    let text = timeout(AT_ONCE, screenshot).await.ok()?.ok()?;
    drop(cast);
    let frame = capture::frame_of(&text).ok()?;
    (frame.size() == size).then_some(frame)
}

#[cfg(test)]
mod tests {
    use telechir_device::{Computer as _, Settle, Viewport};
    use telechir_process::{Identity, is_root};
    use telechir_protocol::Action;
    use telechir_testkit::gate::{Part, require};

    use super::*;
    use crate::{Addresses, Browser, Options, Surface};

    /// Colours beside each other that no coarser picture keeps, and letters.
    const COLOURS: &str = "data:text/html,<body style='margin:0;color:red;background:blue'>\
        <h1>red on blue</h1><p style='color:lime;background:magenta;font-size:9px'>lime on magenta\
        <canvas id=c width=300 height=200></canvas><script>const x=c.getContext('2d');\
        for(let i=0;i<300;i++)for(let j=0;j<200;j++){\
        x.fillStyle='rgb('+[i*7%25256,j*13%25256,i*j%25256]+')';x.fillRect(i,j,1,1)}</script>";

    #[tokio::test]
    async fn what_is_cast_is_what_a_screenshot_shows() {
        require(Part::Chromium);
        for (width, height, scale) in [(1024, 768, 1.0), (801, 603, 1.0), (1000, 700, 1.25)] {
            let size = Size::new(width, height);
            let options = Options {
                identity: is_root().then(|| Identity::unprivileged(3_877).unwrap()),
                addresses: Addresses::WebAndData,
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
            let cast = screenshot(&browser.client, &browser.book, &tab.session, size).await;
            let drawn = capture::capture(&page).await.unwrap();
            assert!(cast.unwrap() == drawn, "{width}x{height} at {scale}");
            browser.close().await.unwrap();
        }
    }

    #[test]
    fn an_earlier_cast_is_not_what_is_waited_for() {
        let (waiting, mut screenshot) = Waiting::start();
        let made = |after: f64| {
            let at = waiting.since + after;
            json!({ "data": "x", "metadata": { "timestamp": at } })
        };
        let (late, now) = (made(-0.001), made(0.001));
        assert!(!waiting.is_for(&late));
        assert!(!waiting.is_for(&json!({ "data": "x" })));
        assert!(waiting.is_for(&now));
        waiting.give("x".to_owned());
        assert_eq!(screenshot.try_recv().as_deref(), Ok("x"));
        let (waiting, screenshot) = Waiting::start();
        drop(screenshot);
        assert!(!waiting.is_for(&now));
    }
}
