//! A question to the user as an elicitation, and the user's answer.

use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use telechir_host::approvals::{AnswerScope, CallerReply, OpenApproval};
use telechir_policy::Question;

/// Key of the one question in the requests for input.
const QUESTION: &str = "approval";
/// Maximum lines and bytes of an action that a client shows in a form. Nobody may approve what is
/// not shown completely.
const MAX_LINES: usize = 200;
const MAX_LINE_BYTES: usize = 20_000;

/// How this client can ask its user.
#[derive(Debug)]
pub(super) enum AskBy {
    /// By an answer that asks for input, after which the client repeats its request.
    InputRequired,
    /// By a request to the client.
    Request(Peer<RoleServer>),
    /// Not at all.
    Nothing,
}

impl AskBy {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let elicitation = context
            .client_capabilities()
            .and_then(|capabilities| capabilities.elicitation);
        // Without modes, a client of an earlier version means forms.
        let has_form = elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        let is_modern = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        match (has_form, is_modern) {
            (false, _) => Self::Nothing,
            (true, true) => Self::InputRequired,
            (true, false) => Self::Request(context.peer.clone()),
        }
    }
}

/// What the user answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Yes, explicitly.
    Yes,
    /// Anything else: some clients answer so without showing anything.
    NotYes,
}

impl Answer {
    /// The reply to a question. Only a yes decides: some clients decline what they never showed, so
    /// the question stays open for others.
    pub(super) fn reply(self, open: &OpenApproval, client: &str) -> CallerReply {
        match self {
            Self::Yes => CallerReply::Decided {
                decision: open.question.approve(),
                scope: AnswerScope::Once,
                by: client.to_owned(),
            },
            Self::NotYes => CallerReply::Declined,
        }
    }
}

/// The client as it names itself.
pub(super) fn client_of(context: &RequestContext<RoleServer>) -> String {
    match context.client_info() {
        Some(client) => format!("client {} {}", client.name, client.version),
        None => "a client without a name".to_owned(),
    }
}

/// Whether the question fits in a form. Others are answered at a terminal, which shows all of it.
pub(super) fn fits(open: &OpenApproval) -> bool {
    let lines = &open.question.lines;
    lines.len() <= MAX_LINES && lines.iter().map(String::len).sum::<usize>() <= MAX_LINE_BYTES
}

/// The question as an input that the client must get.
pub(super) fn input_requests(open: &OpenApproval) -> Result<InputRequests, serde_json::Error> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(open)?));
    Ok(InputRequests::from([(QUESTION.to_owned(), request)]))
}

/// The answer in a repeated request.
pub(super) fn answer(responses: Option<&InputResponses>) -> Answer {
    let response = responses.and_then(|responses| responses.get(QUESTION));
    let result = response.and_then(|value| serde_json::from_value(value.clone()).ok());
    result.map_or(Answer::NotYes, |result| of_result(&result))
}

/// Asks by a request to the client and waits.
pub(super) async fn ask(peer: Peer<RoleServer>, open: OpenApproval, limit: Duration) -> Answer {
    let Ok(params) = form(&open) else {
        return Answer::NotYes;
    };
    let answered = peer.create_elicitation_with_timeout(params, Some(limit));
    match answered.await {
        Ok(result) => of_result(&result),
        Err(error) => {
            tracing::warn!(%error, "the client could not ask its user");
            Answer::NotYes
        }
    }
}

fn of_result(result: &ElicitResult) -> Answer {
    let answer = result
        .content
        .as_ref()
        .and_then(|content| content.get("answer"));
    let is_yes = answer.and_then(Value::as_str) == Some("yes");
    if result.action == ElicitationAction::Accept && is_yes {
        Answer::Yes
    } else {
        Answer::NotYes
    }
}

fn form(open: &OpenApproval) -> Result<ElicitRequestParams, serde_json::Error> {
    let schema: ElicitationSchema = serde_json::from_value(json!({
        "type": "object",
        "properties": {
            "answer": {
                "type": "string", "title": "Allow it once?", "enum": ["no", "yes"], "default": "no"
            }
        },
        "required": ["answer"]
    }))?;
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(open),
        requested_schema: schema,
    })
}

/// The question as text. All of it is ours and escaped.
fn message(open: &OpenApproval) -> String {
    let question: &Question = &open.question;
    let mut text = String::from("telechir asks before this is executed:\n");
    for line in &question.lines {
        text.push_str("    ");
        text.push_str(line);
        text.push('\n');
    }
    for reason in &question.reasons {
        text.push_str("Because: ");
        text.push_str(reason);
        text.push('\n');
    }
    for check in &question.safety_checks {
        text.push_str("The provider warns: ");
        text.push_str(check.message.as_deref().unwrap_or(&check.id));
        text.push('\n');
    }
    if question.has_hidden_characters {
        text.push_str("It has characters that are invisible or misleading.\n");
    }
    if let Some(source) = &question.untrusted_source {
        text.push_str("The session has read untrusted content: ");
        text.push_str(source);
        text.push('\n');
    }
    if open.closed_to_commands.is_none() {
        text.push_str("It can also be answered in a terminal: telechir approve ");
        text.push_str(&open.code.to_string());
        text.push('\n');
    }
    text
}
