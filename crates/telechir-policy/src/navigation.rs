//! The URL that an action navigates to.

use telechir_protocol::Action;
use url::Url;

/// Parses a URL as a user would type it: without a scheme it is `https`.
///
/// None if no browser would understand it.
pub(crate) fn read_url(text: &str) -> Option<Url> {
    match Url::parse(text) {
        Ok(url) => Some(url),
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            Url::parse(&format!("https://{}", text.trim())).ok()
        }
        Err(_) => None,
    }
}

/// The URL that an action navigates to, if it has one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is classified in `screen_rule`, whose match has no wildcard"
)]
pub(crate) fn url_of(action: &Action) -> Option<&str> {
    match action {
        Action::Navigate { url, .. } => Some(url),
        Action::OpenBrowser { url } | Action::NewTab { url } => url.as_deref(),
        _ => None,
    }
}

/// The same action with its URL in the judged form.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is classified in `screen_rule`, whose match has no wildcard"
)]
pub(crate) fn with_url(action: &mut Action, canonical: String) {
    match action {
        Action::Navigate { url, .. } => *url = canonical,
        Action::OpenBrowser { url } | Action::NewTab { url } => *url = Some(canonical),
        _ => {}
    }
}
