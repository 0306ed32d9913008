//! Contents in JSON, tagged by `type`; a content of unknown type is retained verbatim.

use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    Content, ErrorContent, HostedCall, Meta, ReasoningContent, TextContent, UnknownContent,
    UsageContent, unknown_fields,
};
use crate::alias::content as alias;
use crate::json::{Fields, InvalidMember};
use crate::{
    ApprovalRequest, ApprovalResponse, ComputerCall, ComputerResult, DataContent, EditCall,
    EditResult, FunctionCall, FunctionResult, HostedFileContent, ShellCall, ShellResult,
    UriContent,
};

macro_rules! contents {
    ($($variant:ident($content:ty) = $name:literal,)*) => {
        impl Content {
            /// The `type` of every content known to this version.
            pub const TYPE_NAMES: &'static [&'static str] = &[$($name,)*];

            /// The `type` of the content; none for an object without one.
            pub fn type_name(&self) -> Option<&str> {
                match self {
                    $(Self::$variant(_) => Some($name),)*
                    Self::Other(other) => other.kind.as_deref(),
                }
            }

            /// The members common to all contents; none for an unknown type.
            pub fn meta(&self) -> Option<&Meta> {
                match self {
                    $(Self::$variant(content) => Some(&content.meta),)*
                    Self::Other(_) => None,
                }
            }

            /// The members common to all contents, mutable.
            pub fn meta_mut(&mut self) -> Option<&mut Meta> {
                match self {
                    $(Self::$variant(content) => Some(&mut content.meta),)*
                    Self::Other(_) => None,
                }
            }
        }

        /// Writes `type` before the members of a content.
        #[derive(Serialize)]
        #[serde(tag = "type")]
        enum Tagged<'a> {
            $(#[serde(rename = $name)] $variant(&'a $content),)*
        }

        /// Writes a content without restoring unknown fields.
        fn write_untransformed<S: Serializer>(content: &Content, serializer: S) -> Result<S::Ok, S::Error> {
            match content {
                $(Content::$variant(content) => Tagged::$variant(content).serialize(serializer),)*
                Content::Other(other) => write_other(other, serializer),
            }
        }

        /// The schema of each content's members by its `type`.
        #[cfg(feature = "schema")]
        pub(crate) fn schemas(
            generator: &mut schemars::SchemaGenerator,
        ) -> Vec<(&'static str, schemars::Schema)> {
            vec![$(($name, generator.subschema_for::<$content>()),)*]
        }

        fn read_known(name: &str, members: Map<String, Value>) -> Result<Content, InvalidMember> {
            match name {
                $($name => <$content as Deserialize>::deserialize(Fields::from(members))
                    .map(Content::$variant),)*
                _ => Ok(other(members)),
            }
        }
    };
}

contents! {
    Text(TextContent) = "text",
    Reasoning(ReasoningContent) = "text_reasoning",
    Data(DataContent) = "data",
    Uri(UriContent) = "uri",
    HostedFile(HostedFileContent) = "hosted_file",
    FunctionCall(FunctionCall) = "function_call",
    FunctionResult(FunctionResult) = "function_result",
    ComputerCall(ComputerCall) = "computer_call",
    ComputerResult(ComputerResult) = "computer_result",
    ShellCall(ShellCall) = "shell_call",
    ShellResult(ShellResult) = "shell_result",
    EditCall(EditCall) = "edit_call",
    EditResult(EditResult) = "edit_result",
    CommandCall(HostedCall) = "command_call",
    CommandResult(HostedCall) = "command_result",
    ImageGenerationCall(HostedCall) = "image_generation_call",
    ImageGenerationResult(HostedCall) = "image_generation_result",
    ApprovalRequest(ApprovalRequest) = "approval_request",
    ApprovalResponse(ApprovalResponse) = "approval_response",
    Usage(UsageContent) = "usage",
    Error(ErrorContent) = "error",
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self
            .meta()
            .is_some_and(|meta| unknown_fields::has_unknown_fields(&meta.additional_properties))
        {
            return write_untransformed(self, serializer);
        }
        let mut json =
            write_untransformed(self, serde_json::value::Serializer).map_err(S::Error::custom)?;
        unknown_fields::restore(&mut json);
        json.serialize(serializer)
    }
}

/// The `type` of a wrapper around a dialect's object whose own `type` is a neutral name.
const WRAPPER_TYPE: &str = "unknown_content";
/// Its name in recordings of format 1.
const WRAPPER_TYPE_V1: &str = "other_content";
/// The member that contains the wrapped object.
const WRAPPED_MEMBER: &str = "json";
/// The member that names the dialect of the wrapped object.
const DIALECT_MEMBER: &str = "dialect";

/// Writes an object verbatim, or wrapped if its dialect is known or if it would be decoded as a
/// neutral content.
fn write_other<S: Serializer>(other: &UnknownContent, serializer: S) -> Result<S::Ok, S::Error> {
    let kind = other.json.get("type").and_then(Value::as_str);
    let is_known_type = |kind| {
        [WRAPPER_TYPE, WRAPPER_TYPE_V1].contains(&kind)
            || alias::canonical(kind, &other.json).is_some()
    };
    if other.dialect.is_none() && !kind.is_some_and(is_known_type) {
        return other.json.serialize(serializer);
    }
    let members = 2 + usize::from(other.dialect.is_some());
    let mut map = serializer.serialize_map(Some(members))?;
    map.serialize_entry("type", WRAPPER_TYPE)?;
    if let Some(dialect) = &other.dialect {
        map.serialize_entry(DIALECT_MEMBER, dialect)?;
    }
    map.serialize_entry(WRAPPED_MEMBER, &other.json)?;
    map.end()
}

fn other(members: Map<String, Value>) -> Content {
    Content::Other(members.into())
}

/// Maximum nesting of contents. Two levels occur; a hostile history must not overflow the stack.
const MAX_NESTING: usize = 16;

/// Whether contents nest deeper than `levels`.
fn is_nested_deeper_than(members: &Map<String, Value>, levels: usize) -> bool {
    const NESTED_CONTENT_MEMBERS: [&str; 6] = [
        "call",
        "function_call",
        "items",
        "inputs",
        "results",
        "outputs",
    ];
    let parts = NESTED_CONTENT_MEMBERS
        .iter()
        .filter_map(|part| members.get(*part));
    let contents = parts.flat_map(|part| match part.as_array() {
        Some(contents) => contents.as_slice(),
        None => std::slice::from_ref(part),
    });
    contents
        .filter_map(Value::as_object)
        .any(|content| levels == 0 || is_nested_deeper_than(content, levels - 1))
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        let is_wrapper = members
            .get("type")
            .is_some_and(|kind| kind == WRAPPER_TYPE || kind == WRAPPER_TYPE_V1);
        if is_wrapper && let Some(Value::Object(inner)) = members.get_mut(WRAPPED_MEMBER) {
            let inner = std::mem::take(inner);
            let dialect = members.get(DIALECT_MEMBER).and_then(Value::as_str);
            return Ok(Self::Other(UnknownContent {
                dialect: dialect.map(str::to_owned),
                ..inner.into()
            }));
        }
        let type_name = members.get("type").and_then(Value::as_str);
        let Some(name) = type_name.and_then(|name| alias::canonical(name, &members)) else {
            return Ok(other(members));
        };
        if is_nested_deeper_than(&members, MAX_NESTING) {
            let problem = format_args!("read the content {name}: contents nest too deeply");
            return Err(D::Error::custom(problem));
        }
        if let Some(Value::String(type_name)) = members.shift_remove("type") {
            alias::translate(&type_name, &mut members);
        }
        unknown_fields::extract(&mut members);
        read_known(name, members)
            .map_err(|problem| D::Error::custom(format_args!("read the content {name}: {problem}")))
    }
}
