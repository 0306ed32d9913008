//! A model's own script, run in the page's world where that is allowed.

use serde_json::{Value, json};
use telechir_device::DeviceError;

use crate::error::refused;
use crate::cdp_session::Page;

/// How much of a result is told.
const LONGEST: usize = 50_000;

/// Runs an expression, waits for the promise it may give, and says its value.
pub(crate) async fn run(page: &Page, script: &str) -> Result<String, DeviceError> {
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
            shorten(text.unwrap_or("no reason given"))
        )));
    }
    let result = &answer["result"];
    Ok(match (&result["value"], result["type"].as_str()) {
        (Value::String(text), _) => shorten(text),
        (Value::Null, Some("undefined")) => "undefined".to_owned(),
        (Value::Null, _) if !result["description"].is_null() => {
            shorten(result["description"].as_str().unwrap_or_default())
        }
        (value, _) => shorten(&value.to_string()),
    })
}

fn shorten(text: &str) -> String {
    let end = (0..=LONGEST.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let rest = if end < text.len() { "…" } else { "" };
    format!("{}{rest}", &text[..end])
}
