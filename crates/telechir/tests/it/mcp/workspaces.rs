//! Where the files of a session are: a folder of its own, unless the server names one.

use std::fs;
use std::path::Path;

use serde_json::json;
use telechir_testkit::gate::{Component, require};

use super::{Client, MODERN};

/// The folder in which a shell starts.
fn folder_of(client: &mut Client) -> String {
    let pwd = client.run("pwd");
    pwd["stdout"]
        .as_str()
        .expect("a text")
        .trim_end()
        .to_owned()
}

#[test]
fn each_session_has_a_private_workspace_which_is_removed() {
    require(Component::Sandbox);
    let mut first = Client::start(MODERN, &[]);
    let mut second = first.another(&["--shell"]);
    let (one, two) = (folder_of(&mut first), folder_of(&mut second));
    assert_ne!(one, two);
    let here = std::env::current_dir().expect("a folder");
    for folder in [&one, &two] {
        let folder = Path::new(folder);
        assert!(folder.starts_with(first.telechir.folder()), "{folder:?}");
        assert!(!here.starts_with(folder) && !folder.starts_with(&here));
    }
    // The default policy asks about neither, so that a client's own prompts are not doubled.
    let written = first.run("echo mine > notes; ls");
    assert_eq!(written["stdout"], "notes\n", "{written}");
    let other = second.run(&format!("ls; cat {one}/notes"));
    assert_eq!(other["stdout"], "", "{other}");
    assert_eq!(other["status"], "error", "{other}");
    drop(second);
    first.leave();
    assert!(!Path::new(&one).exists() && !Path::new(&two).exists());
}

#[test]
fn a_workspace_of_another_session_is_refused_with_its_name() {
    require(Component::Sandbox);
    let work = tempfile::tempdir().expect("a folder");
    let flag = format!("--workspace={}", work.path().display());
    let mut first = Client::start(MODERN, &[&flag, "--session=first"]);
    first.call("execute_cli", &json!({"command": "true"}));
    let inside = work.path().join("inside");
    fs::create_dir(&inside).expect("a folder");
    for folder in [work.path(), &inside] {
        let flag = format!("--workspace={}", folder.display());
        let mut second = first.another(&["--shell", &flag]);
        let refused = second.call("execute_cli", &json!({"command": "touch mark"}));
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("in use by session first "), "{text}");
        assert!(text.contains("telechir sessions close first"), "{text}");
        assert!(!folder.join("mark").exists(), "nothing was executed");
    }
    let closed = first.telechir_command(&["sessions", "close", "first"]);
    assert_eq!(closed.code, Some(0), "{}", closed.stderr);
    let mut next = first.another(&["--shell", &flag]);
    assert_eq!(folder_of(&mut next), work.path().to_string_lossy());
    drop(next);
    first.leave();
}

#[test]
fn an_open_session_needs_its_name_alone() {
    require(Component::Sandbox);
    let mut first = Client::start(MODERN, &["--session=work"]);
    first.run("x=5");
    let mut second = first.another(&["--session=work"]);
    let listed = second.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"execute_cli"), "{names:?}");
    assert!(!names.contains(&"execute_gui"), "{names:?}");
    let found = second.run("echo $x");
    assert_eq!(found["stdout"], "5\n", "{found}");
    let closed = first.telechir_command(&["sessions", "close", "work"]);
    assert_eq!(closed.code, Some(0), "{}", closed.stderr);
    // What it was started with is not known to the server, so it starts no other one.
    let gone = second.call("execute_cli", &json!({"command": "true"}));
    assert_eq!(gone["isError"], true, "{gone}");
    assert!(gone.to_string().contains("no session named work"), "{gone}");
    drop(second);
    for (arguments, expected) in [
        (&["mcp", "--session=work"][..], "no session named work"),
        (
            &["mcp"],
            "--session with the name of a session that is open",
        ),
    ] {
        let refused = first.telechir_command(arguments);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
    first.leave();
}

/// Other callers may use a session that the server's user named.
#[test]
fn a_named_session_outlives_what_its_model_closes() {
    require(Component::Sandbox);
    require(Component::Chromium);
    let flags = ["--shell", "--browser", "--headless", "--session=named"];
    let mut client = Client::start_with(MODERN, &flags, &[]);
    client.run("x=5");
    let closed = client.call("browser_session", &json!({"action": "close"}));
    let members = &closed["structuredContent"];
    assert_eq!(members["name"], "named", "{closed}");
    assert_eq!(members["running"], true, "{closed}");
    let after = client.run("echo $x");
    assert_eq!(after["stdout"], "5\n", "{after}");
    let closed = client.telechir_command(&["sessions", "close", "named"]);
    assert_eq!(closed.code, Some(0), "{}", closed.stderr);
    client.leave();
}
