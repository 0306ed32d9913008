//! File controls of pages, and setting files on them.

use std::path::PathBuf;

use serde_json::{Value, json};
use telechir_device::DeviceError;

use super::node::ElementId;
use super::page::PageReader;
use crate::cdp_session::CdpSession;
use crate::error::{CdpError, refused};

/// The group of remote objects that is released after setting files.
pub(crate) const GROUP: &str = "telechir-files";
/// Sets files on a control as if the user had selected them.
const SET_FILES: &str = include_str!("files/set_files.js");

/// The files for a control.
#[derive(Debug)]
pub(crate) enum UploadFiles {
    /// Copies that Chromium may read.
    Copies(Vec<PathBuf>),
    /// The contents, for a Chromium that may be on another machine.
    Inline(Vec<InlineFile>),
}

/// A file's name, MIME type and content in base64.
pub(crate) type InlineFile = (String, &'static str, String);

impl UploadFiles {
    /// The names that the page sees.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Copies(files) => files
                .iter()
                .filter_map(|file| file.file_name()?.to_str())
                .collect(),
            Self::Inline(files) => files.iter().map(|(name, ..)| name.as_str()).collect(),
        }
    }

    /// Sets the files on a control, given as a remote object of a page.
    pub(crate) async fn to(&self, page: &CdpSession, control: &Value) -> Result<(), DeviceError> {
        let given = match self {
            Self::Copies(files) => {
                let params = json!({ "files": files, "objectId": control });
                page.call("DOM.setFileInputFiles", params).await
            }
            Self::Inline(files) => {
                let params = json!({
                    "objectId": control, "functionDeclaration": SET_FILES,
                    "arguments": [{ "value": files }], "returnByValue": true,
                });
                page.call("Runtime.callFunctionOn", params).await
            }
        };
        page.notify(
            "Runtime.releaseObjectGroup",
            json!({ "objectGroup": GROUP }),
        );
        let problem = &given?["exceptionDetails"]["exception"]["description"];
        match problem.as_str().and_then(|text| text.lines().next()) {
            Some(problem) => Err(refused(format!("The page rejected the files: {problem}."))),
            None => Ok(()),
        }
    }
}

/// The properties of a file control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileControl {
    /// Whether it accepts several files.
    pub(crate) is_multiple: bool,
    /// Whether it is disabled.
    pub(crate) is_disabled: bool,
}

impl PageReader<'_> {
    /// The file control that an element is or labels; the inner `None` means that it is none, the
    /// outer one that the element is gone.
    pub(crate) async fn file_control(
        &self,
        element: ElementId,
    ) -> Result<Option<Option<FileControl>>, DeviceError> {
        let reply = self.call(element, "fileControl", Vec::new()).await?;
        Ok(reply.map(|reply| {
            (reply["none"] != true).then(|| FileControl {
                is_multiple: reply["multiple"] == true,
                is_disabled: reply["disabled"] == true,
            })
        }))
    }

    /// The file control that an element is or labels, as a remote object; `None` if it is gone.
    pub(crate) async fn file_object(
        &self,
        element: ElementId,
    ) -> Result<Option<(CdpSession, Value)>, CdpError> {
        let Some(document) = self.documents.get(element.document) else {
            return Ok(None);
        };
        if !document.is_current(self.registry) {
            return Ok(None);
        }
        let page = CdpSession::new(self.client, document.session(), self.limit);
        let params = json!({
            "expression": format!("telechirWalker.fileElement({})", element.number),
            "contextId": document.context(), "objectGroup": GROUP,
        });
        let mut found = page.call("Runtime.evaluate", params).await?;
        let object = found["result"]["objectId"].take();
        Ok((!object.is_null()).then_some((page, object)))
    }
}
