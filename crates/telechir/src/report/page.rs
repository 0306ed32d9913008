//! Writes the page from top to bottom.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use telechir_policy::Verdict;
use telechir_protocol::{Size, UnsettledReason};
use telechir_runtime::{ActionEffect, Verified};

use crate::counted::counted;

use super::gather::{CallStep, RecordedRun, ReportedCall, RunEntry, Shot};
use super::html::Html;
use super::marks;
use super::screenshots::{LayeredScreenshot, ReadBlob, ReportScreenshots};

const DEVICES: [&str; 4] = ["desktop", "browser", "shell", "editor"];

/// The policy forbids the browser to load or run anything.
const HEAD: &str = concat!(
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">",
    "<meta name=\"viewport\" content=\"width=device-width\"><title>telechir recording</title>\n<style>",
    include_str!("style.css"),
    "</style>\n",
);

/// Renders the page; `read` returns the bytes of a digest.
pub(super) fn write(runs: &[RecordedRun], verified: &Verified, read: ReadBlob<'_>) -> String {
    let mut body = Html::default();
    let mut screenshots = ReportScreenshots::new(read);
    chain(&mut body, verified);
    filters(&mut body, runs);
    for run in runs {
        write_run(&mut body, run, &mut screenshots);
    }
    let mut html = Html::default();
    html.raw(HEAD);
    screenshots.write_images(&mut html);
    html.raw("</head><body>\n<h1>telechir recording</h1>\n")
        .append(body)
        .raw("</body></html>\n");
    html.into_string()
}

/// Checkboxes for the devices and verdicts of the recording; the style sheet hides the calls.
fn filters(html: &mut Html, runs: &[RecordedRun]) {
    let calls = || runs.iter().flat_map(|run| &run.calls);
    html.raw("<form class=\"filters\">Show: ");
    for device in DEVICES {
        if calls().any(|call| device_of(call) == device) {
            html.filter("on", device);
        }
    }
    html.raw("<span></span> ");
    for verdict in [
        Verdict::Allow,
        Verdict::Sandbox,
        Verdict::Ask,
        Verdict::Deny,
    ] {
        if calls().any(|call| call.verdict == Some(verdict)) {
            html.filter("was", verdict.name());
        }
    }
    html.raw("</form>\n");
}

/// The device of a call for the filters.
fn device_of(call: &ReportedCall) -> &'static str {
    let member = |name: &str| call.call.as_ref().and_then(|call| call[name].as_str());
    let is_screen = member("type") == Some("computer_call");
    let named = || {
        let target = member("target");
        DEVICES.into_iter().find(|device| Some(*device) == target)
    };
    // The first screen is the default of a call that names none.
    let seen = || {
        let seen = DEVICES
            .into_iter()
            .find(|device| call.before.contains_key(device));
        seen.filter(|_| is_screen)
    };
    call.device.or_else(named).or_else(seen).unwrap_or("none")
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

fn write_run(html: &mut Html, run: &RecordedRun, screenshots: &mut ReportScreenshots<'_>) {
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
    let shots = || run.calls.iter().flat_map(|call| &call.shots);
    let unsettled = shots().filter(|shot| !shot.settled).count();
    html.raw("<table><tbody>");
    for (name, value) in [
        ("Started", date(run.opened_ms)),
        ("Ended", date(run.ended_ms)),
        ("Devices", run.devices.join(", ")),
        ("Policy", run.policy.clone()),
        (
            "Length",
            format!(
                "{seconds} s, {}, {failed} failed",
                counted(actions, "action")
            ),
        ),
        (
            "Screenshots",
            format!("{}, {unsettled} not settled", shots().count()),
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
            RunEntry::Task {
                text,
                model,
                resumed,
                at_ms,
            } => {
                let how = if *resumed { "Task, continued" } else { "Task" };
                html.element("h2", "", how)
                    .element("p", "task", text)
                    .element("p", "meta", &format!("{model}, {}", date(*at_ms)));
            }
            RunEntry::TaskEnd { reason, steps } => {
                let steps = counted(*steps, "step");
                let text = format!("The task ended after {steps}: {reason}");
                html.element("p", "meta", &text);
            }
            RunEntry::Message(text) => _ = html.element("p", "message", text),
            RunEntry::Note(text) => _ = html.element("p", "note", text),
            RunEntry::Call(index) => write_call(html, &run.calls[*index], screenshots),
        }
    }
}

fn write_call(html: &mut Html, call: &ReportedCall, screenshots: &mut ReportScreenshots<'_>) {
    let device = device_of(call);
    let about = format!("call {}, {}{}", call.id, date(call.at_ms), took(call.ms));
    html.article(device, call.verdict.map_or("none", Verdict::name))
        .element("div", "meta", &about);
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
    write_aim(html, call, device, screenshots);
    if let Some(answer) = &call.answer {
        write_answer(html, answer, call, screenshots);
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

/// The screenshot that the model saw before the call, with the places where its actions pointed.
fn write_aim(
    html: &mut Html,
    call: &ReportedCall,
    device: &str,
    screenshots: &mut ReportScreenshots<'_>,
) {
    let (Some(content), Some(shot)) = (&call.call, call.before.get(device)) else {
        return;
    };
    let marks = marks::of_call(content, shot.size);
    if marks.is_empty() {
        return;
    }
    if let Some(screenshot) = screenshots.screenshot(&shot.blob) {
        open_shot(html, &screenshot, Some(shot));
        html.marks(shot.size, &marks);
        html.close_shot("", "before: where the actions pointed");
    }
}

/// Opens a screenshot with its layers, at the size in which the model received it.
fn open_shot(html: &mut Html, screenshot: &LayeredScreenshot, shot: Option<&Shot>) {
    let size = screenshot.size.or_else(|| shot.map(|shot| shot.size));
    html.open_shot(size.unwrap_or(Size::new(1280, 800)));
    screenshot.write_layers(html);
}

fn caption(shot: Option<&Shot>) -> (&'static str, String) {
    let sent = "after: screenshot sent to the model";
    let Some(shot) = shot.filter(|shot| !shot.settled) else {
        return ("", sent.to_owned());
    };
    let why = match shot.unsettled {
        Some(UnsettledReason::StillChanging) => "it was still changing",
        Some(UnsettledReason::Animated) => "a region keeps changing",
        Some(UnsettledReason::Busy) => "programs were busy",
        Some(UnsettledReason::TimerPending) => "a program had a timer pending",
        Some(UnsettledReason::Loading) => "a page was loading",
        None => "unknown why",
    };
    ("ask", format!("{sent}; the screen had not settled: {why}"))
}

fn write_answer(
    html: &mut Html,
    answer: &Value,
    call: &ReportedCall,
    screenshots: &mut ReportScreenshots<'_>,
) {
    for text in texts(answer) {
        html.element("pre", "", &text);
    }
    let mut digests = Vec::new();
    find_blobs(answer, &mut digests);
    digests.dedup();
    for digest in digests {
        let shot = call.shots.iter().find(|shot| shot.blob == digest);
        match screenshots.screenshot(&digest) {
            Some(screenshot) => {
                let (class, caption) = caption(shot);
                open_shot(html, &screenshot, shot);
                html.close_shot(class, &caption);
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

/// A time in milliseconds since 1970.
fn date(at_ms: i64) -> String {
    let since = Duration::from_millis(at_ms.unsigned_abs());
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since)
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
