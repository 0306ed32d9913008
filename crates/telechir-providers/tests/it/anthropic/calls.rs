//! Calls: every member of every tool decodes to one action, and invalid input to an exception.

use serde_json::{Value, json};
use telechir_protocol::{Command, ComputerCall, Content, EditTool, ShellAction, ShellEnvironment};

use super::{content, member, turn};

fn computer_call(block: &Value) -> ComputerCall {
    let Content::ComputerCall(call) = content(block) else {
        panic!("{block}")
    };
    call
}

fn actions(call: &ComputerCall) -> Value {
    assert_eq!(call.exception, None);
    call.actions
        .iter()
        .map(|action| Value::Object(action.to_json()))
        .collect()
}

fn legacy(input: Value) -> Value {
    json!({"type": "tool_use", "id": "toolu_1", "name": "computer", "input": input})
}

/// Actions that are the same in the computer toolset and the legacy tools.
fn shared() -> Vec<(&'static str, Value, Value)> {
    let click = |count: &str, button: &str| json!({"action": count, "coordinate": [10, 20], "button": button});
    vec![
        ("screenshot", json!({}), json!({"action": "screenshot"})),
        (
            "zoom",
            json!({"region": [100, 200, 400, 350]}),
            json!({"action": "zoom", "region": [100, 200, 400, 350]}),
        ),
        (
            "cursor_position",
            json!({}),
            json!({"action": "cursor_position"}),
        ),
        (
            "left_click",
            json!({"coordinate": [10, 20]}),
            click("click", "left"),
        ),
        (
            "right_click",
            json!({"coordinate": [10, 20]}),
            click("click", "right"),
        ),
        (
            "middle_click",
            json!({"coordinate": [10, 20]}),
            click("click", "middle"),
        ),
        (
            "double_click",
            json!({"coordinate": [10, 20]}),
            click("double_click", "left"),
        ),
        (
            "triple_click",
            json!({"coordinate": [10, 20]}),
            click("triple_click", "left"),
        ),
        (
            "left_click",
            json!({}),
            json!({"action": "click", "button": "left"}),
        ),
        (
            "left_click",
            json!({"coordinate": null, "text": null}),
            json!({"action": "click", "button": "left"}),
        ),
        (
            "left_click",
            json!({"coordinate": [0, 0], "text": "ctrl+shift"}),
            json!({"action": "click", "coordinate": [0, 0], "button": "left", "modifiers": ["ctrl", "shift"]}),
        ),
        (
            "left_click_drag",
            json!({"start_coordinate": [1, 2], "coordinate": [3, 4], "text": "shift"}),
            json!({"action": "drag", "path": [[1, 2], [3, 4]], "button": "left", "modifiers": ["shift"]}),
        ),
        (
            "mouse_move",
            json!({"coordinate": [5, 6]}),
            json!({"action": "move", "coordinate": [5, 6]}),
        ),
        (
            "left_mouse_down",
            json!({}),
            json!({"action": "mouse_down", "button": "left"}),
        ),
        (
            "left_mouse_up",
            json!({}),
            json!({"action": "mouse_up", "button": "left"}),
        ),
        (
            "scroll",
            json!({"coordinate": [5, 6], "scroll_direction": "up", "scroll_amount": 10, "text": "shift"}),
            json!({"action": "scroll", "coordinate": [5, 6], "dx": 0, "dy": -10, "unit": "clicks", "modifiers": ["shift"]}),
        ),
        (
            "scroll",
            json!({"scroll_direction": "right", "scroll_amount": 1}),
            json!({"action": "scroll", "dx": 1, "dy": 0, "unit": "clicks"}),
        ),
        // The same member has four meanings: literal text, …
        (
            "type",
            json!({"text": "shift"}),
            json!({"action": "type", "text": "shift"}),
        ),
        // … a chord, …
        (
            "key",
            json!({"text": "alt+Tab"}),
            json!({"action": "key", "key": "alt+Tab"}),
        ),
        (
            "key",
            json!({"text": "Page_Down"}),
            json!({"action": "key", "key": "PageDown"}),
        ),
        // … a chord to hold, and above, modifiers.
        (
            "hold_key",
            json!({"text": "shift+Right", "duration": 2}),
            json!({"action": "hold_key", "key": "shift+ArrowRight", "duration": 2000}),
        ),
        (
            "wait",
            json!({"duration": 1}),
            json!({"action": "wait", "duration": 1000}),
        ),
    ]
}

#[test]
fn each_computer_toolset_member_decodes_to_one_action() {
    let mut table = shared();
    table.push((
        "key",
        json!({"text": "Tab", "repeat": 4}),
        json!({"action": "key", "key": "Tab", "repeat": 4}),
    ));
    table.push((
        "wait",
        json!({"duration": 3.0}),
        json!({"action": "wait", "duration": 3000}),
    ));
    for (name, input, expected) in table {
        let call = computer_call(&member("toolu_1", "computer", name, input.clone()));
        assert_eq!(actions(&call), json!([expected]), "{name} {input}");
        assert_eq!(
            (call.group.as_deref(), call.target.as_ref()),
            (Some("computer"), None)
        );
    }
}

#[test]
fn legacy_tool_actions_decode_the_same() {
    let mut table = shared();
    table.push((
        "left_click_drag",
        json!({"coordinate": [9, 9]}),
        json!({"action": "drag", "path": [[9, 9]], "button": "left"}),
    ));
    table.push((
        "left_click",
        json!({"coordinate": "[500, 300]"}),
        json!({"action": "click", "coordinate": [500, 300], "button": "left"}),
    ));
    table.push((
        "left_click",
        json!({"coordinate": ["7", "8"]}),
        json!({"action": "click", "coordinate": [7, 8], "button": "left"}),
    ));
    table.push((
        "mouse_move",
        json!({"coordinate": [1.5, 2.5]}),
        json!({"action": "move", "coordinate": [1.5, 2.5]}),
    ));
    table.push((
        "hold_key",
        json!({"text": "space", "duration": 1.5}),
        json!({"action": "hold_key", "key": "Space", "duration": 1500}),
    ));
    table.push((
        "wait",
        json!({"duration": "0.25"}),
        json!({"action": "wait", "duration": 250}),
    ));
    table.push(("wait", json!({}), json!({"action": "wait"})));
    table.push((
        "scroll",
        json!({"scroll_direction": "down", "scroll_amount": "3", "extra": 1}),
        json!({"action": "scroll", "dx": 0, "dy": 3, "unit": "clicks"}),
    ));
    for (name, mut input, expected) in table {
        input["action"] = name.into();
        let call = computer_call(&legacy(input.clone()));
        assert_eq!(actions(&call), json!([expected]), "{input}");
        assert_eq!(call.group.as_deref(), Some("computer"));
    }
}

#[test]
fn each_browser_toolset_member_decodes_to_one_action() {
    let at = json!({"type": "coordinate", "x": 9, "y": 8});
    let to = json!({"type": "ref", "ref": "ref_2"});
    let element = json!({"ref": "ref_2"});
    let table = [
        (
            "navigate",
            json!({"url": "example.com/docs"}),
            json!({"action": "navigate", "url": "https://example.com/docs"}),
        ),
        (
            "navigate",
            json!({"url": "localhost:8080/?u=http://x"}),
            json!({"action": "navigate", "url": "https://localhost:8080/?u=http://x"}),
        ),
        (
            "navigate",
            json!({"url": "about:blank"}),
            json!({"action": "navigate", "url": "about:blank"}),
        ),
        (
            "navigate",
            json!({"url": "back", "tab_id": "t"}),
            json!({"action": "back", "tab": "t"}),
        ),
        (
            "navigate",
            json!({"url": "forward"}),
            json!({"action": "forward"}),
        ),
        (
            "navigate",
            json!({"url": "reload"}),
            json!({"action": "reload"}),
        ),
        ("list_tabs", json!({}), json!({"action": "list_tabs"})),
        ("new_tab", json!({}), json!({"action": "new_tab"})),
        (
            "switch_tab",
            json!({"tab_id": "t"}),
            json!({"action": "switch_tab", "tab": "t"}),
        ),
        (
            "close_tab",
            json!({"tab_id": "t"}),
            json!({"action": "close_tab", "tab": "t"}),
        ),
        (
            "read_page",
            json!({"filter": "all", "depth": 4, "ref": "ref_2"}),
            json!({"action": "read_page", "filter": "all", "depth": 4, "coordinate": element}),
        ),
        ("get_page_text", json!({}), json!({"action": "page_text"})),
        (
            "read_console",
            json!({"tab_id": "t"}),
            json!({"action": "read_console", "tab": "t"}),
        ),
        ("read_network", json!({}), json!({"action": "read_network"})),
        (
            "find",
            json!({"query": "cart"}),
            json!({"action": "find", "query": "cart"}),
        ),
        (
            "form_input",
            json!({"target": to, "value": true}),
            json!({"action": "form_input", "coordinate": element, "value": true}),
        ),
        (
            "file_upload",
            json!({"target": to, "document_ids": ["d"]}),
            json!({"action": "file_upload", "coordinate": element, "paths": [], "documents": ["d"]}),
        ),
        (
            "scroll_to",
            json!({"target": to}),
            json!({"action": "scroll_to", "coordinate": element}),
        ),
        ("screenshot", json!({}), json!({"action": "screenshot"})),
        (
            "zoom",
            json!({"region": [0, 0, 200, 100]}),
            json!({"action": "zoom", "region": [0, 0, 200, 100]}),
        ),
        (
            "left_click",
            json!({"target": to, "modifiers": "ctrl+shift"}),
            json!({"action": "click", "coordinate": element, "button": "left", "modifiers": ["ctrl", "shift"]}),
        ),
        (
            "right_click",
            json!({"target": at}),
            json!({"action": "click", "coordinate": [9, 8], "button": "right"}),
        ),
        (
            "middle_click",
            json!({"target": at}),
            json!({"action": "click", "coordinate": [9, 8], "button": "middle"}),
        ),
        (
            "double_click",
            json!({"target": at}),
            json!({"action": "double_click", "coordinate": [9, 8], "button": "left"}),
        ),
        (
            "triple_click",
            json!({"target": [9, 8]}),
            json!({"action": "triple_click", "coordinate": [9, 8], "button": "left"}),
        ),
        (
            "hover",
            json!({"target": at}),
            json!({"action": "hover", "coordinate": [9, 8]}),
        ),
        (
            "left_click_drag",
            json!({"from": at, "target": at}),
            json!({"action": "drag", "path": [[9, 8], [9, 8]], "button": "left"}),
        ),
        (
            "left_mouse_down",
            json!({"target": at}),
            json!({"action": "mouse_down", "coordinate": [9, 8], "button": "left"}),
        ),
        (
            "left_mouse_up",
            json!({"target": at}),
            json!({"action": "mouse_up", "coordinate": [9, 8], "button": "left"}),
        ),
        (
            "mouse_move",
            json!({"target": at}),
            json!({"action": "move", "coordinate": [9, 8]}),
        ),
        (
            "scroll",
            json!({"target": at, "scroll_direction": "left"}),
            json!({"action": "scroll", "coordinate": [9, 8], "dx": -3, "dy": 0, "unit": "clicks"}),
        ),
        (
            "type",
            json!({"text": "install"}),
            json!({"action": "type", "text": "install"}),
        ),
        (
            "key",
            json!({"text": "Enter", "repeat": 2}),
            json!({"action": "key", "key": "Enter", "repeat": 2}),
        ),
        (
            "hold_key",
            json!({"text": "shift", "duration": 0.5}),
            json!({"action": "hold_key", "key": "shift", "duration": 500}),
        ),
        (
            "wait",
            json!({"duration": 1.5}),
            json!({"action": "wait", "duration": 1500}),
        ),
        (
            "javascript_exec",
            json!({"text": "document.title"}),
            json!({"action": "javascript", "script": "document.title"}),
        ),
    ];
    for (name, input, expected) in table {
        let call = computer_call(&member("toolu_1", "browser", name, input.clone()));
        assert_eq!(actions(&call), json!([expected]), "{name} {input}");
        let target = call
            .target
            .as_ref()
            .map(telechir_protocol::TargetId::as_str);
        assert_eq!(
            (call.group.as_deref(), target),
            (Some("browser"), Some("browser"))
        );
    }
}

#[test]
fn space_separated_keys_are_a_sequence_and_repeat_together() {
    let call = computer_call(&member(
        "toolu_1",
        "browser",
        "key",
        json!({"text": "Backspace Delete", "repeat": 2}),
    ));
    let press = |key: &str| json!({"action": "key", "key": key});
    let expected = json!([
        press("Backspace"),
        press("Delete"),
        press("Backspace"),
        press("Delete")
    ]);
    assert_eq!(actions(&call), expected);
}

#[test]
fn a_pointer_action_with_a_tab_switches_first() {
    let input = json!({"target": {"type": "coordinate", "x": 1, "y": 2}, "tab_id": "tab-7"});
    let call = computer_call(&member("toolu_1", "browser", "left_click", input));
    let click = json!({"action": "click", "coordinate": [1, 2], "button": "left"});
    assert_eq!(
        actions(&call),
        json!([{"action": "switch_tab", "tab": "tab-7"}, click])
    );
}

#[test]
fn invalid_input_is_a_call_with_an_exception() {
    let table = [
        (
            legacy(json!({"action": "left_click", "coordinate": "abc"})),
            "left_click: `coordinate` is \"abc\", expected a point like [x, y].",
        ),
        (
            legacy(json!({"action": "left_click", "text": "hello"})),
            "left_click: `text` is \"hello\", expected modifier keys like ctrl+shift.",
        ),
        (
            legacy(json!({"action": "mouse_move"})),
            "mouse_move: `coordinate` is missing.",
        ),
        (
            legacy(json!({"action": "scroll", "scroll_direction": "in", "scroll_amount": 1})),
            "scroll: `scroll_direction` is \"in\", expected up, down, left or right.",
        ),
        (
            legacy(json!({"action": "key", "text": "ctrl+"})),
            "key: `text` is \"ctrl+\", expected keys like ctrl+s.",
        ),
        (
            legacy(json!({"action": 7})),
            "`action` is 7, expected a string.",
        ),
        (
            legacy(json!("[1]")),
            "the input is \"[1]\", expected an object.",
        ),
        (
            legacy(json!({"actions": "left_click 10 10"})),
            "the call names no action of its toolset; its `input` is {\"actions\":\"left_click 10 10\"}.",
        ),
        (
            member("t", "computer", "wait", json!({"duration": 1.5})),
            "wait: `duration` is 1.5, expected an integer number of seconds up to 300.",
        ),
        (
            member("t", "computer", "wait", json!({"duration": 301})),
            "wait: `duration` is 301, expected an integer number of seconds up to 300.",
        ),
        (
            member("t", "computer", "key", json!({"text": "a", "repeat": 101})),
            "key: `repeat` is 101, expected a number from 1 to 100.",
        ),
        (
            member(
                "t",
                "computer",
                "left_click_drag",
                json!({"coordinate": [1, 2]}),
            ),
            "left_click_drag: `start_coordinate` is missing.",
        ),
        (
            member("t", "browser", "left_click", json!({})),
            "left_click: `target` is missing.",
        ),
        (
            member("t", "browser", "wait", json!({"duration": 31})),
            "wait: `duration` is 31, expected a number of seconds up to 30.",
        ),
        (
            member(
                "t",
                "browser",
                "file_upload",
                json!({"target": {"type": "ref", "ref": "r"}}),
            ),
            "file_upload: neither `paths` nor `document_ids` names a file.",
        ),
        (
            member("t", "phone", "tap", json!({})),
            "tap: unknown toolset \"phone\".",
        ),
        (
            json!({"type": "tool_use", "id": "t", "name": "browser", "input": {"x": 1}}),
            "the call names no action of its toolset; its `input` is {\"x\":1}.",
        ),
    ];
    for (block, expected) in table {
        let call = computer_call(&block);
        assert_eq!(call.exception.as_deref(), Some(expected), "{block}");
        assert_eq!(call.actions, [], "{block}");
    }
}

#[test]
fn an_unknown_action_is_retained() {
    let call = computer_call(&legacy(json!({"action": "dance", "speed": 3})));
    assert_eq!(actions(&call), json!([{"action": "dance", "speed": 3}]));
}

#[test]
fn caller_and_cache_control_are_retained() {
    let mut block = member("toolu_1", "computer", "screenshot", json!({}));
    block["caller"] = json!({"type": "code_execution_20260120", "tool_id": "srvtoolu_1"});
    block["cache_control"] = json!({"type": "ephemeral"});
    let call = computer_call(&block);
    assert_eq!(
        call.meta.property("anthropic", "caller"),
        Some(&block["caller"])
    );
    assert_eq!(
        call.meta.property("anthropic", "cache_control"),
        Some(&block["cache_control"])
    );
    assert_eq!(
        call.meta.property("anthropic", "toolset_name"),
        Some(&json!("computer"))
    );
}

#[test]
fn bash_executes_or_restarts() {
    let call = |input: Value| {
        let block = json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": input});
        let Content::ShellCall(call) = content(&block) else {
            panic!("{block}")
        };
        call
    };
    let command = call(json!({"command": "ls -la"}));
    assert_eq!(
        (command.action, command.commands),
        (ShellAction::Execute, vec![Command::Line("ls -la".into())])
    );
    assert_eq!(command.environment, ShellEnvironment::Local);
    let restart = call(json!({"restart": true}));
    assert_eq!(
        (restart.action, restart.commands),
        (ShellAction::Restart, vec![])
    );
    assert_eq!(
        call(json!({})).exception.as_deref(),
        Some("bash: `command` is missing.")
    );
    assert_eq!(
        call(json!({"command": 1})).exception.as_deref(),
        Some("bash: `command` is 1, expected a string.")
    );
}

#[test]
fn editor_and_memory_calls_are_edits_in_every_version() {
    let call = |name: &str, input: Value| {
        let block = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input});
        let Content::EditCall(call) = content(&block) else {
            panic!("{block}")
        };
        call
    };
    let new = call(
        "str_replace_based_edit_tool",
        json!({"command": "insert", "path": "/a", "insert_line": 0, "insert_text": "x"}),
    );
    let old = call(
        "str_replace_editor",
        json!({"command": "insert", "path": "/a", "insert_line": 0, "new_str": "x"}),
    );
    assert_eq!(
        new.operations[0].args,
        json!({"insert_line": 0, "insert_text": "x"})
            .as_object()
            .cloned()
            .unwrap()
    );
    assert_eq!(new.operations, old.operations);
    assert_eq!(
        (new.tool, new.operations[0].path.as_deref()),
        (EditTool::Editor, Some("/a"))
    );
    let rename = call(
        "memory",
        json!({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}),
    );
    assert_eq!(
        (
            rename.tool,
            rename.exception,
            rename.operations[0].path.clone()
        ),
        (EditTool::Memory, None, None)
    );
    let odd = call(
        "memory",
        json!({"command": "create", "path": "/memories/a"}),
    );
    assert_eq!(
        odd.exception.as_deref(),
        Some("create: `file_text` is missing.")
    );
}

#[test]
fn other_tools_are_functions_and_our_browser_function_is_a_browser_call() {
    let block = |name: &str, input: Value| json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input});
    let Content::FunctionCall(call) = content(&block("get_weather", json!({"city": "Oslo"})))
    else {
        panic!()
    };
    assert_eq!(
        (call.name.as_str(), call.requires_local_execution),
        ("get_weather", true)
    );
    assert_eq!(call.arguments.to_value().unwrap(), json!({"city": "Oslo"}));
    let Content::ComputerCall(call) = content(&block(
        "browser",
        json!({"action": "navigate", "url": "https://example.com"}),
    )) else {
        panic!()
    };
    assert_eq!(
        actions(&call),
        json!([{"action": "navigate", "url": "https://example.com"}])
    );
    assert_eq!(call.group.as_deref(), Some("browser"));
}

#[test]
fn provider_executed_tools_are_not_calls() {
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "echo 4"}});
    let result = json!({"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "bash_code_execution_result", "stdout": "4\n", "stderr": "w", "return_code": 0, "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}]}});
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "x"}});
    let turn = turn(&json!([call, result, search]));
    assert_eq!(turn.calls(), []);
    let [
        Content::CommandCall(call),
        Content::CommandResult(result),
        Content::Other(other),
    ] = turn.contents()
    else {
        panic!("{:?}", turn.contents())
    };
    assert_eq!((call.inputs.len(), result.results.len()), (1, 3));
    assert_eq!(
        result.meta.property("anthropic", "return_code"),
        Some(&json!(0))
    );
    assert_eq!(Value::Object(other.json.clone()), search);
}
