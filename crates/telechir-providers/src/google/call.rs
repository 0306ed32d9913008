//! Decodes a function call. An invalid call is kept with the reason, so that it gets an error
//! result.

use serde_json::{Map, Value};
use telechir_protocol::{
    Arguments, CallId, ComputerCall, Content, FunctionCall, Meta, SafetyCheck, SafetySource,
};

use super::args::ArgResult;
use super::context::{GoogleContext, RecordedCall};
use super::{PROVIDER, action, shell};
use crate::json::arguments::excerpt;
use crate::{extra_tools, fallback_tools};

/// Google's name for a safety decision.
pub(super) const CHECK: &str = "safety_decision";

/// Properties in which a call keeps values without a neutral name: its function's name, where we
/// would encode another; the legacy vocabulary; unknown arguments; a decision that needs no
/// confirmation.
pub(super) mod property {
    pub(in crate::google) const FUNCTION: &str = "function";
    pub(in crate::google) const LEGACY: &str = "legacy_vocabulary";
    pub(in crate::google) const ARGS: &str = "args";
    pub(in crate::google) const DECISION: &str = "safety_decision";
    /// A result's name of another function than that of its call.
    pub(in crate::google) const ANSWERED: &str = "answered_name";
}

/// Keeps the name at a result that its call does not have.
pub(super) fn keep_answered_name(meta: &mut Meta, call: Option<&RecordedCall>, name: &str) {
    let property = match call {
        None => property::FUNCTION,
        Some(call) if call.name != name => property::ANSWERED,
        Some(_) => return,
    };
    meta.set_property(PROVIDER, property, name.into());
}

/// A function call before it is decoded.
#[derive(Clone, Debug)]
pub(super) struct RawCall<'a> {
    pub(super) id: CallId,
    pub(super) name: &'a str,
    pub(super) args: Option<&'a Value>,
    /// Why the call must not run although it is readable.
    pub(super) unfinished: Option<String>,
    pub(super) meta: Meta,
}

/// Decodes a function call.
pub(super) fn read(called: RawCall<'_>, context: &GoogleContext) -> Content {
    let is_own = context.is_function(called.name);
    let args = match called.args {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args.clone(),
        Some(odd) => return unreadable(called, odd, is_own),
    };
    if is_own {
        return function(called, args);
    }
    let mut rest = args.clone();
    let decision = decision(rest.shift_remove(CHECK).as_ref());
    if shell::is_own_function(called.name) {
        return own_function(called, rest, decision);
    }
    let intent = match rest.shift_remove("intent") {
        Some(Value::String(intent)) => Some(intent),
        Some(odd) => {
            rest.insert("intent".to_owned(), odd);
            None
        }
        None => None,
    };
    // Checked with all arguments: `intent` alone identifies a predefined function.
    if action::read(called.name, &args).is_none() {
        return function(called, args);
    }
    let Some((action, unknown)) = action::read(called.name, &rest) else {
        return function(called, args);
    };
    predefined(called, action, unknown, intent, decision)
}

fn predefined(
    called: RawCall<'_>,
    action: ArgResult<telechir_protocol::Action>,
    unknown: Map<String, Value>,
    intent: Option<String>,
    decision: SafetyDecision,
) -> Content {
    let RawCall {
        id,
        name,
        args,
        unfinished,
        mut meta,
    } = called;
    let mut call = ComputerCall::new(id, Vec::new());
    match action {
        Ok(action) => call.actions.push(action),
        Err(problem) => call.exception = Some(format!("{name}: {problem}.")),
    }
    if call.exception.is_some() {
        meta.set_property(PROVIDER, property::FUNCTION, name.into());
        let args = args.cloned().unwrap_or_else(|| Value::Object(Map::new()));
        meta.set_property(PROVIDER, property::ARGS, args);
    } else {
        keep_vocabulary(&mut meta, name, args, unknown);
    }
    call.intent = intent;
    call.group = Some(extra_tools::COMPUTER_GROUP.to_owned());
    call.exception = call.exception.or(unfinished);
    call.meta = meta;
    decide(&mut call, decision);
    Content::ComputerCall(call)
}

/// Records which vocabulary a call used, where another name means the same action.
fn keep_vocabulary(meta: &mut Meta, name: &str, args: Option<&Value>, unknown: Map<String, Value>) {
    const LEGACY: [&str; 9] = [
        "open_web_browser",
        "wait_5_seconds",
        "search",
        "click_at",
        "hover_at",
        "type_text_at",
        "key_combination",
        "scroll_document",
        "scroll_at",
    ];
    let legacy_drag = args.is_some_and(|args| args.get("destination_x").is_some());
    if LEGACY.contains(&name) || name == "move_to" || legacy_drag {
        meta.set_property(PROVIDER, property::LEGACY, true.into());
    }
    if action::ALIASES.contains(&name) {
        meta.set_property(PROVIDER, property::FUNCTION, name.into());
    }
    if !unknown.is_empty() {
        meta.set_property(PROVIDER, property::ARGS, unknown.into());
    }
}

/// Decodes a call of one of our functions or of Gemini CLI's shell function.
fn own_function(
    called: RawCall<'_>,
    args: Map<String, Value>,
    decision: SafetyDecision,
) -> Content {
    let RawCall {
        id,
        name,
        args: original,
        unfinished,
        mut meta,
    } = called;
    let mut content = if name == shell::COMMAND_LINE {
        let (call, rest) = shell::read(id.as_str(), &args);
        meta.set_property(PROVIDER, property::FUNCTION, name.into());
        if !rest.is_empty() {
            meta.set_property(PROVIDER, property::ARGS, rest.into());
        }
        Content::ShellCall(call)
    } else {
        fallback_tools::decode_call(name, id.as_str(), Arguments::Json(args))
    };
    if matches!(content, Content::ShellCall(_) | Content::EditCall(_)) {
        keep_decision(&mut meta, &decision);
    }
    match &mut content {
        Content::ComputerCall(call) => {
            if call.actions.is_empty() {
                meta.set_property(PROVIDER, property::FUNCTION, name.into());
                meta.set_property(
                    PROVIDER,
                    property::ARGS,
                    original.cloned().unwrap_or_default(),
                );
            }
            call.exception = call.exception.take().or(unfinished);
            call.meta = meta;
            decide(call, decision);
        }
        Content::ShellCall(call) => {
            call.exception = refusal(call.exception.take().or(unfinished), &decision);
            call.meta = meta;
        }
        Content::EditCall(call) => {
            call.exception = refusal(call.exception.take().or(unfinished), &decision);
            call.meta = meta;
        }
        Content::FunctionCall(call) => {
            call.exception = refusal(call.exception.take().or(unfinished), &decision);
            call.meta = meta;
        }
        _ => {}
    }
    content
}

/// Decodes a call of any other function; its arguments stay unchanged.
fn function(called: RawCall<'_>, args: Map<String, Value>) -> Content {
    let decision = decision(args.get(CHECK));
    let mut call = FunctionCall::new(called.name, Arguments::Json(args));
    let nameless = || "the call has no function name.".to_owned();
    let problem = called.name.is_empty().then(nameless);
    call.call_id = Some(called.id);
    call.exception = problem.or(called.unfinished).or_else(|| decision.refusal());
    call.meta = called.meta;
    Content::FunctionCall(call)
}

/// A call whose arguments are not an object.
fn unreadable(called: RawCall<'_>, args: &Value, is_own: bool) -> Content {
    let problem = format!("the arguments are {}, expected an object.", excerpt(args));
    let RawCall {
        id, name, mut meta, ..
    } = called;
    if !is_own && action::is_predefined(name) {
        let mut call = ComputerCall::new(id, Vec::new());
        call.group = Some(extra_tools::COMPUTER_GROUP.to_owned());
        call.exception = Some(format!("{name}: {problem}"));
        meta.set_property(PROVIDER, property::FUNCTION, name.into());
        meta.set_property(PROVIDER, property::ARGS, args.clone());
        call.meta = meta;
        return Content::ComputerCall(call);
    }
    let text = match args {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut call = FunctionCall::new(name, Arguments::Text(text));
    call.call_id = Some(id);
    call.exception = Some(problem);
    meta.set_property(PROVIDER, property::ARGS, args.clone());
    call.meta = meta;
    Content::FunctionCall(call)
}

/// Why a call must not be executed: its own reason, or the decision's.
fn refusal(exception: Option<String>, decision: &SafetyDecision) -> Option<String> {
    exception.or_else(|| decision.refusal())
}

/// Google's safety decision on a call.
#[derive(Clone, Debug)]
enum SafetyDecision {
    /// No decision, or permission to run.
    Run(Option<Value>),
    /// The user must approve the call first.
    Ask(Value),
    /// The call must not run.
    Refuse(Value, String),
}

fn decision(json: Option<&Value>) -> SafetyDecision {
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return SafetyDecision::Run(None);
    };
    let name = json.get("decision").and_then(Value::as_str);
    match name {
        Some("regular" | "allowed") => SafetyDecision::Run(Some(json.clone())),
        Some("require_confirmation") => SafetyDecision::Ask(json.clone()),
        Some("blocked") => {
            let problem = format!("The provider blocked this call: {}", explanation(json));
            SafetyDecision::Refuse(json.clone(), problem)
        }
        _ => {
            let problem = format!("Unknown safety decision of the provider: {}", excerpt(json));
            SafetyDecision::Refuse(json.clone(), problem)
        }
    }
}

fn explanation(json: &Value) -> &str {
    let json = json.get("explanation").and_then(Value::as_str);
    json.unwrap_or("no reason given.")
}

impl SafetyDecision {
    /// Why a call whose type cannot carry a safety check must not run.
    fn refusal(&self) -> Option<String> {
        match self {
            Self::Run(_) => None,
            Self::Ask(json) => Some(format!(
                "The provider requires the user's confirmation for this call, but this type of call cannot carry one: {}",
                explanation(json)
            )),
            Self::Refuse(_, problem) => Some(problem.clone()),
        }
    }
}

fn keep_decision(meta: &mut Meta, decision: &SafetyDecision) {
    if let SafetyDecision::Run(Some(json))
    | SafetyDecision::Refuse(json, _)
    | SafetyDecision::Ask(json) = decision
    {
        meta.set_property(PROVIDER, property::DECISION, json.clone());
    }
}

fn decide(call: &mut ComputerCall, decision: SafetyDecision) {
    match &decision {
        SafetyDecision::Ask(json) => call.pending_safety_checks.push(SafetyCheck {
            id: CHECK.to_owned(),
            code: Some("require_confirmation".to_owned()),
            message: json
                .get("explanation")
                .and_then(Value::as_str)
                .map(str::to_owned),
            source: SafetySource::Google,
        }),
        SafetyDecision::Run(_) => keep_decision(&mut call.meta, &decision),
        SafetyDecision::Refuse(_, problem) => {
            keep_decision(&mut call.meta, &decision);
            let exception = call.exception.take();
            call.exception = exception.or_else(|| Some(problem.clone()));
        }
    }
}
