//! File controls: which element is one, and files for it.

use std::path::PathBuf;

use serde_json::json;
use telechir_device::DeviceError;

use super::node::ElementId;
use super::page::Reader;

/// A file control, as far as it matters who gives it files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileControl {
    /// Whether it takes several files.
    pub(crate) is_multiple: bool,
    /// Whether it takes none now.
    pub(crate) is_disabled: bool,
}

impl Reader<'_> {
    /// The file control that an element is or labels: none in it when it is none; none when the
    /// element is gone.
    pub(crate) async fn file_control(
        &self,
        element: ElementId,
    ) -> Result<Option<Option<FileControl>>, DeviceError> {
        let told = self.ask(element, "fileControl", Vec::new()).await?;
        Ok(told.map(|told| {
            (told["none"] != true).then(|| FileControl {
                is_multiple: told["multiple"] == true,
                is_disabled: told["disabled"] == true,
            })
        }))
    }

    /// Gives files to the control that an element is or labels; none when it is gone.
    pub(crate) async fn give_files(
        &self,
        element: ElementId,
        files: &[PathBuf],
    ) -> Result<Option<()>, DeviceError> {
        let Some(document) = self.documents.get(element.document) else {
            return Ok(None);
        };
        if !document.is_current(self.book) {
            return Ok(None);
        }
        let session = Some(document.session());
        let params = json!({
            "expression": format!("telechirWalker.fileElement({})", element.number),
            "contextId": document.context(), "objectGroup": "telechir-files",
        });
        let found = self
            .client
            .call(session, "Runtime.evaluate", params, self.limit)
            .await?;
        let object = &found["result"]["objectId"];
        if object.is_null() {
            return Ok(None);
        }
        let params = json!({ "files": files, "objectId": object });
        let given = self
            .client
            .call(session, "DOM.setFileInputFiles", params, self.limit)
            .await;
        let group = json!({ "objectGroup": "telechir-files" });
        self.client
            .notify(session, "Runtime.releaseObjectGroup", group);
        given?;
        Ok(Some(()))
    }
}
