//! Browser contexts: cookies and stored data of pages that outlive a session, each under a name that its
//! owner chose. They stay with the server: no answer has any of it.

use std::collections::HashSet;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Serialize;
use telechir_host::SessionName;

use super::context_claims::ContextClaim;
use super::context_store::{
    ContextError, ContextKey, ContextStore, ContextSummary, MAX_NAME_BYTES,
};
use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, reply};
use super::state::HttpState;

/// Contexts that one owner has.
const MAX_CONTEXTS: usize = 100;
/// The contexts of an owner.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ContextList {
    contexts: Vec<ContextSummary>,
}

/// `GET /v1/contexts`
pub(super) async fn list(request: ApiRequest) -> Result<Response, Problem> {
    let owner = ContextKey::owner_key(&request.caller.principal);
    let claimed = request.state.context_claims.names(&owner);
    let mut contexts = match store(&request.state) {
        Some(store) => in_background(move || store.list(&owner)).await?,
        None => Vec::new(),
    };
    for context in &mut contexts {
        context.in_use |= claimed.contains(&context.name);
    }
    Ok(reply(StatusCode::OK, &ContextList { contexts }))
}

/// `DELETE /v1/contexts/{name}`
pub(super) async fn delete(request: ApiRequest) -> Result<Response, Problem> {
    let missing = || Problem::new(ProblemKind::NotFound, "you have no context with this name");
    let key = ContextKey::new(&request.caller.principal, request.path("name"));
    let (Some(key), Some(store)) = (key, store(&request.state)) else {
        return Err(missing());
    };
    let (names, owner) = (Arc::clone(&store), key.owner.clone());
    let names = in_background(move || names.names(&owner)).await?;
    if !names.contains(&key.name) {
        return Err(missing());
    }
    let claim = request.state.context_claims.claim(&key, None);
    let claim = claim.ok_or_else(in_use)?;
    // It goes on without a client, and so does the claim.
    let deleted = in_background(move || store.delete(claim.context())).await?;
    match deleted {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(missing()),
    }
}

/// The context for a session with these devices, which may not exist yet.
pub(super) fn key(
    state: &HttpState,
    owner: &str,
    name: &str,
    devices: &[String],
) -> Result<ContextKey, Problem> {
    let unreadable = |detail: String| Problem::new(ProblemKind::Unreadable, detail);
    let key = ContextKey::new(owner, name).ok_or_else(|| {
        let limit = MAX_NAME_BYTES;
        unreadable(format!(
            "`context`: expected 1 to {limit} letters, digits, `_` or `-`"
        ))
    })?;
    if !devices.iter().any(|device| device == "browser") {
        return Err(unreadable(
            "`context`: this session has no browser".to_owned(),
        ));
    }
    if store(state).is_none() {
        let detail = "`context`: the browser of this server keeps its data elsewhere";
        return Err(unreadable(detail.to_owned()));
    }
    Ok(key)
}

/// The context of a session that is being opened. Nothing else can use or delete it until this is
/// dropped; from then on its browser has it.
#[derive(Debug)]
pub(super) struct OpeningContext {
    claim: ContextClaim,
    store: Arc<dyn ContextStore>,
    is_new: bool,
}

impl OpeningContext {
    /// Claims a context for a session that is about to start, and creates it if there is none.
    pub(super) async fn begin(
        state: &HttpState,
        key: &ContextKey,
        session: &SessionName,
    ) -> Result<Self, Problem> {
        let missing = || Problem::new(ProblemKind::Internal, "the server has no contexts");
        let store = store(state).ok_or_else(missing)?;
        let claim = state.context_claims.claim(key, Some(session));
        let claim = claim.ok_or_else(in_use)?;
        let started = in_background(move || {
            let key = claim.context();
            if store.is_in_use(key)? {
                return Err(ContextError::InUse);
            }
            // After the claim, whose earlier ones may exist by now.
            let mut others: HashSet<String> = store.names(&key.owner)?.into_iter().collect();
            let is_known = others.contains(&key.name);
            others.extend(claim.earlier.iter().cloned());
            others.remove(&key.name);
            if !is_known && others.len() >= MAX_CONTEXTS {
                return Ok(None);
            }
            let is_new = store.create(key)?;
            Ok(Some(Self {
                claim,
                store,
                is_new,
            }))
        });
        started.await?.ok_or_else(|| {
            let detail = format!("you have {MAX_CONTEXTS} contexts; delete one");
            Problem::new(ProblemKind::TooMany, detail)
        })
    }

    /// Removes the context of a session that did not start, if it was created for it.
    pub(super) async fn cancel(self) {
        if self.is_new && !self.claim.is_shared() {
            let deleted = in_background(move || self.store.delete(self.claim.context()));
            let _logged = deleted.await;
        }
    }
}

fn in_use() -> Problem {
    let detail = "a session uses this context; close it first";
    Problem::new(ProblemKind::ContextInUse, detail)
}

fn store(state: &HttpState) -> Option<Arc<dyn ContextStore>> {
    state.launcher.contexts()
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ContextError> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |why: String| {
        tracing::error!(%why, "the contexts cannot be used");
        Problem::new(
            ProblemKind::Internal,
            "the server's contexts cannot be used",
        )
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(ContextError::InUse)) => Err(in_use()),
        Ok(Err(ContextError::Failed(why))) => Err(failed(why)),
        Err(_) => Err(failed("it was interrupted".to_owned())),
    }
}
