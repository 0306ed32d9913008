//! What the pages of a tab fetched, as far as it is kept for who asks.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::text;

/// Requests of a page that are kept, the last ones.
const MOST: usize = 200;
/// An address is cut here.
const LONGEST: usize = 500;

/// The requests of the document in a tab.
#[derive(Debug, Default)]
pub(super) struct Network {
    requests: VecDeque<Request>,
    forgotten: u64,
}

#[derive(Debug)]
struct Request {
    id: String,
    loader: String,
    method: String,
    url: String,
    kind: String,
    began: Instant,
    status: Option<u64>,
    mime: String,
    end: End,
}

#[derive(Debug)]
enum End {
    /// It goes on.
    Open,
    /// It came, so many bytes on the wire, after so long.
    Done(u64, Duration),
    /// It did not.
    Failed(String),
}

impl Network {
    /// Takes in what is said of requests.
    pub(super) fn take(&mut self, method: &str, params: &Value) {
        match method {
            "Network.requestWillBeSent" => self.begin(params),
            "Network.responseReceived" => {
                if let Some(request) = self.find(params) {
                    request.answered(&params["response"]);
                }
            }
            "Network.loadingFinished" => {
                if let Some(request) = self.find(params) {
                    let bytes = params["encodedDataLength"].as_f64().unwrap_or_default();
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a count of bytes, which Chromium tells as a float"
                    )]
                    let bytes = bytes.max(0.0) as u64;
                    request.end = End::Done(bytes, request.began.elapsed());
                }
            }
            "Network.loadingFailed" => {
                if let Some(request) = self.find(params) {
                    request.end = End::Failed(text(&params["errorText"]));
                }
            }
            // Another document: what the one before it fetched is its own.
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                let loader = &params["frame"]["loaderId"];
                self.requests.retain(|request| *loader == *request.loader);
                self.forgotten = 0;
            }
            _ => {}
        }
    }

    /// A line for each request, the first one first.
    pub(super) fn told(&self) -> String {
        let mut lines = Vec::with_capacity(self.requests.len() + 1);
        if self.forgotten > 0 {
            lines.push(format!("{} earlier requests are not kept.", self.forgotten));
        }
        lines.extend(self.requests.iter().map(Request::line));
        if lines.is_empty() {
            return "The page fetched nothing that is known.".to_owned();
        }
        lines.join("\n")
    }

    fn begin(&mut self, params: &Value) {
        // A redirect comes under the same name as what it answers.
        if let Some(before) = self.find(params) {
            before.answered(&params["redirectResponse"]);
            before.end = End::Done(0, before.began.elapsed());
            before.id.clear();
        }
        if self.requests.len() == MOST {
            self.requests.pop_front();
            self.forgotten += 1;
        }
        let request = &params["request"];
        self.requests.push_back(Request {
            id: text(&params["requestId"]),
            loader: text(&params["loaderId"]),
            method: text(&request["method"]),
            url: cut(&text(&request["url"])),
            kind: text(&params["type"]).to_lowercase(),
            began: Instant::now(),
            status: None,
            mime: String::new(),
            end: End::Open,
        });
    }

    fn find(&mut self, params: &Value) -> Option<&mut Request> {
        let id = params["requestId"].as_str()?;
        self.requests
            .iter_mut()
            .rev()
            .find(|request| request.id == id)
    }
}

impl Request {
    fn answered(&mut self, response: &Value) {
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
            End::Open => " goes on".to_owned(),
            End::Done(bytes, took) => format!(" {bytes} bytes {} ms", took.as_millis()),
            End::Failed(why) => format!(" failed: {why}"),
        };
        format!("{method} {status} {kind}{mime}{end} {url}")
    }
}

/// An address on one line, cut.
fn cut(url: &str) -> String {
    let mut cut: String = url
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST)
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
    fn a_redirect_is_a_line_of_its_own() {
        let mut network = Network::default();
        network.take("Network.requestWillBeSent", &sent("1", "l", "http://a/"));
        let mut again = sent("1", "l", "http://b/");
        again["redirectResponse"] = json!({ "status": 302, "mimeType": "" });
        network.take("Network.requestWillBeSent", &again);
        network.take(
            "Network.loadingFailed",
            &json!({ "requestId": "1", "errorText": "net::ERR_X" }),
        );
        let told = network.told();
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[0].starts_with("GET 302 fetch 0 bytes"), "{told}");
        assert!(lines[0].ends_with("http://a/"), "{told}");
        assert_eq!(lines[1], "GET - fetch failed: net::ERR_X http://b/");
    }

    #[test]
    fn another_document_begins_with_its_own_requests() {
        let mut network = Network::default();
        network.take("Network.requestWillBeSent", &sent("1", "old", "http://a/"));
        network.take("Network.requestWillBeSent", &sent("2", "new", "http://b/"));
        let frame = json!({ "frame": { "id": "f", "loaderId": "new" } });
        network.take("Page.frameNavigated", &frame);
        assert_eq!(network.told(), "GET - fetch goes on http://b/");
    }

    #[test]
    fn only_the_last_ones_are_kept_and_the_rest_is_counted() {
        let mut network = Network::default();
        for n in 0..MOST + 3 {
            network.take(
                "Network.requestWillBeSent",
                &sent(&n.to_string(), "l", "http://a/"),
            );
        }
        assert!(
            network
                .told()
                .starts_with("3 earlier requests are not kept.\n")
        );
        assert_eq!(network.told().lines().count(), MOST + 1);
    }
}
