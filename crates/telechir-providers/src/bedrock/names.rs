//! Encodes ids and names in the characters and lengths that Bedrock accepts, and decodes them.
//!
//! An id or name of another provider is encoded reversibly if it is short enough.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::digest::digest;
use crate::service_rules::{BEDROCK_CALL_ID, FUNCTION_NAME};

/// Prefix of an id that contains another id in base64.
const ENCODED_PREFIX: &str = "tcid-";
/// Prefix of an id with a digest of an id that is too long to encode.
const DIGEST_PREFIX: &str = "tcid_";
/// Maximum length of a tool's name.
const MAX_NAME_CHARS: usize = 64;

/// An id that replaces another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    /// The original id can be decoded from it.
    Encoded(String),
    /// The original id is lost; the digest is unique for practical purposes.
    Digest(String),
}

/// The replacement of an illegal id; none for a legal one.
pub(super) fn encode_id(id: &str) -> Option<Placeholder> {
    if BEDROCK_CALL_ID.accepts(id) {
        return None;
    }
    let original = format!("{ENCODED_PREFIX}{}", URL_SAFE_NO_PAD.encode(id));
    Some(if BEDROCK_CALL_ID.accepts(&original) {
        Placeholder::Encoded(original)
    } else {
        Placeholder::Digest(format!("{DIGEST_PREFIX}{:016x}", digest(id, 0)))
    })
}

/// The original of an encoded id; none for any other id.
pub(super) fn decode_id(id: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD
        .decode(id.strip_prefix(ENCODED_PREFIX)?)
        .ok()?;
    let original = String::from_utf8(bytes).ok()?;
    (encode_id(&original) == Some(Placeholder::Encoded(id.to_owned()))).then_some(original)
}

/// The replacement of an illegal name, with illegal characters escaped as in `_x2e_`; none for a
/// legal one.
pub(super) fn encode_name(name: &str) -> Option<String> {
    if name.chars().all(|c| FUNCTION_NAME.has_char(c)) {
        return None;
    }
    let mut sent = String::new();
    for (at, c) in name.char_indices() {
        // A name that looks like an escape is escaped itself.
        if FUNCTION_NAME.has_char(c) && !name[at..].starts_with("_x") {
            sent.push(c);
        } else {
            sent.push_str(&format!("_x{:x}_", u32::from(c)));
        }
    }
    Some(sent)
}

/// The original of an escaped name; none for any other name.
pub(super) fn decode_name(name: &str) -> Option<String> {
    let mut read = String::new();
    let mut rest = name;
    while let Some(at) = rest.find("_x") {
        let escaped = rest[at + 2..].split_once('_').and_then(|(digits, after)| {
            let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            Some((c, after))
        });
        match escaped {
            Some((c, after)) => {
                read.push_str(&rest[..at]);
                read.push(c);
                rest = after;
            }
            None => {
                read.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
            }
        }
    }
    read.push_str(rest);
    (encode_name(&read).as_deref() == Some(name)).then_some(read)
}

/// A too long name with its end replaced by a digest; none for a short one.
pub(super) fn shortened(name: &str) -> Option<String> {
    if name.len() <= MAX_NAME_CHARS {
        return None;
    }
    let start: String = name.chars().take(MAX_NAME_CHARS - 17).collect();
    Some(format!("{start}-{:016x}", digest(name, 0)))
}

#[cfg(test)]
mod tests {
    use super::{
        FUNCTION_NAME, Placeholder, decode_id, decode_name, encode_id, encode_name, shortened,
    };

    #[test]
    fn foreign_ids_are_encoded_reversibly_in_legal_characters() {
        for id in ["call.1", "a b", "ü", "", "functions.browser:0"] {
            let Some(Placeholder::Encoded(sent)) = encode_id(id) else {
                panic!("{id:?}")
            };
            assert!(FUNCTION_NAME.accepts(&sent), "{sent}");
            assert_eq!(decode_id(&sent).as_deref(), Some(id));
        }
        for id in [
            "toolu_01",
            "tooluse_Hc3MXzVAJJ7C28xbJu45mA",
            "tcid-Y2FsbF8x",
        ] {
            assert_eq!((encode_id(id), decode_id(id)), (None, None), "{id}");
        }
        assert!(
            matches!(encode_id(&"x".repeat(65)), Some(Placeholder::Digest(id)) if id.len() == 21)
        );
    }

    #[test]
    fn foreign_names_are_encoded_reversibly_in_legal_characters() {
        for name in ["fs.read", "a b_x2e_c", "mcp/server.tool", "über"] {
            let sent = encode_name(name).unwrap();
            assert!(FUNCTION_NAME.accepts(&sent), "{sent}");
            assert_eq!(decode_name(&sent).as_deref(), Some(name), "{sent}");
        }
        for name in ["get_weather", "_x", "max_xyz_", "snake_x41_case"] {
            assert_eq!(
                (encode_name(name), decode_name(name)),
                (None, None),
                "{name}"
            );
        }
        assert_eq!(shortened(&"n".repeat(65)).map(|name| name.len()), Some(64));
        assert_eq!(shortened(&"n".repeat(64)), None);
    }
}
