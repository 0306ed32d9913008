//! The network requests of a tab's document.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::TabRegistry;
use super::request_details::{self, RequestDetails};
use crate::client::{lock, text};

/// The last requests that are returned per page.
const MAX_REQUESTS: usize = 200;
/// URLs are truncated to this length.
const MAX_URL_CHARS: usize = 500;
/// The kind of a request whose response is saved as a file.
const DOWNLOAD: &str = "download";

/// The requests of the current document.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    requests: VecDeque<LoggedRequest>,
    dropped: u64,
    last_number: u32,
}

#[derive(Debug)]
struct LoggedRequest {
    /// Its number in the list; never reused in a tab.
    number: u32,
    id: String,
    loader: String,
    method: String,
    url: String,
    kind: String,
    started: Instant,
    status: Option<u64>,
    mime: String,
    end: RequestOutcome,
    /// Chromium's id of the download that the response became.
    download: Option<String>,
    request_headers: String,
    response_headers: String,
    /// The media type of the body that was sent; `None` if there was none.
    sent_type: Option<String>,
    /// The messages of a WebSocket: sent and received.
    messages: Option<(u64, u64)>,
}

#[derive(Debug)]
enum RequestOutcome {
    /// The request is running.
    Pending,
    /// The response was received: bytes on the wire and duration.
    Done(u64, Duration),
    /// The server sent the request elsewhere: to that of this number.
    Redirected(u32),
    /// A WebSocket was closed.
    Closed,
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
                    request.end_with(&params["encodedDataLength"]);
                }
            }
            "Network.loadingFailed" => {
                // The document of a download does not load: the file does.
                let failed = self.find(params);
                if let Some(request) = failed.filter(|request| request.download.is_none()) {
                    request.end = RequestOutcome::Failed(failure_reason(params));
                }
            }
            "Network.webSocketCreated" => self.begin_socket(params),
            "Network.webSocketHandshakeResponseReceived" => {
                if let Some(socket) = self.find(params) {
                    socket.status = params["response"]["status"].as_u64();
                    socket.response_headers =
                        request_details::headers(&params["response"]["headers"]);
                }
            }
            "Network.webSocketFrameSent" | "Network.webSocketFrameReceived" => {
                let socket = self.find(params);
                if let Some((sent, received)) = socket.and_then(|socket| socket.messages.as_mut()) {
                    match method {
                        "Network.webSocketFrameSent" => *sent += 1,
                        _ => *received += 1,
                    }
                }
            }
            "Network.webSocketFrameError" => {
                if let Some(socket) = self.find(params) {
                    socket.end = RequestOutcome::Failed(text(&params["errorMessage"]));
                }
            }
            "Network.webSocketClosed" => {
                let socket = self.find(params);
                let is_open =
                    |socket: &&mut LoggedRequest| matches!(socket.end, RequestOutcome::Pending);
                if let Some(socket) = socket.filter(is_open) {
                    socket.end = RequestOutcome::Closed;
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
        let next = self.last_number.saturating_add(1);
        // A redirected request has the same id as the original one.
        if let Some(before) = self.find(params) {
            before.on_response(&params["redirectResponse"]);
            before.end = RequestOutcome::Redirected(next);
        }
        if self.requests.len() == MAX_REQUESTS {
            self.requests.pop_front();
            self.dropped += 1;
        }
        self.last_number = next;
        let request = &params["request"];
        let headers = &request["headers"];
        let has_body = request["hasPostData"] == true || !request["postData"].is_null();
        self.requests.push_back(LoggedRequest {
            number: next,
            id: text(&params["requestId"]),
            loader: text(&params["loaderId"]),
            method: text(&request["method"]),
            url: cut(&text(&request["url"])),
            kind: text(&params["type"]).to_lowercase(),
            started: Instant::now(),
            status: None,
            mime: String::new(),
            end: RequestOutcome::Pending,
            download: None,
            request_headers: request_details::headers(headers),
            response_headers: String::new(),
            sent_type: has_body.then(|| request_details::media_type(headers)),
            messages: None,
        });
    }

    /// Notes a WebSocket; Chromium reports no request for it.
    fn begin_socket(&mut self, params: &Value) {
        if self.find(params).is_none() {
            self.begin(&serde_json::json!({
                "requestId": params["requestId"], "loaderId": "", "type": "WebSocket",
                "request": { "method": "GET", "url": params["url"] },
            }));
        }
        if let Some(socket) = self.find(params) {
            socket.messages = Some((0, 0));
        }
    }

    /// The request of this number, if the log still has it; else the numbers that it has.
    fn details(&self, number: u32) -> Result<RequestDetails, Option<(u32, u32)>> {
        let found = self
            .requests
            .iter()
            .find(|request| request.number == number);
        let range = || {
            let (first, last) = (self.requests.front()?, self.requests.back()?);
            Some((first.number, last.number))
        };
        found.map(LoggedRequest::details).ok_or_else(range)
    }

    /// Notes that the response of a request became a download, by a CDP event. A link with the
    /// attribute `download` causes no other event.
    pub(super) fn begin_download(&mut self, params: &Value) {
        let (url, guid) = (cut(&text(&params["url"])), text(&params["guid"]));
        let is_its = |request: &&mut LoggedRequest| {
            let is_open = !matches!(request.end, RequestOutcome::Done(..));
            is_open && request.download.is_none() && request.url == url
        };
        if let Some(request) = self.requests.iter_mut().rev().find(is_its) {
            request.kind = DOWNLOAD.to_owned();
            request.end = RequestOutcome::Pending;
            request.download = Some(guid);
            return;
        }
        let request = serde_json::json!({
            "requestId": "", "loaderId": "", "type": DOWNLOAD,
            "request": { "method": "GET", "url": params["url"] },
        });
        self.begin(&request);
        if let Some(request) = self.requests.back_mut() {
            request.download = Some(guid);
        }
    }

    /// Notes the end of a download, by a CDP event.
    pub(super) fn end_download(&mut self, params: &Value) {
        let guid = text(&params["guid"]);
        let is_its = |request: &&mut LoggedRequest| request.download.as_ref() == Some(&guid);
        let Some(request) = self.requests.iter_mut().find(is_its) else {
            return;
        };
        match params["state"].as_str() {
            Some("completed") => request.end_with(&params["receivedBytes"]),
            Some("canceled") => request.end = RequestOutcome::Failed("cancelled".to_owned()),
            _ => {}
        }
    }

    fn find(&mut self, params: &Value) -> Option<&mut LoggedRequest> {
        let id = params["requestId"].as_str().filter(|id| !id.is_empty())?;
        self.requests
            .iter_mut()
            .rev()
            .find(|request| request.id == id)
            .filter(|request| !matches!(request.end, RequestOutcome::Redirected(_)))
    }
}

impl LoggedRequest {
    fn on_response(&mut self, response: &Value) {
        self.status = response["status"].as_u64();
        self.mime = text(&response["mimeType"]);
        self.response_headers = request_details::headers(&response["headers"]);
    }

    fn details(&self) -> RequestDetails {
        // What was redirected or saved has no body; one that failed has none either.
        let has_body = matches!(self.end, RequestOutcome::Done(..)) && self.download.is_none();
        RequestDetails {
            id: self.id.clone(),
            line: self.line(),
            request_headers: self.request_headers.clone(),
            response_headers: self.response_headers.clone(),
            sent_type: self.sent_type.clone(),
            received_type: has_body.then(|| self.mime.to_lowercase()),
        }
    }

    /// Notes the end of the response with its length.
    fn end_with(&mut self, bytes: &Value) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "Chromium reports byte counts as floats"
        )]
        let bytes = bytes.as_f64().unwrap_or_default().max(0.0) as u64;
        self.end = RequestOutcome::Done(bytes, self.started.elapsed());
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
            RequestOutcome::Redirected(number) => format!(" redirected to [{number}]"),
            RequestOutcome::Closed => " closed".to_owned(),
            RequestOutcome::Failed(reason) => format!(" failed: {reason}"),
        };
        let messages = self.messages.map(|(sent, received)| {
            let what = if sent + received == 1 {
                "message"
            } else {
                "messages"
            };
            format!(" {what}: {sent} sent, {received} received")
        });
        let messages = messages.unwrap_or_default();
        let number = self.number;
        format!("[{number}] {method} {status} {kind}{mime}{end}{messages} {url}")
    }
}

/// Why a request failed, by a CDP event.
fn failure_reason(params: &Value) -> String {
    if params["canceled"] == true {
        return "cancelled".to_owned();
    }
    let reason = text(&params["errorText"]);
    let blocked = params["blockedReason"].as_str();
    let cors = params["corsErrorStatus"]["corsError"].as_str();
    match (blocked, cors) {
        (_, Some(cors)) => format!("{reason} (CORS: {cors})"),
        (Some(blocked), None) => format!("{reason} (blocked: {blocked})"),
        (None, None) => reason,
    }
}

impl TabRegistry {
    /// The requests of the page in a tab, one per line.
    pub(crate) fn request_log(&self, session: &str) -> String {
        let state = lock(&self.state);
        let log = state.request_logs.get(session);
        log.map_or_else(|| RequestLog::default().render(), RequestLog::render)
    }

    /// One of these requests, by its number; else the first and the last number.
    pub(crate) fn request_details(
        &self,
        session: &str,
        number: u32,
    ) -> Result<RequestDetails, Option<(u32, u32)>> {
        let state = lock(&self.state);
        let log = state.request_logs.get(session);
        log.map_or(Err(None), |log| log.details(number))
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
        assert_eq!(
            lines,
            [
                "[1] GET 302 fetch redirected to [2] http://a/",
                "[2] GET - fetch failed: net::ERR_X http://b/",
            ]
        );
    }

    #[test]
    fn a_document_that_becomes_a_download_does_not_fail() {
        let mut network = RequestLog::default();
        network.handle_event("Network.requestWillBeSent", &sent("1", "l", "http://a/f"));
        let failed = json!({ "requestId": "1", "errorText": "net::ERR_ABORTED" });
        network.handle_event("Network.loadingFailed", &failed);
        for url in ["http://a/f", "http://a/linked"] {
            network.begin_download(&json!({ "guid": url, "url": url }));
        }
        network.handle_event("Network.loadingFailed", &failed);
        let progress = json!({ "guid": "http://a/f", "state": "completed", "receivedBytes": 7 });
        network.end_download(&progress);
        network.end_download(&json!({ "guid": "http://a/linked", "state": "canceled" }));
        let text = network.render();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("[1] GET - download 7 bytes"), "{text}");
        assert_eq!(
            lines[1],
            "[2] GET - download failed: cancelled http://a/linked"
        );
    }

    #[test]
    fn the_messages_of_a_socket_are_counted() {
        let mut network = RequestLog::default();
        let event = json!({ "requestId": "1", "url": "ws://a/", "response": { "status": 101 } });
        for (method, count) in [
            ("webSocketCreated", 1),
            ("webSocketHandshakeResponseReceived", 1),
            ("webSocketFrameSent", 2),
            ("webSocketFrameReceived", 3),
        ] {
            for _ in 0..count {
                network.handle_event(&format!("Network.{method}"), &event);
            }
        }
        let line = "[1] GET 101 websocket running messages: 2 sent, 3 received ws://a/";
        assert_eq!(network.render(), line);
        network.handle_event("Network.webSocketClosed", &event);
        assert_eq!(network.render(), line.replace("running", "closed"));
    }

    #[test]
    fn the_reason_of_a_failure_names_what_blocked_the_request() {
        let mut network = RequestLog::default();
        network.handle_event("Network.requestWillBeSent", &sent("1", "l", "http://a/"));
        let failed = json!({
            "requestId": "1", "errorText": "net::ERR_FAILED",
            "corsErrorStatus": { "corsError": "MissingAllowOriginHeader" },
        });
        network.handle_event("Network.loadingFailed", &failed);
        assert_eq!(
            network.render(),
            "[1] GET - fetch failed: net::ERR_FAILED (CORS: MissingAllowOriginHeader) http://a/"
        );
    }

    #[test]
    fn a_new_document_clears_the_log() {
        let mut network = RequestLog::default();
        network.handle_event("Network.requestWillBeSent", &sent("1", "old", "http://a/"));
        network.handle_event("Network.requestWillBeSent", &sent("2", "new", "http://b/"));
        let frame = json!({ "frame": { "id": "f", "loaderId": "new" } });
        network.handle_event("Page.frameNavigated", &frame);
        assert_eq!(network.render(), "[2] GET - fetch running http://b/");
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
