//! The checks of one document.

use serde_json::Value;
use telechir_protocol::{Content, RawTool, Tool};

use super::kinds::{self, CheckTarget};
use super::streams::{self, StreamVector};
use super::{CheckResult, Expect, Vector, VectorReport, without_raw};
use crate::{DecodeError, Dialect, History, ToolOffer};

pub(super) fn check(vector: &Vector, bytes: &[u8]) -> VectorReport {
    let mut row = empty(vector);
    let by_operation = match kinds::dialect_of(vector, bytes) {
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
    match kinds::targets(vector, bytes) {
        Ok(targets) => {
            let mut document = DocumentCheck {
                dialect,
                row: &mut row,
            };
            for (path, target) in targets {
                document.target(&path, target);
            }
        }
        Err(problem) => row.problems.push(problem),
    }
    conclude(&mut row);
    row
}

/// The documents to translate; a stream is the response that it assembles.
pub(super) fn translatable(vector: &Vector, bytes: &[u8]) -> Vec<(Dialect, Value)> {
    let by_operation = kinds::dialect_of(vector, bytes);
    let dialect = match (by_operation, &vector.dialect) {
        (Some(Ok(dialect)), _) => dialect,
        (None, Ok(dialect)) => *dialect,
        (Some(Err(_)), _) | (None, Err(_)) => return Vec::new(),
    };
    let targets = match vector.expect {
        Expect::Valid => kinds::targets(vector, bytes).unwrap_or_default(),
        Expect::Invalid => Vec::new(),
    };
    let document = |(_, target)| match target {
        CheckTarget::History(json) | CheckTarget::Response(json) => Some((dialect, json)),
        CheckTarget::Stream(stream) => Some((dialect, streams::check(dialect, &stream).response?)),
        CheckTarget::Tools(_) | CheckTarget::Error(_) => None,
    };
    targets.into_iter().filter_map(document).collect()
}

pub(super) fn unreadable(vector: &Vector, problem: &str) -> VectorReport {
    VectorReport {
        problems: vec![format!("cannot read the file: {problem}")],
        ..empty(vector)
    }
}

pub(super) fn missing(vector: &Vector) -> VectorReport {
    VectorReport {
        problems: vec!["the file is in the manifest but not in the folder".to_owned()],
        missing: true,
        ..empty(vector)
    }
}

fn empty(vector: &Vector) -> VectorReport {
    let dialect = match &vector.dialect {
        Ok(dialect) => dialect.name().to_owned(),
        Err(name) => name.clone(),
    };
    VectorReport {
        file: vector.file.clone(),
        kind: vector.kind.clone(),
        dialect,
        expect: vector.expect,
        decode: CheckResult::default(),
        encode: CheckResult::default(),
        identity: CheckResult::default(),
        stream: CheckResult::default(),
        cuts: 0,
        survives_without_raw: None,
        losses: Vec::new(),
        refusals: Vec::new(),
        unchecked: None,
        missing: false,
        problems: Vec::new(),
    }
}

/// Compares the rejections with the expectation.
fn conclude(row: &mut VectorReport) {
    match row.expect {
        Expect::Valid => row.problems.append(&mut row.refusals),
        Expect::Invalid if row.unchecked.is_some() => {}
        Expect::Invalid if row.refusals.is_empty() => {
            row.decode = CheckResult::Failed;
            row.problems
                .push("expected a rejection, but the document was accepted".to_owned());
        }
        Expect::Invalid => {
            let without_path = row.refusals.iter().filter(|refusal| !names_a_path(refusal));
            let without_path: Vec<String> = without_path
                .map(|refusal| format!("the rejection names no path: {refusal}"))
                .collect();
            row.decode = CheckResult::Passed;
            row.problems.extend(without_path);
        }
    }
}

/// Whether the error has a path, a field, a number or an id to look for in the document. The end of
/// a stream counts, too.
fn names_a_path(refusal: &str) -> bool {
    refusal.contains("the stream to its end")
        || refusal.contains(['`', '[', '"', '_'])
        || refusal.contains(|c: char| c.is_ascii_digit())
}

/// A document with the row that collects its results.
struct DocumentCheck<'a> {
    dialect: Dialect,
    row: &'a mut VectorReport,
}

impl DocumentCheck<'_> {
    fn target(&mut self, path: &str, target: CheckTarget) {
        match target {
            CheckTarget::History(json) => self.history(path, &json),
            CheckTarget::Response(json) => self.response(path, &json),
            CheckTarget::Tools(tools) => self.tools(path, tools),
            CheckTarget::Error(json) => kinds::errors(json)
                .iter()
                .for_each(|error| self.error(path, error)),
            CheckTarget::Stream(bytes) => self.stream(path, &bytes),
        }
    }

    fn history(&mut self, path: &str, json: &Value) {
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
                return self.refused(path, &error);
            }
        };
        let exceptions = exceptions(&history);
        if self.row.expect == Expect::Invalid {
            self.row.refusals.extend(exceptions);
        }
        self.written(path, json, &history);
    }

    fn written(&mut self, path: &str, json: &Value, history: &History) {
        match self.dialect.encode_history(history) {
            Ok((written, report)) => {
                note(&mut self.row.encode, true);
                self.row.losses.extend(report.losses);
                let same = written == *json;
                note(&mut self.row.identity, same);
                if !same {
                    let problem = format!(
                        "{path} is encoded differently: {}",
                        difference(json, &written)
                    );
                    self.row.problems.push(problem);
                }
            }
            Err(error) => {
                note(&mut self.row.encode, self.row.expect == Expect::Invalid);
                return self.refused(path, &error);
            }
        }
        let bare = self.bare(history);
        let before = self.row.survives_without_raw.unwrap_or(true);
        self.row.survives_without_raw = Some(before && bare);
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
            (Ok((complete, _)), Ok((bare, _))) => complete == bare,
            _ => false,
        }
    }

    fn response(&mut self, path: &str, json: &Value) {
        let bytes = json.to_string();
        match self.dialect.decode_response(bytes.as_bytes()) {
            Ok((_, report)) => {
                note(&mut self.row.decode, true);
                self.row.losses.extend(report.losses);
            }
            Err(DecodeError::ProviderError { .. }) => note(&mut self.row.decode, true),
            Err(error) => {
                note(&mut self.row.decode, self.row.expect == Expect::Invalid);
                return self.refused(path, &error);
            }
        }
        self.history(path, json);
    }

    fn tools(&mut self, path: &str, tools: Vec<Value>) {
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
                        .push(format!("{path} is declared differently"));
                }
                // A tool that a vendor serves only with a beta header is valid with that header.
                let beta = |(name, _): &&(String, String)| name.contains("beta");
                let header = declaration.headers.iter().find(beta);
                if let (Expect::Invalid, Some((name, value))) = (self.row.expect, header) {
                    let refusal = format!("valid only with the header `{name}: {value}`");
                    self.row.refusals.push(refusal);
                }
            }
            Err(error) => self.refused(path, &error),
        }
    }

    fn error(&mut self, path: &str, json: &Value) {
        let bytes = json.to_string();
        let read = self.dialect.decode_response(bytes.as_bytes());
        let is_named = matches!(read, Err(DecodeError::ProviderError { .. }));
        note(&mut self.row.decode, is_named);
        if !is_named {
            self.row.problems.push(format!(
                "{path} is not recognized as an error of the provider: {json}"
            ));
        }
    }

    fn stream(&mut self, path: &str, bytes: &StreamVector) {
        let findings = streams::check(self.dialect, bytes);
        self.row.cuts += findings.cuts;
        let good = findings.problems.is_empty();
        note(&mut self.row.stream, good);
        let problems = findings.problems.into_iter();
        self.row
            .problems
            .extend(problems.map(|problem| format!("{path} {problem}")));
        if let Some(refused) = findings.refused {
            note(&mut self.row.decode, self.row.expect == Expect::Invalid);
            self.row.refusals.push(refused);
        } else if let Some(error) = findings.provider_error {
            note(&mut self.row.decode, true);
            if self.row.expect == Expect::Invalid {
                self.row.refusals.push(error);
            }
        } else if let Some(response) = findings.response {
            self.response(path, &response);
        }
    }

    fn refused(&mut self, path: &str, error: &impl std::error::Error) {
        let location = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        self.row
            .refusals
            .push(format!("{location}failed to {error}"));
    }
}

/// Combines the results of parts: a failed part makes the document fail.
fn note(verdict: &mut CheckResult, passed: bool) {
    *verdict = match (*verdict, passed) {
        (CheckResult::Failed, _) | (_, false) => CheckResult::Failed,
        (_, true) => CheckResult::Passed,
    };
}

/// The exceptions of the calls that will be answered with an error.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other content is a call")]
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
    fn walk(before: &Value, after: &Value, path: &str) -> Option<String> {
        match (before, after) {
            (Value::Object(a), Value::Object(b)) => {
                let names = a
                    .keys()
                    .chain(b.keys().filter(|name| !a.contains_key(*name)));
                names
                    .filter_map(|name| {
                        let none = Value::Null;
                        let path = format!("{path}.{name}");
                        match (a.get(name), b.get(name)) {
                            (Some(_), None) => Some(format!("{path} is missing")),
                            (None, Some(_)) => Some(format!("{path} is unexpected")),
                            (a, b) => walk(a.unwrap_or(&none), b.unwrap_or(&none), &path),
                        }
                    })
                    .next()
            }
            (Value::Array(a), Value::Array(b)) => {
                let pairs = a.iter().zip(b).enumerate();
                pairs
                    .filter_map(|(at, (a, b))| walk(a, b, &format!("{path}[{at}]")))
                    .next()
                    .or_else(|| {
                        (a.len() != b.len())
                            .then(|| format!("{path} has {} items, not {}", b.len(), a.len()))
                    })
            }
            (a, b) => (a != b).then(|| format!("{path} is {}, not {}", short(b), short(a))),
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
