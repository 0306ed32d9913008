//! Encodes calls as function calls: as predefined functions where they represent the call
//! completely, else as our own functions.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Arguments, CallId, ComputerCall, Content, FunctionCall, Meta, SafetyCheck, SafetySource,
    ShellCall,
};

use super::call::{CHECK, kept};
use super::encode_action::{Said, Speaker};
use super::functions::Generation;
use super::{PROVIDER, action, shell, split_calls, unsaid};
use crate::{Report, function_tools, numbers};

/// An encoded function call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) args: Value,
    /// Index of the action in its call; absent if the function call covers all actions.
    pub(super) action: Option<usize>,
}

/// Encodes calls and reports losses.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) speaker: Speaker,
    /// Safety checks of the call that the user approved, according to its result.
    pub(super) acknowledged: &'a [SafetyCheck],
    pub(super) report: &'a mut Report,
}

/// Encodes a call as function calls; empty if the content is not a call.
pub(super) fn write(content: &Content, asking: &mut Asking<'_>, place: &str) -> Vec<Asked> {
    match content {
        Content::ComputerCall(call) => computer(call, asking, place),
        Content::ShellCall(call) => shell_call(call, content, asking, place),
        Content::EditCall(call) => {
            unsaid(
                asking.report,
                place,
                &call.meta,
                call.item_id.as_deref(),
                None,
            );
            as_it_reads(&call.meta, &call.call_id).unwrap_or_else(|| {
                asking.report.kept(
                    "an editor call",
                    place,
                    "the provider has no such tool",
                    "as a call of our function",
                );
                ours(content, &call.call_id, &call.meta)
            })
        }
        Content::FunctionCall(call) => function(call, asking, place),
        _ => Vec::new(),
    }
}

fn one(id: &CallId, name: impl Into<String>, args: Value) -> Vec<Asked> {
    vec![Asked {
        id: id.clone(),
        name: name.into(),
        args,
        action: None,
    }]
}

/// The original name and arguments of a call that could not be decoded.
fn as_it_reads(meta: &Meta, id: &CallId) -> Option<Vec<Asked>> {
    let name = meta.property(PROVIDER, kept::FUNCTION)?.as_str()?;
    let args = meta.property(PROVIDER, kept::ARGS)?.clone();
    Some(one(id, name, args))
}

fn computer(call: &ComputerCall, asking: &mut Asking<'_>, place: &str) -> Vec<Asked> {
    unsaid(
        asking.report,
        place,
        &call.meta,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    if call.actions.is_empty()
        && let Some(asked) = as_it_reads(&call.meta, &call.call_id)
    {
        return asked;
    }
    let speaker = speaker(call, asking.speaker);
    let said: Option<Vec<Said>> = call
        .actions
        .iter()
        .map(|action| speaker.say(action))
        .collect();
    let mut asked = match said.filter(|said| !said.is_empty()) {
        Some(said) => predefined(call, said, asking.report, place),
        None => our_computer(call, asking.report, place),
    };
    if let Some(last) = asked.last_mut() {
        add_check(call, last, asking, place);
    }
    asked
}

/// A call decoded from the legacy vocabulary is encoded in it again.
fn speaker(call: &ComputerCall, speaker: Speaker) -> Speaker {
    let is_old = call.meta.property(PROVIDER, kept::OLD) == Some(&Value::Bool(true));
    let generation = if is_old {
        Generation::Old
    } else {
        speaker.generation
    };
    Speaker {
        generation,
        ..speaker
    }
}

fn predefined(
    call: &ComputerCall,
    said: Vec<Said>,
    report: &mut Report,
    place: &str,
) -> Vec<Asked> {
    if let Some(target) = &call.target {
        let why = "the tool has one screen, of the environment it is declared with";
        report.lost(format!("target `{target}`"), place, why);
    } else if call.group.as_deref() == Some(crate::companion::BROWSER) {
        let why = "the tool has one screen, of the environment it is declared with";
        report.lost("group `browser`", place, why);
    }
    let count = said.len();
    let write = |(at, said): (usize, Said)| {
        for (what, why, how) in said.notes {
            report.kept(what, place, why, how);
        }
        let mut args = said.args;
        let name = chosen(call, &args).map_or(said.name, |name| name);
        let rest = call.meta.property(PROVIDER, kept::ARGS);
        if let (Some(Value::Object(rest)), 1) = (rest, count) {
            args.extend(rest.clone());
        }
        if let (Some(intent), true) = (&call.intent, at + 1 == count) {
            args.insert("intent".to_owned(), intent.as_str().into());
        }
        Asked {
            id: split_calls::part_id(&call.call_id, at + 1, count),
            name: name.to_owned(),
            args: Value::Object(args),
            action: (count > 1).then_some(at),
        }
    };
    said.into_iter().enumerate().map(write).collect()
}

/// The alias that the call used, if it still means the same action.
fn chosen<'a>(call: &'a ComputerCall, args: &Map<String, Value>) -> Option<&'a str> {
    let name = call.meta.property(PROVIDER, kept::FUNCTION)?.as_str()?;
    let [action] = call.actions.as_slice() else {
        return None;
    };
    let (read, _) = action::read(name, args)?;
    (read.as_ref() == Ok(action)).then_some(name)
}

fn our_computer(call: &ComputerCall, report: &mut Report, place: &str) -> Vec<Asked> {
    let content = Content::ComputerCall(call.clone());
    let asked = ours(&content, &call.call_id, &call.meta);
    let is_own = super::raw_of(&call.meta).is_some();
    if let Some(asked) = asked.first().filter(|_| !is_own) {
        let names: Vec<&str> = call.actions.iter().map(|action| action.name()).collect();
        let why = "no predefined function represents it completely";
        let how = format!("as a call of the function `{}`", asked.name);
        report.kept(format!("call of {}", names.join(", ")), place, why, how);
    }
    if let Some(intent) = &call.intent {
        let why = "our function has no such argument";
        report.lost(format!("intent `{intent}`"), place, why);
    }
    asked
}

/// Encodes a call as a call of our own function.
fn ours(content: &Content, id: &CallId, meta: &Meta) -> Vec<Asked> {
    let Some(called) = function_tools::called(content) else {
        return Vec::new();
    };
    let mut args = called.arguments.to_value().unwrap_or_default();
    if let (Some(decision), Some(args)) = (
        meta.property(PROVIDER, kept::DECISION),
        args.as_object_mut(),
    ) {
        args.insert(CHECK.to_owned(), decision.clone());
    }
    one(id, called.name, args)
}

/// The safety decision goes with the last function call of a batch, whose response acknowledges it.
fn add_check(call: &ComputerCall, asked: &mut Asked, asking: &mut Asking<'_>, place: &str) {
    let Some(args) = asked.args.as_object_mut() else {
        return;
    };
    if let Some(decision) = call.meta.property(PROVIDER, kept::DECISION) {
        args.insert(CHECK.to_owned(), decision.clone());
    }
    let mut explanations = Vec::new();
    for check in &call.pending_safety_checks {
        let is_known = |known: &SafetyCheck| known.id == check.id;
        if check.source != SafetySource::Google {
            if !asking.acknowledged.iter().any(is_known) {
                let why = "only a check that the user approved can be encoded";
                let what = format!("safety check {} of another source", check.id);
                asking.report.lost(what, place, why);
                continue;
            }
            let why = "a call has a single decision without check ids";
            let what = format!("safety check {} of another source", check.id);
            asking
                .report
                .kept(what, place, why, "as a decision that requires confirmation");
        }
        let code = check.code.as_deref().unwrap_or_default();
        explanations.push(check.message.as_deref().unwrap_or(code));
        args.insert(
            CHECK.to_owned(),
            json!({"decision": "require_confirmation"}),
        );
    }
    explanations.retain(|words| !words.is_empty() && *words != "require_confirmation");
    if let (Some(decision), false) = (args.get_mut(CHECK), explanations.is_empty()) {
        decision["explanation"] = explanations.join("\n").into();
    }
}

fn shell_call(
    call: &ShellCall,
    content: &Content,
    asking: &mut Asking<'_>,
    place: &str,
) -> Vec<Asked> {
    unsaid(
        asking.report,
        place,
        &call.meta,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    let kept_name = call.meta.property(PROVIDER, kept::FUNCTION);
    if kept_name == Some(&Value::from(shell::COMMAND_LINE)) {
        let rest = call.meta.property(PROVIDER, kept::ARGS);
        let rest = rest.and_then(Value::as_object).cloned().unwrap_or_default();
        let args = shell::write(call).or_else(|| call.exception.as_ref().map(|_| Map::new()));
        if let Some(mut args) = args {
            args.extend(rest);
            if let Some(decision) = call.meta.property(PROVIDER, kept::DECISION) {
                args.insert(CHECK.to_owned(), decision.clone());
            }
            return one(&call.call_id, shell::COMMAND_LINE, Value::Object(args));
        }
    }
    if call.environment != telechir_protocol::ShellEnvironment::Local {
        asking.report.kept(
            "a shell call that its provider executed",
            place,
            "it belongs to another provider",
            "as a call of our function",
        );
    }
    ours(content, &call.call_id, &call.meta)
}

fn function(call: &FunctionCall, asking: &mut Asking<'_>, place: &str) -> Vec<Asked> {
    unsaid(
        asking.report,
        place,
        &call.meta,
        call.item_id.as_deref(),
        None,
    );
    let id = call.call_id.clone().unwrap_or_else(|| {
        let how = "with an id derived from its position";
        let why = "an id connects a call with its result";
        asking
            .report
            .kept("the absence of a call id", place, why, how);
        CallId::from(super::made_up_id(place, 0))
    });
    if !call.requires_local_execution {
        asking.report.kept(
            format!("a call of `{}` that the provider executed", call.name),
            place,
            "it belongs to another provider",
            "as a call of a function with the same name",
        );
    }
    if let Some(odd) = call.meta.property(PROVIDER, kept::ARGS) {
        return one(&id, call.name.as_str(), odd.clone());
    }
    let args = match call.arguments.to_value() {
        Ok(args @ Value::Object(_)) => {
            if let Arguments::Text(text) = &call.arguments {
                numbers::report(text.as_bytes(), place, asking.report);
            }
            args
        }
        Ok(_) | Err(_) => {
            let why = "arguments must be an object";
            asking.report.kept(
                "arguments that are not an object",
                place,
                why,
                "in the field `text`",
            );
            json!({"text": call.arguments.to_text()})
        }
    };
    let name = if let Arguments::Json(_) = &call.arguments {
        call.name.as_str()
    } else {
        call.name.trim()
    };
    one(&id, name, args)
}
