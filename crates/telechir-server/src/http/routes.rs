//! The table of all routes. The router and the OpenAPI document are made from it.

mod own;
mod table;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use telechir_host::tokens::Role;

use super::problem::ProblemKind;
use super::request::ApiRequest;
use super::route::{
    Answer, Credentials, Handler, Method, Parameter, Reply, RequestBody, Route, SchemaOf,
};
use super::turns::TurnState;

/// Maximum bytes of a body that no history is in.
const SMALL: usize = 4 << 20;
/// Maximum bytes of a response or a history: screenshots are part of it.
const HISTORY: usize = 32 << 20;

const EVERYBODY: &[Role] = &Role::ALL;
const ACTORS: &[Role] = &[Role::Agent, Role::Operator];
const OPERATOR: &[Role] = &[Role::Operator];
const WATCHERS: &[Role] = &[Role::Viewer, Role::Operator];

const SESSION: &[ProblemKind] = &[ProblemKind::SessionLost];
const TURN: &[ProblemKind] = &[
    ProblemKind::SessionBusy,
    ProblemKind::NotAnswered,
    ProblemKind::CallIdReused,
    ProblemKind::Unreadable,
    ProblemKind::KeyReused,
    ProblemKind::SessionLost,
];
const OPEN: &[ProblemKind] = &[
    ProblemKind::ContextInUse,
    ProblemKind::Unavailable,
    ProblemKind::Unreadable,
    ProblemKind::KeyReused,
    ProblemKind::NotStarted,
    ProblemKind::SessionLost,
];
const CHANGE: &[ProblemKind] = &[
    ProblemKind::Unreadable,
    ProblemKind::NotAnswered,
    ProblemKind::SessionLost,
];
const ANSWER: &[ProblemKind] = &[
    ProblemKind::Unreadable,
    ProblemKind::AnswerRefused,
    ProblemKind::SessionLost,
];
const MCP: &[ProblemKind] = &[ProblemKind::NotFound, ProblemKind::NotAcceptable];
const RECORDING: &[ProblemKind] = &[ProblemKind::RecordingUnreadable];
const DOCUMENT: &[ProblemKind] = &[ProblemKind::Unreadable];

const IDEMPOTENCY_KEY: Parameter = Parameter {
    name: "Idempotency-Key",
    description: "The client's own key of this request: the same key with the same body is answered \
                  without doing anything twice.",
    is_required: false,
};
const PREFER: Parameter = Parameter {
    name: "Prefer",
    description: "`respond-async` or `wait=SECONDS`: the turn goes on without the connection, and an \
                  answer with status 202 names where its results will be.",
    is_required: false,
};
const LAST_EVENT_ID: Parameter = Parameter {
    name: "Last-Event-ID",
    description: "The id of the last event that was read; the stream goes on after it.",
    is_required: false,
};
const FROM_ROW: Parameter = Parameter {
    name: "from",
    description: "The row of the first event, from 1; without it the stream has new events alone.",
    is_required: false,
};
const FIRST_ROW: Parameter = Parameter {
    name: "from",
    description: "The first row, 1 without it.",
    is_required: false,
};
const LIMIT: Parameter = Parameter {
    name: "limit",
    description: "The largest number of rows, 1000 without it. An answer has at most 4 MiB of them, or \
                  one row.",
    is_required: false,
};
const KIND: Parameter = Parameter {
    name: "kind",
    description: "`event`: only the rows of events.",
    is_required: false,
};
const SINCE: Parameter = Parameter {
    name: "since",
    description: "The version that the client has: the answer comes when there is another one, after a \
                  few seconds at the latest.",
    is_required: false,
};
const LEAVE_FUNCTIONS: Parameter = Parameter {
    name: "leave_functions",
    description: "Whether calls of the client's own functions are left to it: `true` or `false`.",
    is_required: false,
};
const DIALECT: Parameter = Parameter {
    name: "dialect",
    description: "Name of a dialect, such as `openai-responses`.",
    is_required: true,
};
const FROM: Parameter = Parameter {
    name: "from",
    description: "The dialect of the body.",
    is_required: true,
};
const TO: Parameter = Parameter {
    name: "to",
    description: "The dialect of the answer.",
    is_required: true,
};
const ACCEPT: Parameter = Parameter {
    name: "Accept",
    description: "`text/event-stream`: the events of the turn as they happen, and the answer as the last \
                  one.",
    is_required: false,
};
const FROM_START: Parameter = Parameter {
    name: "from",
    description: "`start`: begin with the first event of each session; without it the stream has new \
                  events alone.",
    is_required: false,
};
const MODEL: Parameter = Parameter {
    name: "model",
    description: "The model, which selects the version of each tool.",
    is_required: false,
};

const DEVICE: Parameter = Parameter {
    name: "device",
    description: "`desktop` or `browser`; the first of them without it.",
    is_required: false,
};
const WIDTH: Parameter = Parameter {
    name: "width",
    description: "The largest width in pixels, from 64 to 2560; 1280 without it. The image keeps its \
                  proportions.",
    is_required: false,
};
const IF_NONE_MATCH: Parameter = Parameter {
    name: "If-None-Match",
    description: "The `ETag` of the image that the client has.",
    is_required: false,
};

const IMAGE: Reply = Reply {
    status: 200,
    description: "The image, as PNG, WebP or JPEG.",
    content_type: "image/*",
    schema: Some(binary),
};
const SAME_IMAGE: Reply = Reply {
    status: 304,
    description: "The client has this image.",
    content_type: "image/*",
    schema: None,
};
const EVENTS: Reply = Reply {
    status: 200,
    description: "The events; the id of each is where a stream goes on after it.",
    content_type: "text/event-stream",
    schema: Some(text),
};
const TURN_EVENTS: Reply = Reply {
    status: 200,
    description: "The events of the turn; the last one is `result` with the answer, `pending` with the \
                  state of a turn that goes on, or `problem`.",
    content_type: "text/event-stream",
    schema: Some(text),
};
const ACCEPTED: Reply = Reply {
    status: 202,
    description: "The turn goes on; `Location` is where its results will be.",
    content_type: "application/json",
    schema: Some(schema_of::<TurnState>),
};
const MCP_ACCEPTED: Reply = Reply {
    status: 202,
    description: "The message was accepted.",
    content_type: "application/json",
    schema: None,
};
const DONE: Reply = Reply {
    status: 204,
    description: "Done.",
    content_type: "application/json",
    schema: None,
};

/// All routes.
pub(super) fn all() -> impl Iterator<Item = &'static Route> {
    [table::ROUTES, own::ROUTES].into_iter().flatten()
}

/// A route without parameters and body; the functions below add them.
const fn route(
    method: Method,
    path: &'static str,
    operation: &'static str,
    summary: &'static str,
    roles: &'static [Role],
    handler: fn(ApiRequest) -> Answer,
) -> Route {
    let (credentials, handler) = (Credentials::Token, Handler::OfCaller(handler));
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

const fn plain(
    method: Method,
    path: &'static str,
    operation: &'static str,
    summary: &'static str,
    roles: &'static [Role],
    credentials: Credentials,
    handler: Handler,
) -> Route {
    Route {
        method,
        path,
        aliases: &[],
        credentials,
        operation,
        summary,
        roles,
        query: &[],
        headers: &[],
        body: None,
        replies: &[],
        problems: &[],
        handler,
    }
}

const fn json(description: &'static str, schema: SchemaOf) -> Reply {
    Reply {
        status: 200,
        description,
        content_type: "application/json",
        schema: Some(schema),
    }
}

const fn body(max_bytes: usize, schema: SchemaOf) -> Option<RequestBody> {
    Some(RequestBody { max_bytes, schema })
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn any_document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"description": "A document of the dialect, as the provider sent it."})
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string"})
}

fn binary(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "binary"})
}
