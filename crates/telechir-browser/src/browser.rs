//! A browser as a computer: every action finds its way to the tab in front.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use telechir_device::{
    ActionReport, BoxScreen, Computer, DeviceError, Frame, Mark, PageContext, Screen as _,
    ScreenAction, Settle, Settled,
};
use telechir_protocol::{ActionKind, Size, UnsettledReason};
use tokio::time::{Instant, timeout};

use crate::tab_registry::{self, Book};
use crate::capture;
use crate::client::{Client, Pump};
use crate::context::Context;
use crate::file_transfer::Exchange;
use crate::input_state::Hands;
use crate::launch::{self, Keeper, Launched, WayOut};
use crate::memory::Memory;
use crate::options::{Options, Surface};
use crate::settle::{Asks, Screenshot, Watched};
use crate::setup::Setup;
use crate::event_router::Shelf;
use crate::snapshot::Snapshots;
use crate::tabs::LOOK;

mod actions;
mod relaunch;
mod elements;
mod files;
mod first_page;
mod unresponsive;
mod logs;
mod labelled_screenshot;

use actions::{Family, family};
use unresponsive::is_late;
pub use labelled_screenshot::ScreenshotWithElements;

/// A Chromium with one window or none. It ends when this is dropped.
#[derive(Debug)]
pub struct Browser {
    // Dropped first: its tabs end while Chromium can still be told.
    pub(crate) context: Option<Context>,
    // The process ends before those who listen to it.
    pub(crate) chromium: Chromium,
    pub(crate) client: Client,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) book: Arc<Book>,
    pub(crate) hands: Hands,
    pub(crate) setup: Setup,
    pub(crate) options: Options,
    pub(crate) screen: Option<BoxScreen>,
    pub(crate) size: Size,
    /// What Chromium says it is.
    pub(crate) agent: Arc<str>,
    pub(crate) snapshots: Snapshots,
    /// When the last action began that was not waited for yet.
    pub(crate) acted: Option<Instant>,
    /// The world of our scripts in the document that was last in front, by tab and document.
    pub(crate) world: Option<((String, Option<String>), i64)>,
    /// The same of the frames in it, or when one did not answer.
    pub(crate) frame_worlds: HashMap<(String, tab_registry::Frame), Result<i64, Instant>>,
    /// Files for pages and from pages, where there is a workspace.
    pub(crate) exchange: Option<Arc<Exchange>>,
}

/// The Chromium behind a browser, as far as it is this one's.
#[derive(Debug)]
pub(crate) enum Chromium {
    /// Started for it; it ends with this.
    Started {
        keeper: Keeper,
        _pump: Pump,
        _way_out: WayOut,
    },
    /// Somebody else's, as long as this connection is there.
    Attached { _pump: Pump },
    /// Another browser's.
    Shared,
}

impl Chromium {
    /// What bounds its memory, where we do.
    const fn memory(&self) -> Option<&Memory> {
        match self {
            Self::Started { keeper, .. } => Some(keeper.memory()),
            Self::Attached { .. } | Self::Shared => None,
        }
    }
}

impl Browser {
    /// Starts Chromium on this surface and waits until its first page can be acted on.
    ///
    /// # Errors
    /// When Chromium is missing, must not start (as root), does not start, or does not fill the
    /// screen it was given.
    pub async fn launch(mut surface: Surface, options: Options) -> Result<Self, DeviceError> {
        let exchange = Exchange::create(&options).map_err(|error| DeviceError::Unavailable {
            what: "Chromium",
            message: format!("its folder for files: {error}"),
        })?;
        let Launched {
            client,
            shelf,
            book,
            setup,
            agent,
            chromium,
        } = launch::launch(&mut surface, &options).await?;
        let (size, screen) = match surface {
            Surface::Headless(size) => (size, None),
            Surface::Window(screen) => (screen.size(), Some(screen)),
        };
        let mut browser = Self {
            context: None,
            chromium,
            client,
            shelf,
            book,
            hands: Hands::new(size, setup.scale),
            setup,
            options,
            screen,
            size,
            agent,
            snapshots: Snapshots::default(),
            acted: None,
            world: None,
            frame_worlds: HashMap::new(),
            exchange: exchange.map(Arc::new),
        };
        browser.open_downloads().await?;
        browser.first_page().await?;
        // That it began with a tab is no news.
        browser.book.take_changes();
        browser.book.take_notes();
        Ok(browser)
    }

    /// Chromium's process, which leads a group of the same number, where it was started for this
    /// browser.
    pub fn pid(&self) -> Option<i32> {
        match &self.chromium {
            Chromium::Started { keeper, .. } => Some(keeper.pid().as_raw_nonzero().get()),
            Chromium::Attached { .. } | Chromium::Shared => None,
        }
    }

    /// Whether Chromium is gone, and why. Waits for nothing.
    pub fn is_lost(&self) -> Option<String> {
        self.client.is_lost().map(|lost| lost.to_string())
    }

    /// Returns when Chromium is gone, and says why.
    pub fn lost(&self) -> impl Future<Output = DeviceError> + Send + 'static {
        let client = self.client.clone();
        async move { client.lost().await.into() }
    }
}

impl Computer for Browser {
    fn size(&self) -> Size {
        self.size
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        let is_switched_off = (*kind == ActionKind::Search && self.options.search.is_none())
            || (*kind == ActionKind::Javascript && !self.options.scripts)
            || (*kind == ActionKind::FileUpload && self.exchange.is_none());
        family(*kind) != Family::None && !is_switched_off
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let frame = match &mut self.screen {
            Some(screen) => screen.capture().await,
            None => self.screenshot().await,
        };
        self.or_anew(frame).await
    }

    async fn marks(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        let marks = self.in_view(at_most).await;
        self.or_anew(marks).await
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        self.acted.get_or_insert_with(Instant::now);
        let mut done = self.carry_out(action).await;
        if let Err(error) = done {
            done = Err(if is_late(&error, self.options.answer_limit) {
                self.unstick(error).await
            } else {
                error
            });
        }
        let memory = self.chromium.memory().and_then(Memory::news);
        match self.or_anew(done).await {
            Ok(performed) => {
                let notes = join(self.book.take_notes(), memory);
                Ok(ActionReport {
                    text: join(performed.text, notes),
                    ..performed
                })
            }
            Err(DeviceError::Refused { message }) => Err(DeviceError::Refused {
                message: join(Some(message), memory).unwrap_or_default(),
            }),
            Err(error) => Err(error),
        }
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let settled = self.settled(settle, Screenshot::Unwanted).await;
        Ok(self.or_anew(settled).await?.0)
    }

    async fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> Result<(Frame, Settled), DeviceError> {
        let screenshot = match &self.screen {
            Some(_) => Screenshot::Unwanted,
            None if self.setup.is_shell && self.setup.scale.fills(self.size) => {
                Screenshot::Cast(self.size)
            }
            None => Screenshot::Drawn,
        };
        let settled = self.settled(settle, screenshot).await;
        let (settled, screenshot) = self.or_anew(settled).await?;
        let frame = match screenshot {
            Some(frame) => frame,
            None => self.capture().await?,
        };
        Ok((frame, settled))
    }

    async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        let context = self.told_context().await;
        self.or_anew(context).await
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        let (_, page) = self.front().await?;
        Ok(self.hands.release(&page).await?)
    }

    async fn close(mut self) -> Result<(), DeviceError> {
        let limit = self.options.answer_limit;
        let _its_process_ends_anyway = timeout(limit, self.release_inputs()).await;
        if let Some(context) = self.context.take() {
            return Ok(context.dispose(limit).await?);
        }
        self.client.notify(None, "Browser.close", json!({}));
        let ended = match self.chromium {
            Chromium::Started { keeper, .. } => keeper.end().await,
            Chromium::Attached { .. } | Chromium::Shared => Ok(()),
        };
        let screen_ended = match self.screen.take() {
            Some(screen) => screen.close().await,
            None => Ok(()),
        };
        ended.map_err(|error| DeviceError::Unavailable {
            what: "the end of Chromium",
            message: error.to_string(),
        })?;
        screen_ended
    }
}

impl Browser {
    /// The pixels of a page without a window.
    async fn screenshot(&mut self) -> Result<Frame, DeviceError> {
        let page = self.living_page().await?;
        let frame = capture::capture(&page).await;
        match frame {
            Err(error) if is_late(&error, self.options.answer_limit) => {
                Err(self.unstick(error).await)
            }
            other => other,
        }
    }

    /// Waits for the page, and takes its picture meanwhile where it is wanted and can be had then.
    async fn settled(
        &mut self,
        settle: Settle,
        screenshot: Screenshot,
    ) -> Result<(Settled, Option<Frame>), DeviceError> {
        let start = Instant::now();
        let acted = self.acted.take().unwrap_or(start);
        let (tab, page) = self.front().await?;
        let is_alone = self.book.sessions_of(&tab.session).len() == 1;
        let asked = Instant::now();
        let world = self.world_in(&tab, &page).await;
        if world.is_none() && asked.elapsed() >= LOOK {
            // It did not even say where our scripts are.
            let settled = Settled {
                unsettled: Some(UnsettledReason::Busy),
                waited: start.elapsed(),
                animated_region: None,
            };
            return Ok((settled, None));
        }
        let asks = match world {
            Some(world) if is_alone => Some(Asks::new(page, world)),
            // Frames with processes of their own do more than the page knows.
            Some(_) | None => None,
        };
        let watched = Watched {
            client: &self.client,
            book: &self.book,
            session: &tab.session,
            asks,
            acted,
            start,
            settle,
            screenshot,
        };
        watched.settled(self.screen.as_mut()).await
    }

    /// Where the browser is, and what happened in it that was not told yet.
    async fn told_context(&mut self) -> Result<PageContext, DeviceError> {
        let mut context = self.page_context().await?;
        self.keep_downloads().await;
        self.book.say_downloads();
        context.changes = self.book.take_changes();
        context.notes = self.book.take_notes();
        Ok(context)
    }
}

fn join(text: Option<String>, notes: Option<String>) -> Option<String> {
    match (text, notes) {
        (Some(text), Some(notes)) => Some(format!("{text}\n{notes}")),
        (text, notes) => text.or(notes),
    }
}
