//! `policy test`: what a policy says about one command, address, chord or call, without doing it.

use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use telechir_policy::{
    ApproveAt, Device, DisplayOwner, EditFacts, EditProposal, Judge, Judgement, Policy, Proposal,
    Resolved, RuleReason, ScreenFacts, ScreenProposal, ScreenWindows, ShellFacts, ShellProposal,
    ShellReach, ShellTask, Verdict,
};
use telechir_protocol::{
    Action, Chord, Command, ComputerCall, Content, EditCall, EditOperation, ShellAction, ShellCall,
};

use crate::args::{PolicyTestArguments, SubjectKind, chord};
use crate::error::CliError;
use crate::input::{write_json, write_text};
use crate::log::print_note;

/// The id of the judged call.
const CALL_ID: &str = "test";
/// Folders of no session; a path in an edit is seen from the first.
const WORKSPACE: &str = "/workspace";
const MEMORY: &str = "/memory";

/// What is printed.
#[derive(Debug, Serialize)]
struct TestedVerdict {
    /// What the text was taken for.
    kind: &'static str,
    verdict: Verdict,
    rule: String,
    /// Why; several reasons if it asks for several.
    reasons: Vec<String>,
    /// Where a person may answer, if it asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    approve: Option<ApproveAt>,
}

pub(super) fn test(arguments: &PolicyTestArguments) -> Result<ExitCode, CliError> {
    let policy = match &arguments.policy {
        Some(choice) => crate::policy::read(choice)?,
        None => Policy::default_policy(),
    };
    let judged = judge(policy, arguments)?;
    match arguments.json {
        true => write_json(&judged, true)?,
        false => write_text(&judged.text())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn judge(policy: Policy, arguments: &PolicyTestArguments) -> Result<TestedVerdict, CliError> {
    let mut judge = Judge::new(policy);
    let subject = arguments.subject.as_str();
    if subject.trim().is_empty() {
        let problem = "expected a command, an address, keys or a call; found an empty text";
        return Err(CliError::usage(problem));
    }
    let kind = arguments.kind.unwrap_or_else(|| kind_of(subject));
    match kind {
        SubjectKind::Command => {
            if arguments.kind.is_none() && is_like_address(subject) {
                print_note(&format!(
                    "{subject} is judged as a command; an address needs its scheme: https://{subject}"
                ));
            }
            let commands = vec![Command::Line(subject.to_owned())];
            let task = ShellTask::Run(commands);
            Ok(on_shell(&mut judge, arguments, task))
        }
        SubjectKind::Url => {
            telechir_browser::check_url(subject).map_err(|e| CliError::usage(e.to_string()))?;
            let action = Action::Navigate {
                url: subject.to_owned(),
                tab: None,
            };
            let device = Device::Browser;
            Ok(on_screen(
                &mut judge,
                arguments,
                "url",
                device,
                vec![action],
            ))
        }
        SubjectKind::Keys => {
            let chord = chord(subject).map_err(|e| CliError::usage(format!("{subject:?}: {e}")))?;
            let action = Action::Key { chord, repeat: 1 };
            let device = Device::Desktop;
            Ok(on_screen(
                &mut judge,
                arguments,
                "keys",
                device,
                vec![action],
            ))
        }
        SubjectKind::Call => on_call(&mut judge, arguments),
    }
}

/// What a text looks like.
fn kind_of(subject: &str) -> SubjectKind {
    let is_chord = || {
        let chord = Chord::parse(subject).filter(|chord| chord.keys().len() > 1);
        chord.is_some() && !subject.contains(char::is_whitespace)
    };
    let is_url = || {
        let scheme = subject.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    if subject.trim_start().starts_with('{') {
        SubjectKind::Call
    } else if is_url() {
        SubjectKind::Url
    } else if is_chord() {
        SubjectKind::Keys
    } else {
        SubjectKind::Command
    }
}

/// Whether a text is a host, perhaps with a port or a path: nobody runs a command of this name.
fn is_like_address(subject: &str) -> bool {
    let subject = subject.trim();
    let host = subject.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let top = name.rsplit_once('.').map(|(_, top)| top);
    let has_top = top.is_some_and(|top| top.len() > 1 && top.chars().all(char::is_alphabetic));
    let starts_as_name = name.starts_with(char::is_alphanumeric);
    is_port
        && starts_as_name
        && name.chars().all(is_plain)
        && (has_top || name == "localhost" || !port.is_empty())
        && !subject.contains(char::is_whitespace)
}

fn on_shell(judge: &mut Judge, arguments: &PolicyTestArguments, task: ShellTask) -> TestedVerdict {
    let proposal = ShellProposal {
        call_id: CALL_ID.into(),
        task,
        cwd: None,
        env: Map::new(),
    };
    let facts = ShellFacts {
        is_sandboxed: !arguments.host,
        is_tainted: false,
        reach: match arguments.host || arguments.workspace {
            true => ShellReach::Something,
            false => ShellReach::Nothing,
        },
        is_untrusted: arguments.untrusted,
        now: Duration::ZERO,
    };
    TestedVerdict::of("command", judge.shell(proposal, &facts))
}

fn on_screen(
    judge: &mut Judge,
    arguments: &PolicyTestArguments,
    kind: &'static str,
    device: Device,
    actions: Vec<Action>,
) -> TestedVerdict {
    // No name is resolved: a test of a policy sends nothing.
    let hosts = judge.hosts_to_resolve(&actions).into_iter();
    let resolved = hosts.map(|host| Resolved {
        host,
        addresses: Vec::new(),
    });
    let facts = ScreenFacts {
        display: match arguments.host {
            true => DisplayOwner::Existing,
            false => DisplayOwner::Private,
        },
        pressed: Vec::new(),
        resolved: resolved.collect(),
        windows: ScreenWindows::None,
        is_untrusted: arguments.untrusted,
        now: Duration::ZERO,
    };
    let proposal = ScreenProposal {
        call_id: CALL_ID.into(),
        device,
        actions,
        safety_checks: Vec::new(),
    };
    TestedVerdict::of(kind, judge.screen(proposal, &facts))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a call that a session executes"
)]
fn on_call(judge: &mut Judge, arguments: &PolicyTestArguments) -> Result<TestedVerdict, CliError> {
    let usage = |problem: String| CliError::usage(format!("the call: {problem}"));
    let members: Map<String, Value> = serde_json::from_str(&arguments.subject)
        .map_err(|e| usage(format!("expected a JSON object: {e}")))?;
    if members.contains_key("action") && !members.contains_key("type") {
        let action = read_action(members).map_err(usage)?;
        let device = device_of(&action, None);
        return Ok(on_screen(judge, arguments, "action", device, vec![action]));
    }
    let mut members = members;
    members.entry("call_id").or_insert_with(|| CALL_ID.into());
    let content: Content = serde_json::from_value(Value::Object(members.clone()))
        .map_err(|e| usage(format!("expected an action or a neutral call: {e}")))?;
    let kind = members.get("type").and_then(Value::as_str);
    let meta = content.meta().into_iter();
    let unknown = meta.flat_map(|meta| meta.extra.keys().cloned());
    let unknown = unknown.filter(|name| name != "requires_local_execution");
    if matches!(
        content,
        Content::ShellCall(_) | Content::ComputerCall(_) | Content::EditCall(_)
    ) {
        refuse_ignored(kind.unwrap_or("the call"), unknown).map_err(usage)?;
    }
    if let Some(Value::Array(actions)) = members.get("actions") {
        for action in actions.iter().filter_map(Value::as_object) {
            read_action(action.clone()).map_err(usage)?;
        }
    }
    match content {
        Content::ShellCall(call) => Ok(on_shell(judge, arguments, task_of(call))),
        Content::ComputerCall(call) => {
            let ComputerCall {
                actions, target, ..
            } = call;
            let target = target.as_ref().map(|target| target.as_str());
            let device = actions
                .first()
                .map_or(Device::Desktop, |action| device_of(action, target));
            Ok(on_screen(judge, arguments, "call", device, actions))
        }
        Content::EditCall(call) => on_files(judge, arguments, &call).map_err(usage),
        _ => Err(usage(
            "expected a computer_call, a shell_call or an edit_call".to_owned(),
        )),
    }
}

/// Reads an action that is known, and all of whose members are read.
fn read_action(members: Map<String, Value>) -> Result<Action, String> {
    let (action, ignored) = Action::from_json(members).map_err(|e| format!("failed to {e}"))?;
    if let Action::Other { name, .. } = &action {
        return Err(format!("there is no action {name:?}"));
    }
    refuse_ignored(action.name(), ignored.into_iter().map(|(name, _)| name))?;
    Ok(action)
}

/// A misspelt member would be judged as if it were absent.
fn refuse_ignored(of: &str, ignored: impl IntoIterator<Item = String>) -> Result<(), String> {
    match ignored.into_iter().next() {
        Some(name) => Err(format!("{of} has no member {name:?}")),
        None => Ok(()),
    }
}

fn task_of(call: ShellCall) -> ShellTask {
    match call.action {
        ShellAction::Execute | ShellAction::Other(_) => ShellTask::Run(call.commands),
        ShellAction::Start => ShellTask::Start(call.commands),
        ShellAction::Restart => ShellTask::Restart,
        ShellAction::Stop(job) => ShellTask::Stop(job),
        look @ (ShellAction::List | ShellAction::Read(_)) => ShellTask::ReadJobs(look),
        input @ (ShellAction::SendText(_)
        | ShellAction::SendKey(_)
        | ShellAction::CloseInput
        | ShellAction::Interrupt) => ShellTask::Send {
            input,
            job: call.job,
            is_hidden: false,
        },
    }
}

/// The screen that an action is for: the one that is named, else the browser for what opens a page.
fn device_of(action: &Action, target: Option<&str>) -> Device {
    match target {
        Some("browser") => Device::Browser,
        Some(_) => Device::Desktop,
        None if Judge::opens_url(action) => Device::Browser,
        None => Device::Desktop,
    }
}

fn on_files(
    judge: &mut Judge,
    arguments: &PolicyTestArguments,
    call: &EditCall,
) -> Result<TestedVerdict, String> {
    let operations = call.operations.iter().cloned().map(in_workspace);
    let steps = operations.map(|operation| operation.step());
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    let facts = EditFacts {
        workspace: WORKSPACE.to_owned(),
        memory: MEMORY.to_owned(),
        is_untrusted: arguments.untrusted,
        now: Duration::ZERO,
    };
    let proposal = EditProposal {
        call_id: CALL_ID.into(),
        tool: call.tool,
        steps,
    };
    Ok(TestedVerdict::of("edit", judge.edit(proposal, &facts)))
}

/// The operation with paths as the editor sees them.
fn in_workspace(mut operation: EditOperation) -> EditOperation {
    let absolute = |path: &str| match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{WORKSPACE}/{path}"),
    };
    operation.path = operation.path.as_deref().map(absolute);
    for name in ["old_path", "new_path"] {
        if let Some(Value::String(path)) = operation.args.get_mut(name) {
            *path = absolute(path);
        }
    }
    operation
}

impl TestedVerdict {
    fn of<P: Proposal>(kind: &'static str, judgement: Judgement<P>) -> Self {
        match judgement {
            Judgement::Allowed(permit) => {
                let RuleReason {
                    verdict,
                    rule,
                    reason,
                    ..
                } = permit.rule_reason().clone();
                Self {
                    kind,
                    verdict,
                    rule,
                    reasons: vec![reason],
                    approve: None,
                }
            }
            Judgement::Ask(pending) => Self {
                kind,
                verdict: Verdict::Ask,
                rule: pending.rule_reason().rule.clone(),
                reasons: pending.question().reasons.clone(),
                approve: Some(pending.question().approve),
            },
            Judgement::Denied(_, denial) => Self {
                kind,
                verdict: Verdict::Deny,
                rule: denial.rule,
                reasons: vec![denial.reason],
                approve: None,
            },
        }
    }

    fn text(&self) -> String {
        let reasons: Vec<String> = self
            .reasons
            .iter()
            .map(|why| format!("  {why}\n"))
            .collect();
        let (verdict, rule) = (self.verdict, &self.rule);
        format!("{verdict} ({}), by {rule}\n{}", self.kind, reasons.concat())
    }
}
