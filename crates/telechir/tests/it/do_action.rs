//! `do`: one action of a session, as a person types it.

use std::fs;

use serde_json::Value;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;

use crate::sessions::SessionFixture;
use crate::telechir::Ran;

/// Runs `do` with arguments that are separated by spaces, and then these.
fn run(fixture: &SessionFixture, words: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["do"];
    arguments.extend(words.split_whitespace());
    arguments.extend(more);
    Ran::of(&mut fixture.command(&arguments), "")
}

/// The output of a call that succeeds.
#[track_caller]
fn done(fixture: &SessionFixture, words: &str, more: &[&str]) -> String {
    let ran = run(fixture, words, more);
    assert_eq!(ran.code, Some(0), "{words} {more:?}: {ran:?}");
    ran.stdout
}

#[test]
fn a_command_runs_in_the_default_session_as_in_a_terminal() {
    require(Component::Sandbox);
    let fixture = SessionFixture::new();
    let none = run(&fixture, "sh", &["true"]);
    none.fails(1, &["no session named default", "--shell"]);
    let record = fixture.file("recording").display().to_string();
    let first = ["--record", &record, "sh", "x=7; echo $((x * 6))"];
    assert_eq!(done(&fixture, "--shell", &first), "42\n");
    assert_eq!(done(&fixture, "sh", &["echo $x"]), "7\n");
    let arguments = ["printf", "%s|", "a b", "--json"];
    assert_eq!(done(&fixture, "sh", &arguments), "a b|--json|");
    let failed = run(&fixture, "sh", &["echo out; echo err >&2; sh -c 'exit 3'"]);
    assert_eq!(failed.code, Some(3), "{failed:?}");
    assert_eq!((&*failed.stdout, &*failed.stderr), ("out\n", "err\n"));
    let json: Value =
        serde_json::from_str(&done(&fixture, "--json sh", &["echo 5"])).expect("JSON");
    assert_eq!(json["type"], "shell_result", "{json}");
    assert_eq!(json["outputs"][0]["stdout"], "5\n", "{json}");
    let screen = run(&fixture, "click 10,10", &[]);
    screen.fails(1, &["no screen", "--desktop"]);
    done(&fixture, "close", &[]);
    let verified = Ran::of(&mut fixture.command(&["audit", "verify", &record]), "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert_eventually_blocking!(fixture.nothing_left(), "the session is gone");
}

#[test]
fn an_action_that_is_typed_twice_is_done_twice() {
    require(Component::Sandbox);
    let fixture = SessionFixture::new();
    let record = fixture.file("recording").display().to_string();
    let line = "echo line >> seen; wc -l < seen";
    let first = ["--record", &record, "--run", "r1", "sh", line];
    assert_eq!(done(&fixture, "--shell", &first), "1\n");
    for expected in ["2\n", "3\n"] {
        assert_eq!(done(&fixture, "sh", &[line]), expected);
    }
    done(&fixture, "close", &[]);
    let verified = Ran::of(&mut fixture.command(&["audit", "verify", &record]), "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn an_action_is_judged_like_any_call() {
    require(Component::Sandbox);
    let fixture = SessionFixture::new();
    let flags = "--session strict --shell --policy look sh";
    assert_eq!(done(&fixture, flags, &["echo read"]), "read\n");
    let denied = run(&fixture, "--session strict sh", &["touch made"]);
    denied.fails(1, &["look: nothing else", "runs only commands that read"]);
    // Flags of the action itself may name the session.
    done(&fixture, "close --session strict", &[]);
}

const PAGE: &str = "<meta charset=utf-8><title>Desk</title>\
    <label>Name <input id=name></label> <label><input type=checkbox id=gift> Gift</label>\
    <label>Size <select id=size><option>small<option>large</select></label>\
    <button onclick=\"said.textContent = 'saved ' + [name_.value, gift.checked, size.value]\">Save\
    </button> <button onclick=\"said.textContent = 'first'\">Delete</button>\
    <button onclick=\"said.textContent = 'second'\">Delete</button>\
    <p id=said>nothing yet</p><script>const name_ = document.getElementById('name')</script>";

const RULES: &str = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'The page.'\n";

#[test]
fn elements_of_a_page_are_named_by_a_person() {
    require(Component::Chromium);
    let fixture = SessionFixture::new();
    let rules = fixture.file("rules.toml");
    fs::write(&rules, RULES).expect("a policy");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let site = runtime.block_on(Site::serve([("desk.html", PAGE)]));
    let site = site.expect("a server");
    let url = site.url("desk.html");
    let (browser, policy) = (format!("--browser={url}"), rules.display().to_string());
    let start = [
        &*browser,
        "--headless",
        "--policy",
        &policy,
        "type",
        "Name",
        "Ada",
    ];
    done(&fixture, "", &start);
    done(&fixture, "check Gift", &[]);
    done(&fixture, "select Size large", &[]);
    done(&fixture, "wait 0.5", &[]);
    let clicked = done(&fixture, "click save", &[]);
    assert!(clicked.contains("saved Ada,true,large"), "{clicked}");
    let ambiguous = run(&fixture, "click Delete", &[]);
    ambiguous.fails(1, &["element \"Delete\"", "2 elements match", "[b"]);
    let refs: Vec<&str> = ambiguous.stderr.split("[b").skip(1).collect();
    let second = refs[1].split(']').next().expect("a ref");
    done(&fixture, &format!("click @b{second}"), &[]);
    assert!(done(&fixture, "text", &[]).contains("second"));
    run(&fixture, "click Remove", &[]).fails(1, &["no element matches", "\"Save\""]);
    let found = done(&fixture, "find gift", &[]);
    assert!(found.contains("checkbox \"Gift\""), "{found}");
    assert!(done(&fixture, "read", &[]).contains("\"Desk\""));
    let file = fixture.file("a.png").display().to_string();
    assert_eq!(done(&fixture, "screenshot", &[&file]), "");
    assert!(fs::read(&file).expect("a file").starts_with(b"\x89PNG"));
    let other = fixture.file("b.png").display().to_string();
    let json = done(&fixture, "screenshot", &[&other, "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["type"], "computer_result", "{json}");
    assert!(fs::read(&other).expect("a file").starts_with(b"\x89PNG"));
    let piped = fixture.command(&["do", "screenshot"]).output();
    assert!(piped.expect("it runs").stdout.starts_with(b"\x89PNG"));
    done(&fixture, "close", &[]);
}

#[test]
fn a_desktop_takes_keys_and_gives_screenshots() {
    require(Component::XServer);
    let fixture = SessionFixture::new();
    let file = fixture.file("a.png").display().to_string();
    done(&fixture, "--session d --desktop screenshot", &[&file]);
    assert!(fs::read(&file).expect("a file").starts_with(b"\x89PNG"));
    for words in ["--session d key Escape", "--session d hover 40,50"] {
        let effect = done(&fixture, words, &[]);
        assert!(
            ["delivered\n", "confirmed\n"].contains(&&*effect),
            "{effect}"
        );
    }
    let unknown = run(&fixture, "--session d click Nowhere", &[]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    done(&fixture, "--session d close", &[]);
}
