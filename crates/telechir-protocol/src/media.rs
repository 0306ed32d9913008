//! Images and files as content: inside the message, by URI, or stored by a provider.

use serde::{Deserialize, Serialize};

use crate::Meta;

/// Bytes inside the message, as a `data:` URI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataContent {
    /// The bytes as `data:<media type>;base64,<data>`.
    pub uri: String,
    /// Media type, such as `image/png`; absent means that of the URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// File name of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

impl DataContent {
    /// Creates content of `media_type` from base64 text.
    pub fn from_base64(media_type: &str, base64: &str) -> Self {
        Self {
            uri: ["data:", media_type, ";base64,", base64].concat(),
            media_type: Some(media_type.to_owned()),
            name: None,
            meta: Meta::default(),
        }
    }

    /// The base64 text after the comma; none if the URI is not base64.
    pub fn base64(&self) -> Option<&str> {
        let (head, data) = self.uri.split_once(',')?;
        head.ends_with(";base64").then_some(data)
    }

    /// The media type: the member's, or that of the URI.
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref().or_else(|| {
            let head = self.uri.strip_prefix("data:")?;
            let end = head.find([';', ','])?;
            Some(&head[..end])
        })
    }
}

/// A reference to fetch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UriContent {
    /// URI of the data.
    pub uri: String,
    /// Media type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A file that a provider stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostedFileContent {
    /// The provider's id of the file.
    pub file_id: String,
    /// Media type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// File name of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// An image or file in any of its three forms, tagged by `type` like a content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Media {
    /// Bytes inside the message.
    Data(DataContent),
    /// A reference to fetch.
    Uri(UriContent),
    /// A file stored by the provider.
    HostedFile(HostedFileContent),
}
