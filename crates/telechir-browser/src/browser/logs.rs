//! Console messages and single requests of a page.

use std::collections::VecDeque;

use serde_json::json;
use telechir_device::DeviceError;

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::client::PendingReply;
use crate::error::{CdpError, refused};
use crate::tab_registry::{RequestDetails, Tab, body_text};

impl Browser {
    /// The headers and bodies of a request of the page, without secrets.
    pub(super) async fn request(&mut self, tab: &Tab, number: u32) -> Result<String, DeviceError> {
        let found = self.registry.request_details(&tab.session, number);
        let found = found.map_err(|range| {
            let which = match range {
                Some((first, last)) if first < last => {
                    format!("the requests are numbered {first} to {last}")
                }
                Some((only, _)) => format!("the only one is {only}"),
                None => "it has none".to_owned(),
            };
            refused(format!("The page has no request {number}: {which}."))
        })?;
        let page = self.page_of(tab);
        let RequestDetails {
            id,
            line,
            request_headers,
            response_headers,
            sent_type,
            received_type,
        } = found;
        let mut parts = vec![line, format!("Request headers:\n{request_headers}")];
        if let Some(kind) = sent_type {
            let sent = body(&page, "Network.getRequestPostData", "postData", &id).await;
            parts.push(format!("Request body:\n{}", shown(sent, &kind)));
        }
        if !response_headers.is_empty() {
            parts.push(format!("Response headers:\n{response_headers}"));
        }
        if let Some(kind) = received_type {
            let received = body(&page, "Network.getResponseBody", "body", &id).await;
            parts.push(format!("Response body:\n{}", shown(received, &kind)));
        }
        Ok(parts.join("\n"))
    }

    /// The console messages of a page and its frames. Chromium stores them for every page and
    /// replays them on request, so nothing has to listen beforehand.
    pub(super) async fn console(&mut self, tab: &Tab) -> Result<String, DeviceError> {
        let sessions = self.registry.sessions_of(&tab.session);
        self.registry.capture_console(&sessions);
        let enabled = self.enable_consoles(&sessions).await;
        for session in &sessions {
            for method in ["Runtime.disable", "Log.disable"] {
                self.client.notify(Some(session), method, json!({}));
            }
        }
        let lines = self.registry.take_console_lines(&sessions);
        enabled?;
        Ok(if lines.is_empty() {
            "The page logged nothing.".to_owned()
        } else {
            lines.join("\n")
        })
    }

    async fn enable_consoles(&mut self, sessions: &[String]) -> Result<(), CdpError> {
        let enable = |session: &String, method| self.client.send(Some(session), method, json!({}));
        let mut answers: VecDeque<PendingReply> = VecDeque::new();
        for session in sessions {
            answers.push_back(enable(session, "Runtime.enable")?);
            answers.push_back(enable(session, "Log.enable")?);
        }
        // The page itself must answer; frames may be gone.
        for _ in 0..2 {
            if let Some(answer) = answers.pop_front() {
                answer.within(self.options.reply_timeout).await?;
            }
        }
        for answer in answers {
            let _a_frame_may_be_gone = answer.within(self.options.reply_timeout).await;
        }
        Ok(())
    }
}

/// A body: as text, or the number of bytes of another one; or why Chromium does not have it.
async fn body(
    page: &CdpSession,
    method: &'static str,
    member: &str,
    id: &str,
) -> Result<String, String> {
    let params = json!({ "requestId": id });
    let answer = match page.call(method, params).await {
        Ok(answer) => answer,
        Err(CdpError::Protocol { message, .. }) => return Err(message),
        Err(error) => return Err(error.to_string()),
    };
    let text = answer[member].as_str().unwrap_or_default();
    match answer["base64Encoded"] == true {
        true => {
            let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
            Err(format!(
                "{} bytes that are no text",
                text.len() / 4 * 3 - padding
            ))
        }
        false => Ok(text.to_owned()),
    }
}

fn shown(body: Result<String, String>, media_type: &str) -> String {
    match body {
        Ok(body) if body.is_empty() => "(empty)".to_owned(),
        Ok(body) => body_text(&body, media_type),
        Err(reason) => format!("({reason})"),
    }
}
