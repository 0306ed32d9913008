//! Which tools a model is offered, before any provider's spelling.

mod json;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// When a person is asked before a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ApprovalMode {
    /// Each time. Also read as `always`.
    #[default]
    #[serde(rename = "always_require", alias = "always")]
    Always,
    /// Never. Also read as `never`.
    #[serde(rename = "never_require", alias = "never")]
    Never,
    /// When the policy says so. Also read as `conditional`.
    #[serde(rename = "policy", alias = "conditional")]
    Policy,
}

/// What kind of screen the model is told it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    /// A browser.
    Browser,
    /// A macOS desktop.
    Mac,
    /// A Windows desktop.
    Windows,
    /// A Linux desktop. Also read as `ubuntu`, whose spelling is lost only when it is edited.
    Linux,
    /// A telephone or tablet.
    Mobile,
    /// Any other word.
    Other(String),
}

impl Environment {
    /// The word for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Browser => "browser",
            Self::Mac => "mac",
            Self::Windows => "windows",
            Self::Linux => "linux",
            Self::Mobile => "mobile",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for Environment {
    fn from(word: &str) -> Self {
        match word {
            "browser" => Self::Browser,
            "mac" => Self::Mac,
            "windows" => Self::Windows,
            "linux" | "ubuntu" => Self::Linux,
            "mobile" => Self::Mobile,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A screen to act on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComputerUseTool {
    /// Pixels from left to right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_width: Option<u32>,
    /// Pixels from top to bottom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_height: Option<u32>,
    /// What kind of screen.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShellTool {
    /// When a person is asked.
    #[serde(default)]
    pub approval_mode: ApprovalMode,
    /// Provider settings by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

/// A tool the provider carries out, by its type: `image_generation`, `code_interpreter`, ….
///
/// Two types are ours to carry out: `text_editor`, in each dialect's form of an editor of files,
/// and `memory`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostedTool {
    /// The provider's type.
    pub hosted_type: String,
    /// Its settings by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

impl HostedTool {
    /// A hosted tool of this type without settings.
    pub fn new(hosted_type: impl Into<String>) -> Self {
        Self {
            hosted_type: hosted_type.into(),
            additional_properties: Map::new(),
        }
    }

    /// The tool with one more setting.
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

/// A function the caller carries out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionTool {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// When a person is asked.
    #[serde(default)]
    pub approval_mode: ApprovalMode,
    /// Provider settings by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_properties: Map<String, Value>,
}

/// A tool in a provider's own words, passed on untouched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawTool {
    /// The dialect it is written in.
    pub dialect: String,
    /// The declaration.
    pub json: Value,
}

/// A tool to declare to a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum Tool {
    /// A screen.
    #[serde(rename = "computer_use")]
    ComputerUse(ComputerUseTool),
    /// A shell. Also read as `BashTool`.
    #[serde(rename = "shell")]
    Shell(ShellTool),
    /// An image maker of the provider.
    #[serde(rename = "image_generation")]
    ImageGeneration {
        /// Its settings by provider.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        additional_properties: Map<String, Value>,
    },
    /// A code interpreter of the provider.
    #[serde(rename = "code_interpreter")]
    CodeInterpreter {
        /// Its settings by provider.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        additional_properties: Map<String, Value>,
    },
    /// Any tool of the provider, by its type.
    #[serde(rename = "hosted")]
    Hosted(HostedTool),
    /// A function.
    #[serde(rename = "function")]
    Function(FunctionTool),
    /// A provider's own words.
    #[serde(rename = "raw")]
    Raw(RawTool),
}
