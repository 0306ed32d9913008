//! Downloads: progress, completion and refusals.

use serde_json::{Value, json};
use telechir_protocol::StateChange;

use super::page_notices::{PageNotices, quote_text};
use crate::client::{CdpClient, text};

/// Maximum size of a downloaded or uploaded file: 512 MiB.
pub(crate) const MAX_FILE_BYTES: u64 = 512 << 20;
/// Maximum size of all downloads of a browser: 4 GiB.
const MAX_TOTAL_BYTES: u64 = 4 << 30;
/// Downloads that may run concurrently.
const MAX_DOWNLOADS_AT_ONCE: usize = 8;
/// URLs are truncated to this length: a `data:` URL is as long as the file.
const MAX_URL_CHARS: usize = 2000;

/// A completed download that is not saved yet.
#[derive(Clone, Debug)]
pub(crate) struct FinishedDownload {
    /// The id in results, such as `download_1`.
    pub(crate) id: String,
    /// Chromium's id, which is the file name in the download folder.
    pub(crate) guid: String,
    /// The file name suggested by the page.
    pub(crate) name: String,
    url: String,
}

/// All downloads of a browser.
#[derive(Debug, Default)]
pub(super) struct Downloads {
    /// Whether downloads are saved or refused.
    pub(super) is_enabled: bool,
    running: Vec<RunningDownload>,
    finished: Vec<FinishedDownload>,
    last_number: u32,
    saved_bytes: u64,
}

#[derive(Debug)]
struct RunningDownload {
    file: FinishedDownload,
    received: u64,
    total: u64,
    /// Why the download was cancelled, if it was.
    refused: Option<String>,
}

impl Downloads {
    /// Handles the start of a download.
    pub(super) fn begin(&mut self, client: &CdpClient, notices: &mut PageNotices, params: &Value) {
        self.last_number += 1;
        let file = FinishedDownload {
            id: format!("download_{}", self.last_number),
            guid: text(&params["guid"]),
            name: text(&params["suggestedFilename"]),
            url: text(&params["url"]).chars().take(MAX_URL_CHARS).collect(),
        };
        let name = quote_text(&file.name);
        if !self.is_enabled {
            let reason = "this browser does not save files";
            notices.add(format!(
                "A download of {name} started and was refused: {reason}."
            ));
            notices.change(file.failed(reason));
            return;
        }
        notices.add(format!("A download of {name} started ({}).", file.id));
        notices.change(StateChange::DownloadStarted {
            download_id: file.id.clone(),
            url: file.url.clone(),
        });
        let mut running = RunningDownload {
            file,
            received: 0,
            total: 0,
            refused: None,
        };
        if self.running.len() >= MAX_DOWNLOADS_AT_ONCE {
            running.refuse(
                client,
                format!("at most {MAX_DOWNLOADS_AT_ONCE} downloads may run at a time"),
            );
        }
        self.running.push(running);
    }

    /// Handles the progress or the end of a download.
    pub(super) fn progress(
        &mut self,
        client: &CdpClient,
        notices: &mut PageNotices,
        params: &Value,
    ) {
        let index = self
            .running
            .iter()
            .position(|running| params["guid"] == running.file.guid.as_str());
        let Some(index) = index else {
            return;
        };
        let length = |value: &Value| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "Chromium reports byte counts as floats"
            )]
            let length = value.as_f64().unwrap_or_default().max(0.0) as u64;
            length
        };
        let running = &mut self.running[index];
        running.received = length(&params["receivedBytes"]);
        running.total = length(&params["totalBytes"]);
        match params["state"].as_str() {
            Some("inProgress") => {
                let needed = running.received.max(running.total);
                if needed > MAX_FILE_BYTES {
                    running.refuse(
                        client,
                        format!("files are limited to {MAX_FILE_BYTES} bytes"),
                    );
                } else if self.saved_bytes + needed > MAX_TOTAL_BYTES {
                    running.refuse(
                        client,
                        format!("all downloads together are limited to {MAX_TOTAL_BYTES} bytes"),
                    );
                }
            }
            Some("completed") => {
                let running = self.running.swap_remove(index);
                self.saved_bytes += running.received;
                self.finished.push(running.file);
            }
            _ => {
                let running = self.running.swap_remove(index);
                let reason = running
                    .refused
                    .unwrap_or_else(|| "it was cancelled".to_owned());
                running.file.report_failed(notices, &reason);
            }
        }
    }

    /// Takes the downloads that finished since the last call.
    pub(super) fn take_finished(&mut self) -> Vec<FinishedDownload> {
        std::mem::take(&mut self.finished)
    }

    /// Reports the progress of running downloads.
    pub(super) fn report_progress(&self, notices: &mut PageNotices) {
        for RunningDownload {
            file,
            received,
            total,
            ..
        } in &self.running
        {
            let of_total = match total {
                0 => String::new(),
                total => format!(" of {total}"),
            };
            notices.add(format!(
                "{} in progress: {received}{of_total} bytes.",
                file.id
            ));
        }
    }
}

impl RunningDownload {
    /// Cancels the download; Chromium's event about its end then reports the reason.
    fn refuse(&mut self, client: &CdpClient, reason: String) {
        let params = json!({ "guid": self.file.guid });
        client.notify(None, "Browser.cancelDownload", params);
        self.refused.get_or_insert(reason);
    }
}

impl FinishedDownload {
    /// Reports the file as saved.
    pub(super) fn report_saved(self, notices: &mut PageNotices, path: String, bytes: u64) {
        let Self { id, url, .. } = self;
        notices.add(format!(
            "{id} is complete: {}, {bytes} bytes.",
            quote_text(&path)
        ));
        notices.change(StateChange::DownloadCompleted {
            download_id: id,
            url,
            path: Some(path),
            size_bytes: Some(bytes),
        });
    }

    /// Reports the download as failed.
    pub(super) fn report_failed(&self, notices: &mut PageNotices, reason: &str) {
        let name = quote_text(&self.name);
        notices.add(format!("{} ({name}) failed: {reason}.", self.id));
        notices.change(self.failed(reason));
    }

    fn failed(&self, reason: &str) -> StateChange {
        StateChange::DownloadFailed {
            download_id: self.id.clone(),
            url: self.url.clone(),
            error: Some(reason.to_owned()),
        }
    }
}
