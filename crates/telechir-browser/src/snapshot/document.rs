//! A document with its walker: opened in an isolated world, cached until it is replaced.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::listeners::KnownListeners;
use super::node::{DocumentId, ElementId, PageHead, PageNode};
use crate::client::{CdpClient, PendingReply};
use crate::error::CdpError;
use crate::setup::WORLD;
use crate::tab_registry::{TabFrame, TabRegistry};
use crate::walker;

/// How long an unknown frame is looked up, and the interval between attempts.
const FRAME_LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
const FRAME_LOOKUP_INTERVAL: Duration = Duration::from_millis(50);

/// What to read beside the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Positions of all elements.
    pub(crate) boxes: bool,
    /// Closed shadow roots of elements that look like any other.
    pub(crate) thorough: bool,
}

/// The documents that were read, by frame id.
#[derive(Debug, Default)]
pub(crate) struct DocumentCache {
    pub(super) by_frame: HashMap<String, PageDocument>,
    last: u64,
}

/// The location of a frame in its tab.
#[derive(Clone, Debug)]
pub(crate) struct FrameLocation {
    /// The CDP target id of the tab.
    pub(crate) tab: String,
    /// The CDP id of the frame.
    pub(crate) frame: String,
    /// The session to query if the frame is not known yet.
    pub(crate) session: String,
    /// The element that contains the frame; `None` for a tab's main frame.
    pub(crate) owner: Option<ElementId>,
}

/// A document and the last result of its walker.
#[derive(Debug)]
pub(crate) struct PageDocument {
    pub(super) id: DocumentId,
    pub(super) location: FrameLocation,
    frame: TabFrame,
    /// The execution context of the walker.
    context: i64,
    /// The version of `nodes` that the walker knows; 0 before the first reading.
    version: u64,
    pub(super) nodes: Vec<PageNode>,
    pub(super) head: PageHead,
    pub(super) omitted: u64,
    /// The number of changes since the first reading.
    pub(super) changes: u64,
    /// The number of elements that may have a closed shadow root.
    shadow_host_candidates: u64,
    pub(super) listeners: KnownListeners,
    /// The number of shadow roots in the last reading.
    pub(super) shadow_roots: u64,
    /// Frame ids by the numbers of their elements.
    pub(super) frames: HashMap<u32, String>,
}

impl DocumentCache {
    /// The document with this id, if it is cached.
    pub(super) fn get(&self, id: DocumentId) -> Option<&PageDocument> {
        self.by_frame.values().find(|document| document.id == id)
    }

    /// Takes a frame's document from the cache, if the frame still shows it.
    pub(super) fn take(
        &mut self,
        location: &FrameLocation,
        registry: &TabRegistry,
    ) -> Option<PageDocument> {
        let document = self.by_frame.remove(&location.frame)?;
        document.is_current(registry).then_some(document)
    }

    /// Stores a document in the cache.
    pub(super) fn put(&mut self, document: PageDocument) -> DocumentId {
        let id = document.id;
        self.by_frame
            .insert(document.location.frame.clone(), document);
        id
    }

    /// A new document id.
    pub(super) fn number(&mut self) -> DocumentId {
        self.last += 1;
        DocumentId(self.last)
    }

    /// Removes documents that are not shown any more and returns their ids.
    pub(super) fn prune(&mut self, registry: &TabRegistry) -> Vec<DocumentId> {
        let gone = self
            .by_frame
            .extract_if(|_, document| !document.is_current(registry));
        gone.map(|(_, document)| document.id).collect()
    }
}

impl PageDocument {
    /// Creates an isolated world for the document in a frame and runs the walker there.
    pub(super) async fn open(
        client: &CdpClient,
        registry: &TabRegistry,
        id: DocumentId,
        location: FrameLocation,
        limit: Duration,
    ) -> Result<Self, CdpError> {
        let frame = match registry.frame(&location.frame) {
            Some(frame) => frame,
            None => look_up_frame(client, registry, &location, limit).await?,
        };
        let world = json!({ "frameId": location.frame, "worldName": WORLD });
        let answer = client
            .call(
                Some(&frame.session),
                "Page.createIsolatedWorld",
                world,
                limit,
            )
            .await?;
        let document = Self {
            id,
            location,
            frame,
            context: answer["executionContextId"].as_i64().unwrap_or_default(),
            version: 0,
            nodes: Vec::new(),
            head: PageHead::default(),
            omitted: 0,
            changes: 0,
            shadow_host_candidates: 0,
            listeners: KnownListeners::default(),
            shadow_roots: 0,
            frames: HashMap::new(),
        };
        let walker = document.evaluate(client, walker::WALKER)?;
        walker.within(limit).await?;
        Ok(document)
    }

    /// Whether the frame still shows this document.
    pub(super) fn is_current(&self, registry: &TabRegistry) -> bool {
        registry.frame(&self.location.frame).as_ref() == Some(&self.frame)
    }

    /// The session that receives its commands.
    pub(super) fn session(&self) -> &str {
        &self.frame.session
    }

    /// The id of its isolated world's execution context.
    pub(super) const fn context(&self) -> i64 {
        self.context
    }

    /// The group of the objects that stand for its nodes in CDP, for this use. Documents of one process
    /// share a session and are read at the same time, so each releases its own group.
    pub(super) fn object_group(&self, purpose: &str) -> String {
        format!("telechir-{purpose}-{}", self.id.0)
    }

    /// Whether elements must be checked for closed shadow roots.
    pub(super) const fn has_shadow_host_candidates(&self) -> bool {
        self.shadow_host_candidates > 0
    }

    /// Calls a function of the walker.
    pub(super) async fn call(
        &self,
        client: &CdpClient,
        function: &str,
        arguments: &[Value],
        limit: Duration,
    ) -> Result<Value, CdpError> {
        self.start_call(client, function, arguments)?
            .within(limit)
            .await
    }

    /// Starts a call whose reply can be awaited later.
    pub(super) fn start_call(
        &self,
        client: &CdpClient,
        function: &str,
        arguments: &[Value],
    ) -> Result<DocumentReply, CdpError> {
        let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
        let call = format!("telechirWalker.{function}({})", arguments.join(","));
        self.evaluate(client, &call)
    }

    /// Reads the document as it is now.
    pub(super) async fn read(
        &mut self,
        client: &CdpClient,
        scope: Scope,
        limit: Duration,
    ) -> Result<(), CdpError> {
        let wanted = json!({
            "since": self.version, "boxes": scope.boxes, "thorough": scope.thorough,
        });
        let answer = self.call(client, "walk", &[wanted], limit).await?;
        let text = answer.as_str().unwrap_or_default();
        self.take(text).ok_or_else(|| CdpError::Protocol {
            method: "Runtime.evaluate",
            message: "the walker returned an invalid snapshot".to_owned(),
        })
    }

    fn take(&mut self, text: &str) -> Option<()> {
        let mut lines = text.split('\n');
        let mut fields = lines.next()?.split('\t');
        let mut number = || fields.next()?.parse::<f64>().ok();
        let [version, changes, shadow_host_candidates, left, ratio] =
            [number()?, number()?, number()?, number()?, number()?];
        let view = [to_integer(number()?), to_integer(number()?)];
        let scroll = [to_integer(number()?), to_integer(number()?)];
        let extent = [to_integer(number()?), to_integer(number()?)];
        let same = usize::try_from(to_integer(number()?)).ok()?;
        let same_end = usize::try_from(to_integer(number()?)).ok()?;
        self.shadow_roots = count(number()?);
        self.head = PageHead {
            title: lines.next()?.to_owned(),
            url: lines.next()?.to_owned(),
            ratio,
            view,
            scroll,
            extent,
        };
        let new_nodes: Option<Vec<PageNode>> = lines
            .filter(|line| !line.is_empty())
            .map(|line| PageNode::read(self.id, line))
            .collect();
        let end = self.nodes.len().checked_sub(same_end)?;
        let is_complete = same == 0 && same_end == 0;
        let replaced = if is_complete {
            0..self.nodes.len()
        } else {
            same..end
        };
        if replaced.start > replaced.end {
            return None;
        }
        self.nodes.splice(replaced, new_nodes?);
        self.version = count(version);
        (self.changes, self.shadow_host_candidates, self.omitted) =
            (count(changes), count(shadow_host_candidates), count(left));
        Some(())
    }

    fn evaluate(&self, client: &CdpClient, expression: &str) -> Result<DocumentReply, CdpError> {
        let params = json!({
            "expression": expression, "contextId": self.context, "returnByValue": true,
            "awaitPromise": true,
        });
        let answer = client.send(Some(self.session()), "Runtime.evaluate", params)?;
        Ok(DocumentReply(answer))
    }
}

/// The pending reply of a walker call.
#[derive(Debug)]
pub(crate) struct DocumentReply(PendingReply);

impl DocumentReply {
    /// Waits for the returned value.
    pub(crate) async fn within(self, limit: Duration) -> Result<Value, CdpError> {
        let mut answer = self.0.within(limit).await?;
        let thrown = &answer["exceptionDetails"];
        if !thrown.is_null() {
            let text = thrown["exception"]["description"].as_str();
            let line = text.and_then(|text| text.lines().next());
            return Err(CdpError::Protocol {
                method: "Runtime.evaluate",
                message: line.unwrap_or("the walker failed").to_owned(),
            });
        }
        Ok(answer["result"]["value"].take())
    }
}

/// Looks a frame up in the frame tree of its session. While a frame moves to another process, it is
/// in no tree for a moment.
async fn look_up_frame(
    client: &CdpClient,
    registry: &TabRegistry,
    location: &FrameLocation,
    limit: Duration,
) -> Result<TabFrame, CdpError> {
    let mut changes = registry.watch();
    let deadline = Instant::now() + FRAME_LOOKUP_TIMEOUT;
    while Instant::now() < deadline {
        let own = registry.own_session(&location.frame);
        let session = own.as_deref().unwrap_or(&location.session);
        let answer = client
            .call(Some(session), "Page.getFrameTree", json!({}), limit)
            .await;
        match answer {
            Ok(tree) => registry.sync_frames(session, &tree["frameTree"]),
            Err(CdpError::Protocol { .. } | CdpError::PageGone(_)) => {}
            Err(error) => return Err(error),
        }
        if let Some(frame) = registry.frame(&location.frame) {
            return Ok(frame);
        }
        let _the_loop_retries_either_way = timeout(FRAME_LOOKUP_INTERVAL, changes.changed()).await;
    }
    Err(CdpError::Protocol {
        method: "Page.getFrameTree",
        message: "a frame was removed while it was looked up".to_owned(),
    })
}

/// A number of the walker; all are integers except the pixel ratio.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
fn to_integer(number: f64) -> i64 {
    number as i64
}

fn count(number: f64) -> u64 {
    u64::try_from(to_integer(number)).unwrap_or(0)
}
