//! Pages told in words, and their elements acted on by ref.

use serde_json::Value;
use telechir_device::{ActionReport, DeviceError, Effect};
use telechir_protocol::{Button, ClickCount, Modifier};

use super::Browser;
use crate::tab_registry::Tab;
use crate::error::refused;
use crate::pointer::Place;
use crate::snapshot::{ElementId, Meaning, Reader, Scope, Tree, View, Wanted, search, text};

/// How often the pointer is put over an element in a frame until it is heard there.
const REACHES: u32 = 12;

impl Browser {
    /// The page in a tab, told in words.
    pub(super) async fn read_page(
        &mut self,
        tab: &Tab,
        view: Option<&str>,
        depth: Option<u32>,
        root: Option<&str>,
    ) -> Result<String, DeviceError> {
        let view = view.unwrap_or_default();
        let view = View::named(view).ok_or_else(|| no_such_view(view))?;
        let root_id = match root {
            Some(id) => Some(self.element(tab, id)?),
            None => None,
        };
        let scope = Scope {
            boxes: view == View::Json,
            thorough: matches!(view, View::Json | View::All),
        };
        let tree = self.tree(tab, scope).await?;
        let wanted = Wanted {
            view,
            depth,
            root: root_id,
        };
        let told = self.snapshots.tell(&tab.target, &tree, wanted);
        told.ok_or_else(|| self.stale(tab, root.unwrap_or_default()))
    }

    /// The text of the page in a tab.
    pub(super) async fn page_text(&mut self, tab: &Tab) -> Result<String, DeviceError> {
        Ok(text(&self.tree(tab, Scope::default()).await?))
    }

    /// Elements that these words fit.
    pub(super) async fn find(&mut self, tab: &Tab, query: &str) -> Result<String, DeviceError> {
        let tree = self.tree(tab, Scope::default()).await?;
        let hits = search(&tree, query);
        if hits.is_empty() {
            return Ok("No element fits.".to_owned());
        }
        let lines = hits.into_iter().map(|node| self.snapshots.line(node));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Sets a form control, as if it had been filled in.
    pub(super) async fn set_value(
        &mut self,
        tab: &Tab,
        id: &str,
        value: &Value,
    ) -> Result<String, DeviceError> {
        let element = self.element(tab, id)?;
        let arguments = vec![value.clone()];
        let set = self.reader().ask(element, "setValue", arguments).await?;
        let set = set.ok_or_else(|| self.stale(tab, id))?;
        match set["problem"].as_str() {
            Some(problem) => Err(refused(format!("The element {id} was not set: {problem}."))),
            None => Ok(set["text"].as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Brings an element into view.
    pub(super) async fn scroll_to(&mut self, tab: &Tab, id: &str) -> Result<(), DeviceError> {
        let element = self.element(tab, id)?;
        let revealed = self.reader().ask(element, "reveal", Vec::new()).await?;
        revealed.map(|_| ()).ok_or_else(|| self.stale(tab, id))
    }

    /// A pixel where an element of the tab in front is hit, brought into view.
    pub(super) async fn place_of(&mut self, id: &str) -> Result<Place, DeviceError> {
        let (tab, _) = self.front().await?;
        let element = self.element(&tab, id)?;
        self.aim(&tab, element, id, false).await
    }

    /// Clicks an element where it is hit, and says whether it heard of it.
    pub(super) async fn click_on(
        &mut self,
        id: &str,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<ActionReport, DeviceError> {
        let (tab, page) = self.living_tab(None).await?;
        let element = self.element(&tab, id)?;
        let wanted = event_of(button, count);
        let said = self.reader().listen(element, wanted);
        let at = self.aim(&tab, element, id, true).await?;
        let mut pointer = self.pointer(&page);
        pointer.click_soon(at, button, count, modifiers).await?;
        // A document that is gone was left by the click.
        let Some(outcome) = self.reader().outcome(element, said).await else {
            return Ok(ActionReport::confirmed());
        };
        Ok(heard(&outcome, id, wanted))
    }

    /// The page in a tab as it is now, and its epoch.
    pub(super) async fn tree(&mut self, tab: &Tab, scope: Scope) -> Result<Tree, DeviceError> {
        self.snapshots.prune(&self.book);
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
    ) -> Result<Place, DeviceError> {
        let aimed = self.reader().aim(element, id, is_to_press).await?;
        let scale = self.setup.scale;
        let aimed = aimed.map(|(x, y)| (scale.to_screen(x), scale.to_screen(y)));
        match aimed {
            Some((x, y)) if x < self.size.width && y < self.size.height => {
                if self.reader().is_framed(element) {
                    self.reach(element, id, (x, y)).await?;
                }
                Ok((x, y))
            }
            Some(_) => Err(refused(format!("The element {id} is off the screen."))),
            None => Err(self.stale(tab, id)),
        }
    }

    /// Puts the pointer over an element in a frame and waits until it heard of it: a frame gets
    /// input by where it was drawn last, which may be before it was scrolled.
    async fn reach(
        &mut self,
        element: ElementId,
        id: &str,
        (x, y): Place,
    ) -> Result<(), DeviceError> {
        let (_, page) = self.living_tab(None).await?;
        for _ in 0..REACHES {
            // A pointer that does not move is not heard of.
            let mut pointer = self.pointer(&page);
            pointer.move_to((x.saturating_sub(1), y)).await?;
            pointer.move_to((x, y)).await?;
            match self.reader().is_reached(element).await {
                Some(false) => {}
                Some(true) | None => return Ok(()),
            }
        }
        Err(refused(format!(
            "The element {id} is in a frame that the pointer does not reach; look before going on."
        )))
    }

    /// The element that a ref means, which must be in this tab.
    pub(super) fn element(&mut self, tab: &Tab, id: &str) -> Result<ElementId, DeviceError> {
        match self.snapshots.meaning(id) {
            Meaning::Element(element) => {
                let other = self.reader().tab_of(element).map(str::to_owned);
                let other = other.filter(|target| *target != tab.target);
                match other.and_then(|target| self.book.target(&target)) {
                    Some(other) => Err(refused(format!(
                        "The element {id} is in {}, and {} is in front; switch to it first.",
                        other.name, tab.name
                    ))),
                    None => Ok(element),
                }
            }
            Meaning::Gone => Err(self.stale(tab, id)),
            Meaning::Nothing => Err(refused(format!(
                "There is no ref {id:?}; read the page for refs."
            ))),
        }
    }

    /// A ref that names nothing any more.
    pub(super) fn stale(&self, tab: &Tab, id: &str) -> DeviceError {
        let target = match self.snapshots.newest(&tab.target) {
            Some(newest) => format!("{id} (the newest snapshot of {} is {newest})", tab.name),
            None => format!("{id} ({} has not been read since)", tab.name),
        };
        DeviceError::Stale { target }
    }

    pub(super) fn reader(&mut self) -> Reader<'_> {
        Reader {
            client: &self.client,
            book: &self.book,
            documents: &mut self.snapshots.documents,
            limit: self.options.answer_limit,
        }
    }
}

/// The event that a click is.
const fn event_of(button: Button, count: ClickCount) -> &'static str {
    match (button, count) {
        (Button::Left, ClickCount::Double) => "dblclick",
        (Button::Left, ClickCount::Single | ClickCount::Triple) => "click",
        (Button::Right, _) => "contextmenu",
        (Button::Middle | Button::Back | Button::Forward, _) => "auxclick",
    }
}

/// What a click did, by what the element heard of it.
fn heard(outcome: &Value, id: &str, wanted: &str) -> ActionReport {
    let has = |kind: &str| {
        let kinds = outcome["kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|heard| heard == kind))
    };
    if has(wanted) {
        return ActionReport::confirmed();
    }
    let text = if has("mousedown") {
        format!("{id} was pressed, but no click came of it.")
    } else if let Some(other) = outcome["other"].as_str() {
        format!("The click reached {other} instead of {id}; look before going on.")
    } else {
        format!("{id} was not heard to be clicked; look before going on.")
    };
    ActionReport {
        effect: Effect::Delivered,
        text: Some(text),
    }
}

fn no_such_view(name: &str) -> DeviceError {
    let names: Vec<&str> = View::NAMED.iter().map(|(name, _)| *name).collect();
    refused(format!(
        "There is no view {name:?} of a page; there are {}.",
        names.join(", ")
    ))
}
