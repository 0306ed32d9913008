//! Encodes shell, editor and function calls as blocks.

use serde_json::{Map, Value, json};
use telechir_protocol::{Arguments, EditCall, EditTool, FunctionCall, ShellAction, ShellCall};

use super::losses::{legal, legal_id, report_losses};
use super::{EncodedToolUse, ToolUseStyle, finish, location};
use crate::anthropic::PROVIDER;
use crate::history::split_ids;
use crate::service_rules::LONG_FUNCTION_NAME;
use crate::{Report, extra_tools, precision};

pub(super) fn shell(call: &ShellCall, style: ToolUseStyle, report: &mut Report) -> EncodedToolUse {
    let location = location(&call.call_id);
    report_losses(
        report,
        &location,
        call.item_id.as_deref(),
        call.status.as_deref(),
    );
    let limits = [
        ("timeout", call.timeout_ms.is_some()),
        ("output limit", call.max_output.is_some()),
        ("working directory", call.cwd.is_some()),
        ("user", call.user.is_some()),
    ];
    let limits = limits.into_iter().filter(|(_, is_set)| *is_set);
    let variables = call.env.keys();
    let variables = variables.map(|name| format!("environment variable `{name}`"));
    for what in limits.map(|(what, _)| what.to_owned()).chain(variables) {
        report.lost(what, &location, "bash accepts only a command");
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
            report.preserved(
                "a list of commands",
                &location,
                "bash accepts one command",
                "as one script, one line per command",
            );
            vec![json!({"command": lines.join("\n")})]
        }
        ShellAction::Execute => lines.iter().map(|line| json!({"command": line})).collect(),
        ShellAction::Start
        | ShellAction::SendText(_)
        | ShellAction::SendKey(_)
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::List
        | ShellAction::Read(_)
        | ShellAction::Stop(_)
        | ShellAction::Other(_) => match extra_tools::encode_shell_call(call) {
            Some(arguments) => {
                report.preserved(
                    "a shell action",
                    &location,
                    "bash does not support it",
                    "as a call of a function named shell_session",
                );
                let input: Value = serde_json::from_str(&arguments).unwrap_or_default();
                let block = json!({"type": "tool_use", "id": id, "name": extra_tools::SHELL, "input": input});
                return finish(vec![(block, 0)], &call.meta);
            }
            None => Vec::new(),
        },
    };
    let inputs = if inputs.is_empty() {
        vec![json!({})]
    } else {
        inputs
    };
    let count = inputs.len();
    let block = |(at, input): (usize, Value)| {
        let id = split_ids::part_id(&id, at + 1, count);
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

pub(super) fn edit(call: &EditCall, report: &mut Report) -> EncodedToolUse {
    let location = location(&call.call_id);
    report_losses(report, &location, call.item_id.as_deref(), None);
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
        report.preserved(
            "file edits",
            &location,
            "the text editor does not support them",
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
    // Legacy editors name the new text `new_str`.
    if name == "str_replace_editor"
        && let Some(new) = input.shift_remove("insert_text")
    {
        input.insert("new_str".to_owned(), new);
    }
    finish(
        vec![(
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            0,
        )],
        &call.meta,
    )
}

pub(super) fn function(call: &FunctionCall, report: &mut Report) -> EncodedToolUse {
    let location = call
        .call_id
        .as_ref()
        .map_or_else(|| format!("call of {}", call.name), location);
    report_losses(report, &location, call.item_id.as_deref(), None);
    let Some(id) = &call.call_id else {
        return EncodedToolUse::default();
    };
    let input = match call.arguments.to_value() {
        Ok(Value::Object(input)) => {
            if let Arguments::Text(text) = &call.arguments {
                precision::report(text.as_bytes(), &location, report);
            }
            Value::Object(input)
        }
        Ok(_) | Err(_) => {
            let arguments = call.arguments.to_text();
            report.preserved(
                "arguments that are not an object",
                &location,
                "an input must be an object",
                "in its field `arguments`",
            );
            json!({"arguments": arguments})
        }
    };
    let name = legal(&call.name, &LONG_FUNCTION_NAME);
    if name != call.name {
        report.preserved(
            format!("function name {}", call.name),
            &location,
            "names may contain letters, digits, _ and -",
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
