//! The page of a tab with all its frames: reading it as one tree, and acting on elements.

use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use serde_json::{Value, json};
use telechir_device::DeviceError;

use super::document::{DocumentCache, DocumentReply, FrameLocation, PageDocument, Scope};
use super::node::{DocumentId, ElementId, PageNode, PageTree};
use super::{listeners, shadow};
use crate::client::CdpClient;
use crate::error::{CdpError, refused};
use crate::tab_registry::{Tab, TabRegistry};

/// Maximum number of frames that are read, and their maximum depth.
const MAX_FRAMES: usize = 64;
const MAX_FRAME_DEPTH: usize = 8;
/// A frame that takes longer counts as unresponsive and is left out.
const FRAME_TIMEOUT: Duration = Duration::from_secs(2);
/// A busy page reports no effects of a click.
const EFFECTS_TIMEOUT: Duration = Duration::from_millis(500);
/// Attempts if the document is replaced while it is read.
const MAX_ATTEMPTS: usize = 4;
/// The objects that stand for frame elements while the frames in them are looked up.
const FRAMES_GROUP: &str = "telechir-frame-ids";
/// Closed shadow roots may contain further ones.
const MAX_SHADOW_DEPTH: usize = 8;

/// Reads pages and acts on their elements.
#[derive(Debug)]
pub(crate) struct PageReader<'a> {
    pub(crate) client: &'a CdpClient,
    pub(crate) registry: &'a TabRegistry,
    pub(crate) documents: &'a mut DocumentCache,
    /// The limit for a reply of the page.
    pub(crate) limit: Duration,
}

impl<'a> PageReader<'a> {
    /// Prepares to read a frame within `limit`.
    fn frame_read(
        &mut self,
        location: FrameLocation,
        scope: Scope,
        limit: Duration,
    ) -> FrameRead<'a> {
        FrameRead {
            client: self.client,
            registry: self.registry,
            number: self.documents.number(),
            location,
            scope,
            limit,
        }
    }

    /// The tree of a tab's page, without its epoch.
    pub(crate) async fn tree(&mut self, tab: &Tab, scope: Scope) -> Result<PageTree, DeviceError> {
        let main = FrameLocation {
            tab: tab.target.clone(),
            frame: tab.target.clone(),
            session: tab.session.clone(),
            owner: None,
        };
        let id = self.read(main, scope).await?;
        let mut children: HashMap<ElementId, Option<DocumentId>> = HashMap::new();
        let mut level = vec![id];
        for _ in 0..MAX_FRAME_DEPTH {
            let room = MAX_FRAMES.saturating_sub(children.len());
            let read = self.read_frames(&level, scope, room).await?;
            level = read.iter().filter_map(|(_, child)| *child).collect();
            children.extend(read);
            if level.is_empty() {
                break;
            }
        }
        let mut tree = PageTree::default();
        if let Some(document) = self.documents.get(id) {
            tree.head = document.head.clone();
        }
        self.splice(id, &children, (0, true, [0, 0]), &mut tree);
        Ok(tree)
    }

    /// The number of changes of each document of a tab.
    pub(crate) fn changes(&self, tab: &Tab) -> Vec<(DocumentId, u64)> {
        let of_tab = self.documents.by_frame.values();
        let of_tab = of_tab.filter(|document| document.location.tab == tab.target);
        let mut changes: Vec<_> = of_tab
            .map(|document| (document.id, document.changes))
            .collect();
        changes.sort_unstable();
        changes
    }

    /// Reads the document in a tab's main frame.
    async fn read(
        &mut self,
        location: FrameLocation,
        scope: Scope,
    ) -> Result<DocumentId, CdpError> {
        let known = self.documents.take(&location, self.registry);
        let frame_read = self.frame_read(location, scope, self.limit);
        let (document, read) = frame_read.of(known).await;
        let id = document.map(|document| self.documents.put(document));
        read?;
        id.ok_or_else(|| CdpError::Protocol {
            method: "Runtime.evaluate",
            message: "the page is gone".to_owned(),
        })
    }

    /// Reads the frames in these documents concurrently; `None` for those that do not answer.
    async fn read_frames(
        &mut self,
        documents: &[DocumentId],
        scope: Scope,
        room: usize,
    ) -> Result<Vec<(ElementId, Option<DocumentId>)>, CdpError> {
        let mut locations = Vec::new();
        for id in documents {
            locations.extend(self.frames_of(*id).await?);
        }
        locations.truncate(room);
        let mut frame_reads = Vec::new();
        for (owner, location) in locations {
            let known = self.documents.take(&location, self.registry);
            let frame_read = self.frame_read(location, scope, FRAME_TIMEOUT.min(self.limit));
            frame_reads.push(async move { (owner, frame_read.of(known).await) });
        }
        let mut children = Vec::new();
        for (owner, (document, read)) in join_all(frame_reads).await {
            let id = document.map(|document| self.documents.put(document));
            match read {
                Ok(()) => children.push((owner, id)),
                Err(error @ CdpError::Lost { .. }) => return Err(error),
                Err(_) => children.push((owner, None)),
            }
        }
        Ok(children)
    }

    /// The frames in a document, with their elements.
    async fn frames_of(
        &mut self,
        id: DocumentId,
    ) -> Result<Vec<(ElementId, FrameLocation)>, CdpError> {
        let Some(document) = self.documents.get(id) else {
            return Ok(Vec::new());
        };
        let owners: Vec<u32> = document
            .nodes
            .iter()
            .filter(|node| node.is_frame())
            .map(|node| node.element.number)
            .collect();
        let mut names = document.frames.clone();
        names.retain(|owner_id, _| owners.contains(owner_id));
        let new = owners
            .iter()
            .filter(|owner_id| !names.contains_key(owner_id));
        let ids = new.map(|owner_id| frame_id_of(self.client, document, *owner_id, self.limit));
        let ids = join_all(ids).await;
        if !ids.is_empty() {
            let group = json!({ "objectGroup": FRAMES_GROUP });
            let session = Some(document.session());
            self.client
                .notify(session, "Runtime.releaseObjectGroup", group);
        }
        for id in ids {
            let (owner_id, name) = id?;
            names.extend(name.map(|name| (owner_id, name)));
        }
        let location = |owner_id: &u32| {
            let owner = ElementId {
                document: id,
                number: *owner_id,
            };
            let location = FrameLocation {
                tab: document.location.tab.clone(),
                frame: names.get(owner_id)?.clone(),
                session: document.session().to_owned(),
                owner: Some(owner),
            };
            Some((owner, location))
        };
        let locations = owners.iter().filter_map(location).collect();
        let frame = document.location.frame.clone();
        if let Some(document) = self.documents.by_frame.get_mut(&frame) {
            document.frames = names;
        }
        Ok(locations)
    }

    /// Appends a document's nodes, and after each frame element those of its document. `above` is
    /// the depth, the visibility and the origin of the document.
    fn splice(
        &self,
        id: DocumentId,
        children: &HashMap<ElementId, Option<DocumentId>>,
        above: (usize, bool, [i32; 2]),
        tree: &mut PageTree,
    ) {
        let (depth, is_in_view, origin) = above;
        let Some(document) = self.documents.get(id) else {
            return;
        };
        tree.omitted += document.omitted;
        for node in &document.nodes {
            let node = node.translated(depth, is_in_view, origin);
            let below = (node.depth + 1, node.is_in_view(), node.origin());
            let (is_frame, has_url, element) = (node.is_frame(), node.has_url(), node.element);
            tree.nodes.push(node);
            let mut note = |text| tree.nodes.push(PageNode::note(below.0, element, text));
            match children.get(&element) {
                Some(Some(child)) if has_url && self.is_still_loading(*child) => {
                    note("This frame is still loading; its content is not included.");
                }
                Some(Some(child)) if is_frame => self.splice(*child, children, below, tree),
                Some(None) if is_frame => {
                    note("This frame does not answer; its content is not included.");
                }
                _ => {}
            }
        }
    }

    /// Whether a frame still shows the initial empty document.
    fn is_still_loading(&self, id: DocumentId) -> bool {
        let document = self.documents.get(id);
        document
            .is_some_and(|document| document.nodes.is_empty() && document.head.url == "about:blank")
    }

    /// Calls a walker function for an element; `None` if the element or its document is gone.
    pub(crate) async fn call(
        &self,
        element: ElementId,
        function: &str,
        mut arguments: Vec<Value>,
    ) -> Result<Option<Value>, DeviceError> {
        let Some(document) = self.documents.get(element.document) else {
            return Ok(None);
        };
        if !document.is_current(self.registry) {
            return Ok(None);
        }
        arguments.insert(0, element.number.into());
        let answer = document
            .call(self.client, function, &arguments, self.limit)
            .await;
        match answer {
            Ok(answer) => Ok((answer["gone"] != true).then_some(answer)),
            Err(_) if !document.is_current(self.registry) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks the document to report when the next aimed element receives this kind of event, before
    /// the page's own handlers run.
    pub(crate) fn when_received(&self, element: ElementId, kind: &str) -> Option<DocumentReply> {
        let document = self.documents.get(element.document)?;
        let received = document.start_call(self.client, "whenReceived", &[kind.into()]);
        received.ok()
    }

    /// The outcome of a click; `None` if the document is gone. `received` comes from
    /// `when_received`.
    pub(crate) async fn outcome(
        &self,
        element: ElementId,
        received: Option<DocumentReply>,
    ) -> Option<Value> {
        let event = async {
            match OptionFuture::from(received.map(|received| received.within(self.limit))).await {
                Some(Ok(outcome)) => outcome,
                Some(Err(_)) | None => pending().await,
            }
        };
        let after_call = async {
            let document = self.documents.get(element.document)?;
            if !document.is_current(self.registry) {
                return None;
            }
            let outcome = document.call(self.client, "outcome", &[], self.limit);
            outcome.await.ok()
        };
        tokio::select! {
            biased;
            outcome = event => Some(outcome),
            outcome = after_call => outcome,
        }
    }

    /// The CDP target id of the element's tab.
    pub(crate) fn tab_of(&self, element: ElementId) -> Option<&str> {
        let document = self.documents.get(element.document)?;
        Some(&document.location.tab)
    }

    /// The pixel of the tab where an element is hit, once it is enabled, uncovered and still, or
    /// after `limit`; `None` if it is gone. `name` is for errors.
    pub(crate) async fn aim(
        &self,
        element: ElementId,
        name: &str,
        is_to_press: bool,
        limit: Duration,
    ) -> Result<Option<(u32, u32)>, DeviceError> {
        let arguments = vec![is_to_press.into(), json!(limit.as_millis())];
        let aimed = self.call(element, "aim", arguments).await?;
        self.in_tab(element, name, aimed).await
    }

    /// As `aim`, without waiting and scrolling.
    pub(crate) async fn aim_without_scrolling(
        &self,
        element: ElementId,
        name: &str,
    ) -> Result<Option<(u32, u32)>, DeviceError> {
        let aimed = self
            .call(element, "aimWithoutScrolling", Vec::new())
            .await?;
        self.in_tab(element, name, aimed).await
    }

    /// Maps a pixel of the element's document, as the walker returns it, to the tab.
    async fn in_tab(
        &self,
        element: ElementId,
        name: &str,
        aimed: Option<Value>,
    ) -> Result<Option<(u32, u32)>, DeviceError> {
        let Some(mut at) = aimed else {
            return Ok(None);
        };
        let mut document = element.document;
        loop {
            let (x, y) = pixel(&at, name)?;
            let owner = self
                .documents
                .get(document)
                .map(|known| known.location.owner);
            match owner {
                None => return Ok(None),
                Some(None) => return Ok(u32::try_from(x).ok().zip(u32::try_from(y).ok())),
                Some(Some(owner)) => {
                    let through = self
                        .call(owner, "toParentPixel", vec![x.into(), y.into()])
                        .await?;
                    let Some(mut through) = through else {
                        return Ok(None);
                    };
                    let mut element = owner;
                    if let Some(share) = through.get_mut("turned").map(Value::take) {
                        match self.in_turned_frame(owner, &share).await? {
                            Some(outer) => (through, element) = outer,
                            None => return Ok(None),
                        }
                    }
                    (at, document) = (through, element.document);
                }
            }
        }
    }

    /// Ends the trace of a press on an element, which no longer guards it.
    pub(crate) async fn end_trace(&self, element: ElementId) {
        if let Some(document) = self.documents.get(element.document) {
            let _a_gone_document_guards_nothing =
                document.call(self.client, "outcome", &[], self.limit).await;
        }
    }

    /// What came of the last click in the element's document, as the walker returns it; `None` if
    /// the document is gone.
    pub(crate) async fn effects(&self, element: ElementId) -> Option<Value> {
        let document = self.documents.get(element.document)?;
        if !document.is_current(self.registry) {
            return None;
        }
        let effects = document.call(self.client, "takeEffects", &[], EFFECTS_TIMEOUT);
        effects.await.ok()
    }

    /// Whether an element is in a frame.
    pub(crate) fn is_framed(&self, element: ElementId) -> bool {
        let document = self.documents.get(element.document);
        document.is_some_and(|document| document.location.owner.is_some())
    }

    /// Whether the aimed element received a pointer move since the last call; if not, waits for the
    /// next repaint of the document.
    pub(crate) async fn is_reached(&self, element: ElementId) -> Option<bool> {
        let document = self.documents.get(element.document)?;
        let call = |function| document.call(self.client, function, &[], self.limit);
        let is_reached = call("isReached").await.ok()? == true;
        if !is_reached {
            call("afterRepaint").await.ok()?;
        }
        Some(is_reached)
    }
}

/// The parameters for reading a frame.
struct FrameRead<'a> {
    client: &'a CdpClient,
    registry: &'a TabRegistry,
    /// The id for the document if it was not read before.
    number: DocumentId,
    location: FrameLocation,
    scope: Scope,
    limit: Duration,
}

impl FrameRead<'_> {
    /// Reads the document in the frame. On failure, a cached document is returned, too.
    async fn of(
        self,
        mut known: Option<PageDocument>,
    ) -> (Option<PageDocument>, Result<(), CdpError>) {
        let mut last = CdpError::Protocol {
            method: "Runtime.evaluate",
            message: "the page keeps navigating".to_owned(),
        };
        for _ in 0..MAX_ATTEMPTS {
            let mut document = match known.take() {
                Some(document) => document,
                None => match self.open().await {
                    Ok(document) => document,
                    Err(error @ CdpError::Protocol { .. }) => {
                        last = error;
                        continue;
                    }
                    Err(error) => return (None, Err(error)),
                },
            };
            document.location.owner = self.location.owner;
            let read = read_pipe(&mut document, self.client, self.scope, self.limit).await;
            let is_current = document.is_current(self.registry);
            match read {
                Ok(()) if is_current => return (Some(document), Ok(())),
                Ok(()) => {}
                // The world may be gone with its document before the event arrives.
                Err(error @ CdpError::Protocol { .. }) => last = error,
                Err(error) => return (is_current.then_some(document), Err(error)),
            }
        }
        (None, Err(last))
    }

    async fn open(&self) -> Result<PageDocument, CdpError> {
        let location = self.location.clone();
        PageDocument::open(
            self.client,
            self.registry,
            self.number,
            location,
            self.limit,
        )
        .await
    }
}

/// Reads a document with its listeners and closed shadow roots, including nested ones.
async fn read_pipe(
    document: &mut PageDocument,
    client: &CdpClient,
    scope: Scope,
    limit: Duration,
) -> Result<(), CdpError> {
    if !document.listeners.were_queried() {
        listeners::pass(document, client, limit).await?;
    }
    for _ in 0..MAX_SHADOW_DEPTH {
        document.read(client, scope, limit).await?;
        if document
            .listeners
            .is_due(document.changes, document.shadow_roots)
            && listeners::pass(document, client, limit).await?
        {
            continue;
        }
        if !document.has_shadow_host_candidates() || !shadow::adopt(document, client, limit).await?
        {
            break;
        }
    }
    Ok(())
}

/// An element's number with the CDP id of the frame in it; `None` if there is none.
async fn frame_id_of(
    client: &CdpClient,
    document: &PageDocument,
    owner_id: u32,
    limit: Duration,
) -> Result<(u32, Option<String>), CdpError> {
    let session = Some(document.session());
    let params = json!({
        "expression": format!("telechirWalker.element({owner_id})"),
        "contextId": document.context(), "objectGroup": FRAMES_GROUP,
    });
    let found = client
        .call(session, "Runtime.evaluate", params, limit)
        .await?;
    let object = &found["result"]["objectId"];
    if object.is_null() {
        return Ok((owner_id, None));
    }
    let params = json!({ "objectId": object });
    let described = client
        .call(session, "DOM.describeNode", params, limit)
        .await?;
    let name = described["node"]["frameId"].as_str();
    Ok((owner_id, name.map(str::to_owned)))
}

/// The pixel in a reply of the walker, or why there is none.
fn pixel(at: &Value, name: &str) -> Result<(i64, i64), DeviceError> {
    if at["disabled"] == true {
        return Err(refused(format!("The element {name} is disabled.")));
    }
    if let Some(cover) = at["coveredBy"].as_str() {
        return Err(refused(format!(
            "The element {name} is covered by {cover}."
        )));
    }
    match (at["x"].as_i64(), at["y"].as_i64()) {
        (Some(x), Some(y)) => Ok((x, y)),
        _ => Err(refused(format!("The element {name} is not visible."))),
    }
}
