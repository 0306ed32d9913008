//! Which tab is in front: opened, switched, closed, and adopted when a page opens one itself.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use telechir_device::{DeviceError, PageContext};
use telechir_protocol::TabState;
use tokio::time::{Instant, timeout_at};

use crate::Browser;
use crate::tab_registry::{Frame, Tab};
use crate::error::{CdpError, refused};
use crate::cdp_session::Page;
use crate::setup::{Setup, WORLD};
use crate::snapshot::cut;

/// A page that does not say at once whether it is visible is busy, which a visible one is.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// No more of a title is asked for than can be told.
const LOOK_AT_TITLE_AND_WISHES: &str =
    "[document.title.slice(0, 1000), globalThis.telechirEars?.wishesSoFar()]";
const LOOK_AT_WISHES: &str = "globalThis.telechirEars?.wishesSoFar()";
/// Frames of a tab that are asked, and how long for: one that hangs holds up nobody.
const FRAMES_ASKED: usize = 32;
const LOOK_AT_FRAME: Duration = Duration::from_millis(100);
/// Who did not answer is left alone for so long.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// A title and an address are cut here, in characters.
const LONGEST_TITLE: usize = 300;
const LONGEST_ADDRESS: usize = 2_000;
/// Tabs that may close one after the other while the tabs are listed.
const CLOSING: u32 = 16;

impl Browser {
    /// The tab in front and its page. Adopts what pages opened since the last time.
    pub(crate) async fn front(&mut self) -> Result<(Tab, Page), DeviceError> {
        if let Some(lost) = self.client.is_lost() {
            return Err(lost.into());
        }
        let newcomers = self.book.take_newcomers();
        let visible = join_all(newcomers.iter().map(|tab| is_visible(self.page_of(tab)))).await;
        for (tab, is_visible) in newcomers.into_iter().zip(visible) {
            let is_in_front = self.book.active().is_none() || is_visible?;
            let place = if is_in_front {
                self.bring_to_front(&tab).await?;
                "in front now"
            } else {
                "behind the one in front"
            };
            let name = &tab.name;
            self.book
                .note(format!("A page opened {name}, which is {place}."));
        }
        let tab = match self.book.active() {
            Some(tab) => tab,
            None => match self.book.most_recent() {
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

    /// The tab a call names, or the one in front. A named tab comes to the front.
    pub(crate) async fn tab(&mut self, name: Option<&str>) -> Result<(Tab, Page), DeviceError> {
        let front = self.front().await?;
        let Some(name) = name.filter(|name| *name != front.0.name) else {
            return Ok(front);
        };
        let tab = self
            .book
            .named(name)
            .ok_or_else(|| self.no_such_tab(name))?;
        self.bring_to_front(&tab).await?;
        let page = self.page_of(&tab);
        Ok((tab, page))
    }

    /// Opens an empty tab in front.
    pub(crate) async fn open_tab(&mut self) -> Result<Tab, DeviceError> {
        let mut params = json!({ "url": "about:blank" });
        if let Some(context) = &self.context {
            params["browserContextId"] = context.id.as_str().into();
        }
        let limit = self.options.answer_limit;
        let answer = self
            .client
            .call(None, "Target.createTarget", params, limit)
            .await?;
        let target = answer["targetId"].as_str().unwrap_or_default();
        let deadline = Instant::now() + limit;
        let mut changes = self.book.watch();
        loop {
            if let Some(tab) = self.book.target(target) {
                // While its process starts.
                self.bring_to_front(&tab).await?;
                // A load that comes before the page runs is lost.
                self.page_of(&tab).evaluate("0").await?;
                return Ok(tab);
            }
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(CdpError::Timeout {
                    method: "Target.createTarget",
                    limit,
                }
                .into());
            }
        }
    }

    /// Closes a tab. The last one is replaced by an empty one, or the browser would end.
    pub(crate) async fn close_tab(&mut self, name: &str) -> Result<(), DeviceError> {
        self.front().await?;
        let tab = self
            .book
            .named(name)
            .ok_or_else(|| self.no_such_tab(name))?;
        if self.book.tabs().len() == 1 {
            self.open_tab().await?;
        }
        let limit = self.options.answer_limit;
        let params = json!({ "targetId": tab.target });
        let mut changes = self.book.watch();
        self.client
            .call(None, "Target.closeTarget", params, limit)
            .await?;
        let deadline = Instant::now() + limit;
        while self.book.target(&tab.target).is_some() {
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

    /// Puts a tab in front: it alone has the focus.
    pub(crate) async fn bring_to_front(&mut self, tab: &Tab) -> Result<(), DeviceError> {
        if let Some(before) = self
            .book
            .active()
            .filter(|before| before.target != tab.target)
        {
            // What was pressed there must not stay so.
            let page = self.page_of(&before);
            let _a_page_that_is_gone_holds_nothing = self.hands.release(&page).await;
            Setup::focus(&self.client, &before.session, false);
        }
        let limit = self.options.answer_limit;
        let params = json!({ "targetId": tab.target });
        self.client
            .call(None, "Target.activateTarget", params, limit)
            .await?;
        if self.screen.is_some() {
            self.fill_screen(tab).await?;
        }
        Setup::focus(&self.client, &tab.session, true);
        self.book.set_active(&tab.target);
        Ok(())
    }

    /// The browser's address and its tabs, exactly one of them in front.
    pub(crate) async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        // The tab in front may close while Chromium is asked; then another one is.
        for _ in 0..CLOSING {
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
        Err(refused(
            "The browser's tabs close faster than they can be listed.",
        ))
    }

    async fn tab_states(&mut self) -> Result<Vec<TabState>, DeviceError> {
        let (front, _) = self.front().await?;
        // Titles change without an event, so Chromium is asked; it knows also of a page that hangs.
        let limit = self.options.answer_limit;
        let targets = self.client.send(None, "Target.getTargets", json!({}))?;
        let newest = self.heard_of(&front).await;
        self.hear_frames(&front).await;
        let targets = targets.within(limit).await?;
        self.book.rename(&targets["targetInfos"]);
        let state = |tab: Tab| {
            let active = tab.target == front.target;
            TabState {
                active,
                tab_id: tab.name,
                title: cut(
                    &newest.clone().filter(|_| active).unwrap_or(tab.title),
                    LONGEST_TITLE,
                ),
                url: cut(&tab.url, LONGEST_ADDRESS),
            }
        };
        Ok(self.book.tabs().into_iter().map(state).collect())
    }

    /// What the page itself says its title is: Chromium hears of a new one a little later. None
    /// when it has none, hangs, or is gone. What it wanted of a person is noted, too.
    async fn heard_of(&mut self, tab: &Tab) -> Option<String> {
        let page = self.page_of(tab);
        let world = self.world_in(tab, &page).await?;
        let look = json!({
            "expression": LOOK_AT_TITLE_AND_WISHES, "contextId": world, "returnByValue": true,
        });
        let Ok(answer) = page.call_within("Runtime.evaluate", look, LOOK).await else {
            self.world = None;
            return None;
        };
        let told = &answer["result"]["value"];
        self.note_wishes(&page, world, &told[1]);
        let title = told[0].as_str()?.to_owned();
        (!title.is_empty()).then_some(title)
    }

    /// Notes what the frames in a tab wanted of a person.
    async fn hear_frames(&mut self, tab: &Tab) {
        let mut frames = self.book.frames_in(tab);
        frames.truncate(FRAMES_ASKED);
        self.frame_worlds.retain(|known, _| frames.contains(known));
        let is_left_alone = |frame: &(String, Frame)| {
            let known = self.frame_worlds.get(frame);
            known.is_some_and(|known| known.is_err_and(|since| since.elapsed() < LEFT_ALONE))
        };
        let asked = frames
            .into_iter()
            .filter(|frame| !is_left_alone(frame))
            .map(|frame| {
                let world = self.frame_worlds.get(&frame).copied();
                let page = Page::new(&self.client, &frame.1.session, LOOK_AT_FRAME);
                async move {
                    let world = match world {
                        Some(Ok(world)) => Some(world),
                        Some(Err(_)) | None => world_of(&page, &frame.0, LOOK_AT_FRAME).await,
                    };
                    let look = json!({
                        "expression": LOOK_AT_WISHES, "contextId": world, "returnByValue": true,
                    });
                    let answer = match world {
                        Some(_) => page.call("Runtime.evaluate", look).await.ok(),
                        None => None,
                    };
                    (frame, page, world.zip(answer))
                }
            })
            .collect::<Vec<_>>();
        for (frame, page, answer) in join_all(asked).await {
            if let Some((world, answer)) = &answer {
                self.note_wishes(&page, *world, &answer["result"]["value"]);
            }
            let world = answer.map(|(world, _)| world);
            self.frame_worlds
                .insert(frame, world.ok_or_else(Instant::now));
        }
    }

    /// Notes what a document wanted, and tells it that this is known.
    fn note_wishes(&self, page: &Page, world: i64, told: &Value) {
        let wishes = told[1].as_array();
        let Some(wishes) = wishes.filter(|wishes| !wishes.is_empty()) else {
            return;
        };
        for wish in wishes.iter().filter_map(Value::as_str) {
            self.book.wish(wish);
        }
        let had = format!("telechirEars.hadWishes({})", told[0]);
        page.notify(
            "Runtime.evaluate",
            json!({ "expression": had, "contextId": world }),
        );
    }

    /// The world of our scripts in a tab's document; none when it hangs or is gone.
    pub(crate) async fn world_in(&mut self, tab: &Tab, page: &Page) -> Option<i64> {
        let document = (tab.target.clone(), tab.document().map(str::to_owned));
        if let Some((of, world)) = &self.world
            && *of == document
        {
            return Some(*world);
        }
        let world = world_of(page, &tab.target, LOOK).await?;
        self.world = Some((document, world));
        Some(world)
    }

    pub(crate) fn page_of(&self, tab: &Tab) -> Page {
        Page::new(&self.client, &tab.session, self.options.answer_limit)
    }

    /// A window that a page opened gets the whole screen, like the first one.
    async fn fill_screen(&mut self, tab: &Tab) -> Result<(), DeviceError> {
        let limit = self.options.answer_limit;
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
        let names: Vec<String> = self.book.tabs().into_iter().map(|tab| tab.name).collect();
        refused(format!(
            "There is no tab {name:?}; open are {}.",
            names.join(", ")
        ))
    }
}

/// The world of our scripts in a frame's document; none when it hangs or is gone.
async fn world_of(page: &Page, frame: &str, limit: Duration) -> Option<i64> {
    let params = json!({ "frameId": frame, "worldName": WORLD });
    let made = page
        .call_within("Page.createIsolatedWorld", params, limit)
        .await;
    made.ok()?["executionContextId"].as_i64()
}

/// Asks Chromium, which knows whether a new tab came to the front or stayed behind.
async fn is_visible(page: Page) -> Result<bool, DeviceError> {
    let look = json!({ "expression": "document.visibilityState" });
    match page.call_within("Runtime.evaluate", look, LOOK).await {
        Ok(value) => Ok(value["result"]["value"] == "visible"),
        Err(CdpError::Timeout { .. } | CdpError::Protocol { .. }) => Ok(true),
        Err(CdpError::PageGone(_)) => Ok(false),
        Err(error @ CdpError::Lost { .. }) => Err(error.into()),
    }
}
