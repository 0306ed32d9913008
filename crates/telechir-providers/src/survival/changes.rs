//! Changes a document in one place after the other and translates it: a member that nobody knows in
//! every object, an unusual value in place of every value, a value of another JSON type in place of
//! every value. Each must arrive, be reported or be the reason of a refusal.
//!
//! `follow` looks for the values that a document has; this shows what becomes of those that it might
//! have.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::mem::discriminant;

use serde_json::{Map, Value, json};

use super::naming::Names;
use super::{Fault, Finding, is_set_aside};
use crate::leaves::{self, Leaf, Step, json_in};
use crate::written_values::encoded_text;
use crate::{Dialect, Loss, Report, TranslatedDocument, TranslationOptions};

/// The name of an added member.
const ADDED_MEMBER: &str = "zzqmember";
/// A text that is no word of any dialect.
const UNUSUAL_TEXT: &str = "zzq7value";
const UNUSUAL_NUMBER: u32 = 7_391_746;

/// What is translated of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TranslationScope {
    /// Only the messages, as without `--envelope`.
    Messages,
    /// The whole document, as with `--envelope`.
    Document,
    /// A list of the events of a streamed response, as with `--stream`.
    Events,
}

/// One change of a document.
#[derive(Clone, Debug)]
pub struct Change {
    steps: Vec<Step>,
    /// Absent if the member is added.
    original: Option<Value>,
    value: Value,
}

impl Change {
    /// All changes of a document, in its order.
    pub fn all(document: &Value) -> Vec<Self> {
        let mut changes = Vec::new();
        collect(document, &mut Vec::new(), &mut changes);
        changes
    }

    /// The changes of all values of a document to every JSON type that they do not have. A boolean
    /// is left out, since no output shows where it comes from.
    pub fn types(document: &Value) -> Vec<Self> {
        let mut changes = Vec::new();
        collect_types(document, &mut Vec::new(), &mut changes);
        changes
    }

    /// The path of the changed value without positions in lists, whether it is added, and the JSON
    /// type that it gets instead of its own.
    pub fn path(&self) -> String {
        let leaf = self.leaf(Value::Null);
        match &self.original {
            None => format!("+{}", leaf.path()),
            Some(original) if discriminant(original) == discriminant(&self.value) => leaf.path(),
            Some(_) => format!("{} as {}", leaf.path(), json_type(&self.value)),
        }
    }

    /// The JSON pointer of the changed value. `#` continues inside a string that holds JSON.
    pub fn pointer(&self) -> String {
        self.leaf(Value::Null).pointer()
    }

    /// Whether it adds a member.
    pub fn is_addition(&self) -> bool {
        self.original.is_none()
    }

    fn leaf(&self, value: Value) -> Leaf {
        Leaf {
            steps: self.steps.clone(),
            value,
            kinds: Vec::new(),
        }
    }

    /// The text or number that must arrive: the new value, or the one inside of it.
    fn followed(&self) -> Leaf {
        let mut leaf = self.leaf(self.value.clone());
        if let Value::Array(items) = &self.value {
            leaf.steps.push(Step::Index(0));
            leaf.value = items.first().cloned().unwrap_or_default();
        } else if let Value::Object(members) = &self.value {
            let member = members.iter().next();
            leaf.steps
                .extend(member.map(|(name, _)| Step::Member(name.clone())));
            leaf.value = member.map(|(_, value)| value.clone()).unwrap_or_default();
        }
        leaf
    }

    fn apply(&self, document: &Value) -> Value {
        let mut changed = document.clone();
        let (value, mut steps) = (&self.value, self.steps.as_slice());
        if self.original.is_none() {
            steps = &steps[..steps.len() - 1];
        }
        leaves::edit(&mut changed, steps, &mut |slot| match slot
            .as_object_mut()
            .filter(|_| self.is_addition())
        {
            Some(members) => {
                members.insert(ADDED_MEMBER.to_owned(), value.clone());
            }
            None => *slot = value.clone(),
        });
        changed
    }

    /// Whether the value is one of many that mean the same, so that only its effect can be seen.
    fn shows_by_effect(&self, leaf: &Leaf) -> bool {
        self.has_its_type() && (!leaf.value.is_string() || leaf.is_id())
    }

    /// Whether the new value has the JSON type of the one that it replaces.
    fn has_its_type(&self) -> bool {
        let has_its_type = |original| discriminant(original) == discriminant(&self.value);
        self.original.as_ref().is_some_and(has_its_type)
    }
}

fn unusual(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(number) if number.is_f64() => json!(f64::from(UNUSUAL_NUMBER) / 1e7),
        Value::Number(_) => json!(UNUSUAL_NUMBER),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => json!(UNUSUAL_TEXT),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn collect_types(value: &Value, steps: &mut Vec<Step>, changes: &mut Vec<Change>) {
    let others = [
        json!(UNUSUAL_TEXT),
        json!(UNUSUAL_NUMBER),
        json!([UNUSUAL_TEXT]),
        json!({ADDED_MEMBER: UNUSUAL_TEXT}),
    ];
    let is_other = |other: &Value| discriminant(other) != discriminant(value);
    // The document itself stays what it is.
    if !steps.is_empty() {
        changes.extend(others.into_iter().filter(is_other).map(|other| Change {
            steps: steps.clone(),
            original: Some(value.clone()),
            value: other,
        }));
    }
    let mut inside = |step: Step, value: &Value| {
        steps.push(step);
        collect_types(value, steps, changes);
        steps.pop();
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| inside(Step::Member(name.clone()), value)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| inside(Step::Index(at), item)),
        Value::String(text) => {
            if let Some(json) = json_in(text) {
                inside(Step::Json, &json);
            }
        }
    }
}

fn collect(value: &Value, steps: &mut Vec<Step>, changes: &mut Vec<Change>) {
    let mut add = |steps: &[Step], original: Option<Value>| {
        changes.push(Change {
            steps: steps.to_vec(),
            value: original
                .as_ref()
                .map_or_else(|| json!(UNUSUAL_TEXT), unusual),
            original,
        });
    };
    match value {
        Value::Null => {}
        Value::Object(members) => {
            steps.push(Step::Member(ADDED_MEMBER.to_owned()));
            add(steps, None);
            steps.pop();
            for (name, value) in members {
                if leaves::is_encoded_in_text(name, value, members) {
                    continue;
                }
                steps.push(Step::Member(name.clone()));
                collect(value, steps, changes);
                steps.pop();
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                steps.push(Step::Index(at));
                collect(item, steps, changes);
                steps.pop();
            }
        }
        Value::Bool(_) | Value::Number(_) => add(steps, Some(value.clone())),
        Value::String(text) => {
            add(steps, Some(value.clone()));
            if let Some(json) = json_in(text) {
                steps.push(Step::Json);
                collect(&json, steps, changes);
                steps.pop();
            }
        }
    }
}

/// A document whose changes are translated.
#[derive(Debug)]
pub struct ChangedDocument<'a> {
    from: Dialect,
    scope: TranslationScope,
    document: &'a Value,
    /// The translations of the document as it is.
    originals: HashMap<Dialect, OnceCell<Option<ChangedTranslation>>>,
}

/// A translation: the document with its path and headers, and what is reported.
#[derive(Clone, Debug, PartialEq)]
struct ChangedTranslation {
    document: Value,
    report: Report,
    /// Members around the messages that were set aside.
    aside: Vec<String>,
}

impl<'a> ChangedDocument<'a> {
    /// A document of the dialect `from`.
    pub fn new(from: Dialect, scope: TranslationScope, document: &'a Value) -> Self {
        let originals = Dialect::ALL.map(|to| (to, OnceCell::new()));
        Self {
            from,
            scope,
            document,
            originals: originals.into(),
        }
    }

    /// Translates the document with one change to a dialect. `None` if the changed value arrived, is
    /// reported, or is the reason why the document was refused.
    pub fn follow(&self, change: &Change, to: Dialect) -> Option<Finding> {
        let original = self.originals.get(&to)?;
        let original = original.get_or_init(|| self.translate(self.document, to));
        let original = original.as_ref()?;
        let changed = change.apply(self.document);
        let written = self.translate(&changed, to)?;
        let leaf = found_leaf(&changed, change.followed());
        let has_effect = change.shows_by_effect(&leaf) && written != *original;
        if has_effect || written.has(&leaf.value) || written.names(&changed, &leaf) {
            return None;
        }
        // A number may arrive as a date or as a rounded one: another number shows it.
        if let (Value::Number(_), false) = (&change.value, change.has_its_type()) {
            let other = Change {
                value: json!(UNUSUAL_NUMBER / 2),
                ..change.clone()
            };
            if self.translate(&other.apply(self.document), to)? != written {
                return None;
            }
        }
        Some(Finding {
            fault: Fault::SilentLoss,
            pointer: leaf.pointer(),
            value: change.original.as_ref().map_or_else(
                || "an added member".to_owned(),
                |original| excerpt(original, &change.value),
            ),
            in_envelope: self.scope != TranslationScope::Messages,
            unnamed_entry: None,
        })
    }

    fn translate_events(
        &self,
        events: &Value,
        to: Dialect,
        options: TranslationOptions,
    ) -> Option<TranslatedDocument> {
        let mut translation = self.from.translate_stream(to, options).ok()?;
        translation.push(sent(events).as_bytes()).ok()?;
        let (_, translated) = translation.finish().ok()?;
        Some(translated)
    }

    fn translate(&self, document: &Value, to: Dialect) -> Option<ChangedTranslation> {
        let text = document.to_string();
        if self.scope != TranslationScope::Messages {
            let options = TranslationOptions::default();
            let translated = match self.scope {
                TranslationScope::Events => self.translate_events(document, to, options)?,
                TranslationScope::Messages | TranslationScope::Document => {
                    self.from.translate(to, text.as_bytes(), &options).ok()?
                }
            };
            let headers: Map<String, Value> = translated
                .headers
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
            return Some(ChangedTranslation {
                document: json!([translated.document, translated.path, headers]),
                report: translated.report,
                aside: Vec::new(),
            });
        }
        let (mut history, mut report) = self.from.decode_history(text).ok()?;
        let aside = history.set_envelope_aside(to);
        let (document, losses) = to.encode_history(&history).ok()?;
        report.absorb(losses);
        Some(ChangedTranslation {
            document,
            report,
            aside: aside.map(|aside| aside.members).unwrap_or_default(),
        })
    }
}

/// A list of events as server-sent events.
fn sent(events: &Value) -> String {
    let events = events.as_array().map_or(&[][..], Vec::as_slice);
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.collect()
}

fn excerpt(original: &Value, value: &Value) -> String {
    let shown = Leaf {
        steps: Vec::new(),
        value: original.clone(),
        kinds: Vec::new(),
    };
    format!("{} changed to {value}", shown.excerpt())
}

/// The leaf with the types of the objects around it.
fn found_leaf(document: &Value, leaf: Leaf) -> Leaf {
    let mut leaves = leaves::of(document).into_iter();
    leaves
        .find(|found| found.steps == leaf.steps)
        .unwrap_or(leaf)
}

impl ChangedTranslation {
    /// Whether the document has the value, in any case of its letters.
    fn has(&self, value: &Value) -> bool {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        has_text("", &self.document, &text)
    }

    fn names(&self, changed: &Value, leaf: &Leaf) -> bool {
        let text = leaf.text();
        let names_value = |loss: &Loss| loss.what.to_lowercase().contains(&text);
        let losses = &self.report.losses;
        is_set_aside(leaf, &self.aside)
            || losses
                .iter()
                .any(|loss| names_value(loss) || names_member_around(loss, &leaf.pointer()))
            || Names::of(&self.report, &leaves::of(changed)).name(&[leaf]) == [true]
    }
}

fn has_text(name: &str, value: &Value, text: &str) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => number.to_string() == text,
        Value::String(found) => {
            found.to_lowercase().contains(text)
                || encoded_text(name, value).is_some_and(|found| found.contains(text))
        }
        Value::Array(items) => items.iter().any(|item| has_text(name, item, text)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(text) || has_text(name, value, text)),
    }
}

/// Whether an entry is about the value at a pointer, or names a member or tool around it.
fn names_member_around(loss: &Loss, pointer: &str) -> bool {
    let Some(rest) = pointer.strip_prefix(loss.location.as_str()) else {
        return false;
    };
    if !loss.location.starts_with('/') || !(rest.is_empty() || rest.starts_with('/')) {
        return false;
    }
    let is_name = |step: &&str| step.parse::<usize>().is_err();
    let name = loss.location.split('/').rfind(is_name).unwrap_or_default();
    rest.is_empty()
        || loss.what.contains(&format!("`{name}`"))
        || loss.what.starts_with("tool `")
        || loss.what.starts_with("instructions `")
}
