//! Browser contexts: cookies and stored data of pages that outlive a session, each under a name that its
//! owner chose. They stay with the server: no answer has any of it.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::context_store::{ContextKey, ContextStore, ContextSummary, MAX_NAME_BYTES};
use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, reply};
use super::state::{HttpState, SessionOptions};

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
    let contexts = match store(&request.state) {
        Some(store) => in_background(move || store.list(&owner)).await?,
        None => Vec::new(),
    };
    Ok(reply(StatusCode::OK, &ContextList { contexts }))
}

/// `DELETE /v1/contexts/{name}`
pub(super) async fn delete(request: ApiRequest) -> Result<Response, Problem> {
    let missing = || Problem::new(ProblemKind::NotFound, "you have no context with this name");
    let key = ContextKey::new(&request.caller.principal, request.path("name"));
    let (Some(key), Some(store)) = (key, store(&request.state)) else {
        return Err(missing());
    };
    check_free(&request.state, Some(&key.profile))?;
    match in_background(move || store.delete(&key)).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(missing()),
    }
}

/// The profile for a session that uses this context, which is created if the owner has none with its
/// name.
pub(super) async fn prepare(
    state: &HttpState,
    owner: &str,
    name: &str,
    devices: &[String],
) -> Result<String, Problem> {
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
    let store = store(state).ok_or_else(|| {
        let detail = "`context`: the browser of this server keeps its data elsewhere";
        unreadable(detail.to_owned())
    })?;
    let profile = key.profile.clone();
    let is_full = in_background(move || {
        let known = store.list(&key.owner)?;
        let is_known = known.iter().any(|context| context.name == key.name);
        if !is_known && known.len() >= MAX_CONTEXTS {
            return Ok(true);
        }
        store.create(&key).map(|()| false)
    });
    match is_full.await? {
        true => {
            let detail = format!("{owner} has {MAX_CONTEXTS} contexts; delete one");
            Err(Problem::new(ProblemKind::TooMany, detail))
        }
        false => Ok(profile),
    }
}

/// Refuses a profile that a session uses.
pub(super) fn check_free(state: &HttpState, profile: Option<&str>) -> Result<(), Problem> {
    let is_in_use = |profile| store(state).is_some_and(|store| store.is_in_use(profile));
    match profile.is_some_and(is_in_use) {
        true => {
            let detail = "a session uses this context; close it first";
            Err(Problem::new(ProblemKind::ContextInUse, detail))
        }
        false => Ok(()),
    }
}

/// The same for a session that is about to start.
pub(super) fn check_free_for(state: &HttpState, options: &SessionOptions) -> Result<(), Problem> {
    check_free(state, options.profile.as_deref())
}

fn store(state: &HttpState) -> Option<Arc<dyn ContextStore>> {
    state.launcher.contexts()
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |why: String| {
        tracing::error!(%why, "the contexts cannot be used");
        Problem::new(
            ProblemKind::Internal,
            "the server's contexts cannot be used",
        )
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| failed("it was interrupted".to_owned()))?
        .map_err(failed)
}
