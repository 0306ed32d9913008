//! The headers and bodies of one request as text, without secrets.

use std::fmt::Write as _;

use serde_json::Value;

use crate::client::text;

/// Headers of one request or response that are listed, in characters.
const MAX_HEADER_CHARS: usize = 6_000;
/// Bodies are truncated to this length, in characters.
const MAX_BODY_CHARS: usize = 20_000;
/// Parts of names of headers and fields whose values are not shown.
const SECRET_NAMES: [&str; 10] = [
    "auth",
    "cookie",
    "token",
    "secret",
    "api-key",
    "apikey",
    "api_key",
    "passw",
    "credential",
    "pwd",
];
/// In place of a secret.
const HIDDEN: &str = "(hidden)";

/// A request of the log, and how to get its bodies.
#[derive(Clone, Debug)]
pub(crate) struct RequestDetails {
    /// Chromium's id of the request.
    pub(crate) id: String,
    /// Its line in the log.
    pub(crate) line: String,
    pub(crate) request_headers: String,
    pub(crate) response_headers: String,
    /// The media type of the request's body; `None` if it has none.
    pub(crate) sent_type: Option<String>,
    /// The media type of the response; `None` if it has no body that can be read.
    pub(crate) received_type: Option<String>,
}

/// The headers of a CDP event, one per line, in which secrets are hidden.
pub(super) fn headers(headers: &Value) -> String {
    let mut lines = String::new();
    for (name, value) in headers.as_object().into_iter().flatten() {
        let is_secret = is_secret(name) && !name.eq_ignore_ascii_case("www-authenticate");
        let value = if is_secret {
            HIDDEN.to_owned()
        } else {
            text(value).replace(['\r', '\n'], " ")
        };
        let _infallible = writeln!(lines, "{name}: {value}");
    }
    bounded(&lines, MAX_HEADER_CHARS)
}

/// The media type that headers name, without parameters.
pub(super) fn media_type(headers: &Value) -> String {
    let all = headers.as_object().into_iter().flatten();
    let mut types = all.filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let found = types.next().map(|(_, value)| text(value));
    let found = found.unwrap_or_default().to_lowercase();
    found
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// A body as text, in which the secrets of forms and JSON are hidden.
pub(crate) fn body(body: &str, media_type: &str) -> String {
    let body = if media_type.ends_with("json") {
        match serde_json::from_str::<Value>(body) {
            Ok(mut value) => {
                hide_in(&mut value);
                value.to_string()
            }
            Err(_) => body.to_owned(),
        }
    } else if media_type == "application/x-www-form-urlencoded" {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
            _ => pair.to_owned(),
        };
        body.split('&').map(hide).collect::<Vec<_>>().join("&")
    } else if media_type.starts_with("multipart/") {
        body.split_inclusive("\r\n--").map(hide_part).collect()
    } else {
        body.to_owned()
    };
    bounded(&body, MAX_BODY_CHARS)
}

/// A part of a multipart body: that of a secret field without its value.
fn hide_part(part: &str) -> String {
    let Some((head, _)) = part.split_once("\r\n\r\n") else {
        return part.to_owned();
    };
    let name = head.split("name=\"").nth(1).unwrap_or_default();
    let name = name.split('"').next().unwrap_or_default();
    match is_secret(name) {
        true => format!("{head}\r\n\r\n{HIDDEN}\r\n--"),
        false => part.to_owned(),
    }
}

fn hide_in(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(_) | Value::Number(_) if is_secret(name) => {
                        *member = HIDDEN.into();
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => hide_in(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_in),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

fn bounded(text: &str, max_chars: usize) -> String {
    let rest = text.chars().count().saturating_sub(max_chars);
    match rest {
        0 => text.to_owned(),
        _ => {
            let cut: String = text.chars().take(max_chars).collect();
            format!("{cut}… {rest} more characters are omitted.")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_in_headers_are_hidden() {
        let given = json!({
            "Authorization": "Bearer abc", "Cookie": "sid=1", "X-Api-Key": "k", "Accept": "*/*",
            "WWW-Authenticate": "Basic realm=\"vault\"",
        });
        assert_eq!(
            headers(&given),
            "Authorization: (hidden)\nCookie: (hidden)\nX-Api-Key: (hidden)\nAccept: */*\n\
             WWW-Authenticate: Basic realm=\"vault\"\n"
        );
    }

    #[test]
    fn secrets_in_forms_and_json_are_hidden() {
        let form = "application/x-www-form-urlencoded";
        assert_eq!(
            body("user=ada&password=x%26y", form),
            "user=ada&password=(hidden)"
        );
        let given = r#"{"user":"ada","login":[{"access_token":"abc","ttl":5}]}"#;
        assert_eq!(
            body(given, "application/json"),
            r#"{"user":"ada","login":[{"access_token":"(hidden)","ttl":5}]}"#
        );
        let parts = "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n--b\r\n\
                     Content-Disposition: form-data; name=\"password\"\r\n\r\nhunter\r\n--b--";
        let shown = body(parts, "multipart/form-data");
        assert!(
            shown.contains("ada") && !shown.contains("hunter"),
            "{shown}"
        );
    }

    #[test]
    fn long_bodies_are_truncated() {
        let shown = body(&"é".repeat(MAX_BODY_CHARS + 5), "text/plain");
        assert!(shown.ends_with("é… 5 more characters are omitted."));
    }
}
