//! The 31 members of Anthropic's browser toolset.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{BrowsingFixture, in_order, ref_of};
use crate::exec::member;
use crate::telechir::image_size;

const MEMBERS: [&str; 31] = [
    "navigate",
    "list_tabs",
    "new_tab",
    "switch_tab",
    "close_tab",
    "read_page",
    "get_page_text",
    "read_console",
    "read_network",
    "find",
    "form_input",
    "file_upload",
    "scroll_to",
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "hover",
    "left_click_drag",
    "left_mouse_down",
    "left_mouse_up",
    "mouse_move",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
    "javascript_exec",
];

/// The expected content of a result.
enum ExpectedResult {
    /// Text that contains this fragment.
    Words(&'static str),
    /// The browser state with this number of tabs, and nothing else.
    Tabs(usize),
    /// A screenshot of the entire screen.
    Screenshot,
    /// A screenshot of a region.
    Part,
}
use ExpectedResult::{Part, Screenshot, Tabs, Words};

/// A member, its input, its expected result, and the DOM events it causes.
type Row<'a> = (&'static str, Value, ExpectedResult, &'a [&'static str]);

fn respond(rows: &[Row<'_>]) -> Value {
    let call = |(at, (name, input, ..)): (usize, &Row<'_>)| {
        member(&format!("toolu_{at}"), "browser", name, input.clone())
    };
    let calls: Vec<Value> = rows.iter().enumerate().map(call).collect();
    message(&calls)
}

pub(super) fn message(calls: &[Value]) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": calls, "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts
        .chain(result["content"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

fn screenshot(result: &Value) -> (u32, u32) {
    let mut blocks = result["content"].as_array().into_iter().flatten();
    let image = blocks.find(|block| block["type"] == "image");
    image_size(
        image.expect("an image")["source"]["data"]
            .as_str()
            .expect("base64"),
    )
}

#[track_caller]
fn check(rows: &[Row<'_>], reply: &Value) {
    assert_eq!(reply.as_array().map(Vec::len), Some(rows.len()));
    for (at, (name, input, expected, _)) in rows.iter().enumerate() {
        let result = &reply[at];
        assert_eq!(result["tool_use_id"], format!("toolu_{at}"));
        assert_eq!(result["toolset_name"], "browser", "{name}");
        assert_ne!(
            result["is_error"],
            true,
            "{name} {input}: {}",
            text_of(result)
        );
        match expected {
            Words(wanted) => assert!(
                text_of(result).contains(wanted),
                "{name}: {}",
                text_of(result)
            ),
            Tabs(count) => {
                let blocks = result["content"].as_array().expect("blocks");
                assert_eq!(blocks.len(), 1, "{name}: only the state");
                assert_eq!(blocks[0]["type"], "browser_state", "{name}");
                let tabs = blocks[0]["tabs"].as_array().expect("tabs");
                assert_eq!(tabs.len(), *count, "{name}: {tabs:?}");
                assert_eq!(
                    tabs.iter().filter(|tab| tab["active"] == true).count(),
                    1,
                    "{name}"
                );
            }
            Screenshot => assert_eq!(screenshot(result), (1280, 800), "{name}"),
            Part => assert!(screenshot(result).0 > 0, "{name}"),
        }
    }
}

fn point(x: u32, y: u32) -> Value {
    json!({"type": "coordinate", "x": x, "y": y})
}

#[test]
fn every_member_has_its_effect() {
    let fixture = BrowsingFixture::new();
    let flags = fixture.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let page = fixture.page();
    let other = format!("{page}?other");
    let navigation: Vec<Row<'_>> = vec![
        ("list_tabs", json!({}), Tabs(1), &[]),
        ("new_tab", json!({}), Tabs(2), &[]),
        ("switch_tab", json!({"tab_id": "tab_1"}), Tabs(2), &[]),
        ("close_tab", json!({"tab_id": "tab_2"}), Tabs(1), &[]),
        ("navigate", json!({"url": other}), Words(""), &[]),
        (
            "navigate",
            json!({"url": page, "tab_id": "tab_1"}),
            Words(""),
            &[],
        ),
        ("navigate", json!({"url": "back"}), Words(""), &[]),
        ("navigate", json!({"url": "forward"}), Words(""), &[]),
        ("navigate", json!({"url": "reload"}), Words(""), &[]),
        ("wait", json!({"duration": 0.2}), Words(""), &[]),
        (
            "read_page",
            json!({"filter": "all"}),
            Words("button \"Press\""),
            &[],
        ),
        (
            "get_page_text",
            json!({}),
            Words("Every kind of element"),
            &[],
        ),
        (
            "find",
            json!({"query": "deep"}),
            Words("button \"Deep\""),
            &[],
        ),
        ("zoom", json!({"region": [640, 0, 960, 200]}), Part, &[]),
        ("screenshot", json!({}), Screenshot, &[]),
    ];
    let reply = fixture.exec("anthropic-messages", &flags, &respond(&navigation));
    check(&navigation, &reply);
    let opened = &reply[1]["content"][0]["state_changes"];
    assert_eq!(*opened, json!([{"type": "tab_opened", "tab_id": "tab_2"}]));
    let read = text_of(&reply[10]);
    let target = |name: &str| json!({"type": "ref", "ref": ref_of(&read, name)});
    fixture.happened();
    let input: Vec<Row<'_>> = vec![
        (
            "left_click",
            json!({"target": target("Press")}),
            Words(""),
            &["mousedown press", "mouseup press", "click press"],
        ),
        (
            "left_click",
            json!({"target": target("Rolled"), "modifiers": "shift"}),
            Words(""),
            &["keydown press:Shift", "click rolled", "keyup rolled:Shift"],
        ),
        (
            "right_click",
            json!({"target": target("Rolled")}),
            Words(""),
            &["contextmenu rolled"],
        ),
        (
            "middle_click",
            json!({"target": target("Rolled")}),
            Words(""),
            &["auxclick rolled"],
        ),
        (
            "double_click",
            json!({"target": target("Press"), "tab_id": "tab_1"}),
            Words(""),
            &["click press", "click press", "dblclick press"],
        ),
        (
            "triple_click",
            json!({"target": target("Press")}),
            Words(""),
            &["click press", "dblclick press", "click press"],
        ),
        (
            "hover",
            json!({"target": point(800, 100)}),
            Words(""),
            &["mouseover pad"],
        ),
        (
            "left_click_drag",
            json!({"from": point(680, 360), "target": point(880, 370)}),
            Words(""),
            &["dragstart carried", "drop bin", "dragend carried"],
        ),
        (
            "mouse_move",
            json!({"target": point(700, 550)}),
            Words(""),
            &["mousemove canvas"],
        ),
        (
            "left_mouse_down",
            json!({"target": point(700, 550)}),
            Words(""),
            &["mousedown canvas"],
        ),
        (
            "left_mouse_up",
            json!({"target": point(720, 560)}),
            Words(""),
            &["mouseup canvas"],
        ),
        (
            "scroll",
            json!({"target": point(800, 270), "scroll_direction": "down", "scroll_amount": 2}),
            Words(""),
            &["wheel much", "scroll scroller"],
        ),
        (
            "left_click",
            json!({"target": point(800, 440)}),
            Words(""),
            &["click field"],
        ),
        (
            "type",
            json!({"text": "Grüße"}),
            Words(""),
            &["input field=Grüße"],
        ),
        (
            "key",
            json!({"text": "ctrl+a BackSpace"}),
            Words(""),
            &["keydown field:Control", "input field="],
        ),
        (
            "key",
            json!({"text": "a", "repeat": 2}),
            Words(""),
            &["input field=a", "input field=aa"],
        ),
        (
            "hold_key",
            json!({"text": "b", "duration": 0.1}),
            Words(""),
            &["keydown field:b", "keyup field:b"],
        ),
        (
            "form_input",
            json!({"target": target("Select"), "value": "Beta"}),
            Words("Beta"),
            &["change select=b"],
        ),
        (
            "form_input",
            json!({"target": target("Number"), "value": 7}),
            Words("set"),
            &["change number=7"],
        ),
        (
            "file_upload",
            json!({"target": target("File"), "paths": ["note.txt"]}),
            Words("note.txt"),
            &["change file=note.txt"],
        ),
        (
            "scroll_to",
            json!({"target": target("Deep")}),
            Words("in view"),
            &[],
        ),
        (
            "javascript_exec",
            json!({"text": "console.info('logged'); document.title + 1"}),
            Words("conformance1"),
            &[],
        ),
        ("read_console", json!({}), Words("[info] logged"), &[]),
        (
            "read_network",
            json!({}),
            Words("GET 200 document text/html"),
            &[],
        ),
    ];
    let reply = fixture.exec("anthropic-messages", &[], &respond(&input));
    check(&input, &reply);
    in_order(
        &fixture.happened(),
        input.iter().flat_map(|row| row.3.iter().copied()),
    );
    let used: BTreeSet<&str> = navigation.iter().chain(&input).map(|row| row.0).collect();
    assert_eq!(used, BTreeSet::from(MEMBERS));
}

#[test]
fn an_impossible_action_is_an_error_of_the_toolset() {
    let fixture = BrowsingFixture::new();
    let mut flags = fixture.flags();
    flags[0] = format!("--browser={}", fixture.page());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (press, part) = (point(20, 60), json!({"type": "ref", "ref": "b999"}));
    for (at, (name, input, error_text)) in [
        ("left_click", json!({"target": part}), "no ref \"b999\""),
        ("left_click", json!({"target": point(5000, 5)}), "5000"),
        ("switch_tab", json!({"tab_id": "tab_9"}), "no tab \"tab_9\""),
        (
            "file_upload",
            json!({"target": press, "document_ids": ["file_1"]}),
            "ref of an element",
        ),
        (
            "file_upload",
            json!({"target": part, "document_ids": ["file_1"]}),
            "at the provider",
        ),
        ("navigate", json!({"url": "file:///etc/passwd"}), "file"),
        ("navigate", json!({"url": "forward"}), "no next page"),
        ("levitate", json!({}), "levitate"),
        (
            "form_input",
            json!({"target": press, "value": 1}),
            "ref of an element",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let calls = [
            member("toolu_1", "browser", name, input.clone()),
            member("toolu_2", "browser", "screenshot", json!({})),
        ];
        let flags = if at == 0 { &flags[..] } else { &[] };
        let reply = fixture.exec("anthropic-messages", flags, &message(&calls));
        assert_eq!(reply[0]["is_error"], true, "{name} {input}");
        assert!(
            text_of(&reply[0]).contains(error_text),
            "{name} {input}: {}",
            text_of(&reply[0])
        );
        assert_eq!(reply[1]["is_error"], true);
        assert_eq!(
            text_of(&reply[1]),
            "Not executed: an earlier action in this turn failed."
        );
    }
    // The session still works after all errors.
    let shown = message(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    let reply = fixture.exec("anthropic-messages", &[], &shown);
    assert_eq!(screenshot(&reply[0]), (1280, 800));
}
