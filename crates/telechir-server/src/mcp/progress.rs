//! Notifications while a call runs, for clients that requested them with a token.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use tokio::time::{Instant, interval_at};

/// Time between two notifications.
const INTERVAL: Duration = Duration::from_secs(5);

/// Notifies the client at once and then every five seconds, until it is dropped.
pub(super) async fn report(
    tool: &str,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return pending().await;
    };
    let message = summary(tool, arguments);
    let started = Instant::now();
    let mut ticks = interval_at(started, INTERVAL);
    loop {
        ticks.tick().await;
        let seconds = started.elapsed().as_secs_f64();
        // Progress must grow with each notification.
        let progress = ProgressNotificationParam::new(token.clone(), seconds);
        let progress = progress.with_message(message.clone());
        if let Err(error) = context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "the client received no progress");
        }
    }
}

/// The tool and its action. Never its text: it can be a password.
fn summary(tool: &str, arguments: &Map<String, Value>) -> String {
    let action = arguments.get("action").and_then(Value::as_str);
    let is_name = |action: &&str| {
        action.len() <= 40
            && action
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    match action.filter(is_name) {
        Some(action) => format!("{tool}: {action}"),
        None => tool.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_summary_has_no_text_of_the_model() {
        let summary =
            |arguments: Value| summary("execute_gui", arguments.as_object().expect("an object"));
        let typed = summary(json!({"action": "type", "text": "secret"}));
        assert_eq!(typed, "execute_gui: type");
        assert_eq!(summary(json!({"action": "my secret"})), "execute_gui");
    }
}
