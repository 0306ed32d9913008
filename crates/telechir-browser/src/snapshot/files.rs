//! File controls: which element is one, and files for it.

use std::path::PathBuf;

use serde_json::{Value, json};
use telechir_device::DeviceError;

use super::node::ElementId;
use super::page::Reader;
use crate::error::{CdpError, refused};
use crate::cdp_session::Page;

/// Objects of a page that are let go when the files were given.
pub(crate) const GROUP: &str = "telechir-files";
/// Has a control take files as if a person had chosen them.
const TAKE: &str = include_str!("files/take.js");

/// Files for a control.
#[derive(Debug)]
pub(crate) enum Given {
    /// Copies that Chromium may read.
    Copies(Vec<PathBuf>),
    /// What they hold, for a Chromium that may be on another machine.
    Sent(Vec<Sent>),
}

/// A file that is sent: its name, its type and its bytes in base64.
pub(crate) type Sent = (String, &'static str, String);

impl Given {
    /// The names that the page sees.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Copies(files) => files
                .iter()
                .filter_map(|file| file.file_name()?.to_str())
                .collect(),
            Self::Sent(files) => files.iter().map(|(name, ..)| name.as_str()).collect(),
        }
    }

    /// Gives them to the control that is this object of a page's.
    pub(crate) async fn to(&self, page: &Page, control: &Value) -> Result<(), DeviceError> {
        let given = match self {
            Self::Copies(files) => {
                let params = json!({ "files": files, "objectId": control });
                page.call("DOM.setFileInputFiles", params).await
            }
            Self::Sent(files) => {
                let params = json!({
                    "objectId": control, "functionDeclaration": TAKE,
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
            Some(problem) => Err(refused(format!("The page took no file: {problem}."))),
            None => Ok(()),
        }
    }
}

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

    /// The control that an element is or labels, as an object of its page; none when it is gone.
    pub(crate) async fn file_object(
        &self,
        element: ElementId,
    ) -> Result<Option<(Page, Value)>, CdpError> {
        let Some(document) = self.documents.get(element.document) else {
            return Ok(None);
        };
        if !document.is_current(self.book) {
            return Ok(None);
        }
        let page = Page::new(self.client, document.session(), self.limit);
        let params = json!({
            "expression": format!("telechirWalker.fileElement({})", element.number),
            "contextId": document.context(), "objectGroup": GROUP,
        });
        let mut found = page.call("Runtime.evaluate", params).await?;
        let object = found["result"]["objectId"].take();
        Ok((!object.is_null()).then_some((page, object)))
    }
}
