//! One document and the walker in it: asked in its own world, known until another takes its place.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::node::{DocumentId, ElementId, Head, Node};
use super::page::Scope;
use crate::tab_registry::{Book, Frame};
use crate::client::{Answer, Client};
use crate::error::CdpError;
use crate::setup::WORLD;
use crate::walker;

/// How long Chromium is asked for a frame that nobody knows yet, and what is waited between.
const ASKED_FOR: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(50);

/// All documents that were read, by the frames they are in.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(super) by_frame: HashMap<String, Document>,
    last: u64,
}

/// Where a frame is in its tab.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Chromium's name of the tab.
    pub(crate) tab: String,
    /// Chromium's name of the frame.
    pub(crate) frame: String,
    /// Where Chromium is asked for a frame that is not known yet.
    pub(crate) session: String,
    /// The element that holds the frame; none for a tab's main frame.
    pub(crate) owner: Option<ElementId>,
}

/// A document, and what its walker said last.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) id: DocumentId,
    pub(super) place: Place,
    frame: Frame,
    /// The walker's world.
    context: i64,
    /// Which of the walker's answers `nodes` is; 0 before the first.
    version: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) head: Head,
    pub(super) left: u64,
    /// How often the document changed.
    pub(super) changes: u64,
    /// Hosts that may have a closed shadow root.
    suspects: u64,
    /// Frames by the numbers of the elements that hold them.
    pub(super) frames: HashMap<u32, String>,
}

impl Documents {
    /// The document with this number, when it is known.
    pub(super) fn get(&self, id: DocumentId) -> Option<&Document> {
        self.by_frame.values().find(|document| document.id == id)
    }

    /// Takes the document in a frame out, when it is still the one that was read.
    pub(super) fn take(&mut self, place: &Place, book: &Book) -> Option<Document> {
        let document = self.by_frame.remove(&place.frame)?;
        document.is_current(book).then_some(document)
    }

    /// Keeps a document that was read.
    pub(super) fn put(&mut self, document: Document) -> DocumentId {
        let id = document.id;
        self.by_frame.insert(document.place.frame.clone(), document);
        id
    }

    /// A number for a document.
    pub(super) fn number(&mut self) -> DocumentId {
        self.last += 1;
        DocumentId(self.last)
    }

    /// Removes the documents that are there no more, and says which.
    pub(super) fn prune(&mut self, book: &Book) -> Vec<DocumentId> {
        let gone = self
            .by_frame
            .extract_if(|_, document| !document.is_current(book));
        gone.map(|(_, document)| document.id).collect()
    }
}

impl Document {
    /// Gets a world for the document in this frame and puts the walker there.
    pub(super) async fn open(
        client: &Client,
        book: &Book,
        id: DocumentId,
        place: Place,
        limit: Duration,
    ) -> Result<Self, CdpError> {
        let frame = match book.frame(&place.frame) {
            Some(frame) => frame,
            None => ask_for_frame(client, book, &place, limit).await?,
        };
        let world = json!({ "frameId": place.frame, "worldName": WORLD });
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
            place,
            frame,
            context: answer["executionContextId"].as_i64().unwrap_or_default(),
            version: 0,
            nodes: Vec::new(),
            head: Head::default(),
            left: 0,
            changes: 0,
            suspects: 0,
            frames: HashMap::new(),
        };
        let walker = document.evaluate(client, walker::WALKER)?;
        walker.within(limit).await?;
        Ok(document)
    }

    /// Whether the frame still shows this document.
    pub(super) fn is_current(&self, book: &Book) -> bool {
        book.frame(&self.place.frame).as_ref() == Some(&self.frame)
    }

    /// The session its commands go to.
    pub(super) fn session(&self) -> &str {
        &self.frame.session
    }

    /// The number of its world.
    pub(super) const fn context(&self) -> i64 {
        self.context
    }

    /// Whether hosts should be looked at for closed shadow roots.
    pub(super) const fn has_suspects(&self) -> bool {
        self.suspects > 0
    }

    /// Calls one of the walker's functions.
    pub(super) async fn ask(
        &self,
        client: &Client,
        function: &str,
        arguments: &[Value],
        limit: Duration,
    ) -> Result<Value, CdpError> {
        self.begin(client, function, arguments)?.within(limit).await
    }

    /// The same, whose answer can be waited for later.
    pub(super) fn begin(
        &self,
        client: &Client,
        function: &str,
        arguments: &[Value],
    ) -> Result<Asked, CdpError> {
        let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
        let call = format!("telechirWalker.{function}({})", arguments.join(","));
        self.evaluate(client, &call)
    }

    /// Reads the document as it is now.
    pub(super) async fn read(
        &mut self,
        client: &Client,
        scope: Scope,
        limit: Duration,
    ) -> Result<(), CdpError> {
        let wanted = json!({
            "since": self.version, "boxes": scope.boxes, "thorough": scope.thorough,
        });
        let answer = self.ask(client, "walk", &[wanted], limit).await?;
        let text = answer.as_str().unwrap_or_default();
        self.take(text).ok_or_else(|| CdpError::Protocol {
            method: "Runtime.evaluate",
            message: "what the page was said to hold cannot be read".to_owned(),
        })
    }

    fn take(&mut self, text: &str) -> Option<()> {
        let mut lines = text.split('\n');
        let mut fields = lines.next()?.split('\t');
        let mut number = || fields.next()?.parse::<f64>().ok();
        let [version, changes, suspects, left, ratio] =
            [number()?, number()?, number()?, number()?, number()?];
        let view = [whole(number()?), whole(number()?)];
        let scroll = [whole(number()?), whole(number()?)];
        let extent = [whole(number()?), whole(number()?)];
        let same = usize::try_from(whole(number()?)).ok()?;
        let same_end = usize::try_from(whole(number()?)).ok()?;
        self.head = Head {
            title: lines.next()?.to_owned(),
            url: lines.next()?.to_owned(),
            ratio,
            view,
            scroll,
            extent,
        };
        let fresh: Option<Vec<Node>> = lines
            .filter(|line| !line.is_empty())
            .map(|line| Node::read(self.id, line))
            .collect();
        let end = self.nodes.len().checked_sub(same_end)?;
        let is_whole = same == 0 && same_end == 0;
        let replaced = if is_whole {
            0..self.nodes.len()
        } else {
            same..end
        };
        if replaced.start > replaced.end {
            return None;
        }
        self.nodes.splice(replaced, fresh?);
        self.version = count(version);
        (self.changes, self.suspects, self.left) = (count(changes), count(suspects), count(left));
        Some(())
    }

    fn evaluate(&self, client: &Client, expression: &str) -> Result<Asked, CdpError> {
        let params = json!({
            "expression": expression, "contextId": self.context, "returnByValue": true,
            "awaitPromise": true,
        });
        let answer = client.send(Some(self.session()), "Runtime.evaluate", params)?;
        Ok(Asked(answer))
    }
}

/// What a document was asked.
#[derive(Debug)]
pub(crate) struct Asked(Answer);

impl Asked {
    /// Waits for what it says.
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

/// Asks the session that a frame should belong to for its frames. A frame that moves to another
/// process belongs to none for a moment.
async fn ask_for_frame(
    client: &Client,
    book: &Book,
    place: &Place,
    limit: Duration,
) -> Result<Frame, CdpError> {
    let mut changes = book.watch();
    let deadline = Instant::now() + ASKED_FOR;
    while Instant::now() < deadline {
        let own = book.own_session(&place.frame);
        let session = own.as_deref().unwrap_or(&place.session);
        let answer = client
            .call(Some(session), "Page.getFrameTree", json!({}), limit)
            .await;
        match answer {
            Ok(tree) => book.sync_frames(session, &tree["frameTree"]),
            Err(CdpError::Protocol { .. } | CdpError::PageGone(_)) => {}
            Err(error) => return Err(error),
        }
        if let Some(frame) = book.frame(&place.frame) {
            return Ok(frame);
        }
        let _either_way_it_is_asked_again = timeout(BETWEEN, changes.changed()).await;
    }
    Err(CdpError::Protocol {
        method: "Page.getFrameTree",
        message: "a frame went away while it was asked".to_owned(),
    })
}

/// A number of the walker's, which are all whole but the ratio.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
fn whole(number: f64) -> i64 {
    number as i64
}

fn count(number: f64) -> u64 {
    u64::try_from(whole(number)).unwrap_or(0)
}
