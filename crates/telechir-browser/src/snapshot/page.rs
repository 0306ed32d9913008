//! A tab's page with all its frames, read as one tree and acted on by element.

use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use serde_json::{Value, json};
use telechir_device::DeviceError;

use super::document::{Asked, Document, Documents, Place};
use super::node::{DocumentId, ElementId, Node, Tree};
use super::shadow;
use crate::tab_registry::{Book, Tab};
use crate::client::Client;
use crate::error::{CdpError, refused};

/// Frames of a page that are read, and how deep they may lie.
const MOST_FRAMES: usize = 64;
const DEEPEST: usize = 8;
/// A frame that takes longer does not answer: the rest of the page is told without it.
const FRAME_LIMIT: Duration = Duration::from_secs(2);
/// How often it is begun again when the document is replaced while it is read.
const TRIES: usize = 4;
/// Closed shadow roots may hold others.
const SHADOW_LEVELS: usize = 8;

/// What is asked of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Also where everything is.
    pub(crate) boxes: bool,
    /// Also whether elements that look like any other have a closed shadow root.
    pub(crate) thorough: bool,
}

/// Reads pages and acts on their elements.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) client: &'a Client,
    pub(crate) book: &'a Book,
    pub(crate) documents: &'a mut Documents,
    /// How long a page may take to answer.
    pub(crate) limit: Duration,
}

impl<'a> Reader<'a> {
    /// What is needed to read the frame there, within `limit`.
    fn reading(&mut self, place: Place, scope: Scope, limit: Duration) -> Reading<'a> {
        Reading {
            client: self.client,
            book: self.book,
            number: self.documents.number(),
            place,
            scope,
            limit,
        }
    }

    /// The page in a tab, without its epoch.
    pub(crate) async fn tree(&mut self, tab: &Tab, scope: Scope) -> Result<Tree, DeviceError> {
        let main = Place {
            tab: tab.target.clone(),
            frame: tab.target.clone(),
            session: tab.session.clone(),
            owner: None,
        };
        let id = self.read(main, scope).await?;
        let mut children: HashMap<ElementId, Option<DocumentId>> = HashMap::new();
        let mut level = vec![id];
        for _ in 0..DEEPEST {
            let room = MOST_FRAMES.saturating_sub(children.len());
            let read = self.read_frames(&level, scope, room).await?;
            level = read.iter().filter_map(|(_, child)| *child).collect();
            children.extend(read);
            if level.is_empty() {
                break;
            }
        }
        let mut tree = Tree::default();
        if let Some(document) = self.documents.get(id) {
            tree.head = document.head.clone();
        }
        self.splice(id, &children, (0, true, [0, 0]), &mut tree);
        Ok(tree)
    }

    /// How often each document of a tab changed.
    pub(crate) fn changes(&self, tab: &Tab) -> Vec<(DocumentId, u64)> {
        let of_tab = self.documents.by_frame.values();
        let of_tab = of_tab.filter(|document| document.place.tab == tab.target);
        let mut changes: Vec<_> = of_tab
            .map(|document| (document.id, document.changes))
            .collect();
        changes.sort_unstable();
        changes
    }

    /// Reads the document in a tab's main frame.
    async fn read(&mut self, place: Place, scope: Scope) -> Result<DocumentId, CdpError> {
        let known = self.documents.take(&place, self.book);
        let reading = self.reading(place, scope, self.limit);
        let (document, read) = reading.of(known).await;
        let id = document.map(|document| self.documents.put(document));
        read?;
        id.ok_or_else(|| CdpError::Protocol {
            method: "Runtime.evaluate",
            message: "the page is gone".to_owned(),
        })
    }

    /// Reads the frames that these documents hold, all at once; none for what does not answer.
    async fn read_frames(
        &mut self,
        documents: &[DocumentId],
        scope: Scope,
        room: usize,
    ) -> Result<Vec<(ElementId, Option<DocumentId>)>, CdpError> {
        let mut places = Vec::new();
        for id in documents {
            places.extend(self.frames_of(*id).await?);
        }
        places.truncate(room);
        let mut readings = Vec::new();
        for (owner, place) in places {
            let known = self.documents.take(&place, self.book);
            let reading = self.reading(place, scope, FRAME_LIMIT.min(self.limit));
            readings.push(async move { (owner, reading.of(known).await) });
        }
        let mut children = Vec::new();
        for (owner, (document, read)) in join_all(readings).await {
            let id = document.map(|document| self.documents.put(document));
            match read {
                Ok(()) => children.push((owner, id)),
                Err(error @ CdpError::Lost { .. }) => return Err(error),
                Err(_) => children.push((owner, None)),
            }
        }
        Ok(children)
    }

    /// The frames that a document holds.
    async fn frames_of(&mut self, id: DocumentId) -> Result<Vec<(ElementId, Place)>, CdpError> {
        let Some(document) = self.documents.get(id) else {
            return Ok(Vec::new());
        };
        let holders: Vec<u32> = document
            .nodes
            .iter()
            .filter(|node| node.is_frame())
            .map(|node| node.element.number)
            .collect();
        let mut names = document.frames.clone();
        names.retain(|holder, _| holders.contains(holder));
        for holder in &holders {
            if !names.contains_key(holder)
                && let Some(name) =
                    name_of_frame(self.client, document, *holder, self.limit).await?
            {
                names.insert(*holder, name);
            }
        }
        let place = |holder: &u32| {
            let owner = ElementId {
                document: id,
                number: *holder,
            };
            let place = Place {
                tab: document.place.tab.clone(),
                frame: names.get(holder)?.clone(),
                session: document.session().to_owned(),
                owner: Some(owner),
            };
            Some((owner, place))
        };
        let places = holders.iter().filter_map(place).collect();
        let frame = document.place.frame.clone();
        if let Some(document) = self.documents.by_frame.get_mut(&frame) {
            document.frames = names;
        }
        Ok(places)
    }

    /// Adds a document's nodes, and below each frame those of the document in it. `above` is how
    /// deep it lies, whether it is in view, and where.
    fn splice(
        &self,
        id: DocumentId,
        children: &HashMap<ElementId, Option<DocumentId>>,
        above: (usize, bool, [i32; 2]),
        tree: &mut Tree,
    ) {
        let (depth, is_in_view, origin) = above;
        let Some(document) = self.documents.get(id) else {
            return;
        };
        tree.left += document.left;
        for node in &document.nodes {
            let node = node.moved(depth, is_in_view, origin);
            let below = (node.depth + 1, node.is_in_view(), node.origin());
            let (is_frame, leads, element) =
                (node.is_frame(), node.leads_somewhere(), node.element);
            tree.nodes.push(node);
            let mut note = |words| tree.nodes.push(Node::note(below.0, element, words));
            match children.get(&element) {
                Some(Some(child)) if leads && self.is_unbegun(*child) => {
                    note("This frame is still loading; what it will show is not here.");
                }
                Some(Some(child)) if is_frame => self.splice(*child, children, below, tree),
                Some(None) if is_frame => {
                    note("This frame does not answer; what it shows is not here.");
                }
                _ => {}
            }
        }
    }

    /// Whether a frame shows nothing but the empty document that it begins with.
    fn is_unbegun(&self, id: DocumentId) -> bool {
        let document = self.documents.get(id);
        document
            .is_some_and(|document| document.nodes.is_empty() && document.head.url == "about:blank")
    }

    /// Asks the document of an element; gone when either is.
    pub(crate) async fn ask(
        &self,
        element: ElementId,
        function: &str,
        mut arguments: Vec<Value>,
    ) -> Result<Option<Value>, DeviceError> {
        let Some(document) = self.documents.get(element.document) else {
            return Ok(None);
        };
        if !document.is_current(self.book) {
            return Ok(None);
        }
        arguments.insert(0, element.number.into());
        let answer = document
            .ask(self.client, function, &arguments, self.limit)
            .await;
        match answer {
            Ok(answer) => Ok((answer["gone"] != true).then_some(answer)),
            Err(_) if !document.is_current(self.book) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the document say what comes of a press on what is aimed at next, as soon as the element
    /// hears this kind of event: before the page does what it has to do then.
    pub(crate) fn listen(&self, element: ElementId, kind: &str) -> Option<Asked> {
        let document = self.documents.get(element.document)?;
        let said = document.begin(self.client, "hears", &[kind.into()]);
        said.ok()
    }

    /// What came of a press that was aimed; none when the document is gone. `said` is what it was
    /// asked before.
    pub(crate) async fn outcome(&self, element: ElementId, said: Option<Asked>) -> Option<Value> {
        let heard = async {
            match OptionFuture::from(said.map(|said| said.within(self.limit))).await {
                Some(Ok(outcome)) => outcome,
                Some(Err(_)) | None => pending().await,
            }
        };
        let asked = async {
            let document = self.documents.get(element.document)?;
            if !document.is_current(self.book) {
                return None;
            }
            let outcome = document.ask(self.client, "outcome", &[], self.limit);
            outcome.await.ok()
        };
        tokio::select! {
            biased;
            outcome = heard => Some(outcome),
            outcome = asked => outcome,
        }
    }

    /// The tab that an element is in.
    pub(crate) fn tab_of(&self, element: ElementId) -> Option<&str> {
        let document = self.documents.get(element.document)?;
        Some(&document.place.tab)
    }

    /// The pixel of the tab where an element is hit; none when it is gone. `name` is for people.
    pub(crate) async fn aim(
        &self,
        element: ElementId,
        name: &str,
        is_to_press: bool,
    ) -> Result<Option<(u32, u32)>, DeviceError> {
        let aimed = self.ask(element, "aim", vec![is_to_press.into()]).await?;
        let Some(mut at) = aimed else {
            return Ok(None);
        };
        let mut document = element.document;
        loop {
            let (x, y) = pixel(&at, name)?;
            let owner = self.documents.get(document).map(|known| known.place.owner);
            match owner {
                None => return Ok(None),
                Some(None) => return Ok(u32::try_from(x).ok().zip(u32::try_from(y).ok())),
                Some(Some(owner)) => {
                    let through = self.ask(owner, "through", vec![x.into(), y.into()]).await?;
                    let Some(through) = through else {
                        return Ok(None);
                    };
                    (at, document) = (through, owner.document);
                }
            }
        }
    }

    /// Whether an element is in a frame.
    pub(crate) fn is_framed(&self, element: ElementId) -> bool {
        let document = self.documents.get(element.document);
        document.is_some_and(|document| document.place.owner.is_some())
    }

    /// Whether the pointer was heard over what is aimed at, since it was asked last; otherwise
    /// once the document is drawn as it is now.
    pub(crate) async fn is_reached(&self, element: ElementId) -> Option<bool> {
        let document = self.documents.get(element.document)?;
        let ask = |function| document.ask(self.client, function, &[], self.limit);
        let is_reached = ask("isReached").await.ok()? == true;
        if !is_reached {
            ask("drawnAgain").await.ok()?;
        }
        Some(is_reached)
    }
}

/// What is needed to read a frame.
struct Reading<'a> {
    client: &'a Client,
    book: &'a Book,
    /// The number of the document, when it is not the one that was read before.
    number: DocumentId,
    place: Place,
    scope: Scope,
    limit: Duration,
}

impl Reading<'_> {
    /// Reads the document in the frame. What is known stays known when that fails.
    async fn of(self, mut known: Option<Document>) -> (Option<Document>, Result<(), CdpError>) {
        let mut last = CdpError::Protocol {
            method: "Runtime.evaluate",
            message: "the page goes elsewhere again and again".to_owned(),
        };
        for _ in 0..TRIES {
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
            document.place.owner = self.place.owner;
            let read = read_all(&mut document, self.client, self.scope, self.limit).await;
            let is_current = document.is_current(self.book);
            match read {
                Ok(()) if is_current => return (Some(document), Ok(())),
                Ok(()) => {}
                // Its world may be gone with its document, before that is heard of.
                Err(error @ CdpError::Protocol { .. }) => last = error,
                Err(error) => return (is_current.then_some(document), Err(error)),
            }
        }
        (None, Err(last))
    }

    async fn open(&self) -> Result<Document, CdpError> {
        let place = self.place.clone();
        Document::open(self.client, self.book, self.number, place, self.limit).await
    }
}

/// Reads a document with its closed shadow roots, and those in them.
async fn read_all(
    document: &mut Document,
    client: &Client,
    scope: Scope,
    limit: Duration,
) -> Result<(), CdpError> {
    for _ in 0..SHADOW_LEVELS {
        document.read(client, scope, limit).await?;
        if !document.has_suspects() || !shadow::adopt(document, client, limit).await? {
            break;
        }
    }
    Ok(())
}

/// Chromium's name of the frame that an element holds; none when it holds none.
async fn name_of_frame(
    client: &Client,
    document: &Document,
    holder: u32,
    limit: Duration,
) -> Result<Option<String>, CdpError> {
    let session = Some(document.session());
    let params = json!({
        "expression": format!("telechirWalker.element({holder})"),
        "contextId": document.context(), "objectGroup": "telechir-frames",
    });
    let found = client
        .call(session, "Runtime.evaluate", params, limit)
        .await?;
    let object = &found["result"]["objectId"];
    if object.is_null() {
        return Ok(None);
    }
    let params = json!({ "objectId": object });
    let described = client
        .call(session, "DOM.describeNode", params, limit)
        .await?;
    let group = json!({ "objectGroup": "telechir-frames" });
    client.notify(session, "Runtime.releaseObjectGroup", group);
    Ok(described["node"]["frameId"].as_str().map(str::to_owned))
}

/// The pixel in the walker's answer, or why there is none.
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
