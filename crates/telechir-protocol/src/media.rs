//! Pictures and files as content: inside the message, by address, or held by a provider.

mod data_uri;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Meta;

pub use data_uri::DataUri;

/// Bytes inside the message, as a `data:` address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataContent {
    /// `data:<media type>;base64,<data>`.
    pub uri: DataUri,
    /// The type, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// A file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

impl DataContent {
    /// Content of `media_type` from text that is base64 already.
    pub fn from_base64(media_type: &str, base64: &str) -> Self {
        Self {
            uri: format!("data:{media_type};base64,{base64}").into(),
            media_type: Some(media_type.to_owned()),
            name: None,
            meta: Meta::default(),
        }
    }

    /// The base64 text behind the comma; none when the address is not base64.
    pub fn base64(&self) -> Option<&str> {
        let (head, data) = self.uri.split()?;
        head.ends_with(";base64").then_some(data)
    }

    /// The same, or the slot that stands for it in a document.
    pub fn base64_or_slot(&self) -> Option<Cow<'_, str>> {
        let (head, data) = self.uri.split_with_slot()?;
        head.ends_with(";base64").then_some(data)
    }

    /// The media type: the member, or what the address says.
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref().or_else(|| {
            let head = self.uri.text_with_slot().strip_prefix("data:")?;
            let end = head.find([';', ','])?;
            Some(&head[..end])
        })
    }
}

/// Something to be fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UriContent {
    /// Where.
    pub uri: String,
    /// The type, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A file that a provider holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostedFileContent {
    /// The provider's name of it.
    pub file_id: String,
    /// The type, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// A file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A picture or file in any of its three forms, tagged by `type` like a content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Media {
    /// Inside the message.
    Data(DataContent),
    /// By address.
    Uri(UriContent),
    /// Held by the provider.
    HostedFile(HostedFileContent),
}
