//! Headers that a program may add to all requests of a page.

use serde_json::{Map, Value};

/// Names that pages cannot set either (the forbidden request-headers of the Fetch standard), and those
/// that say to a server who sends a request and through whom. A cookie has its own, judged command.
const REFUSED: &[&str] = &[
    "accept-charset",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "cookie2",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-real-ip",
];

/// Beginnings of such names.
const REFUSED_BEGINNINGS: &[&str] = &["access-control-", "proxy-", "sec-", "x-forwarded-", ":"];

/// The headers that a program asks for, or why they are refused.
pub(crate) fn checked(params: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some(Value::Object(headers)) = params.get("headers") else {
        return Err("`headers` is no object".to_owned());
    };
    for (name, value) in headers {
        let shown = name.escape_debug();
        // CGI and WSGI servers read `_` as `-`.
        let lower = name.to_ascii_lowercase().replace('_', "-");
        let is_token = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        let is_refused = REFUSED.contains(&lower.as_str())
            || REFUSED_BEGINNINGS
                .iter()
                .any(|begin| lower.starts_with(begin));
        if lower == "cookie" {
            return Err("cookies are set with Network.setCookies".to_owned());
        }
        if is_refused || !is_token {
            return Err(format!("the header {shown} cannot be set"));
        }
        let is_text = value
            .as_str()
            .is_some_and(|value| !value.chars().any(|c| c.is_control() && c != '\t'));
        if !is_text {
            return Err(format!(
                "the value of the header {shown} is no text of one line"
            ));
        }
    }
    Ok(headers.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(headers: Value) -> Result<Map<String, Value>, String> {
        checked(&Map::from_iter([("headers".to_owned(), headers)]))
    }

    #[test]
    fn ordinary_headers_are_passed_on() {
        let headers = json!({"X-Test": "1", "Accept-Language": "de", "Authorization": "Bearer t"});
        assert_eq!(Some(&check(headers.clone()).unwrap()), headers.as_object());
        assert_eq!(check(json!({})), Ok(Map::new()));
    }

    #[test]
    fn headers_that_name_a_sender_or_a_way_are_refused() {
        for name in [
            "Cookie",
            "COOKIE2",
            "Host",
            "origin",
            "Referer",
            "Proxy-Authorization",
            "Sec-Fetch-Site",
            "X-Forwarded-For",
            "X_Forwarded_For",
            "X_Real_IP",
            "Forwarded",
            "Content-Length",
            "Transfer-Encoding",
            "Upgrade",
            "",
            ":authority",
            "a b",
            "a\r\nCookie",
            "Cooki\u{e9}",
            "Access-Control-Request-Method",
        ] {
            assert!(check(json!({ name: "v" })).is_err(), "{name:?}");
        }
        for value in [
            json!("a\r\nCookie: b"),
            json!("a\0"),
            json!(1),
            json!(null),
            json!(["a"]),
        ] {
            assert!(check(json!({ "X-Test": value })).is_err(), "{value}");
        }
        assert!(checked(&Map::new()).is_err());
    }
}
