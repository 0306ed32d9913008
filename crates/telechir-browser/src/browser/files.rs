//! Downloads and uploads.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use telechir_device::DeviceError;
use tokio::task::spawn_blocking;

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::error::{CdpError, refused};
use crate::file_transfer::MAX_INLINE_BYTES;
use crate::launch::Chromium;
use crate::snapshot::{GROUP, InlineFile, UploadFiles};
use crate::storage_state::{MAX_STATE_BYTES, StorageState};
use crate::tab_registry::Tab;

impl Browser {
    /// Sets Chromium's download folder, if downloads are saved.
    pub(super) async fn open_downloads(&mut self) -> Result<(), DeviceError> {
        let keeping = self
            .file_transfer
            .as_ref()
            .filter(|file_transfer| file_transfer.saves_downloads());
        let Some(file_transfer) = keeping else {
            return Ok(());
        };
        let params = json!({
            "behavior": "allowAndName", "downloadPath": file_transfer.incoming(),
            "eventsEnabled": true,
        });
        let limit = self.options.reply_timeout;
        self.client
            .call(None, "Browser.setDownloadBehavior", params, limit)
            .await?;
        self.registry.enable_downloads();
        Ok(())
    }

    /// Moves completed downloads into the workspace and reports them.
    pub(super) async fn save_downloads(&mut self) {
        let Some(file_transfer) = self.file_transfer.clone() else {
            return;
        };
        for finished in self.registry.take_finished() {
            let file_transfer = Arc::clone(&file_transfer);
            let (guid, name) = (finished.guid.clone(), finished.name.clone());
            let saved = spawn_blocking(move || file_transfer.save(&guid, &name)).await;
            let saved = saved.unwrap_or_else(|error| Err(error.to_string()));
            self.registry.report_download(finished, saved);
        }
    }

    /// Sets files of the workspace on a file control, or on the one whose file chooser is open.
    pub(super) async fn upload(
        &mut self,
        tab: &Tab,
        id: &str,
        paths: &[String],
        documents: &[String],
    ) -> Result<String, DeviceError> {
        if let Some(document) = documents.first() {
            return Err(refused(format!(
                "The document {document:?} is stored at the provider; pass paths of files in the workspace."
            )));
        }
        if paths.is_empty() {
            return Err(refused(
                "No file was named; pass paths of files in the workspace.",
            ));
        }
        let element = self.element(tab, id)?;
        let control = self.reader().file_control(element).await?;
        let control = control.ok_or_else(|| self.stale(tab, id))?;
        let waiting = self.registry.file_chooser(&tab.session);
        let is_multiple = match (control, waiting) {
            (Some(control), _) if control.is_disabled => {
                return Err(refused(format!("The element {id} is disabled.")));
            }
            (Some(control), _) => control.is_multiple,
            (None, Some(waiting)) => waiting.is_multiple,
            (None, None) => {
                return Err(refused(format!(
                    "The element {id} takes no files, and the page has no open file picker; click the element that opens it first."
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
            Chromium::Attached { .. } => UploadFiles::Inline(self.read_files(paths).await?),
            Chromium::Started { .. } | Chromium::Shared => {
                UploadFiles::Copies(self.stage(paths).await?)
            }
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

    /// Saves the page as a PDF in the download folder; returns the path.
    pub(super) async fn save_pdf(
        &mut self,
        page: &CdpSession,
        name: Option<&str>,
    ) -> Result<String, DeviceError> {
        let params = json!({ "printBackground": true, "preferCSSPageSize": true });
        let limit = self.options.navigation_timeout;
        let printed = page.call_within("Page.printToPDF", params, limit).await;
        let printed = printed.map_err(|error| match error {
            CdpError::Protocol { message, .. } => refused(format!(
                "This browser cannot print to PDF ({message}); a headless one can."
            )),
            error @ CdpError::Lost { .. }
            | error @ CdpError::PageGone(_)
            | error @ CdpError::Timeout { .. } => error.into(),
        })?;
        let bytes = STANDARD.decode(printed["data"].as_str().unwrap_or_default());
        let bytes = bytes.map_err(|error| refused(format!("The PDF is invalid: {error}.")))?;
        // Printing fires the events of a page that prints.
        self.is_printing = true;
        let _a_page_that_does_not_answer_reports_nothing = self.page_context().await;
        self.is_printing = false;
        let (pages, size) = (count_pages(&bytes), bytes.len());
        let pages = match pages {
            1 => "1 page".to_owned(),
            pages => format!("{pages} pages"),
        };
        let path = self.write_file(name.unwrap_or("page.pdf"), bytes).await?;
        Ok(format!("Saved {path} ({pages}, {size} bytes)."))
    }

    /// Saves cookies and stored data in the download folder; returns the path.
    pub(super) async fn save_state(&mut self, name: Option<&str>) -> Result<String, DeviceError> {
        let StorageState {
            document,
            left_out,
            failures,
            ..
        } = self.storage_state().await?;
        let bytes = document.to_string().into_bytes();
        let name = name.unwrap_or("storage-state.json");
        let path = self.write_file(name, bytes).await?;
        let of = |name: &str| document[name].as_array().map_or(0, Vec::len);
        let mut text = format!(
            "Saved {path} with {} cookies and the stored data of {} origins. It can hold logins.",
            of("cookies"),
            of("origins")
        );
        if left_out > 0 {
            text += &format!(" {left_out} database records have no form in it and are left out.");
        }
        if let Some(failures) = failures.sentence() {
            text += &format!(" {failures}");
        }
        Ok(text)
    }

    /// Loads a storage state from a file of the workspace.
    pub(super) async fn load_state_file(&mut self, path: &str) -> Result<String, DeviceError> {
        let file_transfer = self.file_transfer.clone().ok_or_else(no_folder)?;
        let path = path.to_owned();
        let read = spawn_blocking(move || file_transfer.read(&path, MAX_STATE_BYTES));
        let read = read.await.unwrap_or_else(|error| Err(error.to_string()));
        let (_, bytes) = read.map_err(refused)?;
        Ok(self.load_state(&bytes).await?.describe())
    }

    async fn write_file(&mut self, name: &str, bytes: Vec<u8>) -> Result<String, DeviceError> {
        let file_transfer = self.file_transfer.clone().ok_or_else(no_folder)?;
        let name = name.to_owned();
        let written = spawn_blocking(move || file_transfer.write(&name, &bytes));
        let written = written.await.unwrap_or_else(|error| Err(error.to_string()));
        written.map_err(refused)
    }

    /// The contents of files of the workspace.
    async fn read_files(&mut self, paths: &[String]) -> Result<Vec<InlineFile>, DeviceError> {
        let file_transfer = self.file_transfer.clone().ok_or_else(no_folder)?;
        let paths = paths.to_vec();
        let read = spawn_blocking(move || {
            let mut left = MAX_INLINE_BYTES;
            let sent = paths.iter().map(|path| {
                let (name, bytes) = file_transfer.read(path, left)?;
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
        let file_transfer = self.file_transfer.clone().ok_or_else(no_folder)?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let (file_transfer, path) = (Arc::clone(&file_transfer), path.clone());
            let staged = spawn_blocking(move || file_transfer.stage(&path)).await;
            let staged = staged.unwrap_or_else(|error| Err(error.to_string()));
            files.push(staged.map_err(refused)?);
        }
        Ok(files)
    }
}

/// The pages of a PDF of Chromium, which does not compress the objects of pages.
fn count_pages(pdf: &[u8]) -> usize {
    const PAGE: &[u8] = b"/Type /Page\n";
    pdf.windows(PAGE.len()).filter(|part| *part == PAGE).count()
}

fn no_folder() -> DeviceError {
    refused("This browser has no workspace for files.")
}
