//! Reading pages as text and acting on elements by ref.

use std::time::Duration;

use serde_json::Value;
use telechir_device::{ActionReport, DeviceError, Effect};
use telechir_protocol::{Button, ClickCount, Modifier, ScrollUnit};
use tokio::time::Instant;

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::error::refused;
use crate::pointer::Pixel;
use crate::snapshot::{
    ElementId, PageReader, PageTree, RefTarget, Scope, SnapshotRequest, SnapshotView, article_text,
};
use crate::tab_registry::Tab;

/// How long an element may take to become enabled, uncovered and still.
const AIM_TIMEOUT: Duration = Duration::from_secs(2);
/// Clicks that may miss an element, at least, before it is given up: aiming may take all of
/// `AIM_TIMEOUT`.
const MIN_CLICK_ATTEMPTS: u32 = 3;
/// How long an element that a click has missed may take to become uncovered.
const AIM_AGAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Attempts to make a frame receive a pointer event over an element.
const MAX_REACH_ATTEMPTS: u32 = 12;

impl Browser {
    /// A snapshot of the page in a tab.
    pub(super) async fn read_page(
        &mut self,
        tab: &Tab,
        view: Option<&str>,
        depth: Option<u32>,
        root: Option<&str>,
    ) -> Result<String, DeviceError> {
        let view = view.unwrap_or_default();
        let view = SnapshotView::named(view).ok_or_else(|| no_such_view(view))?;
        let root_id = match root {
            Some(id) => Some(self.element(tab, id)?),
            None => None,
        };
        let scope = Scope {
            boxes: view == SnapshotView::Json,
            thorough: matches!(view, SnapshotView::Json | SnapshotView::Full),
        };
        let mut tree = self.tree(tab, scope).await?;
        for node in &mut tree.nodes {
            node.bounds = node.bounds.map(|bounds| self.in_screenshot(bounds));
        }
        let wanted = SnapshotRequest {
            view,
            depth,
            root: root_id,
        };
        let rendered = self.snapshots.render(&tab.target, &tree, wanted);
        rendered.ok_or_else(|| self.stale(tab, root.unwrap_or_default()))
    }

    /// A box of the page, left, top, width and height, in pixels of the model's screenshot.
    fn in_screenshot(&self, [left, top, width, height]: [i32; 4]) -> [i32; 4] {
        let scale = self.input.scale;
        let corner = |x: i32, y: i32| self.viewport.screenshot_point(scale.edge(x), scale.edge(y));
        let (left_edge, top_edge) = corner(left, top);
        let (right, bottom) = corner(left.saturating_add(width), top.saturating_add(height));
        [left_edge, top_edge, right - left_edge, bottom - top_edge]
    }

    /// The main text of the page in a tab.
    pub(super) async fn page_text(&mut self, tab: &Tab) -> Result<String, DeviceError> {
        Ok(article_text(&self.tree(tab, Scope::default()).await?))
    }

    /// The elements and texts that match the words of a query, one per line.
    pub(super) async fn find(&mut self, tab: &Tab, query: &str) -> Result<String, DeviceError> {
        if query.trim().is_empty() {
            return Err(refused("Nothing to find: expected words of an element."));
        }
        let tree = self.tree(tab, Scope::default()).await?;
        Ok(self.snapshots.search(&tree, query))
    }

    /// Sets a form control, as if the user had filled it in.
    pub(super) async fn set_value(
        &mut self,
        tab: &Tab,
        id: &str,
        value: &Value,
    ) -> Result<String, DeviceError> {
        let element = self.element(tab, id)?;
        let arguments = vec![value.clone()];
        let set = self.reader().call(element, "setValue", arguments).await?;
        let set = set.ok_or_else(|| self.stale(tab, id))?;
        match set["problem"].as_str() {
            Some(problem) => Err(refused(format!("The element {id} was not set: {problem}."))),
            None => Ok(set["text"].as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Scrolls an element into view.
    pub(super) async fn scroll_to(&mut self, tab: &Tab, id: &str) -> Result<(), DeviceError> {
        let element = self.element(tab, id)?;
        let revealed = self
            .reader()
            .call(element, "scrollToElement", Vec::new())
            .await?;
        revealed.map(|_| ()).ok_or_else(|| self.stale(tab, id))
    }

    /// Scrolls an element of the active tab into view and returns a pixel where it is hit.
    pub(super) async fn click_pixel(&mut self, id: &str) -> Result<Pixel, DeviceError> {
        let (tab, _) = self.front().await?;
        let element = self.element(&tab, id)?;
        self.aim(&tab, element, id, false, AIM_TIMEOUT).await
    }

    /// Clicks an element and reports whether it received the event.
    pub(super) async fn click_on(
        &mut self,
        id: &str,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<ActionReport, DeviceError> {
        let (tab, page) = self.live_tab(None).await?;
        let element = self.element(&tab, id)?;
        let event = event_of(button, count);
        self.observe_click("click", &tab, element, id);
        let deadline = Instant::now() + AIM_TIMEOUT;
        let mut misses = 0;
        loop {
            let reply = self.reader().when_received(element, event);
            let left = deadline.saturating_duration_since(Instant::now());
            let left = match misses {
                0 => left,
                _ => left.max(AIM_AGAIN_TIMEOUT),
            };
            let aimed = self.aim(&tab, element, id, true, left).await;
            if aimed.is_err() {
                // Nothing came of a click that did not happen.
                self.clicked = None;
            }
            let at = aimed?;
            let mut pointer = self.pointer(&page);
            pointer
                .click_without_hover(at, button, count, modifiers)
                .await?;
            // If the document is gone, the click navigated away.
            let Some(outcome) = self.reader().outcome(element, reply).await else {
                return Ok(ActionReport::confirmed());
            };
            if outcome["missed"] != true {
                return Ok(click_report(&outcome, id, event));
            }
            // The element moved, or was covered, since it was aimed at. The page received nothing.
            misses += 1;
            if misses >= MIN_CLICK_ATTEMPTS && Instant::now() >= deadline {
                self.clicked = None;
                let other = outcome["other"].as_str().unwrap_or("another element");
                return Err(refused(format!(
                    "The element {id} was not clicked: it moves, or {other} covers it when the pointer gets there."
                )));
            }
        }
    }

    /// Drags an element of the active tab onto another one, and reports what received the drop.
    pub(super) async fn drag_to(
        &mut self,
        (source, target): (&str, &str),
        button: Button,
        modifiers: &[Modifier],
        duration: Option<Duration>,
    ) -> Result<ActionReport, DeviceError> {
        let (tab, page) = self.live_tab(None).await?;
        let (from, to) = (self.element(&tab, source)?, self.element(&tab, target)?);
        // The target is checked first: scrolling to the source may move it out of view again.
        self.aim(&tab, to, target, false, AIM_TIMEOUT).await?;
        let start = self.aim(&tab, from, source, true, AIM_TIMEOUT).await?;
        self.reader().end_trace(from).await;
        self.observe_click("drag", &tab, from, source);
        let in_view = self.reader().aim_without_scrolling(to, target).await;
        let scale = self.input.scale;
        let end = in_view.ok().flatten();
        let end = end.map(|(x, y)| (scale.to_screen(x), scale.to_screen(y)));
        match end.filter(|(x, y)| *x < self.size.width && *y < self.size.height) {
            Some(end) => {
                let mut pointer = self.pointer(&page);
                pointer
                    .drag(&[start, end], button, modifiers, duration)
                    .await?;
            }
            // Both do not fit into the view: the page is scrolled while the button is pressed.
            None => {
                let near = (start.0.saturating_add(5), start.1.saturating_add(5));
                self.pointer(&page).down(Some(start), button).await?;
                let moved = self.drag_beyond(&tab, &page, (to, target), near).await;
                let end = *moved.as_ref().unwrap_or(&start);
                self.pointer(&page).up(Some(end), button).await?;
                moved?;
            }
        }
        Ok(ActionReport::delivered())
    }

    /// Moves a pressed pointer to an element that is out of view.
    async fn drag_beyond(
        &mut self,
        tab: &Tab,
        page: &CdpSession,
        (to, target): (ElementId, &str),
        near: Pixel,
    ) -> Result<Pixel, DeviceError> {
        self.pointer(page).move_to(near).await?;
        let end = self.aim(tab, to, target, false, AIM_TIMEOUT).await?;
        let mut pointer = self.pointer(page);
        pointer.move_to((end.0.saturating_sub(2), end.1)).await?;
        pointer.move_to(end).await?;
        Ok(end)
    }

    /// Turns the wheel over an element of the active tab, and reports how far it is scrolled.
    pub(super) async fn scroll_in(
        &mut self,
        id: &str,
        distance: (f64, f64),
        unit: ScrollUnit,
        modifiers: &[Modifier],
    ) -> Result<ActionReport, DeviceError> {
        let (tab, page) = self.live_tab(None).await?;
        let element = self.element(&tab, id)?;
        let at = self.aim(&tab, element, id, false, AIM_TIMEOUT).await?;
        let state = |state: Option<Value>| state.unwrap_or_default();
        let before = state(self.reader().call(element, "scrollState", vec![]).await?);
        let mut pointer = self.pointer(&page);
        pointer.scroll(Some(at), distance, unit, modifiers).await?;
        let after = state(
            self.reader()
                .call(element, "scrolledState", vec![before.clone()])
                .await?,
        );
        let (Some(area), Some(text)) = (after["area"].as_str(), after["text"].as_str()) else {
            return Ok(ActionReport::delivered());
        };
        let text = match after == before {
            true => format!("Nothing scrolled: {area} is {text}."),
            false => format!("{area} is {text}."),
        };
        Ok(ActionReport {
            text: Some(text),
            ..ActionReport::confirmed()
        })
    }

    /// The current tree of the page in a tab, with its epoch.
    pub(super) async fn tree(&mut self, tab: &Tab, scope: Scope) -> Result<PageTree, DeviceError> {
        self.snapshots.prune(&self.registry);
        let mut reader = self.reader();
        let mut tree = reader.tree(tab, scope).await?;
        let changes = reader.changes(tab);
        tree.epoch = self.snapshots.epoch(&tab.target, changes);
        Ok(tree)
    }

    async fn aim(
        &mut self,
        tab: &Tab,
        element: ElementId,
        id: &str,
        is_to_press: bool,
        limit: Duration,
    ) -> Result<Pixel, DeviceError> {
        let aimed = self.reader().aim(element, id, is_to_press, limit).await?;
        let scale = self.input.scale;
        let aimed = aimed.map(|(x, y)| (scale.to_screen(x), scale.to_screen(y)));
        match aimed {
            Some((x, y)) if x < self.size.width && y < self.size.height => {
                if self.reader().is_framed(element) {
                    self.reach_in_frame(element, id, (x, y)).await?;
                }
                Ok((x, y))
            }
            Some(_) => Err(refused(format!("The element {id} is outside the screen."))),
            None => Err(self.stale(tab, id)),
        }
    }

    /// Moves the pointer over an element in a frame until the frame receives the event: Chromium
    /// routes input to frames by the last painted layout, which may predate scrolling.
    async fn reach_in_frame(
        &mut self,
        element: ElementId,
        id: &str,
        (x, y): Pixel,
    ) -> Result<(), DeviceError> {
        let (_, page) = self.live_tab(None).await?;
        for _ in 0..MAX_REACH_ATTEMPTS {
            // A pointer that does not move causes no event.
            let mut pointer = self.pointer(&page);
            pointer.move_to((x.saturating_sub(1), y)).await?;
            pointer.move_to((x, y)).await?;
            match self.reader().is_reached(element).await {
                Some(false) => {}
                Some(true) | None => return Ok(()),
            }
        }
        Err(refused(format!(
            "The element {id} is in a frame that does not receive pointer events; take a screenshot before continuing."
        )))
    }

    /// The element of a ref, which must be in this tab.
    pub(super) fn element(&mut self, tab: &Tab, id: &str) -> Result<ElementId, DeviceError> {
        match self.snapshots.resolve(id) {
            RefTarget::Element(element) => {
                let other = self.reader().tab_of(element).map(str::to_owned);
                let other = other.filter(|target| *target != tab.target);
                match other.and_then(|target| self.registry.by_target(&target)) {
                    Some(other) => Err(refused(format!(
                        "The element {id} is in {}, but {} is active; switch to it first.",
                        other.name, tab.name
                    ))),
                    None => Ok(element),
                }
            }
            RefTarget::Gone => Err(self.stale(tab, id)),
            RefTarget::OtherLetter(letter, number) => {
                let known = self.known_refs(tab, id);
                Err(refused(format!(
                    "There is no ref {id:?}; {number} is {letter}{number}.{known}"
                )))
            }
            RefTarget::Unknown => {
                let known = self.known_refs(tab, id);
                Err(refused(format!(
                    "There is no ref {id:?}; read the page to get refs.{known}"
                )))
            }
        }
    }

    /// A sentence with refs of the last snapshot.
    fn known_refs(&mut self, tab: &Tab, id: &str) -> String {
        match self.snapshots.known_refs(&tab.target, id).as_slice() {
            [] => String::new(),
            known => format!(" There are {}.", known.join(", ")),
        }
    }

    /// The error for a ref whose element is gone.
    pub(super) fn stale(&self, tab: &Tab, id: &str) -> DeviceError {
        let target = match self.snapshots.newest(&tab.target) {
            Some(newest) => format!("{id} (the newest snapshot of {} is {newest})", tab.name),
            None => format!("{id} ({} has not been read since)", tab.name),
        };
        DeviceError::Stale { target }
    }

    pub(super) fn reader(&mut self) -> PageReader<'_> {
        PageReader {
            client: &self.client,
            registry: &self.registry,
            documents: &mut self.snapshots.documents,
            limit: self.options.reply_timeout,
        }
    }
}

/// The DOM event that a click causes.
const fn event_of(button: Button, count: ClickCount) -> &'static str {
    match (button, count) {
        (Button::Left, ClickCount::Double) => "dblclick",
        (Button::Left, ClickCount::Single | ClickCount::Triple) => "click",
        (Button::Right, _) => "contextmenu",
        (Button::Middle | Button::Back | Button::Forward, _) => "auxclick",
    }
}

/// The report of a click, from the events that the element received.
fn click_report(outcome: &Value, id: &str, event: &str) -> ActionReport {
    let has = |kind: &str| {
        let kinds = outcome["kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|event_kind| event_kind == kind))
    };
    if has(event) {
        return ActionReport::confirmed();
    }
    let text = if has("mousedown") {
        format!("{id} was pressed, but received no click event.")
    } else if let Some(other) = outcome["other"].as_str() {
        format!("The click reached {other} instead of {id}; take a screenshot before continuing.")
    } else {
        format!("{id} did not receive the click; take a screenshot before continuing.")
    };
    ActionReport {
        effect: Effect::Delivered,
        text: Some(text),
    }
}

fn no_such_view(name: &str) -> DeviceError {
    let names: Vec<&str> = SnapshotView::NAMED.iter().map(|(name, _)| *name).collect();
    refused(format!(
        "Unknown page view {name:?}; expected one of {}.",
        names.join(", ")
    ))
}
