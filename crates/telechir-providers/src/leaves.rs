//! The values of a document: texts, numbers and booleans with their paths.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Index(usize),
    /// Into a string that holds JSON.
    Json,
}

impl Step {
    fn member(&self) -> Option<&str> {
        match self {
            Self::Member(name) => Some(name.as_str()),
            Self::Index(_) | Self::Json => None,
        }
    }
}

/// A value of a document.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) steps: Vec<Step>,
    /// A text, number or boolean; an element of a list that has none of its own is an object.
    pub(crate) value: Value,
    /// The types and set flags of the objects around the value, innermost last.
    pub(crate) kinds: Vec<String>,
}

/// Fields whose value only repeats what the structure expresses, if it is one of the words.
const STRUCTURE: [&str; 3] = ["type", "role", "object"];

/// The types, roles and objects that the providers' documents have.
static STRUCTURE_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("leaves/structure_words.txt").lines().collect());
/// Flags that are false when absent.
const DEFAULT_FALSE: [&str; 9] = [
    "is_error",
    "isError",
    "timed_out",
    "timedOut",
    "hosted",
    "informational_only",
    "thought",
    "prefix",
    "stream",
];
/// Numbers that are zero when absent: a command that does not fail.
const DEFAULT_ZERO: [&str; 4] = ["exit_code", "exitCode", "return_code", "returnCode"];
/// Values that other dialects express by absence: a call or result that is complete, and an image
/// that is sent in full detail.
const DEFAULT_TEXTS: [(&str, &[&str]); 6] = [
    ("status", &["completed", "success"]),
    ("detail", &["auto", "high", "original"]),
    ("execution", &["client"]),
    ("outcome", &["success", "OUTCOME_OK"]),
    ("thoughtSignature", &[NO_SIGNATURE]),
    ("thought_signature", &[NO_SIGNATURE]),
];
/// Google's documented signature of a call that no Google model made: base64 of
/// `skip_thought_signature_validator`.
const NO_SIGNATURE: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";
/// How texts of failed results begin in dialects without a flag.
pub(crate) const ERROR: &str = "Error: ";
const MAX_EXCERPT_CHARS: usize = 100;

/// Whether a field with this name holds an id, if its value is a text.
pub(crate) fn is_id(name: &str) -> bool {
    name.to_lowercase().ends_with("id")
}

/// All values of a document, in its order.
pub(crate) fn of(document: &Value) -> Vec<Leaf> {
    let mut collector = Collector::new(&|_, _| true);
    collector.value(document);
    collector.leaves
}

/// The values of documents that `selects` wants, by their field and value. A path begins with the
/// position of its document.
pub(crate) fn select<'a>(
    documents: impl Iterator<Item = &'a Value>,
    selects: &dyn Fn(&str, &Value) -> bool,
) -> Vec<Leaf> {
    let mut collector = Collector::new(selects);
    for (at, document) in documents.enumerate() {
        collector.step(Step::Index(at), document);
    }
    collector.leaves
}

struct Collector<'a> {
    steps: Vec<Step>,
    kinds: Vec<String>,
    leaves: Vec<Leaf>,
    /// The number of values so far, also of those that are not collected.
    visited: usize,
    /// Whether to collect the value of a field.
    selects: &'a dyn Fn(&str, &Value) -> bool,
}

impl<'a> Collector<'a> {
    fn new(selects: &'a dyn Fn(&str, &Value) -> bool) -> Self {
        Self {
            steps: Vec::new(),
            kinds: Vec::new(),
            leaves: Vec::new(),
            visited: 0,
            selects,
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(members) => {
                let outer_kinds = self.kinds.len();
                let kind = members.get("type").and_then(Value::as_str);
                self.kinds.extend(kind.map(str::to_owned));
                let flags = members.iter().filter(|(_, value)| **value == true);
                self.kinds.extend(flags.map(|(name, _)| name.clone()));
                // A parameter: the one member names the other.
                let parameter = members.get("value").and_then(|_| members.get("name"));
                let parameter = parameter.and_then(Value::as_str);
                self.kinds.extend(parameter.map(str::to_owned));
                for (name, value) in members {
                    if is_structure(name, value) || is_encoded_in_text(name, value, members) {
                        continue;
                    }
                    self.step(Step::Member(name.clone()), value);
                }
                self.kinds.truncate(outer_kinds);
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let before = self.visited;
                    self.step(Step::Index(at), item);
                    if self.visited == before && has_type(item) {
                        let outer_kinds = self.kinds.len();
                        let kind = item.get("type").and_then(Value::as_str);
                        self.kinds.extend(kind.map(str::to_owned));
                        self.steps.push(Step::Index(at));
                        self.push(item);
                        self.steps.pop();
                        self.kinds.truncate(outer_kinds);
                    }
                }
            }
            Value::String(text) => {
                if let Some(json) = json_in(text) {
                    let before = self.visited;
                    self.step(Step::Json, &json);
                    // An empty object or list holds no value.
                    if self.visited > before || is_empty(&json) {
                        return;
                    }
                }
                if !text.trim().is_empty() && !self.is_default(value) {
                    self.push(value);
                }
            }
            Value::Number(number) if self.is_own_index(number.as_u64()) => {}
            value if self.is_default(value) => {}
            Value::Number(_) | Value::Bool(_) => self.push(value),
        }
    }

    fn step(&mut self, step: Step, value: &Value) {
        self.steps.push(step);
        self.value(value);
        self.steps.pop();
    }

    fn push(&mut self, value: &Value) {
        self.visited += 1;
        let name = self.steps.iter().rev().find_map(Step::member);
        if !(self.selects)(name.unwrap_or_default(), value) {
            return;
        }
        self.leaves.push(Leaf {
            steps: self.steps.clone(),
            value: value.clone(),
            kinds: self.kinds.clone(),
        });
    }

    /// Whether the value means the same as its absence, in every dialect.
    fn is_default(&self, value: &Value) -> bool {
        let Some(Step::Member(name)) = self.steps.last() else {
            return false;
        };
        match value {
            Value::Bool(false) => DEFAULT_FALSE.contains(&name.as_str()),
            // The type of the content implies it.
            Value::Bool(true) => name == "user_input_request",
            Value::Number(number) => {
                number.as_i64() == Some(0) && DEFAULT_ZERO.contains(&name.as_str())
            }
            Value::String(text) => DEFAULT_TEXTS
                .iter()
                .any(|(field, values)| field == name && values.contains(&text.as_str())),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        }
    }

    /// Whether this is the `index` of a list's element, which equals its position.
    fn is_own_index(&self, number: Option<u64>) -> bool {
        let [.., Step::Index(at), Step::Member(name)] = &self.steps[..] else {
            return false;
        };
        name == "index" && number == u64::try_from(*at).ok()
    }
}

/// Whether a value says what the structure around it says, too.
fn is_structure(name: &str, value: &Value) -> bool {
    let word = value.as_str();
    STRUCTURE.contains(&name) && word.is_some_and(|word| STRUCTURE_WORDS.contains(word))
}

/// Whether a value marks a failed result whose text says that it is an error, too.
pub(crate) fn is_encoded_in_text(name: &str, value: &Value, result: &Map<String, Value>) -> bool {
    let texts = ["content", "result", "output"];
    let text = || texts.iter().find_map(|field| result.get(*field));
    matches!(name, "is_error" | "isError")
        && *value == true
        && text()
            .and_then(first_text)
            .is_some_and(|text| text.starts_with(ERROR) || has_error(text))
}

/// Whether a text is the JSON of an object with an error.
fn has_error(text: &str) -> bool {
    json_in(text).is_some_and(|json| json.get("error").is_some_and(|error| !error.is_null()))
}

/// A text, or the text of the first part of a list.
fn first_text(value: &Value) -> Option<&str> {
    let parts = value.as_array();
    parts.map_or(value.as_str(), |parts| parts.first()?.get("text")?.as_str())
}

/// Whether this is an object with a type. A text without characters says nothing, nor does a message
/// of such texts.
fn has_type(item: &Value) -> bool {
    item.get("type").is_some_and(Value::is_string) && !is_empty_text(item)
}

fn is_empty_text(item: &Value) -> bool {
    let text = item.get("text").and_then(Value::as_str);
    let is_empty = match item.get("content") {
        Some(Value::Array(parts)) => parts.iter().all(is_empty_text),
        Some(Value::String(content)) => content.trim().is_empty(),
        Some(Value::Null) => true,
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
        None => is_message_without_contents(item),
    };
    is_empty || text.is_some_and(|text| text.trim().is_empty())
}

fn is_empty(json: &Value) -> bool {
    match json {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether this is a step of Google's or a message of Agent Framework's with nothing in it.
fn is_message_without_contents(item: &Value) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    let is_message = matches!(kind, Some("message" | "model_output" | "user_input"));
    let is_absent = |name| {
        item.get(name)
            .is_none_or(|value| value.is_null() || is_empty(value))
    };
    is_message && is_absent("contents") && is_absent("error")
}

/// The object or list that a text holds as JSON.
pub(crate) fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let is_enclosed = (text.starts_with('{') && text.ends_with('}'))
        || (text.starts_with('[') && text.ends_with(']'));
    is_enclosed
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

impl Leaf {
    /// The value as text; a text without its surrounding space.
    pub(crate) fn text(&self) -> String {
        match self.value.as_str() {
            Some(text) => text.trim().to_owned(),
            None => self.value.to_string(),
        }
    }

    /// Whether the value is an id: it means only itself, so that its field alone does not name it.
    pub(crate) fn is_id(&self) -> bool {
        self.value.is_string() && is_id(self.name())
    }

    /// Whether the value is directly in a field, not in a list.
    pub(crate) fn is_member(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Member(_)))
    }

    /// The field that holds the value, through lists.
    pub(crate) fn name(&self) -> &str {
        self.names().next().unwrap_or_default()
    }

    /// The fields around the value, innermost first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().rev().filter_map(Step::member)
    }

    /// The positions in the lists around the value, outermost first.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().filter_map(|step| match step {
            Step::Index(at) => Some(*at),
            Step::Member(_) | Step::Json => None,
        })
    }

    /// The JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        pointer(&self.steps)
    }

    /// The path without positions in lists.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Member(name) => {
                    path.push('/');
                    path.push_str(name);
                }
                Step::Index(_) => path.push_str("/*"),
                Step::Json => path.push('#'),
            }
        }
        path
    }

    /// The pointer of the innermost element of a list that holds the value.
    pub(crate) fn element(&self) -> String {
        let is_index = |step: &Step| matches!(step, Step::Index(_));
        let end = self.steps.iter().rposition(is_index);
        pointer(&self.steps[..end.map_or(0, |end| end + 1)])
    }

    /// The pointer of the element after the innermost one that holds the value.
    pub(crate) fn next_element(&self) -> Option<String> {
        let is_index = |step: &Step| matches!(step, Step::Index(_));
        let end = self.steps.iter().rposition(is_index)?;
        let mut steps = self.steps[..=end].to_vec();
        if let Some(Step::Index(at)) = steps.last_mut() {
            *at += 1;
        }
        Some(pointer(&steps))
    }

    /// The pointers of all elements of lists that hold the value, and of the document.
    pub(crate) fn elements(&self) -> impl Iterator<Item = String> {
        let ends = self.steps.iter().enumerate();
        let ends = ends.filter(|(_, step)| matches!(step, Step::Index(_)));
        let ends = ends.map(|(at, _)| at + 1);
        std::iter::once(0)
            .chain(ends)
            .map(|end| pointer(&self.steps[..end]))
    }

    /// The start of the value as JSON.
    pub(crate) fn excerpt(&self) -> String {
        let text = self.value.to_string();
        match text.char_indices().nth(MAX_EXCERPT_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// The document with another value here; without the element if `value` is null.
    pub(crate) fn replaced(&self, document: &Value, value: Option<Value>) -> Value {
        let Some(value) = value else {
            return self.removed(document);
        };
        let mut changed = document.clone();
        edit(&mut changed, &self.steps, &mut |slot| *slot = value.clone());
        changed
    }

    /// The document without the value.
    pub(crate) fn removed(&self, document: &Value) -> Value {
        let mut changed = document.clone();
        let Some((last, parents)) = self.steps.split_last() else {
            return Value::Null;
        };
        edit(&mut changed, parents, &mut |slot| match (last, slot) {
            (Step::Member(name), Value::Object(members)) => {
                members.shift_remove(name);
            }
            (Step::Index(at), Value::Array(items)) if *at < items.len() => {
                items.remove(*at);
            }
            _ => {}
        });
        changed
    }
}

fn pointer(steps: &[Step]) -> String {
    let mut pointer = String::new();
    for step in steps {
        let _infallible = match step {
            Step::Member(name) => {
                write!(pointer, "/{}", name.replace('~', "~0").replace('/', "~1"))
            }
            Step::Index(at) => write!(pointer, "/{at}"),
            Step::Json => write!(pointer, "#"),
        };
    }
    pointer
}

/// Changes the value at a path, also inside strings that hold JSON.
pub(crate) fn edit(value: &mut Value, steps: &[Step], change: &mut dyn FnMut(&mut Value)) {
    let Some((step, rest)) = steps.split_first() else {
        return change(value);
    };
    match (step, value) {
        (Step::Member(name), Value::Object(members)) => {
            if let Some(value) = members.get_mut(name) {
                edit(value, rest, change);
            }
        }
        (Step::Index(at), Value::Array(items)) => {
            if let Some(value) = items.get_mut(*at) {
                edit(value, rest, change);
            }
        }
        (Step::Json, Value::String(text)) => {
            if let Some(mut json) = json_in(text) {
                edit(&mut json, rest, change);
                *text = json.to_string();
            }
        }
        _ => {}
    }
}
