//! Waits until a page has nothing to do, and nothing is painted, loaded or fetched any more.

use std::future::pending;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{FusedFuture as _, FutureExt as _, OptionFuture, join};
use serde_json::{Value, json};
use telechir_device::{BoxScreen, DeviceError, Frame, Screen as _, Settle, Settled};
use telechir_protocol::{Size, UnsettledReason};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::tab_registry::Book;
use crate::capture;
use crate::screencast::{self, Cast};
use crate::client::Client;
use crate::error::CdpError;
use crate::cdp_session::Page;
use crate::walker;

/// A page that computes is waited for until it did not answer for so long.
const BUSY: Duration = Duration::from_millis(1000);
/// For so long after an action it may be about that what a page says and hears.
const ABOUT_IT: Duration = Duration::from_millis(500);
/// What a still page has drawn is on its way to the screen for no longer, unless somebody works on it.
const ON_ITS_WAY: Duration = Duration::from_millis(8);
/// So much earlier than it is heard of has a page handled what a person does.
const HEARD: Duration = Duration::from_millis(5);
/// A page that did not say after so long that it is still may not do so soon: two pictures.
const SOON: Duration = Duration::from_millis(34);

/// The tab in front, while it is waited for.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) client: &'a Client,
    pub(crate) book: &'a Book,
    pub(crate) session: &'a str,
    /// None where the page cannot be asked.
    pub(crate) asks: Option<Asks>,
    /// When what is waited for began.
    pub(crate) acted: Instant,
    pub(crate) start: Instant,
    pub(crate) settle: Settle,
    /// Which picture of the page is to be taken, if that is possible while it is waited for.
    pub(crate) screenshot: Screenshot,
}

/// A picture that is taken meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Screenshot {
    Unwanted,
    /// As the page draws it for that.
    Drawn,
    /// Of this size, as it is cast when that can be; it was drawn before.
    Cast(Size),
}

/// Asks a page what it has to do, in the world of our scripts.
#[derive(Debug)]
pub(crate) struct Asks {
    pub(crate) page: Page,
    pub(crate) world: i64,
    /// Whether it said that it has drawn what it has to draw, and who is told so.
    is_drawn: AtomicBool,
    drawn: Notify,
}

/// How a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quiet {
    /// It says so itself.
    Still,
    /// Nothing was heard of it for long enough.
    Silent,
    /// It is not, for this reason.
    Not(UnsettledReason),
}

impl Quiet {
    /// Why it does not count as settled; none when it does.
    const fn held(self) -> Option<UnsettledReason> {
        match self {
            Self::Still | Self::Silent => None,
            Self::Not(held) => Some(held),
        }
    }
}

/// What came of asking a page.
#[derive(Debug, Default)]
struct Rest {
    is_still: bool,
    /// Whether it is as it was when it had drawn what it had to draw.
    is_same: bool,
    /// What it looked like since then, when that was wanted.
    screenshot: Option<Frame>,
}

impl Asks {
    pub(crate) fn new(page: Page, world: i64) -> Self {
        Self {
            page,
            world,
            is_drawn: AtomicBool::new(false),
            drawn: Notify::new(),
        }
    }

    /// Waits until the page has drawn what it has to draw; whether nothing else is due before the
    /// quiet period is over, which began with the last thing that it handled.
    async fn rest(
        &self,
        Settle { quiet, ceiling }: Settle,
        handled: Instant,
        screenshot: impl AsyncFnOnce() -> Option<Frame>,
    ) -> Rest {
        let quiet = quiet.as_millis();
        let ago = handled.elapsed().as_millis().min(quiet);
        let rests = format!("globalThis.telechirWalker?.rests({quiet},{ago})");
        let mut answer = self.evaluate(&rests, ceiling).await;
        if answer.as_ref().is_ok_and(Value::is_null) {
            // Nobody read this document before.
            let _asked_again_it_says_why = self.evaluate(walker::WALKER, ceiling).await;
            answer = self.evaluate(&rests, ceiling).await;
        }
        let answer = answer.unwrap_or_default();
        if answer[0] != true {
            return Rest::default();
        }
        self.is_drawn.store(true, Ordering::Relaxed);
        self.drawn.notify_one();
        let screenshot = screenshot().await;
        if answer[1] == true {
            return Rest {
                is_still: true,
                is_same: true,
                screenshot,
            };
        }
        // Asked after the picture, for which the page may have drawn again.
        let answer = self.evaluate("telechirWalker.restsOn()", ceiling).await;
        let answer = answer.unwrap_or_default();
        let [is_still, is_same] = [0, 1].map(|at| answer[at] == true);
        Rest {
            is_still,
            is_same,
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

impl Watched<'_> {
    /// Waits for the page, and for the screen its window is on.
    pub(crate) async fn settled(
        &self,
        mut screen: Option<&mut BoxScreen>,
    ) -> Result<(Settled, Option<Frame>), DeviceError> {
        let deadline = self.start + self.settle.ceiling;
        let mut restless = None;
        let (held, screenshot) = loop {
            let Some(screen) = &mut screen else {
                let (page, rest) = self.quiet_page(deadline, true).await?;
                break (page.held(), rest.screenshot.filter(|_| rest.is_same));
            };
            let on_its_way = ON_ITS_WAY.min(self.settle.quiet);
            let over = Notify::new();
            let quiet = async {
                let quiet = self.quiet_page(deadline, false).await;
                over.notify_one();
                (quiet, Instant::now())
            };
            // While the page rests, what it has drawn arrives.
            let arrival = async {
                let mut last = None;
                loop {
                    tokio::select! {
                        biased;
                        () = self.drawn() => {
                            last = Some(arrived(screen, on_its_way, deadline).await);
                        }
                        () = over.notified() => return last,
                    }
                }
            };
            let ((quiet, heard), arrival) = join(quiet, arrival).await;
            let (page, rest) = quiet?;
            let painted = match (page, arrival.transpose()?) {
                (Quiet::Still, Some(painted)) if rest.is_same => painted,
                (Quiet::Still, _) => arrived(screen, on_its_way, deadline).await?,
                (Quiet::Silent | Quiet::Not(_), _) => {
                    arrived(screen, self.settle.quiet, deadline).await?
                }
            };
            restless = painted.animated_region;
            let held = page.held().or(painted.unsettled);
            if held.is_some() {
                break (held, None);
            }
            // What was painted may have begun to load something.
            if self.did_nothing_since(heard) || self.is_silent(self.start) {
                break (None, None);
            }
        };
        let settled = Settled {
            unsettled: held,
            waited: self.start.elapsed(),
            animated_region: restless,
        };
        Ok((settled, screenshot))
    }

    /// Returns when the page says that it has drawn what it has to draw.
    async fn drawn(&self) {
        match &self.asks {
            Some(asks) => asks.drawn.notified().await,
            None => pending().await,
        }
    }

    /// Waits for the page. What it paints is not seen elsewhere when `is_alone`.
    async fn quiet_page(
        &self,
        deadline: Instant,
        is_alone: bool,
    ) -> Result<(Quiet, Rest), DeviceError> {
        let mut changes = self.book.watch();
        let mut asked = None;
        let sign = OnceLock::new();
        let mut unseen = self.start;
        let mut answer = OptionFuture::default();
        loop {
            if let Some(lost) = self.client.is_lost() {
                return Err(lost.into());
            }
            let now = Instant::now();
            let is_busy = self
                .book
                .activity()
                .is_some_and(|activity| activity.is_busy);
            if now >= deadline {
                let held = match answer.is_terminated() {
                    _ if is_busy => UnsettledReason::Loading,
                    true => UnsettledReason::StillChanging,
                    false => UnsettledReason::Busy,
                };
                return Ok((Quiet::Not(held), Rest::default()));
            }
            // What it loaded since it was asked may give it something to do.
            if let Some(asks) = &self.asks
                && !is_busy
                && answer.is_terminated()
                && asked.is_none_or(|asked| !self.did_nothing_since(asked))
            {
                asked = Some(now);
                let rest = asks.rest(self.settle, self.handled(now), || {
                    self.screenshot(asks, &sign)
                });
                answer = Some(Box::pin(rest.fuse())).into();
            }
            let is_unknown = match &self.asks {
                None => true,
                Some(_) if answer.is_terminated() => asked.is_some(),
                Some(asks) => now >= self.start + SOON && !asks.is_drawn.load(Ordering::Relaxed),
            };
            if is_alone && sign.get().is_none() && is_unknown {
                sign.get_or_init(|| Cast::sign(self.client, self.session));
                unseen = now;
            }
            if self.is_silent(unseen) {
                if answer.is_terminated() {
                    return Ok((Quiet::Silent, Rest::default()));
                }
                if asked.is_some_and(|asked| now >= asked + BUSY) {
                    return Ok((Quiet::Not(UnsettledReason::Busy), Rest::default()));
                }
            }
            // Looked at again when something happens, or when it may have been quiet for long enough.
            let mut next = (now + self.settle.quiet).min(deadline);
            if is_alone && sign.get().is_none() {
                next = next.min(now + SOON);
            }
            tokio::select! {
                Some(rest) = &mut answer => {
                    let asked = asked.unwrap_or(now);
                    if rest.is_still && self.did_nothing_since(asked) && !self.is_talking() {
                        return Ok((Quiet::Still, rest));
                    }
                }
                _ = changes.changed() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// The picture of a page that has drawn all it has to draw. It casts one thing at a time.
    async fn screenshot(&self, asks: &Asks, sign: &OnceLock<Cast<'_>>) -> Option<Frame> {
        let cast = match self.screenshot {
            Screenshot::Unwanted => return None,
            Screenshot::Cast(size) if sign.get().is_none() => {
                screencast::screenshot(self.client, self.book, self.session, size).await
            }
            Screenshot::Cast(_) | Screenshot::Drawn => None,
        };
        match cast {
            Some(cast) => Some(cast),
            None => capture::capture(&asks.page).await.ok(),
        }
    }

    /// When the page last had something to handle of which anybody knows.
    fn handled(&self, now: Instant) -> Instant {
        let handled = self.client.handled().filter(|at| *at >= self.acted);
        match (handled, self.book.activity()) {
            (Some(heard), Some(activity)) => {
                let handled = heard.checked_sub(HEARD).unwrap_or(heard);
                let others = activity.loaded.max(activity.spoke);
                handled.max(self.acted).max(others).min(now)
            }
            _ => now,
        }
    }

    /// Whether the page neither loads nor did since then.
    fn did_nothing_since(&self, then: Instant) -> bool {
        self.book
            .activity()
            .is_none_or(|activity| !activity.is_busy && activity.loaded < then)
    }

    /// Whether the page said or heard something that may be about the action.
    fn is_talking(&self) -> bool {
        let activity = self.book.activity();
        activity.is_some_and(|activity| activity.spoke >= self.acted)
    }

    /// Whether nothing was heard of the page for long enough. What it did before `unseen` may not
    /// have been heard of.
    fn is_silent(&self, unseen: Instant) -> bool {
        self.book.activity().is_none_or(|activity| {
            // What stirred before the action did so for another reason.
            let mut last = activity.stirred.max(unseen);
            if activity.spoke < self.acted + ABOUT_IT {
                last = last.max(activity.spoke);
            }
            !activity.is_busy && last.elapsed() >= self.settle.quiet
        })
    }
}

/// Waits until what was drawn is on the screen, and nothing changed there for so long.
async fn arrived(
    screen: &mut BoxScreen,
    quiet: Duration,
    deadline: Instant,
) -> Result<Settled, DeviceError> {
    let ceiling = deadline.saturating_duration_since(Instant::now());
    screen.settle(Settle { quiet, ceiling }).await
}
