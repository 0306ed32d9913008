//! The headers and bodies of one request as text, without secrets.

use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
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
/// What servers send before JSON, so that no other site can run it as a script, and before that of
/// an event.
const JSON_PREFIXES: [&str; 4] = [")]}'", "for(;;);", "while(1);", "data:"];
/// In place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

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
        let value = if is_secret_header(name) {
            HIDDEN.to_owned()
        } else {
            text(value).replace(['\r', '\n'], " ")
        };
        let _infallible = writeln!(lines, "{name}: {value}");
    }
    bounded(&lines, MAX_HEADER_CHARS)
}

/// Whether the value of a header is not shown.
pub(crate) fn is_secret_header(name: &str) -> bool {
    is_secret(name) && !name.eq_ignore_ascii_case("www-authenticate")
}

/// The media type that headers name, without parameters.
pub(crate) fn media_type(headers: &Value) -> String {
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

/// A body as text, in which the secrets of forms and JSON are hidden. The type that it is declared
/// to have may be wrong or missing.
pub(crate) fn body(body: &str, media_type: &str) -> String {
    bounded(&hide_body(body, media_type), MAX_BODY_CHARS)
}

/// All of a body without its secrets.
pub(crate) fn hide_body(body: &str, media_type: &str) -> String {
    if let Some(hidden) = hidden_json(body) {
        hidden
    } else if media_type == "application/x-www-form-urlencoded" || is_form(body) {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, _)) if is_secret(&decoded(name)) => format!("{name}={HIDDEN}"),
            _ => pair.to_owned(),
        };
        body.split('&').map(hide).collect::<Vec<_>>().join("&")
    } else if media_type.starts_with("multipart/") || body.contains("form-data; name=") {
        body.split_inclusive("\r\n--").map(hide_part).collect()
    } else {
        // Lines of JSON, or of events with JSON.
        let lines = body.split_inclusive('\n');
        lines
            .map(|line| hidden_json(line).unwrap_or_else(|| line.to_owned()))
            .collect()
    }
}

/// The text without its secrets, if it is an object or a list of JSON after one of the prefixes with
/// which servers send it. Without a secret it is the text as it was.
fn hidden_json(text: &str) -> Option<String> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let prefixes = JSON_PREFIXES.iter();
    let start = prefixes
        .fold(start, |start, prefix| {
            start.strip_prefix(prefix).unwrap_or(start)
        })
        .trim_start();
    if !start.starts_with(['{', '[']) {
        return None;
    }
    let mut value: Value = serde_json::from_str(start).ok()?;
    let mut deserializer = serde_json::Deserializer::from_str(start);
    let has_secret = HasSecret(MemberValues::Shown).deserialize(&mut deserializer);
    if !has_secret.unwrap_or(true) {
        return Some(text.to_owned());
    }
    hide_in(&mut value, MemberValues::Shown);
    let prefix = &text[..text.len() - start.len()];
    let end = &text[text.trim_end().len()..];
    Some(format!("{prefix}{value}{end}"))
}

/// Whether a text can be a form: pairs without spaces and lines.
fn is_form(text: &str) -> bool {
    let is_pair = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, _)| !name.is_empty())
    };
    let is_plain = |letter: char| !letter.is_whitespace() && !"<>{}\"".contains(letter);
    text.chars().all(is_plain) && text.split('&').all(is_pair)
}

/// A name in a form without percent-encoding.
fn decoded(name: &str) -> String {
    let mut pairs = url::form_urlencoded::parse(name.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(name, _)| name.into_owned())
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

/// Whether the values below a name are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberValues {
    Shown,
    Hidden,
}

fn hide_in(value: &mut Value, shown: MemberValues) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                hide_in(member, shown.below(name));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_in(item, shown)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) if shown == MemberValues::Hidden => {
            *value = HIDDEN.into();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl MemberValues {
    /// Whether the values below a member are shown.
    fn below(self, name: &str) -> Self {
        if is_secret(name) { Self::Hidden } else { self }
    }
}

/// Finds out whether JSON has a value that is not shown. It sees members of one name that a [`Value`]
/// has only the last of.
#[derive(Clone, Copy, Debug)]
struct HasSecret(MemberValues);

impl HasSecret {
    fn is_hidden(self) -> bool {
        self.0 == MemberValues::Hidden
    }
}

impl<'de> DeserializeSeed<'de> for HasSecret {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for HasSecret {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(self.is_hidden())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(self.is_hidden())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(self.is_hidden())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(self.is_hidden())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<bool, E> {
        Ok(self.is_hidden())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let mut has_secret = false;
        while let Some(is_found) = items.next_element_seed(self)? {
            has_secret |= is_found;
        }
        Ok(has_secret)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut has_secret = false;
        while let Some(name) = members.next_key::<String>()? {
            has_secret |= members.next_value_seed(Self(self.0.below(&name)))?;
        }
        Ok(has_secret)
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    // An author is none; an authorization is.
    let name = name
        .replace("authoriz", "auth")
        .replace("authoris", "auth")
        .replace("author", "");
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
    fn secrets_are_hidden_whatever_type_is_declared() {
        let given = r#"{"token":"abc","n":1}"#;
        let shown = r#"{"token":"(hidden)","n":1}"#;
        for (body_text, expected) in [
            (given.to_owned(), shown.to_owned()),
            (format!(" \n{given}\n"), format!(" \n{shown}\n")),
            (format!(")]}}'\n{given}"), format!(")]}}'\n{shown}")),
            (format!("for(;;);{given}"), format!("for(;;);{shown}")),
            (
                format!("{given}\n{given}\n\nno json\n"),
                format!("{shown}\n{shown}\n\nno json\n"),
            ),
            (
                format!("event: login\ndata: {given}\n\n"),
                format!("event: login\ndata: {shown}\n\n"),
            ),
            (
                "user=ada&user%5Bpassword%5D=x".to_owned(),
                "user=ada&user%5Bpassword%5D=(hidden)".to_owned(),
            ),
            ("a = b & token".to_owned(), "a = b & token".to_owned()),
            ("{not json}".to_owned(), "{not json}".to_owned()),
            (String::new(), String::new()),
        ] {
            for media_type in ["", "text/plain", "text/html", "application/json"] {
                assert_eq!(body(&body_text, media_type), expected, "{media_type}");
            }
        }
    }

    #[test]
    fn json_without_a_secret_is_shown_as_it_was() {
        for given in [
            "{ \"n\" : 12345678901234567890123, \"x\": 1.50 }\n",
            r#"{"a":1,"a":2,"e":"\u00e9","token":null}"#,
            "[ 1,2 ]",
            "data: {\"n\": 1e2}\n\ndata: [ ]\n\n",
        ] {
            assert_eq!(body(given, "application/json"), given);
        }
    }

    #[test]
    fn a_secret_that_a_later_member_replaces_is_hidden() {
        for given in [
            r#"{"a":{"token":"hunter"},"a":1}"#,
            r#"{"token":"hunter","token":null}"#,
            r#"[{"\u0074oken":["hunter"],"token":[]}]"#,
        ] {
            let shown = body(given, "application/json");
            assert!(!shown.contains("hunter"), "{shown}");
        }
    }

    #[test]
    fn all_values_below_a_secret_name_are_hidden() {
        let given = r#"{"cookies":["a",{"n":5,"b":true,"z":null}],"author":{"name":"Ada"}}"#;
        assert_eq!(
            body(given, "application/json"),
            r#"{"cookies":["(hidden)",{"n":"(hidden)","b":"(hidden)","z":null}],"author":{"name":"Ada"}}"#
        );
        assert!(
            is_secret("Authorization") && is_secret("authorisation_code") && is_secret("x-auth")
        );
    }

    #[test]
    fn long_bodies_are_truncated() {
        let shown = body(&"é".repeat(MAX_BODY_CHARS + 5), "text/plain");
        assert!(shown.ends_with("é… 5 more characters are omitted."));
    }
}
