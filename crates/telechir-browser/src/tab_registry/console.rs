//! What pages logged, collected while somebody asks: Chromium keeps it and says it again.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Lines of a page that are told, the last ones.
const MOST: usize = 200;
/// A line is cut here.
const LONGEST: usize = 1000;

/// Lines by session, for the sessions that are listened to.
#[derive(Debug, Default)]
pub(super) struct Console(HashMap<String, Lines>);

/// The last lines, and how many came before them.
#[derive(Debug, Default)]
struct Lines {
    last: VecDeque<String>,
    earlier: u64,
}

impl Console {
    /// Keeps what this session says from here on.
    pub(super) fn listen(&mut self, session: &str) {
        self.0.insert(session.to_owned(), Lines::default());
    }

    /// What it said.
    pub(super) fn take_lines(&mut self, session: &str) -> Vec<String> {
        let Lines { last, earlier } = self.0.remove(session).unwrap_or_default();
        let left_out = (earlier > 0).then(|| format!("{earlier} earlier lines are left out."));
        left_out.into_iter().chain(last).collect()
    }

    /// Takes in what a session says.
    pub(super) fn take(&mut self, session: &str, method: &str, params: &Value) {
        let Some(lines) = self.0.get_mut(session) else {
            return;
        };
        let Some(line) = line(method, params) else {
            return;
        };
        if lines.last.len() == MOST {
            lines.last.pop_front();
            lines.earlier += 1;
        }
        lines.last.push_back(line);
    }
}

fn line(method: &str, params: &Value) -> Option<String> {
    let (level, words, place) = match method {
        "Runtime.consoleAPICalled" => {
            let words: Vec<String> = params["args"]
                .as_array()
                .into_iter()
                .flatten()
                .map(argument)
                .collect();
            let place = &params["stackTrace"]["callFrames"][0];
            (params["type"].as_str()?, words.join(" "), place)
        }
        "Runtime.exceptionThrown" => {
            let details = &params["exceptionDetails"];
            let thrown = argument(&details["exception"]);
            let words = if thrown.is_empty() {
                details["text"].as_str()?.to_owned()
            } else {
                thrown
            };
            ("uncaught", words, details)
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
    let place = match (place["url"].as_str(), place["lineNumber"].as_u64()) {
        (Some(url), Some(number)) if !url.is_empty() => format!(" ({url}:{})", number + 1),
        (Some(url), None) if !url.is_empty() => format!(" ({url})"),
        _ => String::new(),
    };
    let line = format!("[{level}] {words}{place}");
    let spaced = line.chars().map(|c| match c {
        '\n' | '\t' => ' ',
        c => c,
    });
    let is_plain = |c: &char| *c == ' ' || !c.is_control();
    Some(spaced.filter(is_plain).take(LONGEST).collect())
}

/// A value as the console shows it.
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
    fn lines_say_level_words_and_place() {
        let mut console = Console::default();
        console.listen("s");
        let call = json!({ "type": "warning", "args": [
            { "type": "string", "value": "two\nlines" }, { "type": "number", "value": 3 },
            { "type": "object", "description": "Array(2)" }, { "type": "undefined" },
        ], "stackTrace": { "callFrames": [{ "url": "http://a/x.js", "lineNumber": 4 }] } });
        console.take("s", "Runtime.consoleAPICalled", &call);
        console.take("other", "Runtime.consoleAPICalled", &call);
        let thrown = json!({ "exceptionDetails": { "text": "Uncaught", "lineNumber": 0, "url": "",
            "exception": { "type": "object", "description": "Error: no" } } });
        console.take("s", "Runtime.exceptionThrown", &thrown);
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
    fn only_the_last_ones_are_kept_and_the_rest_is_counted() {
        let mut console = Console::default();
        console.listen("s");
        for n in 0..MOST + 3 {
            let thrown = json!({ "exceptionDetails": { "text": n.to_string() } });
            console.take("s", "Runtime.exceptionThrown", &thrown);
        }
        let lines = console.take_lines("s");
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines[0], "3 earlier lines are left out.");
        assert_eq!(lines[1], "[uncaught] 3");
    }
}
