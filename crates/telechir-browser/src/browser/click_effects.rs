//! One sentence about what came of a click, once the page has settled.

use serde_json::Value;

use super::Browser;
use crate::snapshot::{DocumentId, ElementId};
use crate::tab_registry::Tab;

/// The state of the browser before a click.
#[derive(Debug)]
pub(crate) struct ClickObservation {
    /// What was done to the element: `click` or `drag`.
    what: &'static str,
    element: ElementId,
    id: String,
    tab: Tab,
    /// The names of all tabs.
    tabs: Vec<String>,
}

impl Browser {
    /// Remembers the state before a click or drag, which the next result compares with.
    pub(super) fn observe_click(
        &mut self,
        what: &'static str,
        tab: &Tab,
        element: ElementId,
        id: &str,
    ) {
        self.clicked = Some(ClickObservation {
            what,
            element,
            id: id.to_owned(),
            tab: tab.clone(),
            tabs: self
                .registry
                .tabs()
                .into_iter()
                .map(|tab| tab.name)
                .collect(),
        });
    }

    /// What came of the last click, as one sentence; `None` if there was none since the last call.
    pub(super) async fn click_effects(&mut self) -> Option<String> {
        let clicked = self.clicked.take()?;
        if self
            .registry
            .describe_dialog(&clicked.tab.session)
            .is_some()
        {
            // The page goes on when the dialog is answered.
            self.clicked = Some(clicked);
            return None;
        }
        let ClickObservation {
            what,
            element,
            id,
            tab: before,
            tabs,
        } = clicked;
        let mut parts = Vec::new();
        let now = self.registry.tabs();
        let is_open = |name: &String| now.iter().any(|tab| tab.name == *name);
        parts.extend(
            tabs.iter()
                .filter(|name| !is_open(name))
                .map(|name| format!("{name} was closed")),
        );
        parts.extend(
            now.iter()
                .filter(|tab| !tabs.contains(&tab.name))
                .map(|tab| format!("{} was opened: {}", tab.name, shortened(&tab.url))),
        );
        if let Some(after) = self.registry.by_target(&before.target) {
            if after.loads.failure().is_some() {
                // Said beside this sentence.
                parts.push(format!("{} failed to load a page", after.name));
            } else if after.document() != before.document() {
                let error = after.http_error();
                let error = error.map(|error| format!(", {error}")).unwrap_or_default();
                parts.push(format!(
                    "{} shows {}{error}",
                    after.name,
                    shortened(&after.url)
                ));
            } else if after.loads.without_document > before.loads.without_document
                && let Some(status) = after.loads.no_content(None)
            {
                parts.push(format!("the server sent no page (HTTP {status})"));
            } else if after.url != before.url {
                parts.push(format!("the URL is {}", shortened(&after.url)));
            }
            let effects = self.reader().effects(element).await;
            if let Some(effects) = effects.filter(Value::is_object) {
                parts.extend(self.describe(&effects, &id, element.document));
            }
        }
        match parts.as_slice() {
            [] => return Some(format!("After the {what}: no change.")),
            [only] if only.contains("the focus") => {
                return Some(format!("After the {what}: no change, but {only}."));
            }
            _ => {}
        }
        Some(format!("After the {what}: {}.", parts.join("; ")))
    }

    fn describe(&mut self, effects: &Value, id: &str, document: DocumentId) -> Vec<String> {
        let mut parts = Vec::new();
        for alert in effects["alerts"].as_array().into_iter().flatten() {
            parts.push(format!(
                "{} {}",
                alert[0].as_str().unwrap_or_default(),
                alert[1]
            ));
        }
        if let Some(dialog) = self.named(&effects["dialog"], document) {
            parts.push(format!("{dialog} opened"));
        }
        if effects["title"].is_string() {
            parts.push(format!("the title is {}", effects["title"]));
        }
        if let Some(states) = effects["states"].as_str() {
            parts.push(format!("{id} is {states}"));
        }
        if let Some(states) = effects["lost"].as_str() {
            parts.push(format!("{id} is no longer {states}"));
        }
        if effects["name"].is_string() {
            parts.push(format!("{id} is now {}", effects["name"]));
        }
        if effects["value"].is_string() {
            parts.push(format!("{id} has {}", effects["value"]));
        }
        let (changed, removed) = (
            effects["changed"].as_u64().unwrap_or_default(),
            effects["removed"].as_u64().unwrap_or_default(),
        );
        let first = self.named(&effects["first"], document);
        match (changed, first) {
            (0, _) | (_, None) => {}
            (1, Some(first)) => parts.push(format!("{first} changed")),
            (changed, Some(first)) => {
                parts.push(format!("{changed} elements changed, first {first}"))
            }
        }
        if removed > 0 {
            let elements = if removed == 1 { "element" } else { "elements" };
            parts.push(format!("{removed} {elements} removed"));
        }
        if let Some(invalid) = self.named(&effects["invalid"], document) {
            let message = &effects["invalid"]["message"];
            parts.push(format!("{invalid} is invalid: {message}"));
        }
        if effects["focus"]["own"] == true {
            parts.push(format!("the focus is on {id}"));
        } else if let Some(focus) = self.named(&effects["focus"], document) {
            parts.push(format!("the focus is on {focus}"));
        } else if effects["blurred"] == true {
            parts.push("nothing has the focus".to_owned());
        }
        parts
    }

    /// An element as role, name and ref.
    fn named(&mut self, element: &Value, document: DocumentId) -> Option<String> {
        let number = element["id"].as_u64()?;
        let role = element["role"].as_str().filter(|role| !role.is_empty());
        let id = ElementId {
            document,
            number: u32::try_from(number).ok()?,
        };
        let reference = self.snapshots.ref_of_element(id, role.unwrap_or_default());
        Some(format!(
            "{} {} [{reference}]",
            role.unwrap_or("element"),
            element["name"]
        ))
    }
}

/// A URL in a sentence.
fn shortened(url: &str) -> String {
    let text: String = url
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_URL_CHARS)
        .collect();
    let ellipsis = if text.len() < url.len() { "…" } else { "" };
    format!("<{text}{ellipsis}>")
}

/// URLs are truncated to this length.
const MAX_URL_CHARS: usize = 200;
