//! Execution of a model's script in the page's own world, where allowed.

use serde_json::{Value, json};
use telechir_device::DeviceError;

use crate::cdp_session::CdpSession;
use crate::error::refused;

/// Results are truncated to this length.
const MAX_RESULT_BYTES: usize = 50_000;

/// Evaluates an expression, awaits a promise and returns the value as text.
pub(crate) async fn run(page: &CdpSession, script: &str) -> Result<String, DeviceError> {
    let params = json!({
        "expression": script, "returnByValue": true, "awaitPromise": true, "replMode": true,
        "userGesture": true, "allowUnsafeEvalBlockedByCSP": false,
    });
    let answer = page.call("Runtime.evaluate", params).await?;
    let thrown = &answer["exceptionDetails"];
    if !thrown.is_null() {
        let text = thrown["exception"]["description"]
            .as_str()
            .or_else(|| thrown["text"].as_str());
        return Err(refused(format!(
            "The script failed: {}",
            truncate(text.unwrap_or("no reason given"))
        )));
    }
    let result = &answer["result"];
    Ok(match (&result["value"], result["type"].as_str()) {
        (Value::String(text), _) => truncate(text),
        (Value::Null, Some("undefined")) => "undefined".to_owned(),
        (Value::Null, _) if !result["description"].is_null() => {
            truncate(result["description"].as_str().unwrap_or_default())
        }
        (value, _) => truncate(&value.to_string()),
    })
}

fn truncate(text: &str) -> String {
    let end = (0..=MAX_RESULT_BYTES.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let rest = if end < text.len() { "…" } else { "" };
    format!("{}{rest}", &text[..end])
}
