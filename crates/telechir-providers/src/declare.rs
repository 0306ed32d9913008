//! Prepares tools for a dialect's codec, and reports what their declaration lacks.

mod exclusions;
mod hosted;
mod settings;

pub(crate) use settings::of_mut as settings_of;

use crate::{Declaration, EncodeError, Report, ToolOffer};

/// What a codec returns for an offer.
type Declared = Result<(Declaration, Report), EncodeError>;

/// Declares tools with their settings for the dialect's provider. A tool or setting that is not
/// declared is in the report.
pub(crate) fn declare(
    dialect: &str,
    offer: &ToolOffer,
    codec: impl Fn(&ToolOffer) -> Declared,
) -> Declared {
    let Some(provider) = settings::provider_of(dialect) else {
        return codec(offer);
    };
    let mut report = Report::default();
    let mut prepared = ToolOffer {
        tools: Vec::with_capacity(offer.tools.len()),
        model: offer.model.clone(),
    };
    let mut servers = Vec::new();
    for (at, tool) in offer.tools.iter().enumerate() {
        let path = format!("tools[{at}]");
        let mut tool = tool.clone();
        exclusions::normalize(&mut tool);
        settings::assign(&mut tool, provider, &path, &mut report);
        let tool = hosted::named_as(tool, dialect, provider, &mut servers);
        match hosted::owner_of(&tool).filter(|owner| *owner != provider) {
            Some(owner) => report.lost(
                format!("tool `{}`", hosted::type_of(&tool)),
                path,
                format!("it is a tool of {owner}, which {dialect} does not have"),
            ),
            None => prepared.tools.push(tool),
        }
    }
    let (mut declaration, losses) = codec(&prepared)?;
    report.absorb(losses);
    exclusions::report_ignored(&codec, &prepared, &declaration, &mut report);
    if !servers.is_empty() {
        declaration
            .body
            .insert("mcp_servers".to_owned(), servers.into());
    }
    for (at, tool) in prepared.tools.iter().enumerate() {
        let path = format!("tools[{at}]");
        settings::report_unused(tool, provider, &declaration, &path, &mut report);
    }
    Ok((declaration, report))
}
