//! What a message is made of, tagged by `type`. Nothing that is read is dropped.

mod alias;
mod json;
mod kept;
mod raw;

#[cfg(feature = "schema")]
pub(crate) use json::schemas;
pub use raw::Raw;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ApprovalRequest, ApprovalResponse, ComputerCall, ComputerResult, DataContent, EditCall,
    EditResult, FunctionCall, FunctionResult, HostedFileContent, Media, ShellCall, ShellResult,
    UriContent,
};

/// What every content carries beside its own members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Meta {
    /// Citations and the like, as they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Value>,
    /// Provider settings without a neutral name, by provider: `{"anthropic": {"caller": …}}`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
    /// The provider's own JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_representation: Option<Raw>,
    /// Members this version does not know, written back as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Meta {
    /// A provider's setting, such as `("anthropic", "caller")`.
    pub fn property(&self, provider: &str, name: &str) -> Option<&Value> {
        self.additional_properties.get(provider)?.get(name)
    }

    /// Keeps a provider's setting.
    pub fn set_property(&mut self, provider: &str, name: &str, value: Value) {
        let entry = self
            .additional_properties
            .entry(provider)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(members) = entry {
            members.insert(name.to_owned(), value);
        }
    }
}

/// Plain text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A model's thinking, with the provider's signature of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReasoningContent {
    /// What may be read; absent when it is only kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The provider's name of it (OpenAI `rs_…`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// A signature or encrypted body that must go back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected_data: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A call that the provider carries out itself, or its result: code interpreters, image makers.
///
/// Serves `command_call`, `command_result`, `image_generation_call`, `image_generation_result`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostedCall {
    /// What joins call and result, when the provider says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<crate::CallId>,
    /// The code and other inputs; none in a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Content>,
    /// Logs, files and pictures; none in a call. Also read as `outputs`.
    #[serde(default, alias = "outputs", skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Content>,
    /// The provider's word on how far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// What a response cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageContent {
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_token_count: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_token_count: Option<u64>,
    /// Both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_token_count: Option<u64>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// An error that the provider reports inside a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorContent {
    /// The provider's sentence.
    pub message: String,
    /// The provider's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// More of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Value>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A content of a type nobody here knows, kept whole.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownContent {
    /// The `type` it came with; absent when it had none.
    pub kind: Option<String>,
    /// The whole object, `type` included.
    pub json: Map<String, Value>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a message has a handful, and every reader matches on it"
)]
pub enum Content {
    /// `text`
    Text(TextContent),
    /// `text_reasoning`
    Reasoning(ReasoningContent),
    /// `data`
    Data(DataContent),
    /// `uri`
    Uri(UriContent),
    /// `hosted_file`
    HostedFile(HostedFileContent),
    /// `function_call`
    FunctionCall(FunctionCall),
    /// `function_result`
    FunctionResult(FunctionResult),
    /// `computer_call`
    ComputerCall(ComputerCall),
    /// `computer_result`
    ComputerResult(ComputerResult),
    /// `shell_call`
    ShellCall(ShellCall),
    /// `shell_result`
    ShellResult(ShellResult),
    /// `edit_call`
    EditCall(EditCall),
    /// `edit_result`
    EditResult(EditResult),
    /// `command_call`
    CommandCall(HostedCall),
    /// `command_result`
    CommandResult(HostedCall),
    /// `image_generation_call`
    ImageGenerationCall(HostedCall),
    /// `image_generation_result`
    ImageGenerationResult(HostedCall),
    /// `approval_request`
    ApprovalRequest(ApprovalRequest),
    /// `approval_response`
    ApprovalResponse(ApprovalResponse),
    /// `usage`
    Usage(UsageContent),
    /// `error`
    Error(ErrorContent),
    /// Any other type, verbatim.
    Other(UnknownContent),
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of whoever runs the agent.
    System,
    /// OpenAI's name for the same, below the system's.
    Developer,
    /// A person, or results of tools.
    User,
    /// The model.
    Assistant,
    /// Results of tools, where a dialect keeps them apart.
    Tool,
}

/// A message of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub contents: Vec<Content>,
    /// What every content carries; a provider's members of the message itself are kept here.
    #[serde(flatten)]
    pub meta: Meta,
}

impl Message {
    /// A message without provider settings.
    pub fn new(role: Role, contents: Vec<Content>) -> Self {
        Self {
            role,
            contents,
            meta: Meta::default(),
        }
    }
}

impl Message {
    /// Puts a picture of the screen into the first message of a person, at its end; a history
    /// without one gets one.
    ///
    /// Providers look at it before the first action, so that the model need not ask for it.
    pub fn initial_screenshot(history: &mut Vec<Self>, screenshot: Media) {
        let screenshot = Content::from(screenshot);
        let of_a_person = |message: &&mut Self| message.role == Role::User;
        match history.iter_mut().find(of_a_person) {
            Some(message) => message.contents.push(screenshot),
            None => history.push(Self::new(Role::User, vec![screenshot])),
        }
    }
}

impl From<Media> for Content {
    fn from(media: Media) -> Self {
        match media {
            Media::Data(data) => Self::Data(data),
            Media::Uri(uri) => Self::Uri(uri),
            Media::HostedFile(file) => Self::HostedFile(file),
        }
    }
}

impl TextContent {
    /// Plain text with nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            meta: Meta::default(),
        }
    }
}

impl Content {
    /// Plain text with nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }
}
