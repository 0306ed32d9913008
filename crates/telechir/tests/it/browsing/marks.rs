//! `--marks` in a browser: numbers on the picture, aimed at by number, and stale after a load.

use serde_json::{Value, json};

use super::{Scene, in_order};

fn respond(arguments: &Value) -> Value {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "browser", "arguments": arguments.to_string()}});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [call]}},
    ]})
}

/// What the model is told, and the picture it is shown.
fn told(reply: &Value) -> (String, String) {
    let messages = reply.as_array().expect("messages");
    let words = messages[0]["content"].as_str().expect("words").to_owned();
    let parts = messages[1]["content"].as_array().expect("parts");
    let image = parts
        .iter()
        .find_map(|part| part["image_url"]["url"].as_str());
    let data = image.and_then(|url| url.strip_prefix("data:image/png;base64,"));
    (words, data.expect("a picture").to_owned())
}

/// The number of what has this name: `3: button "Press" [b3] at 30,60`.
#[track_caller]
fn label(words: &str, name: &str) -> u32 {
    let line = words
        .lines()
        .find(|line| line.contains(&format!("\"{name}\"")));
    let line = line.unwrap_or_else(|| panic!("no {name} in {words}"));
    line.split_once(':')
        .and_then(|(n, _)| n.parse().ok())
        .expect("a number")
}

#[track_caller]
fn frame(words: &str) -> String {
    let (_, rest) = words
        .split_once("Labels of ")
        .unwrap_or_else(|| panic!("no labels in {words}"));
    rest.split_once(':').expect("a frame").0.to_owned()
}

/// How many pixels of a picture have this colour.
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
fn a_number_is_aimed_at_and_one_of_a_page_that_is_gone_names_the_newest_screenshot() {
    const PRESS: [u8; 3] = [0, 120, 50];
    let mut scene = Scene::new();
    let mut flags = scene.flags();
    flags[0] = format!("--browser={}", scene.page());
    flags.push("--marks".to_owned());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let first = scene.exec(
        "functions",
        &flags,
        &respond(&json!({"action": "screenshot"})),
    );
    let (words, screenshot) = told(&first);
    assert!(
        pixels_of(&screenshot, PRESS) > 50,
        "numbers are on the picture"
    );
    let (old, press) = (frame(&words), label(&words, "Press"));
    scene.happened();
    let clicked = scene.exec(
        "functions",
        &[],
        &respond(&json!({"action": "click", "label": press})),
    );
    in_order(
        &scene.happened(),
        ["mousedown press", "mouseup press", "click press"],
    );
    let (words, _) = told(&clicked);
    let newest = frame(&words);
    assert_ne!(old, newest);

    // A number of an older picture.
    let stale = json!({"action": "click", "label": press, "frame": old});
    let (words, _) = told(&scene.exec("functions", &[], &respond(&stale)));
    assert!(
        words.contains(&newest) && words.starts_with("Error (stale)"),
        "{words}"
    );
    assert!(
        scene
            .happened()
            .iter()
            .all(|line| !line.starts_with("click"))
    );

    // The page goes by itself after the newest picture: its numbers go with it.
    let script = "document.forms[0].onreset = () => setTimeout(() => location.reload(), 300)";
    let (words, _) = told(&scene.exec(
        "functions",
        &[],
        &respond(&json!({"action": "javascript", "script": script})),
    ));
    let (newest, press) = (frame(&words), label(&words, "Press"));
    scene.reset_and_reload();
    let (words, _) = told(&scene.exec(
        "functions",
        &[],
        &respond(&json!({"action": "click", "label": press})),
    ));
    let gone = format!("label {press} of {newest}, the latest labelled screenshot");
    assert!(words.contains(&gone), "{words}");
    assert!(
        scene
            .happened()
            .iter()
            .all(|line| !line.starts_with("click"))
    );
    assert_ne!(
        frame(&words),
        newest,
        "the answer has a picture of what is there now"
    );
}
