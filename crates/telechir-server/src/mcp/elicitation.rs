//! A question to the user as an elicitation, and the user's answer.

use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use telechir_policy::{Decision, Question};

/// Key of the one question in the requests for input.
const QUESTION: &str = "approval";
/// How long a client's user may think: most clients end a call after 60 seconds.
const MAX_THOUGHT: Duration = Duration::from_secs(45);

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
    pub(super) fn decision(self, question: &Question) -> Decision {
        match self {
            Self::Yes => question.approve(),
            Self::NotYes => refused(
                "The user did not allow it, or the client answered without showing the question.",
            ),
        }
    }
}

pub(super) fn refused(why: &str) -> Decision {
    Decision::Deny {
        reason: why.to_owned(),
    }
}

/// The question as an input that the client must get.
pub(super) fn input_requests(question: &Question) -> Result<InputRequests, serde_json::Error> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(question)?));
    Ok(InputRequests::from([(QUESTION.to_owned(), request)]))
}

/// The answer in a repeated request.
pub(super) fn answer(responses: Option<&InputResponses>) -> Answer {
    let response = responses.and_then(|responses| responses.get(QUESTION));
    let result = response.and_then(|value| serde_json::from_value(value.clone()).ok());
    result.map_or(Answer::NotYes, |result| of_result(&result))
}

/// Asks by a request to the client and waits.
pub(super) async fn ask(peer: &Peer<RoleServer>, question: &Question) -> Answer {
    let Ok(params) = form(question) else {
        return Answer::NotYes;
    };
    let answered = peer.create_elicitation_with_timeout(params, Some(MAX_THOUGHT));
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

fn form(question: &Question) -> Result<ElicitRequestParams, serde_json::Error> {
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
        message: message(question),
        requested_schema: schema,
    })
}

/// The question as text. All of it is ours and escaped.
fn message(question: &Question) -> String {
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
    text
}
