//! Prepares tools for a dialect's codec, and reports what their declaration lacks.

mod exclusions;
mod hosted;
mod parameters;
mod settings;

pub(crate) use settings::of_mut as settings_of;

use telechir_protocol::Tool;

use crate::declaration::{RefuseTool, relocate, tool_location};
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// What a codec returns for an offer.
type Declared = Result<(Declaration, Report), EncodeError>;

/// Declares tools with their settings for the dialect's provider. A tool or setting that is not
/// declared is in the report, except for the tools that go to `refuse`.
pub(crate) fn declare(
    dialect: &str,
    offer: &ToolOffer,
    codec: impl Fn(&ToolOffer, RefuseTool<'_>) -> Declared,
    refuse: RefuseTool<'_>,
) -> Declared {
    let Some(provider) = settings::provider_of(dialect) else {
        return codec(offer, refuse);
    };
    let mut report = Report::default();
    let mut prepared = ToolOffer {
        tools: Vec::with_capacity(offer.tools.len()),
        model: offer.model.clone(),
    };
    let mut positions = Vec::with_capacity(offer.tools.len());
    let mut servers = Vec::new();
    for (at, tool) in offer.tools.iter().enumerate() {
        let path = tool_location(at);
        let mut tool = tool.clone();
        exclusions::normalize(&mut tool);
        parameters::complete(&mut tool);
        settings::assign(&mut tool, provider, &path, &mut report);
        let tool = hosted::named_as(tool, dialect, provider, &mut servers);
        match hosted::owner_of(&tool).filter(|owner| *owner != provider) {
            Some(owner) => report.lost(
                format!("tool `{}`", hosted::type_of(&tool)),
                path,
                format!("it is a tool of {owner}, which {dialect} does not have"),
            ),
            None => {
                prepared.tools.push(tool);
                positions.push(at);
            }
        }
    }
    let mut is_refused = vec![false; prepared.tools.len()];
    let (mut declaration, mut losses) = codec(&prepared, &mut |at, error| {
        is_refused[at] = true;
        refuse(positions[at], error)
    })?;
    relocate(&mut losses, &positions);
    report.absorb(losses);
    let tools = positions.iter().zip(&prepared.tools).zip(&is_refused);
    let declared: Vec<(usize, &Tool)> = tools
        .filter(|(_, is_refused)| !**is_refused)
        .map(|((at, tool), _)| (*at, tool))
        .collect();
    exclusions::report_ignored(&codec, &declared, offer.model.as_ref(), &mut report);
    if !servers.is_empty() {
        declaration
            .body
            .insert("mcp_servers".to_owned(), servers.into());
    }
    settings::report_unused(&declared, provider, &declaration, &mut report);
    Ok((declaration, report))
}
