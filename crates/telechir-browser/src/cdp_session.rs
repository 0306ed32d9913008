//! One tab as the place commands go to.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::error::{CdpError, Gone};

/// Commands to one tab, each with a deadline.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    client: Client,
    session: String,
    limit: Duration,
}

impl Page {
    pub(crate) fn new(client: &Client, session: &str, limit: Duration) -> Self {
        Self {
            client: client.clone(),
            session: session.to_owned(),
            limit,
        }
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn call(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, CdpError> {
        self.client
            .call(Some(&self.session), method, params, self.limit)
            .await
    }

    /// The same with another deadline.
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

    /// Sends several commands at once, then waits until all are answered.
    pub(crate) async fn call_all(
        &self,
        commands: Vec<(&'static str, Value)>,
    ) -> Result<(), CdpError> {
        let answers = commands
            .into_iter()
            .map(|(method, params)| self.client.send(Some(&self.session), method, params))
            .collect::<Result<Vec<Answer>, _>>()?;
        for answer in answers {
            answer.within(self.limit).await?;
        }
        Ok(())
    }

    /// Sends a command whose answer nobody needs.
    pub(crate) fn notify(&self, method: &'static str, params: Value) {
        self.client.notify(Some(&self.session), method, params);
    }

    /// The value of an expression in the page's own world.
    pub(crate) async fn evaluate(&self, expression: &str) -> Result<Value, CdpError> {
        let params = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", params).await?;
        Ok(answer["result"]["value"].take())
    }
}

/// An action that closed its own tab was carried out.
pub(crate) fn or_closed(result: Result<(), CdpError>) -> Result<(), CdpError> {
    match result {
        Err(CdpError::PageGone(Gone::Closed)) => Ok(()),
        other => other,
    }
}
