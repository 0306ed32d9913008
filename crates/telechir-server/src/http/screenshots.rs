//! Images of sessions: a screen as it is now, and the recorded screenshots that events name.

use std::ops::RangeInclusive;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use telechir_host::{DeviceKind, HostErrorKind, SessionImage};

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Reach, failure};

/// The widths that an image can have, in pixels.
const WIDTHS: RangeInclusive<u32> = 64..=2560;
/// Hexadecimal digits of a hash in an `ETag`.
const ETAG_DIGITS: usize = 32;

/// `GET /v1/sessions/{id}/screenshot`
pub(super) async fn current(request: ApiRequest) -> Result<Response, Problem> {
    let bad = |detail: &str| Problem::new(ProblemKind::BadRequest, detail);
    let device = match request.query("device") {
        None => None,
        Some("desktop") => Some(DeviceKind::Desktop),
        Some("browser") => Some(DeviceKind::Browser),
        Some(other) => {
            let other = other.escape_debug();
            let detail = format!("`device`: expected desktop or browser, found `{other}`");
            return Err(bad(&detail));
        }
    };
    let width = request.query("width").map(|given| {
        let width = given.parse::<u32>().ok();
        let (min, max) = (WIDTHS.start(), WIDTHS.end());
        width.filter(|width| WIDTHS.contains(width)).ok_or_else(|| {
            let given = given.escape_debug();
            bad(&format!(
                "`width`: expected {min} to {max} pixels, found `{given}`"
            ))
        })
    });
    let width = width.transpose()?;
    let client = request.session(Reach::Read).await?;
    let image = client.capture_screen(device, width).await;
    let image = image.map_err(|error| match error.kind() {
        HostErrorKind::Other => Problem::new(ProblemKind::NoScreenshot, error.to_string()),
        HostErrorKind::Busy
        | HostErrorKind::Cancelled
        | HostErrorKind::Lost
        | HostErrorKind::KeyReused
        | HostErrorKind::CallIdReused
        | HostErrorKind::Version => failure(error),
    })?;
    Ok(unless_known(&request.headers, image))
}

/// `GET /v1/sessions/{id}/screenshots/{digest}`
pub(super) async fn recorded(request: ApiRequest) -> Result<Response, Problem> {
    let client = request.session(Reach::Read).await?;
    let image = client.recorded_screenshot(request.path("digest")).await;
    let image = image.map_err(failure)?.ok_or_else(|| {
        let detail = "the session's recording has no screenshot with this digest";
        Problem::new(ProblemKind::NotFound, detail)
    })?;
    Ok(unless_known(&request.headers, image))
}

/// The image, or nothing if the client has exactly this one.
pub(super) fn unless_known(headers: &HeaderMap, image: SessionImage) -> Response {
    let hash = blake3::hash(&image.bytes).to_hex();
    let etag = format!("\"{}\"", hash.get(..ETAG_DIGITS).unwrap_or_default());
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known = known.filter_map(|value| value.to_str().ok());
    let is_known = known.any(|list| list.split(',').any(|known| known.trim() == etag));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, image.media_type)], image.bytes).into_response(),
    };
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}
