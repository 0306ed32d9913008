//! The recordings in the server's folder: list, rows, screenshots and report, also after the end of
//! their sessions.
//!
//! Live events have no typed text, and neither do the events of a recording: these a viewer reads. The
//! other rows and the report have all of it, for operators.

use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use telechir_host::SessionImage;
use telechir_host::tokens::Role;

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, reply};
use super::screenshots::unless_known;

/// Rows of an answer, unless the request names fewer.
const MAX_ROWS: usize = 1000;
/// Bytes of the rows of an answer; a longer row comes alone.
const MAX_ROWS_BYTES: usize = 4 << 20;
/// Largest recording that a report is made of: the page has all its screenshots.
const MAX_REPORT_BYTES: u64 = 256 << 20;
/// Screenshots have the name of their digest, so they never change.
const IMMUTABLE: &str = "private, max-age=31536000, immutable";
/// A report needs no script and no other file. Opened as a page, it is of no origin.
const REPORT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox";

/// Reads the folder with the recordings of a server. An id is the name of a recording's folder; others
/// are none, such as `..`, and so are links.
pub trait RecordingStore: fmt::Debug + Send + Sync + 'static {
    /// Hears of an open session with this configuration, whose recording may be one of these. Most
    /// stores know their recordings anyway.
    fn session_found(&self, _session: &str, _config: &Value) {}

    /// All recordings, the oldest first.
    ///
    /// # Errors
    /// With a sentence, if the folder cannot be read.
    fn list(&self) -> Result<Vec<RecordingSummary>, String>;

    /// One recording, with its rows and times; none if there is none with this id.
    ///
    /// # Errors
    /// With a sentence, if it cannot be read.
    fn describe(&self, id: &str) -> Result<Option<RecordingSummary>, String>;

    /// Some rows of a recording; none if there is none with this id.
    ///
    /// # Errors
    /// With a sentence, if it cannot be read.
    fn rows(&self, id: &str, range: RowRange) -> Result<Option<Vec<RecordingRow>>, String>;

    /// A screenshot of a recording; none if there is none.
    ///
    /// # Errors
    /// With a sentence, if it cannot be read.
    fn screenshot(&self, id: &str, digest: &str) -> Result<Option<SessionImage>, String>;

    /// A recording as one HTML page; none if there is none with this id.
    ///
    /// # Errors
    /// With a sentence, if it cannot be read.
    fn report(&self, id: &str) -> Result<Option<String>, String>;
}

/// Which rows an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange {
    /// The first row, from 1.
    pub from: u64,
    /// Maximum number of rows.
    pub max_rows: usize,
    /// Maximum bytes of the rows together; the first row may be longer.
    pub max_bytes: usize,
    /// Whether only rows of events count.
    pub events_only: bool,
}

/// A recording in the list: its size and when it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordingSummary {
    /// Names the recording in paths. That of a session opened over HTTP has the session's id.
    pub id: String,
    /// Size of the rows and screenshots.
    pub bytes: u64,
    /// Seconds since something was written.
    pub age_seconds: u64,
    /// Whether a session writes it.
    pub in_use: bool,
    /// Number of rows; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Time of the first row in milliseconds since 1970; absent in lists and without rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<i64>,
    /// Time of the last row, like that of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<i64>,
}

/// A row of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordingRow {
    /// Number of the row, from 1.
    pub row: u64,
    /// The session that wrote it.
    pub run: String,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// `event`, `call`, `intent`, `outcome` or `answer`.
    pub kind: String,
    /// An event as in the stream of events; otherwise a call, a step or a result.
    pub body: Value,
}

/// The recordings, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RecordingList {
    recordings: Vec<RecordingSummary>,
}

/// Rows of a recording in order.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RowList {
    /// The rows; empty after the last one.
    rows: Vec<RecordingRow>,
    /// The row to read on from.
    next: u64,
}

/// `GET /v1/recordings`
pub(super) async fn list(request: ApiRequest) -> Result<Response, Problem> {
    let recordings = match request.state.settings.recordings.clone() {
        Some(store) => read(request, move |_| store.list()).await?,
        None => Vec::new(),
    };
    Ok(reply(StatusCode::OK, &RecordingList { recordings }))
}

/// `GET /v1/recordings/{id}`
pub(super) async fn describe(request: ApiRequest) -> Result<Response, Problem> {
    let store = store(&request)?;
    let found = read(request, move |id| store.describe(id)).await?;
    Ok(reply(StatusCode::OK, &found.ok_or_else(missing)?))
}

/// `GET /v1/recordings/{id}/rows`
pub(super) async fn rows(request: ApiRequest) -> Result<Response, Problem> {
    let store = store(&request)?;
    let number = |name: &str| {
        let number = request.query(name).map(str::parse::<u64>).transpose();
        let detail = format!("`{name}`: expected a number");
        number.map_err(|_| Problem::new(ProblemKind::BadRequest, detail))
    };
    let from = number("from")?.unwrap_or(1);
    let limit = number("limit")?.map(usize::try_from);
    let limit = limit.map_or(MAX_ROWS, |limit| limit.unwrap_or(MAX_ROWS));
    let only_events = match request.query("kind") {
        None => false,
        Some("event") => true,
        Some(_) => {
            let detail = "`kind`: expected `event`";
            return Err(Problem::new(ProblemKind::BadRequest, detail));
        }
    };
    let range = RowRange {
        from,
        max_rows: limit.clamp(1, MAX_ROWS),
        max_bytes: MAX_ROWS_BYTES,
        events_only: only_events || request.caller.role != Role::Operator,
    };
    let rows = read(request, move |id| store.rows(id, range)).await?;
    let rows = rows.ok_or_else(missing)?;
    let next = rows.last().map_or(from, |last| last.row + 1);
    Ok(reply(StatusCode::OK, &RowList { rows, next }))
}

/// `GET /v1/recordings/{id}/screenshots/{digest}`
pub(super) async fn screenshot(request: ApiRequest) -> Result<Response, Problem> {
    let store = store(&request)?;
    let digest = request.path("digest").to_owned();
    let headers = request.headers.clone();
    let image = read(request, move |id| store.screenshot(id, &digest)).await?;
    let image = image.ok_or_else(|| {
        let detail = "there is no recording with this id that has a screenshot with this digest";
        Problem::new(ProblemKind::NotFound, detail)
    })?;
    let mut response = unless_known(&headers, image);
    let immutable = HeaderValue::from_static(IMMUTABLE);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, immutable);
    Ok(response)
}

/// `GET /v1/recordings/{id}/report`
pub(super) async fn report(request: ApiRequest) -> Result<Response, Problem> {
    let store = store(&request)?;
    let id = request.path("id").to_owned();
    let state = Arc::clone(&request.state);
    let page = state.conversions.run(request.slot, move |_| {
        let described = store.describe(&id).map_err(unreadable)?;
        let bytes = described.ok_or_else(missing)?.bytes;
        if bytes > MAX_REPORT_BYTES {
            let detail = format!(
                "the recording has {bytes} bytes; reports over HTTP are made of {MAX_REPORT_BYTES} at \
                 most. On the server's machine: telechir report DIR/{id} --out report.html"
            );
            return Err(Problem::new(ProblemKind::RecordingUnreadable, detail));
        }
        store.report(&id).map_err(unreadable)?.ok_or_else(missing)
    });
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
    ];
    Ok((headers, page.await?).into_response())
}

/// Reads something about the recording that the path names, on a thread for blocking work.
async fn read<T: Send + 'static>(
    request: ApiRequest,
    read: impl FnOnce(&str) -> Result<T, String> + Send + 'static,
) -> Result<T, Problem> {
    let id = request.path("id").to_owned();
    let slot = request.slot;
    let reading = tokio::task::spawn_blocking(move || {
        let _until_the_end = slot;
        read(&id)
    });
    let failed = |_| Problem::new(ProblemKind::Internal, "the recording could not be read");
    reading.await.map_err(failed)?.map_err(unreadable)
}

fn store(request: &ApiRequest) -> Result<Arc<dyn RecordingStore>, Problem> {
    let store = request.state.settings.recordings.clone();
    store.ok_or_else(|| {
        let detail = "this server keeps no recordings; start it with --record DIR";
        Problem::new(ProblemKind::NotFound, detail)
    })
}

fn missing() -> Problem {
    Problem::new(ProblemKind::NotFound, "no recording has this id")
}

fn unreadable(why: String) -> Problem {
    Problem::new(ProblemKind::RecordingUnreadable, why)
}
