//! Follows the events of sessions for the metrics, and revokes the tokens of those that end.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use telechir_host::tokens::TokenFile;
use telechir_host::{Probe, SessionPaths, find};
use tokio::task::JoinSet;

use super::metrics::{Metrics, Step};

/// Calls without a result that are remembered for each session; a turn has fewer.
const MAX_OPEN_CALLS: usize = 1024;

/// The tasks that follow sessions, one for each. They end with their sessions, and with the server.
#[derive(Debug, Default)]
pub(super) struct MetricsFollowers {
    followed: Arc<Mutex<HashSet<String>>>,
    tasks: Mutex<JoinSet<()>>,
}

/// From where on the events of a session count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountFrom {
    /// Those from this row of the recording on: this server opened the session.
    Row(u64),
    /// New ones: an earlier server opened it.
    Now,
}

impl MetricsFollowers {
    /// Follows a session unless it is followed.
    pub(super) fn follow(
        &self,
        metrics: &Arc<Metrics>,
        tokens: &TokenFile,
        paths: &SessionPaths,
        from: CountFrom,
    ) {
        let name = paths.name.to_string();
        if !lock(&self.followed).insert(name.clone()) {
            return;
        }
        let (metrics, paths) = (Arc::clone(metrics), paths.clone());
        let tokens = tokens.clone();
        let ends = FollowEnd {
            followed: Arc::clone(&self.followed),
            name,
        };
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let _ends = ends;
            count_events(&metrics, &paths, from).await;
            revoke_tokens(&tokens, &paths).await;
        });
    }
}

/// Lets a session be followed again.
struct FollowEnd {
    followed: Arc<Mutex<HashSet<String>>>,
    name: String,
}

impl Drop for FollowEnd {
    fn drop(&mut self) {
        lock(&self.followed).remove(&self.name);
    }
}

/// Counts a session's events until it is closed. After a lost connection, the next row is read.
async fn count_events(metrics: &Metrics, paths: &SessionPaths, from: CountFrom) {
    let mut counter = EventCounter::default();
    let mut next = match from {
        CountFrom::Row(row) => Some(row),
        CountFrom::Now => None,
    };
    while let Ok(Probe::Alive(client)) = find(paths).await {
        let Ok(mut events) = client.subscribe(next).await else {
            return;
        };
        loop {
            match events.next().await {
                Ok(Some(recorded)) => {
                    next = Some(recorded.row + 1);
                    counter.add(metrics, recorded.at_ms, &recorded.event);
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(%error, "the events of a session are read again");
                    break;
                }
            }
        }
        if next.is_none() {
            return;
        }
    }
}

/// Revokes the tokens that are for this session alone, if it is gone.
async fn revoke_tokens(tokens: &TokenFile, paths: &SessionPaths) {
    // Listed before the session is looked for: tokens of one that is opened meanwhile stay.
    let name = paths.name.to_string();
    let listed = tokens.list().inspect_err(|error| {
        tracing::warn!(%error, "the tokens of a session that ended are not revoked");
    });
    let mut left = listed.unwrap_or_default();
    left.retain(|record| record.session.as_ref() == Some(&name));
    if left.is_empty() || !matches!(find(paths).await, Ok(Probe::Dead | Probe::Nothing)) {
        return;
    }
    for record in left {
        if let Err(error) = tokens.revoke(&record.id) {
            tracing::warn!(%error, "a token of a session that ended is not revoked");
        }
    }
}

/// Joins the events of a call.
#[derive(Debug, Default)]
struct EventCounter {
    calls: HashMap<String, CountedCall>,
}

#[derive(Debug, Default)]
struct CountedCall {
    tool: String,
    verdict: String,
    question_ms: Option<i64>,
}

impl EventCounter {
    fn add(&mut self, metrics: &Metrics, at_ms: i64, event: &Value) {
        let text = |member: &str| event[member].as_str().unwrap_or_default();
        let ms = |member: &str| event[member].as_u64();
        let step = |step: Step, member: &str| {
            if let Some(ms) = ms(member) {
                metrics.step(step, ms);
            }
        };
        match text("event") {
            "call_received" => self.call(event).tool = text("kind").to_owned(),
            "call_judged" => self.call(event).verdict = text("verdict").to_owned(),
            "question_asked" => self.call(event).question_ms = Some(at_ms),
            "question_answered" => {
                if let Some(question) = self.call(event).question_ms.take() {
                    let waited = at_ms.saturating_sub(question);
                    metrics.step(Step::Approval, u64::try_from(waited).unwrap_or(0));
                }
            }
            "action_finished" => {
                metrics.action(text("device"), text("verdict"), text("effect"));
                step(Step::Action, "ms");
            }
            "screenshot_taken" => {
                step(Step::Settle, "settle_ms");
                step(Step::Screenshot, "ms");
            }
            "call_answered" => {
                let call = self.calls.remove(text("call_id")).unwrap_or_default();
                metrics.call(&call.tool, &call.verdict, !event["failure"].is_null());
                step(Step::Call, "ms");
            }
            "turn_completed" => {
                self.calls.clear();
                step(Step::Turn, "ms");
            }
            "connection_judged" => {
                metrics.connection(text("device"), event["passed"] == true);
            }
            _ => {}
        }
    }

    fn call(&mut self, event: &Value) -> &mut CountedCall {
        if self.calls.len() >= MAX_OPEN_CALLS {
            self.calls.clear();
        }
        let id = event["call_id"].as_str().unwrap_or_default();
        self.calls.entry(id.to_owned()).or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
