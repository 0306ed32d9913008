//! Contents with `data:` URLs: the content of a URL, and the bytes of a content.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use telechir_protocol::{Content, DataContent, Meta, UriContent};

/// Content for a URL; a `data:` URL becomes inline data.
pub(crate) fn content_of(uri: &str, meta: Meta) -> Content {
    if !uri.starts_with("data:") {
        return Content::Uri(UriContent {
            uri: uri.to_owned(),
            media_type: None,
            meta,
        });
    }
    let data = DataContent {
        uri: uri.into(),
        media_type: None,
        name: None,
        meta,
    };
    let media_type = data.media_type().map(str::to_owned);
    Content::Data(DataContent { media_type, ..data })
}

/// The data as base64, also if the URL has another encoding.
pub(crate) fn base64_of(data: &DataContent) -> Option<Cow<'_, str>> {
    if let Some(base64) = data.base64() {
        return Some(Cow::Borrowed(base64));
    }
    let (_, escaped) = data.uri.split_once(',')?;
    Some(Cow::Owned(STANDARD.encode(unescaped(escaped)?)))
}

/// The bytes of a percent-encoded text; `None` if an escape is incomplete.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base64_of_url(uri: &str) -> Option<String> {
        let Content::Data(data) = content_of(uri, Meta::default()) else {
            return None;
        };
        base64_of(&data).map(Cow::into_owned)
    }

    #[test]
    fn the_bytes_of_a_url_do_not_depend_on_its_encoding() {
        let same = Some("YSBi".to_owned());
        assert_eq!(base64_of_url("data:text/plain;base64,YSBi"), same);
        assert_eq!(base64_of_url("data:text/plain,a%20b"), same);
        assert_eq!(base64_of_url("data:text/plain,a%2"), None);
        assert_eq!(base64_of_url("https://example.com/a.png"), None);
    }
}
