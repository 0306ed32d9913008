//! Files for pages and from pages.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use telechir_device::DeviceError;
use tokio::task::spawn_blocking;

use super::Browser;
use crate::book::Tab;
use crate::error::refused;

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
        let files = self.stage(paths).await?;
        match (control, waiting) {
            (None, Some(waiting)) => {
                let params = json!({ "files": files, "backendNodeId": waiting.node });
                self.page_of(tab)
                    .call("DOM.setFileInputFiles", params)
                    .await?;
            }
            _ => {
                let given = self.reader().give_files(element, &files).await?;
                given.ok_or_else(|| self.stale(tab, id))?;
            }
        }
        let name = |file: &PathBuf| Some(file.file_name()?.to_str()?.to_owned());
        let names: Vec<String> = files.iter().filter_map(name).collect();
        Ok(format!("{id} has {}.", names.join(", ")))
    }

    /// Copies of files of the workspace that Chromium may read.
    async fn stage(&mut self, paths: &[String]) -> Result<Vec<PathBuf>, DeviceError> {
        let Some(exchange) = self.exchange.clone() else {
            return Err(refused("This browser has no folder with files for pages."));
        };
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
