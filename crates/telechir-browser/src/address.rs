//! Resolution of the URLs that a call may name.

use telechir_device::DeviceError;
use url::Url;

use crate::error::refused;
use crate::options::AllowedUrls;

/// The URL that `text` means; without a scheme it is `https`.
pub(crate) fn resolve(text: &str, addresses: AllowedUrls) -> Result<Url, DeviceError> {
    // The parser drops these characters anyway; a scheme must not hide behind them.
    let text: String = text
        .trim_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    if text.is_empty() {
        return Err(refused("The URL is empty."));
    }
    let with_scheme = if has_scheme(&text) {
        text.clone()
    } else {
        format!("https://{text}")
    };
    let url = Url::parse(&with_scheme)
        .map_err(|error| refused(format!("{text:?} is not a URL: {error}.")))?;
    let allowed = match url.scheme() {
        "http" | "https" => true,
        "about" if url.as_str() == "about:blank" => true,
        "data" => addresses != AllowedUrls::Web,
        _ => addresses == AllowedUrls::Judged,
    };
    if !allowed {
        return Err(refused(format!(
            "URLs with the scheme {}: cannot be opened; use http or https.",
            url.scheme()
        )));
    }
    Ok(url)
}

/// Whether a text is a URL, without starting a browser. The policy may still refuse it.
///
/// # Errors
/// If it is not a URL, with the reason.
pub fn check_url(text: &str) -> Result<(), DeviceError> {
    resolve(text, AllowedUrls::Judged).map(drop)
}

/// Whether the text starts with a scheme, not with a host and a port.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_name = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let known = [
        "javascript",
        "data",
        "file",
        "blob",
        "view-source",
        "chrome",
        "about",
    ];
    is_name && (!is_port || known.contains(&scheme.to_ascii_lowercase().as_str()))
}

/// The URL that searches for `query`; without a query the search engine's home page.
pub(crate) fn search(pattern: Option<&str>, query: Option<&str>) -> Result<String, DeviceError> {
    let pattern = pattern
        .ok_or_else(|| refused("No search engine is configured; navigate to a URL instead."))?;
    let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
        let home = Url::parse(pattern).ok().and_then(|url| url.join("/").ok());
        return Ok(home.map_or_else(|| pattern.replace("{query}", ""), String::from));
    };
    let encoded: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    Ok(pattern.replace("{query}", &encoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(text: &str) -> Option<String> {
        resolve(text, AllowedUrls::Web).ok().map(String::from)
    }

    #[test]
    fn an_address_without_a_scheme_is_https() {
        assert_eq!(web("example.com").as_deref(), Some("https://example.com/"));
        assert_eq!(
            web(" example.com/a b ").as_deref(),
            Some("https://example.com/a%20b")
        );
        assert_eq!(
            web("localhost:8080/x").as_deref(),
            Some("https://localhost:8080/x")
        );
        assert_eq!(
            web("127.0.0.1:80").as_deref(),
            Some("https://127.0.0.1:80/")
        );
    }

    #[test]
    fn web_addresses_and_the_blank_page_pass() {
        assert_eq!(web("http://h/?q=a:b").as_deref(), Some("http://h/?q=a:b"));
        assert_eq!(web("HTTPS://H").as_deref(), Some("https://h/"));
        assert_eq!(web("about:blank").as_deref(), Some("about:blank"));
    }

    #[test]
    fn every_other_scheme_is_refused() {
        for text in [
            "file:///etc/passwd",
            "view-source:file:///etc/passwd",
            "view-source:https://example.com",
            "chrome://settings",
            "devtools://x",
            "chrome-extension://x/y",
            "javascript:alert(1)",
            "java\nscript:alert(1)",
            "\t javascript:1",
            "JavaScript:1",
            "data:text/html,x",
            "data:1",
            "blob:https://a/b",
            "filesystem:https://a/b",
            "about:srcdoc",
            "about:version",
            "ftp://h/",
            "mailto:a@b",
            "",
            "http://",
        ] {
            assert_eq!(web(text), None, "{text:?}");
        }
    }

    #[test]
    fn data_urls_pass_only_where_allowed() {
        assert!(resolve("data:text/html,x", AllowedUrls::WebAndData).is_ok());
        assert!(resolve("javascript:1", AllowedUrls::WebAndData).is_err());
    }

    #[test]
    fn judged_addresses_pass_with_any_scheme() {
        for text in [
            "file:///etc/hostname",
            "view-source:https://h/",
            "about:version",
        ] {
            let found = resolve(text, AllowedUrls::Judged).unwrap();
            assert_eq!(found.as_str(), text);
        }
        assert!(resolve("http://", AllowedUrls::Judged).is_err());
    }

    #[test]
    fn search_queries_are_encoded() {
        let found = search(Some("https://s/?q={query}"), Some("a&b ü"));
        assert_eq!(found.unwrap(), "https://s/?q=a%26b+%C3%BC");
        assert_eq!(
            search(Some("https://s/?q={query}"), None).unwrap(),
            "https://s/"
        );
        assert!(search(None, Some("a")).is_err());
    }
}
