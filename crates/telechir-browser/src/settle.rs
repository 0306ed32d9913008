//! Waits until a page is idle: nothing is running, painted, loaded or requested.

use std::future::pending;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{FusedFuture as _, FutureExt as _, OptionFuture, join};
use serde_json::{Value, json};
use telechir_device::{DeviceError, Frame, Screen, ScreenRegion, Settle, Settled};
use telechir_protocol::{Size, UnsettledReason};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::capture;
use crate::cdp_session::CdpSession;
use crate::client::CdpClient;
use crate::error::CdpError;
use crate::scale::Scale;
use crate::screencast::{self, Screencast};
use crate::tab_registry::TabRegistry;
use crate::walker;

/// A page that does not answer for this long counts as busy.
const BUSY_AFTER: Duration = Duration::from_millis(1000);
/// Messages within this time after an action may be related to it.
const RELATED_TRAFFIC_WINDOW: Duration = Duration::from_millis(500);
/// Painted content of an idle page reaches the screen within this time, unless programs still work
/// on it.
const PAINT_LATENCY: Duration = Duration::from_millis(8);
/// Assumed delay between the page handling an input event and our receiving the reply.
const EVENT_LATENCY: Duration = Duration::from_millis(5);
/// A page that has not reported idleness after two frames is unlikely to report it soon.
const PROBE_GRACE: Duration = Duration::from_millis(34);

/// The state of one wait for the active tab.
#[derive(Debug)]
pub(crate) struct SettleWait<'a> {
    pub(crate) client: &'a CdpClient,
    pub(crate) registry: &'a TabRegistry,
    pub(crate) session: &'a str,
    /// Queries the page; `None` if it cannot be queried.
    pub(crate) probe: Option<IdleProbe>,
    /// When the action to wait for started.
    pub(crate) acted_at: Instant,
    pub(crate) start: Instant,
    pub(crate) settle: Settle,
    /// The screen's size, and its pixels per CSS pixel.
    pub(crate) size: Size,
    pub(crate) scale: Scale,
    /// How to capture the page during the wait, if possible.
    pub(crate) screenshot: CaptureMode,
}

/// How to capture the page during the wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CaptureMode {
    None,
    /// By `Page.captureScreenshot`, for which the page paints again.
    Capture,
    /// By a screencast frame of this size, if possible.
    Screencast(Size),
}

/// Asks a page in the isolated world whether it has anything to do.
#[derive(Debug)]
pub(crate) struct IdleProbe {
    pub(crate) page: CdpSession,
    pub(crate) world: i64,
    /// Whether the page reported that it has painted everything; `drawn` is notified then.
    is_drawn: AtomicBool,
    drawn: Notify,
}

/// The state of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quiescence {
    /// The page itself reports idleness.
    Idle,
    /// No activity was observed for long enough.
    Quiet,
    /// Not settled, for this reason.
    Unsettled(UnsettledReason),
}

impl Quiescence {
    /// Why the page does not count as settled; `None` if it does.
    const fn reason(self) -> Option<UnsettledReason> {
        match self {
            Self::Idle | Self::Quiet => None,
            Self::Unsettled(unsettled) => Some(unsettled),
        }
    }
}

/// The result of the idle probe.
#[derive(Debug, Default)]
struct ProbeResult {
    is_idle: bool,
    /// Whether the page is unchanged since it had painted everything.
    is_unchanged: bool,
    /// The edges of the region in CSS pixels, if nothing but endless animations was painted: left,
    /// top, right and bottom.
    animated: Option<[i32; 4]>,
    /// A screenshot taken since then, if requested.
    screenshot: Option<Frame>,
}

impl IdleProbe {
    pub(crate) fn new(page: CdpSession, world: i64) -> Self {
        Self {
            page,
            world,
            is_drawn: AtomicBool::new(false),
            drawn: Notify::new(),
        }
    }

    /// Waits until the page has painted everything; the result says whether nothing is due before
    /// the end of the quiet period, which started with the last handled input.
    async fn run(
        &self,
        Settle { quiet, ceiling }: Settle,
        handled: Instant,
        screenshot: impl AsyncFnOnce() -> Option<Frame>,
    ) -> ProbeResult {
        let quiet = quiet.as_millis();
        let ago = handled.elapsed().as_millis().min(quiet);
        let call = format!("globalThis.telechirWalker?.whenIdle({quiet},{ago})");
        let mut answer = self.evaluate(&call, ceiling).await;
        if answer.as_ref().is_ok_and(Value::is_null) {
            // This document has no walker yet.
            let _the_next_call_reports_the_error = self.evaluate(walker::WALKER, ceiling).await;
            answer = self.evaluate(&call, ceiling).await;
        }
        let answer = answer.unwrap_or_default();
        if answer[0] != true {
            let animated = serde_json::from_value(answer[2].clone()).ok();
            return ProbeResult {
                animated,
                ..ProbeResult::default()
            };
        }
        self.is_drawn.store(true, Ordering::Relaxed);
        self.drawn.notify_one();
        let screenshot = screenshot().await;
        if answer[1] == true {
            return ProbeResult {
                is_idle: true,
                is_unchanged: true,
                animated: None,
                screenshot,
            };
        }
        // Queried after the screenshot, for which the page may have painted again.
        let answer = self.evaluate("telechirWalker.stayedIdle()", ceiling).await;
        let answer = answer.unwrap_or_default();
        let [is_idle, is_unchanged] = [0, 1].map(|at| answer[at] == true);
        ProbeResult {
            is_idle,
            is_unchanged,
            animated: None,
            screenshot,
        }
    }

    async fn evaluate(&self, expression: &str, limit: Duration) -> Result<Value, CdpError> {
        let params = json!({
            "expression": expression, "contextId": self.world, "awaitPromise": true,
            "returnByValue": true,
        });
        let answer = self.page.call_within("Runtime.evaluate", params, limit);
        Ok(answer.await?["result"]["value"].take())
    }
}

impl SettleWait<'_> {
    /// Waits for the page, and for the screen of its window.
    pub(crate) async fn run(
        &self,
        mut screen: Option<&mut (dyn Screen + 'static)>,
    ) -> Result<(Settled, Option<Frame>), DeviceError> {
        let deadline = self.start + self.settle.ceiling;
        let mut animated;
        let (unsettled, screenshot) = loop {
            let Some(screen) = screen.as_deref_mut() else {
                let (page, rest) = self.wait_for_page(deadline, true).await?;
                animated = rest.animated.and_then(|edges| self.on_screen(edges));
                break (page.reason(), rest.screenshot.filter(|_| rest.is_unchanged));
            };
            let paint_latency = PAINT_LATENCY.min(self.settle.quiet);
            let done = Notify::new();
            let quiet = async {
                let quiet = self.wait_for_page(deadline, false).await;
                done.notify_one();
                (quiet, Instant::now())
            };
            // While the page is idle, its last paint reaches the screen.
            let arrival = async {
                let mut last = None;
                loop {
                    tokio::select! {
                        biased;
                        () = self.drawn() => {
                            last = Some(wait_until_painted(screen, paint_latency, deadline).await);
                        }
                        () = done.notified() => return last,
                    }
                }
            };
            let ((quiet, observed_at), arrival) = join(quiet, arrival).await;
            let (page, rest) = quiet?;
            let painted = match (page, arrival.transpose()?) {
                (Quiescence::Idle, Some(painted)) if rest.is_unchanged => painted,
                (Quiescence::Idle, _) => {
                    wait_until_painted(screen, paint_latency, deadline).await?
                }
                (Quiescence::Quiet | Quiescence::Unsettled(_), _) => {
                    wait_until_painted(screen, self.settle.quiet, deadline).await?
                }
            };
            animated = painted.animated_region;
            let unsettled = page.reason().or(painted.unsettled);
            if unsettled.is_some() {
                break (unsettled, None);
            }
            // The paint may have started a load.
            if self.no_load_since(observed_at) || self.is_quiet(self.start) {
                break (None, None);
            }
        };
        let settled = Settled {
            unsettled,
            waited: self.start.elapsed(),
            animated_region: animated,
        };
        Ok((settled, screenshot))
    }

    /// A region of the page in pixels of the screen.
    fn on_screen(&self, edges: [i32; 4]) -> Option<ScreenRegion> {
        ScreenRegion::clip(self.size, edges.map(|edge| self.scale.edge(edge)))
    }

    /// Completes when the page reports that it has painted everything.
    async fn drawn(&self) {
        match &self.probe {
            Some(probe) => probe.drawn.notified().await,
            None => pending().await,
        }
    }

    /// Waits for the page. `is_alone`: no screen shows what it paints.
    async fn wait_for_page(
        &self,
        deadline: Instant,
        is_alone: bool,
    ) -> Result<(Quiescence, ProbeResult), DeviceError> {
        let mut changes = self.registry.watch();
        let mut probed_at = None;
        let damage_cast = OnceLock::new();
        let mut unobserved_since = self.start;
        let mut answer = OptionFuture::default();
        loop {
            if let Some(lost) = self.client.loss() {
                return Err(lost.into());
            }
            let now = Instant::now();
            let is_busy = self
                .registry
                .activity()
                .is_some_and(|activity| activity.is_busy);
            if now >= deadline {
                let unsettled = match answer.is_terminated() {
                    _ if is_busy => UnsettledReason::Loading,
                    true => UnsettledReason::StillChanging,
                    false => UnsettledReason::Busy,
                };
                return Ok((Quiescence::Unsettled(unsettled), ProbeResult::default()));
            }
            // What loaded since the last probe may give the page something to do.
            if let Some(probe) = &self.probe
                && !is_busy
                && answer.is_terminated()
                && probed_at.is_none_or(|probed_at| !self.no_load_since(probed_at))
            {
                probed_at = Some(now);
                let rest = probe.run(self.settle, self.input_handled_at(now), || {
                    self.screenshot(probe, &damage_cast)
                });
                answer = Some(Box::pin(rest.fuse())).into();
            }
            let is_unknown = match &self.probe {
                None => true,
                Some(_) if answer.is_terminated() => probed_at.is_some(),
                Some(probe) => {
                    now >= self.start + PROBE_GRACE && !probe.is_drawn.load(Ordering::Relaxed)
                }
            };
            if is_alone && damage_cast.get().is_none() && is_unknown {
                damage_cast.get_or_init(|| Screencast::for_damage(self.client, self.session));
                unobserved_since = now;
            }
            if self.is_quiet(unobserved_since) {
                if answer.is_terminated() {
                    return Ok((Quiescence::Quiet, ProbeResult::default()));
                }
                if probed_at.is_some_and(|probed_at| now >= probed_at + BUSY_AFTER) {
                    return Ok((
                        Quiescence::Unsettled(UnsettledReason::Busy),
                        ProbeResult::default(),
                    ));
                }
            }
            // Checks again on an event, or when the quiet period may have passed.
            let mut next = (now + self.settle.quiet).min(deadline);
            if is_alone && damage_cast.get().is_none() {
                next = next.min(now + PROBE_GRACE);
            }
            tokio::select! {
                Some(rest) = &mut answer => {
                    let probed_at = probed_at.unwrap_or(now);
                    let is_undisturbed = self.no_load_since(probed_at) && !self.has_new_messages();
                    if rest.is_idle && is_undisturbed {
                        return Ok((Quiescence::Idle, rest));
                    }
                    // A screen finds the region itself.
                    if is_alone && rest.animated.is_some() && is_undisturbed {
                        let animated = Quiescence::Unsettled(UnsettledReason::Animated);
                        return Ok((animated, rest));
                    }
                }
                _ = changes.changed() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// A screenshot of a page that has painted everything. A page has one screencast at a time.
    async fn screenshot(
        &self,
        probe: &IdleProbe,
        damage_cast: &OnceLock<Screencast<'_>>,
    ) -> Option<Frame> {
        let cast = match self.screenshot {
            CaptureMode::None => return None,
            CaptureMode::Screencast(size) if damage_cast.get().is_none() => {
                screencast::screenshot(self.client, self.registry, self.session, size).await
            }
            CaptureMode::Screencast(_) | CaptureMode::Capture => None,
        };
        match cast {
            Some(cast) => Some(cast),
            None => capture::capture(&probe.page).await.ok(),
        }
    }

    /// When the page last had something to handle, as far as known.
    fn input_handled_at(&self, now: Instant) -> Instant {
        let handled = self
            .client
            .input_handled()
            .filter(|at| *at >= self.acted_at);
        match (handled, self.registry.activity()) {
            (Some(observed_at), Some(activity)) => {
                let handled = observed_at
                    .checked_sub(EVENT_LATENCY)
                    .unwrap_or(observed_at);
                let others = activity.last_load.max(activity.last_message);
                handled.max(self.acted_at).max(others).min(now)
            }
            _ => now,
        }
    }

    /// Whether the page neither loads now nor has loaded since `then`.
    fn no_load_since(&self, then: Instant) -> bool {
        self.registry
            .activity()
            .is_none_or(|activity| !activity.is_busy && activity.last_load < then)
    }

    /// Whether the page exchanged messages that may be related to the action.
    fn has_new_messages(&self) -> bool {
        let activity = self.registry.activity();
        activity.is_some_and(|activity| activity.last_message >= self.acted_at)
    }

    /// Whether no activity was observed for the quiet period. Paints before `unobserved_since` may
    /// have been missed.
    fn is_quiet(&self, unobserved_since: Instant) -> bool {
        self.registry.activity().is_none_or(|activity| {
            // Activity before the action had another cause.
            let mut last = activity.last_activity.max(unobserved_since);
            if activity.last_message < self.acted_at + RELATED_TRAFFIC_WINDOW {
                last = last.max(activity.last_message);
            }
            !activity.is_busy && last.elapsed() >= self.settle.quiet
        })
    }
}

/// Waits until the paint is on the screen and nothing has changed there for `quiet`.
async fn wait_until_painted(
    screen: &mut dyn Screen,
    quiet: Duration,
    deadline: Instant,
) -> Result<Settled, DeviceError> {
    let ceiling = deadline.saturating_duration_since(Instant::now());
    screen.settle(Settle { quiet, ceiling }).await
}
