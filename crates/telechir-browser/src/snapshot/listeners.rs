//! Elements with listeners of the page's scripts: only CDP knows them, and passes them to the walker.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::document::PageDocument;
use crate::client::CdpClient;
use crate::error::CdpError;

/// Elements with listeners that are passed per document.
const MAX_ELEMENTS: usize = 2_000;
/// Scripts may add listeners without changing the document, so it is queried again after this time.
const QUERY_INTERVAL: Duration = Duration::from_secs(1);
/// What the objects of a document are for.
const PURPOSE: &str = "listeners";
/// Bits of the kinds of listeners, as in walker/snapshot.js.
const CLICKS: u8 = 1;
const DROPS: u8 = 2;

/// The listeners of a document that its walker knows.
#[derive(Debug, Default)]
pub(super) struct KnownListeners {
    /// The kinds by CDP backend node id.
    kinds: HashMap<i64, u8>,
    /// When the document was last queried, and its numbers of changes and shadow roots then.
    queried: Option<(Instant, u64, u64)>,
}

impl KnownListeners {
    /// Whether CDP was asked for the listeners before.
    pub(super) const fn were_queried(&self) -> bool {
        self.queried.is_some()
    }

    /// Whether there may be listeners that the walker does not know.
    pub(super) fn is_due(&self, changes: u64, shadow_roots: u64) -> bool {
        self.queried.is_none_or(|(at, old_changes, old_roots)| {
            (old_changes, old_roots) != (changes, shadow_roots) || at.elapsed() >= QUERY_INTERVAL
        })
    }
}

/// Passes new listeners to the walker; returns whether there were any.
pub(super) async fn pass(
    document: &mut PageDocument,
    client: &CdpClient,
    limit: Duration,
) -> Result<bool, CdpError> {
    let state = (Instant::now(), document.changes, document.shadow_roots);
    document.listeners.queried = Some(state);
    let session = Some(document.session().to_owned());
    let has_new = match query(document, client, limit).await {
        Ok(found) => {
            let new = new_kinds(&document.listeners.kinds, &found);
            hand_over(document, client, new, limit).await
        }
        Err(CdpError::Protocol { .. }) => Ok(false),
        Err(error) => Err(error),
    };
    let group = json!({ "objectGroup": document.object_group(PURPOSE) });
    client.notify(session.as_deref(), "Runtime.releaseObjectGroup", group);
    has_new
}

/// The listeners in a document and its shadow roots, without those in frames.
///
/// CDP wraps every node that it looks at for the world of the node that it was given, with the classes
/// of the page. In the walker's world this makes objects of two worlds of one node, and Chromium crashes
/// when it collects garbage, so each node is passed as the page itself knows it.
async fn query(
    document: &PageDocument,
    client: &CdpClient,
    limit: Duration,
) -> Result<Vec<Value>, CdpError> {
    let session = Some(document.session());
    let (roots, pierce) = roots(document, client, limit).await?;
    let mut own_nodes = Vec::new();
    for object in roots {
        let params = json!({ "objectId": object });
        own_nodes.push(client.send(session, "DOM.describeNode", params)?);
    }
    let mut page_nodes = Vec::with_capacity(own_nodes.len());
    for reply in own_nodes {
        let node = reply.within(limit).await?["node"]["backendNodeId"].take();
        let params =
            json!({ "backendNodeId": node, "objectGroup": document.object_group(PURPOSE) });
        page_nodes.push(client.send(session, "DOM.resolveNode", params)?);
    }
    let mut found = Vec::with_capacity(page_nodes.len());
    for reply in page_nodes {
        let object = reply.within(limit).await?["object"]["objectId"].take();
        let params = json!({ "objectId": object, "depth": -1, "pierce": pierce });
        found.push(client.send(session, "DOMDebugger.getEventListeners", params)?);
    }
    let mut listeners = Vec::new();
    for reply in found {
        let mut part = reply.within(limit).await?["listeners"].take();
        let part = part.as_array_mut().map(std::mem::take);
        listeners.extend(part.unwrap_or_default());
    }
    Ok(listeners)
}

/// The nodes to query, as the walker knows them, with all below; and whether CDP is to look into their
/// shadow roots, which it does only together with frames.
async fn roots(
    document: &PageDocument,
    client: &CdpClient,
    limit: Duration,
) -> Result<(Vec<Value>, bool), CdpError> {
    let session = Some(document.session());
    let evaluate = |expression: &str| {
        let params = json!({
            "expression": expression, "contextId": document.context(), "objectGroup": document.object_group(PURPOSE),
        });
        client.call(session, "Runtime.evaluate", params, limit)
    };
    let mut root = evaluate("telechirWalker.hasFrames() ? null : document").await?;
    let object = root["result"]["objectId"].take();
    if object.is_string() {
        return Ok((vec![object], true));
    }
    let list = evaluate("telechirWalker.listeningRoots()").await?;
    let params = json!({ "objectId": list["result"]["objectId"], "ownProperties": true });
    let list = client.call(session, "Runtime.getProperties", params, limit);
    let list = list.await?["result"].take();
    let nodes = list.as_array().into_iter().flatten();
    let nodes = nodes.filter(|item| item["value"]["subtype"] == "node");
    let nodes = nodes.map(|item| item["value"]["objectId"].clone());
    Ok((nodes.collect(), false))
}

/// The kinds of the elements whose kinds are not known, in document order.
fn new_kinds(known: &HashMap<i64, u8>, listeners: &[Value]) -> Vec<(i64, u8)> {
    let mut new: Vec<(i64, u8)> = Vec::new();
    for listener in listeners {
        let kind = match listener["type"].as_str().unwrap_or_default() {
            "click" | "mousedown" | "mouseup" | "pointerdown" | "pointerup" | "dblclick"
            | "touchstart" | "touchend" => CLICKS,
            "drop" => DROPS,
            _ => continue,
        };
        let Some(node) = listener["backendNodeId"].as_i64() else {
            continue;
        };
        let count = known.len() + new.len();
        // The listeners of an element follow each other.
        match new.last_mut().filter(|(last, _)| *last == node) {
            Some((_, kinds)) => *kinds |= kind,
            None if count >= MAX_ELEMENTS => break,
            None => new.push((node, kind | known.get(&node).copied().unwrap_or(0))),
        }
    }
    new.retain(|(node, kinds)| known.get(node) != Some(kinds));
    new
}

async fn hand_over(
    document: &mut PageDocument,
    client: &CdpClient,
    new: Vec<(i64, u8)>,
    limit: Duration,
) -> Result<bool, CdpError> {
    if new.is_empty() {
        return Ok(false);
    }
    let session = Some(document.session().to_owned());
    let mut replies = Vec::with_capacity(new.len());
    for (node, kinds) in new {
        let params = json!({
            "backendNodeId": node, "executionContextId": document.context(),
            "objectGroup": document.object_group(PURPOSE),
        });
        let reply = client.send(session.as_deref(), "DOM.resolveNode", params)?;
        replies.push((node, kinds, reply));
    }
    let (mut all_kinds, mut arguments) = (Vec::new(), vec![Value::Null]);
    for (node, kinds, reply) in replies {
        document.listeners.kinds.insert(node, kinds);
        match reply.within(limit).await {
            Ok(mut answer) if answer["object"]["subtype"] == "node" => {
                all_kinds.push(kinds);
                arguments.push(json!({ "objectId": answer["object"]["objectId"].take() }));
            }
            // The element was removed meanwhile, or is in another document.
            Ok(_) | Err(CdpError::Protocol { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    arguments[0] = json!({ "value": all_kinds });
    let params = json!({
        "functionDeclaration": "(kinds, ...elements) => telechirWalker.noteListeners(kinds, ...elements)",
        "executionContextId": document.context(), "arguments": arguments,
    });
    client
        .call(session.as_deref(), "Runtime.callFunctionOn", params, limit)
        .await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_with_new_kinds_are_passed() {
        let listeners = [
            json!({ "type": "click", "backendNodeId": 1 }),
            json!({ "type": "click", "backendNodeId": 1 }),
            json!({ "type": "drop", "backendNodeId": 1 }),
            json!({ "type": "scroll", "backendNodeId": 2 }),
            json!({ "type": "pointerdown", "backendNodeId": 3 }),
            json!({ "type": "click" }),
        ];
        let known = HashMap::from([(3, CLICKS)]);
        assert_eq!(new_kinds(&known, &listeners), [(1, CLICKS | DROPS)]);
    }

    #[test]
    fn a_document_is_queried_again_after_a_change() {
        let mut known = KnownListeners::default();
        assert!(known.is_due(0, 0));
        known.queried = Some((Instant::now(), 3, 1));
        assert!(!known.is_due(3, 1) && known.is_due(4, 1) && known.is_due(3, 2));
    }
}
