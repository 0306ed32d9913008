//! Tool declarations of InvokeModel: legacy tool versions, with headers as fields of the body.

use serde_json::{Map, Value};
use telechir_protocol::{RawTool, Tool};

use super::{INVOKE, MESSAGES};
use crate::anthropic;
use crate::bedrock::{detect, models};
use crate::declaration::{RefuseTool, relocate};
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// Value of `anthropic_version` in a body.
pub(super) const VERSION: &str = "bedrock-2023-05-31";

/// Declares the offered tools as Anthropic's own API does.
pub(super) fn messages(
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let offer = relabel_raw_tools(offer, MESSAGES);
    anthropic::declare(&offer, anthropic::NEWEST, &mut |at, error| {
        refuse(at, detect::encode_error_as(error, MESSAGES))
    })
}

/// Declares the offered tools without toolsets.
pub(super) fn invoke(
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let mut offer = relabel_raw_tools(offer, INVOKE);
    let mut positions = Vec::with_capacity(offer.tools.len());
    let mut supported = Vec::with_capacity(offer.tools.len());
    for (at, tool) in offer.tools.into_iter().enumerate() {
        match models::check_legacy_tool_support(&tool, offer.model.as_deref(), INVOKE) {
            Ok(()) => {
                positions.push(at);
                supported.push(tool);
            }
            Err(error) => refuse(at, error)?,
        }
    }
    offer.tools = supported;
    let newest = anthropic::NEWEST_WITHOUT_TOOLSETS;
    let (declared, mut report) = anthropic::declare(&offer, newest, &mut |at, error| {
        refuse(positions[at], detect::encode_error_as(error, INVOKE))
    })?;
    relocate(&mut report, &positions);
    let betas: Vec<Value> = models::betas(&declared.headers);
    let mut body = Map::from_iter([("anthropic_version".to_owned(), VERSION.into())]);
    if !betas.is_empty() {
        body.insert("anthropic_beta".to_owned(), betas.into());
    }
    let declaration = Declaration {
        tools: declared.tools,
        headers: Vec::new(),
        body,
    };
    Ok((declaration, report))
}

/// Relabels raw tools of dialect `name` as tools of `anthropic-messages`.
fn relabel_raw_tools(offer: &ToolOffer, name: &str) -> ToolOffer {
    let tool = |tool: &Tool| match tool {
        Tool::Raw(raw) if raw.dialect == name => Tool::Raw(RawTool {
            dialect: anthropic::DIALECT.to_owned(),
            json: raw.json.clone(),
        }),
        other => other.clone(),
    };
    ToolOffer {
        tools: offer.tools.iter().map(tool).collect(),
        model: offer.model.clone(),
    }
}
