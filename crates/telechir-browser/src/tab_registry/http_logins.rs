//! Answers to HTTP authentication.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::client::{CdpClient, text};
use crate::emulation::HttpCredentials;

/// Requests that are remembered as answered: those under way at one time.
const MAX_ANSWERED: usize = 256;

/// The requests that were given credentials.
#[derive(Debug, Default)]
pub(super) struct HttpLogins {
    answered: VecDeque<String>,
}

impl HttpLogins {
    /// Gives a request the credentials of its origin, once: a server that asks again refused them.
    /// Without credentials, the page shows what the server sent.
    pub(super) fn answer(
        &mut self,
        client: &CdpClient,
        credentials: &[HttpCredentials],
        session: &str,
        params: &Value,
    ) {
        let request = text(&params["requestId"]);
        let challenge = &params["authChallenge"];
        let fitting = credentials.iter().find_map(|known| known.answer(challenge));
        let answer = fitting.filter(|_| !self.answered.contains(&request));
        if self.answered.len() == MAX_ANSWERED {
            self.answered.pop_front();
        }
        self.answered.push_back(request.clone());
        let answer = answer.unwrap_or_else(|| json!({ "response": "CancelAuth" }));
        let params = json!({ "requestId": request, "authChallengeResponse": answer });
        client.notify(Some(session), "Fetch.continueWithAuth", params);
    }
}
