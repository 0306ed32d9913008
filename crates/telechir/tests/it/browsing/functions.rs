//! `execute_browser`: actions by ref, for models with functions only.

use serde_json::{Value, json};

use super::{BrowsingFixture, in_order};

const VERBS: [&str; 10] = [
    "navigate",
    "snapshot",
    "extract_text",
    "click",
    "fill",
    "press",
    "list_tabs",
    "open_tab",
    "switch_tab",
    "close_tab",
];

pub(super) fn respond(calls: &[Value]) -> Value {
    let call = |(at, arguments): (usize, &Value)| {
        json!({"id": format!("call_{at}"), "type": "function",
            "function": {"name": "execute_browser", "arguments": arguments.to_string()}})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": calls}},
    ]})
}

/// The text of each result, in order.
pub(super) fn text_of(reply: &Value) -> Vec<String> {
    let messages = reply.as_array().expect("messages").iter();
    let tools = messages.filter(|message| message["role"] == "tool");
    tools
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The ref before a name in the short form: `t21 "Name"`.
#[track_caller]
fn ref_before(page: &str, name: &str) -> String {
    let (before, _) = page
        .split_once(&format!(" \"{name}\""))
        .unwrap_or_else(|| panic!("no {name} in {page}"));
    before
        .rsplit([' ', '\n'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_model_that_reads_only_text_is_given_no_image() {
    let fixture = BrowsingFixture::new();
    let declared = fixture
        .run(
            &[
                "tools",
                "--dialect",
                "functions",
                "--browser",
                "--text-only",
            ],
            "",
        )
        .json()
        .to_string();
    assert!(declared.contains("\"execute_browser\""), "{declared}");
    assert!(!declared.contains("screenshot"), "{declared}");
    let mut flags = fixture.flags();
    flags.push("--text-only".to_owned());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut response = respond(&[
        json!({"action": "navigate", "url": fixture.page()}),
        json!({"action": "snapshot"}),
        json!({"action": "press", "params": {"key": "Tab"}}),
        json!({"action": "screenshot"}),
    ]);
    let calls = &mut response["choices"][0]["message"]["tool_calls"];
    calls[3]["function"]["name"] = json!("browser");
    let reply = fixture.exec("functions", &flags, &response);
    assert!(!reply.to_string().contains("image"), "{reply}");
    let output = text_of(&reply);
    assert!(output[1].contains("\"Press\""), "{output:?}");
    assert!(output[3].contains("that reads only text"), "{output:?}");
}

#[test]
fn every_verb_has_its_effect() {
    let fixture = BrowsingFixture::new();
    let declared = fixture
        .run(&["tools", "--dialect", "functions", "--page-tool"], "")
        .json()
        .to_string();
    for verb in VERBS {
        assert!(
            declared.contains(&format!("\"{verb}\"")),
            "{verb} is not in {declared}"
        );
    }
    let flags = fixture.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let page = fixture.page();
    let navigation = [
        json!({"action": "navigate", "url": page}),
        json!({"action": "open_tab", "url": format!("{page}?other")}),
        json!({"action": "list_tabs"}),
        json!({"action": "switch_tab", "params": {"tab": "tab_1"}}),
        json!({"action": "close_tab", "params": {"tab": "tab_2"}}),
        json!({"action": "snapshot"}),
        json!({"action": "extract_text"}),
    ];
    let output = text_of(&fixture.exec("functions", &flags, &respond(&navigation)));
    assert_eq!(output.len(), navigation.len(), "{output:?}");
    assert!(
        output.iter().all(|text_of| !text_of.starts_with("error")),
        "{output:?}"
    );
    assert!(
        output[2].contains("tab_1") && output[2].contains("?other"),
        "{}",
        output[2]
    );
    assert!(
        !output[5].contains("?other") && output[6].contains("Every kind of element"),
        "{output:?}"
    );
    fixture.happened();
    let (press, text) = (
        ref_before(&output[5], "Press"),
        ref_before(&output[5], "Text"),
    );
    let input = [
        json!({"action": "click", "params": {"ref": press}}),
        json!({"action": "fill", "params": {"ref": text, "value": "Ada"}}),
        json!({"action": "press", "params": {"key": "Enter"}}),
        json!({"action": "click", "params": {"ref": "b999"}}),
    ];
    let output = text_of(&fixture.exec("functions", &[], &respond(&input)));
    assert!(output[3].contains("no ref \"b999\""), "{output:?}");
    let wanted = [
        "click press",
        "change text=Ada",
        "keydown text:Enter",
        "submit form",
    ];
    in_order(&fixture.happened(), wanted);
}
