//! What happened beside the actions and the model should hear of: dialogs, downloads, file pickers.

use serde_json::{Value, json};

use crate::client::Client;

/// More than so many are only counted.
const MOST: usize = 8;
/// A page's own words are cut here.
const LONGEST: usize = 300;

/// Sentences for the next answer.
#[derive(Debug, Default)]
pub(super) struct Notes {
    sentences: Vec<String>,
    untold: usize,
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

    /// Says that a download was refused.
    pub(super) fn download(&mut self, params: &Value) {
        let name = quote(&params["suggestedFilename"]);
        self.add(format!(
            "A download of {name} began and was refused; this browser keeps no files."
        ));
    }

    /// Says that a file picker was not shown.
    pub(super) fn file_chooser(&mut self) {
        self.add("The page asked for a file; no file picker is shown here.".to_owned());
    }

    /// All sentences since the last time.
    pub(super) fn take(&mut self) -> Option<String> {
        let untold = std::mem::take(&mut self.untold);
        let mut sentences = std::mem::take(&mut self.sentences);
        if untold > 0 {
            sentences.push(format!("{untold} more such events followed."));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    fn add(&mut self, sentence: String) {
        if self.sentences.len() < MOST {
            self.sentences.push(sentence);
        } else {
            self.untold += 1;
        }
    }
}

/// A page's words in quotes, on one line and of bounded length.
fn quote(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let cut: String = text.chars().take(LONGEST).collect();
    let ellipsis = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{ellipsis}")
}
