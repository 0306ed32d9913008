//! A browser as a computer: dispatches each action to the active tab.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use telechir_device::{
    ActionReport, Computer, DeviceError, DevtoolsSource, ElementMarks, Frame, Mark, PageContext,
    PageContextSource, PageOutlineSource, PartLocation, Screen, ScreenAction, ScreenRegion,
    ScreenTarget, ScreenViewer, Settle, Settled, Viewport,
};
use telechir_protocol::{ActionKind, Size, UnsettledReason};
use tokio::time::{Instant, timeout};

use crate::capture;
use crate::cdp_session::PROBE_TIMEOUT;
use crate::client::CdpClient;
use crate::context::Context;
use crate::devtools::ChannelSource;
use crate::emulation::InitialSettings;
use crate::error::refused;
use crate::event_router::EventRouter;
use crate::file_transfer::FileTransfer;
use crate::initial_origins::InitialOrigins;
use crate::input_state::InputState;
use crate::launch::{self, Chromium, LaunchedChromium};
use crate::memory::MemoryLimit;
use crate::options::{Options, Surface};
use crate::screencast;
use crate::settle::{CaptureMode, IdleProbe, SettleWait};
use crate::setup::Setup;
use crate::snapshot::Snapshots;
use crate::tab_registry::{self, PageLeaving, TabRegistry};
use crate::viewer::{PageOutlineReader, PageViewer, ViewedBrowser, ViewedConnection};

mod actions;
mod by_name;
mod click_effects;
mod detail;
mod dialogs;
mod elements;
mod emulate;
mod files;
mod first_page;
mod labelled_screenshot;
mod logs;
#[cfg(test)]
mod name_cases;
#[cfg(test)]
mod package_pages;
mod relaunch;
mod unresponsive;
mod wait;

use actions::{ActionHandler, handler_for};
use click_effects::ClickObservation;
pub use labelled_screenshot::ScreenshotWithElements;
use unresponsive::is_timeout;

/// A Chromium browser, in a window or headless. Chromium is terminated on drop.
#[derive(Debug)]
pub struct Browser {
    // Dropped first: its tabs are closed while Chromium is still connected.
    pub(crate) context: Option<Context>,
    // The process ends before the tasks that read from it.
    pub(crate) chromium: Chromium,
    pub(crate) client: CdpClient,
    pub(crate) router: Arc<EventRouter>,
    pub(crate) registry: Arc<TabRegistry>,
    /// The same, for people who look at it.
    pub(crate) viewed: ViewedBrowser,
    pub(crate) input: InputState,
    pub(crate) setup: Setup,
    pub(crate) options: Options,
    /// What pages saw at the start.
    pub(crate) initial_settings: InitialSettings,
    /// The stored data that was loaded at the start.
    pub(crate) initial_origins: InitialOrigins,
    pub(crate) screen: Option<Box<dyn Screen>>,
    pub(crate) size: Size,
    /// Chromium's own user agent.
    pub(crate) agent: Arc<str>,
    pub(crate) snapshots: Snapshots,
    /// When the first action started that was not yet followed by a settle.
    pub(crate) acted_at: Option<Instant>,
    /// Maps the latest screenshot of the model to the screen.
    pub(crate) viewport: Viewport,
    /// The last click by ref of which the effects were not reported yet.
    pub(crate) clicked: Option<ClickObservation>,
    /// Whether telechir itself prints the page.
    pub(crate) is_printing: bool,
    /// The isolated world in the active document, by tab and loader id.
    pub(crate) world: Option<((String, Option<String>), i64)>,
    /// The isolated worlds of its frames, or when a frame last failed to answer.
    pub(crate) frame_worlds: HashMap<(String, tab_registry::TabFrame), Result<i64, Instant>>,
    /// File transfer to and from pages, if there is a workspace.
    pub(crate) file_transfer: Option<Arc<FileTransfer>>,
    /// Why Chromium shares the machine's network namespace despite an egress proxy.
    pub(crate) shares_network: Option<String>,
}

impl Browser {
    /// Starts Chromium on this surface and waits until its first page can be used.
    ///
    /// # Errors
    ///
    /// If Chromium is missing, may not start as root, fails to start, or does not fill its screen.
    pub async fn launch(mut surface: Surface, options: Options) -> Result<Self, DeviceError> {
        let file_transfer =
            FileTransfer::create(&options).map_err(|error| DeviceError::Unavailable {
                what: "Chromium",
                message: format!("create a folder for file transfer: {error}"),
            })?;
        let LaunchedChromium {
            client,
            router,
            registry,
            setup,
            agent,
            chromium,
            shares_network,
        } = launch::launch(&mut surface, &options).await?;
        let (size, screen) = match surface {
            Surface::Headless(size) => (size, None),
            Surface::Window(screen) => (screen.size(), Some(screen)),
        };
        let mut browser = Self {
            context: None,
            chromium,
            viewed: ViewedBrowser::new(ViewedConnection {
                client: client.clone(),
                registry: Arc::clone(&registry),
                router: Arc::clone(&router),
            }),
            client,
            router,
            registry,
            input: InputState::new(size, setup.scale),
            setup,
            initial_settings: InitialSettings {
                emulation: options.emulation.clone(),
                size,
            },
            initial_origins: InitialOrigins::default(),
            options,
            screen,
            size,
            agent,
            snapshots: Snapshots::default(),
            acted_at: None,
            viewport: Viewport::unscaled(size),
            clicked: None,
            is_printing: false,
            world: None,
            frame_worlds: HashMap::new(),
            file_transfer: file_transfer.map(Arc::new),
            shares_network,
        };
        browser.open_downloads().await?;
        browser.first_page().await?;
        browser.grant_initially().await?;
        browser.load_initial_state().await?;
        // The first tab is not an event.
        browser.registry.take_changes();
        browser.registry.take_notices();
        Ok(browser)
    }

    /// The process that leads the process group of Chromium: Chromium itself, or the bubblewrap of
    /// its network namespace, which exits with it. `None` if it was not started for this browser.
    pub fn pid(&self) -> Option<i32> {
        match &self.chromium {
            Chromium::Started { process, .. } => Some(process.pid().as_raw_nonzero().get()),
            Chromium::Attached { .. } | Chromium::Shared => None,
        }
    }

    /// Why Chromium's flags alone, and no network namespace, send its requests through the egress
    /// proxy; `None` if it has a namespace, or no proxy.
    pub fn shares_network(&self) -> Option<&str> {
        self.shares_network.as_deref()
    }

    /// Why Chromium is gone, if it is. Never waits.
    pub fn lost_reason(&self) -> Option<String> {
        self.client.loss().map(|lost| lost.to_string())
    }

    /// Waits until Chromium is gone and returns the reason.
    pub fn lost(&self) -> impl Future<Output = DeviceError> + Send + 'static {
        let client = self.client.clone();
        async move { client.lost().await.into() }
    }

    /// Releases keys and buttons and ends Chromium with its screen; an attached one stays.
    ///
    /// # Errors
    /// When Chromium or its screen could not be ended.
    pub async fn close(mut self) -> Result<(), DeviceError> {
        let limit = self.options.reply_timeout;
        // Nobody answers them any more, and the state of a page that waits cannot be saved.
        self.registry
            .start_cancelling_dialogs(&self.client, PageLeaving::Stay);
        let _its_process_ends_anyway = timeout(limit, self.release_inputs()).await;
        let saved = self.save_final_state().await;
        if let Some(context) = self.context.take() {
            let disposed = context.dispose(limit).await;
            let ended = match &self.chromium {
                Chromium::Attached { attachment, .. } => attachment.source.end().await,
                Chromium::Started { .. } | Chromium::Shared => Ok(()),
            };
            disposed?;
            return ended.and(saved);
        }
        // Only a browser that was started here has no context of its own.
        self.client.notify(None, "Browser.close", json!({}));
        let ended = match self.chromium {
            Chromium::Started { process, .. } => process.end().await,
            Chromium::Attached { .. } | Chromium::Shared => Ok(()),
        };
        let screen_ended = match self.screen.take() {
            Some(screen) => screen.close().await,
            None => Ok(()),
        };
        ended.map_err(|error| DeviceError::Unavailable {
            what: "the shutdown of Chromium",
            message: error.to_string(),
        })?;
        screen_ended.and(saved)
    }
}

#[async_trait]
impl Computer for Browser {
    fn size(&self) -> Size {
        self.size
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        let is_switched_off = (*kind == ActionKind::Search && self.options.search.is_none())
            || (*kind == ActionKind::Javascript && !self.options.allows_scripts)
            || (*kind == ActionKind::FileUpload && self.file_transfer.is_none());
        handler_for(*kind) != ActionHandler::None && !is_switched_off
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let frame = match &mut self.screen {
            Some(screen) => screen.capture().await,
            None => self.screenshot().await,
        };
        self.or_relaunch(frame).await
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        self.check_connection().await?;
        self.acted_at.get_or_insert_with(Instant::now);
        let mut done = match self.answer_dialog(action).await {
            Ok(None) => self.dispatch_until_dialog(action).await,
            Ok(Some(answered)) => Ok(answered),
            Err(error) => Err(error),
        };
        self.registry.stop_leaving_pages();
        if let Err(error) = done {
            done = Err(if is_timeout(&error, self.options.reply_timeout) {
                self.recover(error).await
            } else {
                error
            });
        }
        let memory = self.chromium.memory().and_then(MemoryLimit::new_kills);
        match self.or_relaunch(done).await {
            Ok(performed) => {
                let notes = join(self.registry.take_notices(), memory);
                let notes = join(notes, self.service_notice().await);
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
        let settled = self.settle_page(settle, CaptureMode::None).await;
        Ok(self.or_relaunch(settled).await?.0)
    }

    async fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> Result<(Frame, Settled), DeviceError> {
        let screenshot = match &self.screen {
            Some(_) => CaptureMode::None,
            None if self.setup.is_headless_shell && self.setup.scale.fills(self.size) => {
                CaptureMode::Screencast(self.size)
            }
            None => CaptureMode::Capture,
        };
        let settled = self.settle_page(settle, screenshot).await;
        let (settled, screenshot) = self.or_relaunch(settled).await?;
        let frame = match screenshot {
            Some(frame) => frame,
            None => self.capture().await?,
        };
        Ok((frame, settled))
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        let (_, page) = self.front().await?;
        Ok(self.input.release(&page).await?)
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Self::close(*self).await
    }

    fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        match &self.screen {
            Some(screen) => screen.viewer(),
            None => Some(Box::new(PageViewer::new(self.viewed.clone()))),
        }
    }

    fn page_outline(&self) -> Option<Box<dyn PageOutlineSource>> {
        Some(Box::new(PageOutlineReader::new(self.viewed.clone())))
    }

    fn devtools(&self) -> Option<Box<dyn DevtoolsSource>> {
        let is_here = !matches!(self.chromium, Chromium::Attached { .. });
        let context = self.context.as_ref();
        Some(Box::new(ChannelSource {
            client: self.client.clone(),
            router: Arc::clone(&self.router),
            registry: Arc::clone(&self.registry),
            files: self.file_transfer.clone().filter(|_| is_here),
            is_guest: context.is_some_and(|context| context.for_new_tabs().is_some()),
            limit: self.options.reply_timeout,
        }))
    }

    fn page(&mut self) -> Option<&mut dyn PageContextSource> {
        Some(self)
    }

    fn element_marks(&mut self) -> Option<&mut dyn ElementMarks> {
        Some(self)
    }
}

#[async_trait]
impl ElementMarks for Browser {
    async fn marks(&mut self, max_marks: usize) -> Result<Vec<Mark>, DeviceError> {
        let marks = self.visible_marks(max_marks).await;
        self.or_relaunch(marks).await
    }
}

#[async_trait]
impl PageContextSource for Browser {
    async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        let context = self.context_with_events().await;
        self.or_relaunch(context).await
    }

    fn begin_turn(&mut self) {
        self.registry.begin_turn();
    }

    fn set_viewport(&mut self, viewport: Viewport) {
        self.viewport = viewport;
    }

    async fn locate_element(&mut self, target: &ScreenTarget) -> Result<PartLocation, DeviceError> {
        self.check_connection().await?;
        let located = self.visible_part(target).await;
        self.or_relaunch(located).await
    }

    async fn capture_detail(&mut self, region: ScreenRegion) -> Result<Option<Frame>, DeviceError> {
        let detail = self.detail(region).await;
        self.or_relaunch(detail).await
    }
}

impl Browser {
    /// A screenshot of a page without a window.
    async fn screenshot(&mut self) -> Result<Frame, DeviceError> {
        let (tab, _) = self.front().await?;
        if let Some(dialog) = self.registry.describe_dialog(&tab.session) {
            // A screencast needs no answer of the page.
            let (client, registry) = (&self.client, &self.registry);
            let frame = screencast::screenshot(client, registry, &tab.session, self.size).await;
            return frame.ok_or_else(|| refused(format!("No screenshot is possible: {dialog}")));
        }
        let page = self.live_page().await?;
        let frame = capture::capture(&page).await;
        match frame {
            Err(error) if is_timeout(&error, self.options.reply_timeout) => {
                Err(self.recover(error).await)
            }
            other => other,
        }
    }

    /// Waits for the page to settle and captures it meanwhile, if requested and possible. A page that
    /// shows a dialog does nothing until it is answered.
    async fn settle_page(
        &mut self,
        settle: Settle,
        screenshot: CaptureMode,
    ) -> Result<(Settled, Option<Frame>), DeviceError> {
        let start = Instant::now();
        let registry = Arc::clone(&self.registry);
        let (tab, _) = self.front().await?;
        let opened = registry.dialogs_opened();
        if registry.describe_dialog(&tab.session).is_none() {
            tokio::select! {
                biased;
                settled = self.settle_live_page(settle, screenshot) => return settled,
                () = registry.active_tab_stopped(opened, Duration::ZERO) => {}
            }
        }
        self.acted_at = None;
        let settled = match &mut self.screen {
            Some(screen) => screen.settle(settle).await?,
            None => Settled {
                unsettled: None,
                waited: start.elapsed(),
                animated_region: None,
            },
        };
        Ok((settled, None))
    }

    async fn settle_live_page(
        &mut self,
        settle: Settle,
        screenshot: CaptureMode,
    ) -> Result<(Settled, Option<Frame>), DeviceError> {
        let start = Instant::now();
        let acted_at = self.acted_at.take().unwrap_or(start);
        let (tab, page) = self.front().await?;
        let requested_at = Instant::now();
        let world = self.world_in(&tab, &page).await;
        if world.is_none() && requested_at.elapsed() >= PROBE_TIMEOUT {
            // The page did not even answer the query for the isolated world.
            let settled = Settled {
                unsettled: Some(UnsettledReason::Busy),
                waited: start.elapsed(),
                animated_region: None,
            };
            return Ok((settled, None));
        }
        let probe = world.map(|world| IdleProbe::new(page, world));
        let wait = SettleWait {
            client: &self.client,
            registry: &self.registry,
            session: &tab.session,
            probe,
            acted_at,
            start,
            settle,
            size: self.size,
            scale: self.input.scale,
            screenshot,
        };
        wait.run(self.screen.as_deref_mut()).await
    }

    /// The tabs and URL, with all events since the last call.
    async fn context_with_events(&mut self) -> Result<PageContext, DeviceError> {
        let mut context = self.page_context().await?;
        self.save_downloads().await;
        self.registry.report_downloads();
        context.changes = self.registry.take_changes();
        let effects = self.click_effects().await;
        let dialogs = self.registry.report_dialogs();
        let failed_loads = self.registry.report_failed_loads();
        let notices = self.registry.take_notices();
        let notes = [effects, failed_loads, notices, dialogs];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        context.notes = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(context)
    }
}

fn join(text: Option<String>, notes: Option<String>) -> Option<String> {
    match (text, notes) {
        (Some(text), Some(notes)) => Some(format!("{text}\n{notes}")),
        (text, notes) => text.or(notes),
    }
}
