//! Encodes one result of a call that an agent returned control for: text or an image, never both.

use serde_json::{Value, json};
use telechir_protocol::{Content, FailureKind, Meta};

use super::encode::missing;
use super::{CONFIRMATION, MAX_CALLS, PROVIDER};
use crate::bedrock::media;
use crate::json::text_of;
use crate::{EncodeError, Report, extra_tools};

/// Encodes a result with the fields that it repeats from its call.
pub(super) struct InvocationResultEncoder<'a> {
    pub(super) call: Option<&'a Meta>,
    pub(super) result: Option<&'a Meta>,
    /// Name of the called function.
    pub(super) name: String,
    /// The user's answer to a confirmation, if there was one.
    pub(super) confirmation: Option<bool>,
}

/// The default action group of a function.
pub(super) fn group(name: &str) -> String {
    match name {
        "str_replace_editor" | "str_replace_based_edit_tool" => "text_editor".to_owned(),
        other => other.to_owned(),
    }
}

/// Name of the function that a call invokes.
pub(super) fn name_of(call: &Content) -> String {
    let own = call
        .meta()
        .and_then(|meta| meta.raw_representation.as_ref());
    let own = own.and_then(|raw| {
        raw.json()
            .get("functionInvocationInput")?
            .get("function")?
            .as_str()
    });
    let name = match call {
        Content::ComputerCall(_) => "computer",
        Content::ShellCall(_) => "bash",
        Content::EditCall(_) => "str_replace_based_edit_tool",
        Content::FunctionCall(call) => call.name.as_str(),
        _ => "",
    };
    own.unwrap_or(name).to_owned()
}

/// The user's answer to the agent's confirmation request for this call; none if there was no
/// request or the answer is unknown. Executing a call does not imply that the user confirmed it.
pub(super) fn confirmation(call: &Content, result: &Content) -> Option<bool> {
    let failed = match result {
        Content::ComputerResult(result) => result.error.as_ref(),
        Content::ShellResult(result) => result.error.as_ref(),
        Content::EditResult(result) => result.error.as_ref(),
        Content::FunctionResult(result) => result.error.as_ref(),
        _ => None,
    };
    let needs_confirmation = call
        .meta()
        .and_then(|meta| meta.property(PROVIDER, "actionInvocationType")?.as_str())
        .is_some_and(|kind| kind.starts_with("USER_CONFIRMATION"));
    if needs_confirmation && failed.is_some_and(|failure| failure.kind == FailureKind::Denied) {
        return Some(false);
    }
    let acknowledged = match result {
        Content::ComputerResult(result) => &result.acknowledged_safety_checks,
        _ => return None,
    };
    let is_yes = acknowledged
        .iter()
        .any(|check| check.code.as_deref() == Some(CONFIRMATION));
    (needs_confirmation && is_yes).then_some(true)
}

/// The answer to a confirmation request; after a yes the agent executes the call itself.
pub(super) fn decision(call: &Meta, is_yes: bool) -> Value {
    let mut answer = json!({"confirmationState": if is_yes { "CONFIRM" } else { "DENY" }});
    let raw = call.raw_representation.as_ref().map(|raw| raw.json());
    let (kind, names) = kind_of(raw);
    let input = raw.and_then(|raw| raw.as_object()?.values().next());
    for name in names {
        if let Some(value) = input.and_then(|input| input.get(name)) {
            answer[*name] = value.clone();
        }
    }
    json!({kind: answer})
}

/// The field of a result, and the fields it repeats from its call.
fn kind_of(raw: Option<&Value>) -> (&'static str, &'static [&'static str]) {
    if raw.is_some_and(|raw| raw.get("apiInvocationInput").is_some()) {
        (
            "apiResult",
            &["actionGroup", "agentId", "httpMethod", "apiPath"],
        )
    } else {
        ("functionResult", &["actionGroup", "agentId", "function"])
    }
}

impl InvocationResultEncoder<'_> {
    /// Encodes the result of a `tool_result` block.
    pub(super) fn encode(&self, block: &Value, report: &mut Report) -> Result<Value, EncodeError> {
        let location = format!("result {}", text_of(block, "tool_use_id"));
        let property = |name: &str| {
            let of = |meta: Option<&Meta>| meta?.property(PROVIDER, name).cloned();
            of(self.call).or_else(|| of(self.result))
        };
        let is_api = property("apiPath").is_some();
        let mut result = json!({});
        result["actionGroup"] = property("actionGroup").unwrap_or_else(|| group(&self.name).into());
        let repeated: &[&str] = if is_api {
            &["agentId", "httpMethod", "apiPath", "httpStatusCode"]
        } else {
            &["agentId"]
        };
        for name in repeated {
            if let Some(value) = property(name) {
                result[*name] = value;
            }
        }
        if !is_api && !self.name.is_empty() {
            result["function"] = self.name.as_str().into();
        }
        let own = |name: &str| {
            self.result
                .and_then(|meta| meta.property(PROVIDER, name))
                .cloned()
        };
        let invocation_type = property("actionInvocationType");
        let needs_confirmation = invocation_type.is_some_and(|kind| kind != "RESULT");
        match self.confirmation {
            Some(is_yes) => {
                result["confirmationState"] = if is_yes { "CONFIRM" } else { "DENY" }.into();
            }
            None => match own("confirmationState") {
                Some(state) => result["confirmationState"] = state,
                None if needs_confirmation => report.lost(
                    "confirmation",
                    &location,
                    "the agent requires the user's confirmation, which is unknown",
                ),
                None => {}
            },
        }
        if block.get("is_error") == Some(&Value::Bool(true)) {
            // The state `FAILURE` would end the agent's turn.
            result["responseState"] = own("responseState").unwrap_or_else(|| "REPROMPT".into());
        }
        let (key, body) = self.body(block, &location, report)?;
        let key = if is_api && key == "TEXT" {
            "application/json"
        } else {
            key
        };
        result["responseBody"] = json!({key: body});
        let kind = if is_api {
            "apiResult"
        } else {
            "functionResult"
        };
        Ok(json!({kind: result}))
    }

    fn body(
        &self,
        block: &Value,
        location: &str,
        report: &mut Report,
    ) -> Result<(&'static str, Value), EncodeError> {
        let mut texts: Vec<&str> = Vec::new();
        let mut images: Vec<&Value> = Vec::new();
        match block.get("content") {
            Some(Value::String(text)) => texts.push(text),
            Some(Value::Array(parts)) => {
                for part in parts {
                    match text_of(part, "type") {
                        "text" => texts.push(text_of(part, "text")),
                        "image" => images.push(part),
                        kind => report.lost(
                            format!("a part of type {kind}"),
                            location,
                            "a result is text or an image",
                        ),
                    }
                }
            }
            _ => {}
        }
        let may_show = matches!(
            self.name.as_str(),
            "computer"
                | extra_tools::COMPUTER
                | extra_tools::BROWSER
                | extra_tools::EXECUTE_BROWSER
        );
        if !may_show && !images.is_empty() {
            let why = "only results of computer functions may contain one";
            report.lost("screenshot", location, why);
            images.clear();
        }
        let Some(last) = images.pop() else {
            return Ok(("TEXT", json!({"body": texts.join("\n")})));
        };
        if !images.is_empty() {
            let what = format!("{} earlier images", images.len());
            report.lost(what, location, "a result contains one image");
        }
        if !texts.is_empty() {
            let what = "text, or the page's URL, beside an image";
            report.lost(what, location, "a result is text or an image");
        }
        let source = last.get("source").unwrap_or(&Value::Null);
        let kind = text_of(source, "media_type");
        let format = media::image_format(kind).ok_or_else(|| {
            missing(format!(
                "{location}: expected a PNG, JPEG, GIF or WebP image, found {kind:?}"
            ))
        })?;
        let data = text_of(source, "data");
        let image = json!({"format": format, "source": {"bytes": data}});
        Ok(("IMAGES", json!({"images": [image]})))
    }
}

/// Checks the results in a request against the service's rules.
pub(super) fn check(item: &Value) -> Result<(), EncodeError> {
    let state = item
        .get("sessionState")
        .or_else(|| item.get("inlineSessionState"))
        .unwrap_or(item);
    let results = state
        .get("returnControlInvocationResults")
        .and_then(Value::as_array);
    let Some(results) = results else {
        return Ok(());
    };
    if !(1..=MAX_CALLS).contains(&results.len()) {
        let count = results.len();
        return Err(missing(format!(
            "expected 1 to {MAX_CALLS} `returnControlInvocationResults`, found {count}"
        )));
    }
    for (at, result) in results.iter().enumerate() {
        check_result(result, &format!("returnControlInvocationResults[{at}]"))?;
    }
    Ok(())
}

fn check_result(result: &Value, location: &str) -> Result<(), EncodeError> {
    let fields = result.as_object().and_then(|result| result.values().next());
    let fields = fields.unwrap_or(&Value::Null);
    let reject = |expected: &str| Err(missing(format!("{location}: expected {expected}")));
    if text_of(fields, "actionGroup").is_empty() {
        return reject("an `actionGroup`");
    }
    if !matches!(
        text_of(fields, "confirmationState"),
        "" | "CONFIRM" | "DENY"
    ) {
        return reject("a `confirmationState` of CONFIRM or DENY");
    }
    if !matches!(
        text_of(fields, "responseState"),
        "" | "FAILURE" | "REPROMPT"
    ) {
        return reject("a `responseState` of FAILURE or REPROMPT");
    }
    let bodies = fields.get("responseBody").and_then(Value::as_object);
    if bodies.is_some_and(|bodies| bodies.len() > 1) {
        return reject("one kind of `responseBody`, TEXT or IMAGES");
    }
    let body = bodies.and_then(|bodies| bodies.values().next());
    let images = body.and_then(|body| body.get("images")?.as_array());
    if images.is_some_and(|images| images.len() > 1) {
        return reject("at most one image in `images`");
    }
    Ok(())
}
