//! Tools in JSON. A setting without a neutral name becomes an additional property.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ComputerUseTool, FunctionTool, HostedTool, ShellTool, Tool};
use crate::alias;
use crate::json::{Fields, InvalidMember, KnownFields, Members};

/// The additional properties, including all unknown members.
fn additional(mut properties: Map<String, Value>, unknown: Members) -> Map<String, Value> {
    for (name, value) in unknown.into_rest() {
        properties.entry(name).or_insert(value);
    }
    properties
}

fn no_aliases(_members: &mut Members) -> Result<Option<&'static str>, InvalidMember> {
    Ok(None)
}

macro_rules! tools {
    ($($tool:ident: $settings:path;)*) => {$(
        impl Serialize for $tool {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $tool {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut members = Members::new(Map::deserialize(deserializer)?);
                let invalid =
                    |problem: InvalidMember| D::Error::custom(format_args!("read the tool: {problem}"));
                let spelling = $settings(&mut members).map_err(invalid)?;
                let mut tool = Self::deserialize(KnownFields(&mut members)).map_err(invalid)?;
                tool.additional_properties = additional(tool.additional_properties, members);
                if let Some(name) = spelling {
                    alias::tool::keep_spelling(name, &mut tool.additional_properties);
                }
                Ok(tool)
            }
        }
    )*};
}

tools! {
    ComputerUseTool: alias::tool::computer_settings;
    ShellTool: no_aliases;
    HostedTool: no_aliases;
    FunctionTool: no_aliases;
}

impl Tool {
    /// Whether a tool of this `type`, in any vocabulary, is decoded.
    pub fn is_known_type(name: &str) -> bool {
        alias::tool::canonical(name).is_some() || alias::tool::hosted_type(name).is_some()
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::new(Map::deserialize(deserializer)?);
        let wrong = |problem: InvalidMember| format!("read the tool: {problem}");
        let name = members
            .text("type")
            .map_err(wrong)
            .map_err(D::Error::custom)?;
        let Some(name) = name else {
            return Err(D::Error::custom(wrong(InvalidMember::missing("type"))));
        };
        read(&name, members).map_err(D::Error::custom)
    }
}

fn read(name: &str, mut members: Members) -> Result<Tool, InvalidMember> {
    let mut properties = || {
        let properties = members.object("additional_properties")?;
        let unknown = std::mem::replace(&mut members, Members::new(Map::new()));
        Ok::<_, InvalidMember>(additional(properties, unknown))
    };
    if let Some(hosted_type) = alias::tool::hosted_type(name) {
        let additional_properties = properties()?;
        return Ok(Tool::Hosted(HostedTool {
            hosted_type: hosted_type.to_owned(),
            additional_properties,
        }));
    }
    match alias::tool::canonical(name) {
        Some("image_generation") => Ok(Tool::ImageGeneration {
            additional_properties: properties()?,
        }),
        Some("code_interpreter") => Ok(Tool::CodeInterpreter {
            additional_properties: properties()?,
        }),
        Some("computer_use") => typed(members).map(Tool::ComputerUse),
        Some("shell") => typed(members).map(Tool::Shell),
        Some("hosted") => typed(members).map(Tool::Hosted),
        Some("function") => {
            // Chat completions have the function's members in an object of this name.
            members.lift("function");
            typed(members).map(Tool::Function)
        }
        Some("raw") => Deserialize::deserialize(KnownFields(&mut members))
            .map(Tool::Raw)
            .map_err(|problem| InvalidMember::custom(format_args!("read the tool: {problem}"))),
        _ => {
            let problem = InvalidMember::wrong("type", &name.into(), alias::tool::EXPECTED);
            Err(InvalidMember::custom(format_args!(
                "read the tool: {problem}"
            )))
        }
    }
}

fn typed<'de, T: Deserialize<'de>>(members: Members) -> Result<T, InvalidMember> {
    T::deserialize(Fields::from(members.into_rest()))
}
