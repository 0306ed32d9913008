//! Google's functions for a browser: 20 of the newer vocabulary, 13 of the older one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{BrowsingFixture, in_order};
use crate::telechir::png_size;

const NEWER_NAVIGATION: [&str; 5] = [
    "go_back",
    "go_forward",
    "navigate",
    "take_screenshot",
    "wait",
];
const NEWER_INPUT: [&str; 15] = [
    "click",
    "double_click",
    "triple_click",
    "middle_click",
    "right_click",
    "mouse_down",
    "mouse_up",
    "move",
    "type",
    "drag_and_drop",
    "press_key",
    "key_down",
    "key_up",
    "hotkey",
    "scroll",
];
const OLDER_NAVIGATION: [&str; 6] = [
    "open_web_browser",
    "wait_5_seconds",
    "go_back",
    "go_forward",
    "search",
    "navigate",
];
const OLDER_INPUT: [&str; 7] = [
    "click_at",
    "hover_at",
    "type_text_at",
    "key_combination",
    "scroll_document",
    "scroll_at",
    "drag_and_drop",
];

/// A function, its arguments, the end of the browser's URL after it, and the DOM events it causes.
type Row<'a> = (&'static str, Value, &'static str, &'a [&'static str]);

fn respond(rows: &[Row<'_>]) -> Value {
    let part = |(at, (name, args, ..)): (usize, &Row<'_>)| {
        let mut args = args.clone();
        args["intent"] = "Go on.".into();
        let call = json!({"id": format!("c{at}"), "name": name, "args": args});
        json!({"functionCall": call, "thoughtSignature": "c2ln"})
    };
    let parts: Vec<Value> = rows.iter().enumerate().map(part).collect();
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "modelVersion": "gemini-3.8-flash"})
}

#[track_caller]
fn check(rows: &[Row<'_>], reply: &Value) {
    assert_eq!(reply.as_array().map(Vec::len), Some(rows.len()));
    for (at, (name, args, url, _)) in rows.iter().enumerate() {
        let output = &reply[at]["functionResponse"];
        assert_eq!(
            (&output["id"], &output["name"]),
            (&json!(format!("c{at}")), &json!(name))
        );
        let response = &output["response"];
        assert!(response.get("error").is_none(), "{name} {args}: {response}");
        let found = response["url"].as_str().unwrap_or_default();
        assert!(found.ends_with(url), "{name} {args}: {found}");
        let data = output["parts"][0]["inlineData"]["data"]
            .as_str()
            .expect("a screenshot");
        assert_eq!(png_size(data), (1280, 800), "{name}");
    }
}

/// Which page a session opens first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstPage {
    Blank,
    Conformance,
}

/// Executes rows with exactly these functions in a new session, and checks results and DOM events.
fn check_effects(
    first: FirstPage,
    functions: &[&'static str],
    rows: impl FnOnce(&str) -> Vec<Row<'static>>,
) {
    let fixture = BrowsingFixture::new();
    let page = fixture.page();
    let mut flags = fixture.flags();
    if first == FirstPage::Conformance {
        flags[0] = format!("--browser={page}");
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let rows = rows(&page);
    let named: BTreeSet<&str> = rows.iter().map(|row| row.0).collect();
    assert_eq!(named, functions.iter().copied().collect());
    let reply = fixture.exec("google-generate-content", &flags, &respond(&rows));
    check(&rows, &reply);
    // The page is long: its own wheel events have its name.
    let happened = fixture.happened().into_iter();
    let lines: Vec<String> = happened
        .map(|line| line.replace("wheel long", "wheel "))
        .collect();
    in_order(&lines, rows.iter().flat_map(|row| row.3.iter().copied()));
}

#[test]
fn newer_functions_navigate() {
    check_effects(FirstPage::Blank, &NEWER_NAVIGATION, |page| {
        let plain = "/conformance";
        vec![
            (
                "navigate",
                json!({"url": format!("{page}?other")}),
                "?other",
                &[],
            ),
            ("navigate", json!({"url": page}), plain, &[]),
            ("go_back", json!({}), "?other", &[]),
            ("go_forward", json!({}), plain, &[]),
            ("wait", json!({"seconds": 1}), plain, &[]),
            ("take_screenshot", json!({}), plain, &["ready "]),
        ]
    });
}

#[test]
fn newer_functions_reach_the_page_as_input() {
    check_effects(FirstPage::Conformance, &NEWER_INPUT, |_| {
        let plain = "/conformance";
        vec![
            (
                "click",
                json!({"x": 625, "y": 138}),
                plain,
                &["mousedown pad", "mouseup pad", "click pad"],
            ),
            (
                "double_click",
                json!({"x": 625, "y": 138}),
                plain,
                &["click pad", "click pad", "dblclick pad"],
            ),
            (
                "triple_click",
                json!({"x": 625, "y": 138}),
                plain,
                &["dblclick pad", "click pad"],
            ),
            (
                "middle_click",
                json!({"x": 625, "y": 138}),
                plain,
                &["auxclick pad"],
            ),
            (
                "right_click",
                json!({"x": 625, "y": 138}),
                plain,
                &["contextmenu pad"],
            ),
            (
                "move",
                json!({"x": 547, "y": 687}),
                plain,
                &["mousemove canvas"],
            ),
            (
                "mouse_down",
                json!({"x": 547, "y": 687}),
                plain,
                &["mousedown canvas"],
            ),
            (
                "mouse_up",
                json!({"x": 560, "y": 690}),
                plain,
                &["mouseup canvas"],
            ),
            (
                "drag_and_drop",
                json!({"start_x": 531, "start_y": 450, "end_x": 688, "end_y": 463}),
                plain,
                &["dragstart carried", "drop bin", "dragend carried"],
            ),
            (
                "scroll",
                json!({"x": 625, "y": 338, "direction": "down", "magnitude_in_pixels": 200}),
                plain,
                &["wheel much", "scroll scroller"],
            ),
            (
                "click",
                json!({"x": 625, "y": 550}),
                plain,
                &["click field"],
            ),
            (
                "type",
                json!({"text": "Ada", "press_enter": true}),
                plain,
                &["input field=Ada", "keydown field:Enter"],
            ),
            (
                "hotkey",
                json!({"keys": ["ctrl", "a"]}),
                plain,
                &["keydown field:Control", "keydown field:a"],
            ),
            (
                "press_key",
                json!({"key": "backspace"}),
                plain,
                &["input field="],
            ),
            (
                "key_down",
                json!({"key": "shift"}),
                plain,
                &["keydown field:Shift"],
            ),
            (
                "key_up",
                json!({"key": "shift"}),
                plain,
                &["keyup field:Shift"],
            ),
        ]
    });
}

#[test]
fn older_functions_navigate() {
    check_effects(FirstPage::Conformance, &OLDER_NAVIGATION, |page| {
        let plain = "/conformance";
        vec![
            ("open_web_browser", json!({}), plain, &[]),
            ("search", json!({}), "/", &[]),
            ("navigate", json!({"url": page}), plain, &[]),
            ("go_back", json!({}), "/", &[]),
            ("go_forward", json!({}), plain, &[]),
            ("wait_5_seconds", json!({}), plain, &["ready "]),
        ]
    });
}

#[test]
fn older_functions_reach_the_page_as_input() {
    check_effects(FirstPage::Conformance, &OLDER_INPUT, |_| {
        let plain = "/conformance";
        vec![
            (
                "click_at",
                json!({"x": 625, "y": 138}),
                plain,
                &["click pad"],
            ),
            (
                "hover_at",
                json!({"x": 547, "y": 687}),
                plain,
                &["mouseover canvas"],
            ),
            (
                "type_text_at",
                json!({"x": 625, "y": 550, "text": "one"}),
                plain,
                &["click field", "input field=one", "keydown field:Enter"],
            ),
            (
                "type_text_at",
                json!({"x": 625, "y": 550, "text": "two", "press_enter": false}),
                plain,
                &["input field=", "input field=two"],
            ),
            (
                "key_combination",
                json!({"keys": "Control+A"}),
                plain,
                &["keydown field:Control", "keydown field:a"],
            ),
            (
                "scroll_at",
                json!({"x": 625, "y": 338, "direction": "down", "magnitude": 100}),
                plain,
                &["wheel much", "scroll scroller"],
            ),
            (
                "drag_and_drop",
                json!({"x": 531, "y": 450, "destination_x": 688, "destination_y": 463}),
                plain,
                &["drop bin"],
            ),
            ("hover_at", json!({"x": 400, "y": 950}), plain, &[]),
            (
                "scroll_document",
                json!({"direction": "down"}),
                plain,
                &["wheel ", "scroll "],
            ),
        ]
    });
}

#[test]
fn an_impossible_function_call_is_an_error_in_the_response() {
    let fixture = BrowsingFixture::new();
    let mut flags = fixture.flags();
    flags[0] = format!("--browser={}", fixture.page());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    for (at, (name, args, text_of)) in [
        (
            "open_app",
            json!({"app_name": "Notes"}),
            "does not support \"open_app\"",
        ),
        (
            "long_press",
            json!({"x": 1, "y": 2}),
            "does not support \"long_press\"",
        ),
        ("list_apps", json!({}), "list_apps"),
        ("click", json!({"x": 1, "y": 5000}), "5000"),
        ("go_forward", json!({}), "no next page"),
    ]
    .into_iter()
    .enumerate()
    {
        let rows: [Row<'_>; 1] = [(name, args, "", &[])];
        let flags = if at == 0 { &flags[..] } else { &[] };
        let reply = fixture.exec("google-generate-content", flags, &respond(&rows));
        let response = &reply[0]["functionResponse"]["response"];
        let error = response["error"].as_str().unwrap_or_default();
        assert!(error.contains(text_of), "{name}: {response}");
        assert!(
            response["url"]
                .as_str()
                .is_some_and(|url| url.ends_with("/conformance")),
            "{response}"
        );
    }
}
