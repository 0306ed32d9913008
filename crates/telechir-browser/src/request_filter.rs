//! Judges every request of a browser that runs elsewhere: Chromium pauses each of them, redirects
//! and those of frames and workers included, until the egress policy permits or fails it.
//!
//! Chromium pauses neither WebSockets nor WebTransport, nor what it sends without a request: WebRTC,
//! DNS lookups and early connections. While no connection is open, it pauses nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_egress::{Egress, RequestJudge};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tracing::warn;

use crate::client::{CdpClient, text};
use crate::error::CdpError;

/// Paused requests that wait to be judged; further ones fail.
const MAX_WAITING: usize = 16_384;
/// Requests that are judged and answered at a time.
const MAX_JUDGED: usize = 256;

/// Receives the paused requests of a browser. They are judged in a task that ends with this.
#[derive(Debug)]
pub(crate) struct RequestFilter {
    paused: mpsc::Sender<Value>,
    task: JoinHandle<()>,
}

impl RequestFilter {
    /// Has Chromium pause all requests of all its pages and workers from now on. The events about
    /// them go to [`Self::take`].
    pub(crate) fn start(client: &CdpClient, egress: &Egress, limit: Duration) -> Self {
        let (paused, waiting) = mpsc::channel(MAX_WAITING);
        let judge = Arc::new(egress.request_judge());
        let task = tokio::spawn(answer_all(client.clone(), judge, waiting, limit));
        Self { paused, task }
    }

    /// Has Chromium pause requests.
    ///
    /// # Errors
    /// If the browser does not accept that.
    pub(crate) async fn enable(client: &CdpClient, limit: Duration) -> Result<(), CdpError> {
        let everything = json!({ "patterns": [{ "urlPattern": "*" }] });
        let enabled = client.call(None, "Fetch.enable", everything, limit).await;
        enabled.map(|_| ())
    }

    /// Takes a paused request. Never waits.
    pub(crate) fn take(&self, client: &CdpClient, params: &Value) {
        if self.paused.try_send(params.clone()).is_err() {
            warn!("a request of a page failed: too many wait for the policy");
            client.notify(None, FAIL, denied(params));
        }
    }
}

impl Drop for RequestFilter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer_all(
    client: CdpClient,
    judge: Arc<RequestJudge>,
    mut waiting: mpsc::Receiver<Value>,
    limit: Duration,
) {
    let mut judged = JoinSet::new();
    while let Some(params) = waiting.recv().await {
        while judged.try_join_next().is_some() {}
        if judged.len() >= MAX_JUDGED {
            judged.join_next().await;
        }
        let (client, judge) = (client.clone(), Arc::clone(&judge));
        judged.spawn(async move { answer(&client, &judge, &params, limit).await });
    }
}

async fn answer(client: &CdpClient, judge: &RequestJudge, params: &Value, limit: Duration) {
    let is_permitted = judge.permits(&text(&params["request"]["url"])).await;
    let (method, answer) = match is_permitted {
        true => (
            "Fetch.continueRequest",
            json!({ "requestId": params["requestId"] }),
        ),
        false => (FAIL, denied(params)),
    };
    // A request that its page gave up has no answer.
    let _given_up = client.call(None, method, answer, limit).await;
}

const FAIL: &str = "Fetch.failRequest";

fn denied(params: &Value) -> Value {
    json!({ "requestId": params["requestId"], "errorReason": "BlockedByClient" })
}
