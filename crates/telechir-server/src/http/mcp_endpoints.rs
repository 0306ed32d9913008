//! The MCP servers of all principals: one for each, so that none sees the sessions of another.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::handler::server::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::mcp_sessions::McpSessions;

/// Protocol sessions of one principal at the same time, in the versions that have them.
const MAX_SESSIONS: usize = 32;

/// Answers one request, whose head and body passed all checks.
type Service = dyn Fn(Request<Full<Bytes>>) -> EndpointAnswer + Send + Sync;
type EndpointAnswer = Pin<Box<dyn Future<Output = Response<BoxBody<Bytes, Infallible>>> + Send>>;

/// The MCP server of one principal.
#[derive(Clone)]
pub struct McpEndpoint {
    service: Arc<Service>,
    sessions: Arc<McpSessions>,
}

impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("McpEndpoint")
    }
}

impl McpEndpoint {
    /// Serves every client of the principal by clones of this handler, usually a
    /// [`McpServer`](crate::mcp::McpServer).
    pub fn new<H: ServerHandler + Clone>(handler: H) -> Self {
        // `Host`, `Origin` and the body were checked before, also for the other routes.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(usize::MAX);
        let sessions = Arc::<McpSessions>::default();
        let make = move || Ok(handler.clone());
        let service = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        let answer = move |request| -> EndpointAnswer {
            let service = service.clone();
            Box::pin(async move { service.handle(request).await })
        };
        Self {
            service: Arc::new(answer),
            sessions,
        }
    }

    /// Whether no more protocol sessions may begin.
    pub(super) async fn is_full(&self) -> bool {
        self.sessions.len().await >= MAX_SESSIONS
    }

    /// Answers a request, whose head and body passed all checks.
    pub(super) async fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        (self.service)(request).await
    }
}

/// The endpoints by their principals.
#[derive(Default)]
pub(super) struct McpEndpoints(Mutex<HashMap<String, McpEndpoint>>);

impl McpEndpoints {
    /// The endpoint of a principal, which is made for its first request.
    pub(super) fn of(&self, principal: &str, make: impl FnOnce() -> McpEndpoint) -> McpEndpoint {
        let mut endpoints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoint = endpoints.entry(principal.to_owned());
        endpoint.or_insert_with(make).clone()
    }
}
