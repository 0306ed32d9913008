//! The files of the live page, which need no token: they contain nothing of any session.

pub(super) mod stream;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};

/// Nothing but the page's own files and this server; no page may show it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

/// A file of the page: path, media type, content.
type PageFile = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// All files of the page.
pub(super) const FILES: [PageFile; 15] = [
    ("/", HTML, include_str!("view/index.html")),
    ("/view/page.css", CSS, include_str!("view/page.css")),
    ("/view/icon.svg", SVG, include_str!("view/icon.svg")),
    ("/view/main.js", SCRIPT, include_str!("view/main.js")),
    ("/view/api.js", SCRIPT, include_str!("view/api.js")),
    ("/view/text.js", SCRIPT, include_str!("view/text.js")),
    (
        "/view/overview.js",
        SCRIPT,
        include_str!("view/overview.js"),
    ),
    ("/view/session.js", SCRIPT, include_str!("view/session.js")),
    (
        "/view/page_text.js",
        SCRIPT,
        include_str!("view/page_text.js"),
    ),
    (
        "/view/timeline.js",
        SCRIPT,
        include_str!("view/timeline.js"),
    ),
    ("/view/details.js", SCRIPT, include_str!("view/details.js")),
    (
        "/view/recording.js",
        SCRIPT,
        include_str!("view/recording.js"),
    ),
    ("/view/screen.js", SCRIPT, include_str!("view/screen.js")),
    (
        "/view/takeover.js",
        SCRIPT,
        include_str!("view/takeover.js"),
    ),
    (
        "/view/question.js",
        SCRIPT,
        include_str!("view/question.js"),
    ),
];

/// A file as the answer.
pub(super) fn serve((_, media_type, content): PageFile) -> Response {
    let fixed = |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
    let headers = [
        fixed(header::CONTENT_TYPE, media_type),
        fixed(header::CONTENT_SECURITY_POLICY, POLICY),
        fixed(header::REFERRER_POLICY, "no-referrer"),
        fixed(header::CACHE_CONTROL, "no-cache"),
        fixed(
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        fixed(
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    (headers, content).into_response()
}
