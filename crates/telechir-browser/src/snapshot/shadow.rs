//! Closed shadow roots: only CDP can reach them, and passes them to the walker.

use std::time::Duration;

use serde_json::{Value, json};

use super::document::PageDocument;
use crate::client::CdpClient;
use crate::error::CdpError;

/// Elements that are checked per command.
const BATCH_HOSTS: usize = 200;
/// Elements that are checked per reading.
const MAX_HOSTS: usize = 4_000;
/// What the objects of a document are for.
const PURPOSE: &str = "shadow";

/// Checks elements for closed shadow roots; returns whether any was found.
pub(super) async fn adopt(
    document: &PageDocument,
    client: &CdpClient,
    limit: Duration,
) -> Result<bool, CdpError> {
    let mut found = false;
    for _ in 0..MAX_HOSTS / BATCH_HOSTS {
        let hosts = describe_candidates(document, client, limit).await?;
        for host in &hosts {
            found |= hand_over(document, client, host, limit).await?;
        }
        if hosts.len() < BATCH_HOSTS {
            break;
        }
    }
    let group = json!({ "objectGroup": document.object_group(PURPOSE) });
    client.notify(
        Some(document.session()),
        "Runtime.releaseObjectGroup",
        group,
    );
    Ok(found)
}

/// Describes a batch of candidates with their closed roots.
async fn describe_candidates(
    document: &PageDocument,
    client: &CdpClient,
    limit: Duration,
) -> Result<Vec<Value>, CdpError> {
    let params = json!({
        "expression": format!("telechirWalker.shadowHostCandidates({BATCH_HOSTS})"),
        "contextId": document.context(), "objectGroup": document.object_group(PURPOSE),
        "serializationOptions": {
            "serialization": "deep", "maxDepth": 1,
            "additionalParameters": { "includeShadowTree": "all", "maxNodeDepth": 0 },
        },
    });
    let session = Some(document.session());
    let mut answer = client
        .call(session, "Runtime.evaluate", params, limit)
        .await?;
    let mut hosts = answer["result"]["deepSerializedValue"]["value"].take();
    let hosts = hosts.as_array_mut().map(std::mem::take);
    Ok(hosts.unwrap_or_default())
}

async fn hand_over(
    document: &PageDocument,
    client: &CdpClient,
    host: &Value,
    limit: Duration,
) -> Result<bool, CdpError> {
    let (host, root) = (&host["value"], &host["value"]["shadowRoot"]["value"]);
    if root["mode"] != "closed" {
        return Ok(false);
    }
    let session = Some(document.session());
    let mut objects = Vec::new();
    for node in [host, root] {
        let params = json!({
            "backendNodeId": node["backendNodeId"], "executionContextId": document.context(),
            "objectGroup": document.object_group(PURPOSE),
        });
        let answer = client.call(session, "DOM.resolveNode", params, limit).await;
        match answer {
            Ok(mut answer) => {
                objects.push(json!({ "objectId": answer["object"]["objectId"].take() }))
            }
            // The element was removed meanwhile.
            Err(CdpError::Protocol { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    let params = json!({
        "functionDeclaration": "(host, root) => telechirWalker.adopt(host, root)",
        "executionContextId": document.context(), "arguments": objects,
    });
    client
        .call(session, "Runtime.callFunctionOn", params, limit)
        .await?;
    Ok(true)
}
