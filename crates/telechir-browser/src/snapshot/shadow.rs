//! Closed shadow roots: only the debugging protocol sees them, and hands them to the walker.

use std::time::Duration;

use serde_json::{Value, json};

use super::document::Document;
use crate::client::Client;
use crate::error::CdpError;

/// Hosts that are looked at together.
const AT_ONCE: usize = 200;
/// Hosts that are looked at for one reading.
const MOST: usize = 4_000;
const GROUP: &str = "telechir-shadow";

/// Looks at the hosts that may have a closed root, and says whether any has.
pub(super) async fn adopt(
    document: &Document,
    client: &Client,
    limit: Duration,
) -> Result<bool, CdpError> {
    let mut found = false;
    for _ in 0..MOST / AT_ONCE {
        let hosts = look(document, client, limit).await?;
        for host in &hosts {
            found |= hand_in(document, client, host, limit).await?;
        }
        if hosts.len() < AT_ONCE {
            break;
        }
    }
    let group = json!({ "objectGroup": GROUP });
    client.notify(
        Some(document.session()),
        "Runtime.releaseObjectGroup",
        group,
    );
    Ok(found)
}

/// Describes some hosts, their closed roots included.
async fn look(
    document: &Document,
    client: &Client,
    limit: Duration,
) -> Result<Vec<Value>, CdpError> {
    let params = json!({
        "expression": format!("telechirWalker.suspected({AT_ONCE})"),
        "contextId": document.context(), "objectGroup": GROUP,
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

async fn hand_in(
    document: &Document,
    client: &Client,
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
            "objectGroup": GROUP,
        });
        let answer = client.call(session, "DOM.resolveNode", params, limit).await;
        match answer {
            Ok(mut answer) => {
                objects.push(json!({ "objectId": answer["object"]["objectId"].take() }))
            }
            // It went away meanwhile.
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
