//! Calls as `tool_use` blocks: what came from this dialect as it came, anything else in its words.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Action, CallId, ComputerCall, Content, EditCall, EditTool, FunctionCall, Meta, ShellAction,
    ShellCall, ToolCall,
};

use super::block::{self, text};
use super::call::{BROWSER, COMPUTER, toolset_name};
use super::members::{self, Member, Notes};
use super::models::Version;
use super::scene::Scene;
use super::{DIALECT, PROVIDER, parts};
use crate::Report;
use crate::openai::companion;

/// One `tool_use` block, for the result that must answer it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) toolset: Option<String>,
    /// Which of the call's actions or commands it is.
    pub(super) index: usize,
}

impl Part {
    /// Whether its answer is a picture, always.
    pub(super) fn wants_picture(&self, action: Option<&Action>) -> bool {
        let looks = matches!(action, Some(Action::Screenshot | Action::Zoom { .. }));
        looks || (self.toolset.is_some() && matches!(self.name.as_str(), "screenshot" | "zoom"))
    }
}

/// A call's blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) blocks: Vec<Value>,
    pub(super) parts: Vec<Part>,
}

/// How a call is written that did not come from this dialect.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) version: Version,
    /// How many outputs a shell's result has; one a command lets each be a block of its own.
    pub(super) outputs: usize,
    /// Whether a picture of each action is known, so that screenshots in between can be answered.
    pub(super) pictures: bool,
}

/// The blocks that a content came as, when it still says what they say.
pub(super) fn unchanged(content: &Content, scene: &Scene) -> Option<Vec<Value>> {
    let raw = meta_of(content)?
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == DIALECT)?;
    match &raw.json {
        Value::Object(block) => {
            (block::read(block, scene) == *content).then(|| vec![raw.json.clone()])
        }
        Value::Array(run) => {
            (parts::read(run, scene).as_ref() == Some(content)).then(|| run.clone())
        }
        _ => None,
    }
}

pub(super) fn meta_of(content: &Content) -> Option<&Meta> {
    Some(match content {
        Content::Text(content) => &content.meta,
        Content::Reasoning(content) => &content.meta,
        Content::Data(content) => &content.meta,
        Content::Uri(content) => &content.meta,
        Content::HostedFile(content) => &content.meta,
        Content::FunctionCall(content) => &content.meta,
        Content::FunctionResult(content) => &content.meta,
        Content::ComputerCall(content) => &content.meta,
        Content::ComputerResult(content) => &content.meta,
        Content::ShellCall(content) => &content.meta,
        Content::ShellResult(content) => &content.meta,
        Content::EditCall(content) => &content.meta,
        Content::EditResult(content) => &content.meta,
        Content::CommandCall(content)
        | Content::CommandResult(content)
        | Content::ImageGenerationCall(content)
        | Content::ImageGenerationResult(content) => &content.meta,
        Content::ApprovalRequest(content) => &content.meta,
        Content::ApprovalResponse(content) => &content.meta,
        Content::Usage(content) => &content.meta,
        Content::Error(content) => &content.meta,
        Content::Other(_) => return None,
    })
}

/// A content as the call it is, when it is one.
pub(super) fn call_of(content: &Content) -> Option<ToolCall> {
    Some(match content {
        Content::ComputerCall(call) => ToolCall::Computer(call.clone()),
        Content::ShellCall(call) => ToolCall::Shell(call.clone()),
        Content::EditCall(call) => ToolCall::Edit(call.clone()),
        Content::FunctionCall(call) => ToolCall::Function(call.clone()),
        _ => return None,
    })
}

/// The blocks of a call that did not come from this dialect, or was changed.
pub(super) fn write(call: &ToolCall, style: Style, report: &mut Report) -> Written {
    match call {
        ToolCall::Computer(call) => computer(call, style, report),
        ToolCall::Shell(call) => shell(call, style, report),
        ToolCall::Edit(call) => edit(call, report),
        ToolCall::Function(call) => function(call, report),
    }
}

/// The parts of blocks that go out as they came.
pub(super) fn parts_of(blocks: &[Value]) -> Vec<Part> {
    let part = |(index, block): (usize, &Value)| {
        let block = block.as_object()?;
        Some(Part {
            id: text(block, "id")?.to_owned(),
            name: text(block, "name").unwrap_or_default().to_owned(),
            toolset: text(block, "toolset_name").map(str::to_owned),
            index,
        })
    };
    blocks.iter().enumerate().filter_map(part).collect()
}

fn place(id: &CallId) -> String {
    format!("call {id}")
}

fn computer(call: &ComputerCall, style: Style, report: &mut Report) -> Written {
    let place = place(&call.call_id);
    unsaid(
        report,
        &place,
        &call.meta,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    if let Some(intent) = &call.intent {
        report.lost(
            format!("intent {intent:?}"),
            &place,
            "a call says no intent",
        );
    }
    for check in &call.pending_safety_checks {
        report.lost(
            format!("safety check {}", check.id),
            &place,
            "a call carries no safety checks",
        );
    }
    let is_browser = call.family.as_deref() == Some(BROWSER)
        || call
            .target
            .as_ref()
            .is_some_and(|target| target.as_str() == BROWSER);
    // The version a changed call came in is still the one its model speaks.
    let style = match &call.meta.raw_representation {
        Some(raw) if raw.dialect == DIALECT && toolset_name(&call.meta).is_some() => Style {
            version: Version::Toolset,
            ..style
        },
        Some(raw) if raw.dialect == DIALECT && style.version == Version::Toolset && !is_browser => {
            Style {
                version: Version::November2025,
                ..style
            }
        }
        Some(_) | None => style,
    };
    let (places, actions) = answerable(call, style, report, &place);
    let mut noted = Report::default();
    let notes = &mut Notes {
        report: &mut noted,
        place: &place,
    };
    let members = if !is_browser {
        members::computer(&actions, style.version, notes)
    } else if style.version == Version::Toolset {
        members::browser(&actions, notes)
    } else {
        None
    };
    let toolset =
        (style.version == Version::Toolset).then_some(if is_browser { BROWSER } else { COMPUTER });
    match members.filter(|members| !members.is_empty()) {
        Some(members) => {
            report.absorb(noted);
            let count = members.len();
            let base = legal_id(&call.call_id, report);
            let blocks = members.into_iter().enumerate().map(|(at, mut member)| {
                member.action = places.get(member.action).copied().unwrap_or(member.action);
                member_block(&parts::part_id(&base, at + 1, count), member, toolset)
            });
            finish(blocks.collect::<Vec<_>>(), &call.meta)
        }
        None => neutral(call, is_browser, style.version, report),
    }
}

/// A screenshot amid a batch has no answer of its own where only the last picture is known.
/// What is left of the actions, with their places.
fn answerable(
    call: &ComputerCall,
    style: Style,
    report: &mut Report,
    place: &str,
) -> (Vec<usize>, Vec<Action>) {
    let last = call.actions.len().saturating_sub(1);
    let stays = |(at, action): &(usize, &Action)| {
        style.pictures || *at == last || !matches!(action, Action::Screenshot | Action::Zoom { .. })
    };
    let kept = call.actions.iter().enumerate().filter(stays);
    let kept: (Vec<usize>, Vec<Action>) = kept.map(|(at, action)| (at, action.clone())).unzip();
    if kept.0.len() < call.actions.len() {
        report.kept(
            "a screenshot amid the batch",
            place,
            "its picture is not known",
            "as the batch's one picture",
        );
    }
    kept
}

fn member_block(id: &str, member: Member, toolset: Option<&str>) -> (Value, usize) {
    let block = match toolset {
        Some(toolset) => {
            json!({"type": "tool_use", "id": id, "name": member.name, "toolset_name": toolset, "input": member.input})
        }
        None => {
            let mut input = Map::from_iter([("action".to_owned(), member.name.into())]);
            input.extend(member.input);
            json!({"type": "tool_use", "id": id, "name": COMPUTER, "input": input})
        }
    };
    (block, member.action)
}

/// As a call of a function of ours, whose arguments are the neutral actions.
fn neutral(
    call: &ComputerCall,
    is_browser: bool,
    version: Version,
    report: &mut Report,
) -> Written {
    let (name, arguments) = companion::of_computer_call(call);
    // The older models get the browser as this very function.
    if !is_browser || version == Version::Toolset {
        let names = call
            .actions
            .iter()
            .map(Action::name)
            .collect::<Vec<_>>()
            .join(", ");
        report.kept(
            format!("computer call {names}"),
            place(&call.call_id),
            "the provider's tools have no such action",
            format!("as a call of a function named {name}"),
        );
    }
    let input: Value = serde_json::from_str(&arguments).unwrap_or_default();
    let id = legal_id(&call.call_id, report);
    let last = call.actions.len().saturating_sub(1);
    finish(
        vec![(
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            last,
        )],
        &call.meta,
    )
}

/// The members that a changed block still has, such as `caller`, and its parts.
fn finish(blocks: Vec<(Value, usize)>, meta: &Meta) -> Written {
    let mut written = Written::default();
    for (mut block, index) in blocks {
        for member in ["caller", "cache_control"] {
            if let (Some(value), Some(block)) =
                (meta.property(PROVIDER, member), block.as_object_mut())
            {
                block.insert(member.to_owned(), value.clone());
            }
        }
        for mut part in parts_of(std::slice::from_ref(&block)) {
            part.index = index;
            written.parts.push(part);
        }
        written.blocks.push(block);
    }
    written
}

fn shell(call: &ShellCall, style: Style, report: &mut Report) -> Written {
    let place = place(&call.call_id);
    unsaid(
        report,
        &place,
        &call.meta,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    let limits = [
        ("timeout", call.timeout_ms.is_some()),
        ("output limit", call.max_output.is_some()),
        ("folder", call.cwd.is_some()),
        ("variables", !call.env.is_empty()),
        ("user", call.user.is_some()),
    ];
    for (what, _) in limits.into_iter().filter(|(_, said)| *said) {
        report.lost(what, &place, "bash takes a command and nothing else");
    }
    let id = legal_id(&call.call_id, report);
    let lines: Vec<String> = call
        .commands
        .iter()
        .map(telechir_protocol::Command::to_line)
        .collect();
    let inputs = match &call.action {
        ShellAction::Restart => vec![json!({"restart": true})],
        ShellAction::Execute if lines.len() > 1 && style.outputs != lines.len() => {
            report.kept(
                "a list of commands",
                &place,
                "bash takes one command",
                "as one script, a line each",
            );
            vec![json!({"command": lines.join("\n")})]
        }
        ShellAction::Execute => lines.iter().map(|line| json!({"command": line})).collect(),
        other => match companion::of_shell_action(other) {
            Some(arguments) => {
                report.kept(
                    "a shell action",
                    &place,
                    "bash has no such action",
                    "as a call of a function named shell_session",
                );
                let input: Value = serde_json::from_str(&arguments).unwrap_or_default();
                let block =
                    json!({"type": "tool_use", "id": id, "name": companion::SHELL, "input": input});
                return finish(vec![(block, 0)], &call.meta);
            }
            None => {
                report.lost("start in the background", &place, "bash has no such action");
                lines.iter().map(|line| json!({"command": line})).collect()
            }
        },
    };
    let inputs = if inputs.is_empty() {
        vec![json!({})]
    } else {
        inputs
    };
    let count = inputs.len();
    let block = |(at, input): (usize, Value)| {
        let id = parts::part_id(&id, at + 1, count);
        (
            json!({"type": "tool_use", "id": id, "name": "bash", "input": input}),
            at,
        )
    };
    finish(
        inputs.into_iter().enumerate().map(block).collect(),
        &call.meta,
    )
}

fn edit(call: &EditCall, report: &mut Report) -> Written {
    let place = place(&call.call_id);
    unsaid(report, &place, &call.meta, call.item_id.as_deref(), None);
    let id = legal_id(&call.call_id, report);
    let old_name = call.meta.property(PROVIDER, "name").and_then(Value::as_str);
    let name = match call.tool {
        EditTool::Editor => old_name.unwrap_or("str_replace_based_edit_tool"),
        EditTool::Memory => "memory",
        EditTool::Patch => "apply_patch",
    };
    let (EditTool::Editor | EditTool::Memory, [operation]) =
        (call.tool, call.operations.as_slice())
    else {
        report.kept(
            "file edits",
            &place,
            "the text editor has no such operations",
            format!("as a call of a function named {name}"),
        );
        let input = json!({"operations": call.operations});
        return finish(
            vec![(
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                0,
            )],
            &call.meta,
        );
    };
    let mut input = Map::from_iter([("command".to_owned(), operation.name.as_str().into())]);
    input.extend(
        operation
            .path
            .as_ref()
            .map(|path| ("path".to_owned(), path.as_str().into())),
    );
    input.extend(operation.args.clone());
    finish(
        vec![(
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            0,
        )],
        &call.meta,
    )
}

fn function(call: &FunctionCall, report: &mut Report) -> Written {
    let place = call
        .call_id
        .as_ref()
        .map_or_else(|| format!("call of {}", call.name), place);
    unsaid(report, &place, &call.meta, call.item_id.as_deref(), None);
    let Some(id) = &call.call_id else {
        return Written::default();
    };
    let input = match call.arguments.to_value() {
        Ok(Value::Object(input)) => Value::Object(input),
        Ok(_) | Err(_) => {
            let arguments = call.arguments.to_text();
            report.kept(
                "arguments that are no object",
                &place,
                "an input is an object",
                "as its member `arguments`",
            );
            json!({"arguments": arguments})
        }
    };
    let name = legal(&call.name, 128);
    if name != call.name {
        report.kept(
            format!("function name {}", call.name),
            &place,
            "names have letters, digits, _ and -",
            format!("as {name}"),
        );
    }
    let id = legal_id(id, report);
    finish(
        vec![(
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            0,
        )],
        &call.meta,
    )
}

/// What a block has no member for.
pub(super) fn unsaid(
    report: &mut Report,
    place: &str,
    meta: &Meta,
    item_id: Option<&str>,
    status: Option<&str>,
) {
    let why = "a block has no member for it";
    if let Some(item_id) = item_id {
        report.lost(format!("item id {item_id}"), place, why);
    }
    if let Some(status) = status.filter(|status| *status != "completed") {
        report.lost(format!("status {status}"), place, why);
    }
    for (provider, settings) in meta
        .additional_properties
        .iter()
        .filter(|(provider, _)| *provider != PROVIDER)
    {
        let names = settings
            .as_object()
            .map(|settings| settings.keys().cloned().collect::<Vec<_>>().join(", "));
        report.lost(
            format!("settings of {provider}: {}", names.unwrap_or_default()),
            place,
            "they are another provider's",
        );
    }
    if !meta.extra.is_empty() {
        let names = meta.extra.keys().cloned().collect::<Vec<_>>().join(", ");
        report.lost(format!("members {names}"), place, why);
    }
}

/// Ids have letters, digits, `_` and `-`.
pub(super) fn legal_id(id: &CallId, report: &mut Report) -> String {
    let legal = legal(id.as_str(), usize::MAX);
    if legal != id.as_str() {
        report.kept(
            format!("id {id}"),
            place(id),
            "ids have letters, digits, _ and -",
            format!("as {legal}"),
        );
    }
    legal
}

fn legal(text: &str, longest: usize) -> String {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.chars().all(is_legal) && text.len() <= longest {
        return text.to_owned();
    }
    // The digest keeps two names apart that differ in what is not legal only (FNV-1a).
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let start: String = text
        .chars()
        .map(|c| if is_legal(c) { c } else { '_' })
        .take(longest.min(64))
        .collect();
    format!("{start}-{:08x}", digest & 0xffff_ffff)
}
