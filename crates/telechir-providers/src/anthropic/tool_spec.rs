//! Anthropic's computer tool as a declaration, for callers that choose its version themselves.

use serde::Serialize;
use telechir_protocol::Size;

use super::models::ToolVersion;

/// Anthropic's computer tool in a request's `tools`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnthropicToolSpec {
    /// `computer_` and the version.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Name of the tool in calls, which is `computer` for every version.
    pub name: &'static str,
    /// Width of the screenshots in pixels.
    pub display_width_px: u32,
    /// Height of the screenshots in pixels.
    pub display_height_px: u32,
}

/// A version of Anthropic's computer tool that does not exist, or has no such declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "declare the computer tool of version {version}: expected 20241022, 20250124 or 20251124{hint}"
)]
pub struct UnknownToolVersion {
    version: String,
    hint: &'static str,
}

/// The declaration of a version, which is given as `20251124` or `computer_20251124`.
///
/// # Errors
/// For an unknown version, and for the toolset, whose declaration has no size.
///
/// ```
/// use telechir_protocol::Size;
/// use telechir_providers::anthropic_tool_spec;
///
/// let spec = anthropic_tool_spec(Size::new(1280, 800), "20251124")?;
/// assert_eq!((spec.kind, spec.name), ("computer_20251124", "computer"));
/// assert!(anthropic_tool_spec(Size::new(1280, 800), "20991231").is_err());
/// # Ok::<(), telechir_providers::UnknownToolVersion>(())
/// ```
pub fn anthropic_tool_spec(
    display: Size,
    version: &str,
) -> Result<AnthropicToolSpec, UnknownToolVersion> {
    match tool_version(version)? {
        ToolVersion::Toolset => Err(UnknownToolVersion {
            version: version.to_owned(),
            hint: "; declare the toolset with Dialect::AnthropicMessages, without a size",
        }),
        known => Ok(AnthropicToolSpec {
            kind: known.computer_type(),
            name: "computer",
            display_width_px: display.width,
            display_height_px: display.height,
        }),
    }
}

/// The value of the header `anthropic-beta` that a version requires; none for the toolset.
///
/// # Errors
/// For an unknown version.
///
/// ```
/// use telechir_providers::anthropic_beta_header;
///
/// assert_eq!(anthropic_beta_header("20251124")?, Some("computer-use-2025-11-24"));
/// assert_eq!(anthropic_beta_header("20241022")?, Some("computer-use-2024-10-22"));
/// assert_eq!(anthropic_beta_header("20260801")?, None);
/// # Ok::<(), telechir_providers::UnknownToolVersion>(())
/// ```
pub fn anthropic_beta_header(version: &str) -> Result<Option<&'static str>, UnknownToolVersion> {
    tool_version(version).map(ToolVersion::beta)
}

fn tool_version(version: &str) -> Result<ToolVersion, UnknownToolVersion> {
    let number = version.rsplit('_').next().unwrap_or(version);
    let kinds = [
        format!("computer_{number}"),
        format!("computer_toolset_{number}"),
    ];
    let found = kinds.iter().find_map(|kind| ToolVersion::of_type(kind));
    found.ok_or_else(|| UnknownToolVersion {
        version: version.to_owned(),
        hint: ", or 20260801 for the toolset",
    })
}
