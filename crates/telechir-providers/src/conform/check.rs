//! The checks of one document.

use serde_json::Value;
use telechir_protocol::{Content, RawTool, Tool};

use super::kinds::{self, Form};
use super::streams::{self, Bytes};
use super::{Expect, Row, Vector, Verdict, without_raw};
use crate::{DecodeError, Dialect, History, ToolOffer};

pub(super) fn check(vector: &Vector, bytes: &[u8]) -> Row {
    let mut row = empty(vector);
    let by_operation = match kinds::whose(vector, bytes) {
        Some(Err(why)) => {
            row.unchecked = Some(why);
            return row;
        }
        Some(Ok(dialect)) => Some(dialect),
        None => None,
    };
    let dialect = match (by_operation, &vector.dialect) {
        (Some(dialect), _) => dialect,
        (None, Ok(dialect)) => *dialect,
        (None, Err(name)) if name.is_empty() => {
            let problem = "unknown dialect: pass --dialect";
            row.problems.push(problem.to_owned());
            return row;
        }
        (None, Err(name)) => {
            row.problems.push(format!("unknown dialect `{name}`"));
            return row;
        }
    };
    dialect.name().clone_into(&mut row.dialect);
    match kinds::forms(vector, bytes) {
        Ok(forms) => {
            let mut document = Document {
                dialect,
                row: &mut row,
            };
            for (place, form) in forms {
                document.form(&place, form);
            }
        }
        Err(problem) => row.problems.push(problem),
    }
    conclude(&mut row);
    row
}

pub(super) fn unreadable(vector: &Vector, problem: &str) -> Row {
    Row {
        problems: vec![format!("cannot read the file: {problem}")],
        ..empty(vector)
    }
}

pub(super) fn missing(vector: &Vector) -> Row {
    Row {
        problems: vec!["the file is in the manifest but not in the folder".to_owned()],
        missing: true,
        ..empty(vector)
    }
}

fn empty(vector: &Vector) -> Row {
    let dialect = match &vector.dialect {
        Ok(dialect) => dialect.name().to_owned(),
        Err(name) => name.clone(),
    };
    Row {
        file: vector.file.clone(),
        kind: vector.kind.clone(),
        dialect,
        expect: vector.expect,
        decode: Verdict::default(),
        encode: Verdict::default(),
        identity: Verdict::default(),
        stream: Verdict::default(),
        cuts: 0,
        bare: None,
        losses: Vec::new(),
        refusals: Vec::new(),
        unchecked: None,
        missing: false,
        problems: Vec::new(),
    }
}

/// Compares the rejections with the expectation.
fn conclude(row: &mut Row) {
    match row.expect {
        Expect::Valid => row.problems.append(&mut row.refusals),
        Expect::Invalid if row.unchecked.is_some() => {}
        Expect::Invalid if row.refusals.is_empty() => {
            row.decode = Verdict::Failed;
            row.problems
                .push("expected a rejection, but the document was accepted".to_owned());
        }
        Expect::Invalid => {
            let unplaced = row
                .refusals
                .iter()
                .filter(|refusal| !names_a_place(refusal));
            let unplaced: Vec<String> = unplaced
                .map(|refusal| format!("the rejection names no path: {refusal}"))
                .collect();
            row.decode = Verdict::Passed;
            row.problems.extend(unplaced);
        }
    }
}

/// Whether the error has a path, a field, a number or an id to look for in the document. The end of
/// a stream counts, too.
fn names_a_place(refusal: &str) -> bool {
    refusal.contains("the stream to its end")
        || refusal.contains(['`', '[', '"', '_'])
        || refusal.contains(|c: char| c.is_ascii_digit())
}

/// A document with the row that collects its results.
struct Document<'a> {
    dialect: Dialect,
    row: &'a mut Row,
}

impl Document<'_> {
    fn form(&mut self, place: &str, form: Form) {
        match form {
            Form::History(json) => self.history(place, &json),
            Form::Response(json) => self.response(place, &json),
            Form::Tools(tools) => self.tools(place, tools),
            Form::Error(json) => kinds::errors(json)
                .iter()
                .for_each(|error| self.error(place, error)),
            Form::Stream(bytes) => self.stream(place, &bytes),
        }
    }

    fn history(&mut self, place: &str, json: &Value) {
        let bytes = json.to_string();
        let history = match self.dialect.decode_history(bytes.as_bytes()) {
            Ok((history, report)) => {
                note(&mut self.row.decode, true);
                self.row.losses.extend(report.losses);
                history
            }
            // A response that is an error has no turn to decode.
            Err(DecodeError::ProviderError { .. }) => return note(&mut self.row.decode, true),
            Err(error) => {
                note(&mut self.row.decode, self.row.expect == Expect::Invalid);
                return self.refused(place, &error);
            }
        };
        let exceptions = exceptions(&history);
        if self.row.expect == Expect::Invalid {
            self.row.refusals.extend(exceptions);
        }
        self.written(place, json, &history);
    }

    fn written(&mut self, place: &str, json: &Value, history: &History) {
        match self.dialect.encode_history(history) {
            Ok((written, report)) => {
                note(&mut self.row.encode, true);
                self.row.losses.extend(report.losses);
                let same = written == *json;
                note(&mut self.row.identity, same);
                if !same {
                    let problem = format!(
                        "{place} is encoded differently: {}",
                        difference(json, &written)
                    );
                    self.row.problems.push(problem);
                }
            }
            Err(error) => {
                note(&mut self.row.encode, self.row.expect == Expect::Invalid);
                return self.refused(place, &error);
            }
        }
        let bare = self.bare(history);
        let before = self.row.bare.unwrap_or(true);
        self.row.bare = Some(before && bare);
    }

    /// Whether the neutral values alone encode to the same list.
    fn bare(&self, history: &History) -> bool {
        let list = History {
            envelope: crate::Envelope::List,
            ..history.clone()
        };
        let Ok(bare) = without_raw(history) else {
            return false;
        };
        match (
            self.dialect.encode_history(&list),
            self.dialect.encode_history(&bare),
        ) {
            (Ok((whole, _)), Ok((bare, _))) => whole == bare,
            _ => false,
        }
    }

    fn response(&mut self, place: &str, json: &Value) {
        let bytes = json.to_string();
        match self.dialect.decode_response(bytes.as_bytes()) {
            Ok((_, report)) => {
                note(&mut self.row.decode, true);
                self.row.losses.extend(report.losses);
            }
            Err(DecodeError::ProviderError { .. }) => note(&mut self.row.decode, true),
            Err(error) => {
                note(&mut self.row.decode, self.row.expect == Expect::Invalid);
                return self.refused(place, &error);
            }
        }
        self.history(place, json);
    }

    fn tools(&mut self, place: &str, tools: Vec<Value>) {
        let raw = |json: &Value| {
            Tool::Raw(RawTool {
                dialect: self.dialect.name().to_owned(),
                json: json.clone(),
            })
        };
        let offer = ToolOffer {
            tools: tools.iter().map(raw).collect(),
            model: None,
        };
        match self.dialect.declare(&offer) {
            Ok((declaration, report)) => {
                note(&mut self.row.encode, true);
                self.row.losses.extend(report.losses);
                let same = declaration.tools == tools;
                note(&mut self.row.identity, same);
                if !same {
                    self.row
                        .problems
                        .push(format!("{place} is declared differently"));
                }
                // A tool that a vendor serves only with a beta header is valid with that header.
                let beta = |(name, _): &&(String, String)| name.contains("beta");
                let header = declaration.headers.iter().find(beta);
                if let (Expect::Invalid, Some((name, value))) = (self.row.expect, header) {
                    let refusal = format!("valid only with the header `{name}: {value}`");
                    self.row.refusals.push(refusal);
                }
            }
            Err(error) => self.refused(place, &error),
        }
    }

    fn error(&mut self, place: &str, json: &Value) {
        let bytes = json.to_string();
        let read = self.dialect.decode_response(bytes.as_bytes());
        let is_named = matches!(read, Err(DecodeError::ProviderError { .. }));
        note(&mut self.row.decode, is_named);
        if !is_named {
            self.row.problems.push(format!(
                "{place} is not recognized as an error of the provider: {json}"
            ));
        }
    }

    fn stream(&mut self, place: &str, bytes: &Bytes) {
        let found = streams::check(self.dialect, bytes);
        self.row.cuts += found.cuts;
        let good = found.problems.is_empty();
        note(&mut self.row.stream, good);
        let problems = found.problems.into_iter();
        self.row
            .problems
            .extend(problems.map(|problem| format!("{place} {problem}")));
        if let Some(refused) = found.refused {
            note(&mut self.row.decode, self.row.expect == Expect::Invalid);
            self.row.refusals.push(refused);
        } else if let Some(said) = found.said {
            note(&mut self.row.decode, true);
            if self.row.expect == Expect::Invalid {
                self.row.refusals.push(said);
            }
        } else if let Some(response) = found.response {
            self.response(place, &response);
        }
    }

    fn refused(&mut self, place: &str, error: &impl std::error::Error) {
        self.row
            .refusals
            .push(format!("{place}: failed to {error}"));
    }
}

/// Combines the results of parts: a failed part makes the document fail.
fn note(verdict: &mut Verdict, passed: bool) {
    *verdict = match (*verdict, passed) {
        (Verdict::Failed, _) | (_, false) => Verdict::Failed,
        (_, true) => Verdict::Passed,
    };
}

/// The exceptions of the calls that will be answered with an error.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other content is no call"
)]
fn exceptions(history: &History) -> Vec<String> {
    let contents = history
        .messages
        .iter()
        .flat_map(|message| &message.contents);
    let exception = |content: &Content| match content {
        Content::ComputerCall(call) => call.exception.clone(),
        Content::ShellCall(call) => call.exception.clone(),
        Content::EditCall(call) => call.exception.clone(),
        Content::FunctionCall(call) => call.exception.clone(),
        _ => None,
    };
    contents.filter_map(exception).collect()
}

/// The first path at which two documents differ.
pub(super) fn difference(before: &Value, after: &Value) -> String {
    fn walk(before: &Value, after: &Value, place: &str) -> Option<String> {
        match (before, after) {
            (Value::Object(a), Value::Object(b)) => {
                let names = a
                    .keys()
                    .chain(b.keys().filter(|name| !a.contains_key(*name)));
                names
                    .filter_map(|name| {
                        let none = Value::Null;
                        let place = format!("{place}.{name}");
                        match (a.get(name), b.get(name)) {
                            (Some(_), None) => Some(format!("{place} is missing")),
                            (None, Some(_)) => Some(format!("{place} is unexpected")),
                            (a, b) => walk(a.unwrap_or(&none), b.unwrap_or(&none), &place),
                        }
                    })
                    .next()
            }
            (Value::Array(a), Value::Array(b)) => {
                let pairs = a.iter().zip(b).enumerate();
                pairs
                    .filter_map(|(at, (a, b))| walk(a, b, &format!("{place}[{at}]")))
                    .next()
                    .or_else(|| {
                        (a.len() != b.len())
                            .then(|| format!("{place} has {} items, not {}", b.len(), a.len()))
                    })
            }
            (a, b) => (a != b).then(|| format!("{place} is {}, not {}", short(b), short(a))),
        }
    }
    walk(before, after, "").unwrap_or_default()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
