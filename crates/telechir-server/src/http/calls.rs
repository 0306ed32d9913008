//! What a session's calls did beyond their events, for operators and the owner: arguments, results, and the
//! output of the running command; and the page of its browser, for operators.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use telechir_host::HostErrorKind;

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Reach, failure, reply};

/// A call with what became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CallDocument {
    /// The call with its arguments, in the neutral vocabulary.
    call: Value,
    /// Its result, with digests instead of screenshots; absent until it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
}

/// What the newest command has printed so far.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OutputDocument {
    /// Increases with each change: `since` names the version that the client has.
    version: u64,
    /// The end of the output of both streams, at most 32 KiB.
    text: String,
    /// Number of bytes before it, which are not kept.
    omitted_bytes: u64,
    /// Whether the command runs.
    is_running: bool,
}

/// What the model of a task has written of its message.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MessageDocument {
    /// Increases with each change: `since` names the version that the client has.
    version: u64,
    /// The end of the message, at most 32 KiB, without secrets; empty between messages.
    text: String,
    /// Number of bytes before it, which are not kept.
    omitted_bytes: u64,
    /// Whether the model writes. A message that is complete is an event.
    is_writing: bool,
}

/// The page of a session's browser as it is now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PageTextDocument {
    /// Title and URL, and below them the elements, one in each line.
    text: String,
}

/// `GET /v1/sessions/{id}/calls/{row}`
pub(super) async fn describe(request: ApiRequest) -> Result<Response, Problem> {
    let missing = || {
        let detail = "no call's event has this row in the session's recording";
        Problem::new(ProblemKind::NotFound, detail)
    };
    let row = request.path("row").parse::<u64>().map_err(|_| missing())?;
    let client = request.session(Reach::Read).await?;
    let found = client.recorded_call(row).await.map_err(failure)?;
    let found = found.ok_or_else(missing)?;
    let document = CallDocument {
        call: found.call,
        result: found.result,
    };
    Ok(reply(StatusCode::OK, &document))
}

/// `GET /v1/sessions/{id}/page`
pub(super) async fn page(request: ApiRequest) -> Result<Response, Problem> {
    let client = request.session(Reach::Read).await?;
    let text = client
        .read_page()
        .await
        .map_err(|error| match error.kind() {
            HostErrorKind::Other => Problem::new(ProblemKind::NoPage, error.to_string()),
            HostErrorKind::Busy
            | HostErrorKind::Cancelled
            | HostErrorKind::Lost
            | HostErrorKind::KeyReused
            | HostErrorKind::CallIdReused
            | HostErrorKind::Version => failure(error),
        })?;
    Ok(reply(StatusCode::OK, &PageTextDocument { text }))
}

/// `GET /v1/sessions/{id}/output`
pub(super) async fn output(request: ApiRequest) -> Result<Response, Problem> {
    let since = since(&request)?;
    let client = request.session(Reach::Read).await?;
    let tail = client.watch_output(since).await.map_err(failure)?;
    let document = OutputDocument {
        version: tail.version,
        text: tail.text,
        omitted_bytes: tail.omitted_bytes,
        is_running: tail.is_running,
    };
    Ok(reply(StatusCode::OK, &document))
}

/// `GET /v1/sessions/{id}/message`
pub(super) async fn message(request: ApiRequest) -> Result<Response, Problem> {
    let since = since(&request)?;
    let client = request.session(Reach::Read).await?;
    let tail = client.watch_message(since).await.map_err(failure)?;
    let document = MessageDocument {
        version: tail.version,
        text: tail.text,
        omitted_bytes: tail.omitted_bytes,
        is_writing: tail.is_running,
    };
    Ok(reply(StatusCode::OK, &document))
}

/// The version that the client has.
fn since(request: &ApiRequest) -> Result<Option<u64>, Problem> {
    let since = request.query("since").map(str::parse::<u64>).transpose();
    since.map_err(|_| {
        let detail = "`since`: expected the version of an earlier answer";
        Problem::new(ProblemKind::BadRequest, detail)
    })
}
