//! Waits for a text, an element, a URL or the end of loading.

use std::time::Duration;

use telechir_device::{DeviceError, normalized};
use tokio::time::{Instant, timeout};

use super::Browser;
use crate::error::refused;
use crate::snapshot::Scope;
use crate::tab_registry::Tab;

/// Without a duration in the call.
const DEFAULT_LIMIT: Duration = Duration::from_secs(10);
const MAX_LIMIT: Duration = Duration::from_secs(30);
/// How often the page is read, unless an event of the browser comes first.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A page that loaded nothing for this long is idle.
const IDLE_AFTER: Duration = Duration::from_millis(500);

/// What to wait for; all of it must hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitCondition<'a> {
    /// A text of the page, in any case.
    pub(super) text: Option<&'a str>,
    /// The ref of an element that is shown.
    pub(super) id: Option<&'a str>,
    /// Whether text and element must be absent instead.
    pub(super) is_gone: bool,
    /// A part of the URL.
    pub(super) url: Option<&'a str>,
    /// Whether the page must have stopped loading.
    pub(super) is_idle: bool,
}

impl Browser {
    /// Waits until the condition holds; the error says what does not hold in the end.
    pub(super) async fn wait_for(
        &mut self,
        tab: &Tab,
        condition: &WaitCondition<'_>,
        limit: Option<Duration>,
    ) -> Result<String, DeviceError> {
        let is_empty = condition.text.is_none()
            && condition.id.is_none()
            && condition.url.is_none()
            && !condition.is_idle;
        if is_empty {
            return Err(refused(
                "Nothing to wait for was given; expected a text, a ref, a URL or idle.",
            ));
        }
        let requested = limit.unwrap_or(DEFAULT_LIMIT);
        let limit = requested.min(MAX_LIMIT);
        let start = Instant::now();
        loop {
            let mut changes = self.registry.watch();
            let missing = self.missing(tab, condition).await?;
            let Some(missing) = missing else {
                let ms = start.elapsed().as_millis();
                return Ok(format!("It holds after {ms} ms."));
            };
            if start.elapsed() >= limit {
                let ms = limit.as_millis();
                let note = match limit < requested {
                    true => " That is the longest wait; wait again if it may still come.",
                    false => "",
                };
                return Err(refused(format!("After {ms} ms {missing}.{note}")));
            }
            let _the_page_is_read_again_either_way =
                timeout(POLL_INTERVAL, changes.changed()).await;
        }
    }

    /// The first part of the condition that does not hold.
    async fn missing(
        &mut self,
        tab: &Tab,
        condition: &WaitCondition<'_>,
    ) -> Result<Option<String>, DeviceError> {
        let now = self.registry.by_target(&tab.target);
        let now = now.ok_or_else(|| refused(format!("{} was closed.", tab.name)))?;
        check_crashed(&now)?;
        if let Some(url) = condition.url.filter(|url| !now.url.contains(url)) {
            return Ok(Some(format!(
                "the URL does not contain {url:?}: {}",
                now.url
            )));
        }
        if condition.is_idle && self.is_loading() {
            return Ok(Some("the page still loads".to_owned()));
        }
        if let Some(id) = condition.id {
            let element = self.element(&now, id);
            let is_shown = match element {
                Ok(element) => {
                    let shown = self.reader().call(element, "isShown", Vec::new()).await?;
                    shown.is_some_and(|shown| shown["shown"] == true)
                }
                Err(DeviceError::Stale { .. }) => false,
                Err(error) => return Err(error),
            };
            if is_shown == condition.is_gone {
                let state = if is_shown { "still" } else { "not" };
                return Ok(Some(format!("{id} is {state} shown")));
            }
        }
        if let Some(text) = condition.text {
            let Some(has_text) = self.has_text(&now, text).await? else {
                return Ok(Some("the page cannot be read".to_owned()));
            };
            if has_text == condition.is_gone {
                let state = if has_text {
                    "still has"
                } else {
                    "does not have"
                };
                return Ok(Some(format!("the page {state} the text {text:?}")));
            }
        }
        // It may have crashed meanwhile, and then shows nothing.
        self.registry
            .by_target(&tab.target)
            .map_or(Ok(None), |now| check_crashed(&now).map(|()| None))
    }

    fn is_loading(&self) -> bool {
        self.registry
            .activity()
            .is_some_and(|activity| activity.is_busy || activity.last_load.elapsed() < IDLE_AFTER)
    }

    /// Whether the page has a text; `None` if it cannot be read, as while it is being replaced.
    async fn has_text(&mut self, tab: &Tab, text: &str) -> Result<Option<bool>, DeviceError> {
        let tree = match self.tree(tab, Scope::default()).await {
            Ok(tree) => tree,
            Err(DeviceError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = normalized(text);
        let mut texts = tree.nodes.iter().flat_map(|node| [&node.name, &node.value]);
        Ok(Some(texts.any(|other| normalized(other).contains(&text))))
    }
}

fn check_crashed(tab: &Tab) -> Result<(), DeviceError> {
    match tab.crashed {
        true => Err(refused(format!(
            "The page in {} crashed; reload it or navigate to another address.",
            tab.name
        ))),
        false => Ok(()),
    }
}
