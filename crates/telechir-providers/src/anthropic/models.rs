//! Which version of the computer tools a model supports.

use crate::service_rules::Generation;

/// A version of the computer tool, by the date in its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolVersion {
    /// `computer_20241022` (beta): clicks only at the pointer.
    October2024,
    /// `computer_20250124` (beta).
    January2025,
    /// `computer_20251124` (beta): adds zoom.
    November2025,
    /// `computer_toolset_20260801` and `browser_toolset_20260801`: one block per action.
    Toolset,
}

impl ToolVersion {
    /// The `type` of the computer tool in a declaration.
    pub(super) const fn computer_type(self) -> &'static str {
        match self {
            Self::October2024 => "computer_20241022",
            Self::January2025 => "computer_20250124",
            Self::November2025 => "computer_20251124",
            Self::Toolset => "computer_toolset_20260801",
        }
    }

    /// The `anthropic-beta` value that this version requires.
    pub(super) const fn beta(self) -> Option<&'static str> {
        match self {
            Self::October2024 => Some(OCTOBER_2024_BETA),
            Self::January2025 => Some("computer-use-2025-01-24"),
            Self::November2025 => Some("computer-use-2025-11-24"),
            Self::Toolset => None,
        }
    }

    /// The version of the computer or browser tool with this `type`.
    pub(super) fn of_type(kind: &str) -> Option<Self> {
        if kind == "browser_toolset_20260801" {
            return Some(Self::Toolset);
        }
        let all = [
            Self::October2024,
            Self::January2025,
            Self::November2025,
            Self::Toolset,
        ];
        all.into_iter()
            .find(|version| version.computer_type() == kind)
    }
}

/// The `anthropic-beta` value that a computer tool of this type requires.
pub(crate) fn computer_beta(kind: &str) -> Option<&'static str> {
    ToolVersion::of_type(kind).and_then(ToolVersion::beta)
}

/// The `anthropic-beta` value that a tool of this type requires.
pub(super) fn beta(kind: &str) -> Option<&'static str> {
    match kind {
        "bash_20241022" | "text_editor_20241022" => Some(OCTOBER_2024_BETA),
        "mcp_toolset" => Some("mcp-client-2025-11-20"),
        "advisor_20260301" => Some("advisor-tool-2026-03-01"),
        _ => computer_beta(kind),
    }
}

pub(super) const OCTOBER_2024_BETA: &str = "computer-use-2024-10-22";

/// A model's family and version: `claude-sonnet-4-5-20250929` is Sonnet 4.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaudeModel {
    pub(super) family: String,
    pub(super) number: (u32, u32),
    dated: Option<u32>,
}

/// Parses a model's name, ignoring what a cloud adds before and after it.
pub(super) fn parse_model(model: &str) -> Option<ClaudeModel> {
    let name = &model[model.rfind("claude-")? + "claude-".len()..];
    let mut family = None;
    let mut numbers = Vec::new();
    let mut dated = None;
    for part in name.split(['-', '@', ':', '.']) {
        match part.parse::<u32>() {
            Ok(date) if part.len() == 8 => dated = Some(date),
            // A second word, or a part such as `v1`, ends the name.
            Ok(number) if part.len() <= 2 && dated.is_none() && numbers.len() < 2 => {
                numbers.push(number);
            }
            Err(_) if family.is_none() && !part.is_empty() => family = Some(part.to_owned()),
            _ => break,
        }
    }
    let major = *numbers.first()?;
    let minor = numbers.get(1).copied().unwrap_or(0);
    Some(ClaudeModel {
        family: family?,
        number: (major, minor),
        dated,
    })
}

/// The newest version that the model supports; the newest of all for an unknown model.
///
/// None for old models without a computer tool.
pub(super) fn version(model: Option<&str>) -> Option<ToolVersion> {
    let Some(model) = model.and_then(parse_model) else {
        return Some(ToolVersion::Toolset);
    };
    match (model.family.as_str(), model.number) {
        ("sonnet", (3, 5)) => (model.dated != Some(20_240_620)).then_some(ToolVersion::October2024),
        (_, number) if number < (3, 7) => None,
        ("opus", number) if number >= (4, 8) => Some(ToolVersion::Toolset),
        (_, number) if number >= (5, 0) => Some(ToolVersion::Toolset),
        ("opus", number) if number >= (4, 5) => Some(ToolVersion::November2025),
        (_, number) if number >= (4, 6) => Some(ToolVersion::November2025),
        _ => Some(ToolVersion::January2025),
    }
}

/// The generation whose tools a model has, from its name alone.
pub(crate) fn generation(model: &str) -> Generation {
    match parse_model(model) {
        Some(ClaudeModel {
            number: (major, minor),
            ..
        }) => Generation::Numbered(major, minor),
        None => Generation::Newest,
    }
}

/// Type of the newest text editor that a model supports.
pub(super) fn text_editor(model: &str) -> &'static str {
    match parse_model(model).map(|model| model.number) {
        Some(number) if number < (3, 7) => "text_editor_20241022",
        Some((3, _)) => "text_editor_20250124",
        Some(_) | None => "text_editor_20250728",
    }
}

/// Whether a model is of the 5.5 line or a later one, which came with API version 2026-10-21.
pub(super) fn needs_newest_version(model: &str) -> bool {
    parse_model(model).is_some_and(|model| model.number >= (5, 5))
}

/// Whether a model supports only the first version of the tools.
pub(crate) fn supports_only_october_2024(model: Option<&str>) -> bool {
    version(model) == Some(ToolVersion::October2024)
}

/// Whether a model supports a legacy computer tool on Bedrock. Opus and Sonnet 5.5 do there,
/// although they only support the toolset elsewhere.
pub(crate) fn supports_legacy_tools(model: &str) -> bool {
    let Some(model) = parse_model(model) else {
        return true;
    };
    let is_both = matches!(model.family.as_str(), "opus" | "sonnet");
    model.number < (5, 2) || (model.number == (5, 5) && is_both)
}

#[cfg(test)]
mod tests {
    use super::{ToolVersion, supports_legacy_tools, version};

    #[test]
    fn newest_models_support_no_legacy_tool() {
        for model in [
            "us.anthropic.claude-opus-5-5",
            "claude-sonnet-4-5",
            "unknown-model",
            "claude-opus-5",
        ] {
            assert!(supports_legacy_tools(model), "{model}");
        }
        for model in [
            "anthropic.claude-haiku-5-5",
            "claude-fable-5-2",
            "claude-opus-6",
        ] {
            assert!(!supports_legacy_tools(model), "{model}");
        }
    }

    #[test]
    fn the_version_follows_the_model() {
        let table = [
            ("claude-fable-5-2", Some(ToolVersion::Toolset)),
            ("claude-mythos-5-1", Some(ToolVersion::Toolset)),
            ("claude-opus-5-5", Some(ToolVersion::Toolset)),
            ("claude-sonnet-5-5-20261001", Some(ToolVersion::Toolset)),
            ("claude-haiku-5-5", Some(ToolVersion::Toolset)),
            ("claude-opus-5", Some(ToolVersion::Toolset)),
            ("claude-sonnet-5", Some(ToolVersion::Toolset)),
            ("claude-opus-4-8", Some(ToolVersion::Toolset)),
            ("claude-opus-4-7", Some(ToolVersion::November2025)),
            ("claude-opus-4-6", Some(ToolVersion::November2025)),
            ("claude-opus-4-5-20251101", Some(ToolVersion::November2025)),
            ("claude-sonnet-4-6", Some(ToolVersion::November2025)),
            (
                "us.anthropic.claude-opus-4-5-20251101-v1:0",
                Some(ToolVersion::November2025),
            ),
            ("claude-sonnet-4-5-20250929", Some(ToolVersion::January2025)),
            ("claude-sonnet-4-5@20250929", Some(ToolVersion::January2025)),
            (
                "global.anthropic.claude-haiku-4-5-20251001-v1:0",
                Some(ToolVersion::January2025),
            ),
            ("claude-opus-4-1-20250805", Some(ToolVersion::January2025)),
            ("claude-opus-4-20250514", Some(ToolVersion::January2025)),
            ("claude-sonnet-4-0", Some(ToolVersion::January2025)),
            ("claude-3-7-sonnet-20250219", Some(ToolVersion::January2025)),
            (
                "anthropic.claude-3-5-sonnet-20241022-v2:0",
                Some(ToolVersion::October2024),
            ),
            ("claude-3-5-sonnet-20240620", None),
            ("claude-3-5-haiku-20241022", None),
            ("claude-3-opus-20240229", None),
            ("claude-mythos-preview", Some(ToolVersion::Toolset)),
            ("a-model-of-tomorrow", Some(ToolVersion::Toolset)),
            ("", Some(ToolVersion::Toolset)),
        ];
        for (model, expected) in table {
            assert_eq!(version(Some(model)), expected, "{model}");
        }
        assert_eq!(version(None), Some(ToolVersion::Toolset));
    }
}
