//! Files that pages give: which came, how far, and which are refused.

use serde_json::{Value, json};
use telechir_protocol::StateChange;

use super::page_notices::{Notes, quote_text};
use super::text;
use crate::client::Client;

/// A file may be so long.
pub(crate) const LARGEST: u64 = 512 << 20;
/// All files of a session together may be so long.
const LARGEST_TOGETHER: u64 = 4 << 30;
/// So many come at a time.
const MOST_AT_ONCE: usize = 8;
/// An address longer than this is cut: those of data are as long as the file.
const LONGEST_ADDRESS: usize = 2000;

/// A file that came whole and is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// The download's name.
    pub(crate) id: String,
    /// Chromium's name of the file.
    pub(crate) guid: String,
    /// What the page calls the file.
    pub(crate) name: String,
    url: String,
}

/// All downloads of a browser.
#[derive(Debug, Default)]
pub(super) struct Downloads {
    /// Whether files are kept at all.
    pub(super) are_kept: bool,
    running: Vec<Running>,
    whole: Vec<Whole>,
    named: u32,
    kept_bytes: u64,
}

#[derive(Debug)]
struct Running {
    of: Whole,
    received: u64,
    total: u64,
    /// Why it was broken off by us.
    refused: Option<String>,
}

impl Downloads {
    /// A download begins.
    pub(super) fn begin(&mut self, client: &Client, notes: &mut Notes, params: &Value) {
        self.named += 1;
        let of = Whole {
            id: format!("download_{}", self.named),
            guid: text(&params["guid"]),
            name: text(&params["suggestedFilename"]),
            url: text(&params["url"]).chars().take(LONGEST_ADDRESS).collect(),
        };
        let name = quote_text(&of.name);
        if !self.are_kept {
            let why = "this browser keeps no files";
            notes.add(format!(
                "A download of {name} began and was refused; {why}."
            ));
            notes.change(of.failed(why));
            return;
        }
        notes.add(format!("A download of {name} began ({}).", of.id));
        notes.change(StateChange::DownloadStarted {
            download_id: of.id.clone(),
            url: of.url.clone(),
        });
        let mut running = Running {
            of,
            received: 0,
            total: 0,
            refused: None,
        };
        if self.running.len() >= MOST_AT_ONCE {
            running.refuse(
                client,
                format!("no more than {MOST_AT_ONCE} come at a time"),
            );
        }
        self.running.push(running);
    }

    /// A download goes on, or ends.
    pub(super) fn progress(&mut self, client: &Client, notes: &mut Notes, params: &Value) {
        let at = self
            .running
            .iter()
            .position(|running| params["guid"] == running.of.guid.as_str());
        let Some(at) = at else {
            return;
        };
        let length = |value: &Value| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of bytes, which Chromium tells as a float"
            )]
            let length = value.as_f64().unwrap_or_default().max(0.0) as u64;
            length
        };
        let running = &mut self.running[at];
        running.received = length(&params["receivedBytes"]);
        running.total = length(&params["totalBytes"]);
        match params["state"].as_str() {
            Some("inProgress") => {
                let needed = running.received.max(running.total);
                if needed > LARGEST {
                    running.refuse(client, format!("a file may have {LARGEST} bytes"));
                } else if self.kept_bytes + needed > LARGEST_TOGETHER {
                    running.refuse(
                        client,
                        format!("all files together may have {LARGEST_TOGETHER} bytes"),
                    );
                }
            }
            Some("completed") => {
                let running = self.running.swap_remove(at);
                self.kept_bytes += running.received;
                self.whole.push(running.of);
            }
            _ => {
                let running = self.running.swap_remove(at);
                let why = running
                    .refused
                    .unwrap_or_else(|| "it was broken off".to_owned());
                running.of.say_failed(notes, &why);
            }
        }
    }

    /// Takes the files that came whole since the last time.
    pub(super) fn take_whole(&mut self) -> Vec<Whole> {
        std::mem::take(&mut self.whole)
    }

    /// Says how far those came that are under way.
    pub(super) fn say_running(&self, notes: &mut Notes) {
        for Running {
            of,
            received,
            total,
            ..
        } in &self.running
        {
            let whole = match total {
                0 => String::new(),
                total => format!(" of {total}"),
            };
            notes.add(format!(
                "{} goes on: {received}{whole} bytes so far.",
                of.id
            ));
        }
    }
}

impl Running {
    /// Breaks it off; its end is told when Chromium says it.
    fn refuse(&mut self, client: &Client, why: String) {
        let params = json!({ "guid": self.of.guid });
        client.notify(None, "Browser.cancelDownload", params);
        self.refused.get_or_insert(why);
    }
}

impl Whole {
    /// Says that the file is there.
    pub(super) fn say_kept(self, notes: &mut Notes, path: String, bytes: u64) {
        let Self { id, url, .. } = self;
        notes.add(format!(
            "{id} is whole: {}, {bytes} bytes.",
            quote_text(&path)
        ));
        notes.change(StateChange::DownloadCompleted {
            download_id: id,
            url,
            path: Some(path),
            size_bytes: Some(bytes),
        });
    }

    /// Says that the file is not there.
    pub(super) fn say_failed(&self, notes: &mut Notes, why: &str) {
        let name = quote_text(&self.name);
        notes.add(format!("{} ({name}) did not come: {why}.", self.id));
        notes.change(self.failed(why));
    }

    fn failed(&self, why: &str) -> StateChange {
        StateChange::DownloadFailed {
            download_id: self.id.clone(),
            url: self.url.clone(),
            error: Some(why.to_owned()),
        }
    }
}
