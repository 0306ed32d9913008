//! Secrets in what the browser reports to a program: cookies and other headers that authorize, fields
//! of forms that the details of a request do not show either, and the text of password fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::tab_registry::request_details::{HIDDEN, hide_body, is_secret_header, media_type};

/// Removes the secrets of an event.
pub(super) fn hide_in_event(method: &str, params: &mut Value) {
    if method.starts_with("Network.") || method.starts_with("Audits.") {
        hide_in(params);
    }
    if method == "Network.webSocketFrameSent"
        && let Value::String(sent) = &mut params["response"]["payloadData"]
    {
        *sent = hide_body(sent, "");
    }
}

/// Removes the secrets of a command's result.
pub(super) fn hide_in_reply(method: &str, result: &mut Value) {
    match method {
        "Network.getRequestPostData" => {
            if let Value::String(body) = &mut result["postData"] {
                *body = hide_body(body, "");
            }
        }
        "DOMSnapshot.captureSnapshot" => hide_passwords(result),
        _ => {}
    }
}

fn hide_in(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_in),
        Value::Object(members) => {
            hide_sent(members);
            for (name, member) in members {
                let name = name.to_ascii_lowercase();
                let is_cookie = name == "cookie" && member.get("value").is_some();
                if let (true, Value::Object(headers)) = (name.ends_with("headers"), &mut *member) {
                    hide_headers(headers);
                } else if name.ends_with("headerstext") {
                    // Headers once more, as they were sent.
                    *member = "".into();
                } else if name.ends_with("cookieline") {
                    *member = HIDDEN.into();
                } else if is_cookie {
                    member["value"] = HIDDEN.into();
                } else {
                    hide_in(member);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn hide_headers(headers: &mut Map<String, Value>) {
    for (name, value) in headers {
        if is_secret_header(name) {
            *value = HIDDEN.into();
        }
    }
}

/// The body that a request sends, in both of its forms.
fn hide_sent(request: &mut Map<String, Value>) {
    let media_type = request.get("headers").map(media_type).unwrap_or_default();
    if let Some(Value::String(body)) = request.get_mut("postData") {
        *body = hide_body(body, &media_type);
    }
    let parts = request.get("postDataEntries").and_then(Value::as_array);
    let Some(parts) = parts else { return };
    let parts = parts.iter().filter_map(|part| part["bytes"].as_str());
    let bytes: Vec<u8> = parts
        .filter_map(|part| STANDARD.decode(part).ok())
        .flatten()
        .collect();
    let body = String::from_utf8_lossy(&bytes);
    if hide_body(&body, &media_type) != body {
        request.remove("postDataEntries");
    }
}

/// Empties the texts of password fields; others that are the same go with them.
fn hide_passwords(snapshot: &mut Value) {
    let number = |value: &Value| {
        value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let mut hidden = Vec::new();
    {
        let strings = &snapshot["strings"];
        let text = |index: &Value| {
            let text = number(index).and_then(|index| strings[index].as_str());
            text.unwrap_or_default()
        };
        for document in snapshot["documents"].as_array().into_iter().flatten() {
            let (nodes, inputs) = (&document["nodes"], &document["nodes"]["inputValue"]);
            let values = inputs["value"].as_array().into_iter().flatten();
            for (node, value) in inputs["index"].as_array().into_iter().flatten().zip(values) {
                let attributes = number(node).map(|node| &nodes["attributes"][node]);
                let attributes = attributes.and_then(Value::as_array);
                let is_password = attributes.into_iter().flatten().any(|name_or_value| {
                    text(name_or_value).trim().eq_ignore_ascii_case("password")
                });
                if is_password {
                    hidden.extend(number(value));
                }
            }
        }
    }
    for index in hidden {
        if let Some(text) = snapshot["strings"].get_mut(index) {
            *text = "".into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_the_network_have_no_secrets() {
        let mut params = json!({
            "request": {
                "url": "https://example.com/login",
                "headers": { "Authorization": "Bearer s3cret", "Accept": "*/*",
                    "Content-Type": "application/x-www-form-urlencoded" },
                "postData": "user=ann&password=s3cret",
                "postDataEntries": [{ "bytes": STANDARD.encode("user=ann&password=s3cret") }],
            },
            "redirectResponse": {
                "headers": { "Set-Cookie": "sid=s3cret" }, "headersText": "Set-Cookie: sid=s3cret",
                "requestHeaders": { "cookie": "sid=s3cret" }, "requestHeadersText": "Cookie: s3cret",
            },
            "associatedCookies": [{ "cookie": { "name": "sid", "value": "s3cret" } }],
            "blockedCookies": [{ "cookieLine": "sid=s3cret" }],
        });
        hide_in_event("Network.requestWillBeSent", &mut params);
        let shown = params.to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(!shown.contains("postDataEntries"), "{shown}");
        assert_eq!(params["request"]["postData"], "user=ann&password=(hidden)");
        assert_eq!(params["request"]["headers"]["Accept"], "*/*");
        assert_eq!(params["associatedCookies"][0]["cookie"]["name"], "sid");
        let mut issue = json!({ "issue": { "details": { "cookieIssueDetails": {
            "rawCookieLine": "sid=s3cret" } } } });
        hide_in_event("Audits.issueAdded", &mut issue);
        assert!(!issue.to_string().contains("s3cret"));
    }

    #[test]
    fn messages_that_a_page_sends_have_no_secrets() {
        let mut sent = json!({ "requestId": "1", "response": { "opcode": 1, "mask": true,
            "payloadData": "{\"op\":\"login\",\"password\":\"s3cret\"}" } });
        hide_in_event("Network.webSocketFrameSent", &mut sent);
        let shown = sent.to_string();
        assert!(
            !shown.contains("s3cret") && shown.contains("login"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let params = json!({
            "request": { "headers": { "Accept": "*/*" }, "postData": "q=tea",
                "postDataEntries": [{ "bytes": STANDARD.encode("q=tea") }] },
            "cookie": "a word", "type": "Document",
        });
        let mut shown = params.clone();
        hide_in_event("Network.requestWillBeSent", &mut shown);
        assert_eq!(shown, params);
    }

    #[test]
    fn a_snapshot_has_no_text_of_password_fields() {
        let mut snapshot = json!({
            "strings": ["INPUT", "type", "Password", "s3cret", "text", "tea"],
            "documents": [{ "nodes": {
                "attributes": [[], [1, 2], [1, 4]],
                "inputValue": { "index": [1, 2], "value": [3, 5] },
            } }],
        });
        hide_in_reply("DOMSnapshot.captureSnapshot", &mut snapshot);
        assert_eq!(
            snapshot["strings"],
            json!(["INPUT", "type", "Password", "", "text", "tea"])
        );
    }
}
