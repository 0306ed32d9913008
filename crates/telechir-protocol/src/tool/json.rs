//! Tools in JSON. A setting without a neutral name becomes an additional property.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    ApprovalMode, ComputerUseTool, Environment, FunctionTool, HostedTool, RawTool, ShellTool, Tool,
};
use crate::json::{InvalidMember, Members};

impl Serialize for Environment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Environment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::from(name.as_str()))
    }
}

impl ComputerUseTool {
    fn read(mut m: Members) -> Result<Self, InvalidMember> {
        let name = m.text("environment")?;
        let mut tool = Self {
            display_width: pixels(&mut m, "display_width", "display_width_px")?,
            display_height: pixels(&mut m, "display_height", "display_height_px")?,
            environment: name.as_deref().map(Environment::from),
            excluded_actions: m.texts("excluded_actions")?,
            additional_properties: additional(m)?,
        };
        if name.as_deref() == Some("ubuntu") {
            tool.keep_spelling("ubuntu");
        }
        Ok(tool)
    }

    /// Retains OpenAI's own name of a Linux desktop, so that OpenAI gets it back.
    fn keep_spelling(&mut self, name: &str) {
        let settings = self
            .additional_properties
            .entry("openai")
            .or_insert_with(|| Map::new().into());
        if let Value::Object(settings) = settings {
            settings.entry("environment").or_insert_with(|| name.into());
        }
    }
}

fn pixels(
    m: &mut Members,
    canonical: &'static str,
    foreign: &'static str,
) -> Result<Option<u32>, InvalidMember> {
    match m.count(canonical)? {
        Some(pixels) => Ok(Some(pixels)),
        None => m.count(foreign),
    }
}

/// The additional properties, including all remaining members.
fn additional(mut m: Members) -> Result<Map<String, Value>, InvalidMember> {
    let mut properties = m.object("additional_properties")?;
    for (name, value) in m.into_rest() {
        properties.entry(name).or_insert(value);
    }
    Ok(properties)
}

impl ShellTool {
    fn read(mut m: Members) -> Result<Self, InvalidMember> {
        Ok(Self {
            approval_mode: m.typed("approval_mode")?.unwrap_or_default(),
            additional_properties: additional(m)?,
        })
    }
}

impl HostedTool {
    fn read(mut m: Members) -> Result<Self, InvalidMember> {
        let hosted_type = m.text("hosted_type")?;
        Ok(Self {
            hosted_type: hosted_type.ok_or(InvalidMember::Missing {
                member: "hosted_type",
            })?,
            additional_properties: additional(m)?,
        })
    }
}

impl FunctionTool {
    fn read(mut m: Members) -> Result<Self, InvalidMember> {
        Ok(Self {
            name: m
                .text("name")?
                .ok_or(InvalidMember::Missing { member: "name" })?,
            description: m.text("description")?,
            parameters: m.take("parameters").unwrap_or_else(|| Map::new().into()),
            approval_mode: m.typed("approval_mode")?.unwrap_or(ApprovalMode::Never),
            additional_properties: additional(m)?,
        })
    }
}

impl Tool {
    fn read(mut m: Members) -> Result<Self, InvalidMember> {
        let name = m
            .text("type")?
            .ok_or(InvalidMember::Missing { member: "type" })?;
        Ok(match name.as_str() {
            "computer_use" | "ComputerUseTool" => Self::ComputerUse(ComputerUseTool::read(m)?),
            "shell" | "ShellTool" | "BashTool" | "bash" => Self::Shell(ShellTool::read(m)?),
            "image_generation" | "HostedImageGenerationTool" => Self::ImageGeneration {
                additional_properties: additional(m)?,
            },
            "code_interpreter" | "HostedCodeInterpreterTool" => Self::CodeInterpreter {
                additional_properties: additional(m)?,
            },
            "hosted" | "HostedTool" => Self::Hosted(HostedTool::read(m)?),
            "function" | "FunctionTool" => Self::Function(FunctionTool::read(m)?),
            "raw" | "RawTool" => Self::Raw(raw(m)?),
            _ => return Err(InvalidMember::wrong("type", &name.into(), WANTED)),
        })
    }
}

const WANTED: &str =
    "computer_use, shell, image_generation, code_interpreter, hosted, function or raw";

fn raw(mut m: Members) -> Result<RawTool, InvalidMember> {
    Ok(RawTool {
        dialect: m
            .text("dialect")?
            .ok_or(InvalidMember::Missing { member: "dialect" })?,
        json: m
            .take("json")
            .ok_or(InvalidMember::Missing { member: "json" })?,
    })
}

macro_rules! read_members {
    ($($tool:ident)*) => {$(
        impl<'de> Deserialize<'de> for $tool {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::read(Members::new(Map::deserialize(deserializer)?))
                    .map_err(|problem| D::Error::custom(format_args!("read the tool: {problem}")))
            }
        }
    )*};
}

read_members! { ComputerUseTool ShellTool HostedTool FunctionTool Tool }
