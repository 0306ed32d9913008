//! Encodes calls as function calls: as predefined functions where they represent the call
//! completely, else as our own functions.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Arguments, CallId, ComputerCall, Content, FunctionCall, Meta, SafetyCheck, SafetySource,
    ShellCall, ToolResult,
};

use super::call::{CHECK, property};
use super::encode_action::{GoogleActionEncoder, PredefinedCall};
use super::functions::FunctionVocabulary;
use super::{PROVIDER, action, report_losses, shell, split_calls};
use crate::{Report, fallback_tools, precision};

/// An encoded function call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EncodedFunctionCall {
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) args: Value,
    /// Index of the action in its call; absent if the function call covers all actions.
    pub(super) action: Option<usize>,
}

/// Encodes calls and reports losses.
#[derive(Debug)]
pub(super) struct FunctionCallEncoder<'a> {
    pub(super) action_encoder: GoogleActionEncoder,
    /// Safety checks of the call that the user approved, according to its result.
    pub(super) acknowledged: &'a [SafetyCheck],
    pub(super) report: &'a mut Report,
}

/// The function calls that a call of another dialect was encoded as, when its result is encoded
/// alone.
pub(super) fn write_again(content: &Content, result: &ToolResult) -> Vec<EncodedFunctionCall> {
    let acknowledged = match result {
        ToolResult::Computer(result) => result.acknowledged_safety_checks.as_slice(),
        _ => &[],
    };
    let mut report = Report::default();
    let action_encoder = GoogleActionEncoder {
        vocabulary: FunctionVocabulary::Current,
        image: None,
    };
    let mut encoder = FunctionCallEncoder {
        action_encoder,
        acknowledged,
        report: &mut report,
    };
    write(content, &mut encoder, "")
}

/// Encodes a call as function calls; empty if the content is not a call.
pub(super) fn write(
    content: &Content,
    encoder: &mut FunctionCallEncoder<'_>,
    location: &str,
) -> Vec<EncodedFunctionCall> {
    match content {
        Content::ComputerCall(call) => computer(call, encoder, location),
        Content::ShellCall(call) => shell_call(call, content, encoder, location),
        Content::EditCall(call) => {
            report_losses(encoder.report, location, call.item_id.as_deref(), None);
            undecoded(&call.meta, &call.call_id).unwrap_or_else(|| {
                encoder.report.preserved(
                    "an editor call",
                    location,
                    "the provider has no such tool",
                    "as a call of our function",
                );
                own_function(content, &call.call_id, &call.meta)
            })
        }
        Content::FunctionCall(call) => function(call, encoder, location),
        _ => Vec::new(),
    }
}

fn one(id: &CallId, name: impl Into<String>, args: Value) -> Vec<EncodedFunctionCall> {
    vec![EncodedFunctionCall {
        id: id.clone(),
        name: name.into(),
        args,
        action: None,
    }]
}

/// The original name and arguments of a call that could not be decoded.
fn undecoded(meta: &Meta, id: &CallId) -> Option<Vec<EncodedFunctionCall>> {
    let name = meta.property(PROVIDER, property::FUNCTION)?.as_str()?;
    let args = meta.property(PROVIDER, property::ARGS)?;
    let args = match args {
        Value::Object(_) => args.clone(),
        Value::String(text) => json!({"arguments": text}),
        odd => json!({"arguments": odd.to_string()}),
    };
    Some(one(id, name, args))
}

fn computer(
    call: &ComputerCall,
    encoder: &mut FunctionCallEncoder<'_>,
    location: &str,
) -> Vec<EncodedFunctionCall> {
    report_losses(
        encoder.report,
        location,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    if call.actions.is_empty()
        && let Some(encoded) = undecoded(&call.meta, &call.call_id)
    {
        return encoded;
    }
    let action_encoder = action_encoder(call, encoder.action_encoder);
    let actions: Option<Vec<PredefinedCall>> = call
        .actions
        .iter()
        .map(|action| action_encoder.encode(action))
        .collect();
    let mut encoded = match actions.filter(|actions| !actions.is_empty()) {
        Some(actions) => predefined(call, actions, encoder.report, location),
        None => own_computer(call, encoder.report, location),
    };
    if let Some(last) = encoded.last_mut() {
        add_check(call, last, encoder, location);
    }
    encoded
}

/// A call decoded from the legacy vocabulary is encoded in it again.
fn action_encoder(call: &ComputerCall, action_encoder: GoogleActionEncoder) -> GoogleActionEncoder {
    let is_legacy = call.meta.property(PROVIDER, property::LEGACY) == Some(&Value::Bool(true));
    let vocabulary = if is_legacy {
        FunctionVocabulary::Legacy
    } else {
        action_encoder.vocabulary
    };
    GoogleActionEncoder {
        vocabulary,
        ..action_encoder
    }
}

fn predefined(
    call: &ComputerCall,
    actions: Vec<PredefinedCall>,
    report: &mut Report,
    location: &str,
) -> Vec<EncodedFunctionCall> {
    if let Some(target) = &call.target {
        let why = "the tool has one screen, of the environment it is declared with";
        report.lost(format!("target `{target}`"), location, why);
    } else if call.group.as_deref() == Some(crate::extra_tools::BROWSER) {
        let why = "the tool has one screen, of the environment it is declared with";
        report.lost("group `browser`", location, why);
    }
    let count = actions.len();
    let write = |(at, action): (usize, PredefinedCall)| {
        for (what, why, how) in action.notes {
            report.preserved(what, location, why, how);
        }
        let mut args = action.args;
        let name = chosen(call, &args).map_or(action.name, |name| name);
        let rest = call.meta.property(PROVIDER, property::ARGS);
        if let (Some(Value::Object(rest)), 1) = (rest, count) {
            args.extend(rest.clone());
        }
        if let (Some(intent), true) = (&call.intent, at + 1 == count) {
            args.insert("intent".to_owned(), intent.as_str().into());
        }
        EncodedFunctionCall {
            id: split_calls::part_id(&call.call_id, at + 1, count),
            name: name.to_owned(),
            args: Value::Object(args),
            action: (count > 1).then_some(at),
        }
    };
    actions.into_iter().enumerate().map(write).collect()
}

/// The alias that the call used, if it still means the same action.
fn chosen<'a>(call: &'a ComputerCall, args: &Map<String, Value>) -> Option<&'a str> {
    let name = call.meta.property(PROVIDER, property::FUNCTION)?.as_str()?;
    let [action] = call.actions.as_slice() else {
        return None;
    };
    let (read, _) = action::read(name, args)?;
    (read.as_ref() == Ok(action)).then_some(name)
}

fn own_computer(
    call: &ComputerCall,
    report: &mut Report,
    location: &str,
) -> Vec<EncodedFunctionCall> {
    let content = Content::ComputerCall(call.clone());
    let encoded = own_function(&content, &call.call_id, &call.meta);
    let is_own = super::raw_of(&call.meta).is_some();
    if let Some(encoded) = encoded.first().filter(|_| !is_own) {
        let names: Vec<&str> = call.actions.iter().map(|action| action.name()).collect();
        let why = "no predefined function represents it completely";
        let how = format!("as a call of the function `{}`", encoded.name);
        report.preserved(format!("call of {}", names.join(", ")), location, why, how);
    }
    if let Some(intent) = &call.intent {
        let why = "our function has no such argument";
        report.lost(format!("intent `{intent}`"), location, why);
    }
    encoded
}

/// Encodes a call as a call of our own function.
fn own_function(content: &Content, id: &CallId, meta: &Meta) -> Vec<EncodedFunctionCall> {
    let Some(called) = fallback_tools::to_function_call(content) else {
        return Vec::new();
    };
    let mut args = match called.arguments.to_value() {
        Ok(args @ Value::Object(_)) => args,
        Ok(_) | Err(_) => json!({"arguments": called.arguments.to_text()}),
    };
    if let (Some(decision), Some(args)) = (
        meta.property(PROVIDER, property::DECISION),
        args.as_object_mut(),
    ) {
        args.insert(CHECK.to_owned(), decision.clone());
    }
    one(id, called.name, args)
}

/// The safety decision goes with the last function call of a batch, whose response acknowledges it.
fn add_check(
    call: &ComputerCall,
    encoded: &mut EncodedFunctionCall,
    encoder: &mut FunctionCallEncoder<'_>,
    location: &str,
) {
    let Some(args) = encoded.args.as_object_mut() else {
        return;
    };
    if let Some(decision) = call.meta.property(PROVIDER, property::DECISION) {
        args.insert(CHECK.to_owned(), decision.clone());
    }
    let mut explanations = Vec::new();
    for check in &call.pending_safety_checks {
        let is_known = |known: &SafetyCheck| known.id == check.id;
        if check.source != SafetySource::Google {
            if !encoder.acknowledged.iter().any(is_known) {
                let why = "only a check that the user approved can be encoded";
                let what = format!("safety check {} of another source", check.id);
                encoder.report.lost(what, location, why);
                continue;
            }
            let why = "a call has a single decision without check ids";
            let what = format!("safety check {} of another source", check.id);
            encoder.report.preserved(
                what,
                location,
                why,
                "as a decision that requires confirmation",
            );
        }
        let code = check.code.as_deref().unwrap_or_default();
        explanations.push(check.message.as_deref().unwrap_or(code));
        args.insert(
            CHECK.to_owned(),
            json!({"decision": "require_confirmation"}),
        );
    }
    explanations
        .retain(|explanation| !explanation.is_empty() && *explanation != "require_confirmation");
    if let (Some(decision), false) = (args.get_mut(CHECK), explanations.is_empty()) {
        decision["explanation"] = explanations.join("\n").into();
    }
}

fn shell_call(
    call: &ShellCall,
    content: &Content,
    encoder: &mut FunctionCallEncoder<'_>,
    location: &str,
) -> Vec<EncodedFunctionCall> {
    report_losses(
        encoder.report,
        location,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    let stored_name = call.meta.property(PROVIDER, property::FUNCTION);
    if stored_name == Some(&Value::from(shell::COMMAND_LINE)) {
        let rest = call.meta.property(PROVIDER, property::ARGS);
        let rest = rest.and_then(Value::as_object).cloned().unwrap_or_default();
        let args = shell::write(call).or_else(|| call.exception.as_ref().map(|_| Map::new()));
        if let Some(mut args) = args {
            args.extend(rest);
            if let Some(decision) = call.meta.property(PROVIDER, property::DECISION) {
                args.insert(CHECK.to_owned(), decision.clone());
            }
            return one(&call.call_id, shell::COMMAND_LINE, Value::Object(args));
        }
    }
    if call.environment != telechir_protocol::ShellEnvironment::Local {
        encoder.report.preserved(
            "a shell call that its provider executed",
            location,
            "it belongs to another provider",
            "as a call of our function",
        );
    }
    own_function(content, &call.call_id, &call.meta)
}

fn function(
    call: &FunctionCall,
    encoder: &mut FunctionCallEncoder<'_>,
    location: &str,
) -> Vec<EncodedFunctionCall> {
    report_losses(encoder.report, location, call.item_id.as_deref(), None);
    let id = call.call_id.clone().unwrap_or_else(|| {
        let how = "with an id derived from its position";
        let why = "an id connects a call with its result";
        encoder
            .report
            .preserved("the absence of a call id", location, why, how);
        CallId::from(super::generated_id(location, 0))
    });
    if !call.requires_local_execution {
        encoder.report.preserved(
            format!("a call of `{}` that the provider executed", call.name),
            location,
            "it belongs to another provider",
            "as a call of a function with the same name",
        );
    }
    if let Some(args @ Value::Object(_)) = call.meta.property(PROVIDER, property::ARGS) {
        return one(&id, call.name.as_str(), args.clone());
    }
    let args = match call.arguments.to_value() {
        Ok(args @ Value::Object(_)) => {
            if let Arguments::Text(text) = &call.arguments {
                precision::report(text.as_bytes(), location, encoder.report);
            }
            args
        }
        Ok(_) | Err(_) => {
            let why = "arguments must be an object";
            encoder.report.preserved(
                "arguments that are not an object",
                location,
                why,
                "in the field `arguments`",
            );
            json!({"arguments": call.arguments.to_text()})
        }
    };
    let name = if let Arguments::Json(_) = &call.arguments {
        call.name.as_str()
    } else {
        call.name.trim()
    };
    one(&id, name, args)
}
