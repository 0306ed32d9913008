//! Files for pages and from pages.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use telechir_device::DeviceError;
use tokio::task::spawn_blocking;

use super::{Browser, Chromium};
use crate::tab_registry::Tab;
use crate::error::refused;
use crate::file_transfer::MOST_SENT;
use crate::snapshot::{GROUP, Given, Sent};

impl Browser {
    /// Tells Chromium where files go that pages give, when they are kept.
    pub(super) async fn open_downloads(&mut self) -> Result<(), DeviceError> {
        let keeping = self.exchange.as_ref().filter(|exchange| exchange.keeps());
        let Some(exchange) = keeping else {
            return Ok(());
        };
        let params = json!({
            "behavior": "allowAndName", "downloadPath": exchange.incoming(),
            "eventsEnabled": true,
        });
        let limit = self.options.answer_limit;
        self.client
            .call(None, "Browser.setDownloadBehavior", params, limit)
            .await?;
        self.book.keep_downloads();
        Ok(())
    }

    /// Brings the files that came whole into the workspace, and says so.
    pub(super) async fn keep_downloads(&mut self) {
        let Some(exchange) = self.exchange.clone() else {
            return;
        };
        for whole in self.book.take_whole() {
            let exchange = Arc::clone(&exchange);
            let (guid, name) = (whole.guid.clone(), whole.name.clone());
            let kept = spawn_blocking(move || exchange.keep(&guid, &name)).await;
            let kept = kept.unwrap_or_else(|error| Err(error.to_string()));
            self.book.say_download(whole, kept);
        }
    }

    /// Gives files of the workspace to a file control, or to the one whose picker the page waits for.
    pub(super) async fn upload(
        &mut self,
        tab: &Tab,
        id: &str,
        paths: &[String],
        documents: &[String],
    ) -> Result<String, DeviceError> {
        if let Some(document) = documents.first() {
            return Err(refused(format!(
                "The document {document:?} is with the provider, not here; give paths of files in the workspace."
            )));
        }
        if paths.is_empty() {
            return Err(refused(
                "No file is named; give paths of files in the workspace.",
            ));
        }
        let element = self.element(tab, id)?;
        let control = self.reader().file_control(element).await?;
        let control = control.ok_or_else(|| self.stale(tab, id))?;
        let waiting = self.book.chooser(&tab.session);
        let is_multiple = match (control, waiting) {
            (Some(control), _) if control.is_disabled => {
                return Err(refused(format!("The element {id} is disabled.")));
            }
            (Some(control), _) => control.is_multiple,
            (None, Some(waiting)) => waiting.is_multiple,
            (None, None) => {
                return Err(refused(format!(
                    "The element {id} takes no files, and the page waits for none; click what opens its file picker first."
                )));
            }
        };
        if paths.len() > 1 && !is_multiple {
            let count = paths.len();
            return Err(refused(format!(
                "The element {id} takes one file, not {count}."
            )));
        }
        let files = match self.chromium {
            Chromium::Attached { .. } => Given::Sent(self.read_files(paths).await?),
            Chromium::Started { .. } | Chromium::Shared => Given::Copies(self.stage(paths).await?),
        };
        let (page, object) = match (control, waiting) {
            (None, Some(waiting)) => {
                let page = self.page_of(tab);
                let params = json!({ "backendNodeId": waiting.node, "objectGroup": GROUP });
                let mut found = page.call("DOM.resolveNode", params).await?;
                let object = found["object"]["objectId"].take();
                (page, object)
            }
            _ => {
                let found = self.reader().file_object(element).await?;
                found.ok_or_else(|| self.stale(tab, id))?
            }
        };
        files.to(&page, &object).await?;
        Ok(format!("{id} has {}.", files.names().join(", ")))
    }

    /// What files of the workspace hold.
    async fn read_files(&mut self, paths: &[String]) -> Result<Vec<Sent>, DeviceError> {
        let exchange = self.exchange.clone().ok_or_else(no_folder)?;
        let paths = paths.to_vec();
        let read = spawn_blocking(move || {
            let mut left = MOST_SENT;
            let sent = paths.iter().map(|path| {
                let (name, bytes) = exchange.read(path, left)?;
                left -= bytes.len() as u64;
                let kind = mime_guess::from_path(&name).first_raw().unwrap_or_default();
                Ok((name, kind, STANDARD.encode(bytes)))
            });
            sent.collect::<Result<_, String>>()
        });
        let read = read.await.unwrap_or_else(|error| Err(error.to_string()));
        read.map_err(refused)
    }

    /// Copies of files of the workspace that Chromium may read.
    async fn stage(&mut self, paths: &[String]) -> Result<Vec<PathBuf>, DeviceError> {
        let exchange = self.exchange.clone().ok_or_else(no_folder)?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let (exchange, path) = (Arc::clone(&exchange), path.clone());
            let staged = spawn_blocking(move || exchange.stage(&path)).await;
            let staged = staged.unwrap_or_else(|error| Err(error.to_string()));
            files.push(staged.map_err(refused)?);
        }
        Ok(files)
    }
}

fn no_folder() -> DeviceError {
    refused("This browser has no folder with files for pages.")
}
