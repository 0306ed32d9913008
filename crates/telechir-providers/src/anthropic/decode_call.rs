//! Decodes a `tool_use` block into a call. Invalid input still becomes a call, with the reason as
//! its exception, so that it gets a result.

use serde_json::{Map, Value};
use telechir_protocol::{
    Action, Arguments, Command, ComputerCall, Content, EditCall, EditOperation, EditTool,
    FunctionCall, Meta, ShellAction, ShellCall,
};

use super::PROVIDER;
use super::context::BlockContext;
use super::decode_action;
use super::decode_block::meta;
use super::input::{InputResult, ToolInput};
use super::stream::INVALID_INPUT;
use crate::json::arguments::excerpt;
use crate::json::{Fields as Block, text};
use crate::{extra_tools, fallback_tools};

pub(super) const COMPUTER: &str = "computer";
pub(super) const BROWSER: &str = "browser";

/// Decodes a call.
pub(super) fn decode(block: &Block, context: &BlockContext) -> Content {
    let name = text(block, "name").unwrap_or_default();
    let Some(id) = text(block, "id") else {
        return function(block, name);
    };
    let input = match block.get("input") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => match invalid_json(members) {
            Some(raw) => Err(format!("the input is not a JSON object: {}", excerpt(raw))),
            None => Ok(members.clone()),
        },
        Some(odd) => Err(format!("the input is {}, expected an object", excerpt(odd))),
    };
    // A declared function named `browser` is our function tool if its input names an action.
    let companion = || companion(block, id, name, input.as_ref().ok()?);
    if text(block, "toolset_name").is_none()
        && let Some(call) = companion()
    {
        return call;
    }
    match text(block, "toolset_name") {
        Some(toolset) => member(block, id, toolset, name, input),
        None if context.is_function(name) => function(block, name),
        None => match name {
            BROWSER => {
                let problem = input.and_then(|input| Err(no_action_problem(&input)));
                computer(
                    block,
                    id,
                    BROWSER,
                    problem.map_err(|problem| format!("{problem}.")),
                )
            }
            COMPUTER => legacy_tool(block, id, input),
            "bash" => bash(block, id, input),
            "str_replace_based_edit_tool" | "str_replace_editor" => {
                edit(block, id, EditTool::Editor, input)
            }
            "memory" => edit(block, id, EditTool::Memory, input),
            _ => function(block, name),
        },
    }
}

/// Marks a call whose response was truncated, so that it is never executed.
pub(super) fn mark_cut_off(mut content: Content) -> Content {
    const WHY: &str = "the response ended before the call was complete.";
    let exception = match &mut content {
        Content::ComputerCall(call) => &mut call.exception,
        Content::ShellCall(call) => &mut call.exception,
        Content::EditCall(call) => &mut call.exception,
        Content::FunctionCall(call) => &mut call.exception,
        _ => return content,
    };
    exception.get_or_insert_with(|| WHY.to_owned());
    content
}

/// The text of an input that is not a complete JSON object.
fn invalid_json(input: &Map<String, Value>) -> Option<&Value> {
    input
        .get(INVALID_INPUT)
        .filter(|raw| raw.is_string() && input.len() == 1)
}

/// Decodes a call of a toolset member.
fn member(
    block: &Block,
    id: &str,
    toolset: &str,
    name: &str,
    input: InputResult<Map<String, Value>>,
) -> Content {
    let read = input.and_then(|input| match toolset {
        COMPUTER => decode_action::computer(name, &input, true),
        BROWSER => decode_action::browser(name, &input),
        _ => Err(format!("unknown toolset {toolset:?}")),
    });
    let read = read.map_err(|problem| format!("{name}: {problem}."));
    computer(block, id, toolset, read)
}

/// Decodes a call of a legacy tool, which has all actions under one name. The same name without
/// an action is a toolset batch that the provider could not split.
fn legacy_tool(block: &Block, id: &str, input: InputResult<Map<String, Value>>) -> Content {
    let read = input.and_then(|mut input| match input.shift_remove("action") {
        Some(Value::String(name)) => decode_action::computer(&name, &input, false)
            .map_err(|problem| format!("{name}: {problem}")),
        Some(odd) => Err(format!("`action` is {}, expected a string", excerpt(&odd))),
        None => Err(no_action_problem(&input)),
    });
    computer(
        block,
        id,
        COMPUTER,
        read.map_err(|problem| format!("{problem}.")),
    )
}

/// Decodes a call of one of our function tools, whose arguments are neutral actions.
fn companion(block: &Block, id: &str, name: &str, input: &Map<String, Value>) -> Option<Content> {
    let arguments = Arguments::Json(input.clone());
    let mut content = match name {
        extra_tools::COMPUTER | extra_tools::SHELL => {
            fallback_tools::decode_call(name, id, arguments)
        }
        _ => Content::ComputerCall(extra_tools::decode_computer_call(name, id, &arguments)?),
    };
    if let Some(own) = content.meta_mut() {
        *own = meta(block, &["id", "name", "input"]);
    }
    Some(content)
}

/// Property of a content with the form it had in this dialect; [`LEGACY_TOOL`] for a call of a
/// legacy tool.
pub(super) const FORM: &str = "form";
pub(super) const LEGACY_TOOL: &str = "one_tool";

/// Metadata of a call; an invalid call retains its name and input as properties.
fn call_meta(block: &Block, is_read: bool) -> Meta {
    let known: &[&str] = if is_read {
        &["id", "name", "input"]
    } else {
        &["id"]
    };
    meta(block, known)
}

fn no_action_problem(input: &Map<String, Value>) -> String {
    format!(
        "the call names no action of its toolset; its `input` is {}",
        excerpt(&Value::Object(input.clone()))
    )
}

/// Builds a computer call from its decoded actions or from the reason why they are invalid.
fn computer(block: &Block, id: &str, group: &str, read: InputResult<Vec<Action>>) -> Content {
    let is_read = read.is_ok();
    let (actions, exception) = match read {
        Ok(actions) => (actions, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let mut call = ComputerCall::new(id, actions);
    call.exception = exception;
    call.target = (group == BROWSER).then(|| BROWSER.into());
    call.group = Some(group.to_owned());
    call.meta = call_meta(block, is_read);
    if is_read && text(block, "toolset_name").is_none() {
        call.meta.set_property(PROVIDER, FORM, LEGACY_TOOL.into());
    }
    Content::ComputerCall(call)
}

fn bash(block: &Block, id: &str, input: InputResult<Map<String, Value>>) -> Content {
    let read = input.and_then(|input| {
        let (restart, command) = (
            ToolInput(&input).flag("restart")?,
            ToolInput(&input).text("command")?,
        );
        match command {
            _ if restart => Ok((ShellAction::Restart, Vec::new())),
            Some(line) => Ok((ShellAction::Execute, vec![Command::Line(line)])),
            None => Err("`command` is missing".to_owned()),
        }
    });
    let mut call = ShellCall::execute(id, Vec::new());
    match read {
        Ok((action, commands)) => (call.action, call.commands) = (action, commands),
        Err(problem) => call.exception = Some(format!("bash: {problem}.")),
    }
    call.meta = call_meta(block, call.exception.is_none());
    Content::ShellCall(call)
}

fn edit(
    block: &Block,
    id: &str,
    tool: EditTool,
    input: InputResult<Map<String, Value>>,
) -> Content {
    let (operations, exception) = match input.and_then(operation) {
        Ok(operation) => (vec![operation], None),
        Err(problem) => (Vec::new(), Some(format!("{problem}."))),
    };
    let mut meta = call_meta(block, exception.is_none());
    if text(block, "name") == Some("str_replace_editor") {
        meta.set_property(PROVIDER, "name", "str_replace_editor".into());
    }
    Content::EditCall(EditCall {
        call_id: id.into(),
        item_id: None,
        tool,
        operations,
        exception,
        meta,
    })
}

fn operation(mut input: Map<String, Value>) -> InputResult<EditOperation> {
    let name = ToolInput(&input).needed_text("command")?;
    let at = |problem| format!("{name}: {problem}");
    let needed: &[&str] = match name.as_str() {
        "create" => &["path", "file_text"],
        "str_replace" => &["path", "old_str"],
        "rename" => &["old_path", "new_path"],
        "insert" => {
            // Legacy editors name the new text `new_str`.
            if !input.contains_key("insert_text")
                && let Some(new) = input.shift_remove("new_str")
            {
                input.insert("insert_text".to_owned(), new);
            }
            ToolInput(&input).needed_count("insert_line").map_err(at)?;
            &["path", "insert_text"]
        }
        _ => &["path"],
    };
    for member in needed {
        ToolInput(&input).needed_text(member).map_err(at)?;
    }
    input.shift_remove("command");
    let path = match input.shift_remove("path") {
        Some(Value::String(path)) => Some(path),
        Some(odd) => {
            return Err(at(format!(
                "`path` is {}, expected a string",
                excerpt(&odd)
            )));
        }
        None => None,
    };
    Ok(EditOperation {
        name,
        path,
        args: input,
    })
}

/// Decodes a call of any other tool, or a block without an id, which cannot get a result.
fn function(block: &Block, name: &str) -> Content {
    let (arguments, exception) = match block.get("input") {
        None | Some(Value::Null) => (Arguments::Json(Map::new()), None),
        Some(Value::Object(members)) => {
            let problem = invalid_json(members)
                .map(|raw| format!("the input is not a JSON object: {}.", excerpt(raw)));
            (Arguments::Json(members.clone()), problem)
        }
        Some(odd) => {
            let problem = format!("the input is {}, expected an object.", excerpt(odd));
            (Arguments::Text(odd.to_string()), Some(problem))
        }
    };
    let nameless = name
        .is_empty()
        .then(|| "the call names no tool.".to_owned());
    Content::FunctionCall(FunctionCall {
        call_id: text(block, "id").map(Into::into),
        item_id: None,
        name: name.to_owned(),
        arguments,
        requires_local_execution: true,
        could_be_structured_output: false,
        exception: exception.or(nameless),
        meta: meta(block, &["id", "name", "input"]),
    })
}

/// The toolset a call belongs to; none for legacy tools and functions.
pub(super) fn toolset_name(meta: &Meta) -> Option<&str> {
    meta.property(PROVIDER, "toolset_name")?.as_str()
}
