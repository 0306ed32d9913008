//! What happened beside the actions and the model should hear of: dialogs, downloads, file pickers,
//! refused permissions, new tabs, crashes.

use serde_json::{Value, json};
use telechir_protocol::StateChange;

use super::MOST_TABS;
use crate::client::Client;
use crate::setup::Setup;

/// More than so many are only counted.
const MOST: usize = 12;
/// More changes than so many are left out; they are counted with the sentences.
const MOST_CHANGES: usize = 100;
/// A page's own words are cut here.
const LONGEST: usize = 300;

/// Sentences and changes for the next answer.
#[derive(Debug, Default)]
pub(super) struct Notes {
    sentences: Vec<String>,
    untold: usize,
    /// Tabs that were closed because there were too many.
    closed: usize,
    changes: Vec<StateChange>,
}

impl Notes {
    /// Answers a dialog so that the page goes on, and says what it was.
    ///
    /// Leaving a page is what the action asked for, so that question alone is answered with yes.
    pub(super) fn dialog(&mut self, client: &Client, session: &str, params: &Value) {
        let kind = params["type"].as_str().unwrap_or_default();
        let leaves = kind == "beforeunload";
        let answer = json!({ "accept": leaves });
        client.notify(Some(session), "Page.handleJavaScriptDialog", answer);
        let message = quote(&params["message"]);
        self.add(match kind {
            "beforeunload" => "The page asked whether to leave it; it was left.".to_owned(),
            "alert" => format!("The page showed an alert: {message}. It was closed."),
            _ => format!("The page asked ({kind}): {message}. It was answered with Cancel."),
        });
    }

    /// Says what a page wanted that only a person may give; the walker hears of it.
    pub(super) fn wish(&mut self, what: &str) {
        self.add(match what {
            "print" => "The page wanted to print; nothing is printed here.".to_owned(),
            name => {
                let name = quote_text(name);
                format!("The page asked for the permission {name}; it was denied.")
            }
        });
    }

    /// Says that a page wanted another program for an address that no browser opens.
    pub(super) fn elsewhere(&mut self, params: &Value) {
        const OURS: [&str; 14] = [
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
        if !OURS.iter().any(|ours| scheme.eq_ignore_ascii_case(ours)) {
            let url = quote_text(url);
            self.add(format!(
                "The page wanted another program to open {url}; none is started here."
            ));
        }
    }

    /// Says what a reader must know of a document that came: that it is locked, or of paper.
    pub(super) fn document(&mut self, setup: &Setup, params: &Value) {
        if params["type"] != "Document" {
            return;
        }
        let response = &params["response"];
        let url = quote(&response["url"]);
        if response["mimeType"] == "application/pdf" {
            self.add(if setup.is_shell {
                format!("{url} is a PDF, which this browser does not show: it is a download here.")
            } else {
                format!(
                    "{url} is a PDF: the picture shows it, and Page Down shows more of it; its words cannot be read as a page's."
                )
            });
        }
        let headers = response["headers"].as_object();
        let asks = |name: &String| name.eq_ignore_ascii_case("www-authenticate");
        let asked = headers.into_iter().flatten().find(|(name, _)| asks(name));
        if let Some((_, how)) = asked.filter(|_| response["status"] == 401) {
            let how = quote(how);
            self.add(format!(
                "{url} asks for a name and a password (HTTP authentication, {how}); none are given here, and the page is what the site shows without them."
            ));
        }
    }

    /// Counts a tab that was closed at once.
    pub(super) const fn one_tab_too_many(&mut self) {
        self.closed += 1;
    }

    /// Adds a sentence.
    pub(super) fn add(&mut self, sentence: String) {
        if self.sentences.len() < MOST {
            self.sentences.push(sentence);
        } else {
            self.untold += 1;
        }
    }

    /// Adds a change.
    pub(super) fn change(&mut self, change: StateChange) {
        if self.changes.len() < MOST_CHANGES {
            self.changes.push(change);
        }
    }

    /// All sentences since the last time.
    pub(super) fn take(&mut self) -> Option<String> {
        let untold = std::mem::take(&mut self.untold);
        let mut sentences = std::mem::take(&mut self.sentences);
        if untold > 0 {
            sentences.push(format!("{untold} more such events followed."));
        }
        let closed = std::mem::take(&mut self.closed);
        if closed > 0 {
            sentences.push(format!(
                "{closed} more tabs were opened and closed at once: {MOST_TABS} may be open."
            ));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// All changes since the last time.
    pub(super) fn take_changes(&mut self) -> Vec<StateChange> {
        std::mem::take(&mut self.changes)
    }
}

/// A page's words in quotes, on one line and of bounded length.
pub(super) fn quote(value: &Value) -> String {
    quote_text(value.as_str().unwrap_or_default())
}

/// The same of words that are at hand.
pub(super) fn quote_text(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let ellipsis = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{ellipsis}")
}
