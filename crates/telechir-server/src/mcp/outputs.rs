//! Long texts of answers, which a client can read in ranges as resources.

use std::collections::VecDeque;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents};
use serde_json::{Value, json};
use telechir_tools::{ToolAnswer, range, shortened};

/// Maximum number of texts, and of their bytes together; the oldest are removed first.
const MAX_TEXTS: usize = 32;
const MAX_BYTES: usize = 16 << 20;
/// Maximum characters of one read.
const MAX_READ_CHARS: usize = 200_000;
/// Members of an answer that can be long.
const MEMBERS: [&str; 3] = ["stdout", "stderr", "message"];

/// The long texts of one session.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    texts: VecDeque<(String, String)>,
    bytes: usize,
    count: u64,
}

impl Outputs {
    /// Shortens the long texts of an answer to their beginning and end; returns where all of them
    /// can be read.
    pub(super) fn shorten(&mut self, session: &str, answer: &mut ToolAnswer) -> Vec<Resource> {
        let mut links = Vec::new();
        for name in MEMBERS {
            let address = format!("telechir://session/{session}/output/{}", self.count + 1);
            let Some(Value::String(text)) = answer.members.get_mut(name) else {
                continue;
            };
            let Some(short) = shortened(text, &address) else {
                continue;
            };
            let text = std::mem::replace(text, short);
            answer.insert("truncated", true.into());
            self.count += 1;
            links.push(resource(&address, &text));
            self.add(address, text);
        }
        links
    }

    fn add(&mut self, address: String, text: String) {
        self.bytes += text.len();
        self.texts.push_back((address, text));
        while self.texts.len() > MAX_TEXTS || self.bytes > MAX_BYTES {
            let Some((_, oldest)) = self.texts.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
        }
    }

    /// The texts that can be read, the latest last.
    pub(super) fn list(&self) -> Vec<Resource> {
        let texts = self.texts.iter();
        texts
            .map(|(address, text)| resource(address, text))
            .collect()
    }

    /// Reads a text, or the range of characters that the address names.
    ///
    /// # Errors
    /// For an address of no text, or with a wrong range.
    pub(super) fn read(&self, address: &str) -> Result<ReadResourceResult, ErrorData> {
        let invalid = |why: String| ErrorData::invalid_params(why, None);
        let (base, query) = address.split_once('?').unwrap_or((address, ""));
        let found = self.texts.iter().find(|(name, _)| name == base);
        let Some((_, text)) = found else {
            let why = format!(
                "no resource has the address {address}: long texts are removed with their session, \
                 and when {MAX_TEXTS} newer ones exist"
            );
            return Err(ErrorData::resource_not_found(
                why,
                Some(json!({"uri": address})),
            ));
        };
        let (mut from, mut to) = (0, None);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let number: usize = value.parse().map_err(|_| {
                invalid(format!(
                    "{name}: expected a number of characters, found `{value}`"
                ))
            })?;
            match name {
                "from" => from = number,
                "to" => to = Some(number),
                _ => {
                    let why = format!("unknown range `{name}`; expected from and to");
                    return Err(invalid(why));
                }
            }
        }
        let most = from.saturating_add(MAX_READ_CHARS);
        let to = to.map_or(most, |to| to.min(most));
        let contents = ResourceContents::text(range(text, from, to), address);
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

fn resource(address: &str, text: &str) -> Resource {
    let characters = text.chars().count();
    let number = address.rsplit('/').next().unwrap_or_default();
    let description = format!(
        "{characters} characters; append ?from=0&to=20000 to read a range of at most \
         {MAX_READ_CHARS} characters"
    );
    Resource::new(address, format!("output-{number}"))
        .with_mime_type("text/plain")
        .with_description(description)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Map;

    use super::*;

    fn answer(stdout: &str) -> ToolAnswer {
        let mut members = Map::new();
        members.insert("stdout".to_owned(), stdout.into());
        ToolAnswer::success(members, Duration::ZERO)
    }

    fn text(result: Result<ReadResourceResult, ErrorData>) -> Result<String, String> {
        let result = result.map_err(|error| error.message.to_string())?;
        let contents = json!(result.contents);
        Ok(contents[0]["text"].as_str().expect("a text").to_owned())
    }

    #[test]
    fn a_long_text_is_read_in_ranges() {
        let mut outputs = Outputs::default();
        let long: String = (0..6_000).map(|n| format!("{n:04}é\n")).collect();
        let mut answer = answer(&long);
        let links = outputs.shorten("s", &mut answer);
        assert_eq!(links.len(), 1);
        let address = links[0].uri.clone();
        let short = answer.members["stdout"].as_str().expect("a text");
        assert!(short.contains(&address) && short.chars().count() < 20_000);
        assert_eq!(text(outputs.read(&address)), Ok(long));
        let part = text(outputs.read(&format!("{address}?from=6&to=11")));
        assert_eq!(part, Ok("0001é".to_owned()));
        for wrong in ["?from=x", "?upto=3", "?from=-1"] {
            let error = text(outputs.read(&format!("{address}{wrong}")));
            error.expect_err("a wrong range");
        }
        text(outputs.read("telechir://session/t/output/1")).expect_err("another session");
    }

    #[test]
    fn memory_is_bounded_and_the_newest_texts_remain() {
        let mut outputs = Outputs::default();
        let long = "x".repeat(MAX_BYTES / 8);
        for number in 0..10 {
            outputs.add(format!("text{number}"), long.clone());
        }
        assert!(outputs.bytes <= MAX_BYTES && outputs.texts.len() == 8);
        let newest = outputs.read("text9?to=3");
        assert_eq!(text(newest), Ok("xxx".to_owned()));
    }

    #[test]
    fn a_short_text_stays() {
        let mut outputs = Outputs::default();
        let mut answer = answer("short");
        assert_eq!(outputs.shorten("s", &mut answer), Vec::new());
        assert_eq!(answer.members["stdout"], "short");
    }
}
