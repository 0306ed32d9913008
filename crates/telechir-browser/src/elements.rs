//! A page's elements by their refs, through a walker in a world that the page cannot reach.

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_protocol::Size;

use crate::error::{CdpError, refused};
use crate::page::Page;
use crate::pointer::Place;
use crate::setup::WORLD;

const WALKER: &str = include_str!("elements/walker.js");
/// How long a page's description or text may be, in UTF-16 units.
const LONGEST: u32 = 50_000;
/// How deep a description goes unless it is said.
const DEPTH: u32 = 15;
/// The most hits of a search.
const HITS: u32 = 20;

/// The elements of the page in one tab.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    page: &'a Page,
    /// The main frame.
    frame: &'a str,
    /// The first ref that no document has given out yet.
    next: &'a mut u64,
}

impl<'a> Elements<'a> {
    pub(crate) const fn of(page: &'a Page, frame: &'a str, next: &'a mut u64) -> Self {
        Self { page, frame, next }
    }

    /// The page as lines, one for each element that says something.
    pub(crate) async fn read(
        &mut self,
        root: Option<&str>,
        filter: Option<&str>,
        depth: Option<u32>,
    ) -> Result<String, DeviceError> {
        let interactive = match filter {
            None | Some("" | "all") => false,
            Some("interactive") => true,
            Some(other) => {
                return Err(refused(format!(
                    "There is no filter {other:?}; use `all` or `interactive`."
                )));
            }
        };
        let depth = depth.unwrap_or(DEPTH);
        let found = self
            .ask("read", json!([root, interactive, depth, LONGEST]), root)
            .await?;
        Ok(text_of(
            &found,
            "The page shows nothing that could be described.",
        ))
    }

    /// The page's text as a person would read it.
    pub(crate) async fn text(&mut self) -> Result<String, DeviceError> {
        let found = self.ask("text", json!([LONGEST]), None).await?;
        Ok(text_of(&found, "The page has no text."))
    }

    /// Elements that these words fit.
    pub(crate) async fn find(&mut self, query: &str) -> Result<String, DeviceError> {
        let found = self.ask("search", json!([query, HITS]), None).await?;
        Ok(text_of(&found, "No element fits."))
    }

    /// A visible pixel of the element, brought into view.
    pub(crate) async fn locate(&mut self, id: &str, size: Size) -> Result<Place, DeviceError> {
        let found = self.ask("locate", json!([id]), Some(id)).await?;
        if found["hidden"] == true {
            return Err(refused(format!("The element {id} is not visible.")));
        }
        if let Some(cover) = found["coveredBy"].as_str() {
            return Err(refused(format!("The element {id} is covered by {cover}.")));
        }
        let number = |name: &str| {
            found[name]
                .as_u64()
                .and_then(|value| u32::try_from(value).ok())
        };
        match (number("x"), number("y")) {
            (Some(x), Some(y)) if x < size.width && y < size.height => Ok((x, y)),
            _ => Err(refused(format!("The element {id} is off the screen."))),
        }
    }

    /// Brings an element into view.
    pub(crate) async fn scroll_to(&mut self, id: &str) -> Result<(), DeviceError> {
        self.ask("scrollTo", json!([id]), Some(id))
            .await
            .map(|_| ())
    }

    /// Sets a form control, as if it had been filled in.
    pub(crate) async fn set_value(
        &mut self,
        id: &str,
        value: &Value,
    ) -> Result<String, DeviceError> {
        let found = self.ask("setValue", json!([id, value]), Some(id)).await?;
        match found["problem"].as_str() {
            Some(problem) => Err(refused(format!("The element {id} was not set: {problem}."))),
            None => Ok(found["text"].as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Calls a function of the walker; `id` is the ref that the call depends on.
    async fn ask(
        &mut self,
        function: &str,
        arguments: Value,
        id: Option<&str>,
    ) -> Result<Value, DeviceError> {
        let world = json!({ "frameId": self.frame, "worldName": WORLD });
        let context =
            self.page.call("Page.createIsolatedWorld", world).await?["executionContextId"].take();
        let first = *self.next;
        let call = format!(
            "{WALKER};telechirWalker.begin({first});\
             ({{ found: telechirWalker.{function}(...{arguments}), next: telechirWalker.count() }})"
        );
        let params = json!({ "expression": call, "contextId": context, "returnByValue": true });
        let mut answer = self.page.call("Runtime.evaluate", params).await?;
        if let Some(problem) = answer["exceptionDetails"]["exception"]["description"].as_str() {
            let message = problem.lines().next().unwrap_or_default().to_owned();
            return Err(CdpError::Protocol {
                method: "Runtime.evaluate",
                message,
            }
            .into());
        }
        let value = &mut answer["result"]["value"];
        *self.next = value["next"].as_u64().unwrap_or(first);
        let found = value["found"].take();
        match id {
            Some(id) if found["stale"] == true => Err(DeviceError::Stale {
                target: id.to_owned(),
            }),
            _ => Ok(found),
        }
    }
}

fn text_of(found: &Value, otherwise: &str) -> String {
    let text = found["text"].as_str().unwrap_or_default();
    match (text, found["isCut"] == true) {
        ("", false) => otherwise.to_owned(),
        (text, false) => text.to_owned(),
        (text, true) => {
            format!("{text}\n[cut after {LONGEST} characters; ask for a part of the page]")
        }
    }
}
