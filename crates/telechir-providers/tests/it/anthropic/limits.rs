//! Limits of a request, checked before it is sent.

use serde_json::{Value, json};

use super::{DIALECT, PNG, history, written};

/// The header of a PNG of this size; nothing reads the rest.
fn png(width: u32, height: u32) -> String {
    use base64::Engine as _;
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0]);
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn image(data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
}

fn rejection(request: &Value) -> Option<String> {
    written(&history(request))
        .err()
        .map(|error| error.to_string())
}

fn request(content: Vec<Value>) -> Value {
    json!({"model": "claude-opus-5-5", "max_tokens": 1, "messages": [{"role": "user", "content": content}]})
}

/// A request with one screenshot as a toolset result.
fn screenshot(image: Value) -> Value {
    let call = super::member("toolu_1", "computer", "screenshot", json!({}));
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [image]});
    json!({"model": "claude-opus-5-5", "max_tokens": 1, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]})
}

#[test]
fn twenty_images_may_be_large_but_no_more() {
    let large = || image(&png(2400, 1200));
    let few: Vec<Value> = (0..20).map(|_| large()).collect();
    assert_eq!(rejection(&request(few.clone())), None);
    let mut many = few;
    many.push(image(PNG));
    let error = rejection(&request(many)).unwrap();
    assert!(error.contains("messages[0].content[0]"), "{error}");
    assert!(error.contains("2400 by 1200"), "{error}");
    assert!(error.contains("with a side over 2000"), "{error}");
    let small: Vec<Value> = (0..30).map(|_| image(&png(2000, 2000))).collect();
    assert_eq!(rejection(&request(small)), None);
}

#[test]
fn rejects_too_many_images_and_bytes() {
    let many = (0..601).map(|_| image(PNG)).collect();
    let error = rejection(&request(many)).unwrap();
    assert!(error.contains("at most 600 images"), "{error}");
    let heavy = format!("{}{}", &PNG[..64], "A".repeat(9 * 1024 * 1024));
    let error = rejection(&request(vec![image(&heavy); 4])).unwrap();
    assert!(error.contains("its images alone have"), "{error}");
    let heavier = "A".repeat(11 * 1024 * 1024);
    let error = rejection(&request(vec![image(&heavier)])).unwrap();
    assert!(error.contains("bytes of base64"), "{error}");
    let error = rejection(&request(vec![image(&png(8001, 1))])).unwrap();
    assert!(error.contains("with a side over 8000"), "{error}");
}

#[test]
fn rejects_a_too_large_screenshot_unless_it_may_be_shrunk() {
    let mut large = image(&png(3000, 1500));
    let error = rejection(&screenshot(large.clone())).unwrap();
    assert!(
        error.contains("messages[2].content[0].content[0]"),
        "{error}"
    );
    large["transformations"] = json!({"oversized_image": "downsize"});
    assert_eq!(rejection(&screenshot(large)), None);
    assert_eq!(rejection(&screenshot(image(&png(1920, 1080)))), None);
}

#[test]
fn removed_features_are_rejected_in_the_newest_version_only() {
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}});
    let cited = json!({"type": "text", "text": "a", "citations": [{"type": "char_location"}]});
    let body = |more: Value, messages: Value| {
        let mut body = json!({"model": "claude-opus-5-5", "max_tokens": 1, "messages": messages});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let plain = json!([{"role": "user", "content": "go"}]);
    let refused = [
        (json!({"temperature": 1.0}), plain.clone(), "`temperature`"),
        (json!({"top_p": 0.5}), plain.clone(), "`top_p`"),
        (json!({"top_k": 5}), plain.clone(), "`top_k`"),
        (
            json!({}),
            json!([{"role": "assistant", "content": [document]}]),
            "document",
        ),
        (
            json!({}),
            json!([{"role": "user", "content": [cited]}]),
            "citations",
        ),
    ];
    for (more, messages, expected) in refused {
        let newest = body(more.clone(), messages.clone());
        let error = rejection(&newest).unwrap();
        assert!(error.contains(expected), "{error}");
        for version in ["2023-06-01", "bedrock-2023-05-31"] {
            let mut older = newest.clone();
            older["anthropic_version"] = version.into();
            assert_eq!(rejection(&older), None, "{version}, {expected}");
        }
        for model in [
            "claude-3-5-haiku-latest",
            "claude-opus-4-8",
            "a-model-of-tomorrow",
        ] {
            let mut older = newest.clone();
            older["model"] = model.into();
            assert_eq!(rejection(&older), None, "{model}, {expected}");
        }
    }
    assert!(DIALECT.decode_history(plain.to_string().as_bytes()).is_ok());
}
