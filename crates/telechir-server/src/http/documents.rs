//! Translations between dialects, without a session.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use telechir_providers::{Dialect, Envelope, Report};

use super::conversions::ClientWatch;
use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, reply};
use super::turns::LossDocument;

/// A document in another dialect.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TranslatedDocument {
    /// The history, as the dialect writes it.
    document: Value,
    /// What was not translated exactly.
    report: Vec<LossDocument>,
}

/// A document in the neutral vocabulary.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DecodedDocument {
    /// The messages (`schemas/telechir-protocol.schema.json`).
    messages: Vec<Value>,
    /// What was not decoded exactly.
    report: Vec<LossDocument>,
}

/// `POST /v1/translate`
pub(super) async fn translate(request: ApiRequest) -> Result<Response, Problem> {
    let (from, to) = (request.dialect("from")?, request.dialect("to")?);
    convert(request, move |document, client| {
        let (mut history, mut report) = from.decode_history(document).map_err(unreadable)?;
        client.check()?;
        // The members around the messages belong to one dialect.
        let aside = history.set_envelope_aside(to);
        let (document, encoding) = to.encode_history(&history).map_err(unreadable)?;
        report.absorb(encoding);
        if let Some(aside) = aside {
            let notes = aside.take_notes(&mut report);
            report.losses.splice(0..0, notes);
        }
        Ok(translated(document, report))
    })
    .await
}

/// `POST /v1/encode`
pub(super) async fn encode(request: ApiRequest) -> Result<Response, Problem> {
    let to = request.dialect("dialect")?;
    convert(request, move |document, client| {
        let decoded = Dialect::Neutral.decode_history(document);
        let (mut history, mut report) = decoded.map_err(unreadable)?;
        client.check()?;
        if to != Dialect::Neutral {
            history.envelope = Envelope::List;
        }
        let (document, encoding) = to.encode_history(&history).map_err(unreadable)?;
        report.absorb(encoding);
        Ok(translated(document, report))
    })
    .await
}

/// `POST /v1/decode`
pub(super) async fn decode(request: ApiRequest) -> Result<Response, Problem> {
    let from = request.dialect("dialect")?;
    convert(request, move |document, client| {
        let (history, report) = from.decode_history(document).map_err(unreadable)?;
        let mut messages = Vec::with_capacity(history.messages.len());
        for message in &history.messages {
            client.check()?;
            messages.push(serde_json::to_value(message).map_err(unreadable)?);
        }
        Ok(DecodedDocument {
            messages,
            report: report.losses.into_iter().map(LossDocument::from).collect(),
        })
    })
    .await
}

/// Converts the body on a thread of its own: a long history takes a second.
async fn convert<T: Serialize + Send + 'static>(
    request: ApiRequest,
    conversion: impl FnOnce(Vec<u8>, &ClientWatch) -> Result<T, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let ApiRequest {
        state, body, slot, ..
    } = request;
    let convert = move |client: &ClientWatch| {
        let converted = conversion(body, client)?;
        client.check()?;
        Ok(reply(StatusCode::OK, &converted))
    };
    state.conversions.run(slot, convert).await
}

fn translated(document: Value, report: Report) -> TranslatedDocument {
    let losses = report.losses.into_iter();
    TranslatedDocument {
        document,
        report: losses.map(LossDocument::from).collect(),
    }
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::Unreadable, format!("failed to {error}"))
}
