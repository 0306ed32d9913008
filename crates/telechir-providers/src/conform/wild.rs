//! Checks a document of unknown origin: identity, every pair of dialects, calls with their results,
//! and the survival of every value.

use std::any::Any;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::{Map, Value};
use telechir_protocol::{Content, Message};

use super::check::difference;
use super::recognize::DocumentKind;
use crate::history::turns;
use crate::survival::{
    self, Change, ChangedDocument, Fault, Finding, FollowedTranslation, TranslationScope,
};
use crate::{DecodeError, Dialect};

/// The results of one document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WildReport {
    /// The name of the document's dialect.
    pub dialect: String,
    /// What the document is.
    pub kind: DocumentKind,
    /// Why it is not translated: the decoder's error; absent if it was decoded.
    pub refused: Option<String>,
    /// Whether it is an error of the provider, which has no contents.
    pub is_provider_error: bool,
    /// The first difference after a round trip in its own dialect; absent if there is none.
    pub difference: Option<String>,
    /// The translations, one for each other dialect.
    pub pairs: Vec<PairReport>,
}

/// The translation of one document to one dialect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairReport {
    /// The name of the dialect of the translated document.
    pub to: String,
    /// Why the document cannot be translated; absent if it was.
    pub refused: Option<String>,
    /// The message of a panic, which is a bug of telechir.
    pub crash: Option<String>,
    /// Calls that lost their result, results that lost their call, and JSON of the source dialect
    /// that was passed on as if it were the target's.
    pub problems: Vec<String>,
    /// Values that are lost without an entry, and entries without a loss.
    pub findings: Vec<Finding>,
}

impl PairReport {
    /// Number of findings with this fault.
    pub fn count(&self, fault: Fault) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.fault == fault).count()
    }
}

impl WildReport {
    /// Changes a request or response in one place after the other and translates all of it, as
    /// `--envelope` does: adds a member that nobody knows to every object, and puts an unusual value
    /// and one of every other JSON type in place of every value. A change that is lost without an
    /// entry is a finding of its pair. Each change goes to one dialect, another one for each path and
    /// document.
    pub fn follow_changes(&mut self, dialect: Dialect, document: &Value) {
        let is_complete = matches!(self.kind, DocumentKind::Request | DocumentKind::Response);
        if !is_complete || self.is_provider_error || self.refused.is_some() || self.pairs.is_empty()
        {
            return;
        }
        let changed = ChangedDocument::new(dialect, TranslationScope::Document, document);
        let bytes = document.to_string().len();
        let mut paths = HashSet::new();
        for change in Change::all(document)
            .into_iter()
            .chain(Change::types(document))
        {
            let mut hasher = DefaultHasher::new();
            (change.path(), bytes).hash(&mut hasher);
            if !paths.insert(change.path()) {
                continue;
            }
            let count = u64::try_from(self.pairs.len()).unwrap_or(u64::MAX);
            let at = usize::try_from(hasher.finish() % count).unwrap_or_default();
            let pair = &mut self.pairs[at];
            let Ok(to) = pair.to.parse() else { continue };
            match catch_unwind(AssertUnwindSafe(|| changed.follow(&change, to))) {
                Ok(finding) => pair.findings.extend(finding),
                Err(panic) => pair.crash = Some(crash(&*panic)),
            }
        }
    }
}

/// Assembles the response of a stream.
///
/// # Errors
/// If the dialect has no streams, or the stream is incomplete, invalid or an error of the provider.
pub(super) fn assemble(dialect: Dialect, stream: &[u8]) -> Result<Value, String> {
    let assembled = catch_unwind(|| {
        let mut response = dialect.stream().ok_or("the dialect has no streams")?;
        response.push(stream).map_err(|error| error.to_string())?;
        let finished = response.finish().map_err(|error| error.to_string())?;
        Ok(finished.response)
    });
    assembled.unwrap_or_else(|panic| Err(crash(&*panic)))
}

/// Checks one document against all other dialects.
pub fn check_document(dialect: Dialect, kind: DocumentKind, document: &Value) -> WildReport {
    check_document_with(dialect, kind, document, &mut |_, _| {})
}

/// The same, and passes each translated document to `inspect` with its dialect.
pub fn check_document_with(
    dialect: Dialect,
    kind: DocumentKind,
    document: &Value,
    inspect: &mut dyn FnMut(Dialect, &Value),
) -> WildReport {
    let mut report = WildReport {
        dialect: dialect.name().to_owned(),
        kind,
        refused: None,
        is_provider_error: kind == DocumentKind::Error,
        difference: None,
        pairs: Vec::new(),
    };
    if report.is_provider_error {
        return report;
    }
    let source = match catch_unwind(|| dialect.decode_history(document.to_string())) {
        Ok(Ok((history, _))) => Pairing::of(&history.messages),
        Ok(Err(DecodeError::ProviderError { .. })) => {
            report.is_provider_error = true;
            return report;
        }
        Ok(Err(error)) => {
            report.refused = Some(format!("failed to {error}"));
            return report;
        }
        Err(panic) => {
            report.refused = Some(crash(&*panic));
            return report;
        }
    };
    for (to, followed) in followed(dialect, document) {
        if to == dialect {
            report.difference = difference_of(document, followed);
        } else {
            if let Ok(Ok((written, _))) = followed.as_ref().map(|followed| &followed.written) {
                inspect(to, written);
            }
            report
                .pairs
                .push(pair((dialect, to), document, &source, followed));
        }
    }
    report
}

type Followed = Result<FollowedTranslation, String>;

/// All translations; after a panic one by one, so that only the pair that panics is lost.
fn followed(dialect: Dialect, document: &Value) -> Vec<(Dialect, Followed)> {
    if let Ok(Ok(all)) = catch_unwind(|| survival::follow(dialect, document, &Dialect::ALL)) {
        return all.into_iter().map(|one| (one.to, Ok(one))).collect();
    }
    let one = |to: Dialect| match catch_unwind(|| survival::follow(dialect, document, &[to])) {
        Ok(Ok(mut one)) => one.pop().ok_or_else(|| "no translation".to_owned()),
        Ok(Err(error)) => Err(format!("failed to {error}")),
        Err(panic) => Err(crash(&*panic)),
    };
    Dialect::ALL.into_iter().map(|to| (to, one(to))).collect()
}

/// The first difference after decoding and encoding in the same dialect.
fn difference_of(document: &Value, followed: Followed) -> Option<String> {
    match followed.map(|followed| followed.written) {
        Ok(Ok((written, _))) if written == *document => None,
        Ok(Ok((written, _))) => Some(difference(document, &written)),
        Ok(Err(error)) => Some(format!("failed to {error}")),
        Err(error) => Some(error),
    }
}

fn pair(
    (from, to): (Dialect, Dialect),
    document: &Value,
    source: &Pairing,
    followed: Followed,
) -> PairReport {
    let mut pair = PairReport {
        to: to.name().to_owned(),
        refused: None,
        crash: None,
        problems: Vec::new(),
        findings: Vec::new(),
    };
    let followed = match followed {
        Ok(followed) => followed,
        Err(crash) => {
            pair.crash = Some(crash);
            return pair;
        }
    };
    pair.findings = followed.findings;
    match followed.written {
        Ok((written, _)) => {
            match catch_unwind(AssertUnwindSafe(|| {
                arrived((from, to), document, source, &written)
            })) {
                Ok(problems) => pair.problems = problems,
                Err(panic) => pair.crash = Some(crash(&*panic)),
            }
        }
        Err(error) => pair.refused = Some(format!("failed to {error}")),
    }
    pair
}

/// Problems that show when the translated document is decoded in its own dialect.
fn arrived(
    (from, to): (Dialect, Dialect),
    document: &Value,
    source: &Pairing,
    written: &Value,
) -> Vec<String> {
    let history = match to.decode_history(written.to_string()) {
        Ok((history, _)) => history,
        Err(DecodeError::ProviderError { .. }) => return Vec::new(),
        Err(error) => {
            return vec![format!(
                "the translated document cannot be decoded: {error}"
            )];
        }
    };
    let mut problems = source.compare(&Pairing::of(&history.messages));
    let contents = history
        .messages
        .iter()
        .flat_map(|message| &message.contents);
    // Their contents hold the original JSON.
    let holds_original = matches!(to, Dialect::AgentFramework | Dialect::Neutral);
    if holds_original || have_the_same_parts(from, to) {
        return problems;
    }
    for content in contents {
        if let Content::Other(other) = content
            && other.json.len() > 1
            && has_object(document, &other.json)
            // A codec may decode another form to the JSON of a related dialect.
            && has_object(written, &other.json)
        {
            let kind = other.kind.as_deref().unwrap_or("without a type");
            problems.push(format!(
                "JSON of the source dialect was passed on: an object {kind}"
            ));
        }
    }
    problems
}

/// Whether one dialect's unknown parts and members may be the other's, because a provider has both:
/// they pass unchanged.
pub fn have_the_same_parts(from: Dialect, to: Dialect) -> bool {
    let anthropic = [
        Dialect::AnthropicMessages,
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
    ];
    let chat = [Dialect::Functions, Dialect::FunctionsInline];
    let family = |dialects: &[Dialect]| dialects.contains(&from) && dialects.contains(&to);
    family(&anthropic) || family(&chat)
}

fn has_object(value: &Value, object: &Map<String, Value>) -> bool {
    match value {
        Value::Object(fields) => {
            fields == object || fields.values().any(|value| has_object(value, object))
        }
        Value::Array(items) => items.iter().any(|item| has_object(item, object)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Calls without results and results without calls.
#[derive(Debug, Default)]
struct Pairing {
    unanswered: usize,
    orphans: usize,
}

impl Pairing {
    fn of(messages: &[Message]) -> Self {
        let (mut calls, mut results) = (HashSet::new(), HashSet::new());
        let (mut unnamed_calls, mut unnamed_results) = (0_usize, 0);
        for content in messages.iter().flat_map(|message| &message.contents) {
            if let Some(id) = call_id(content) {
                calls.insert(id);
            } else if let Some(id) = result_id(content) {
                results.insert(id);
            } else if matches!(content, Content::FunctionCall(_)) {
                unnamed_calls += 1;
            } else if matches!(content, Content::FunctionResult(_)) {
                unnamed_results += 1;
            }
        }
        let unnamed = unnamed_calls.saturating_sub(unnamed_results);
        Self {
            unanswered: calls.difference(&results).count() + unnamed,
            orphans: results.difference(&calls).count(),
        }
    }

    fn compare(&self, arrived: &Self) -> Vec<String> {
        let mut problems = Vec::new();
        // One call may become several.
        if self.unanswered == 0 && arrived.unanswered > 0 {
            problems.push(format!("{} calls lost their result", arrived.unanswered));
        }
        if arrived.orphans > self.orphans {
            let more = arrived.orphans - self.orphans;
            problems.push(format!("{more} results lost their call"));
        }
        problems
    }
}

/// The id of a call, if it is not empty.
fn call_id(content: &Content) -> Option<String> {
    turns::call_id(content)
        .map(ToString::to_string)
        .filter(|id| !id.is_empty())
}

/// The id of a result, if it is not empty.
fn result_id(content: &Content) -> Option<String> {
    turns::result_id(content)
        .map(ToString::to_string)
        .filter(|id| !id.is_empty())
}

fn crash(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("crash: {}", text.unwrap_or("no message"))
}
