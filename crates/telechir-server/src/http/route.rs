//! One route of the HTTP API, as the router and the OpenAPI document need it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use axum::routing::MethodFilter;
use schemars::{Schema, SchemaGenerator};
use telechir_host::tokens::Role;

use super::problem::{Problem, ProblemKind};
use super::request::ApiRequest;
use super::state::HttpState;

/// Who answers a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handler {
    /// Gets the request of a caller who may use the route.
    OfCaller(fn(ApiRequest) -> Answer),
    /// Gets the request as it came, and checks who sent it.
    OfRequest(fn(Arc<HttpState>, Request) -> Answer),
}

/// How a request shows who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// A token in the header `Authorization`, or the live page's cookie and key.
    Token,
    /// A secret in its address.
    Secret,
    /// What the live page has: a ticket, or its cookie and key.
    Page,
}

/// What a handler returns.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;
/// The JSON Schema of a body.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    /// The name in an OpenAPI document.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    pub(super) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// A route: one method of one path.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    /// The path; `{name}` is a parameter.
    pub(super) path: &'static str,
    /// Other paths where the same is served, which the document does not name.
    pub(super) aliases: &'static [&'static str],
    pub(super) credentials: Credentials,
    /// Unique name of the operation, which clients use as that of a function.
    pub(super) operation: &'static str,
    pub(super) summary: &'static str,
    /// The roles whose tokens may use it.
    pub(super) roles: &'static [Role],
    pub(super) query: &'static [Parameter],
    pub(super) headers: &'static [Parameter],
    /// Absent if the request has no body.
    pub(super) body: Option<RequestBody>,
    /// The answers of success.
    pub(super) replies: &'static [Reply],
    /// Problems beside those that every route has.
    pub(super) problems: &'static [ProblemKind],
    pub(super) handler: Handler,
}

impl Route {
    /// Whether a token for one session may use it: it is about that session, or about none.
    pub(super) fn is_for_session_tokens(&self) -> bool {
        let is_harmless = [
            (Method::Get, "/v1/sessions"),
            (Method::Get, "/v1/events"),
            (Method::Get, "/v1/health"),
            (Method::Get, "/v1/openapi.json"),
        ];
        self.path.starts_with("/v1/sessions/{id}")
            || is_harmless.contains(&(self.method, self.path))
    }
}

/// A parameter in the query or in a header.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) is_required: bool,
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct RequestBody {
    pub(super) max_bytes: usize,
    pub(super) schema: SchemaOf,
}

/// A successful answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) content_type: &'static str,
    /// Absent if the answer has no body.
    pub(super) schema: Option<SchemaOf>,
}
