//! The routes that find out for themselves who calls: programs by a secret in the address, WebSockets, and
//! the live page.

use std::sync::Arc;

use axum::extract::Request;
use schemars::{Schema, SchemaGenerator, json_schema};
use telechir_host::tokens::Role;

use super::{ACTORS, DEVICE, IMAGE, WATCHERS, any_object, body, json, plain, schema_of};
use crate::http::action_service::{self, MAX_BODY_BYTES, ServiceAction};
use crate::http::cdp;
use crate::http::problem::ProblemKind;
use crate::http::route::{Answer, Credentials, Handler, Method, Reply, Route};
use crate::http::state::HttpState;
use crate::http::tickets::{self, TicketExchange};
use crate::http::view;

/// What a program does by a secret or a token.
const ACTION: &[ProblemKind] = &[
    ProblemKind::Denied,
    ProblemKind::SessionBusy,
    ProblemKind::NotAnswered,
    ProblemKind::NoScreenshot,
    ProblemKind::Unreadable,
    ProblemKind::KeyReused,
    ProblemKind::SessionLost,
];
const WEB_SOCKET: &[ProblemKind] = &[ProblemKind::NotAnswered, ProblemKind::SessionLost];

const UPGRADED: Reply = Reply {
    status: 101,
    description: "The connection is a WebSocket from now on.",
    content_type: "application/json",
    schema: None,
};
/// A route whose handler finds out who calls.
const fn own(
    (method, path): (Method, &'static str),
    operation: &'static str,
    summary: &'static str,
    roles: &'static [Role],
    credentials: Credentials,
    handler: fn(Arc<HttpState>, Request) -> Answer,
) -> Route {
    let handler = Handler::OfRequest(handler);
    plain(
        method,
        path,
        operation,
        summary,
        roles,
        credentials,
        handler,
    )
}

fn done(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"ok": {"type": "boolean"}, "text": {"type": ["string", "null"]}},
        "required": ["ok"],
    })
}

fn page_session(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"key": {"type": "string"}, "role": {"type": ["string", "null"]}},
        "required": ["key"],
    })
}

const OPEN_CDP: &str = "A WebSocket at which a program drives the session's browser by CDP.";
const CDP_VERSION: &str = "Where clients of CDP look for the address of the WebSocket.";
const ACT: &str = "Executes one action on the session's screen.";
const LOOK: &str = "The session's screen after it has settled, as a turn of its own.";

pub(super) static ROUTES: &[Route] = &[
    Route {
        replies: &[UPGRADED],
        problems: WEB_SOCKET,
        ..own(
            (Method::Get, "/v1/sessions/{id}/cdp"),
            "openCdp",
            OPEN_CDP,
            ACTORS,
            Credentials::Token,
            |state, request| Box::pin(cdp::open(state, request)),
        )
    },
    Route {
        replies: &[UPGRADED],
        problems: WEB_SOCKET,
        ..own(
            (Method::Get, "/cdp/{secret}"),
            "openCdpAtAddress",
            OPEN_CDP,
            ACTORS,
            Credentials::Secret,
            |state, request| Box::pin(cdp::open(state, request)),
        )
    },
    Route {
        aliases: &["/v1/sessions/{id}/cdp/json/version/"],
        replies: &[json("The address.", any_object)],
        problems: WEB_SOCKET,
        ..own(
            (Method::Get, "/v1/sessions/{id}/cdp/json/version"),
            "describeCdp",
            CDP_VERSION,
            ACTORS,
            Credentials::Token,
            |state, request| Box::pin(cdp::version(state, request)),
        )
    },
    Route {
        aliases: &["/cdp/{secret}/json/version/"],
        replies: &[json("The address.", any_object)],
        problems: WEB_SOCKET,
        ..own(
            (Method::Get, "/cdp/{secret}/json/version"),
            "describeCdpAtAddress",
            CDP_VERSION,
            ACTORS,
            Credentials::Secret,
            |state, request| Box::pin(cdp::version(state, request)),
        )
    },
    Route {
        body: body(MAX_BODY_BYTES, schema_of::<ServiceAction>),
        replies: &[json("The action was executed.", done)],
        problems: ACTION,
        ..own(
            (Method::Post, "/v1/sessions/{id}/computer/action"),
            "performAction",
            ACT,
            ACTORS,
            Credentials::Token,
            |state, request| Box::pin(action_service::act(state, request)),
        )
    },
    Route {
        body: body(MAX_BODY_BYTES, schema_of::<ServiceAction>),
        replies: &[json("The action was executed.", done)],
        problems: ACTION,
        ..own(
            (Method::Post, "/computer/{secret}/action"),
            "performActionAtAddress",
            ACT,
            ACTORS,
            Credentials::Secret,
            |state, request| Box::pin(action_service::act(state, request)),
        )
    },
    Route {
        replies: &[IMAGE],
        problems: ACTION,
        ..own(
            (Method::Get, "/v1/sessions/{id}/computer/screenshot"),
            "takeScreenshot",
            LOOK,
            ACTORS,
            Credentials::Token,
            |state, request| Box::pin(action_service::screenshot(state, request)),
        )
    },
    Route {
        replies: &[IMAGE],
        problems: ACTION,
        ..own(
            (Method::Get, "/computer/{secret}/screenshot"),
            "takeScreenshotAtAddress",
            LOOK,
            ACTORS,
            Credentials::Secret,
            |state, request| Box::pin(action_service::screenshot(state, request)),
        )
    },
    Route {
        body: body(tickets::MAX_BODY_BYTES, schema_of::<TicketExchange>),
        replies: &[json("The page session, with a cookie.", page_session)],
        ..own(
            (Method::Post, "/view/session"),
            "exchangeTicket",
            "Exchanges a ticket for a session of the live page.",
            WATCHERS,
            Credentials::Page,
            |state, request| Box::pin(tickets::exchange(state, request)),
        )
    },
    Route {
        query: &[DEVICE],
        replies: &[UPGRADED],
        problems: &[ProblemKind::ForbiddenOrigin, ProblemKind::SessionLost],
        ..own(
            (Method::Get, "/view/sessions/{id}/screen"),
            "watchScreen",
            "The WebSocket of the live page: a screen as it changes, and a person's input.",
            WATCHERS,
            Credentials::Page,
            |state, request| Box::pin(view::stream::open(state, request)),
        )
    },
];
