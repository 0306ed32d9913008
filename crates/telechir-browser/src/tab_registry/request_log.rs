//! The network requests of a tab's document.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::client::text;

/// The last requests that are returned per page.
const MAX_REQUESTS: usize = 200;
/// URLs are truncated to this length.
const MAX_URL_CHARS: usize = 500;

/// The requests of the current document.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    requests: VecDeque<LoggedRequest>,
    dropped: u64,
}

#[derive(Debug)]
struct LoggedRequest {
    id: String,
    loader: String,
    method: String,
    url: String,
    kind: String,
    started: Instant,
    status: Option<u64>,
    mime: String,
    end: RequestOutcome,
}

#[derive(Debug)]
enum RequestOutcome {
    /// The request is running.
    Pending,
    /// The response was received: bytes on the wire and duration.
    Done(u64, Duration),
    /// The request failed, with Chromium's error text.
    Failed(String),
}

impl RequestLog {
    /// Processes a network or navigation event.
    pub(super) fn handle_event(&mut self, method: &str, params: &Value) {
        match method {
            "Network.requestWillBeSent" => self.begin(params),
            "Network.responseReceived" => {
                if let Some(request) = self.find(params) {
                    request.on_response(&params["response"]);
                }
            }
            "Network.loadingFinished" => {
                if let Some(request) = self.find(params) {
                    let bytes = params["encodedDataLength"].as_f64().unwrap_or_default();
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "Chromium reports byte counts as floats"
                    )]
                    let bytes = bytes.max(0.0) as u64;
                    request.end = RequestOutcome::Done(bytes, request.started.elapsed());
                }
            }
            "Network.loadingFailed" => {
                if let Some(request) = self.find(params) {
                    request.end = RequestOutcome::Failed(text(&params["errorText"]));
                }
            }
            // A new document: drops the requests of the previous one.
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                let loader = &params["frame"]["loaderId"];
                self.requests.retain(|request| *loader == *request.loader);
                self.dropped = 0;
            }
            _ => {}
        }
    }

    /// One line per request, in order.
    pub(super) fn render(&self) -> String {
        let mut lines = Vec::with_capacity(self.requests.len() + 1);
        if self.dropped > 0 {
            lines.push(format!("{} earlier requests are omitted.", self.dropped));
        }
        lines.extend(self.requests.iter().map(LoggedRequest::line));
        if lines.is_empty() {
            return "No requests recorded for this page.".to_owned();
        }
        lines.join("\n")
    }

    fn begin(&mut self, params: &Value) {
        // A redirected request has the same id as the original one.
        if let Some(before) = self.find(params) {
            before.on_response(&params["redirectResponse"]);
            before.end = RequestOutcome::Done(0, before.started.elapsed());
            before.id.clear();
        }
        if self.requests.len() == MAX_REQUESTS {
            self.requests.pop_front();
            self.dropped += 1;
        }
        let request = &params["request"];
        self.requests.push_back(LoggedRequest {
            id: text(&params["requestId"]),
            loader: text(&params["loaderId"]),
            method: text(&request["method"]),
            url: cut(&text(&request["url"])),
            kind: text(&params["type"]).to_lowercase(),
            started: Instant::now(),
            status: None,
            mime: String::new(),
            end: RequestOutcome::Pending,
        });
    }

    fn find(&mut self, params: &Value) -> Option<&mut LoggedRequest> {
        let id = params["requestId"].as_str()?;
        self.requests
            .iter_mut()
            .rev()
            .find(|request| request.id == id)
    }
}

impl LoggedRequest {
    fn on_response(&mut self, response: &Value) {
        self.status = response["status"].as_u64();
        self.mime = text(&response["mimeType"]);
    }

    fn line(&self) -> String {
        let status = self
            .status
            .map_or_else(|| "-".to_owned(), |status| status.to_string());
        let Self {
            method,
            url,
            kind,
            mime,
            ..
        } = self;
        let mime = if mime.is_empty() {
            String::new()
        } else {
            format!(" {mime}")
        };
        let end = match &self.end {
            RequestOutcome::Pending => " running".to_owned(),
            RequestOutcome::Done(bytes, took) => format!(" {bytes} bytes {} ms", took.as_millis()),
            RequestOutcome::Failed(reason) => format!(" failed: {reason}"),
        };
        format!("{method} {status} {kind}{mime}{end} {url}")
    }
}

/// A URL on one line, truncated.
fn cut(url: &str) -> String {
    let mut cut: String = url
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_URL_CHARS)
        .collect();
    if cut.len() < url.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(id: &str, loader: &str, url: &str) -> Value {
        json!({ "requestId": id, "loaderId": loader, "type": "Fetch",
            "request": { "method": "GET", "url": url } })
    }

    #[test]
    fn a_redirect_is_a_separate_line() {
        let mut network = RequestLog::default();
        network.handle_event("Network.requestWillBeSent", &sent("1", "l", "http://a/"));
        let mut redirect = sent("1", "l", "http://b/");
        redirect["redirectResponse"] = json!({ "status": 302, "mimeType": "" });
        network.handle_event("Network.requestWillBeSent", &redirect);
        network.handle_event(
            "Network.loadingFailed",
            &json!({ "requestId": "1", "errorText": "net::ERR_X" }),
        );
        let text = network.render();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("GET 302 fetch 0 bytes"), "{text}");
        assert!(lines[0].ends_with("http://a/"), "{text}");
        assert_eq!(lines[1], "GET - fetch failed: net::ERR_X http://b/");
    }

    #[test]
    fn a_new_document_clears_the_log() {
        let mut network = RequestLog::default();
        network.handle_event("Network.requestWillBeSent", &sent("1", "old", "http://a/"));
        network.handle_event("Network.requestWillBeSent", &sent("2", "new", "http://b/"));
        let frame = json!({ "frame": { "id": "f", "loaderId": "new" } });
        network.handle_event("Page.frameNavigated", &frame);
        assert_eq!(network.render(), "GET - fetch running http://b/");
    }

    #[test]
    fn keeps_the_last_requests_and_counts_the_rest() {
        let mut network = RequestLog::default();
        for n in 0..MAX_REQUESTS + 3 {
            network.handle_event(
                "Network.requestWillBeSent",
                &sent(&n.to_string(), "l", "http://a/"),
            );
        }
        assert!(
            network
                .render()
                .starts_with("3 earlier requests are omitted.\n")
        );
        assert_eq!(network.render().lines().count(), MAX_REQUESTS + 1);
    }
}
