//! `--marks` in a browser: labels on the screenshot, clicks by label, labels stale after a load.

use serde_json::{Value, json};

use super::{BrowsingFixture, in_order};

fn respond(arguments: &Value) -> Value {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "browser", "arguments": arguments.to_string()}});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [call]}},
    ]})
}

/// The text and the screenshot in a reply.
fn logged(reply: &Value) -> (String, String) {
    let messages = reply.as_array().expect("messages");
    let text_of = messages[0]["content"].as_str().expect("a text").to_owned();
    let parts = messages.get(1).map(|message| &message["content"]);
    let parts = parts.and_then(Value::as_array);
    let parts = parts.unwrap_or_else(|| panic!("no screenshot beside {text_of}"));
    let image = parts
        .iter()
        .find_map(|part| part["image_url"]["url"].as_str());
    let data = image.and_then(|url| url.strip_prefix("data:image/png;base64,"));
    (text_of, data.expect("a screenshot").to_owned())
}

/// The label of the element with this name, such as `3: button "Press" [b3] at 30,60`.
#[track_caller]
fn label(text_of: &str, name: &str) -> u32 {
    let line = text_of
        .lines()
        .find(|line| line.contains(&format!("\"{name}\"")));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text_of}"));
    line.split_once(':')
        .and_then(|(n, _)| n.parse().ok())
        .expect("a number")
}

#[track_caller]
fn frame(text_of: &str) -> String {
    let (_, rest) = text_of
        .split_once("Labels of ")
        .unwrap_or_else(|| panic!("no labels in {text_of}"));
    rest.split_once(':').expect("a frame").0.to_owned()
}

/// Number of pixels of a screenshot with this colour.
fn pixels_of(screenshot: &str, colour: [u8; 3]) -> usize {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(screenshot)
        .expect("base64");
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    let of = pixels.chunks_exact(info.color_type.samples());
    of.filter(|pixel| pixel.starts_with(&colour)).count()
}

#[test]
fn a_label_is_clicked_and_a_stale_label_names_the_newest_screenshot() {
    const PRESS: [u8; 3] = [0, 120, 50];
    let mut fixture = BrowsingFixture::new();
    let mut flags = fixture.flags();
    flags[0] = format!("--browser={}", fixture.page());
    flags.push("--marks".to_owned());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let first = fixture.exec(
        "functions",
        &flags,
        &respond(&json!({"action": "screenshot"})),
    );
    let (text_of, screenshot) = logged(&first);
    assert!(
        pixels_of(&screenshot, PRESS) > 50,
        "the screenshot has no labels"
    );
    let (old, press) = (frame(&text_of), label(&text_of, "Press"));
    fixture.happened();
    let clicked = fixture.exec(
        "functions",
        &[],
        &respond(&json!({"action": "click", "label": press})),
    );
    in_order(
        &fixture.happened(),
        ["mousedown press", "mouseup press", "click press"],
    );
    let (text_of, _) = logged(&clicked);
    let newest = frame(&text_of);
    assert_ne!(old, newest);

    // A label of an older screenshot.
    let stale = json!({"action": "click", "label": press, "frame": old});
    let (text_of, _) = logged(&fixture.exec("functions", &[], &respond(&stale)));
    assert!(
        text_of.contains(&newest) && text_of.starts_with("Error (stale)"),
        "{text_of}"
    );
    assert!(
        fixture
            .happened()
            .iter()
            .all(|line| !line.starts_with("click"))
    );

    // The page reloads itself after the newest screenshot, so the labels become stale.
    let script = "document.forms[0].onreset = () => setTimeout(() => location.reload(), 300)";
    let (text_of, _) = logged(&fixture.exec(
        "functions",
        &[],
        &respond(&json!({"action": "javascript", "script": script})),
    ));
    let (newest, press) = (frame(&text_of), label(&text_of, "Press"));
    fixture.reset_and_reload();
    let (text_of, _) = logged(&fixture.exec(
        "functions",
        &[],
        &respond(&json!({"action": "click", "label": press})),
    ));
    let gone = format!("label {press} of {newest}, the latest labelled screenshot");
    assert!(text_of.contains(&gone), "{text_of}");
    assert!(
        fixture
            .happened()
            .iter()
            .all(|line| !line.starts_with("click"))
    );
    assert_ne!(frame(&text_of), newest, "the result has no new screenshot");
}
