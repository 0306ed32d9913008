//! Our own functions: shell input, edits and a browser as function calls of the framework.

use serde_json::{Value, json};
use telechir_protocol::{
    CommandOutput, ComputerResult, Content, DataContent, EditResult, EditTool, Failure,
    FailureKind, HostedTool, Media, Message, ShellAction, ShellResult, ShellTool, Tool, ToolCall,
    ToolResult,
};
use telechir_providers::{Dialect, ToolOffer};

use super::{DIALECT, read, through, written};

fn function(id: &str, name: &str, arguments: Value) -> Value {
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

fn response(contents: &[Value]) -> Value {
    json!({"messages": [{"type": "message", "role": "assistant", "contents": contents}]})
}

/// The test vector with calls of our functions.
fn vector() -> Value {
    let text = include_str!("../../vectors/agent-framework/history__own_functions.json");
    serde_json::from_str(text).unwrap()
}

#[test]
fn decodes_our_functions_as_calls_of_our_tools() {
    let calls = [
        function(
            "1",
            "shell_session",
            json!({"action": "send_text", "text": "y\n"}),
        ),
        function("2", "shell", json!({"command": "ls"})),
        function(
            "3",
            "str_replace_based_edit_tool",
            json!({"command": "view", "path": "/a"}),
        ),
        function(
            "4",
            "memory",
            json!("{\"command\": \"view\", \"path\": \"/memories\"}"),
        ),
        function(
            "5",
            "apply_patch",
            json!({"type": "delete_file", "path": "a"}),
        ),
        function("6", "browser", json!({"action": "back"})),
        function("7", "execute_browser", json!({"action": "page"})),
        function("8", "computer_action", json!({"action": "list_windows"})),
        function("9", "weather", json!({"city": "Oslo"})),
    ];
    let (turn, report) = DIALECT
        .decode_response(response(&calls).to_string())
        .unwrap();
    assert!(report.is_lossless(), "{report:?}");
    let calls = turn.calls();
    let ToolCall::Shell(typed) = &calls[0] else {
        panic!("{calls:?}")
    };
    assert_eq!(typed.action, ShellAction::SendText("y\n".to_owned()));
    let kinds: Vec<&str> = calls
        .iter()
        .map(|call| match call {
            ToolCall::Computer(call) => call.group.as_deref().unwrap(),
            ToolCall::Shell(_) => "shell",
            ToolCall::Edit(call) => match call.tool {
                EditTool::Editor => "editor",
                EditTool::Memory => "memory",
                EditTool::Patch => "patch",
            },
            ToolCall::Function(_) => "function",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "shell", "shell", "editor", "memory", "patch", "browser", "browser", "computer",
            "function"
        ]
    );
}

/// The framework executes the call itself or only reports it.
#[test]
fn keeps_a_function_call_that_is_not_executed_here() {
    let mut call = function("1", "shell", json!({"command": "ls"}));
    call["informational_only"] = true.into();
    let (turn, _) = DIALECT
        .decode_response(response(&[call]).to_string())
        .unwrap();
    assert!(matches!(turn.contents(), [Content::FunctionCall(_)]));
    assert_eq!(turn.calls(), []);
}

#[test]
fn answers_a_function_call_with_a_function_result() {
    let calls = [
        function(
            "1",
            "shell_session",
            json!({"action": "send_text", "text": "y\n"}),
        ),
        function(
            "2",
            "memory",
            json!({"command": "view", "path": "/memories"}),
        ),
        function("3", "browser", json!({"action": "screenshot"})),
        json!({"type": "shell_tool_call", "call_id": "4", "commands": ["ls"]}),
    ];
    let (turn, _) = DIALECT
        .decode_response(response(&calls).to_string())
        .unwrap();
    let output = |stdout: &str| CommandOutput {
        stdout: stdout.to_owned(),
        exit_code: Some(0),
        ..CommandOutput::default()
    };
    let mut seen = ComputerResult::new("3");
    seen.screenshot = Some(Media::Data(DataContent::from_base64(
        "image/png",
        "iVBORw0KGgo=",
    )));
    let results = vec![
        ToolResult::Shell(ShellResult::new("1", vec![output("typed")])),
        ToolResult::Edit(EditResult {
            call_id: "2".into(),
            text: None,
            error: Some(Failure::new(FailureKind::Denied, "The policy forbids it.")),
            meta: Default::default(),
        }),
        ToolResult::Computer(seen),
        ToolResult::Shell(ShellResult::new("4", vec![output("a\n")])),
    ];
    let answered = turn.answer(results).unwrap();
    let reply = DIALECT.encode_results(&answered).unwrap();
    let contents = reply.items[0]["contents"].as_array().unwrap();
    let kinds: Vec<&Value> = contents.iter().map(|content| &content["type"]).collect();
    let function = "function_result";
    assert_eq!(kinds, [function, function, function, "shell_tool_result"]);
    let typed = contents[0]["result"].as_str().unwrap();
    assert!(typed.starts_with("typed\n"), "{typed}");
    assert_eq!(contents[1]["exception"], "The policy forbids it.");
    assert_eq!(contents[2]["items"][1]["type"], "data");
}

/// Decodes the vector and drops its raw representations.
#[test]
fn encodes_functions_from_neutral_values_only() {
    let mut messages = read(&vector()).messages;
    for content in messages
        .iter_mut()
        .flat_map(|message| &mut message.contents)
    {
        content.meta_mut().unwrap().raw_representation = None;
    }
    let (value, losses) = written(messages.clone());
    assert_eq!(losses, []);
    let kinds = |value: &Value| -> Vec<(Value, Value)> {
        let messages = value.as_array().unwrap().iter();
        let contents = messages.flat_map(|message| message["contents"].as_array().unwrap());
        let kinds = contents.map(|content| (content["type"].clone(), content["name"].clone()));
        kinds.collect()
    };
    assert_eq!(kinds(&value), kinds(&vector()));
    assert_eq!(through(messages.clone()), messages);
    let result = &messages[1].contents;
    let Content::EditResult(failed) = &result[2] else {
        panic!("{result:?}")
    };
    let error = failed.error.as_ref().unwrap();
    assert_eq!(error.message, "The folder cannot be written to.");
    let Content::ComputerResult(page) = &result[5] else {
        panic!("{result:?}")
    };
    assert_eq!(page.current_url.as_deref(), Some("https://example.com/"));
    assert!(page.screenshot.is_some());
}

/// Shell actions that a service's own tool lacks become calls of our function.
#[test]
fn encodes_other_shell_actions_as_functions() {
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "bash", "input": {"restart": true}},
            {"type": "tool_use", "id": "u", "name": "bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "restarted"},
            {"type": "tool_result", "tool_use_id": "u", "content": "a"}]},
    ]);
    let read = Dialect::AnthropicMessages.decode_history(history.to_string());
    let messages = read.unwrap().0.messages;
    let (value, losses) = written(messages.clone());
    assert_eq!(losses, []);
    let calls = &value[1]["contents"];
    assert_eq!(calls[0]["name"], "shell_session", "{value}");
    assert_eq!(calls[1]["type"], "shell_tool_call");
    let results = &value[2]["contents"];
    assert_eq!(results[0]["type"], "function_result", "{value}");
    assert_eq!(results[1]["type"], "shell_tool_result");
    assert_eq!(through(messages.clone()), messages);
}

#[test]
fn editors_are_declared_as_functions() {
    let hosted = ["text_editor", "memory", "apply_patch", "web_search"];
    let mut tools = vec![Tool::Shell(ShellTool::default())];
    tools.extend(hosted.map(|kind| Tool::Hosted(HostedTool::new(kind))));
    let offer = ToolOffer { tools, model: None };
    let (declared, report) = DIALECT.declare(&offer).unwrap();
    assert!(report.is_lossless(), "{report:?}");
    let name_of = |tool: &Value| {
        let name = tool["name"].as_str().or_else(|| tool["type"].as_str());
        name.unwrap().to_owned()
    };
    let names: Vec<String> = declared.tools.iter().map(name_of).collect();
    let functions = ["str_replace_based_edit_tool", "memory", "apply_patch"];
    assert_eq!(names[..2], ["shell", "shell_session"]);
    assert_eq!(names[2..5], functions);
    assert_eq!(names[5], "web_search");
}

/// Unknown fields of a function call must not be decoded as fields of the tool call.
#[test]
fn unknown_fields_of_a_function_call_stay_unknown() {
    let arguments = r#"{"action":"navigate","url":"https://example.com/"}"#;
    let steps = json!([{"action": "click", "coordinate": [1, 2], "button": "left"}]);
    let document = json!([
        {"type": "function_call", "call_id": "b1", "name": "browser", "arguments": arguments,
            "status": [], "actions": steps},
        {"type": "function_result", "call_id": "b1", "result": "It is open.", "steps": 1},
    ]);
    let (history, report) = DIALECT.decode_history(document.to_string()).unwrap();
    assert!(report.is_lossless(), "{report:?}");
    let neutral = serde_json::to_string(&history.messages).unwrap();
    let again: Vec<Message> = serde_json::from_str(&neutral).unwrap();
    assert_eq!(again, history.messages);
    assert!(
        matches!(again[0].contents[0], Content::ComputerCall(_)),
        "{neutral}"
    );
    let (sent, report) = DIALECT.encode_history(&history).unwrap();
    assert!(report.is_lossless(), "{report:?}");
    assert_eq!(sent, document);
}
