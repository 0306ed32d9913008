//! A CDP session: commands to one tab or frame.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{CdpClient, PendingReply};
use crate::error::{CdpError, Gone};

/// A page that does not answer a query about its state within this time is busy.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends commands to one session, each with a deadline.
#[derive(Clone, Debug)]
pub(crate) struct CdpSession {
    client: CdpClient,
    session: String,
    limit: Duration,
}

impl CdpSession {
    pub(crate) fn new(client: &CdpClient, session: &str, limit: Duration) -> Self {
        Self {
            client: client.clone(),
            session: session.to_owned(),
            limit,
        }
    }

    /// Sends a command and waits for its result.
    pub(crate) async fn call(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, CdpError> {
        self.client
            .call(Some(&self.session), method, params, self.limit)
            .await
    }

    /// As `call`, with another deadline.
    pub(crate) async fn call_within(
        &self,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, CdpError> {
        self.client
            .call(Some(&self.session), method, params, limit)
            .await
    }

    /// Sends several commands at once, then waits for all results.
    pub(crate) async fn call_all(
        &self,
        commands: Vec<(&'static str, Value)>,
    ) -> Result<(), CdpError> {
        let answers = commands
            .into_iter()
            .map(|(method, params)| self.client.send(Some(&self.session), method, params))
            .collect::<Result<Vec<PendingReply>, _>>()?;
        for answer in answers {
            answer.within(self.limit).await?;
        }
        Ok(())
    }

    /// Sends a command without waiting for a reply.
    pub(crate) fn notify(&self, method: &'static str, params: Value) {
        self.client.notify(Some(&self.session), method, params);
    }

    /// Evaluates an expression in the page's own world.
    pub(crate) async fn evaluate(&self, expression: &str) -> Result<Value, CdpError> {
        let params = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", params).await?;
        Ok(answer["result"]["value"].take())
    }
}

/// An action that closed its own tab succeeded.
pub(crate) fn or_closed(result: Result<(), CdpError>) -> Result<(), CdpError> {
    match result {
        Err(CdpError::PageGone(Gone::Closed)) => Ok(()),
        other => other,
    }
}
