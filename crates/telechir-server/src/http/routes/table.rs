//! The routes whose callers are known by a token.

use super::{
    ACCEPT, ACCEPTED, ACTORS, ANSWER, CHANGE, DEVICE, DIALECT, DOCUMENT, DONE, EVENTS, EVERYBODY,
    FIRST_ROW, FROM, FROM_ROW, FROM_START, HISTORY, IDEMPOTENCY_KEY, IF_NONE_MATCH, IMAGE, KIND,
    LAST_EVENT_ID, LEAVE_FUNCTIONS, LIMIT, MCP, MCP_ACCEPTED, MODEL, OPEN, OPERATOR, PREFER,
    RECORDING, SAME_IMAGE, SESSION, SINCE, SMALL, TO, TURN, TURN_EVENTS, WATCHERS, WIDTH,
    any_document, any_object, body, json, route, schema_of, text,
};
use crate::http::action_service::{self, ActionAddressDocument};
use crate::http::all_events;
use crate::http::approvals::{self, AnswerDocument, ApprovalDocument, ApprovalList};
use crate::http::calls::{self, CallDocument, MessageDocument, OutputDocument, PageTextDocument};
use crate::http::cdp::{self, CdpAddressDocument};
use crate::http::contexts::{self, ContextList};
use crate::http::documents::{self, DecodedDocument, TranslatedDocument};
use crate::http::events;
use crate::http::mcp;
use crate::http::metrics_endpoint;
use crate::http::openapi;
use crate::http::problem::ProblemKind;
use crate::http::recordings::{self, RecordingList, RecordingSummary, RowList};
use crate::http::route::{Method, Reply, Route};
use crate::http::screenshots;
use crate::http::sessions::{self, ExtendSession, OpenSession, SessionDocument, SessionList};
use crate::http::tickets::{self, TicketDocument};
use crate::http::tools::{self, ToolsDocument};
use crate::http::turns::{self, CancelTurn, NeutralCalls, NeutralReply, TurnReply};

pub(super) static ROUTES: &[Route] = &[
    Route {
        replies: &[Reply {
            status: 200,
            description: "The metrics.",
            content_type: "application/openmetrics-text",
            schema: Some(text),
        }],
        ..route(
            Method::Get,
            "/metrics",
            "metrics",
            "What the server counts, for Prometheus.",
            WATCHERS,
            |request| Box::pin(metrics_endpoint::serve(request)),
        )
    },
    Route {
        replies: &[json("The server is up.", any_object)],
        ..route(
            Method::Get,
            "/v1/health",
            "health",
            "Whether the server answers.",
            EVERYBODY,
            |request| Box::pin(openapi::health(request)),
        )
    },
    Route {
        replies: &[json("The document.", any_object)],
        ..route(
            Method::Get,
            "/v1/openapi.json",
            "openapi",
            "This document.",
            EVERYBODY,
            |request| Box::pin(openapi::serve(request)),
        )
    },
    Route {
        headers: &[IDEMPOTENCY_KEY],
        body: body(SMALL, schema_of::<OpenSession>),
        replies: &[Reply {
            status: 201,
            description: "The session, whose devices have started; `Location` is its address.",
            content_type: "application/json",
            schema: Some(schema_of::<SessionDocument>),
        }],
        problems: OPEN,
        ..route(
            Method::Post,
            "/v1/sessions",
            "openSession",
            "Opens a session and waits until its devices have started.",
            ACTORS,
            |request| Box::pin(sessions::open(request)),
        )
    },
    Route {
        replies: &[json("The sessions.", schema_of::<SessionList>)],
        ..route(
            Method::Get,
            "/v1/sessions",
            "listSessions",
            "Lists the sessions that the token may read.",
            EVERYBODY,
            |request| Box::pin(sessions::list(request)),
        )
    },
    Route {
        replies: &[json("The session.", schema_of::<SessionDocument>)],
        problems: SESSION,
        ..route(
            Method::Get,
            "/v1/sessions/{id}",
            "describeSession",
            "Describes a session.",
            EVERYBODY,
            |request| Box::pin(sessions::describe(request)),
        )
    },
    Route {
        replies: &[DONE],
        problems: &[ProblemKind::NotAnswered, ProblemKind::SessionLost],
        ..route(
            Method::Delete,
            "/v1/sessions/{id}",
            "closeSession",
            "Closes a session and waits until all its processes have ended.",
            ACTORS,
            |request| Box::pin(sessions::close(request)),
        )
    },
    Route {
        body: body(SMALL, schema_of::<ExtendSession>),
        replies: &[DONE],
        problems: CHANGE,
        ..route(
            Method::Post,
            "/v1/sessions/{id}/extend",
            "extendSession",
            "Closes the session after this time without a call at the earliest.",
            ACTORS,
            |request| Box::pin(sessions::extend(request)),
        )
    },
    Route {
        replies: &[json("The contexts.", schema_of::<ContextList>)],
        ..route(
            Method::Get,
            "/v1/contexts",
            "listContexts",
            "Lists the browser contexts of the token's owner.",
            ACTORS,
            |request| Box::pin(contexts::list(request)),
        )
    },
    Route {
        replies: &[DONE],
        problems: &[ProblemKind::ContextInUse],
        ..route(
            Method::Delete,
            "/v1/contexts/{name}",
            "deleteContext",
            "Deletes a browser context with all its data.",
            ACTORS,
            |request| Box::pin(contexts::delete(request)),
        )
    },
    Route {
        query: &[LEAVE_FUNCTIONS],
        headers: &[IDEMPOTENCY_KEY, PREFER, ACCEPT],
        body: body(HISTORY, any_document),
        replies: &[
            json("The reply items.", schema_of::<TurnReply>),
            TURN_EVENTS,
            ACCEPTED,
        ],
        problems: TURN,
        ..route(
            Method::Post,
            "/v1/sessions/{id}/{dialect}",
            "respond",
            "Executes the calls of a provider's response, as it was received.",
            ACTORS,
            |request| Box::pin(turns::respond(request)),
        )
    },
    Route {
        query: &[LEAVE_FUNCTIONS],
        headers: &[IDEMPOTENCY_KEY, PREFER, ACCEPT],
        body: body(HISTORY, schema_of::<NeutralCalls>),
        replies: &[
            json("The results.", schema_of::<NeutralReply>),
            TURN_EVENTS,
            ACCEPTED,
        ],
        problems: TURN,
        ..route(
            Method::Post,
            "/v1/sessions/{id}/calls",
            "executeCalls",
            "Executes neutral calls.",
            ACTORS,
            |request| Box::pin(turns::call(request)),
        )
    },
    Route {
        query: &[DIALECT, MODEL],
        replies: &[json("The tools.", schema_of::<ToolsDocument>)],
        problems: SESSION,
        ..route(
            Method::Get,
            "/v1/sessions/{id}/tools",
            "sessionTools",
            "The tool definitions and headers to send to a model.",
            ACTORS,
            |request| Box::pin(tools::declare(request)),
        )
    },
    Route {
        headers: &[PREFER],
        replies: &[
            json(
                "The results, in the neutral vocabulary.",
                schema_of::<NeutralReply>,
            ),
            ACCEPTED,
        ],
        problems: &[ProblemKind::NotAnswered, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/turns/{turn}",
            "findTurn",
            "A turn's results, also after a lost connection.",
            ACTORS,
            |request| Box::pin(turns::find(request)),
        )
    },
    Route {
        body: body(SMALL, schema_of::<CancelTurn>),
        replies: &[DONE],
        problems: CHANGE,
        ..route(
            Method::Post,
            "/v1/sessions/{id}/cancel",
            "cancelTurn",
            "Cancels a turn and waits until it has stopped.",
            ACTORS,
            |request| Box::pin(turns::cancel(request)),
        )
    },
    Route {
        query: &[FROM_START],
        headers: &[LAST_EVENT_ID],
        replies: &[EVENTS],
        problems: &[ProblemKind::SessionLost, ProblemKind::TooMany],
        ..route(
            Method::Get,
            "/v1/events",
            "followAllEvents",
            "The events of all sessions that the token may read, as they happen.",
            EVERYBODY,
            |request| Box::pin(all_events::follow(request)),
        )
    },
    Route {
        query: &[FROM_ROW],
        headers: &[LAST_EVENT_ID],
        replies: &[EVENTS],
        problems: SESSION,
        ..route(
            Method::Get,
            "/v1/sessions/{id}/events",
            "followEvents",
            "The events of a session as they happen.",
            EVERYBODY,
            |request| Box::pin(events::follow(request)),
        )
    },
    Route {
        replies: &[json("The call.", schema_of::<CallDocument>)],
        problems: &[ProblemKind::NotAnswered, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/calls/{row}",
            "describeCall",
            "The arguments and the result of a call, by the row of its event `call_received`.",
            ACTORS,
            |request| Box::pin(calls::describe(request)),
        )
    },
    Route {
        query: &[SINCE],
        replies: &[json("The output.", schema_of::<OutputDocument>)],
        problems: &[ProblemKind::NotAnswered, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/output",
            "watchOutput",
            "The end of what the newest command has printed, also while it runs.",
            ACTORS,
            |request| Box::pin(calls::output(request)),
        )
    },
    Route {
        query: &[SINCE],
        replies: &[json("The message.", schema_of::<MessageDocument>)],
        problems: &[ProblemKind::NotAnswered, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/message",
            "watchMessage",
            "What the model of a task in the session has written of its message, while it writes.",
            EVERYBODY,
            |request| Box::pin(calls::message(request)),
        )
    },
    Route {
        replies: &[json("The page.", schema_of::<PageTextDocument>)],
        problems: &[ProblemKind::NoPage, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/page",
            "readPage",
            "The page of the browser as text, for people; the running call goes on.",
            OPERATOR,
            |request| Box::pin(calls::page(request)),
        )
    },
    Route {
        query: &[DEVICE, WIDTH],
        headers: &[IF_NONE_MATCH],
        replies: &[IMAGE, SAME_IMAGE],
        problems: &[ProblemKind::NoScreenshot, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/screenshot",
            "captureScreen",
            "A screen as it is now, for people; the running call goes on.",
            EVERYBODY,
            |request| Box::pin(screenshots::current(request)),
        )
    },
    Route {
        headers: &[IF_NONE_MATCH],
        replies: &[IMAGE, SAME_IMAGE],
        problems: &[ProblemKind::NotAnswered, ProblemKind::SessionLost],
        ..route(
            Method::Get,
            "/v1/sessions/{id}/screenshots/{digest}",
            "recordedScreenshot",
            "A screenshot of the session's recording; the events name its digest as `blob`.",
            EVERYBODY,
            |request| Box::pin(screenshots::recorded(request)),
        )
    },
    Route {
        replies: &[json("The recordings.", schema_of::<RecordingList>)],
        problems: RECORDING,
        ..route(
            Method::Get,
            "/v1/recordings",
            "listRecordings",
            "Lists the recordings of the server's sessions, also of those that have ended.",
            WATCHERS,
            |request| Box::pin(recordings::list(request)),
        )
    },
    Route {
        replies: &[json("The recording.", schema_of::<RecordingSummary>)],
        problems: RECORDING,
        ..route(
            Method::Get,
            "/v1/recordings/{id}",
            "describeRecording",
            "Describes a recording: its rows and times.",
            WATCHERS,
            |request| Box::pin(recordings::describe(request)),
        )
    },
    Route {
        query: &[FIRST_ROW, LIMIT, KIND],
        replies: &[json("The rows.", schema_of::<RowList>)],
        problems: RECORDING,
        ..route(
            Method::Get,
            "/v1/recordings/{id}/rows",
            "recordingRows",
            "Rows of a recording in order; a viewer reads those of events.",
            WATCHERS,
            |request| Box::pin(recordings::rows(request)),
        )
    },
    Route {
        headers: &[IF_NONE_MATCH],
        replies: &[IMAGE, SAME_IMAGE],
        problems: RECORDING,
        ..route(
            Method::Get,
            "/v1/recordings/{id}/screenshots/{digest}",
            "recordingScreenshot",
            "A screenshot of a recording; its events name the digest as `blob`.",
            WATCHERS,
            |request| Box::pin(recordings::screenshot(request)),
        )
    },
    Route {
        replies: &[Reply {
            status: 200,
            description: "The page.",
            content_type: "text/html",
            schema: Some(text),
        }],
        problems: RECORDING,
        ..route(
            Method::Get,
            "/v1/recordings/{id}/report",
            "recordingReport",
            "A recording as one HTML page: screenshots, calls, verdicts, results.",
            OPERATOR,
            |request| Box::pin(recordings::report(request)),
        )
    },
    Route {
        replies: &[Reply {
            status: 201,
            description: "The address.",
            content_type: "application/json",
            schema: Some(schema_of::<CdpAddressDocument>),
        }],
        problems: SESSION,
        ..route(
            Method::Post,
            "/v1/sessions/{id}/cdp",
            "createCdpAddress",
            "An address where a program drives the session's browser by CDP; needs `--cdp-gateway`.",
            ACTORS,
            |request| Box::pin(cdp::create(request)),
        )
    },
    Route {
        replies: &[Reply {
            status: 201,
            description: "The address.",
            content_type: "application/json",
            schema: Some(schema_of::<ActionAddressDocument>),
        }],
        problems: SESSION,
        ..route(
            Method::Post,
            "/v1/sessions/{id}/computer",
            "createActionAddress",
            "An address with `/action` and `/screenshot`, for programs that act on a screen so.",
            ACTORS,
            |request| Box::pin(action_service::create(request)),
        )
    },
    Route {
        replies: &[Reply {
            status: 201,
            description: "The ticket.",
            content_type: "application/json",
            schema: Some(schema_of::<TicketDocument>),
        }],
        ..route(
            Method::Post,
            "/v1/tickets",
            "createTicket",
            "A ticket that opens the live page once, with the rights of the token.",
            WATCHERS,
            |request| Box::pin(tickets::create(request)),
        )
    },
    Route {
        replies: &[json("The questions.", schema_of::<ApprovalList>)],
        problems: SESSION,
        ..route(
            Method::Get,
            "/v1/approvals",
            "listApprovals",
            "The open questions of all sessions.",
            OPERATOR,
            |request| Box::pin(approvals::list(request)),
        )
    },
    Route {
        replies: &[json("The question.", schema_of::<ApprovalDocument>)],
        problems: SESSION,
        ..route(
            Method::Get,
            "/v1/approvals/{id}",
            "describeApproval",
            "An open question.",
            OPERATOR,
            |request| Box::pin(approvals::describe(request)),
        )
    },
    Route {
        body: body(SMALL, schema_of::<AnswerDocument>),
        replies: &[DONE],
        problems: ANSWER,
        ..route(
            Method::Post,
            "/v1/approvals/{id}",
            "answerApproval",
            "Answers a question. Both decisions repeat its `digest`; a denial has a `reason`, too.",
            OPERATOR,
            |request| Box::pin(approvals::answer(request)),
        )
    },
    Route {
        query: &[FROM, TO],
        body: body(HISTORY, any_document),
        replies: &[json("The translation.", schema_of::<TranslatedDocument>)],
        problems: DOCUMENT,
        ..route(
            Method::Post,
            "/v1/translate",
            "translate",
            "Translates a history to another dialect.",
            ACTORS,
            |request| Box::pin(documents::translate(request)),
        )
    },
    Route {
        query: &[DIALECT],
        body: body(HISTORY, any_document),
        replies: &[json("The messages.", schema_of::<DecodedDocument>)],
        problems: DOCUMENT,
        ..route(
            Method::Post,
            "/v1/decode",
            "decode",
            "Decodes a response or a history.",
            ACTORS,
            |request| Box::pin(documents::decode(request)),
        )
    },
    Route {
        query: &[DIALECT],
        body: body(HISTORY, any_document),
        replies: &[json("The document.", schema_of::<TranslatedDocument>)],
        problems: DOCUMENT,
        ..route(
            Method::Post,
            "/v1/encode",
            "encode",
            "Encodes neutral messages in a dialect.",
            ACTORS,
            |request| Box::pin(documents::encode(request)),
        )
    },
    Route {
        body: body(SMALL, any_object),
        replies: &[
            Reply {
                status: 200,
                description: "Messages of the protocol.",
                content_type: "text/event-stream",
                schema: Some(text),
            },
            MCP_ACCEPTED,
        ],
        problems: MCP,
        ..route(
            Method::Post,
            "/mcp",
            "sendMcpMessage",
            "Sends a message of the Model Context Protocol (streamable HTTP).",
            ACTORS,
            |request| Box::pin(mcp::post(request)),
        )
    },
    Route {
        replies: &[Reply {
            status: 200,
            description: "Messages of the protocol.",
            content_type: "text/event-stream",
            schema: Some(text),
        }],
        problems: MCP,
        ..route(
            Method::Get,
            "/mcp",
            "followMcpMessages",
            "Messages of the Model Context Protocol that belong to no request.",
            ACTORS,
            |request| Box::pin(mcp::get(request)),
        )
    },
    Route {
        replies: &[MCP_ACCEPTED, DONE],
        problems: MCP,
        ..route(
            Method::Delete,
            "/mcp",
            "endMcpSession",
            "Ends a protocol session of the Model Context Protocol; the computer stays.",
            ACTORS,
            |request| Box::pin(mcp::delete(request)),
        )
    },
];
