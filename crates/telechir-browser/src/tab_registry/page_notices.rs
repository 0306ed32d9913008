//! Events that the next result reports: closed dialogs, downloads, file choosers, denied permissions,
//! new tabs, crashes.

use serde_json::Value;
use telechir_protocol::StateChange;

use crate::setup::Setup;

/// Open tabs per browser; further tabs that pages open are closed at once.
pub(crate) const MAX_TABS: usize = 50;
/// Further sentences are only counted.
const MAX_SENTENCES: usize = 12;
/// Further state changes are dropped; their sentences are counted.
const MAX_CHANGES: usize = 100;
/// Text of a page is truncated to this length.
const MAX_QUOTE_CHARS: usize = 300;

/// Sentences and state changes for the next result.
#[derive(Debug, Default)]
pub(super) struct PageNotices {
    sentences: Vec<String>,
    omitted: usize,
    /// Tabs that were closed because of the tab limit.
    closed: usize,
    /// Tabs of the browser's owner that are not used because of the tab limit.
    hidden: usize,
    changes: Vec<StateChange>,
}

impl PageNotices {
    /// Reports a denied permission, which the walker observed.
    pub(super) fn denied_permission(&mut self, what: &str) {
        self.add(match what {
            "print" => "The page requested printing; nothing was printed.".to_owned(),
            name => {
                let name = quote_text(name);
                format!("The page requested the permission {name}; it was denied.")
            }
        });
    }

    /// Reports a navigation to a scheme that needs an external program.
    pub(super) fn external_protocol(&mut self, params: &Value) {
        const BROWSER_SCHEMES: [&str; 14] = [
            "chrome-extension",
            "chrome-untrusted",
            "devtools",
            "http",
            "https",
            "about",
            "data",
            "blob",
            "javascript",
            "file",
            "filesystem",
            "chrome",
            "chrome-error",
            "view-source",
        ];
        let url = params["url"].as_str().unwrap_or_default();
        let Some((scheme, _)) = url.split_once(':') else {
            return;
        };
        if !BROWSER_SCHEMES
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
        {
            let url = quote_text(url);
            self.add(format!(
                "The page requested an external program to open {url}; none was started."
            ));
        }
    }

    /// Reports documents that need an explanation: PDFs and HTTP authentication.
    pub(super) fn document(&mut self, setup: &Setup, params: &Value) {
        if params["type"] != "Document" {
            return;
        }
        let response = &params["response"];
        let url = quote(&response["url"]);
        if response["mimeType"] == "application/pdf" {
            self.add(if setup.is_headless_shell {
                format!("{url} is a PDF, which this browser does not show; it is treated as a download.")
            } else {
                format!(
                    "{url} is a PDF: the screenshot shows it, and Page Down scrolls it; its text cannot be read as page text."
                )
            });
        }
        let headers = response["headers"].as_object();
        let is_challenge = |name: &String| name.eq_ignore_ascii_case("www-authenticate");
        let challenge = headers
            .into_iter()
            .flatten()
            .find(|(name, _)| is_challenge(name));
        if let Some((_, scheme)) = challenge.filter(|_| response["status"] == 401) {
            let scheme = quote(scheme);
            self.add(format!(
                "{url} requires HTTP authentication ({scheme}); no credentials are sent, and the page is what the site returns without them."
            ));
        }
    }

    /// Counts a tab that was closed because of the tab limit.
    pub(super) const fn count_closed_tab(&mut self) {
        self.closed += 1;
    }

    /// Counts a tab of the browser's owner that is not used because of the tab limit.
    pub(super) const fn count_hidden_tab(&mut self) {
        self.hidden += 1;
    }

    /// Adds a sentence; beyond the limit it is counted.
    pub(super) fn add(&mut self, sentence: String) {
        if self.sentences.len() < MAX_SENTENCES {
            self.sentences.push(sentence);
        } else {
            self.omitted += 1;
        }
    }

    /// Adds a state change, up to the limit.
    pub(super) fn change(&mut self, change: StateChange) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(change);
        }
    }

    /// Takes all sentences since the last call.
    pub(super) fn take_text(&mut self) -> Option<String> {
        let omitted = std::mem::take(&mut self.omitted);
        let mut sentences = std::mem::take(&mut self.sentences);
        if omitted > 0 {
            sentences.push(format!("{omitted} more such events followed."));
        }
        let closed = std::mem::take(&mut self.closed);
        if closed > 0 {
            sentences.push(format!(
                "{closed} more tabs were opened and closed at once: at most {MAX_TABS} may be open."
            ));
        }
        let hidden = std::mem::take(&mut self.hidden);
        if hidden > 0 {
            sentences.push(format!(
                "{hidden} more tabs of the browser stay open and cannot be used: at most {MAX_TABS} can."
            ));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// Takes all state changes since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<StateChange> {
        std::mem::take(&mut self.changes)
    }
}

/// Text of a page, quoted, on one line and truncated.
pub(super) fn quote(value: &Value) -> String {
    quote_text(value.as_str().unwrap_or_default())
}

/// As `quote`, for a string.
pub(super) fn quote_text(text: &str) -> String {
    let cut: String = text.chars().take(MAX_QUOTE_CHARS).collect();
    let ellipsis = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{ellipsis}")
}
