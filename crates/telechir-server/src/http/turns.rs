//! Executes the calls of a model's response, and follows turns by their keys.

use std::future::pending;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use telechir_host::approvals::{ApprovalCode, CallerReply};
use telechir_host::{
    CallUpdate, HostClient, HostError, HostErrorKind, RunningCall, ScreenshotsFor, TurnKey,
    TurnRequest,
};
use telechir_policy::Interface;
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, ToolResult};
use telechir_providers::{Dialect, Loss};
use tokio::time::{Instant, sleep_until};

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Patience, Reach, failure, reply};
use super::turn_events::{self, TurnEvents};

/// How long a turn may wait for others.
const QUEUE_TIME: Duration = Duration::from_secs(600);
/// A session host reports at once what a turn does; one that waits for its session has no report.
pub(super) const FIRST_REPORT: Duration = Duration::from_millis(200);

/// The reply items of a provider's response.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TurnReply {
    /// The items to append to the conversation, in the provider's own form.
    items: Vec<Value>,
    /// What was not decoded or encoded exactly.
    report: Vec<LossDocument>,
    /// Calls of the client's own functions, which it answers itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_to_caller: Vec<Value>,
    /// The key of the turn.
    turn: String,
}

/// A value that was not translated exactly.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LossDocument {
    /// The value.
    what: String,
    /// Where it is: a path or a call.
    r#where: String,
    /// Why it is not represented.
    why: String,
    /// What there is instead; absent if it was dropped.
    #[serde(rename = "kept", skip_serializing_if = "Option::is_none")]
    preserved_as: Option<String>,
}

impl From<Loss> for LossDocument {
    fn from(loss: Loss) -> Self {
        Self {
            what: loss.what,
            r#where: loss.location,
            why: loss.why,
            preserved_as: loss.preserved_as,
        }
    }
}

/// Neutral calls to execute.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NeutralCalls {
    /// Contents of the neutral vocabulary (`schemas/telechir-protocol.schema.json`).
    contents: Vec<Value>,
    /// Which screenshots the results have.
    #[serde(default)]
    observe: Observe,
}

/// Which screenshots the results of neutral calls have.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Observe {
    /// One after each call on a screen.
    #[default]
    Auto,
    /// Those of actions that take a screenshot.
    OnRequest,
}

/// The results of neutral calls.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NeutralReply {
    /// One result per call, in the neutral vocabulary.
    results: Vec<Value>,
    /// Calls of the client's own functions, which it answers itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_to_caller: Vec<Value>,
    /// The key of the turn.
    turn: String,
}

/// A turn that has not ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TurnState {
    /// The key of the turn.
    turn: String,
    /// `queued`, `running` or `awaiting_approval`.
    state: String,
    /// The code of the question that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<String>,
}

/// Which turn to cancel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelTurn {
    /// The key of the turn; absent for the one that is executed.
    #[serde(default)]
    turn: Option<String>,
}

/// What has become of a turn.
pub(super) enum Followed {
    Answered(Vec<ToolResult>),
    Pending(TurnState),
}

/// `POST /v1/sessions/{id}/{dialect}`
pub(super) async fn respond(request: ApiRequest) -> Result<Response, Problem> {
    let dialect = request.path("dialect").parse::<Dialect>();
    let dialect =
        dialect.map_err(|error| Problem::new(ProblemKind::NotFound, error.to_string()))?;
    let leaves_functions = leaves_functions(&request, dialect)?;
    let client = request.session(Reach::Act).await?;
    let (turn, reading) = dialect.decode_response(&request.body).map_err(unreadable)?;
    let turn = match leaves_functions {
        true => turn.leave_functions(),
        false => turn,
    };
    let screenshots = ScreenshotsFor::Dialect(dialect.name().to_owned());
    let encode = move |answered: AnsweredTurn, key: &TurnKey| {
        let encoded = dialect
            .encode_results(&answered)
            .map_err(|e| Problem::new(ProblemKind::NotAnswered, format!("failed to {e}")))?;
        let losses = reading.losses.into_iter().chain(encoded.report.losses);
        Ok(TurnReply {
            items: encoded.items,
            report: losses.map(LossDocument::from).collect(),
            left_to_caller: left_to_caller(&answered),
            turn: key.to_string(),
        })
    };
    serve(request, client, turn, screenshots, encode).await
}

/// `POST /v1/sessions/{id}/calls`
pub(super) async fn call(request: ApiRequest) -> Result<Response, Problem> {
    let NeutralCalls { contents, observe } = request.parse()?;
    let client = request.session(Reach::Act).await?;
    let contents: Result<Vec<Content>, _> =
        contents.into_iter().map(serde_json::from_value).collect();
    let contents = contents.map_err(|e| unreadable(format!("read the contents: {e}")))?;
    let turn = ModelTurn::new(contents).map_err(unreadable)?;
    let turn = match leaves_functions(&request, Dialect::Neutral)? {
        true => turn.leave_functions(),
        false => turn,
    };
    let screenshots = match observe {
        Observe::Auto => ScreenshotsFor::Dialect(Dialect::Neutral.name().to_owned()),
        Observe::OnRequest => ScreenshotsFor::Mcp { on_request: true },
    };
    let encode = |answered: AnsweredTurn, key: &TurnKey| {
        let left = left_to_caller(&answered);
        let results = answered.results().to_vec();
        Ok(neutral_reply(results, left, key))
    };
    serve(request, client, turn, screenshots, encode).await
}

/// Executes a turn and answers with what `encode` makes of it, or with its events.
async fn serve<D: Serialize>(
    request: ApiRequest,
    client: HostClient,
    turn: ModelTurn,
    screenshots: ScreenshotsFor,
    encode: impl FnOnce(AnsweredTurn, &TurnKey) -> Result<D, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    if !turn_events::are_wanted(&request.headers) {
        let (key, followed) = execute(&request, &client, &turn, screenshots).await?;
        return match followed {
            Followed::Answered(results) => {
                let document = encode(answer(turn, results)?, &key)?;
                Ok(reply(StatusCode::OK, &document))
            }
            Followed::Pending(state) => Ok(accepted(&request, &state)),
        };
    }
    let wanted = turn_request(&request, &turn, screenshots)?;
    let key = wanted.key.clone();
    let given = request.idempotency_key()?.map(TurnKey::new);
    let mut events = turn_events::subscribe(&client, given.as_ref()).await?;
    let call = start(&client, wanted).await?;
    if *call.key() != key {
        // It has joined the turn of an earlier request.
        events = turn_events::subscribe(&client, Some(call.key())).await?;
    }
    let wait = request.patience().limit();
    let finish = move |results, key: &TurnKey| encode(answer(turn, results)?, key);
    let owned = (client, request.slot);
    Ok(TurnEvents::new(call, events, wait, finish, owned).into_response())
}

/// `GET /v1/sessions/{id}/turns/{turn}`
pub(super) async fn find(request: ApiRequest) -> Result<Response, Problem> {
    let client = request.session(Reach::Read).await?;
    let key = TurnKey::new(request.path("turn"));
    let mut call = client.await_turn(key.clone()).await.map_err(failure)?;
    let wait = match request.patience() {
        Patience::Connected => Duration::ZERO,
        Patience::Within(wait) => wait,
    };
    let followed = follow(&mut call, Some(wait)).await;
    let followed = followed.map_err(|error| match error.kind() == HostErrorKind::Other {
        true => Problem::new(ProblemKind::NotFound, error.to_string()),
        false => failure(error),
    })?;
    match followed {
        Followed::Answered(results) => {
            let document = neutral_reply(results, Vec::new(), &key);
            Ok(reply(StatusCode::OK, &document))
        }
        Followed::Pending(state) => Ok(accepted(&request, &state)),
    }
}

/// `POST /v1/sessions/{id}/cancel`
pub(super) async fn cancel(request: ApiRequest) -> Result<Response, Problem> {
    let CancelTurn { turn } = request.parse()?;
    let client = request.session(Reach::Act).await?;
    let running = client.description().running.clone();
    if let Some(key) = turn.map(TurnKey::new).or(running) {
        client.cancel(key.clone()).await.map_err(failure)?;
        // It has stopped when its own request is answered.
        let mut call = client.await_turn(key).await.map_err(failure)?;
        while call.next().await.is_ok_and(|update| !is_end(&update)) {}
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn is_end(update: &CallUpdate) -> bool {
    matches!(update, CallUpdate::Answered(_))
}

/// Executes a turn as far as the client waits for it.
pub(super) async fn execute(
    request: &ApiRequest,
    client: &HostClient,
    turn: &ModelTurn,
    screenshots: ScreenshotsFor,
) -> Result<(TurnKey, Followed), Problem> {
    let turn = turn_request(request, turn, screenshots)?;
    let mut call = start(client, turn).await?;
    let followed = follow(&mut call, request.patience().limit()).await;
    Ok((call.key().clone(), followed.map_err(failure)?))
}

/// The turn as its session host gets it.
fn turn_request(
    request: &ApiRequest,
    turn: &ModelTurn,
    screenshots: ScreenshotsFor,
) -> Result<TurnRequest, Problem> {
    let key = request.idempotency_key()?;
    Ok(TurnRequest {
        key: key.map_or_else(TurnKey::unique, TurnKey::new),
        screenshots,
        interface: Interface::Other,
        queue_ms: u64::try_from(QUEUE_TIME.as_millis()).unwrap_or(u64::MAX),
        runs_on: request.patience() != Patience::Connected,
        may_be_retry: true,
        contents: turn.without_left_calls(),
        is_new: false,
        hosted_source: turn.hosted_source(),
    })
}

/// Requests a turn, which may join that of an earlier request.
async fn start(client: &HostClient, turn: TurnRequest) -> Result<RunningCall, Problem> {
    let mut call = client.execute(turn).await.map_err(failure)?;
    call.accepted().await.map_err(failure)?;
    Ok(call)
}

/// Follows a turn for this time, or to its end. Nobody is asked at the connection: questions are
/// answered elsewhere.
pub(super) async fn follow(
    call: &mut RunningCall,
    wait: Option<Duration>,
) -> Result<Followed, HostError> {
    let started = Instant::now();
    let mut state = ("queued", None);
    let mut is_reported = false;
    loop {
        let least = match is_reported {
            true => Duration::ZERO,
            false => FIRST_REPORT,
        };
        let deadline = wait.and_then(|wait| started.checked_add(wait.max(least)));
        let update = tokio::select! {
            biased;
            update = call.next() => update,
            () = until(deadline) => return Ok(Followed::Pending(turn_state(call, state))),
        };
        is_reported = true;
        state = match update? {
            CallUpdate::Queued => ("queued", None),
            CallUpdate::Started => ("running", None),
            CallUpdate::Question(open) => {
                let code = open.code.clone();
                call.reply_to(code.clone(), CallerReply::Closed).await?;
                ("awaiting_approval", Some(code))
            }
            CallUpdate::Answered(results) => return Ok(Followed::Answered(results)),
        };
    }
}

pub(super) fn turn_state(
    call: &RunningCall,
    (state, approval): (&'static str, Option<ApprovalCode>),
) -> TurnState {
    TurnState {
        turn: call.key().to_string(),
        state: state.to_owned(),
        approval: approval.as_ref().map(ApprovalCode::to_string),
    }
}

pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

/// The answer while a turn goes on, with the address where its results will be.
fn accepted(request: &ApiRequest, state: &TurnState) -> Response {
    let id = request.path("id");
    let location = format!("/v1/sessions/{id}/turns/{}", state.turn);
    let response = reply(StatusCode::ACCEPTED, state);
    ([("location", location)], response).into_response()
}

fn answer(turn: ModelTurn, results: Vec<ToolResult>) -> Result<AnsweredTurn, Problem> {
    let answered = turn.answer(results);
    answered.map_err(|e| Problem::new(ProblemKind::NotAnswered, format!("failed to {e}")))
}

fn neutral_reply(
    results: Vec<ToolResult>,
    left_to_caller: Vec<Value>,
    key: &TurnKey,
) -> NeutralReply {
    let results = results.into_iter().map(ToolResult::into_content);
    let results = results.filter_map(|content| serde_json::to_value(content).ok());
    NeutralReply {
        results: results.collect(),
        left_to_caller,
        turn: key.to_string(),
    }
}

/// Users of some dialects have functions of their own beside the tools of the session.
fn leaves_functions(request: &ApiRequest, dialect: Dialect) -> Result<bool, Problem> {
    match request.query("leave_functions") {
        None => Ok(matches!(
            dialect,
            Dialect::Neutral | Dialect::AgentFramework
        )),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => {
            let other = other.escape_debug();
            let detail = format!("`leave_functions`: expected true or false, found `{other}`");
            Err(Problem::new(ProblemKind::BadRequest, detail))
        }
    }
}

fn left_to_caller(answered: &AnsweredTurn) -> Vec<Value> {
    let calls = answered.left_to_caller().into_iter();
    let calls = calls.map(|mut call| {
        call.meta.raw_representation = None;
        Content::FunctionCall(call)
    });
    calls
        .filter_map(|content| serde_json::to_value(content).ok())
        .collect()
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::Unreadable, format!("failed to {error}"))
}
