//! Computer calls and outputs of both tool generations.

use serde_json::Value;
use telechir_protocol::{
    CallId, ComputerCall, ComputerResult, Content, Media, SafetyCheck, SafetySource,
};

use super::ItemReader;
use crate::extra_tools::COMPUTER_GROUP;
use crate::json::{into_media, object, owned, present, text};
use crate::openai::PROVIDER;
use crate::openai::action::{DecodedActions, decode_batch, decode_single, unreadable};
use crate::openai::call_form::form_property;
use crate::openai::decode::message::media;
use crate::openai::item::{Item, keep, raw};

impl ItemReader {
    /// Decodes a call; `None` if it has no id and thus cannot be answered.
    pub(super) fn computer_call(&mut self, item: &Item, path: &str) -> Option<Content> {
        let call_id = text(item, "call_id")?;
        let read = self.steps(item, path);
        let checks = safety_checks(item, "pending_safety_checks");
        let mut call = ComputerCall::new(call_id, read.actions);
        call.exception = read
            .problem
            .or_else(|| unfinished(item))
            .or_else(|| checks.as_ref().err().cloned());
        call.pending_safety_checks = checks.unwrap_or_default();
        call.item_id = owned(item, "id");
        call.status = owned(item, "status");
        call.group = Some(COMPUTER_GROUP.to_owned());
        call.meta = raw(item);
        // Undecodable actions are repeated unchanged.
        if call.exception.is_some() && call.actions.is_empty() {
            keep(&mut call.meta, item, &["action", "actions"]);
        }
        if item.contains_key("action") {
            call.meta
                .set_property(PROVIDER, form_property::NAME, form_property::PREVIEW.into());
        }
        Some(Content::ComputerCall(call))
    }

    /// Exactly one of `action` and `actions` must be present; null is an error.
    fn steps(&mut self, item: &Item, path: &str) -> DecodedActions {
        match (item.get("action"), item.get("actions")) {
            (None, Some(actions)) => decode_batch(actions, path, &mut self.report),
            (Some(action), None) => decode_single(action, path, &mut self.report),
            (Some(action), Some(actions)) => {
                let mut read = if action.is_null() {
                    decode_batch(actions, path, &mut self.report)
                } else {
                    decode_single(action, path, &mut self.report)
                };
                read.problem = Some("it has both `action` and `actions`".to_owned());
                read
            }
            (None, None) => unreadable("it has neither `action` nor `actions`"),
        }
    }
}

/// The reason a readable call must not be executed: the model did not finish it.
pub(super) fn unfinished(item: &Item) -> Option<String> {
    match text(item, "status") {
        None | Some("completed") => None,
        Some(status) => Some(format!("the call is unfinished: its status is `{status}`")),
    }
}

/// Fails if a check cannot be read, because it could not be acknowledged either.
fn safety_checks(item: &Item, name: &str) -> Result<Vec<SafetyCheck>, String> {
    let Some(checks) = present(item, name) else {
        return Ok(Vec::new());
    };
    let unreadable = || format!("`{name}` is invalid");
    let check = |check: &Value| {
        let check = check.as_object().ok_or_else(unreadable)?;
        Ok(SafetyCheck {
            id: owned(check, "id").ok_or_else(unreadable)?,
            code: owned(check, "code"),
            message: owned(check, "message"),
            source: SafetySource::Openai,
        })
    };
    checks
        .as_array()
        .ok_or_else(unreadable)?
        .iter()
        .map(check)
        .collect()
}

pub(super) fn output(item: &Item) -> Option<Content> {
    let mut result = ComputerResult::new(CallId::from(text(item, "call_id")?));
    let output = object(item, "output");
    result.item_id = owned(item, "id");
    result.screenshot = output.and_then(screenshot);
    // The oldest samples put the page URL next to the screenshot.
    result.current_url = output.and_then(|output| owned(output, "current_url"));
    result.acknowledged_safety_checks =
        safety_checks(item, "acknowledged_safety_checks").unwrap_or_default();
    result.group = Some(COMPUTER_GROUP.to_owned());
    result.meta = raw(item);
    keep(&mut result.meta, item, &["status"]);
    if let Some(output) = output {
        let detail = output.get("detail").cloned().unwrap_or_default();
        result.meta.set_property(PROVIDER, "detail", detail);
    }
    Some(Content::ComputerResult(result))
}

fn screenshot(output: &Item) -> Option<Media> {
    into_media(media(output)?)
}
