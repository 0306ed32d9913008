//! The tools that a model is offered, independent of any provider.

mod json;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// When a tool needs the user's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ApprovalMode {
    /// For each call. Also read as `always`.
    #[default]
    #[serde(rename = "always_require", alias = "always")]
    Always,
    /// Never. Also read as `never`.
    #[serde(rename = "never_require", alias = "never")]
    Never,
    /// When the policy requires it. Also read as `conditional`.
    #[serde(rename = "policy", alias = "conditional")]
    Policy,
}

/// The kind of screen, as declared to the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String", into = "String")]
pub enum Environment {
    /// A web browser; `browser` in JSON.
    Browser,
    /// A macOS desktop; `mac` in JSON.
    Mac,
    /// A Windows desktop; `windows` in JSON.
    Windows,
    /// A Linux desktop. Also read as `ubuntu`, a spelling that is lost only if it is edited.
    Linux,
    /// A phone or tablet.
    Mobile,
    /// Any other name, retained verbatim.
    Other(String),
}

impl Environment {
    /// The name used in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::Browser => "browser",
            Self::Mac => "mac",
            Self::Windows => "windows",
            Self::Linux => "linux",
            Self::Mobile => "mobile",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for Environment {
    fn from(name: &str) -> Self {
        match name {
            "browser" => Self::Browser,
            "mac" => Self::Mac,
            "windows" => Self::Windows,
            "linux" | "ubuntu" => Self::Linux,
            "mobile" => Self::Mobile,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<String> for Environment {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Environment> for String {
    fn from(environment: Environment) -> Self {
        environment.name().to_owned()
    }
}

/// A screen to act on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ComputerUseTool")
)]
#[serde(remote = "Self")]
pub struct ComputerUseTool {
    /// Width in pixels; absent means unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_width: Option<u32>,
    /// Height in pixels; absent means unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_height: Option<u32>,
    /// Kind of screen; absent means unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// Actions the model must not use, by their neutral names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_actions: Vec<String>,
    /// Provider settings: `{"anthropic": {"display_number": 1}}`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

/// A shell to run commands in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ShellTool")
)]
#[serde(remote = "Self")]
pub struct ShellTool {
    /// When the user is asked for approval.
    #[serde(default)]
    pub approval_mode: ApprovalMode,
    /// Provider settings by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

/// A tool that the provider executes, by its type: `image_generation`, `code_interpreter`, ….
///
/// Two types are executed by this program: `text_editor`, in each dialect's form of a file editor,
/// and `memory`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HostedTool")
)]
#[serde(remote = "Self")]
pub struct HostedTool {
    /// The provider's type of the tool.
    pub hosted_type: String,
    /// Provider settings by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

impl HostedTool {
    /// Creates a hosted tool of this type without settings.
    pub fn new(hosted_type: impl Into<String>) -> Self {
        Self {
            hosted_type: hosted_type.into(),
            additional_properties: Map::new(),
        }
    }

    /// Adds a setting to the tool.
    ///
    /// ```
    /// use telechir_protocol::HostedTool;
    /// let tool = HostedTool::new("web_search").with("search_context_size", "low");
    /// assert_eq!(tool.additional_properties["search_context_size"], "low");
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.additional_properties.insert(name.into(), value.into());
        self
    }
}

/// A function that the caller executes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "FunctionTool")
)]
#[serde(remote = "Self")]
pub struct FunctionTool {
    /// Name of the function.
    pub name: String,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    #[serde(default = "no_parameters")]
    #[cfg_attr(feature = "schema", schemars(required))]
    pub parameters: Value,
    /// When the user is asked for approval.
    #[serde(default = "never")]
    pub approval_mode: ApprovalMode,
    /// Provider settings by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

fn no_parameters() -> Value {
    Value::Object(Map::new())
}

fn never() -> ApprovalMode {
    ApprovalMode::Never
}

/// A tool in a provider's own format, passed on unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawTool {
    /// The dialect of the declaration.
    pub dialect: String,
    /// The declaration as JSON.
    pub json: Value,
}

/// A tool to declare to a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum Tool {
    /// A screen to act on.
    #[serde(rename = "computer_use")]
    ComputerUse(ComputerUseTool),
    /// A shell. Also read as `BashTool`.
    #[serde(rename = "shell")]
    Shell(ShellTool),
    /// The provider's image generator.
    #[serde(rename = "image_generation")]
    ImageGeneration {
        /// Provider settings by provider.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        additional_properties: Map<String, Value>,
    },
    /// The provider's code interpreter.
    #[serde(rename = "code_interpreter")]
    CodeInterpreter {
        /// Provider settings by provider.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        additional_properties: Map<String, Value>,
    },
    /// Any tool of the provider, by its type.
    #[serde(rename = "hosted")]
    Hosted(HostedTool),
    /// A function that the caller executes.
    #[serde(rename = "function")]
    Function(FunctionTool),
    /// A declaration in a provider's own format.
    #[serde(rename = "raw")]
    Raw(RawTool),
}
