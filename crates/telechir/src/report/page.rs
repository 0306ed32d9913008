//! Writes the page from top to bottom.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_runtime::{ActionEffect, Verified};

use super::gather::{CallStep, RecordedCall, RecordedRun, RunEntry};
use super::html::Html;

/// The policy forbids the browser to load or run anything.
const HEAD: &str = concat!(
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">",
    "<meta name=\"viewport\" content=\"width=device-width\"><title>telechir recording</title>\n<style>",
    include_str!("style.css"),
    "</style></head><body>\n<h1>telechir recording</h1>\n",
);

type Screenshots<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Renders the page; `screenshots` returns the bytes of a digest.
pub(super) fn write(
    runs: &[RecordedRun],
    verified: &Verified,
    screenshots: Screenshots<'_>,
) -> String {
    let mut html = Html::default();
    html.raw(HEAD);
    chain(&mut html, verified);
    for run in runs {
        write_run(&mut html, run, screenshots);
    }
    html.raw("</body></html>\n");
    html.into_string()
}

fn chain(html: &mut Html, verified: &Verified) {
    match &verified.fault {
        None => {
            let text = format!(
                "{} rows, hash chain intact, last hash {}",
                verified.rows, verified.head
            );
            html.element("p", "meta", &text);
        }
        Some(fault) => {
            html.element(
                "p",
                "failed",
                &format!("This recording was modified after it was written: {fault}."),
            );
        }
    }
}

fn write_run(html: &mut Html, run: &RecordedRun, screenshots: Screenshots<'_>) {
    html.element("h2", "", &format!("Session {}", run.name));
    let seconds = (run.ended_ms - run.opened_ms) / 1000;
    let end = run
        .end
        .as_deref()
        .unwrap_or("not closed: it was interrupted or is still running");
    let steps = run.calls.iter().flat_map(|call| &call.steps);
    let (actions, failed) = steps.fold((0, 0), |(all, failed), step| {
        (all + 1, failed + usize::from(step.failure.is_some()))
    });
    html.raw("<table><tbody>");
    for (name, value) in [
        ("Devices", run.devices.join(", ")),
        ("Policy", run.policy.clone()),
        (
            "Length",
            format!("{seconds} s, {actions} actions, {failed} failed"),
        ),
        ("End", end.to_owned()),
    ] {
        html.raw("<tr>")
            .element("th", "", name)
            .element("td", "", &value)
            .raw("</tr>");
    }
    html.raw("</tbody></table>\n");
    for entry in &run.entries {
        match entry {
            RunEntry::CallStep { number, ms, tokens } => {
                let tokens = tokens
                    .map(|(input, output)| format!(", {input} tokens in, {output} out"))
                    .unwrap_or_default();
                html.element("h2", "", &format!("Step {number}")).element(
                    "p",
                    "meta",
                    &format!("model response after {ms} ms{tokens}"),
                );
            }
            RunEntry::Message(text) => _ = html.element("p", "message", text),
            RunEntry::Note(text) => _ = html.element("p", "note", text),
            RunEntry::Call(index) => write_call(html, &run.calls[*index], screenshots),
        }
    }
}

fn write_call(html: &mut Html, call: &RecordedCall, screenshots: Screenshots<'_>) {
    html.raw("<article>")
        .element("div", "meta", &format!("call {}{}", call.id, took(call.ms)));
    if let Some(verdict) = call.verdict {
        html.raw("<div>Verdict: ")
            .element("strong", verdict.name(), verdict.name());
        html.text(&format!(" by {}: {}", call.rule, call.reason))
            .raw("</div>");
    }
    if let Some(question) = &call.question {
        html.element("div", "ask", question);
    }
    if !call.steps.is_empty() {
        html.raw("<table><thead><tr><th>Device</th><th>Action</th><th>Verdict</th><th>Effect</th><th class=\"ms\">Time</th></tr></thead><tbody>");
        for step in &call.steps {
            write_step(html, step);
        }
        html.raw("</tbody></table>\n");
    }
    if let Some(failure) = &call.failure {
        html.element("div", "failed", failure);
    }
    if let Some(answer) = &call.answer {
        write_answer(html, answer, screenshots);
    }
    if let Some(content) = &call.call {
        html.raw("<details><summary>The call as received</summary>")
            .element("pre", "", &pretty(content))
            .raw("</details>");
    }
    html.raw("</article>\n");
}

fn write_step(html: &mut Html, step: &CallStep) {
    let (class, label) = effect(step.effect);
    html.raw("<tr>")
        .element("td", "", step.device)
        .element("td", "", &step.summary);
    html.element("td", step.verdict.name(), step.verdict.name());
    html.element("td", class, step.outcome.as_deref().unwrap_or(label));
    html.element("td", "ms", took(step.ms).trim_start_matches(", "))
        .raw("</tr>");
    if let Some(failure) = &step.failure {
        html.raw("<tr><td></td><td colspan=\"4\">")
            .element("span", "failed", failure)
            .raw("</td></tr>");
    }
}

fn effect(effect: Option<ActionEffect>) -> (&'static str, &'static str) {
    match effect {
        None => ("failed", "started, not finished"),
        Some(ActionEffect::Delivered) => ("delivered", "delivered"),
        Some(ActionEffect::Confirmed) => ("confirmed", "confirmed"),
        Some(ActionEffect::Failed) => ("failed", "failed"),
        Some(ActionEffect::Cancelled) => ("failed", "cancelled"),
        Some(ActionEffect::Recorded) => ("meta", "from the recording"),
        Some(ActionEffect::Interrupted) => ("failed", "interrupted"),
    }
}

fn took(ms: Option<u64>) -> String {
    ms.map(|ms| format!(", {ms} ms")).unwrap_or_default()
}

fn write_answer(html: &mut Html, answer: &Value, screenshots: Screenshots<'_>) {
    for text in texts(answer) {
        html.element("pre", "", &text);
    }
    let mut digests = Vec::new();
    find_blobs(answer, &mut digests);
    digests.dedup();
    for digest in digests {
        match screenshots(&digest) {
            Some(bytes) => {
                _ = html.screenshot(&STANDARD.encode(bytes), "screenshot sent to the model")
            }
            None => {
                _ = html.element(
                    "p",
                    "failed",
                    "A screenshot of this result is missing or was modified.",
                )
            }
        }
    }
    html.raw("<details><summary>The result</summary>")
        .element("pre", "", &pretty(answer))
        .raw("</details>");
}

/// Text parts of a result: a page's text, a command's output.
fn texts(answer: &Value) -> Vec<String> {
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut texts = vec![text(answer, "text_output")];
    for output in answer
        .get("outputs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        texts.push(text(output, "stdout"));
        texts.push(text(output, "stderr"));
    }
    texts.retain(|text| !text.trim().is_empty());
    texts
}

fn find_blobs(value: &Value, digests: &mut Vec<String>) {
    match value {
        Value::String(text) => digests.extend(text.strip_prefix("blob:").map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| find_blobs(item, digests)),
        Value::Object(members) => members.values().for_each(|item| find_blobs(item, digests)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use telechir_runtime::{JournalRecord, RecordKind};

    use super::super::gather::runs;
    use super::*;

    fn records(rows: Vec<(RecordKind, Value)>) -> Vec<JournalRecord> {
        let record = |(index, (kind, body)): (u64, (RecordKind, Value))| JournalRecord {
            seq: index + 1,
            run: "r1".into(),
            at_ms: 1000,
            kind,
            body,
        };
        (0..).zip(rows).map(record).collect()
    }

    fn render(rows: Vec<(RecordKind, Value)>) -> String {
        let verified = Verified {
            rows: rows.len(),
            head: "ab".into(),
            fault: None,
        };
        write(&runs(&records(rows)), &verified, &|digest| {
            (digest == "d1").then(|| b"png".to_vec())
        })
    }

    #[test]
    fn shows_calls_verdicts_results_and_screenshots_and_escapes_markup() {
        let page = render(vec![
            (
                RecordKind::Event,
                json!({"event": "assistant_message", "text": "<img src=x onerror=alert(1)>"}),
            ),
            (
                RecordKind::Event,
                json!({"event": "turn_started", "turn": 0, "calls": 1}),
            ),
            (
                RecordKind::Call,
                json!({"type": "computer_call", "call_id": "c1", "actions": []}),
            ),
            (
                RecordKind::Event,
                json!({"event": "call_judged", "call_id": "c1", "verdict": "allow", "rule": "default", "reason": "private"}),
            ),
            (
                RecordKind::Event,
                json!({"event": "action_finished", "call_id": "c1", "step": 0, "device": "desktop", "kind": null,
                "summary": "screenshot", "verdict": "allow", "effect": "confirmed", "failure": null, "outcome": null, "ms": 7}),
            ),
            (
                RecordKind::Answer,
                json!({"type": "computer_result", "call_id": "c1", "text_output": "</pre>",
                "screenshot": {"type": "uri", "uri": "blob:d1"}}),
            ),
        ]);
        for wanted in [
            "&lt;img src=x",
            "screenshot</td>",
            "confirmed</td>",
            "7 ms",
            "base64,cG5n",
            "&lt;/pre&gt;",
            "by default: private",
        ] {
            assert!(page.contains(wanted), "{wanted} in {page}");
        }
        assert!(!page.contains("<img src=x") && !page.contains("<script"));
    }

    #[test]
    fn reports_a_missing_screenshot_and_an_unfinished_action() {
        let page = render(vec![
            (
                RecordKind::Event,
                json!({"event": "action_started", "call_id": "c1", "step": 0, "device": "shell", "kind": null,
                "summary": "$ ls", "verdict": "sandbox"}),
            ),
            (
                RecordKind::Answer,
                json!({"type": "computer_result", "call_id": "c1", "screenshot": {"uri": "blob:lost"}}),
            ),
        ]);
        assert!(
            page.contains("started, not finished") && page.contains("missing or was modified"),
            "{page}"
        );
    }
}
