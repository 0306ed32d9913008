//! Detects what parsing loses: digits of numbers, and earlier values of a repeated key
//! (`duplicate_keys`). JSON does not limit digits; our numbers have 64 bits, so longer ones are
//! rounded and reported.
//!
//! Two kinds are affected: integers outside `i64` and `u64`, such as ids in the arguments of a
//! call, and decimals of more than 17 digits. All others return unchanged: `float_roundtrip` parses
//! exactly, though `1e2` is written as `100.0`. The `arbitrary_precision` feature of `serde_json`
//! would retain all digits, but serde then passes numbers as maps: fields of tagged, flattened and
//! untagged types reject decimals, and `1.0` differs from `1.00`.

use std::collections::BTreeSet;

use serde_json::{Number, Value};
use telechir_protocol::json_limits;

use crate::{Loss, Report, duplicate_keys};

/// Significant digits of a double that survive decoding.
const MAX_EXACT_DIGITS: usize = 17;
/// Losses listed individually; further ones are only counted.
const MAX_LISTED: usize = 20;
const WHY: &str = "numbers are limited to 64 bits";

/// Reports the numbers of a JSON text that decoding rounds, each with its field, and repeated keys.
/// `location` is the path of the text; empty for the document itself, whose numbers have pointers.
pub(crate) fn report(json: &[u8], location: &str, report: &mut Report) {
    let mut rounded = ParsingLosses::default();
    rounded.check_numbers(json, location, location.is_empty());
    rounded.report_to(location, report);
}

/// The entry for an id of a call that a stream changed.
pub(crate) fn changed_call_id(id: &str) -> String {
    format!("call id `{id}`")
}

/// What parsing lost of one text or of all events of a response.
#[derive(Debug, Default)]
pub(crate) struct ParsingLosses {
    listed: Report,
    rest: usize,
    duplicates: Report,
    /// The names of the members of all events.
    event_members: BTreeSet<String>,
}

impl ParsingLosses {
    /// Checks an event of a stream.
    pub(crate) fn check_event(&mut self, json: &[u8]) {
        self.check(json, "");
        duplicate_keys::add_names(json, &mut self.event_members);
    }

    /// Checks a JSON text. Skips numbers that an earlier text had, because events of a stream
    /// repeat them.
    pub(crate) fn check(&mut self, json: &[u8], location: &str) {
        self.check_numbers(json, location, false);
    }

    /// Records that a stream gave a call another id at its end.
    pub(crate) fn note_changed_call_id(&mut self, first: &str, last: &str) {
        let why = "the stream gave the call another id at its end";
        let how = format!("as `{last}`");
        let location = format!("call {last}");
        self.listed
            .preserved(changed_call_id(first), location, why, how);
    }

    fn check_numbers(&mut self, json: &[u8], location: &str, is_document: bool) {
        let earlier = self.listed.losses.len();
        let mut scanner = NumberScanner::of(json);
        while let Some((member, number)) = scanner.next() {
            if is_exact(number) {
                continue;
            }
            let Ok(read) = number.parse::<Number>() else {
                continue;
            };
            let what = format!("digits of {}", excerpt(number));
            let is_listed =
                |loss: &Loss| loss.what == what && is_at(&loss.location, location, member);
            if !is_document && self.listed.losses[..earlier].iter().any(is_listed) {
                continue;
            }
            if self.listed.losses.len() >= MAX_LISTED {
                self.rest += 1;
                continue;
            }
            let at = match is_document {
                true => scanner.pointer(),
                false => [location, member]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(": "),
            };
            self.listed.preserved(what, at, WHY, format!("as {read}"));
        }
        duplicate_keys::report(json, &mut self.duplicates);
    }

    /// Adds the losses of another collection.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.rest += other.rest;
        self.duplicates.absorb(other.duplicates);
        self.event_members.extend(other.event_members);
        for loss in other.listed.losses {
            if self.listed.losses.len() < MAX_LISTED {
                self.listed.losses.push(loss);
            } else {
                self.rest += 1;
            }
        }
    }

    /// Adds the losses to `report`. `location` is the path for numbers that are only counted.
    pub(crate) fn report_to(self, location: &str, report: &mut Report) {
        report.absorb(self.listed);
        if self.rest > 0 {
            let what = format!("digits of {} more numbers", self.rest);
            report.preserved(what, location, WHY, "rounded");
        }
        report.absorb(self.duplicates);
    }

    /// Reports the members of events that the response assembled from them lacks.
    pub(crate) fn report_missing_members(&self, response: &Value, report: &mut Report) {
        let mut assembled = BTreeSet::new();
        duplicate_keys::add_names(response.to_string().as_bytes(), &mut assembled);
        let is_missing =
            |name: &&String| !assembled.contains(*name) && !EVENT_MEMBERS.contains(&name.as_str());
        for name in self.event_members.iter().filter(is_missing) {
            let why = "the response that the events build has no such member";
            report.lost(format!("`{name}`"), "the stream's events", why);
        }
    }
}

/// Members of events that only describe the stream, or pieces that become another member.
const EVENT_MEMBERS: [&str; 41] = [
    "annotation",
    "annotation_index",
    "arguments",
    "bytes",
    "choices",
    "chunk",
    "citation",
    "code",
    "command",
    "command_index",
    "content",
    "contentBlockIndex",
    "content_block",
    "content_index",
    "data",
    "delta",
    "diff",
    "event",
    "event_id",
    "event_type",
    "index",
    "input",
    "interaction",
    "interaction_id",
    "item",
    "item_id",
    "message",
    "obfuscation",
    "output_index",
    "p",
    "part",
    "partial_image_b64",
    "partial_image_index",
    "partial_json",
    "response",
    "sequence_number",
    "start",
    "step",
    "summary_index",
    "text",
    "type",
];

/// Whether decoding this JSON text rounds no number.
pub(crate) fn are_exact(json: &str) -> bool {
    NumberScanner::of(json.as_bytes()).all(|(_, number)| is_exact(number))
}

/// Parses a text as JSON; a text that is not JSON becomes a JSON string.
pub(crate) fn parse_or_string(text: String, rounded: &mut ParsingLosses) -> Value {
    match json_limits::parse(text.as_bytes()) {
        Ok(value) => {
            rounded.check(text.as_bytes(), "");
            value
        }
        Err(_) => Value::String(text),
    }
}

/// Whether a loss is that of a member of the text at `location`.
fn is_at(found: &str, location: &str, member: &str) -> bool {
    match (location, member) {
        ("", _) => found == member,
        (_, "") => found == location,
        _ => {
            let rest = found.strip_prefix(location);
            rest.and_then(|rest| rest.strip_prefix(": ")) == Some(member)
        }
    }
}

fn excerpt(number: &str) -> String {
    match number.get(..60) {
        Some(start) => format!("{start}…"),
        None => number.to_owned(),
    }
}

/// Whether decoding the number keeps all digits.
fn is_exact(number: &str) -> bool {
    if number.len() <= MAX_EXACT_DIGITS {
        return true;
    }
    if !number.contains(['.', 'e', 'E']) {
        return number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok();
    }
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len() <= MAX_EXACT_DIGITS
}

/// Iterates over the numbers of a JSON text, each with the last string before it: the name of its
/// field or of the list that contains it.
struct NumberScanner<'a> {
    json: &'a [u8],
    at: usize,
    name: &'a str,
    /// The current member or position in each object and list around the number.
    around: Vec<Around<'a>>,
}

enum Around<'a> {
    Member(&'a str),
    Index(usize),
}

impl<'a> NumberScanner<'a> {
    const fn of(json: &'a [u8]) -> Self {
        Self {
            json,
            at: 0,
            name: "",
            around: Vec::new(),
        }
    }

    /// The JSON pointer of the last number. Escapes in names stay as they are.
    fn pointer(&self) -> String {
        let steps = self.around.iter().map(|around| match around {
            Around::Member(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Around::Index(at) => format!("/{at}"),
        });
        steps.collect()
    }

    /// Whether the next character is the colon after a name.
    fn is_before_colon(&self) -> bool {
        let mut rest = self.json[self.at..].iter();
        rest.find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
    }

    /// Skips the string that starts here and returns its contents.
    fn string(&mut self) -> &'a [u8] {
        let start = self.at;
        self.at = json_limits::after_string(self.json, start);
        self.json.get(start + 1..self.at - 1).unwrap_or_default()
    }

    fn enter(&mut self, inner: Around<'a>) {
        self.around.push(inner);
        self.at += 1;
    }

    fn number(&mut self) -> &'a str {
        let rest = &self.json[self.at..];
        let belongs = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(belongs).count();
        self.at += length;
        std::str::from_utf8(&rest[..length]).unwrap_or_default()
    }
}

impl<'a> Iterator for NumberScanner<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(byte) = self.json.get(self.at) {
            match byte {
                b'"' => {
                    let string = self.string();
                    let is_name = self.is_before_colon();
                    if is_name || self.name.is_empty() {
                        self.name = std::str::from_utf8(string).unwrap_or_default();
                    }
                    if let Some(Around::Member(member)) = self.around.last_mut()
                        && is_name
                    {
                        *member = std::str::from_utf8(string).unwrap_or_default();
                    }
                }
                b'{' => self.enter(Around::Member("")),
                b'[' => self.enter(Around::Index(0)),
                b'}' | b']' => {
                    self.around.pop();
                    self.at += 1;
                }
                b',' => {
                    if let Some(Around::Index(at)) = self.around.last_mut() {
                        *at += 1;
                    }
                    self.at += 1;
                }
                b'0'..=b'9' | b'-' => {
                    let number = self.number();
                    return Some((self.name, number));
                }
                _ => self.at += 1,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LISTED, ParsingLosses, report as report_of};
    use crate::Report;

    fn losses_of(json: &str) -> Vec<(String, String, Option<String>)> {
        let mut report = Report::default();
        report_of(json.as_bytes(), "", &mut report);
        let losses = report.losses.into_iter();
        losses
            .map(|loss| (loss.what, loss.location, loss.preserved_as))
            .collect()
    }

    #[test]
    fn does_not_report_exact_numbers() {
        for json in [
            r#"{"a": 18446744073709551615, "b": -9223372036854775808, "c": 0.1, "d": 1.0}"#,
            r#"[1e2, 100000000000000000000.0, 0.00000000000000000000001, 12345678901234567e-30]"#,
            r#""123456789012345678901234567890""#,
            r#"{"x\"1": "9876543210987654321098765"}"#,
        ] {
            assert_eq!(losses_of(json), [], "{json}");
        }
    }

    #[test]
    fn reports_a_rounded_number_with_its_field() {
        let json =
            r#"{"text": "12", "id": 123456789012345678901, "in": [1, 0.12345678901234567890]}"#;
        let [id, decimal] = &losses_of(json)[..] else {
            panic!("{:?}", losses_of(json));
        };
        let (what, at) = ("digits of 123456789012345678901", "/id");
        assert_eq!((id.0.as_str(), id.1.as_str()), (what, at));
        assert_eq!(id.2.as_deref(), Some("as 1.2345678901234568e+20"));
        assert_eq!(decimal.1, "/in/1");
    }

    #[test]
    fn a_number_has_its_pointer() {
        let json = r#"[{"a" : [{}, {"b/c": [[1], 123456789012345678901]}], "d": 2}]"#;
        let [(_, at, _)] = &losses_of(json)[..] else {
            panic!("{:?}", losses_of(json));
        };
        assert_eq!(at, "/0/a/1/b~1c/1");
    }

    #[test]
    fn lists_the_first_rounded_numbers_and_counts_the_rest() {
        let number = "123456789012345678901,";
        let json = format!("[{}0]", number.repeat(MAX_LISTED + 5));
        let losses = losses_of(&json);
        assert_eq!(losses.len(), MAX_LISTED + 1);
        assert_eq!(losses[MAX_LISTED].0, "digits of 5 more numbers");
    }

    /// Work that grows with numbers times depth would exceed the time limit of a test.
    #[test]
    fn numbers_that_are_only_counted_need_no_pointer() {
        let numbers = "123456789012345678901,".repeat(20_000);
        let depth = 100;
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let name = "a".repeat(1_000);
        let json = format!(r#"{{"{name}":{open}{numbers}0{close}}}"#);
        let losses = losses_of(&json);
        assert_eq!(losses.len(), MAX_LISTED + 1);
        let mut collected = ParsingLosses::default();
        for _ in 0..2 {
            collected.check(json.as_bytes(), "");
        }
        assert_eq!(collected.listed.losses.len(), MAX_LISTED);
        assert_eq!(collected.rest, 20_000 - MAX_LISTED);
    }
}
