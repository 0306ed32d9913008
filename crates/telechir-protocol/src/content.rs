//! The contents of messages, tagged by `type`. Unknown members are retained.

mod json;
mod meta;
mod raw;
mod unknown_fields;

#[cfg(feature = "schema")]
pub(crate) use json::schemas;
pub use meta::Meta;
pub use raw::Raw;
pub(crate) use unknown_fields::restored;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ApprovalRequest, ApprovalResponse, ComputerCall, ComputerResult, DataContent, EditCall,
    EditResult, FunctionCall, FunctionResult, HostedFileContent, Media, ShellCall, ShellResult,
    UriContent,
};

/// Plain text of a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextContent {
    /// The text of the content.
    pub text: String,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A model's reasoning, with the provider's signature of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReasoningContent {
    /// The readable reasoning; absent if only protected data was returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The provider's id of the item (OpenAI `rs_…`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// A signature or encrypted body that must be sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected_data: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A call that the provider executes itself, or its result: code interpreters, image generators.
///
/// Used for `command_call`, `command_result`, `image_generation_call`, `image_generation_result`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostedCall {
    /// Pairs call and result, if the provider sends an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<crate::CallId>,
    /// Code and other inputs; empty in a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Content>,
    /// Logs, files and images; empty in a call. Also read as `outputs`.
    #[serde(default, alias = "outputs", skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Content>,
    /// The provider's status of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// Token usage of a response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageContent {
    /// Number of input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_token_count: Option<u64>,
    /// Number of output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_token_count: Option<u64>,
    /// Number of input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_token_count: Option<u64>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// An error that the provider reports inside a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorContent {
    /// The provider's error message.
    pub message: String,
    /// The provider's error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Further details in the provider's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Value>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A content of an unknown type, retained verbatim.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownContent {
    /// The `type` of the object; absent if it has none.
    pub kind: Option<String>,
    /// The complete object, including `type`.
    pub json: Map<String, Value>,
    /// The dialect that the object was read from, such as `anthropic-messages`. Providers use the
    /// same names for different things, so only this shows who understands the object. Absent in
    /// neutral JSON that does not state it.
    pub dialect: Option<String>,
}

impl UnknownContent {
    /// Retains an object of a dialect.
    pub fn new(dialect: impl Into<String>, json: Map<String, Value>) -> Self {
        Self {
            dialect: Some(dialect.into()),
            ..Self::from(json)
        }
    }
}

impl From<Map<String, Value>> for UnknownContent {
    /// Retains an object of an unknown dialect.
    fn from(json: Map<String, Value>) -> Self {
        let kind = json.get("type").and_then(Value::as_str).map(str::to_owned);
        Self {
            kind,
            json,
            dialect: None,
        }
    }
}

/// A part of a message, tagged by `type`.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a message has few contents, and every reader matches on them"
)]
pub enum Content {
    /// `text`: plain text of any role.
    Text(TextContent),
    /// `text_reasoning`: a model's reasoning.
    Reasoning(ReasoningContent),
    /// `data`: bytes inside the message.
    Data(DataContent),
    /// `uri`: a reference to fetch.
    Uri(UriContent),
    /// `hosted_file`: a file stored by the provider.
    HostedFile(HostedFileContent),
    /// `function_call`: a call to another tool.
    FunctionCall(FunctionCall),
    /// `function_result`: the result of a function call.
    FunctionResult(FunctionResult),
    /// `computer_call`: a call to a screen or browser.
    ComputerCall(ComputerCall),
    /// `computer_result`: the result of a computer call.
    ComputerResult(ComputerResult),
    /// `shell_call`: a call to a shell.
    ShellCall(ShellCall),
    /// `shell_result`: the result of a shell call.
    ShellResult(ShellResult),
    /// `edit_call`: a call to an editor.
    EditCall(EditCall),
    /// `edit_result`: the result of an edit call.
    EditResult(EditResult),
    /// `command_call`: code that the provider runs.
    CommandCall(HostedCall),
    /// `command_result`: output of code that the provider ran.
    CommandResult(HostedCall),
    /// `image_generation_call`: an image that the provider generates.
    ImageGenerationCall(HostedCall),
    /// `image_generation_result`: an image that the provider generated.
    ImageGenerationResult(HostedCall),
    /// `approval_request`: a question to the user.
    ApprovalRequest(ApprovalRequest),
    /// `approval_response`: the user's response.
    ApprovalResponse(ApprovalResponse),
    /// `usage`: token usage of a response.
    Usage(UsageContent),
    /// `error`: a provider's error inside a message.
    Error(ErrorContent),
    /// Any other type, retained verbatim.
    Other(UnknownContent),
}

/// The author of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the operator of the agent.
    System,
    /// OpenAI's role for instructions below the system's.
    Developer,
    /// The user, or results of tools.
    User,
    /// The model's own messages.
    Assistant,
    /// Results of tools, in dialects with a separate role for them.
    Tool,
}

/// A message of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Author of the message.
    pub role: Role,
    /// Contents of the message, in order.
    pub contents: Vec<Content>,
    /// Members common to all contents; also holds a provider's members of the message itself.
    #[serde(flatten)]
    pub meta: Meta,
}

impl Message {
    /// Creates a message without provider settings.
    pub fn new(role: Role, contents: Vec<Content>) -> Self {
        Self {
            role,
            contents,
            meta: Meta::default(),
        }
    }
}

impl Message {
    /// Appends a screenshot to the first user message; a history without one gets a new message.
    ///
    /// Providers recommend this, so that the model need not request a screenshot first.
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
    /// Creates plain text without other members.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            meta: Meta::default(),
        }
    }
}

impl Content {
    /// Creates plain text without other members.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Marks a call of this function as possible structured output.
    pub fn mark_structured_output(&mut self, function: &str) {
        if let Self::FunctionCall(call) = self
            && call.name == function
        {
            call.could_be_structured_output = true;
        }
    }
}
