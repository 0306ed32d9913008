//! Console messages of pages, collected on request: Chromium stores and replays them.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// The last messages that are returned per page.
const MAX_LINES: usize = 200;
/// Messages are truncated to this length.
const MAX_LINE_CHARS: usize = 1000;

/// Messages by session, for the sessions that are captured.
#[derive(Debug, Default)]
pub(super) struct Console(HashMap<String, ConsoleLines>);

/// The last messages, and the number of earlier ones.
#[derive(Debug, Default)]
struct ConsoleLines {
    last: VecDeque<String>,
    earlier: u64,
}

impl Console {
    /// Starts collecting the messages of a session.
    pub(super) fn capture(&mut self, session: &str) {
        self.0.insert(session.to_owned(), ConsoleLines::default());
    }

    /// Ends collecting and returns the messages.
    pub(super) fn take_lines(&mut self, session: &str) -> Vec<String> {
        let ConsoleLines { last, earlier } = self.0.remove(session).unwrap_or_default();
        let left_out = (earlier > 0).then(|| format!("{earlier} earlier lines are omitted."));
        left_out.into_iter().chain(last).collect()
    }

    /// Processes an event of a session.
    pub(super) fn handle_event(&mut self, session: &str, method: &str, params: &Value) {
        let Some(lines) = self.0.get_mut(session) else {
            return;
        };
        let Some(line) = line(method, params) else {
            return;
        };
        if lines.last.len() == MAX_LINES {
            lines.last.pop_front();
            lines.earlier += 1;
        }
        lines.last.push_back(line);
    }
}

fn line(method: &str, params: &Value) -> Option<String> {
    let (level, text, location) = match method {
        "Runtime.consoleAPICalled" => {
            let text: Vec<String> = params["args"]
                .as_array()
                .into_iter()
                .flatten()
                .map(argument)
                .collect();
            let location = &params["stackTrace"]["callFrames"][0];
            (params["type"].as_str()?, text.join(" "), location)
        }
        "Runtime.exceptionThrown" => {
            let details = &params["exceptionDetails"];
            let thrown = argument(&details["exception"]);
            let text = if thrown.is_empty() {
                details["text"].as_str()?.to_owned()
            } else {
                thrown
            };
            ("uncaught", text, details)
        }
        "Log.entryAdded" => {
            let entry = &params["entry"];
            (
                entry["level"].as_str()?,
                entry["text"].as_str()?.to_owned(),
                entry,
            )
        }
        _ => return None,
    };
    let location = match (location["url"].as_str(), location["lineNumber"].as_u64()) {
        (Some(url), Some(number)) if !url.is_empty() => format!(" ({url}:{})", number + 1),
        (Some(url), None) if !url.is_empty() => format!(" ({url})"),
        _ => String::new(),
    };
    let line = format!("[{level}] {text}{location}");
    let spaced = line.chars().map(|c| match c {
        '\n' | '\t' => ' ',
        c => c,
    });
    let is_plain = |c: &char| *c == ' ' || !c.is_control();
    Some(spaced.filter(is_plain).take(MAX_LINE_CHARS).collect())
}

/// An argument as the console displays it.
fn argument(value: &Value) -> String {
    match &value["value"] {
        Value::String(text) => text.clone(),
        Value::Null => {
            let described = value["description"]
                .as_str()
                .or_else(|| value["unserializableValue"].as_str());
            let described = described
                .or_else(|| value["subtype"].as_str())
                .or_else(|| value["type"].as_str());
            described.unwrap_or_default().to_owned()
        }
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_have_level_text_and_location() {
        let mut console = Console::default();
        console.capture("s");
        let call = json!({ "type": "warning", "args": [
            { "type": "string", "value": "two\nlines" }, { "type": "number", "value": 3 },
            { "type": "object", "description": "Array(2)" }, { "type": "undefined" },
        ], "stackTrace": { "callFrames": [{ "url": "http://a/x.js", "lineNumber": 4 }] } });
        console.handle_event("s", "Runtime.consoleAPICalled", &call);
        console.handle_event("other", "Runtime.consoleAPICalled", &call);
        let thrown = json!({ "exceptionDetails": { "text": "Uncaught", "lineNumber": 0, "url": "",
            "exception": { "type": "object", "description": "Error: no" } } });
        console.handle_event("s", "Runtime.exceptionThrown", &thrown);
        assert_eq!(
            console.take_lines("s"),
            [
                "[warning] two lines 3 Array(2) undefined (http://a/x.js:5)",
                "[uncaught] Error: no",
            ]
        );
        assert!(console.take_lines("other").is_empty());
    }

    #[test]
    fn keeps_the_last_lines_and_counts_the_rest() {
        let mut console = Console::default();
        console.capture("s");
        for n in 0..MAX_LINES + 3 {
            let thrown = json!({ "exceptionDetails": { "text": n.to_string() } });
            console.handle_event("s", "Runtime.exceptionThrown", &thrown);
        }
        let lines = console.take_lines("s");
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[0], "3 earlier lines are omitted.");
        assert_eq!(lines[1], "[uncaught] 3");
    }
}
