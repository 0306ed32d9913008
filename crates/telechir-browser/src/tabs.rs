//! The active tab: opening, switching and closing tabs, and activating those that pages open.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use telechir_device::{DeviceError, PageContext};
use telechir_protocol::TabState;
use tokio::time::{Instant, timeout_at};

use crate::Browser;
use crate::cdp_session::{CdpSession, PROBE_TIMEOUT};
use crate::context::Context;
use crate::error::{CdpError, refused};
use crate::setup::{Setup, WORLD};
use crate::snapshot::cut;
use crate::tab_registry::{MAX_TABS, Tab, TabFrame};

/// Truncates the title in the page: more is never reported.
const READ_TITLE_AND_DENIALS: &str =
    "[document.title.slice(0, 1000), globalThis.telechirListeners?.currentDenials()]";
const READ_DENIALS: &str = "globalThis.telechirListeners?.currentDenials()";
/// Frames of a tab that are polled, and the limit for each: a hanging one delays nothing.
const MAX_FRAMES_POLLED: usize = 32;
const FRAME_PROBE_TIMEOUT: Duration = Duration::from_millis(100);
/// A frame that did not answer is not polled again for this time.
const FRAME_RETRY_AFTER: Duration = Duration::from_secs(5);
/// Titles and URLs are truncated to these lengths, in characters.
const MAX_TITLE_CHARS: usize = 300;
const MAX_URL_CHARS: usize = 2_000;
/// Attempts to list the tabs while tabs are closing.
const MAX_LIST_ATTEMPTS: u32 = 16;

impl Browser {
    /// The active tab and its session. Activates tabs that pages opened visibly since the last
    /// call.
    pub(crate) async fn front(&mut self) -> Result<(Tab, CdpSession), DeviceError> {
        if let Some(lost) = self.client.loss() {
            return Err(lost.into());
        }
        let opened_by_page = self.registry.take_opened_by_page();
        let visible = join_all(
            opened_by_page
                .iter()
                .map(|tab| is_visible(self.page_of(tab))),
        )
        .await;
        for (tab, is_visible) in opened_by_page.into_iter().zip(visible) {
            let is_in_front = self.registry.active().is_none() || is_visible?;
            let position = if is_in_front {
                self.bring_to_front(&tab).await?;
                "active now"
            } else {
                "in the background"
            };
            let name = &tab.name;
            self.registry
                .note(format!("A page opened {name}, which is {position}."));
        }
        let tab = match self.registry.active() {
            Some(tab) => tab,
            None => match self.registry.most_recent() {
                Some(tab) => {
                    self.bring_to_front(&tab).await?;
                    tab
                }
                None => self.open_tab().await?,
            },
        };
        let page = self.page_of(&tab);
        Ok((tab, page))
    }

    /// The named tab, which is activated, or the active one.
    pub(crate) async fn tab(
        &mut self,
        name: Option<&str>,
    ) -> Result<(Tab, CdpSession), DeviceError> {
        let front = self.front().await?;
        let Some(name) = name.filter(|name| *name != front.0.name) else {
            return Ok(front);
        };
        let tab = self
            .registry
            .by_name(name)
            .ok_or_else(|| self.no_such_tab(name))?;
        self.bring_to_front(&tab).await?;
        let page = self.page_of(&tab);
        Ok((tab, page))
    }

    /// Opens and activates an empty tab; fails if there are too many.
    pub(crate) async fn open_tab(&mut self) -> Result<Tab, DeviceError> {
        if self.registry.tabs().len() >= MAX_TABS {
            return Err(refused(format!(
                "{MAX_TABS} tabs are open, which is the limit; close one first."
            )));
        }
        let mut params = json!({ "url": "about:blank" });
        if let Some(context) = self.context.as_ref().and_then(Context::for_new_tabs) {
            params["browserContextId"] = context.into();
        }
        let limit = self.options.reply_timeout;
        let answer = self
            .client
            .call(None, "Target.createTarget", params, limit)
            .await?;
        let target = answer["targetId"].as_str().unwrap_or_default();
        self.router.share(&self.client, target);
        let started = self.start_in(target).await;
        if started.is_err() {
            let params = json!({ "targetId": target });
            self.client.notify(None, "Target.closeTarget", params);
        }
        started
    }

    /// Waits until a tab is attached, and activates it.
    pub(crate) async fn start_in(&mut self, target: &str) -> Result<Tab, DeviceError> {
        let limit = self.options.reply_timeout;
        let deadline = Instant::now() + limit;
        let mut changes = self.registry.watch();
        loop {
            if let Some(tab) = self.registry.by_target(target) {
                // Meanwhile its process starts.
                self.bring_to_front(&tab).await?;
                // A navigation before the page runs is lost.
                self.page_of(&tab).evaluate("0").await?;
                return Ok(tab);
            }
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(CdpError::Timeout {
                    method: "Target.attachToTarget",
                    limit,
                }
                .into());
            }
        }
    }

    /// Closes a tab. The last one is replaced by an empty one; otherwise the browser would exit.
    pub(crate) async fn close_tab(&mut self, name: &str) -> Result<(), DeviceError> {
        self.front().await?;
        let tab = self
            .registry
            .by_name(name)
            .ok_or_else(|| self.no_such_tab(name))?;
        if self.registry.tabs().len() == 1 {
            self.open_tab().await?;
        }
        let limit = self.options.reply_timeout;
        let params = json!({ "targetId": tab.target });
        let mut changes = self.registry.watch();
        self.client
            .call(None, "Target.closeTarget", params, limit)
            .await?;
        let deadline = Instant::now() + limit;
        while self.registry.by_target(&tab.target).is_some() {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(CdpError::Timeout {
                    method: "Target.closeTarget",
                    limit,
                }
                .into());
            }
        }
        self.front().await.map(|_| ())
    }

    /// Activates a tab: only the active one has the focus.
    pub(crate) async fn bring_to_front(&mut self, tab: &Tab) -> Result<(), DeviceError> {
        if let Some(before) = self
            .registry
            .active()
            .filter(|before| before.target != tab.target)
        {
            // Keys and buttons must not stay pressed in the previous tab.
            let page = self.page_of(&before);
            let _a_closed_page_needs_no_release = self.input.release(&page).await;
            Setup::focus(&self.client, &before.session, false);
        }
        let limit = self.options.reply_timeout;
        let params = json!({ "targetId": tab.target });
        self.client
            .call(None, "Target.activateTarget", params, limit)
            .await?;
        if self.screen.is_some() {
            self.fill_screen(tab).await?;
        }
        Setup::focus(&self.client, &tab.session, true);
        self.registry.set_active(&tab.target);
        Ok(())
    }

    /// The URL and the tabs, exactly one of them active.
    pub(crate) async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        // The active tab may close during the query; then another one is active.
        for _ in 0..MAX_LIST_ATTEMPTS {
            let tabs = self.tab_states().await?;
            if let Some(active) = tabs.iter().find(|tab| tab.active) {
                let url = Some(active.url.clone());
                return Ok(PageContext {
                    url,
                    tabs,
                    ..PageContext::default()
                });
            }
        }
        Err(refused("Tabs are closing faster than they can be listed."))
    }

    async fn tab_states(&mut self) -> Result<Vec<TabState>, DeviceError> {
        let (front, _) = self.front().await?;
        // Titles change without an event, so they are queried; this works even if a page hangs.
        let limit = self.options.reply_timeout;
        let targets = self.client.send(None, "Target.getTargets", json!({}))?;
        let newest = match self.check_dialog(&front.session) {
            Ok(()) => {
                let newest = self.page_title(&front).await;
                self.collect_frame_denials(&front).await;
                newest
            }
            // The page does not answer until its dialog is closed.
            Err(_) => None,
        };
        let targets = targets.within(limit).await?;
        self.registry.rename(&targets["targetInfos"]);
        let state = |tab: Tab| {
            let active = tab.target == front.target;
            TabState {
                active,
                tab_id: tab.name,
                title: cut(
                    &newest.clone().filter(|_| active).unwrap_or(tab.title),
                    MAX_TITLE_CHARS,
                ),
                url: cut(&tab.url, MAX_URL_CHARS),
            }
        };
        Ok(self.registry.tabs().into_iter().map(state).collect())
    }

    /// The title as the page itself reports it, because Chromium knows a new title a little later;
    /// `None` if there is none, or the page hangs or is gone. Also collects denials.
    async fn page_title(&mut self, tab: &Tab) -> Option<String> {
        let page = self.page_of(tab);
        let world = self.world_in(tab, &page).await?;
        let params = json!({
            "expression": READ_TITLE_AND_DENIALS, "contextId": world, "returnByValue": true,
        });
        let Ok(answer) = page
            .call_within("Runtime.evaluate", params, PROBE_TIMEOUT)
            .await
        else {
            self.world = None;
            return None;
        };
        let value = &answer["result"]["value"];
        self.collect_denials(&page, world, &value[1]);
        let title = value[0].as_str()?.to_owned();
        (!title.is_empty()).then_some(title)
    }

    /// Collects the denials in the frames of a tab.
    async fn collect_frame_denials(&mut self, tab: &Tab) {
        let mut frames = self.registry.frames_in(tab);
        frames.truncate(MAX_FRAMES_POLLED);
        self.frame_worlds.retain(|known, _| frames.contains(known));
        let is_backing_off = |frame: &(String, TabFrame)| {
            let known = self.frame_worlds.get(frame);
            known.is_some_and(|known| known.is_err_and(|since| since.elapsed() < FRAME_RETRY_AFTER))
        };
        let polls = frames
            .into_iter()
            .filter(|frame| !is_backing_off(frame))
            .map(|frame| {
                let world = self.frame_worlds.get(&frame).copied();
                let page = CdpSession::new(&self.client, &frame.1.session, FRAME_PROBE_TIMEOUT);
                async move {
                    let world = match world {
                        Some(Ok(world)) => Some(world),
                        Some(Err(_)) | None => world_of(&page, &frame.0, FRAME_PROBE_TIMEOUT).await,
                    };
                    let params = json!({
                        "expression": READ_DENIALS, "contextId": world, "returnByValue": true,
                    });
                    let answer = match world {
                        Some(_) => page.call("Runtime.evaluate", params).await.ok(),
                        None => None,
                    };
                    (frame, page, world.zip(answer))
                }
            })
            .collect::<Vec<_>>();
        for (frame, page, answer) in join_all(polls).await {
            if let Some((world, answer)) = &answer {
                self.collect_denials(&page, *world, &answer["result"]["value"]);
            }
            let world = answer.map(|(world, _)| world);
            self.frame_worlds
                .insert(frame, world.ok_or_else(Instant::now));
        }
    }

    /// Notes the denials of a document, and confirms them to it.
    fn collect_denials(&self, page: &CdpSession, world: i64, value: &Value) {
        let denials = value[1].as_array();
        let Some(denials) = denials.filter(|denials| !denials.is_empty()) else {
            return;
        };
        for name in denials.iter().filter_map(Value::as_str) {
            if name != "print" || !self.is_printing {
                self.registry.note_denied_permission(name);
            }
        }
        let clear = format!("telechirListeners.clearDenials({})", value[0]);
        page.notify(
            "Runtime.evaluate",
            json!({ "expression": clear, "contextId": world }),
        );
    }

    /// The isolated world in a tab's document; `None` if the page hangs or is gone.
    pub(crate) async fn world_in(&mut self, tab: &Tab, page: &CdpSession) -> Option<i64> {
        let document = (tab.target.clone(), tab.document().map(str::to_owned));
        if let Some((of, world)) = &self.world
            && *of == document
        {
            return Some(*world);
        }
        let world = world_of(page, &tab.target, PROBE_TIMEOUT).await?;
        self.world = Some((document, world));
        Some(world)
    }

    pub(crate) fn page_of(&self, tab: &Tab) -> CdpSession {
        CdpSession::new(&self.client, &tab.session, self.options.reply_timeout)
    }

    /// Makes a window that a page opened fill the screen.
    async fn fill_screen(&mut self, tab: &Tab) -> Result<(), DeviceError> {
        let limit = self.options.reply_timeout;
        let params = json!({ "targetId": tab.target });
        let window = self
            .client
            .call(None, "Browser.getWindowForTarget", params, limit)
            .await?;
        if window["bounds"]["windowState"] != "fullscreen" {
            let params = json!({
                "windowId": window["windowId"], "bounds": { "windowState": "fullscreen" },
            });
            self.client
                .call(None, "Browser.setWindowBounds", params, limit)
                .await?;
        }
        Ok(())
    }

    fn no_such_tab(&self, name: &str) -> DeviceError {
        let names: Vec<String> = self
            .registry
            .tabs()
            .into_iter()
            .map(|tab| tab.name)
            .collect();
        refused(format!(
            "There is no tab {name:?}; open tabs: {}.",
            names.join(", ")
        ))
    }
}

/// The isolated world in a frame's document; `None` if the frame hangs or is gone.
async fn world_of(page: &CdpSession, frame: &str, limit: Duration) -> Option<i64> {
    let params = json!({ "frameId": frame, "worldName": WORLD });
    let made = page
        .call_within("Page.createIsolatedWorld", params, limit)
        .await;
    made.ok()?["executionContextId"].as_i64()
}

/// Asks the page whether it is visible, that is, was opened in the foreground.
async fn is_visible(page: CdpSession) -> Result<bool, DeviceError> {
    let params = json!({ "expression": "document.visibilityState" });
    match page
        .call_within("Runtime.evaluate", params, PROBE_TIMEOUT)
        .await
    {
        Ok(value) => Ok(value["result"]["value"] == "visible"),
        Err(CdpError::Timeout { .. } | CdpError::Protocol { .. }) => Ok(true),
        Err(CdpError::PageGone(_)) => Ok(false),
        Err(error @ CdpError::Lost { .. }) => Err(error.into()),
    }
}
