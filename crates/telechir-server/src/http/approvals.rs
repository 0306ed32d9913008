//! The questions of all sessions, and answers to them. Only operators reach these routes.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use telechir_host::HostClient;
use telechir_host::approvals::{
    AnswerScope, ApprovalCode, FoundApproval, OpenApproval, OperatorAnswer,
};
use telechir_policy::{Decision, Digest, Interface};

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, failure, reply};
use super::sessions;

/// An open question.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ApprovalDocument {
    /// Names the question in paths.
    id: String,
    /// The session whose call needs the answer.
    session: String,
    /// The digest that an answer repeats.
    digest: String,
    /// What would be done, completely and escaped.
    lines: Vec<String>,
    /// Why it is asked.
    reasons: Vec<String>,
    /// Whether the call has characters that are invisible or misleading.
    has_hidden_characters: bool,
    /// The untrusted source that the session has read.
    #[serde(skip_serializing_if = "Option::is_none")]
    untrusted_source: Option<String>,
    /// Milliseconds since it appeared.
    age_ms: u64,
    /// Milliseconds until it is withdrawn.
    expires_in_ms: u64,
    /// A yes that comes earlier than this many milliseconds after the question does not count.
    min_answer_ms: u64,
    /// The same as a terminal shows it: what would be done, why it is asked, and what to know about it.
    text: Vec<String>,
    /// What an approval for the rest of the session would cover; absent if this question needs an
    /// answer of its own each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_shape: Option<String>,
    /// Where the policy wants an approval, if not anywhere: `terminal` or `page`.
    #[serde(skip_serializing_if = "Option::is_none")]
    approve_at: Option<String>,
    /// Whether a call waits for the answer; otherwise the next call with the same action uses it.
    is_waiting: bool,
}

/// All open questions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ApprovalList {
    approvals: Vec<ApprovalDocument>,
}

/// An answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerDocument {
    decision: DecisionName,
    /// The digest of the question that was read.
    digest: String,
    /// Why, for the model; required for a denial.
    #[serde(default)]
    reason: Option<String>,
    /// For which calls an approval counts.
    #[serde(default)]
    scope: ScopeName,
}

/// For which calls an approval counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ScopeName {
    /// The one that was asked about.
    #[default]
    Once,
    /// Calls of its shape for the rest of the session.
    Session,
}

/// What an operator decides.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DecisionName {
    /// Execute exactly this, once.
    Approve,
    /// Do not execute it.
    Deny,
}

impl ApprovalDocument {
    fn new(session: &str, open: OpenApproval) -> Self {
        let question = open.question;
        let approve_at =
            (!question.approve.admits(Interface::Other)).then(|| question.approve.to_string());
        Self {
            id: open.code.to_string(),
            session: session.to_owned(),
            digest: question.digest.to_string(),
            text: question.text(),
            session_shape: question.session_shape().map(ToString::to_string),
            approve_at,
            lines: question.lines,
            reasons: question.reasons,
            has_hidden_characters: question.has_hidden_characters,
            untrusted_source: question.untrusted_source,
            age_ms: open.age_ms,
            expires_in_ms: open.expires_in_ms,
            min_answer_ms: question.min_answer_ms,
            is_waiting: open.is_waiting,
        }
    }
}

/// `GET /v1/approvals`
pub(super) async fn list(request: ApiRequest) -> Result<Response, Problem> {
    let mut approvals = Vec::new();
    for client in sessions::all(&request.state).await? {
        let name = &client.description().name;
        match client.approvals().await {
            Ok(open) => {
                let open = open.into_iter();
                approvals.extend(open.map(|open| ApprovalDocument::new(name, open)));
            }
            // A session that ends meanwhile must not hide the others.
            Err(error) => tracing::warn!(%error, "the questions of a session are not listed"),
        }
    }
    Ok(reply(StatusCode::OK, &ApprovalList { approvals }))
}

/// `GET /v1/approvals/{id}`
pub(super) async fn describe(request: ApiRequest) -> Result<Response, Problem> {
    let (client, open) = find(&request).await?;
    let document = ApprovalDocument::new(&client.description().name, open);
    Ok(reply(StatusCode::OK, &document))
}

/// `POST /v1/approvals/{id}`
pub(super) async fn answer(request: ApiRequest) -> Result<Response, Problem> {
    let answer: AnswerDocument = request.parse()?;
    let unreadable = |detail: &str| Problem::new(ProblemKind::Unreadable, detail);
    let digest: Digest = serde_json::from_value(answer.digest.into())
        .map_err(|_| unreadable("`digest`: expected the digest of the question"))?;
    let decision = match (answer.decision, answer.reason) {
        (DecisionName::Approve, None) => Decision::Approve {
            digest,
            trusts_content: false,
        },
        (DecisionName::Deny, Some(reason)) if !reason.trim().is_empty() => Decision::Deny {
            reason: format!("The user denied this: {}.", reason.trim_end_matches('.')),
        },
        (DecisionName::Approve, Some(_)) => {
            return Err(unreadable("`reason`: only a denial has one"));
        }
        (DecisionName::Deny, _) => {
            return Err(unreadable("`reason`: expected why, for the model"));
        }
    };
    let scope = match answer.scope {
        ScopeName::Once => AnswerScope::Once,
        ScopeName::Session if matches!(decision, Decision::Approve { .. }) => AnswerScope::Session,
        ScopeName::Session => {
            return Err(unreadable("`scope`: only an approval counts for a session"));
        }
    };
    let (client, open) = find(&request).await?;
    let answer = OperatorAnswer {
        decision,
        scope,
        digest,
        token: request.caller.token.clone(),
    };
    let answered = client.answer_as_operator(&open.code, answer).await;
    answered.map_err(|e| Problem::new(ProblemKind::AnswerRefused, e.to_string()))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The open question that the path names, and its session.
async fn find(request: &ApiRequest) -> Result<(HostClient, OpenApproval), Problem> {
    let missing = |detail: String| Problem::new(ProblemKind::NotFound, detail);
    let code: ApprovalCode = request.path("id").parse().map_err(missing)?;
    let mut settled = None;
    let mut lost = None;
    for client in sessions::all(&request.state).await? {
        match client.find_approval(&code).await {
            Ok(FoundApproval {
                open: Some(open), ..
            }) => return Ok((client, open)),
            Ok(found) => settled = settled.or(found.settled),
            // A session that ends meanwhile must not hide the others.
            Err(error) => {
                tracing::warn!(%error, "a question is not looked for in a session");
                lost = lost.or(Some(error));
            }
        }
    }
    // The question may be that session's.
    if let (None, Some(error)) = (&settled, lost) {
        return Err(failure(error));
    }
    Err(missing(settled.map_or_else(
        || format!("no open question has the id {code}"),
        |how| format!("question {code} is closed: {how}"),
    )))
}
