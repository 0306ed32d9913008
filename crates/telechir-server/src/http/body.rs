//! Reads the body of a request, with limits on its size, its time and its depth.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use telechir_protocol::json_limits;
use tokio::time::{Instant, timeout, timeout_at};

use super::problem::{Problem, ProblemKind};

/// Time for a body to begin, and for each further part of `MIN_RATE` bytes times its seconds.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Bytes a second that a body must have on average after that time.
const MIN_RATE: usize = 64 << 10;
/// How long a body that is too large is discarded.
const DISCARD_TIME: Duration = Duration::from_secs(2);
/// Maximum number of objects and arrays inside each other.
const MAX_DEPTH: usize = 64;

/// Reads a body of JSON of at most `max_bytes`; the text is not parsed.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    max_bytes: usize,
) -> Result<Vec<u8>, Problem> {
    check_type(headers)?;
    let mut body = body;
    if length(headers) > max_bytes {
        return Err(too_large(max_bytes, &mut body).await);
    }
    let mut bytes = Vec::new();
    let started = Instant::now();
    loop {
        let earned = Duration::from_secs(u64::try_from(bytes.len() / MIN_RATE).unwrap_or_default());
        let part = timeout_at(started + BODY_TIME + earned, body.frame()).await;
        let part = part.map_err(|_| {
            let detail = format!(
                "{} bytes arrived in {} s",
                bytes.len(),
                started.elapsed().as_secs()
            );
            Problem::new(ProblemKind::BodyTimeout, detail).closing()
        })?;
        let Some(part) = part else { break };
        let part = part.map_err(|_| {
            let detail = "the connection ended before the body did";
            Problem::new(ProblemKind::BadRequest, detail).closing()
        })?;
        let data = part.into_data().unwrap_or_default();
        if bytes.len() + data.len() > max_bytes {
            return Err(too_large(max_bytes, &mut body).await);
        }
        bytes.extend_from_slice(&data);
    }
    check_depth(&bytes)?;
    Ok(bytes)
}

/// The length of a body in bytes, as its head says.
pub(super) fn length(headers: &HeaderMap) -> usize {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or_default()
}

/// Parses a body into its type, an object, which refuses unknown and repeated members. Without names a
/// list has no members either, and serde would read its values in their order.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let first = bytes.trim_ascii_start().first();
    if first.is_some_and(|byte| *byte == b'[') {
        let detail = "failed to read the body: expected an object, found a list";
        return Err(Problem::new(ProblemKind::Unreadable, detail));
    }
    serde_json::from_slice(bytes).map_err(|e| {
        Problem::new(
            ProblemKind::Unreadable,
            format!("failed to read the body: {e}"),
        )
    })
}

/// Forms of web pages can send other types without permission of the server.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let media = content_type.unwrap_or_default().split(';').next();
    match media.unwrap_or_default().trim() {
        media if media.eq_ignore_ascii_case("application/json") => Ok(()),
        other => Err(Problem::new(
            ProblemKind::UnsupportedMedia,
            format!(
                "expected `Content-Type: application/json`, found `{}`",
                other.escape_debug()
            ),
        )),
    }
}

/// Reads what the client is sending already: it would not read an answer before, and a connection that
/// is closed under it loses the answer.
async fn too_large(max_bytes: usize, body: &mut Body) -> Problem {
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    let _slow_client = timeout(DISCARD_TIME, rest).await;
    let detail = format!("expected at most {max_bytes} bytes");
    Problem::new(ProblemKind::TooLarge, detail).closing()
}

/// Refuses a document that is too deep before it is parsed.
fn check_depth(document: &[u8]) -> Result<(), Problem> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = document.get(at) {
        match byte {
            b'"' => {
                at = json_limits::after_string(document, at);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let detail = format!("expected at most {MAX_DEPTH} levels of objects and arrays");
            return Err(Problem::new(ProblemKind::Unreadable, detail));
        }
        at += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_no_object() {
        #[derive(Debug, serde::Deserialize)]
        struct Members {
            #[serde(default)]
            one: u8,
        }
        assert_eq!(parse::<Members>(b" {\"one\": 7}").unwrap().one, 7);
        assert_eq!(parse::<Members>(b"{}").unwrap().one, 0);
        for list in [&b"[]"[..], b"\n [7]", b"[{\"one\": 7}]", b""] {
            let refused = parse::<Members>(list).unwrap_err();
            assert_eq!(refused.kind, ProblemKind::Unreadable, "{list:?}");
        }
    }

    #[test]
    fn depth_counts_outside_of_strings() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check_depth(nested(MAX_DEPTH).as_bytes()), Ok(()));
        assert!(check_depth(nested(MAX_DEPTH + 1).as_bytes()).is_err());
        let text = format!("[\"{}\\\"{}\"]", "{".repeat(99), "[".repeat(99));
        assert_eq!(check_depth(text.as_bytes()), Ok(()));
        let wide = format!("[{}{{}}]", "[],".repeat(1000));
        assert_eq!(check_depth(wide.as_bytes()), Ok(()));
    }
}
