//! The tools of `mcp` through the binary: what they return, long texts, jobs, progress, handles,
//! and tasks for another model.

use std::fs;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::provider::{ModelServer, Script, ServedPage};
use telechir_testkit::site::Site;
use tokio::runtime::Runtime;

use crate::mcp::{Client, LEGACY, MODERN};

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A policy that allows the pages of the test.
pub(crate) fn local_pages(folder: &std::path::Path) -> String {
    let file = folder.join("pages.toml");
    let rule =
        "[[url]]\nhost = ['127.0.0.1', 'localhost']\nverdict = 'allow'\nreason = 'A test.'\n";
    fs::write(&file, rule).expect("a policy file");
    format!("--policy={}", file.display())
}

#[test]
fn all_tools_are_small_and_a_model_is_offered_only_with_a_key() {
    let flags = ["--desktop", "--browser", "--shell"];
    let key = [("ANTHROPIC_API_KEY", "sk-test")];
    for (variables, count) in [(&[][..], 11), (&key[..], 12)] {
        let mut client = Client::start_with(MODERN, &flags, variables);
        let listed = client.request("tools/list", json!({}))["result"].clone();
        let tools = listed["tools"].as_array().expect("tools");
        assert_eq!(tools.len(), count);
        let bytes = listed["tools"].to_string().len();
        assert!(bytes <= 12 << 10, "{bytes} bytes");
        let again = client.request("tools/list", json!({}))["result"].clone();
        assert_eq!(again["tools"], listed["tools"]);
        for tool in tools {
            let name = tool["name"].as_str().expect("a name");
            let shows_screen = [
                "execute_gui",
                "observe_screen",
                "computer_use",
                "execute_browser",
                "execute_computer_use",
            ];
            if shows_screen.contains(&name) {
                assert_eq!(tool["outputSchema"], Value::Null, "{name}");
            }
            assert!(name.len() <= 25, "{name}");
        }
        let found = client.request("server/discover", json!({}))["result"].clone();
        let instructions = found["instructions"].as_str().expect("instructions");
        assert!(instructions.chars().count() <= 1_000, "{instructions}");
        client.leave();
    }
}

/// A shell alone has no screen that a wait could be for.
#[test]
fn a_session_without_a_screen_waits_too() {
    let mut client = Client::start(MODERN, &[]);
    let waited = client.call("wait", &json!({"seconds": 0.2}));
    let answer = &waited["structuredContent"];
    assert_eq!(answer["status"], "success", "{waited}");
    let seconds = answer["waited_seconds"].as_f64();
    assert!(seconds.is_some_and(|seconds| seconds >= 0.2), "{waited}");
    client.leave();
}

#[test]
fn the_exit_code_of_a_command_is_no_error_of_the_tool() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    for (command, status, note) in [
        ("true", "success", Value::Null),
        ("exit_with() { return 3; }; exit_with", "error", Value::Null),
        ("echo a | grep b", "error", json!("no_match")),
        ("grep -c x /nowhere", "error", Value::Null),
    ] {
        let result = client.call("execute_cli", &json!({"command": command}));
        assert_eq!(result["isError"], false, "{result}");
        let members = &result["structuredContent"];
        assert_eq!(members["status"], status, "{result}");
        assert_eq!(members["note"], note, "{result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        let same: Value = serde_json::from_str(text).expect("the same JSON");
        assert_eq!(same, *members);
        for member in ["stdout", "stderr", "duration_ms", "voice_message", "cwd"] {
            assert!(members.get(member).is_some(), "{member}: {members}");
        }
    }
    client.leave();
}

#[test]
fn a_long_output_is_shortened_and_read_in_ranges() {
    require(Component::Sandbox);
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        let result = client.call("execute_cli", &json!({"command": "seq 1 10000"}));
        let stdout = result["structuredContent"]["stdout"]
            .as_str()
            .expect("a text");
        assert!(stdout.starts_with("1\n2\n") && stdout.ends_with("\n10000\n"));
        assert!(stdout.chars().count() <= 20_000, "{}", stdout.len());
        assert!(
            stdout.contains("of 48894 characters are left out"),
            "{stdout}"
        );
        let link = &result["content"][1];
        assert_eq!(link["type"], "resource_link", "{link}");
        let address = link["uri"].as_str().expect("an address").to_owned();
        let mut all = String::new();
        for from in (0..48_894).step_by(20_000) {
            let to = from + 20_000;
            let uri = format!("{address}?from={from}&to={to}");
            let read = client.request("resources/read", json!({"uri": uri}));
            all += read["result"]["contents"][0]["text"]
                .as_str()
                .expect("a text");
        }
        let expected: String = (1..=10_000).map(|n| format!("{n}\n")).collect();
        assert_eq!(all, expected);
        let listed = client.request("resources/list", json!({}));
        assert_eq!(listed["result"]["resources"][0]["uri"], address.as_str());
        let other = client.request("resources/read", json!({"uri": format!("{address}9")}));
        let code = if version == MODERN { -32_602 } else { -32_002 };
        assert_eq!(other["error"]["code"], code, "{other}");
        assert_eq!(other["error"]["data"]["uri"], format!("{address}9"));
        client.leave();
    }
}

#[test]
fn a_command_in_the_background_is_read_and_stopped() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    let command = "echo ready; read -r line; echo got $line; sleep 1000";
    let started = client.call(
        "execute_cli",
        &json!({"command": command, "background": true}),
    );
    let members = started["structuredContent"].clone();
    assert_eq!(members["status"], "running", "{started}");
    let job = members["job"].as_str().expect("a job").to_owned();
    assert_eventually_blocking!(
        client.call("execute_cli", &json!({"job": job}))["structuredContent"].clone(),
        |read| read["status"] == "awaiting_input"
    );
    let input = json!({"job": job, "stdin": "word\n"});
    let answered = client.call("execute_cli", &input)["structuredContent"].clone();
    assert!(
        answered["stdout"].to_string().contains("got word"),
        "{answered}"
    );
    let stopped = client.call("execute_cli", &json!({"job": job, "stop": true}));
    assert_eq!(stopped["isError"], false, "{stopped}");
    client.leave();
}

#[test]
fn progress_comes_at_once_and_without_typed_text() {
    require(Component::Sandbox);
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        let arguments = json!({"command": "echo secret-7"});
        let params = json!({
            "name": "execute_cli", "arguments": arguments, "_meta": {"progressToken": "t"}
        });
        let first = client.request("tools/call", params);
        assert_eq!(first["method"], "notifications/progress", "{first}");
        assert_eq!(first["params"]["progressToken"], "t");
        assert_eq!(first["params"]["message"], "execute_cli");
        let done = client.receive();
        assert_eq!(done["result"]["structuredContent"]["stdout"], "secret-7\n");
        client.leave();
    }
}

#[test]
fn a_cancelled_command_ends_and_the_session_goes_on() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    client.run("x=1");
    let params = json!({
        "name": "execute_cli", "arguments": {"command": "sleep 987654"},
        "_meta": {"progressToken": 1}
    });
    client.send_request("tools/call", params);
    let progress = client.receive();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eventually_blocking!(client.telechir.processes(), |all| {
        all.iter().any(|name| name.trim() == "sleep")
    });
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2, "reason": "enough"}
    }));
    assert_eventually_blocking!(client.telechir.processes(), |all| {
        all.iter().all(|name| name.trim() != "sleep")
    });
    client.send_request(
        "tools/call",
        json!({"name": "execute_cli", "arguments": {"command": "echo still"}}),
    );
    let answer = loop {
        let message = client.receive();
        if message["id"] == 3 {
            break message;
        }
    };
    assert_eq!(
        answer["result"]["structuredContent"]["stdout"], "still\n",
        "{answer}"
    );
    client.leave();
}

#[test]
fn a_handle_is_known_until_its_session_is_closed() {
    let mut client = Client::start_with(MODERN, &["--browser", "--headless"], &[]);
    let status = client.call("browser_session", &json!({"action": "status"}));
    let members = &status["structuredContent"];
    let handle = members["session"].as_str().expect("a handle").to_owned();
    assert_eq!(handle.len(), 32);
    assert_eq!(members["type"], "local");
    assert_eq!(members["running"], false);
    assert_eq!(members["display"], json!({"width": 1280, "height": 800}));
    let waited = |client: &mut Client, session: &str| {
        client.call("get_action_history", &json!({"session": session}))
    };
    assert_eq!(waited(&mut client, &handle)["isError"], false);
    let unknown = waited(&mut client, "0123");
    assert_eq!(unknown["isError"], true);
    let text = unknown["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("No session has this handle"), "{text}");
    for (arguments, expected) in [
        (
            json!({"action": "open", "session_id": "0123"}),
            "No session has this handle",
        ),
        (
            json!({"action": "resume", "session_id": "0123"}),
            "No session has this handle",
        ),
        (
            json!({"action": "resume"}),
            "/session_id: missing; resume needs it",
        ),
        (
            json!({"action": "open", "context_id": "shop"}),
            "--profile shop",
        ),
        (json!({"action": "open", "proxy": true}), "proxy: "),
        (
            json!({"action": "open", "proxy_country": "DE"}),
            "proxy_country: ",
        ),
        (
            json!({"action": "open", "context_id": "a", "session_id": "b"}),
            "/session_id: expected either",
        ),
        (
            json!({"action": "extend"}),
            "/timeout: missing; extend needs it",
        ),
    ] {
        let refused = client.call("browser_session", &arguments);
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(expected), "{text}");
    }
    let extended = json!({"action": "extend", "timeout": 3600});
    assert_eq!(client.call("browser_session", &extended)["isError"], false);
    let closed = client.call("browser_session", &json!({"action": "close"}));
    assert_eq!(closed["isError"], false, "{closed}");
    assert_eq!(closed["structuredContent"]["running"], false, "{closed}");
    assert_eq!(
        waited(&mut client, &handle)["isError"],
        true,
        "the session is closed"
    );
    client.leave();
}

#[test]
fn a_page_is_read_as_elements_and_a_screenshot_comes_without_structured_content() {
    require(Component::Chromium);
    let runtime = runtime();
    let page = "<title>Form</title><h1>Order</h1><input aria-label=Name autofocus>\
                <button>Send</button>";
    let site = runtime
        .block_on(Site::serve([("form", page)]))
        .expect("a site");
    let folder = tempfile::tempdir().expect("a folder");
    let policy = local_pages(folder.path());
    let mut client = Client::start_with(MODERN, &["--browser", "--headless", &policy], &[]);
    let open = json!({"action": "open", "url": site.url("form")});
    let opened = client.call("browser_session", &open);
    assert_eq!(opened["isError"], false, "{opened}");
    assert_eq!(opened["structuredContent"]["url"], site.url("form"));
    let context = client.call("get_ui_context", &json!({}))["structuredContent"].clone();
    let elements = context["interactive_elements"]
        .as_array()
        .expect("elements");
    let named = |name: &str| elements.iter().find(|element| element["name"] == name);
    let button = named("Send").unwrap_or_else(|| panic!("the button: {context}"));
    assert_eq!(button["type"], "button");
    assert_eq!(context["element_count"], elements.len());
    let looked = client.call("observe_screen", &json!({"mode": "grounding"}));
    assert_eq!(looked["structuredContent"], Value::Null);
    assert_eq!(
        looked["content"][1]["type"], "image",
        "{}",
        looked["content"][0]
    );
    let text = looked["content"][0]["text"].as_str().expect("a text");
    let members: Value = serde_json::from_str(text).expect("JSON");
    let labelled = members["ui_elements"]
        .as_array()
        .expect("labelled elements");
    assert!(
        labelled.iter().any(|element| element["name"] == "Send"),
        "{members}"
    );
    for member in ["frame", "width", "height", "settled", "status"] {
        assert!(members.get(member).is_some(), "{member}: {members}");
    }
    let filled = json!({
        "action": "fill", "params": {"ref": named("Name").expect("the field")["ref"], "value": "Zoë"}
    });
    let filled = client.call("execute_browser", &filled);
    assert_eq!(filled["structuredContent"]["status"], "success", "{filled}");
    let clicked = json!({"action": "click", "coordinates": {"x": 1, "y": 1}});
    let clicked = client.call("execute_gui", &clicked);
    assert_eq!(
        clicked["content"][1]["type"], "image",
        "{}",
        clicked["content"][0]
    );
    for (tool, arguments, pointer) in [
        (
            "execute_gui",
            json!({"action": "move_mouse"}),
            "/x: missing; move_mouse needs it",
        ),
        (
            "execute_gui",
            json!({"action": "type"}),
            "/text: missing; type needs it",
        ),
        (
            "execute_browser",
            json!({"action": "click"}),
            "/ref: missing; click needs it",
        ),
        (
            "computer_use",
            json!({"action": "navigate"}),
            "/action: open addresses with browser_session",
        ),
        (
            "computer_use",
            json!({"action": "dance"}),
            "/action: expected one of screenshot,",
        ),
        (
            "computer_use",
            json!({"action": "left_click", "coordinate": "1;2"}),
            "/coordinate: expected a point",
        ),
    ] {
        let result = client.call(tool, &arguments);
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with(pointer), "{tool} {arguments}: {text}");
        assert_eq!(result["isError"], true);
    }
    let unknown = json!({"action": "click", "ref": "b99"});
    let unknown = client.call("execute_browser", &unknown);
    let text = unknown["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.contains("read the page") && !text.contains("read_page"),
        "{text}"
    );
    let anthropic = json!({"action": "left_click", "coordinate": [300, 300]});
    assert_eq!(client.call("computer_use", &anthropic)["isError"], false);
    client.leave();
}

/// A recorded model that looks and then clicks, and then is done.
fn model() -> Script {
    let call = |id: &str, name: &str, input: Value| {
        json!({"type": "tool_use", "id": id, "toolset_name": "browser", "name": name,
            "input": input})
    };
    let look = call("t1", "screenshot", json!({}));
    let click = call(
        "t2",
        "left_click",
        json!({"target": {"type": "coordinate", "x": 30, "y": 40}}),
    );
    let script = json!({"dialect": "anthropic-messages", "turns": [
        {"say": [look]},
        {"say": [{"type": "text", "text": "Clicking."}, click]},
        {"say": [{"type": "text", "text": "It is done."}]},
    ]});
    Script::from_json(&script.to_string()).expect("a script")
}

#[test]
fn another_model_plans_without_acting_or_works_on_the_same_session() {
    require(Component::Chromium);
    let runtime = runtime();
    for (mode, steps) in [("plan", 1), ("execute", 2)] {
        let page = ServedPage::default();
        let server = runtime
            .block_on(ModelServer::start(model(), page, Vec::new()))
            .expect("a server");
        let base = server.base_url();
        let variables = [
            ("ANTHROPIC_API_KEY", "sk-test"),
            ("ANTHROPIC_BASE_URL", base.as_str()),
        ];
        let flags = ["--browser", "--headless"];
        let mut client = Client::start_with(MODERN, &flags, &variables);
        let arguments = json!({"instruction": "Click the corner.", "mode": mode});
        let result = client.call("execute_computer_use", &arguments);
        assert_eq!(result["isError"], false, "{result}");
        let members = &result["structuredContent"];
        let report = server.report();
        assert!(report.rejections.is_empty(), "{report:?}");
        assert_eq!(members["status"], "success", "{members}");
        assert_eq!(members["steps"], steps, "{members}");
        if mode == "plan" {
            let step = json!({"tool": "execute_gui",
                "arguments": {"action": "click", "x": 30, "y": 40}});
            assert_eq!(members["plan"], json!([step]), "{members}");
        } else {
            assert_eq!(members["stdout"], "It is done.");
        }
        let again = json!({"task": members["task"]});
        let again = client.call("execute_computer_use", &again);
        assert_eq!(again["structuredContent"]["steps"], steps, "{again}");
        let unknown = client.call("execute_computer_use", &json!({"task": "task77"}));
        assert_eq!(unknown["isError"], true);
        client.leave();
    }
}
